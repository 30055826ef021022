"""What holds for every explorer. A lesson's tests subclass `ExplorerTests` and fill in what it is to be tried with."""

import html
import itertools
import warnings
from dataclasses import dataclass, field, replace
from types import ModuleType

import matplotlib.text
import numpy as np
import pytest
from PIL import Image, ImageChops

from kvlab.explorers.blit import Blitter
from kvlab.explorers.learner import UNWRITTEN
from tests.pngs import differ, pixels


def stub(*_):
    print("debugging")
    raise NotImplementedError


def broken(*_):
    raise KeyError("two\nlines " + "and more " * 100)


def markup(*_):
    raise ValueError("<b>bold</b>")


UNFIT = {
    "nothing": (None, UNWRITTEN),
    "a stub": (stub, UNWRITTEN),
    "an error": (broken, "your {} raises KeyError: 'two\\nlines and more "),
    "markup": (markup, "your {} raises ValueError: <b>bold</b>: showing the library's"),
    "no function": (7, "your {} raises TypeError: 'int' object is not callable"),
}


def noisy(function):
    """`function`, after a print and two kinds of warnings."""

    def loud(*arguments):
        print("debugging")
        warnings.warn("careful", stacklevel=1)
        np.log(np.zeros(1))
        return function(*arguments)

    return loud


def texts(figure) -> list:
    """Every text that is to be seen."""
    return [text for text in figure.findobj(matplotlib.text.Text) if text.get_text() and text.get_visible()]


@dataclass
class Sample:
    """What an explorer is tried with."""

    module: ModuleType  # of kvlab.explorers
    changes: list  # (control, value), each of which changes the picture of the first setting
    walk: list  # (control, value), one after the other, and where they end
    walk_ends: object
    extremes: list  # settings with the longest texts
    css: str  # classes of the controls, by which the page finds them
    touching: tuple = ()  # texts that are known to come close to another
    data: tuple = ()  # what `reading` takes before the learner's functions
    refused: list = field(default_factory=list)  # (setting without an answer, a pattern of what the error says)
    # Where it asks the learner's functions:
    right: dict = field(default_factory=dict)  # right ones by name, in the order that `reading` takes them
    captions: list = field(default_factory=list)  # (setting, functions, caption, or its beginning and "…")
    longest: int = 300  # characters of a caption
    asked_at: dict = field(default_factory=dict)  # name -> a setting that asks it, if the first one asks another
    # Where its controls can say what has no answer:
    bad: list = field(default_factory=list)  # (control, value, what the sentence says)

    @property
    def answers(self) -> tuple:
        return *self.data, *self.right.values()

    @property
    def first(self):
        return self.module.Explorer.first_setting(*self.data)

    def read(self, setting, *functions):
        return self.module.reading(setting, *self.data, *functions)

    def right_but(self, name: str, function):
        """The right functions, but `function` under this name."""
        return (self.right | {name: function}).values()

    def drawn(self, setting) -> bytes:
        """The picture of a setting by the right functions, on a figure of its own."""
        chart = self.module.Chart()
        chart.set(self.read(setting, *self.right.values()))
        return Blitter(chart.figure, chart.moving).png()


class ExplorerTests:
    """Subclass as `TestExplorer` with a `sample`. One widget serves all tests; each finds it at its first setting."""

    sample: Sample

    def pytest_generate_tests(self, metafunc):
        cases = {"change": "changes", "no_setting": "refused", "caption": "captions", "wrong": "bad"}
        for name, listed in cases.items():
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, getattr(self.sample, listed))
        if "answer" in metafunc.fixturenames:
            metafunc.parametrize("answer", self.sample.right)

    def shown(self, now):
        """What stays the same whoever computed it."""
        return repr(replace(now, computed_by=""))

    @pytest.fixture(scope="class")
    @classmethod
    def opened(cls):
        explorer = cls.sample.module.explore(*cls.sample.answers)
        assert explorer.redraws == 1
        controls = explorer.children[0].children
        return explorer, [(control, control.value) for control in controls], explorer.answers

    @pytest.fixture
    def reopened(self, opened):
        """The widget with its first values and right answers, its picture still that of the test before."""
        explorer, first, explorer.answers = opened
        with explorer.together():
            for control, value in first:
                control.value = value
        return explorer

    @pytest.fixture
    def explorer(self, reopened):
        """The widget with right answers, at its first setting."""
        reopened._redraw()
        return reopened

    @pytest.fixture
    def asking(self, reopened):
        """The widget's text once it asks these functions."""

        def asking(*functions) -> str:
            reopened.answers = (*self.sample.data, *functions)
            reopened._redraw()
            return reopened.text.value

        return asking

    def test_the_controls_say_the_first_setting(self, explorer):
        assert explorer.setting() == self.sample.first

    def test_a_setting_without_an_answer_is_refused(self, no_setting):
        setting, said = no_setting
        with pytest.raises((TypeError, ValueError), match=said):
            self.sample.read(setting)

    @pytest.mark.parametrize("whose", ["the learner's", "the library's"])
    def test_every_control_changes_the_picture_with_one_redraw(self, change, whose, explorer, asking):
        name, value = change
        if whose == "the library's":
            asking(*[None] * len(self.sample.right))
        before, redraws, words = explorer.picture.value, explorer.redraws, explorer.picture.tooltip
        getattr(explorer, name).value = value
        assert explorer.redraws == redraws + 1
        assert differ(before, explorer.picture.value)
        assert explorer.picture.tooltip != words

    def test_a_picture_after_many_moves_equals_one_drawn_afresh(self, explorer):
        for name, value in self.sample.walk:
            getattr(explorer, name).value = value
        assert explorer.setting() == self.sample.walk_ends
        assert not differ(explorer.picture.value, self.sample.drawn(self.sample.walk_ends))

    def test_the_static_figure_draws_what_the_explorer_first_shows(self, explorer):
        static, again = (self.sample.module.static_figure(*self.sample.answers) for _ in range(2))
        assert static.alt == explorer.picture.tooltip
        assert (png := static.png()) == again.png()
        assert pixels(png).size == pixels(explorer.picture.value).size
        assert not differ(explorer.picture.value, self.sample.drawn(explorer.setting()))

    def test_axes_never_move_and_no_text_leaves_the_picture_or_meets_another(self, explorer):
        chart, canvas = explorer.chart, explorer._blitter.canvas
        renderer, paper = canvas.get_renderer(), canvas.figure.bbox

        def axes():
            return [(ax.get_xlim(), ax.get_ylim(), ax.get_position().bounds) for ax in chart.figure.axes]

        before = axes()
        for setting in (explorer.setting(), *self.sample.extremes):
            chart.set(self.sample.read(setting))
            assert axes() == before
            boxes = {text: text.get_window_extent(renderer) for text in texts(chart.figure)}
            for text, box in boxes.items():
                inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= paper.x1 and box.y1 <= paper.y1
                assert inside, (text, setting)
            for (one, here), (other, there) in itertools.combinations(boxes.items(), 2):
                known = {one.get_text(), other.get_text()} & set(self.sample.touching)
                assert known or not here.overlaps(there), (one, other, setting)

    def test_colours_that_only_a_later_picture_has_are_kept(self, explorer):
        for name, value in self.sample.walk:
            getattr(explorer, name).value = value
            canvas = explorer._blitter.canvas
            drawn = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba()).convert("RGB")
            apart = ImageChops.difference(drawn, pixels(explorer.picture.value)).getextrema()
            assert max(most for _, most in apart) <= 24

    def test_the_caption_stands_below_the_reading(self, explorer):
        now = self.sample.read(explorer.setting(), *self.sample.right.values())
        assert now.tell() in explorer.text.value
        assert html.escape(f"{now.computed_by[:1].upper()}{now.computed_by[1:]}.") in explorer.text.value

    def test_controls_can_be_found_by_class(self, explorer):
        found = {name for each in (*explorer.children[0].children, *explorer.children) for name in each._dom_classes}
        assert {f"kv-{name}" for name in (*self.sample.css.split(), "reading", "picture")} <= found


class AskingTests(ExplorerTests):
    """Of an explorer that asks the learner's functions."""

    def setting_that_asks(self, name: str):
        return self.sample.asked_at.get(name, self.sample.first)

    def test_the_caption_says_whose_numbers_are_shown(self, caption, asking, capsys, recwarn):
        setting, functions, wanted = caption
        now = self.sample.read(setting, *functions)
        if wanted.endswith("…"):
            assert now.computed_by.startswith(wanted[:-1])
        else:
            assert now.computed_by == wanted
        assert len(now.computed_by) < self.sample.longest and "\n" not in now.computed_by
        assert self.shown(now) == self.shown(self.sample.read(setting))
        text = asking(*functions)
        assert "Traceback" not in text and "<b>" not in text
        assert capsys.readouterr() == ("", "") and not recwarn.list

    @pytest.mark.parametrize("unfit", UNFIT)
    def test_an_answer_that_gives_no_value_is_replaced_and_named(self, answer, unfit, asking, capsys, recwarn):
        function, said = UNFIT[unfit]
        functions = self.sample.right_but(answer, function)
        now = self.sample.read(self.setting_that_asks(answer), *functions)
        assert f": {said.format(answer)}" in f": {now.computed_by}"  # at its beginning, or after what it speaks of
        assert len(now.computed_by) < self.sample.longest and "\n" not in now.computed_by
        assert self.shown(now) == self.shown(self.sample.read(self.setting_that_asks(answer)))
        text = asking(*functions)
        assert "Traceback" not in text and "<b>" not in text
        assert capsys.readouterr() == ("", "") and not recwarn.list

    def test_prints_and_warnings_of_an_answer_are_dropped(self, answer, asking, capsys, recwarn):
        functions = self.sample.right_but(answer, noisy(self.sample.right[answer]))
        now = self.sample.read(self.setting_that_asks(answer), *functions)
        assert answer in now.computed_by and "library" not in now.computed_by
        asking(*functions)
        assert capsys.readouterr() == ("", "") and not recwarn.list


class RefusingTests(ExplorerTests):
    """Of an explorer whose controls can say what has no answer."""

    def test_a_bad_value_gives_a_sentence_and_keeps_the_last_picture(self, wrong, explorer, opened):
        name, value, said = wrong
        picture, redraws, words = explorer.picture.value, explorer.redraws, explorer.picture.tooltip
        text, told = explorer.text.value, self.sample.read(explorer.setting(), *self.sample.right.values()).tell()
        getattr(explorer, name).value = value
        problem = explorer.text.value.partition('class="kv-problem">')[2]
        assert html.escape(said) in problem and "Still shown: the last setting." in problem
        assert "Traceback" not in explorer.text.value and "<b>" not in problem and "<script>" not in problem
        assert f'<div class="kv-before">{told}</div>' in explorer.text.value
        assert (explorer.picture.value, explorer.redraws, explorer.picture.tooltip) == (picture, redraws, words)
        for control, good in opened[1]:
            control.value = good
        assert (explorer.picture.value, explorer.text.value) == (picture, text)  # nothing of the bad value is left
