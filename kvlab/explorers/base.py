"""What every explorer is: controls, a reading of what they say, and a picture of the reading.

The smallest to copy is `timeline`.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import fields
from html import escape

import ipywidgets as widgets
from matplotlib import rc_context
from matplotlib.figure import Figure

from kvlab.explorers.blit import Blitter, DescribedImage
from kvlab.explorers.controls import CUSTOM
from kvlab.explorers.words import page, sentence
from kvlab.figures import style
from kvlab.figures.picture import CSS_DPI, Picture


@contextlib.contextmanager
def styled_figure(height: float) -> Iterator[Figure]:
    """A chart's figure, `height` inches high; what is made inside the `with` has the course's style."""
    with rc_context(style.STYLE):
        yield Figure((5.4, height), dpi=CSS_DPI)  # narrow: its text stays readable when scaled


class Explorer(widgets.VBox):
    """Controls, the exact reading as text, and the picture; `redraws` counts how often it was drawn.

    A subclass names three things:

    - `Setting`, a dataclass: what the controls say.
    - `reading(setting, *answers)`, where `answers` are the learner's functions or measured data. Of what it returns,
      `computed_by` is the caption, `tell()` the reading as HTML, `describe()` the picture in words. Its TypeError or
      ValueError becomes a sentence, and the last picture stays.
    - `Chart`, the picture: a `figure`, the artists that are `moving` in drawing order, and `set(now)`, which moves
      them to a reading.

    Its `__init__` makes the controls, each under the name of its field of `Setting`, then calls this one.
    """

    def __init__(self, controls: tuple[widgets.Widget, ...], *answers: object):
        self.answers = answers
        self.redraws = 0
        self._moving_many = False
        self.text = widgets.HTML()
        self.text.add_class("kv-reading")
        self.picture = DescribedImage(format="png", layout={"width": "100%", "max_width": "540px", "height": "auto"})
        self.picture.add_class("kv-picture")
        self.chart = self.Chart()
        self._blitter = Blitter(self.chart.figure, self.chart.moving)
        self._last = None
        for control in controls:
            control.observe(self._changed, "value")
        columns = "repeat(auto-fit, minmax(min(320px, 100%), 1fr))"  # one column where two would be cramped
        board = widgets.GridBox(controls, layout={"grid_template_columns": columns, "max_width": "760px"})
        super().__init__((board, self.text, self.picture), layout={"overflow": "hidden"})
        self._redraw()

    @classmethod
    def first_setting(cls, *_answers: object) -> object:
        """The setting that the explorer opens with."""
        return cls.Setting()

    @classmethod
    def static_figure(cls, *answers: object) -> Picture:
        """The explorer's picture at its first setting, for a page that cannot run it."""
        chart, now = cls.Chart(), cls.reading(cls.first_setting(*answers), *answers)
        chart.set(now)
        return Picture(chart.figure, now.describe())

    def setting(self) -> object:
        """What the controls say. ValueError where a text field holds something else than what is wanted there."""
        return self.Setting(**{field.name: getattr(self, field.name).value for field in fields(self.Setting)})

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Controls moved in here draw nothing: the one that the learner moved draws, once."""
        before, self._moving_many = self._moving_many, True
        try:
            yield
        finally:
            self._moving_many = before

    def offer(self, ready: widgets.Dropdown, choose: Callable[[str], None], *controls: widgets.Widget) -> None:
        """`ready` lists settings by name: to choose one calls `choose(name)`, to move one of `controls` leaves it.

        Call it before the base's `__init__`, so that both are done when the picture is drawn.
        """

        def chosen(change):
            if change["new"] != CUSTOM:
                with self.together():
                    choose(change["new"])

        def left(_change):
            if not self._moving_many:
                with self.together():
                    ready.value = CUSTOM

        ready.observe(chosen, "value")
        for control in controls:
            control.observe(left, "value")

    def _changed(self, _change) -> None:
        if not self._moving_many:
            self._redraw()

    def _redraw(self) -> None:
        try:
            now = self.reading(self.setting(), *self.answers)
        except (TypeError, ValueError) as problem:
            note = f'<span class="kv-problem">{escape(str(problem))}.</span> Still shown: the last setting.'
            self.text.value = page(f'<div class="kv-before">{self._last.tell()}</div>', note)
            return
        self._last = now
        self.chart.set(now)
        self.picture.value = self._blitter.png()
        self.picture.tooltip = now.describe()
        self.text.value = page(now.tell(), escape(sentence(now.computed_by)))
        self.redraws += 1
