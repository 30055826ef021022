"""The explorer of lesson 11 as plain functions and as a widget without a front end."""

from statistics import median

import matplotlib.text
import pytest

from kvlab.bench import recordings
from kvlab.explorers.blit import Blitter
from kvlab.explorers.decode_timing import (
    Chart,
    Setting,
    axis_end,
    describe,
    explore,
    first_setting,
    reading,
    sources,
    static_figure,
)
from tests.pngs import differ

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


def my_line(contexts, seconds):
    """A learner's function that is right, and not the library's."""
    n, sc, ss = len(contexts), sum(contexts), sum(seconds)
    slope = (n * sum(c * s for c, s in zip(contexts, seconds, strict=True)) - sc * ss) / (
        n * sum(c * c for c in contexts) - sc * sc
    )
    return slope, (ss - slope * sc) / n


def my_bytes(config, num_params, batch, context, weight_bits, kv_bits):
    return num_params * weight_bits // 8, batch * context * ROW


@pytest.mark.parametrize("batch", [1, 3])
def test_line_bound_and_rate_are_what_the_times_were_made_from(batch):
    now = reading(MADE, Setting("made", "preallocated", batch, 40), my_line, my_bytes)
    slope, intercept = now.series.line
    assert slope == pytest.approx(2 * batch * ROW / 1000) and intercept == pytest.approx(5)
    assert now.series.row_rate == pytest.approx(500) and now.series.copy_rate == 1000
    assert now.series.bounds == {c: pytest.approx((1000 + batch * c * ROW) / 1000) for c in (10, 40, 100)}
    assert now.computed_by == "line and bytes computed by your fit_line and step_bytes"


def test_the_sentence_holds_time_bound_and_throughput():
    now = reading(MADE, Setting("made", "preallocated", 3, 100))
    taken = median(STEP[-1]["seconds"])
    times = taken / ((1000 + 300 * ROW) / 1000)
    assert now.verdict == f"100 tokens: {taken:.4g} s a step, {times:.2f} times the bound; 0 tokens per second in all"


def test_a_point_without_a_time_says_why_and_is_marked():
    now = reading(MADE, Setting("made", "concatenated", 1, 40))
    assert now.verdict == "40 tokens: out of memory, so there is no time to show"
    assert now.series.line is None and now.series.row_rate is None
    chart = Chart()
    chart.set(now)
    assert list(chart.missing.get_xdata()) == [1.0] and list(chart.fit.get_xdata()) == []


def test_a_point_that_was_not_tried_is_refused():
    with pytest.raises(ValueError, match="concatenated, 3 requests, 10 tokens: not tried in this run"):
        reading(MADE, Setting("made", "concatenated", 3, 10))


def stub(*_):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("line", "sizes", "caption"),
    [
        (None, None, "computed by the library until yours is written"),
        (stub, my_bytes, "computed by the library until yours is written"),
        (lambda c, s: (1.0, 2.0), my_bytes, "your fit_line gives (1.0, 2.0) here: showing the library's"),
        (my_line, lambda *_: 7, "your step_bytes gives 7 here: showing the library's"),
        (
            lambda c, s: 1 / 0,
            my_bytes,
            "your fit_line raises ZeroDivisionError: division by zero: showing the library's",
        ),
    ],
)
def test_an_unfinished_or_wrong_answer_is_named_and_the_librarys_is_shown(line, sizes, caption):
    now = reading(MADE, Setting("made", "preallocated", 1, 10), line, sizes)
    assert now.computed_by == caption
    assert now.series.line == pytest.approx((2 * ROW / 1000, 5))


@pytest.mark.parametrize(("largest", "end"), [(0.09, 0.1), (0.1, 0.1), (0.32, 0.32), (0.33, 0.4), (1.3, 1.6), (7, 8)])
def test_an_axis_ends_at_a_round_number(largest, end):
    assert axis_end(largest) == pytest.approx(end)


def test_a_live_sweep_comes_before_recordings():
    data = sources({"a machine": MADE}, MADE)
    assert list(data) == ["live, this machine", "recorded: a machine"]
    assert first_setting(data) == Setting("live, this machine", "preallocated", 3, 100)


def test_the_answers_of_the_two_questions_hold():
    (data,) = RECORDED.values()
    contexts = {row["context"] for row in data["points"]}
    ways = {row["way"] for row in data["points"]}
    slopes = {way: reading(data, Setting("", way, 4, max(contexts))).series.line[0] for way in ways}
    assert max(slopes, key=slopes.get) == "concatenated"
    at_zero = {b: reading(data, Setting("", "preallocated", b, max(contexts))).series.line[1] for b in (1, 4)}
    assert at_zero[4] > 1.3 * at_zero[1]


def test_every_event_draws_once_and_a_new_source_keeps_what_it_also_has():
    widget = explore({"a machine": MADE} | RECORDED, None, my_line, my_bytes)
    assert widget.redraws == 1
    before = widget.picture.value
    widget.context.value = 10
    assert widget.redraws == 2 and differ(before, widget.picture.value)
    widget.way.value = "concatenated"  # three requests were not tried so
    assert widget.redraws == 2 and "not tried in this run" in widget.text.value
    widget.batch.value = 1
    assert widget.redraws == 3 and "30 s a step" in widget.text.value
    widget.source.value = f"recorded: {next(iter(RECORDED))}"
    assert widget.redraws == 4 and widget.way.value == "concatenated" and widget.batch.value == 1
    assert widget.context.value in {row["context"] for row in next(iter(RECORDED.values()))["points"]}


def test_the_widget_and_the_static_picture_show_the_same():
    chart = Chart()
    chart.set(reading(MADE, first_setting(sources({"made": MADE}))))
    blitter = Blitter(chart.figure, chart.moving)
    assert not differ(blitter.png(), explore({"made": MADE}).picture.value)
    assert static_figure({"made": MADE}).alt == describe(reading(MADE, Setting("", "preallocated", 3, 100)))


@pytest.mark.parametrize("data", [MADE, *RECORDED.values()])
def test_no_text_leaves_the_paper(data):
    setting = first_setting({"data": data})
    chart = Chart()
    chart.set(reading(data, setting))
    blitter = Blitter(chart.figure, chart.moving)
    blitter.png()
    width, height = blitter.canvas.get_width_height()
    for text in chart.figure.findobj(matplotlib.text.Text):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, text.get_text()
