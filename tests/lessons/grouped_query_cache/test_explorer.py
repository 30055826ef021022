"""The explorer of lesson 05 as plain functions and as a widget without a front end."""

import pytest

from kvlab import sizes
from kvlab.explorers import grouped_query_cache
from kvlab.explorers.grouped_query_cache import MOST_HEADS, TOKENS, Chart, Setting, reading, static_figure
from tests.lessons.explorers import AskingTests, RefusingTests, Sample

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
    assert reading(setting).describe().startswith(f"{said[:1].upper()}{said[1:]}")


def test_the_answers_of_the_two_questions_hold():
    divisors = [kv for heads, kv in SHARED if heads == 12]
    assert [kv for kv in divisors if not reading(Setting(12, kv)).apart] == [1, 12]
    assert len({reading(Setting(12, kv)).expanded_bytes for kv in divisors}) == 1
    assert len({reading(Setting(12, kv)).stored_bytes for kv in divisors}) == len(divisors)


@pytest.fixture(scope="module")
def chart():
    return Chart()


@pytest.mark.parametrize(("heads", "kv_heads"), SHARED)
def test_as_many_heads_are_outlined_as_read_a_wrong_head(heads, kv_heads, chart):
    now = reading(Setting(heads, kv_heads))
    chart.set(now)
    outlined = [board.outline.get_xydata() for board in chart.boards]
    assert [len(each) for each in outlined] == [0, len(now.apart)]
    for board in chart.boards:
        lines = [*board.lines, board.wrong]
        assert sum(len(line.get_xdata()) for line in lines) == 3 * heads
        assert sum(len(dots.get_xdata()) for dots in board.kv) == kv_heads
        assert [sum(text.get_visible() for text in row) for row in board.numbers] == [heads, kv_heads]


class TestExplorer(AskingTests, RefusingTests):
    sample = Sample(
        module=grouped_query_cache,
        right={"kv_head_of": mine},
        captions=[
            (Setting(), (function,), caption)
            for function, caption in [
                (mine, "computed by your kv_head_of"),
                (lambda *heads: None, "your kv_head_of(0, 8, 2) gives no int: showing the library's"),
                (lambda *heads: float(mine(*heads)), "your kv_head_of(0, 8, 2) gives no int: showing the library's"),
                (lambda head, heads, kv: head % kv, "your kv_head_of(1, 8, 2) gives 1: showing the library's"),
                (
                    lambda head, heads, kv: min(head // 4, kv - 1),
                    "your kv_head_of(3, 12, 4) gives 0: showing the library's",
                ),
            ]
        ],
        changes=[("num_heads", 12), ("num_heads", 2), ("num_kv_heads", 1), ("num_kv_heads", 8)],
        walk=[("num_heads", 12), ("num_kv_heads", 12), ("num_kv_heads", 5), ("num_kv_heads", 4), ("tokens", 512)],
        walk_ends=Setting(12, 4, 512),
        refused=[
            (setting, "wanted")
            for setting in (Setting(8, 3), Setting(4, 8), Setting(0, 1), Setting(8, 0), Setting(8, 2, -1))
        ],
        bad=[("num_kv_heads", 3, "wanted a number of query heads that 3 divides, got 8")],
        extremes=[Setting(*counts) for counts in SHARED],
        css="heads kv-heads tokens",
    )

    def test_the_other_slider_can_mend_a_bad_value(self, explorer):
        redraws = explorer.redraws
        explorer.num_kv_heads.value = 3
        explorer.num_heads.value = 9
        assert explorer.redraws == redraws + 1 and explorer.setting() == Setting(9, 3)

    def test_tokens_change_the_bytes(self, explorer):
        assert "4 MiB (4,194,304 B)" in explorer.text.value and "16 MiB (16,777,216 B)" in explorer.text.value
        assert "one layer, one request, head width 128, 2 bytes an element" in explorer.text.value
        explorer.tokens.value = TOKENS[-1]
        assert "128 MiB (134,217,728 B)" in explorer.text.value and "512 MiB (536,870,912 B)" in explorer.text.value


def test_the_picture_in_words():
    alt = static_figure(mine).alt
    assert alt.endswith("KV heads read, in order: 0 0 0 0 1 1 1 1; tiled: 0 1 0 1 0 1 0 1.")
