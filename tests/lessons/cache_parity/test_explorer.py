"""The explorer of lesson 03 as plain functions and as a widget without a front end."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from kvlab import parity
from kvlab.explorers import cache_parity
from kvlab.explorers.cache_parity import (
    CONTEXT,
    MOST_SEED,
    STRINGS,
    TOLERANCES,
    Setting,
    parse_ids,
    reading,
    static_figure,
)
from kvlab.explorers.controls import CUSTOM
from kvlab.figures import labels, shared
from tests.lessons.explorers import AskingTests, RefusingTests, Sample
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
    assert "Arg-max, cached and full: 2 and 2, 1 and 1, " in now.describe()
    seen = reading(replace(hidden, ids=STRINGS["mixed"]))
    assert seen.verdict == f"arg-max differs first at step 2; it agrees in {sum(seen.agrees)} of 8 steps"
    assert "although" not in reading(Setting(argmax_only=True)).verdict


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


SHAPE = "your CachedDecoder gives no 3 logits, shape (3,), at step 0: showing the library's"
DIFFERS = "your CachedDecoder differs from the full pass first at step"
CAPTIONS = [
    (Mine, "computed by your CachedDecoder"),
    (Noisy, "computed by your CachedDecoder"),
    (OneBuffer, "computed by your CachedDecoder"),
    (NeedsMore, "your CachedDecoder raises TypeError: …"),
    (object, "your CachedDecoder raises TypeError: …"),
    (lambda model: None, "your CachedDecoder raises AttributeError: …"),
    *((returning(value), SHAPE) for value in (None, 1.0, "logits", np.zeros((1, 3)), np.zeros(8), [[1], 2, 3], {})),
    (returning(np.zeros(3)), f"{DIFFERS} 0, by …"),
    (Blind, f"{DIFFERS} 1, by …"),
    (Overwrites, f"{DIFFERS} 1, by …"),
    (LateNaN, f"{DIFFERS} 3, by nan: showing the library's"),
]


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


class TestExplorer(AskingTests, RefusingTests):
    sample = Sample(
        module=cache_parity,
        right={"CachedDecoder": Mine},
        captions=[
            (replace(ODD, position_zero=position_zero), (decoder,), caption)
            for position_zero in (False, True)
            for decoder, caption in CAPTIONS
        ],
        changes=[
            ("ids", "0 1"),
            ("ids", "2 1 2 0 1 2 0 1"),
            ("strings", "one token repeated"),
            ("strings", "alternating"),
            ("seed", 3),
            ("position_zero", True),
            ("argmax_only", True),
            ("atol", 1e-6),
            ("atol", 1e-2),
        ],
        walk=[
            ("atol", 1e-2),
            ("ids", "0"),
            ("position_zero", True),
            ("argmax_only", True),
            ("seed", 9),
            ("ids", "021"),
            ("argmax_only", False),
            ("position_zero", False),
        ],
        walk_ends=Setting((0, 2, 1), seed=9, atol=1e-2),
        refused=[(Setting(ids=ids), r"^ids: wanted") for ids in ((), (3,), (-1,), (0,) * 9, (True,), (1.0,), ("1",))],
        bad=[("ids", text, "ids: wanted 1 to 8 digits from 0 to 2") for text in BAD_IDS],
        extremes=[
            Setting(ids, MOST_SEED * switched, switched, argmax_only)
            for ids in ((0,), *STRINGS.values())
            for switched in (False, True)
            for argmax_only in (False, True)
        ],
        touching=("step",),
        css="ids seed strings position-zero argmax-only atol",
    )

    def shown(self, now):
        return now.cached.round(11).tolist(), now.full.tolist(), now.verdict

    def test_choosing_a_string_sets_the_ids_and_typing_leaves_it(self, explorer):
        for name, ids in reversed(STRINGS.items()):
            redraws = explorer.redraws
            explorer.strings.value = name
            assert explorer.redraws == redraws + 1 and parse_ids(explorer.ids.value) == ids
            assert explorer.setting().ids == ids
        redraws = explorer.redraws
        explorer.ids.value = "2 2"
        assert (explorer.strings.value, explorer.redraws) == (CUSTOM, redraws + 1)
        assert "2 of 2 steps agree" in explorer.text.value

    def test_a_tolerance_is_offered_only_where_it_counts(self, explorer):
        assert dict(explorer.atol.options) == TOLERANCES and explorer.atol.value == 1e-10
        explorer.argmax_only.value = True
        assert explorer.atol.disabled
        explorer.argmax_only.value = False
        assert not explorer.atol.disabled

    def test_bad_ids_keep_what_a_switch_has_changed(self, explorer):
        explorer.position_zero.value = True
        explorer.ids.value = "7"
        assert "Step 1 is the first to differ" in explorer.text.value
        explorer.ids.value = "012"
        assert "wanted" not in explorer.text.value and "Computed by your CachedDecoder." in explorer.text.value

    def test_the_axes_end_where_they_are_said_to(self, explorer):
        axes = explorer.chart.axes
        assert axes.get_xlim() == (-0.5, CONTEXT - 0.5) and axes.get_ylim() == (1e-17, 10)


def test_every_difference_of_every_seed_has_its_place_on_the_axis():
    for seed in range(MOST_SEED + 1):
        now = reading(Setting(seed=seed, position_zero=True))
        assert now.differences.max() < shared.MOST_DIFFERENCE


def test_the_picture_in_words():
    assert static_figure(Mine).alt.startswith("8 of 8 steps agree within 1e-10; largest difference ")
