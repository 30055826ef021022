"""The explorer of lesson 04 as plain functions and as a widget without a front end."""

import numpy as np
import pytest

from kvlab import masks
from kvlab.explorers import rectangular_masks
from kvlab.explorers.rectangular_masks import (
    MOST_CACHED,
    MOST_CHUNK,
    MOST_KEYS,
    NO_MASK,
    TOP_LEFT,
    Chart,
    Setting,
    reading,
    static_figure,
)
from tests.lessons.explorers import AskingTests, Sample, stub

WINDOWED = Setting(cached=4, chunk=3, window=3)


def mine(cached, chunk):
    """A learner's function that is right, and not the library's."""
    return np.tri(chunk, cached + chunk, cached, dtype=bool)


def mine_windowed(cached, chunk, window):
    return mine(cached, chunk) & ~np.tri(chunk, cached + chunk, cached - window, dtype=bool)


@pytest.mark.parametrize("beside", [TOP_LEFT, NO_MASK])
def test_every_setting_has_the_masks_of_its_positions(beside):
    for cached in range(MOST_CACHED + 1):
        for chunk in range(1, MOST_CHUNK + 1):
            for window in range(1, MOST_KEYS + 1):
                now = reading(Setting(cached, chunk, window, beside), mine, mine_windowed)
                for row in range(chunk):
                    query, first = cached + row, row if beside == TOP_LEFT else None
                    right = [query - window < key <= query for key in range(cached + chunk)]
                    wrong = [first is None or first - window < key <= first for key in range(cached + chunk)]
                    assert now.right[row].tolist() == right and now.wrong[row].tolist() == wrong
                assert (now.leaks ^ now.lost).tolist() == (now.right != now.wrong).tolist()
                assert now.computed_by.startswith("computed by your ")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (Setting(), "top-left mask: query 3 loses keys 1 to 3 (its own included); 6 cells differ in all"),
        (Setting(1, 1), "top-left mask: query 1 loses key 1 (its own included); 1 cell differs in all"),
        (Setting(0, 3), "top-left mask: nothing differs; on this chunk no test can see the mistake"),
        (Setting(4, 1, beside=NO_MASK), "no mask: nothing differs; on this chunk no test can see the mistake"),
        (Setting(4, 3, beside=NO_MASK), "no mask: query 4 sees keys 5 and 6 from its future; 3 cells differ in all"),
        (Setting(4, 1, 4, NO_MASK), "no mask: query 4 sees key 0 from beyond its window; 1 cell differs in all"),
        (
            WINDOWED,
            "top-left mask: query 4 loses keys 2 to 4 (its own included) and sees key 0 from beyond its window; "
            "15 cells differ in all",
        ),
    ],
)
def test_the_sentence_says_which_key_leaks_or_is_lost(setting, said):
    assert reading(setting).verdict == said
    assert reading(setting).describe().startswith(f"{said[:1].upper()}{said[1:]}. Right: query ")


def test_from_the_window_on_the_top_left_mask_shows_stale_keys_only():
    """The answers to the two questions of the lesson."""
    overlap = [(now := reading(Setting(cached, 3, 4))).right & now.wrong for cached in range(MOST_CACHED + 1)]
    assert [bool(each.any()) for each in overlap] == [True] * 4 + [False] * (MOST_CACHED - 3)
    for cached in range(MOST_CACHED + 1):
        for chunk in range(1, MOST_CHUNK + 1):
            unseen = "nothing differs" in reading(Setting(cached, chunk, beside=NO_MASK)).verdict
            assert unseen == (chunk == 1)
            for window in range(1, MOST_KEYS):
                unseen = "nothing differs" in reading(Setting(cached, 1, window, NO_MASK)).verdict
                assert unseen == (window >= cached + 1)


CAPTIONS = [
    (lambda *sizes: None, "your {}{} gives no bool array of shape …"),
    (lambda *sizes: masks.allowed(*sizes[:2]).astype(int), "your {}{} gives no bool array of shape …"),
    (lambda *sizes: masks.allowed(*sizes[:2]).T, "your {}{} gives no bool array of shape …"),
    (lambda *sizes: masks.allowed(*sizes[:2]).tolist(), "your {}{} gives no bool array of shape …"),
    (lambda *sizes: masks.causal_upper_left(*sizes[:2]), "your {}{} gives …"),
    (lambda *sizes: np.ones((sizes[1], sizes[0] + sizes[1]), dtype=bool), "your {}{} gives True in row 0, column …"),
]


def test_a_mask_that_is_right_only_without_a_cache_is_not_yet_right():
    now = reading(Setting(cached=0, chunk=4), lambda cached, chunk: masks.causal_upper_left(cached, chunk))
    assert now.computed_by == "your allowed(3, 2) gives False in row 0, column 1: showing the library's"


def test_as_many_cells_are_outlined_as_differ():
    chart = Chart()
    for setting in (Setting(), WINDOWED, Setting(7, 5, 2, NO_MASK), Setting(0, 3)):
        now = reading(setting)
        chart.set(now)
        outlined = [grid.apart[0].get_xydata().astype(int).tolist() for grid in chart.grids]
        assert outlined[0] == []
        assert sorted(outlined[1]) == sorted([key, row] for row, key in np.argwhere(now.right != now.wrong).tolist())
        shown = chart.grids[0].cells[0].get_xydata().astype(int).tolist()
        assert sorted(shown) == sorted([key, row] for row, key in np.argwhere(now.right).tolist())


class TestExplorer(AskingTests):
    sample = Sample(
        module=rectangular_masks,
        right={"allowed": mine, "window_allowed": mine_windowed},
        asked_at={"window_allowed": WINDOWED},
        captions=[
            (setting, (function, function), caption.format(name, sizes))
            for setting, name, sizes in [(Setting(), "allowed", (3, 2)), (WINDOWED, "window_allowed", (4, 3, 3))]
            for function, caption in CAPTIONS
        ],
        changes=[("cached", 0), ("cached", 7), ("chunk", 1), ("chunk", 5), ("window", 2), ("beside", NO_MASK)],
        walk=[("chunk", 5), ("cached", 7), ("window", 1), ("beside", NO_MASK), ("cached", 2), ("chunk", 3)],
        walk_ends=Setting(2, 3, 1, NO_MASK),
        refused=[
            (setting, "wanted")
            for setting in (Setting(cached=-1), Setting(chunk=0), Setting(window=0), Setting(beside="left"))
        ],
        extremes=[
            Setting(cached, chunk, beside=beside)
            for cached in (0, MOST_CACHED)
            for chunk in (1, MOST_CHUNK)
            for beside in (TOP_LEFT, NO_MASK)
        ],
        css="cached chunk window beside",
    )

    def test_the_window_asks_the_other_function(self, asking, explorer):
        assert "Computed by your allowed." in asking(mine, stub)
        explorer.window.value = 2
        assert "Computed by the library until yours is written." in explorer.text.value

    def test_the_axes_end_where_they_are_said_to(self, explorer):
        assert [grid.axes.get_xlim() for grid in explorer.chart.grids] == [(-0.5, MOST_KEYS - 0.5)] * 2


def test_the_picture_in_words():
    assert static_figure(mine, mine_windowed).alt.startswith("Top-left mask: query 3 loses keys 1 to 3")
