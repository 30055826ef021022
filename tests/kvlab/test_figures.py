"""Pictures: the same bytes each time, no text outside the paper, one plain line when drawing fails."""

import base64
import io
import re
import subprocess
import sys

import matplotlib.text
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from PIL import Image

from kvlab import masks, sizes
from kvlab.bench import recordings
from kvlab.figures import (
    admission,
    byte_formula,
    cache_parity,
    decode_timing,
    grouped_query_cache,
    labels,
    model_configs,
    paging,
    rectangular_masks,
    roofline,
    shared,
    style,
    why_a_cache,
)
from kvlab.figures.picture import when_written
from kvlab.models import preset, presets

CONFIG = preset("Llama-3-8B").attention_config
CONTEXTS = [2**power for power in range(8, 21)]
NAN = float("nan")
RECORDED = recordings.read("grouped_query_cache")
ROUNDING = [[0.0, 4.4e-16], [1e-18, 0.0]]
LOGITS = [[-2.877, -0.185, -4.385], [-10.5, 3.25, 1.0], [0.0, 0.5, 12.125]]
STEPS = [
    {"context": context, "batch": batch, "seconds": [0.01 + 1e-6 * context * batch + jitter for jitter in (0, 0.001)]}
    for batch in (1, 4)
    for context in (512, 16_384)
]
BOUNDS = {batch: [(context, 5e-3 + 6e-7 * context * batch) for context in (512, 16_384)] for batch in (1, 4)}
PICTURES = {
    "cells": lambda: byte_formula.cache_cells(2, 1, 3, 2, 4, counted=96),
    "cells of one": lambda: byte_formula.cache_cells(1, 1, 1, 1, 1),
    "cells of a batch": lambda: byte_formula.cache_cells(3, 2, 5, 3, 4, counted=719),
    "cells, most": lambda: byte_formula.cache_cells(10, 2, 5, 2, 5),
    "bytes by tokens": lambda: shared.bytes_by_tokens({"BF16": [(t, 131_072 * t) for t in (0, *CONTEXTS)]}),
    "two points": lambda: shared.bytes_by_tokens({"BF16": [(1024, 7), (1025, 8)]}, 9, "a small device"),
    "capacity": lambda: byte_formula.capacity_lines(
        sizes.capacity_table(CONFIG, CONTEXTS), 80 * sizes.GB, "80 GB, nominal"
    ),
    "capacity, huge": lambda: byte_formula.capacity_lines(
        sizes.capacity_table(CONFIG, [10**15, 10**16]), 80 * sizes.GB
    ),
    "requests": lambda: byte_formula.request_bars([100, 4096, 0], [13_107_200, 2**29, 0], [2**29] * 3),
    "units": lambda: byte_formula.unit_gap(
        {"weights": sizes.as_units(14 * 10**9), "device": sizes.as_units(80 * 10**9)}
    ),
    "models": lambda: shared.model_bars(
        {
            name: sizes.bytes_per_token(each.attention_config, 16)
            for name, each in presets(full_attention_only=True).items()
        }
    ),
    "steps that agree": lambda: shared.step_differences(ROUNDING, 1e-10),
    "steps that differ": lambda: shared.step_differences(
        [[0.0, 0.3], *ROUNDING, [4.0, 0.0], [NAN, 1.0], [1e3, 0.0]], 0.0
    ),
    "one step": lambda: shared.step_differences([[0.0]], 1e-2),
    "rows that agree": lambda: cache_parity.row_verdicts(ROUNDING, 1e-10, None),
    "rows that differ": lambda: cache_parity.row_verdicts([*ROUNDING, [NAN, 1e-3], [1e300, 4.4e-16]], 1e-10, 2),
    "rows, a strange answer": lambda: cache_parity.row_verdicts([[1.0] * 6] * 12, 1e-10, "something long " * 40),
    "logits": lambda: cache_parity.logit_pairs(LOGITS, LOGITS[::-1]),
    "logits, one row": lambda: cache_parity.logit_pairs([[0.5] * 6], [[-100.123] * 6]),
    "shares": lambda: cache_parity.shares([0.1, 0.2, 0.4, 0.3], 0.35, 2),
    "shares, the last draw": lambda: cache_parity.shares([0.0, 0.004, 0.046, 0.948, 0.002, 0.0], 1 - 2**-53, None),
    "shares, the first draw": lambda: cache_parity.shares([1.0], 0.0, "something long " * 40),
    "a mask": lambda: rectangular_masks.mask_grid(masks.allowed(3, 2), "your allowed(3, 2)", 3),
    "a mask of one cell": lambda: rectangular_masks.mask_grid(np.array([[True]]), "something long " * 4),
    "a wide mask": lambda: rectangular_masks.mask_grid(masks.window_allowed(12, 6, 5), "yours", 12),
    "masks of a batch": lambda: rectangular_masks.mask_grids(
        masks.ragged_allowed([5, 2, -2], 2), ["a", "b", "c"], [5, 2, -2]
    ),
    "numbers": lambda: rectangular_masks.number_grid(
        np.array([[0.0, 1.0, -np.inf], [np.nan, -9e9, 1e300]]), "yours", np.eye(2, 3)
    ),
    "weights": lambda: why_a_cache.attention_weights([0.1, 0.25, 0.05, 0.6]),
    "weights, one row": lambda: why_a_cache.attention_weights([1.0]),
    "weights, a strange answer": lambda: why_a_cache.attention_weights([NAN, -2.0, 3.5]),
    "prefill and decode": lambda: why_a_cache.prefill_and_decode(4, 2),
    "prefill and decode, small": lambda: why_a_cache.prefill_and_decode(1, 1),
    "prefill and decode, large": lambda: why_a_cache.prefill_and_decode(9, 4),
    "counts": lambda: shared.counts_by_step({"cached": [2] * 8, "full": [2 * t for t in range(1, 9)]}, "step", "rows"),
    "counts, large": lambda: shared.counts_by_step({"full": [t**9 for t in range(40)]}, "length", "scores"),
    "rows that survive": lambda: why_a_cache.row_survival(
        [(f"a change with a name · layer {n}", [True, n < 1, False], [True] * 3, f"yours: {n}") for n in range(9)]
    ),
    "rows that survive, one": lambda: why_a_cache.row_survival([("layer 0", [False], [True], "")]),
    "heads": lambda: grouped_query_cache.head_lines([0, 0, 0, 1, 1, 1], 2, "yours"),
    "heads, many": lambda: grouped_query_cache.head_lines([head // 2 for head in range(24)], 12, "yours"),
    "heads, strange answers": lambda: grouped_query_cache.head_lines(
        [0, 7, -1, None, 0.5, "something long " * 9], 3, "yours"
    ),
    "storages": lambda: grouped_query_cache.storages(
        {"yours": [("bmm", 65_536), ("div", 8)], "expanded": [("clone", 2**23)] * 2}
    ),
    "storages, many and thin": lambda: grouped_query_cache.storages(
        {"yours": [(f"an_operation_of_a_long_name_{n}", 64) for n in range(9)], "expanded": [("clone", 2**23)] * 2}
    ),
    "storages, one": lambda: grouped_query_cache.storages({"yours": [("a_long_operation", 3)]}),
    "storages, none": lambda: grouped_query_cache.storages({"yours": [], "expanded": [("clone", 2**30)]}),
    "slots": lambda: grouped_query_cache.slot_strips([("append 2", 2, ["0", "1"]), ("append 9, refused", "?", [])], 6),
    "turned pairs": lambda: grouped_query_cache.turned_pairs([[(1.0, 0.0), (0.54, 0.84)], [(1.0, 0.0), (1.0, 0.01)]]),
    "costs in elements": lambda: grouped_query_cache.costs(
        RECORDED["appending"], "elements", recordings.label(RECORDED["about"])
    ),
    "costs in bytes": lambda: grouped_query_cache.costs(
        RECORDED["attending"], "peak_bytes", recordings.label(RECORDED["about"])
    ),
    "costs, one size": lambda: grouped_query_cache.costs(RECORDED["attending"][:2], "peak_bytes", "live"),
    "trials": lambda: decode_timing.trial_times([0.012, 0.011, 0.0115], [1e-5, 0.011, 0.0115]),
    "trials, a strange answer": lambda: decode_timing.trial_times([1e-3] * 12, [NAN, -1.0, 0.0, 5e8]),
    "a summary": lambda: decode_timing.trial_summary([0.06, *[0.01] * 18], {"median": 0.01, "p10": 0.01, "p90": 0.03}),
    "bandwidths": lambda: decode_timing.bandwidth_bars(
        [("without waiting", 7e13, False), ("waiting", 2e10, True)], 2.1e10
    ),
    "bandwidths, one": lambda: decode_timing.bandwidth_bars([("a", 12.0, True)], 4e12),
    "step times": lambda: decode_timing.step_times(
        STEPS, BOUNDS, {1: (1e-6, 0.01), 4: (4e-6, 0.02)}, "live, somewhere"
    ),
    "step times, no line": lambda: decode_timing.step_times(STEPS[:1], BOUNDS, {}, recordings.label(RECORDED["about"])),
    "ways": lambda: decode_timing.way_times(
        [row | {"way": way} for row in STEPS[:2] for way in "abc"], "live, somewhere"
    ),
    "moves": lambda: decode_timing.storage_moves(
        {"a": [(1, 4), (2, 8), (1, 12)], "b": [(1, 4)] * 3}, {"a": "2", "b": "0"}
    ),
    "moves, many": lambda: decode_timing.storage_moves(
        {"a name": [(n, n) for n in range(16)]}, {"a name": "15 copies, 1 B"}
    ),
    "two readings": lambda: model_configs.two_readings(
        [("Qwen3-32B", 128, 80), ("GPT-2 XL", 64, 64)], ("a", "b"), "elements"
    ),
    "two readings, one": lambda: model_configs.two_readings(
        [("a model of a long name", 1, 10**6)], ("a", "b"), "heads"
    ),
    "layers": lambda: model_configs.layer_strips(
        {"A": ["full", "window"] * 31, "a longer name": ["state", "shared", "latent"]}
    ),
    "layers, strange answers": lambda: model_configs.layer_strips({"yours": ["full", None, "something long " * 9, 3]}),
    "slots held": lambda: paging.slots_held([4 * -(-n // 4) for n in range(18)]),
    "slots held, a strange answer": lambda: paging.slots_held([10**9, -3, 0.5]),
    "slots of a pool": lambda: paging.slot_map({("A", 0): (2, 1), ("B", 0): (2, 1)}, 5, 4, "yours", {2: "count 2"}),
    "slots, many sequences": lambda: paging.slot_map({(n, 12): (0, i) for i, n in enumerate("ABCDEF")}, 1, 6, "yours"),
    "slots, none": lambda: paging.slot_map({}, 10, 16, "something long " * 4),
    "share of waste": lambda: paging.waste_share({"a": [(1, 0.4), (99, 0.01)], "b": [(1, 0.2)]}, 0.04, [(50, "half")]),
    "share of waste, a strange answer": lambda: paging.waste_share({"a": [(1, -3.0), (2, NAN)]}, 0.04),
    "reads": lambda: roofline.step_reads([("batch 1", 2 * 10**10, 10**9), ("batch 256", 2 * 10**10, 3 * 10**11)]),
    "reads, strange answers": lambda: roofline.step_reads([("a batch of a long name", 10**9, -(10**9))]),
    "two terms": lambda: roofline.two_terms([("T4", 0.02, 0.3, 0.3), ("A100-80 PCIe", 0.5, 0.04, 0.04)]),
    "two terms, strange answers": lambda: roofline.two_terms([("T4", 0.02, 0.3, 10**9), ("L4", 0.02, 0.3, -1)]),
    "gains": lambda: roofline.gains({f"{s:,} tokens": [(2**n, 1 + n) for n in range(11)] for s in (128, 131_072)}),
    "gains, strange answers": lambda: roofline.gains({"mine": [(1, 0), (2, -3.5), (4, 10**9)]}),
    "shares of the peak": lambda: roofline.peak_shares(
        {"8,192 tokens": [(1, 0.004), (1024, 0.06)], "128 tokens": [(1, 0.1), (1024, 3.0)]},
        {"8,192 tokens": 0.064, "128 tokens": 3.1},
    ),
    "shares of the peak, strange answers": lambda: roofline.peak_shares({"mine": [(1, -1.0), (2, NAN)]}, {"mine": 0.0}),
    "ceilings": lambda: roofline.ceiling_curve(
        [(2**n, 4 + 2**18 / 2**n) for n in range(7, 18)],
        [(421, 295, "295 up to 421 tokens"), (8192, 18.96, "18.96")],
        4,
    ),
    "ceilings, a strange answer": lambda: roofline.ceiling_curve([(1, -1.0), (9, 10**9)], [(3, 5, "here")], 4),
    "parts of a device": lambda: admission.device_parts({"weights": 13 << 30, "margin": 1 << 30}, 24 << 30, 10 << 30),
    "parts, more than the device": lambda: admission.device_parts({"weights": 30 << 30}, 24 << 30, -(6 << 30)),
    "parts, many": lambda: admission.device_parts({f"reserve {n}": n << 28 for n in range(9)}, 24 << 30),
    "a queue": lambda: admission.queue_fit({"A": 4, "B": 9, "C": 1}, 12, ["A"]),
    "a queue of one": lambda: admission.queue_fit({"A": 4}, 1, []),
    "a schedule": lambda: admission.schedule(
        [
            [("admit", "A"), ("write", "A", 6, [0])],
            [("preempt", "A"), ("write", "B", 12, [0, 1]), ("token", "B"), ("finish", "B")],
            [("expire", "A")],
        ],
        12,
    ),
    "a schedule of nothing": lambda: admission.schedule([[], [("token", "A")]], 1),
    "times of tokens": lambda: admission.token_times(
        0.5, {"server": [1.0, 2.0], "by twos": [2.0, 2.0]}, {key: {"ttft": 0.5} for key in ("server", "by twos")}
    ),
    "times, one token": lambda: admission.token_times(0.0, {"one": [0.25]}, {"one": {"ttft": 0.25, "mean_itl": None}}),
    "staircase": lambda: byte_formula.tokens_that_fit(
        [(n << 14, sizes.max_tokens(n << 14, CONFIG, 16)) for n in range(90)]
    ),
}


@pytest.fixture(scope="module", params=PICTURES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def picture(name):
    return PICTURES[name]()


@pytest.fixture(scope="module")
def shown(picture):
    """What a notebook is given of the picture: drawn once for all tests that look at it."""
    return picture._repr_mimebundle_()


@pytest.fixture
def png(shown):
    data, _ = shown
    return base64.b64decode(data["image/png"])


def test_equal_data_give_equal_bytes_without_date_or_version(name, png):
    assert PICTURES[name]().png() == png
    assert set(Image.open(io.BytesIO(png)).info) <= {"transparency"}


@pytest.mark.usefixtures("shown")
def test_no_text_leaves_the_paper(picture):
    figure, canvas = picture.figure, picture.figure.canvas
    paper = figure.bbox
    beyond = {  # ticks outside the view keep their labels, though nothing draws them
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        for label in (tick.label1, tick.label2)
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    drawn = [text for text in figure.findobj(matplotlib.text.Text) if text.get_visible() and text.get_text()]
    assert drawn
    for text in drawn:
        if text in beyond:
            continue
        box = text.get_window_extent(canvas.get_renderer())
        inside = paper.x0 <= box.x0 and box.x1 <= paper.x1 and paper.y0 <= box.y0 and box.y1 <= paper.y1
        assert inside, f"{text.get_text()!r} at {box} leaves {paper}"


def test_every_picture_is_opaque_light_and_described(picture, shown, png):
    data, metadata = shown
    assert data["text/plain"] == repr(picture) == picture.alt and picture.alt.endswith(".")
    assert 'alt="' in data["text/html"] and "max-width: 100%" in data["text/html"]
    image = Image.open(io.BytesIO(png)).convert("RGBA")
    assert image.getpixel((0, 0))[3] == 255 and min(image.getpixel((0, 0))[:3]) > 230
    assert image.width == 2 * metadata["image/png"]["width"]  # sharp on screens of high density


@pytest.mark.parametrize("name", [name for name in PICTURES if not name.startswith("cells")], indirect=True)
def test_axes_are_labelled(picture):
    assert picture.figure.axes
    for axes in picture.figure.axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel() or axes.get_yticklabels()


@pytest.mark.parametrize("shape", [(2, 1, 3, 2, 4), (3, 2, 5, 3, 4), (1, 1, 1, 1, 1)])
def test_as_many_cells_are_drawn_as_the_cache_has_elements(shape):
    picture = byte_formula.cache_cells(*shape, counted=7)
    cells = [path for collection in picture.figure.axes[0].collections for path in collection.get_paths()]
    assert len(cells) == sizes.kv_elements(*shape)
    assert f"{len(cells):,} elements drawn · 7 counted by you: not the same" in picture.alt


def test_too_many_cells_are_refused():
    with pytest.raises(ValueError, match="at most 2000 cells"):
        byte_formula.cache_cells(32, 1, 4096, 8, 128)


def test_a_zero_has_a_place_of_its_own_on_the_axis_of_differences():
    heights = [shared.difference_height(value) for value in (0.0, 1e-300, 1e-17, 1e-16, 5.0, 1e3, float("inf"), NAN)]
    bottom, top = shared.NO_DIFFERENCE, shared.MOST_DIFFERENCE
    assert heights == [bottom, 2 * bottom, 2 * bottom, 1e-16, 5.0, top, top, top]


def test_a_step_is_judged_by_its_largest_difference_and_nan_exceeds_all():
    alt = shared.step_differences([[0.0, 1e-16], [NAN, 0.0], [0.0, NAN], [0.25, 1e-12]], 1e-10).alt
    assert alt.startswith("1 of 4 steps within the tolerance 1e-10.")
    assert "step 0 1.0e-16, step 1 nan, step 2 nan, step 3 0.25" in alt


def test_steps_that_agree_and_steps_that_differ_share_one_layout():
    places = []
    for last in (0.0, 1.0):
        figure = shared.step_differences([[0.0], [0.0], [last]], 1e-10).figure
        FigureCanvasAgg(figure).draw()
        places.append(figure.axes[0].get_position().bounds)
    assert places[0] == pytest.approx(places[1], abs=1e-3)


@pytest.mark.parametrize("first", [1, None, 0, 7, True, "1"])
def test_the_row_that_the_learner_named_is_marked_right_or_wrong(first):
    picture = cache_parity.row_verdicts([[0.0, 0.0], [NAN, 0.0], [0.0, 2e-10]], 1e-10, first)
    marks = [
        text.xy[1] for text in picture.figure.findobj(matplotlib.text.Annotation) if "your answer" in text.get_text()
    ]
    assert marks == ([first] if type(first) is int and first < 3 else [])
    assert "beyond the tolerance 1e-10: rows 1, 2." in picture.alt and f"You gave {first!r}." in picture.alt


def test_logits_side_by_side_say_where_the_arg_max_is_the_same():
    picture = cache_parity.logit_pairs([[1.0, 2.0], [3.0, 0.0]], [[4.0, 5.0], [0.0, 0.125]])
    assert "the arg-max is the same in 1 of them" in picture.alt
    assert "Row 1: 3.000, 0.000 against 0.000, 0.125." in picture.alt


def test_a_share_that_was_chosen_is_filled_and_an_empty_one_named():
    picture = cache_parity.shares([0.5, 0.0, 0.5], 0.75, 2)
    (axes,) = picture.figure.axes
    filled = [patch.get_x() for patch in axes.patches if patch.get_facecolor()[:3] == to_rgb(style.BLUE)]
    assert filled == [0.5] and "probability 0: 1" in axes.get_title()
    assert "The draw is 0.75" in picture.alt
    assert "The draw is 0.9999999999999999" in cache_parity.shares([1.0], 1 - 2**-53, 0).alt


def test_a_mask_is_drawn_cell_by_cell_with_the_querys_own_key_framed():
    picture = rectangular_masks.mask_grid(masks.allowed(3, 2), "mine", 3)
    assert picture.alt == "mine: query 3 sees 0, 1, 2, 3; query 4 sees 0, 1, 2, 3, 4."
    (axes,) = picture.figure.axes
    filled = [patch for patch in axes.patches if patch.get_facecolor()[:3] == to_rgb(style.BLUE)]
    framed = [patch.get_xy() for patch in axes.patches if not patch.get_fill()]
    assert len(filled) == 9 and framed == [(2.5, -0.5), (3.5, 0.5)]
    signs = [line.get_marker() for line in axes.lines]
    assert (signs.count("o"), signs.count("x")) == (9, 1)


def test_rows_of_padding_see_nothing_and_own_no_key():
    picture = rectangular_masks.mask_grids([masks.allowed(-1, 2)], ["mine"], [-1])
    assert picture.alt == "mine: query -1 sees nothing; query 0 sees 0."
    assert len([patch for patch in picture.figure.axes[0].patches if not patch.get_fill()]) == 1


@pytest.mark.parametrize("mask", [None, [[True]], np.ones(3, dtype=bool), np.ones((2, 3)), np.ones((0, 3), dtype=bool)])
def test_what_is_no_mask_is_refused_with_what_came(mask):
    with pytest.raises(ValueError, match="wanted an array of bool, one row per query and one column per key, got "):
        rectangular_masks.mask_grid(mask, "mine")


@pytest.mark.parametrize("values", [None, [[0.0]], np.ones(3)])
def test_what_is_no_table_of_numbers_is_refused(values):
    with pytest.raises(ValueError, match="wanted an array of two dimensions, got"):
        rectangular_masks.number_grid(values, "mine", [[True]])


def test_numbers_are_written_short_and_infinity_as_its_sign():
    alt = rectangular_masks.number_grid(np.array([[0.0, -np.inf, 0.314]]), "mine", [[True, False, True]], 3).alt
    assert alt == "mine. query 3 0, −∞, 0.31."


def test_weights_that_do_not_add_up_to_one_are_told():
    alt = why_a_cache.attention_weights([1.0, 0.5]).alt
    assert alt == "Weights of the newest token: row 0 1.000, row 1 0.500. They add up to 1.500."


def test_prefill_draws_every_row_and_decode_no_old_query():
    def fills(prompt, num_layers):
        (axes,) = why_a_cache.prefill_and_decode(prompt, num_layers).figure.axes
        return [patch.get_facecolor()[:3] for patch in axes.patches]

    drawn = fills(5, 3)
    assert drawn.count(to_rgb(style.BLUE)) == 3 * (5 + 1)  # new queries
    assert drawn.count(to_rgb(style.ORANGE)) == 3 * 2 * (5 + 1)  # rows of K and V that are written
    assert len(drawn) == 3 * (5 + 1) * 3 + 3 * 2 * 5  # the rest is history


def test_counts_say_every_number_and_leave_a_zero_out_of_the_line():
    picture = shared.counts_by_step({"mine": [0, 3, 12_345]}, "step", "rows")
    assert picture.alt == "rows by step. mine: 0, 3, 12,345."
    (line,) = picture.figure.axes[0].lines
    assert line.get_xdata().tolist() == [2, 3]


def test_a_row_that_does_not_survive_stands_out():
    picture = why_a_cache.row_survival([("layer 0", [True, False], [False, False], "yours: 1")])
    (axes,) = picture.figure.axes
    lost = [patch.get_x() + 0.5 for patch in axes.patches if patch.get_facecolor()[:3] == to_rgb(style.VERMILION)]
    assert lost == [1, 3, 4]
    assert picture.alt == "Rows that survive a change. layer 0: K 1 and V 0 of 2, yours: 1."


def test_a_slot_shows_every_token_that_lies_there():
    picture = paging.slot_map({("A", 0): (1, 0), ("B", 0): (1, 0), ("A", 1): (0, 3)}, 2, 4, "yours", {1: "count 2"})
    assert picture.alt == "yours. A1 in block 0, offset 3; A0 B0 in block 1, offset 0. Block 1: count 2."
    drawn = {text.get_text(): text.get_position() for text in picture.figure.axes[0].texts}
    assert drawn["A0 B0"] == (0, 1) and drawn["A1"] == (3, 0)


@pytest.mark.parametrize("place", [(2, 0), (-1, 0), (0, 4), (0, -1)])
def test_a_place_outside_the_pool_is_refused(place):
    with pytest.raises(ValueError, match=r"position 5 of A lies at .*, outside the pool"):
        paging.slot_map({("A", 5): place}, 2, 4, "yours")


def test_waste_is_told_with_its_marks():
    alt = paging.waste_share({"yours": [(1, 0.75), (400, 0.02)]}, 0.04, [(180, "mean")]).alt
    assert alt.endswith("a line at 4%: yours 2.0% at 400. mean at 180 tokens.")
    assert paging.slots_held([0, 4, 4]).alt == "Slots held by a sequence of 0, 1, 2, … tokens: 0, 4, 4."


def test_a_share_beyond_the_peak_is_drawn_at_the_peak_and_its_ceiling_not_at_all():
    picture = roofline.peak_shares({"short": [(1, 0.5), (2, 3.0)], "long": [(1, 0.1)]}, {"short": 7.0, "long": 0.25})
    (axes,) = picture.figure.axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[0.5, 1.0], [0.1], [0.25, 0.25], [1, 1]]
    assert "short 100.00% at batch 2, ceiling 700.00%, above the peak; long 10.00% at batch 1" in picture.alt
    assert picture.alt.endswith("ceiling 25.00%.")
    (legend,) = picture.figure.legends
    assert legend.get_title().get_text().endswith("(short:\nabove the peak)")
    assert all(line.get_linestyle() == "-" for line in axes.lines[2:])  # no dots: those are a series' own


def test_both_terms_and_the_bound_are_told_in_milliseconds():
    assert roofline.two_terms([("T4", 0.02, 0.25, 0.25)]).alt.endswith("T4 20 and 250, bound 250.")
    assert roofline.step_reads([("batch 1", 16e9, 5e8)]).alt.endswith("batch 1: weights 16 GB, rows 0.5 GB.")


def test_a_schedule_says_who_wrote_what_and_how_it_ended():
    alt = PICTURES["a schedule"]().alt
    assert "A writes 6 in step 1; preempt in step 2; expire in step 3" in alt and "B writes 12 in step 2; finish" in alt
    (axes,) = PICTURES["a schedule"]().figure.axes
    assert [text.get_text() for text in axes.texts if text.get_text()] == ["6", "12"]


def test_a_device_and_a_queue_say_their_numbers():
    alt = PICTURES["parts of a device"]().alt
    assert alt == "A device of 24 GiB: weights 13 GiB, margin 1 GiB, room for the cache 10 GiB."
    assert PICTURES["a queue"]().alt == "Blocks of each worst case: A 4, B 9, C 1. 12 are free. Admitted: A."
    assert PICTURES["times, one token"]().alt.startswith("one: ttft 0.25 s, mean_itl none, max_itl none")


def test_a_picture_of_exact_integers_beyond_float_is_drawn():
    byte_formula.tokens_that_fit([(0, 0), (10**30, 10**25)]).png()


def test_no_plot_touches_pyplot_or_torch():
    program = (
        "import sys, kvlab.figures.shared, kvlab.explorers.byte_formula as b, kvlab.explorers.cache_parity as c;"
        "import kvlab.explorers.why_a_cache as a, kvlab.explorers.rectangular_masks as r, kvlab.explorers.paging as p;"
        "import kvlab.explorers.roofline as f; f.explore();"
        "a.explore(); b.explore(); c.explore(); r.explore(); p.explore();"
        "import kvlab.explorers.admission as d, kvlab.explorers.timeline as t;"
        "a.explore(); b.explore(); c.explore(); r.explore(); p.explore(); d.explore(); t.explore();"
        "sys.exit('matplotlib.pyplot' in sys.modules or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


class Wrong(Exception):
    def __str__(self):
        return "two\nlines"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (NotImplementedError(), "This picture appears once `kv_bytes` is written."),
        (TypeError("no"), "This picture could not be drawn from your `kv_bytes` yet: TypeError: no"),
        (ZeroDivisionError(), "This picture could not be drawn from your `kv_bytes` yet: ZeroDivisionError"),
        (Wrong(), "This picture could not be drawn from your `kv_bytes` yet: Wrong: two lines"),
    ],
)
def test_a_failing_answer_leaves_one_plain_line(error, line, capsys):
    with when_written("kv_bytes"):
        raise error
    assert capsys.readouterr() == (line + "\n", "")


def test_a_picture_of_several_answers_names_them_all(capsys):
    with when_written("fit_line", "step_bytes", "plausible"):
        raise NotImplementedError
    with when_written("fit_line", "step_bytes"):
        raise ValueError("no")
    assert capsys.readouterr().out.splitlines() == [
        "This picture appears once `fit_line`, `step_bytes` and `plausible` are written.",
        "This picture could not be drawn from your `fit_line` and `step_bytes` yet: ValueError: no",
    ]


def test_what_is_no_picture_is_not_called_one(capsys):
    for error in (NotImplementedError(), ValueError("no")):
        with when_written("kv_bytes", what="output"):
            raise error
    said = "This output appears once `kv_bytes` is written.\nThis output could not be made from your `kv_bytes` yet: "
    assert capsys.readouterr().out == f"{said}ValueError: no\n"


def test_a_warning_while_drawing_stays_off_stderr(capsys, recwarn):
    with when_written("kv_bytes"):
        shared.bytes_by_tokens({"mine": [(1, -1), (2, 0)]}).png()
    assert capsys.readouterr().err == "" and not recwarn.list


def test_a_finished_answer_prints_nothing_and_an_interrupt_passes(capsys):
    with when_written("kv_bytes"):
        pass
    with pytest.raises(KeyboardInterrupt), when_written("kv_bytes"):
        raise KeyboardInterrupt
    assert capsys.readouterr() == ("", "")


def test_byte_labels_name_their_unit():
    ticks = [labels.byte_label(n) for n in (0, 512, 1536, 2**20, 2**39, 2**41, 2**50)]
    assert ticks == ["0 B", "512 B", "1.5 KiB", "1 MiB", "512 GiB", "2 TiB", "1 PiB"]
    assert all(re.fullmatch(r"[\d,.]+ ([KMGTP]i)?B", tick) for tick in ticks)


def test_a_head_that_does_not_exist_is_drawn_at_the_edge():
    alt = grouped_query_cache.head_lines([0, 2, None], 2, "yours").alt
    assert alt == "yours: query head 0 reads 0, query head 1 reads 2, query head 2 reads None."


def test_costs_are_ratios_of_exact_amounts_and_of_medians():
    rows = [
        {"tokens": 8, "way": way, "elements": n, "seconds": seconds}
        for way, n, seconds in (("slow", 100, [3.0, 9.0, 4.0]), ("fast", 20, [1.0, 2.0, 30.0]))
    ]
    alt = grouped_query_cache.costs(rows, "elements", "here").alt
    assert "8 tokens: 5 times the amount, 2 times the median time. here." in alt


def test_two_readings_say_where_they_part():
    picture = model_configs.two_readings([("A", 128, 80), ("B", 64, 64)], ("stated", "divided"), "elements")
    said = [text.get_text() for text in picture.figure.axes[0].texts]
    assert said == ["128, not 80", "64"]
    assert picture.alt == "stated and divided of each model: A 128 and 80; B 64 and 64."


def test_every_layer_is_a_cell_in_the_colour_of_its_kind():
    picture = model_configs.layer_strips({"A": ["full", "window", "window"], "B": ["state", "elsewhere"]})
    (axes,) = picture.figure.axes
    colours = [patch.get_facecolor()[:3] for patch in axes.patches]
    wanted = (style.BLUE, style.ORANGE, style.ORANGE, style.PINK, style.VERMILION)
    assert colours == [to_rgb(each) for each in wanted] and len(axes.lines) == 1
    assert picture.alt == "Layers by kind. A: 1 full, 2 window; B: 1 state, 1 elsewhere."


def test_what_was_measured_stands_beside_what_a_device_took():
    picture = decode_timing.trial_times([0.012, 0.011], [1e-5, 0.011, 5.0])
    assert picture.alt.endswith(
        "trial 1: 12 ms, measured 10 µs; trial 2: 11 ms, measured 11 ms; trial 3: nothing, measured 5 s."
    )


def test_a_bandwidth_that_cannot_be_says_so_in_words_colour_and_hatch():
    picture = decode_timing.bandwidth_bars([("a", 7e13, False), ("b", 2e10, True)], 2.1e10)
    (axes,) = picture.figure.axes
    assert [bar.get_hatch() or "" for bar in axes.patches] == ["///", ""]
    assert picture.alt == "Beside the 21 GB/s of a copy: a 70 TB/s, not plausible; b 20 GB/s, plausible."


def test_step_times_draw_every_trial_and_a_line_and_a_bound_for_each_batch():
    picture = decode_timing.step_times(STEPS, BOUNDS, {1: (1e-6, 0.01)}, "here")
    (axes,) = picture.figure.axes
    dotted = [line for line in axes.lines if line.get_linestyle() == ":" and len(line.get_xdata())]
    fitted = [line for line in axes.lines if line.get_linestyle() == "-" and len(line.get_xdata())]
    assert len(dotted) == 2 and [list(line.get_ydata()) for line in fitted] == [[0.01, pytest.approx(0.026384)]]
    trials = [line for line in axes.lines if line.get_markersize() == 4]
    assert sum(len(line.get_xdata()) for line in trials) == 8


def test_ways_are_compared_with_the_second_one():
    rows = [{"context": 8, "way": way, "seconds": [s]} for way, s in (("a", 0.3), ("b", 0.1), ("c", 0.05))]
    alt = decode_timing.way_times(rows, "here").alt
    assert "8 tokens a 300 ms, 3.00×; 8 tokens b 100 ms, 1.00×; 8 tokens c 50 ms, 0.50×" in alt
    rows.append({"context": 9, "way": "a", "seconds": [0.4]})  # a sweep may end before the other ways' turn
    assert "9 tokens a 400 ms, –" in decode_timing.way_times(rows, "here").alt
    assert "8 tokens a 300 ms, 1.00×" in decode_timing.way_times(rows[:1], "here").alt


def test_a_move_is_a_cross_and_a_change_of_colour():
    (axes,) = decode_timing.storage_moves({"a": [(1, 4), (2, 8), (2, 12), (1, 16)] * 3}, {"a": "x"}).figure.axes
    assert [text.get_text() for text in axes.texts[:5]] == ["", "×", "", "×", ""]
    fills = [patch.get_facecolor() for patch in axes.patches[:5]]
    assert fills[0] != fills[1] == fills[2] != fills[3] == fills[4]
