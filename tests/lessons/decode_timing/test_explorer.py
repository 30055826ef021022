"""The explorer of lesson 11 as plain functions and as a widget without a front end."""

from statistics import median

import pytest

from kvlab.bench import recordings
from kvlab.explorers import decode_timing
from kvlab.explorers.decode_timing import Chart, Explorer, Setting, axis_end, reading, sources
from kvlab.explorers.learner import UNWRITTEN
from tests.lessons.explorers import AskingTests, RefusingTests, Sample, stub

CONFIG = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "hidden_size": 32}
ROW = 2 * 2 * 2 * 8 * 4  # bytes of a token: layers, K and V, KV heads, width, bytes


def point(way, context, batch, seconds=None, outcome="measured"):
    row = {"way": way, "context": context, "batch": batch, "cache_bytes": context * batch * ROW, "outcome": outcome}
    return row | ({"seconds": seconds} if seconds else {})


# A copy moves 1,000 bytes a second. A token of context costs twice what its bytes would at that rate.
STEP = [
    point("preallocated", context, batch, [5 + 2 * context * batch * ROW / 1000 + jitter for jitter in (0, 1, -1)])
    for context in (10, 40, 100)
    for batch in (1, 3)
]
MADE = {
    "about": {"config": CONFIG, "num_params": 250, "bits": 32, "device_name": "a device", "dtype": "float32"},
    "limits": {"copied_bytes": 2000, "copy_seconds": [1.0, 2.0, 9.0]},
    "points": [*STEP, point("concatenated", 10, 1, [30.0]), point("concatenated", 40, 1, outcome="out of memory")],
}
RECORDED = recordings.by_machine("decode_timing")
MADE_SOURCE, SOURCE = "recorded: made", f"recorded: {next(iter(RECORDED))}"


def my_line(contexts, seconds):
    """A learner's function that is right, and not the library's."""
    n, sc, ss = len(contexts), sum(contexts), sum(seconds)
    slope = (n * sum(c * s for c, s in zip(contexts, seconds, strict=True)) - sc * ss) / (
        n * sum(c * c for c in contexts) - sc * sc
    )
    return slope, (ss - slope * sc) / n


def my_bytes(config, num_params, batch, context, weight_bits, kv_bits):
    return num_params * weight_bits // 8, batch * context * ROW


def read(setting):
    return reading(setting, {"made": MADE} | RECORDED)


@pytest.mark.parametrize("batch", [1, 3])
def test_line_bound_and_rate_are_what_the_times_were_made_from(batch):
    now = reading(Setting(MADE_SOURCE, "preallocated", batch, 40), {"made": MADE}, None, my_line, my_bytes)
    slope, intercept = now.series.line
    assert slope == pytest.approx(2 * batch * ROW / 1000) and intercept == pytest.approx(5)
    assert now.series.row_rate == pytest.approx(500) and now.series.copy_rate == 1000
    assert now.series.bounds == {c: pytest.approx((1000 + batch * c * ROW) / 1000) for c in (10, 40, 100)}
    assert now.computed_by == "line and bytes computed by your fit_line and step_bytes"


def test_the_sentence_holds_time_bound_and_throughput():
    now = read(Setting(MADE_SOURCE, "preallocated", 3, 100))
    taken = median(STEP[-1]["seconds"])
    times = taken / ((1000 + 300 * ROW) / 1000)
    assert now.verdict == f"100 tokens: {taken:.4g} s a step, {times:.2f} times the bound; 0 tokens per second in all"


def test_a_point_without_a_time_says_why_and_is_marked():
    now = read(Setting(MADE_SOURCE, "concatenated", 1, 40))
    assert now.verdict == "40 tokens: out of memory, so there is no time to show"
    assert now.series.line is None and now.series.row_rate is None
    chart = Chart()
    chart.set(now)
    assert list(chart.missing.get_xdata()) == [1.0] and list(chart.fit.get_xdata()) == []


def test_a_point_that_was_not_tried_is_refused():
    with pytest.raises(ValueError, match="concatenated, 3 requests, 10 tokens: not tried in this run"):
        read(Setting(MADE_SOURCE, "concatenated", 3, 10))


@pytest.mark.parametrize(("largest", "end"), [(0.09, 0.1), (0.1, 0.1), (0.32, 0.32), (0.33, 0.4), (1.3, 1.6), (7, 8)])
def test_an_axis_ends_at_a_round_number(largest, end):
    assert axis_end(largest) == pytest.approx(end)


def test_a_live_sweep_comes_before_recordings():
    data = sources({"a machine": MADE}, MADE)
    assert list(data) == ["live, this machine", "recorded: a machine"]
    assert Explorer.first_setting({"a machine": MADE}, MADE) == Setting("live, this machine", "preallocated", 3, 100)


def test_the_answers_of_the_two_questions_hold():
    (data,) = RECORDED.values()
    contexts = {row["context"] for row in data["points"]}
    ways = {row["way"] for row in data["points"]}
    slopes = {way: read(Setting(SOURCE, way, 4, max(contexts))).series.line[0] for way in ways}
    assert max(slopes, key=slopes.get) == "concatenated"
    at_zero = {b: read(Setting(SOURCE, "preallocated", b, max(contexts))).series.line[1] for b in (1, 4)}
    assert at_zero[4] > 1.3 * at_zero[1]


class TestExplorer(AskingTests, RefusingTests):
    sample = Sample(
        module=decode_timing,
        data=({"made": MADE} | RECORDED, None),
        right={"fit_line": my_line, "step_bytes": my_bytes},
        captions=[
            (Setting(MADE_SOURCE, "preallocated", 1, 10), (line, step_bytes), caption)
            for line, step_bytes, caption in [
                (my_line, my_bytes, "line and bytes computed by your fit_line and step_bytes"),
                (None, None, UNWRITTEN),
                (stub, my_bytes, UNWRITTEN),
                (lambda c, s: (1.0, 2.0), my_bytes, "your fit_line gives (1.0, 2.0) here: showing the library's"),
                (my_line, lambda *_: 7, "your step_bytes gives 7 here: showing the library's"),
                (
                    lambda c, s: 1 / 0,
                    my_bytes,
                    "your fit_line raises ZeroDivisionError: division by zero: showing the library's",
                ),
            ]
        ],
        changes=[("context", 10), ("batch", 1), ("source", SOURCE)],
        walk=[("context", 10), ("batch", 1), ("way", "concatenated")],
        walk_ends=Setting(MADE_SOURCE, "concatenated", 1, 10),
        refused=[
            (
                Setting(MADE_SOURCE, "concatenated", 3, 10),
                "concatenated, 3 requests, 10 tokens: not tried in this run",
            )
        ],
        bad=[("way", "concatenated", "concatenated, 3 requests, 100 tokens: not tried in this run")],
        extremes=[Explorer.first_setting({name: data}) for name, data in RECORDED.items()],
        css="source way batch context",
    )

    def test_the_librarys_line_is_the_one_that_the_times_were_made_from(self):
        now = read(Setting(MADE_SOURCE, "preallocated", 1, 10))
        assert now.series.line == pytest.approx((2 * ROW / 1000, 5))

    def test_every_event_draws_once_and_a_new_source_keeps_what_it_also_has(self, explorer):
        redraws = explorer.redraws
        explorer.context.value = 10
        assert explorer.redraws == redraws + 1
        explorer.way.value = "concatenated"  # three requests were not tried so
        assert explorer.redraws == redraws + 1 and "not tried in this run" in explorer.text.value
        explorer.batch.value = 1
        assert explorer.redraws == redraws + 2 and "30 s a step" in explorer.text.value
        explorer.source.value = SOURCE
        assert explorer.redraws == redraws + 3
        assert explorer.way.value == "concatenated" and explorer.batch.value == 1
        assert explorer.context.value in {row["context"] for row in next(iter(RECORDED.values()))["points"]}
