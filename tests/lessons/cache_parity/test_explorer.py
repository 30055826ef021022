"""The explorer of lesson 03 as plain functions and as a widget without a front end."""

import warnings
from dataclasses import replace

import matplotlib.text
import numpy as np
import pytest
from PIL import Image, ImageChops

from kvlab import parity
from kvlab.explorers.blit import Blitter
from kvlab.explorers.cache_parity import (
    CONTEXT,
    CUSTOM,
    MOST_SEED,
    STRINGS,
    TOLERANCES,
    Chart,
    Setting,
    describe,
    explore,
    parse_ids,
    reading,
    static_figure,
)
from kvlab.figures import labels, shared
from tests.pngs import differ, pixels
from tiny_transformer import TinyDecoder

ODD = Setting(ids=(2, 0, 1, 1, 2), seed=7)


class Mine(parity.CachedDecoder):
    """A learner's class that is right, and not the library's."""


@pytest.mark.parametrize("seed", [0, 2, 7, MOST_SEED])
@pytest.mark.parametrize("ids", [*STRINGS.values(), (2,), (1, 0, 2)])
def test_a_reading_holds_both_ways_of_computing_the_same_logits(seed, ids):
    now = reading(Setting(ids, seed), Mine)
    full = TinyDecoder(seed=seed).forward([ids])[0][0]
    assert now.cached.shape == now.full.shape == full.shape
    assert np.abs(now.full - full).max() <= 1e-12 and now.differences.max() <= 1e-12
    assert all(now.agrees) and now.computed_by == "computed by your CachedDecoder"
    steps = "1 step agree" if len(ids) == 1 else f"{len(ids)} steps agree"
    assert now.verdict.startswith(f"{len(ids)} of {steps} within 1e-10; largest difference ")


@pytest.mark.parametrize("decoder", [None, Mine])
@pytest.mark.parametrize("seed", range(0, MOST_SEED, 9))
def test_position_zero_breaks_parity_from_the_second_step(decoder, seed):
    now = reading(replace(ODD, position_zero=True, seed=seed), decoder)
    blind = parity.position_zero(TinyDecoder(seed=seed)).forward([ODD.ids])[0][0]
    np.testing.assert_allclose(now.cached, blind, rtol=0, atol=1e-12)
    assert now.agrees == [True, False, False, False, False]
    by = labels.short_difference(now.differences[1].max())
    assert now.verdict == f"step 1 is the first to differ: by {by}; 1 of 5 steps agree within 1e-10"


def test_arg_max_alone_can_hide_what_the_logits_show():
    hidden = Setting(ids=(0, 1, 0, 0, 1, 0, 0, 1), position_zero=True, argmax_only=True)
    now = reading(hidden)
    largest = labels.short_difference(now.differences.max())
    assert now.differences.max() > 0.1
    assert now.verdict == f"all 8 arg-maxes agree, although logits differ by up to {largest}"
    assert "Arg-max, cached and full: 2 and 2, 1 and 1, " in describe(now)
    seen = reading(replace(hidden, ids=STRINGS["mixed"]))
    assert seen.verdict == f"arg-max differs first at step 2; it agrees in {sum(seen.agrees)} of 8 steps"
    assert "although" not in reading(Setting(argmax_only=True)).verdict


class Unwritten:
    def __init__(self, model):
        print("debugging")

    def step(self, token):
        raise NotImplementedError


class Raises(Mine):
    def step(self, token):
        raise KeyError("two\nlines " + "and more " * 100)


class NeedsMore:
    def __init__(self):
        pass


class Returns(Mine):
    value = None

    def step(self, token):
        return self.value


def returning(value):
    return type("Returns", (Returns,), {"value": value})


class Blind(Mine):
    def __init__(self, model):
        super().__init__(parity.position_zero(model))


class LateNaN(Mine):
    def step(self, token):
        return super().step(token) * (1 if len(self) < 4 else np.nan)


class Noisy(Mine):
    def step(self, token):
        print("debugging")
        warnings.warn("careful", stacklevel=1)
        np.log(np.zeros(1))
        return super().step(token).tolist()


class OneBuffer(Mine):
    def __init__(self, model):
        super().__init__(model)
        self.out = np.zeros(3)

    def step(self, token):
        self.out[:] = super().step(token)
        return self.out


class Overwrites(Mine):
    """Wrong, and hides it by changing the model that it was given."""

    def __init__(self, model):
        model.p["P"][:] = model.p["P"][0]
        super().__init__(model)


UNWRITTEN = "computed by the library until yours is written"
SHAPE = "your CachedDecoder gives no 3 logits, shape (3,), at step 0: showing the library's"


@pytest.mark.parametrize(
    ("decoder", "caption"),
    [
        (Mine, "computed by your CachedDecoder"),
        (Noisy, "computed by your CachedDecoder"),
        (OneBuffer, "computed by your CachedDecoder"),
        (None, UNWRITTEN),
        (Unwritten, UNWRITTEN),
        (Raises, "your CachedDecoder raises KeyError: 'two\\nlines and more "),
        (NeedsMore, "your CachedDecoder raises TypeError: "),
        (object, "your CachedDecoder raises TypeError: "),
        (lambda model: None, "your CachedDecoder raises AttributeError: "),
        (7, "your CachedDecoder raises TypeError: 'int' object is not callable"),
        *((returning(value), SHAPE) for value in (None, 1.0, "logits", np.zeros((1, 3)), np.zeros(8), [[1], 2, 3], {})),
        (returning(np.zeros(3)), "your CachedDecoder differs from the full pass first at step 0, by "),
        (Blind, "your CachedDecoder differs from the full pass first at step 1, by "),
        (Overwrites, "your CachedDecoder differs from the full pass first at step 1, by "),
        (LateNaN, "your CachedDecoder differs from the full pass first at step 3, by nan: showing the library's"),
    ],
)
@pytest.mark.parametrize("position_zero", [False, True])
def test_the_caption_says_whose_logits_are_shown(decoder, caption, position_zero, capsys, recwarn):
    setting = replace(ODD, position_zero=position_zero)
    now = reading(setting, decoder)
    assert now.computed_by.startswith(caption) and len(now.computed_by) < 300
    np.testing.assert_allclose(now.cached, reading(setting).cached, rtol=0, atol=1e-12)
    assert "\n" not in now.computed_by and "Traceback" not in explore(decoder).text.value
    assert capsys.readouterr() == ("", "") and not recwarn.list


def test_an_error_of_the_learner_is_shown_as_text_never_as_markup():
    class Markup(Mine):
        def step(self, token):
            raise ValueError("<b>bold</b>")

    text = explore(Markup).text.value
    assert "&lt;b&gt;bold" in text and "<b>" not in text


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("0 1 2", (0, 1, 2)),
        ("0,1,2", (0, 1, 2)),
        (" 012, 0 ", (0, 1, 2, 0)),
        ("2", (2,)),
        ("01201201", (0, 1, 2, 0, 1, 2, 0, 1)),
    ],
)
def test_typed_ids_are_read_digit_by_digit(text, ids):
    assert parse_ids(text) == ids


BAD_IDS = ["", " ", ",", "3", "0 1 2 3", "-1", "0.5", "a", "<b>", "012012012", "٣", "9" * 5000]


@pytest.mark.parametrize("text", BAD_IDS)
def test_typed_things_that_are_no_ids_are_refused(text):
    with pytest.raises(ValueError, match=r"^ids: wanted 1 to 8 digits from 0 to 2") as error:
        parse_ids(text)
    assert len(str(error.value)) < 130


@pytest.mark.parametrize("ids", [(), (3,), (-1,), (0,) * 9, (True,), (1.0,), ("1",)])
def test_a_setting_without_an_answer_is_refused(ids):
    with pytest.raises(ValueError, match=r"^ids: wanted"):
        reading(Setting(ids=ids))


CHANGES = [
    ("ids", "0 1"),
    ("ids", "2 1 2 0 1 2 0 1"),
    ("strings", "one token repeated"),
    ("strings", "alternating"),
    ("seed", 3),
    ("position_zero", True),
    ("argmax_only", True),
    ("atol", 1e-6),
    ("atol", 1e-2),
]


@pytest.mark.parametrize("decoder", [None, Mine])
@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_every_control_changes_the_picture_with_one_redraw(name, value, decoder):
    explorer = explore(decoder)
    before, redraws, words = explorer.picture.value, explorer.redraws, explorer.picture.tooltip
    getattr(explorer, name).value = value
    assert explorer.redraws == redraws + 1
    assert differ(before, explorer.picture.value)
    assert explorer.picture.tooltip != words


def test_choosing_a_string_sets_the_ids_and_typing_leaves_it():
    explorer = explore()
    for name, ids in reversed(STRINGS.items()):
        redraws = explorer.redraws
        explorer.strings.value = name
        assert explorer.redraws == redraws + 1 and parse_ids(explorer.ids.value) == ids
        assert explorer.setting().ids == ids
    redraws = explorer.redraws
    explorer.ids.value = "2 2"
    assert (explorer.strings.value, explorer.redraws) == (CUSTOM, redraws + 1)
    assert "2 of 2 steps agree" in explorer.text.value


def test_a_tolerance_is_offered_only_where_it_counts():
    explorer = explore()
    assert dict(explorer.atol.options) == TOLERANCES and explorer.atol.value == 1e-10
    explorer.argmax_only.value = True
    assert explorer.atol.disabled
    explorer.argmax_only.value = False
    assert not explorer.atol.disabled


@pytest.mark.parametrize("text", BAD_IDS)
def test_bad_ids_give_a_sentence_and_keep_the_last_picture(text):
    explorer = explore(Mine)
    explorer.position_zero.value = True
    picture, redraws, good = explorer.picture.value, explorer.redraws, explorer.ids.value
    explorer.ids.value = text
    assert "ids: wanted 1 to 8 digits from 0 to 2" in explorer.text.value
    assert "Still shown: the last setting." in explorer.text.value and "<b>" not in explorer.text.value
    assert "Step 1 is the first to differ" in explorer.text.value
    assert (explorer.picture.value, explorer.redraws) == (picture, redraws)
    explorer.ids.value = good
    assert "wanted" not in explorer.text.value and "Computed by your CachedDecoder." in explorer.text.value
    assert explorer.picture.value == picture  # nothing of the bad value is left on the canvas


def test_axes_never_move_and_no_text_leaves_the_picture():
    explorer = explore()
    axes, canvas = explorer._chart.axes, explorer._blitter.canvas
    place, paper = axes.get_position().bounds, canvas.figure.bbox
    for ids in ("0", "0 0 0 0 0 0 0 0", "0 1 2 0 1 2 0 1", "wrong"):
        for switched in (False, True):
            explorer.ids.value, explorer.seed.value = ids, MOST_SEED * switched
            explorer.position_zero.value = switched
            for argmax_only in (False, True):
                explorer.argmax_only.value = argmax_only
                assert axes.get_xlim() == (-0.5, CONTEXT - 0.5) and axes.get_ylim() == (1e-17, 10)
                assert axes.get_position().bounds == place
                for text in explorer._chart.figure.findobj(matplotlib.text.Text):
                    box = text.get_window_extent(canvas.get_renderer())
                    if text.get_text() and text.get_visible():
                        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= paper.x1 and box.y1 <= paper.y1
                        assert inside, (text, ids, switched)


def test_every_difference_of_every_seed_has_its_place_on_the_axis():
    for seed in range(MOST_SEED + 1):
        now = reading(Setting(seed=seed, position_zero=True))
        assert now.differences.max() < shared.MOST_DIFFERENCE


def test_a_picture_after_many_moves_equals_one_drawn_afresh():
    explorer = explore()
    moves = [("atol", 1e-2), ("ids", "0"), ("argmax_only", True), ("seed", 9), ("ids", "021"), ("argmax_only", False)]
    for name, value in moves:
        getattr(explorer, name).value = value
    chart = Chart()
    chart.set(reading(Setting((0, 2, 1), seed=9, atol=1e-2)))
    assert not differ(explorer.picture.value, Blitter(chart.figure, chart.moving).png())


def test_colours_that_only_a_later_picture_has_are_kept():
    explorer = explore()
    for name, value in (("position_zero", True), ("argmax_only", True), ("seed", 5)):
        getattr(explorer, name).value = value
        canvas = explorer._blitter.canvas
        drawn = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba()).convert("RGB")
        apart = ImageChops.difference(drawn, pixels(explorer.picture.value)).getextrema()
        assert max(most for _, most in apart) <= 24


def test_the_static_figure_draws_what_the_explorer_first_shows():
    static, live = static_figure(Mine), explore(Mine)
    assert static.alt == live.picture.tooltip
    assert static.alt.startswith("8 of 8 steps agree within 1e-10; largest difference ")
    assert static.png() == static_figure(Mine).png()
    assert pixels(static.png()).size == pixels(live.picture.value).size


def test_widgets_can_be_found_by_class():
    explorer = explore()
    found = {name for control in (*explorer.children[0].children, *explorer.children) for name in control._dom_classes}
    controls = "ids seed strings position-zero argmax-only atol reading picture"
    assert {f"kv-{name}" for name in controls.split()} <= found
