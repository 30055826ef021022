"""The explorer of lesson 07 as plain functions and as a widget without a front end."""

import warnings

import matplotlib.text
import numpy as np
import pytest

from kvlab import paging
from kvlab.explorers.blit import Blitter
from kvlab.explorers.controls import CUSTOM
from kvlab.explorers.paging import (
    MOST_ACTIONS,
    MOST_BLOCK,
    MOST_TOKENS,
    NUM_BLOCKS,
    SCRIPTS,
    START,
    Chart,
    Setting,
    describe,
    explore,
    parse,
    play,
    reading,
    share_falls_below,
    static_figure,
)
from tests.pngs import differ, pixels


class Mine(paging.BlockPool):
    """A learner's class that is right, and hands out its blocks from the other end."""

    def __init__(self, num_blocks, block):
        super().__init__(num_blocks, block)
        self._free.reverse()


def mine_wasted(lengths, block):
    return sum(-n % block for n in lengths)


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_at_every_step_and_block_size_the_counts_are_those_of_the_tables(script):
    for block in range(1, MOST_BLOCK + 1):
        for state in play(paging.BlockPool, script, block):
            for number in range(NUM_BLOCKS):
                assert state.refs[number] == len(state.owners(number))
                assert 0 < state.used(number, block) <= block or not state.refs[number]
            assert state.free == state.refs.count(0)


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
    assert describe(reading(setting)).startswith(f"{said[:1].upper()}{said[1:]}"[:40])


def test_the_answers_to_the_two_questions_of_the_lesson():
    copied = [bool(play(paging.BlockPool, SCRIPTS[START], block)[3].copies) for block in range(1, 9)]
    assert [block for block, copy in enumerate(copied, start=1) if not copy] == [1, 2, 3, 6]
    refused = [any(s.refused for s in play(paging.BlockPool, SCRIPTS["a full pool"], block)) for block in range(1, 65)]
    assert refused == [True] * 4 + [False] * 60


def test_the_waste_falls_below_the_line_where_it_is_said_to():
    assert share_falls_below(16) == (180, 360) and share_falls_below(1) == (0, 0)
    for block in (4, 16, 64):
        shares = reading(Setting(block=block)).shares
        mean, worst = share_falls_below(block)
        assert (shares[worst:] < 0.04).all() and shares[worst - block : worst].max() >= 0.04 * (1 - 1 / block)
        assert abs(shares[mean - block // 2 : mean + block - block // 2].mean() - 0.04) < 0.003


def stub(*arguments):
    print("debugging")
    raise NotImplementedError


class Noisy(Mine):
    def append(self, id, n=1):
        print("debugging")
        warnings.warn("careful", stacklevel=1)
        np.log(np.zeros(1))
        return super().append(id, n)


class InPlace(paging.BlockPool):
    def append(self, id, n=1):
        table, length = self._tables[id], self._lengths[id] + n
        table += self._take(paging.blocks_needed(length, self.block) - len(table))
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


UNWRITTEN = "computed by the library until yours is written"


@pytest.mark.parametrize(
    ("pool", "caption"),
    [
        (Mine, "computed by your BlockPool"),
        (Noisy, "computed by your BlockPool"),
        (None, UNWRITTEN),
        (stub, UNWRITTEN),
        (InPlace, "your BlockPool differs after 'grow B 1': showing the library's"),
        (NoList, "your BlockPool raises TypeError: "),
        (Broken, "your BlockPool raises KeyError: 'two\\nlines and more "),
        (Refuses, "your BlockPool raises ValueError: full"),
        (Strange, "your BlockPool differs after 'new A 6'"),
        (7, "your BlockPool raises TypeError: 'int' object is not callable"),
        (lambda num_blocks, block: None, "your BlockPool raises AttributeError"),
    ],
)
def test_the_caption_says_whose_tables_are_shown(pool, caption, capsys, recwarn):
    now = reading(Setting(), pool)
    assert now.computed_by.startswith(f"tables: {caption}") and len(now.computed_by) < 350
    assert now.state.lengths == reading(Setting()).state.lengths and "\n" not in now.computed_by
    assert "Traceback" not in explore(pool).text.value
    assert capsys.readouterr() == ("", "") and not recwarn.list


@pytest.mark.parametrize(
    ("function", "caption"),
    [
        (mine_wasted, "waste: computed by your waste"),
        (stub, f"waste: {UNWRITTEN}"),
        (lambda lengths, block: len(lengths), "waste: your waste([1], 4) gives 1: showing the library's"),
        (lambda lengths, block: 3.0, "waste: your waste([1], 4) gives 3.0: showing the library's"),
    ],
)
def test_the_caption_says_whose_waste_is_shown(function, caption):
    assert reading(Setting(), Mine, function).computed_by.endswith(caption)


def test_a_pool_that_does_not_refuse_a_cut_too_long_is_told_so():
    now = reading(Setting("new A 5, cut A 20", 2), Lengthens)
    assert "your BlockPool differs after 'cut A 20'" in now.computed_by and now.state.refused == "ValueError"


@pytest.mark.parametrize(("block", "said"), [(1, ["", ""]), (2, ["12", "24"]), (16, ["180", "360"])])
def test_the_lengths_beyond_which_waste_is_small_stand_at_their_marks(block, said):
    chart = Chart()
    chart.set(reading(Setting(block=block)))
    assert [text.get_text() for text in chart.lengths] == said
    assert [text.xy[0] for text in chart.lengths] == (list(chart.falls.get_xdata()) or [1, 1])


def test_the_range_holds_every_share_that_is_not_drawn_by_itself():
    for block in (1, 4, MOST_BLOCK):
        chart, now = Chart(), reading(Setting(block=block))
        chart.set(now)
        drawn, top = len(chart.exact.get_xdata()), chart.range.get_xy()
        assert top[0][0] == drawn and top[-1].tolist() == top[0].tolist()
        for tokens, share in top[1 : MOST_TOKENS - drawn]:
            assert now.shares[int(tokens) - 1] <= share


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


@pytest.mark.parametrize("setting", [Setting(block=0), Setting(step=-1), Setting(step=9), Setting(script="x")])
def test_a_setting_without_an_answer_is_refused(setting):
    with pytest.raises(ValueError, match="wanted"):
        reading(setting)


CHANGES = [("step", 2), ("step", 0), ("block", 16), ("script", "new A 3; new B 2"), ("scripts", "growth")]


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_every_control_changes_the_picture_with_one_redraw(name, value):
    explorer = explore(Mine, mine_wasted)
    before, redraws, words = explorer.picture.value, explorer.redraws, explorer.picture.tooltip
    getattr(explorer, name).value = value
    assert explorer.redraws == redraws + 1
    assert differ(before, explorer.picture.value)
    assert explorer.picture.tooltip != words


def test_a_scene_starts_at_its_first_action_and_the_step_ends_at_the_last():
    explorer = explore()
    explorer.scripts.value = "a full pool"
    assert (explorer.step.value, explorer.step.max) == (1, 6)
    explorer.step.value = 6
    explorer.script.value = "new A 3, free A"
    assert (explorer.step.value, explorer.step.max, explorer.scripts.value) == (2, 2, CUSTOM)
    explorer.script.value = "new A 3, what"
    assert "got &#x27;what&#x27;" in explorer.text.value and "Still shown: the last setting" in explorer.text.value


def test_back_is_the_picture_that_was_there_before():
    explorer = explore()
    seen = []
    for step in range(explorer.step.max + 1):
        explorer.step.value = step
        seen.append(explorer.picture.value)
    for step in reversed(range(explorer.step.max + 1)):
        explorer.step.value = step
        assert not differ(explorer.picture.value, seen[step])


def test_a_copy_is_outlined_and_nothing_else():
    chart = Chart()
    for step in range(9):
        now = reading(Setting(step=step))
        chart.set(now)
        wide = [number for number, frame in enumerate(chart.frames) if frame.get_linewidth() > 2]
        assert wide == sorted(block for pair in now.state.copies for block in pair)
        assert chart.arrow.get_visible() == bool(now.state.copies)
        assert [each.get_text() for each in chart.counts] == [f"×{n}" if n else "" for n in now.state.refs]


def test_axes_never_move_and_no_text_leaves_the_picture():
    explorer = explore()
    chart, canvas = explorer._chart, explorer._blitter.canvas
    places, paper = [ax.get_position().bounds for ax in chart.figure.axes], canvas.figure.bbox
    for block in (1, 2, 16, MOST_BLOCK):
        for scene in SCRIPTS:
            explorer.scripts.value, explorer.block.value = scene, block
            explorer.step.value = explorer.step.max
            assert [ax.get_position().bounds for ax in chart.figure.axes] == places
            for text in canvas.figure.findobj(matplotlib.text.Text):
                box = text.get_window_extent(canvas.get_renderer())
                if text.get_text() and text.get_visible():
                    inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= paper.x1 and box.y1 <= paper.y1
                    assert inside, (text, block, scene)


def test_five_owners_fit_into_a_block():
    chart = Chart()
    chart.set(reading(Setting("new A 3, fork A B, fork A C, fork A D, fork A E", 5)))
    canvas = Blitter(chart.figure, chart.moving).canvas
    name, frame = chart.names[0], chart.frames[0]
    assert name.get_text() == "A B C D E"
    assert name.get_window_extent(canvas.get_renderer()).width < frame.get_window_extent().width


def test_a_picture_after_many_moves_equals_one_drawn_afresh():
    explorer = explore()
    for name, value in [("block", 64), ("scripts", "growth"), ("step", 5), ("block", 1), ("step", 3), ("block", 3)]:
        getattr(explorer, name).value = value
    chart = Chart()
    chart.set(reading(Setting(SCRIPTS["growth"], 3, 3)))
    assert not differ(explorer.picture.value, Blitter(chart.figure, chart.moving).png())


def test_the_static_figure_draws_what_the_explorer_first_shows():
    static, live = static_figure(Mine, mine_wasted), explore(Mine, mine_wasted)
    assert static.alt == live.picture.tooltip
    assert static.alt.startswith("Grow B 1: block 10 is shared")
    assert static.png() == static_figure(Mine, mine_wasted).png()
    assert pixels(static.png()).size == pixels(live.picture.value).size


def test_widgets_can_be_found_by_class():
    explorer = explore()
    found = {name for control in (*explorer.children[0].children, *explorer.children) for name in control._dom_classes}
    assert {f"kv-{name}" for name in ("scripts", "script", "step", "block", "reading", "picture")} <= found
