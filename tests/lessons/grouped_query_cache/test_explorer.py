"""The explorer of lesson 05 as plain functions and as a widget without a front end."""

import warnings

import matplotlib.text
import pytest

from kvlab import sizes
from kvlab.explorers.blit import Blitter
from kvlab.explorers.grouped_query_cache import (
    MOST_HEADS,
    TOKENS,
    Chart,
    Setting,
    describe,
    explore,
    reading,
    static_figure,
)
from tests.pngs import differ, pixels

SHARED = [(heads, kv) for heads in range(1, MOST_HEADS + 1) for kv in range(1, heads + 1) if heads % kv == 0]


def mine(query_head, num_heads, num_kv_heads):
    """A learner's function that is right, and not the library's."""
    return query_head * num_kv_heads // num_heads


@pytest.mark.parametrize(("heads", "kv_heads"), SHARED)
def test_every_setting_has_its_readers_and_its_bytes(heads, kv_heads):
    now = reading(Setting(heads, kv_heads, 4096), mine)
    assert now.right == [kv for kv in range(kv_heads) for _ in range(heads // kv_heads)]
    assert now.tiled == (list(range(kv_heads)) * heads)[:heads]
    assert now.stored_bytes == sizes.kv_bytes(1, 1, 4096, kv_heads, 128, 16)
    assert now.expanded_bytes * kv_heads == now.stored_bytes * heads
    assert now.computed_by == "computed by your kv_head_of"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            Setting(),
            "tiled: 4 of 8 query heads read a wrong KV head; the first is query head 1, which reads 1 instead of 0",
        ),
        (Setting(12, 12), "tiled: every query head reads its own KV head; with these counts no test can see the"),
        (Setting(12, 1), "tiled: every query head reads its own KV head; with these counts no test can see the"),
        (Setting(12, 6), "tiled: 10 of 12 query heads read a wrong KV head; the first is query head 1, which reads 1"),
    ],
)
def test_the_sentence_says_how_many_heads_go_wrong(setting, said):
    assert reading(setting).verdict.startswith(said)
    assert describe(reading(setting)).startswith(f"{said[:1].upper()}{said[1:]}")


def test_the_answers_of_the_two_questions_hold():
    divisors = [kv for heads, kv in SHARED if heads == 12]
    assert [kv for kv in divisors if not reading(Setting(12, kv)).apart] == [1, 12]
    assert len({reading(Setting(12, kv)).expanded_bytes for kv in divisors}) == 1
    assert len({reading(Setting(12, kv)).stored_bytes for kv in divisors}) == len(divisors)


def stub(*heads):
    print("debugging")
    raise NotImplementedError


def noisy(*heads):
    print("debugging")
    warnings.warn("careful", stacklevel=1)
    return mine(*heads)


def broken(*heads):
    raise KeyError("two\nlines " + "and more " * 100)


UNWRITTEN = "computed by the library until yours is written"


@pytest.mark.parametrize(
    ("function", "caption"),
    [
        (mine, "computed by your kv_head_of"),
        (noisy, "computed by your kv_head_of"),
        (None, UNWRITTEN),
        (stub, UNWRITTEN),
        (broken, "your kv_head_of raises KeyError: 'two\\nlines and more "),
        (7, "your kv_head_of raises TypeError: 'int' object is not callable"),
        (lambda *heads: None, "your kv_head_of(0, 8, 2) gives no int: showing"),
        (lambda *heads: float(mine(*heads)), "your kv_head_of(0, 8, 2) gives no int: showing"),
        (lambda head, heads, kv: head % kv, "your kv_head_of(1, 8, 2) gives 1: showing the library's"),
        (lambda head, heads, kv: min(head // 4, kv - 1), "your kv_head_of(3, 12, 4) gives 0: showing the library's"),
    ],
)
def test_the_caption_says_whose_heads_are_shown(function, caption, capsys, recwarn):
    now = reading(Setting(), function)
    assert now.computed_by.startswith(caption) and len(now.computed_by) < 300 and "\n" not in now.computed_by
    assert now.right == reading(Setting()).right
    assert "Traceback" not in explore(function).text.value
    assert capsys.readouterr() == ("", "") and not recwarn.list


@pytest.mark.parametrize("setting", [Setting(8, 3), Setting(4, 8), Setting(0, 1), Setting(8, 0), Setting(8, 2, -1)])
def test_heads_that_cannot_be_shared_are_refused(setting):
    with pytest.raises(ValueError, match="wanted"):
        reading(setting)


def test_a_bad_value_shows_a_sentence_and_the_last_picture_stays():
    explorer = explore(mine)
    before, redraws = explorer.picture.value, explorer.redraws
    explorer.kv_heads.value = 3
    assert "wanted a number of query heads that 3 divides, got 8. Still" in explorer.text.value.replace("</span>", "")
    assert (explorer.picture.value, explorer.redraws) == (before, redraws)
    explorer.heads.value = 9
    assert explorer.redraws == redraws + 1


@pytest.mark.parametrize(("name", "value"), [("heads", 12), ("heads", 2), ("kv_heads", 1), ("kv_heads", 8)])
def test_every_slider_changes_the_picture_with_one_redraw(name, value):
    explorer = explore(mine)
    before, redraws, words = explorer.picture.value, explorer.redraws, explorer.picture.tooltip
    getattr(explorer, name).value = value
    assert explorer.redraws == redraws + 1
    assert differ(before, explorer.picture.value)
    assert explorer.picture.tooltip != words


def test_tokens_change_the_bytes():
    explorer = explore()
    assert "4 MiB (4,194,304 B)" in explorer.text.value and "16 MiB (16,777,216 B)" in explorer.text.value
    assert "one layer, one request, head width 128, 2 bytes an element" in explorer.text.value
    explorer.tokens.value = TOKENS[-1]
    assert "128 MiB (134,217,728 B)" in explorer.text.value and "512 MiB (536,870,912 B)" in explorer.text.value


@pytest.mark.parametrize(("heads", "kv_heads"), SHARED)
def test_as_many_heads_are_outlined_as_read_a_wrong_head(heads, kv_heads):
    chart, now = Chart(), reading(Setting(heads, kv_heads))
    chart.set(now)
    outlined = [board.outline.get_xydata() for board in chart.boards]
    assert [len(each) for each in outlined] == [0, len(now.apart)]
    for board in chart.boards:
        lines = [*board.lines, board.wrong]
        assert sum(len(line.get_xdata()) for line in lines) == 3 * heads
        assert sum(len(dots.get_xdata()) for dots in board.kv) == kv_heads
        assert [sum(text.get_visible() for text in row) for row in board.numbers] == [heads, kv_heads]


def test_axes_never_move_and_no_text_leaves_the_picture():
    explorer = explore()
    boards, canvas = explorer._chart.boards, explorer._blitter.canvas
    places, paper = [board.axes.get_position().bounds for board in boards], canvas.figure.bbox
    for heads, kv_heads in SHARED:
        explorer._chart.set(reading(Setting(heads, kv_heads)))
        assert [board.axes.get_position().bounds for board in boards] == places
        for text in canvas.figure.findobj(matplotlib.text.Text):
            box = text.get_window_extent(canvas.get_renderer())
            if text.get_text() and text.get_visible():
                inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= paper.x1 and box.y1 <= paper.y1
                assert inside, (text, heads, kv_heads)


def test_a_picture_after_many_moves_equals_one_drawn_afresh():
    explorer = explore()
    for name, value in [("heads", 12), ("kv_heads", 12), ("kv_heads", 5), ("kv_heads", 4), ("tokens", 512)]:
        getattr(explorer, name).value = value
    chart = Chart()
    chart.set(reading(Setting(12, 4)))
    assert not differ(explorer.picture.value, Blitter(chart.figure, chart.moving).png())


def test_the_static_figure_draws_what_the_explorer_first_shows():
    static, live = static_figure(mine), explore(mine)
    assert static.alt == live.picture.tooltip
    assert static.alt.endswith("KV heads read, in order: 0 0 0 0 1 1 1 1; tiled: 0 1 0 1 0 1 0 1.")
    assert static.png() == static_figure(mine).png()
    assert pixels(static.png()).size == pixels(live.picture.value).size


def test_widgets_can_be_found_by_class():
    explorer = explore()
    found = {name for control in (*explorer.children[0].children, *explorer.children) for name in control._dom_classes}
    assert {f"kv-{name}" for name in ("heads", "kv-heads", "tokens", "reading", "picture")} <= found
