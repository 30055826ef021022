"""The explorer of lesson 07 as plain functions and as a widget without a front end."""

import warnings

import numpy as np
import pytest

from kvlab import paging
from kvlab.explorers import paging as paging_explorer
from kvlab.explorers.blit import Blitter
from kvlab.explorers.controls import CUSTOM
from kvlab.explorers.learner import UNWRITTEN
from kvlab.explorers.paging import (
    MOST_ACTIONS,
    MOST_BLOCK_SIZE,
    MOST_TOKENS,
    NUM_BLOCKS,
    SCRIPTS,
    START,
    Chart,
    Setting,
    parse,
    play,
    reading,
    share_falls_below,
    static_figure,
)
from tests.lessons.explorers import AskingTests, RefusingTests, Sample, stub
from tests.pngs import differ


class Mine(paging.BlockPool):
    """A learner's class that is right, and hands out its blocks from the other end."""

    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size)
        self._free.reverse()


def mine_wasted(lengths, block_size):
    return sum(-n % block_size for n in lengths)


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_at_every_step_and_block_size_the_counts_are_those_of_the_tables(script):
    for block_size in range(1, MOST_BLOCK_SIZE + 1):
        for state in play(paging.BlockPool, script, block_size):
            for block_id in range(NUM_BLOCKS):
                assert state.ref_counts[block_id] == len(state.owners(block_id))
                assert 0 < state.used(block_id, block_size) <= block_size or not state.ref_counts[block_id]
            assert state.free == state.ref_counts.count(0)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (Setting(), "grow B 1: block 1 is shared and has room, so it is copied to block 2 first; 12 slots held, 3 of "),
        (Setting(step=0), "an empty pool; 0 slots held, 0 of them empty; 12 of 12 blocks free"),
        (Setting(step=2), "fork A B: the same blocks under a second table; 8 slots held, 2 of "),
        (Setting(step=4), "grow A 1: no block is taken or given back; 12 slots held, 2 of "),
        (Setting(step=7), "free A: gives back blocks 1, 3; "),
        (Setting(SCRIPTS["growth"], 4), "grow A 4: takes block 4; 20 slots held, 4 of them empty; 7 of 12 blocks free"),
        (Setting(SCRIPTS["a full pool"], 4), "grow B 4: refused with MemoryError, and nothing changed; 48 slots "),
        (Setting(SCRIPTS["truncation"], 3), "cut B 6: no block is taken or given back; 16 slots held, 3 of "),
        (Setting("new A 5, cut A 20", 2), "cut A 20: refused with ValueError, and nothing changed; 8 slots held, 3 of"),
        (Setting("new A 5, cut A 5", 2), "cut A 5: no block is taken or given back; 8 slots"),
        (Setting("new A 60, fork A B, free A", 2), "fork A B: refused with MemoryError, and nothing changed; 0 slots"),
    ],
)
def test_the_sentence_says_what_the_action_did(setting, said):
    assert reading(setting).verdict.startswith(said)
    assert reading(setting).describe().startswith(f"{said[:1].upper()}{said[1:]}"[:40])


def test_the_answers_to_the_two_questions_of_the_lesson():
    copied = [bool(play(paging.BlockPool, SCRIPTS[START], size)[3].copies) for size in range(1, 9)]
    assert [size for size, copy in enumerate(copied, start=1) if not copy] == [1, 2, 3, 6]
    refused = [any(s.refused for s in play(paging.BlockPool, SCRIPTS["a full pool"], size)) for size in range(1, 65)]
    assert refused == [True] * 4 + [False] * 60


def test_the_waste_falls_below_the_line_where_it_is_said_to():
    assert share_falls_below(16) == (180, 360) and share_falls_below(1) == (0, 0)
    for size in (4, 16, 64):
        shares = reading(Setting(block_size=size)).shares
        mean, worst = share_falls_below(size)
        assert (shares[worst:] < 0.04).all() and shares[worst - size : worst].max() >= 0.04 * (1 - 1 / size)
        assert abs(shares[mean - size // 2 : mean + size - size // 2].mean() - 0.04) < 0.003


class Noisy(Mine):
    def append(self, id, n=1):
        print("debugging")
        warnings.warn("careful", stacklevel=1)
        np.log(np.zeros(1))
        return super().append(id, n)


class InPlace(paging.BlockPool):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size)
        self.slots = block_size

    def append(self, id, n=1):
        table, length = self._tables[id], self._lengths[id] + n
        table += self._take(paging.blocks_needed(length, self.slots) - len(table))
        self._lengths[id] = length
        return []


class NoList(paging.BlockPool):
    def append(self, id, n=1):
        super().append(id, n)


class Broken(paging.BlockPool):
    def fork(self, id):
        raise KeyError("two\nlines " + "and more " * 100)


class Refuses(paging.BlockPool):
    def append(self, id, n=1):
        raise ValueError("full")


class Lengthens(paging.BlockPool):
    def truncate(self, id, n):
        if n <= self._lengths[id]:
            super().truncate(id, n)


class Strange(paging.BlockPool):
    def table(self, id):
        return [99 for _ in super().table(id)]


def test_a_pool_that_does_not_refuse_a_cut_too_long_is_told_so():
    now = reading(Setting("new A 5, cut A 20", 2), Lengthens)
    assert "your BlockPool differs after 'cut A 20'" in now.computed_by and now.state.refused == "ValueError"


@pytest.mark.parametrize(("block_size", "said"), [(1, ["", ""]), (2, ["12", "24"]), (16, ["180", "360"])])
def test_the_lengths_beyond_which_waste_is_small_stand_at_their_marks(block_size, said):
    chart = Chart()
    chart.set(reading(Setting(block_size=block_size)))
    assert [text.get_text() for text in chart.lengths] == said
    assert [text.xy[0] for text in chart.lengths] == (list(chart.falls.get_xdata()) or [1, 1])


def test_the_range_holds_every_share_that_is_not_drawn_by_itself():
    chart = Chart()
    for block_size in (1, 4, MOST_BLOCK_SIZE):
        now = reading(Setting(block_size=block_size))
        chart.set(now)
        drawn, top = len(chart.exact.get_xdata()), chart.range.get_xy()
        assert top[0][0] == drawn and top[-1].tolist() == top[0].tolist()
        tokens, shares = top[1 : MOST_TOKENS - drawn].T
        assert (now.shares[tokens.astype(int) - 1] <= shares).all()


def test_the_learners_own_blocks_are_shown():
    assert reading(Setting(), Mine).state.tables == {"A": [11, 10], "B": [11, 9]}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("", f"actions: wanted 1 to {MOST_ACTIONS}"),
        ("new A 1, " * 13, f"actions: wanted 1 to {MOST_ACTIONS}, separated by commas, got 13"),
        ("new A", "actions: wanted such as"),
        ("new A -3", "actions: wanted such as"),
        ("new F 3", "got 'new F 3'"),
        ("new A 3, new A 4", "A exists already at 'new A 4'"),
        ("new A 3, fork A A", "A exists already"),
        ("grow A 3", "there is no A at 'grow A 3'"),
        ("new A 3, fork A F", "wanted a new name from A to E, got 'fork A F'"),
        ("new A 3, grow Z 4", "there is no Z at 'grow Z 4'"),
        ("fork Z A", "there is no Z at 'fork Z A'"),
        ("new A 3, free A, free A", "there is no A at 'free A'"),
    ],
)
def test_actions_that_make_no_sense_are_refused_with_what_was_wanted(script, said):
    with pytest.raises(ValueError, match=said):
        parse(script)


def test_a_copy_is_outlined_and_nothing_else():
    chart = Chart()
    for step in range(9):
        now = reading(Setting(step=step))
        chart.set(now)
        wide = [number for number, frame in enumerate(chart.frames) if frame.get_linewidth() > 2]
        assert wide == sorted(block for pair in now.state.copies for block in pair)
        assert chart.arrow.get_visible() == bool(now.state.copies)
        assert [each.get_text() for each in chart.counts] == [f"×{n}" if n else "" for n in now.state.ref_counts]


def test_five_owners_fit_into_a_block():
    chart = Chart()
    chart.set(reading(Setting("new A 3, fork A B, fork A C, fork A D, fork A E", 5)))
    canvas = Blitter(chart.figure, chart.moving).canvas
    name, frame = chart.names[0], chart.frames[0]
    assert name.get_text() == "A B C D E"
    assert name.get_window_extent(canvas.get_renderer()).width < frame.get_window_extent().width


BY_MINE, WASTE = "tables: computed by your BlockPool; waste: ", "your waste([1], 4) gives"
POOLS = [
    (Mine, "computed by your BlockPool…"),
    (Noisy, "computed by your BlockPool…"),
    (InPlace, "your BlockPool differs after 'grow B 1': showing the library's…"),
    (NoList, "your BlockPool raises TypeError: …"),
    (Broken, "your BlockPool raises KeyError: 'two\\nlines and more …"),
    (Refuses, "your BlockPool raises ValueError: full…"),
    (Strange, "your BlockPool differs after 'new A 6'…"),
    (lambda num_blocks, block_size: None, "your BlockPool raises AttributeError…"),
]


class TestExplorer(AskingTests, RefusingTests):
    sample = Sample(
        module=paging_explorer,
        right={"BlockPool": Mine, "waste": mine_wasted},
        captions=[
            *((Setting(), (pool, None), f"tables: {caption}") for pool, caption in POOLS),
            (Setting(), (Mine, mine_wasted), f"{BY_MINE}computed by your waste"),
            (Setting(), (Mine, stub), f"{BY_MINE}{UNWRITTEN}"),
            (Setting(), (Mine, lambda lengths, size: len(lengths)), f"{BY_MINE}{WASTE} 1: showing the library's"),
            (Setting(), (Mine, lambda lengths, size: 3.0), f"{BY_MINE}{WASTE} 3.0: showing the library's"),
        ],
        changes=[("step", 2), ("step", 0), ("block_size", 16), ("script", "new A 3; new B 2"), ("scripts", "growth")],
        walk=[
            *(("block_size", 64), ("scripts", "growth"), ("step", 5), ("block_size", 1), ("step", 3)),
            ("block_size", 3),
        ],
        walk_ends=Setting(SCRIPTS["growth"], 3, 3),
        refused=[
            (setting, "wanted")
            for setting in (Setting(block_size=0), Setting(step=-1), Setting(step=9), Setting(script="x"))
        ],
        bad=[("script", "new A 3, what", "got 'what'")],
        extremes=[
            Setting(script, len(parse(script)), block_size)
            for block_size in (1, 2, 16, MOST_BLOCK_SIZE)
            for script in SCRIPTS.values()
        ],
        longest=350,
        css="scripts script step block",
    )

    def shown(self, now):
        """A pool chooses its own blocks."""
        state = now.state
        return state.lengths, state.refused, state.free, sorted(state.ref_counts), now.shares.tolist()

    def test_a_scene_starts_at_its_first_action_and_the_step_ends_at_the_last(self, explorer):
        explorer.scripts.value = "a full pool"
        assert (explorer.step.value, explorer.step.max) == (1, 6)
        explorer.step.value = 6
        explorer.script.value = "new A 3, free A"
        assert (explorer.step.value, explorer.step.max, explorer.scripts.value) == (2, 2, CUSTOM)

    def test_back_is_the_picture_that_was_there_before(self, explorer):
        seen = []
        for step in range(explorer.step.max + 1):
            explorer.step.value = step
            seen.append(explorer.picture.value)
        for step in reversed(range(explorer.step.max + 1)):
            explorer.step.value = step
            assert not differ(explorer.picture.value, seen[step])


def test_the_picture_in_words():
    assert static_figure(Mine, mine_wasted).alt.startswith("Grow B 1: block 10 is shared")
