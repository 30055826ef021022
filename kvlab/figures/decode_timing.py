"""The figures of lesson 11."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from math import isfinite
from statistics import median

from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from kvlab.figures.labels import duration, rate_label
from kvlab.figures.picture import Picture
from kvlab.figures.style import BLUE, INK, PAPER, SERIES, SKY, SOFT, VERMILION, draw_cell, new_figure, table_axes


def trial_times(true: Sequence[float], measured: Sequence[float]) -> Picture:
    """Seconds of each trial: rings for what a device took, dots for what somebody measured, on a logarithmic axis."""
    fig, ax = new_figure(7.4, 3.1)
    numbers = range(1, len(true) + 1)
    ax.plot(numbers, true, "o", color=INK, markersize=11, fillstyle="none", label="what the device took")
    shown = [(n, float(t)) for n, t in enumerate(measured, 1) if isfinite(t) and t > 0]
    ax.plot([n for n, _ in shown], [t for _, t in shown], "o", color=BLUE, markersize=6, label="what you measured")
    ax.set_yscale("log")
    ax.margins(y=0.25)
    ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(duration))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("trial")
    ax.set_ylabel("time (log scale)")
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    pairs = zip_longest((duration(t) for t in true), (duration(t) for t in measured), fillvalue="nothing")
    said = "; ".join(f"trial {n}: {a}, measured {b}" for n, (a, b) in enumerate(pairs, 1))
    return Picture(fig, f"What a device took and what was measured. {said}.")


def trial_summary(trials: Sequence[float], summary: Mapping[str, float]) -> Picture:
    """Trials in their order, in seconds: the median and the p10 to p90 band of `summary`, and the mean beside them."""
    fig, ax = new_figure(7.4, 3.1)
    mean = sum(trials) / len(trials)
    ax.axhspan(summary["p10"], summary["p90"], color=SKY, alpha=0.25, linewidth=0, label="p10 to p90")
    ax.axhline(summary["median"], color=BLUE, linewidth=1.8, label="median")
    ax.axhline(mean, color=VERMILION, linewidth=1.5, linestyle="--", label="mean")
    ax.plot(range(1, len(trials) + 1), trials, "o", color=INK, markersize=5, label="a trial")
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(duration))
    ax.set_xlabel("trial")
    ax.set_ylabel("time")
    fig.legend(loc="outside lower center", ncols=4, frameon=False)
    parts = [f"{name} {duration(summary[name])}" for name in ("median", "p10", "p90")]
    return Picture(fig, f"{len(trials)} trials: {', '.join(parts)}, mean {duration(mean)}.")


def bandwidth_bars(rows: Sequence[tuple[str, float, bool]], ceiling: float) -> Picture:
    """Bandwidths on a logarithmic axis: `rows` are (label, bytes per second, plausible or not); `ceiling` is a line."""
    fig, ax = new_figure(7.4, 1.5 + 0.42 * len(rows))
    low, high = min(ceiling, *(row[1] for row in rows)), max(ceiling, *(row[1] for row in rows))
    said = []
    for place, (label, rate, plausible) in enumerate(rows):
        colour, hatch, word = (BLUE, "", "plausible") if plausible else (VERMILION, "///", "not plausible")
        ax.barh(place, rate, 0.6, color=colour, hatch=hatch, edgecolor=PAPER, linewidth=1)
        ax.annotate(f"{rate_label(rate)}, {word}", (rate, place), (6, 0), textcoords="offset points", va="center")
        said.append(f"{label} {rate_label(rate)}, {word}")
    ax.axvline(ceiling, color=INK, linewidth=1.5, linestyle="--")
    top = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "fontsize": 9}
    ax.annotate(f"a copy: {rate_label(ceiling)}", (ceiling, 1), (0, 4), ha="center", va="bottom", **top)
    ax.set_xscale("log")
    ax.set_xlim(low / 10, high * 100)  # room for the words
    ax.set_yticks(range(len(rows)), [row[0] for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_formatter(FuncFormatter(rate_label))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("bytes per second (log scale)")
    return Picture(fig, f"Beside the {rate_label(ceiling)} of a copy: {'; '.join(said)}.")


def step_times(
    rows: Sequence[Mapping],
    bounds: Mapping[int, Sequence[tuple[int, float]]],
    lines: Mapping[int, tuple[float, float]],
    label: str,
) -> Picture:
    """Time of a decode step against context: every trial, the bound, and a fitted line for each batch.

    `rows` have context, batch and `seconds`; `bounds` maps a batch to its (context, seconds) pairs; `lines` maps a
    batch to (seconds per token, intercept), or lacks it. `label` says where the times come from.
    """
    fig, ax = new_figure(7.4, 4.3)
    said, batches = [], sorted({row["batch"] for row in rows})
    for batch, (colour, marker, _) in zip(batches, SERIES * len(batches), strict=False):
        mine = sorted((row for row in rows if row["batch"] == batch), key=lambda row: row["context"])
        for row in mine:
            trials = row["seconds"]
            ax.plot([row["context"]] * len(trials), trials, marker, color=colour, markersize=4, alpha=0.35)
        contexts, middles = [row["context"] for row in mine], [median(row["seconds"]) for row in mine]
        many = f"{batch} request" + "s" * (batch > 1)
        ax.plot(contexts, middles, marker, color=colour, markersize=7, markeredgecolor=PAPER, label=many)
        ax.plot(*zip(*bounds[batch], strict=True), color=colour, linestyle=":", linewidth=1.8)
        ends = [0, max(contexts)]
        if batch in lines:
            slope, intercept = lines[batch]
            ax.plot(ends, [intercept + slope * end for end in ends], color=colour, linewidth=1.2)
        pairs = zip(contexts, middles, strict=True)
        said.append(f"{many}: " + ", ".join(f"{duration(time)} at {tokens:,} tokens" for tokens, time in pairs))
    ax.plot([], [], color=SOFT, linewidth=1.2, label="fitted line")
    ax.plot([], [], color=SOFT, linestyle=":", linewidth=1.8, label="bound")
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    ax.yaxis.set_major_formatter(FuncFormatter(duration))
    ax.set_xlabel("context: tokens of each request")
    ax.set_ylabel("time of one decode step")
    fig.legend(loc="outside upper center", ncols=len(batches) + 2, frameon=False)
    fig.supxlabel(f"{label}\nsmall marks: trials; large ones: medians", fontsize=8.5, color=SOFT)
    return Picture(fig, f"Time of a decode step, medians. {'; '.join(said)}. {label}.")


def way_times(rows: Sequence[Mapping], label: str) -> Picture:
    """The same step in several ways at several contexts: every trial, medians, and their ratio to the second way.

    `rows` have context, way and `seconds`. `label` says where the times come from. A context at which the second way
    was not measured has no ratios.
    """
    fig, ax = new_figure(7.4, 3.9)
    ways, sizes = (list(dict.fromkeys(row[key] for row in rows)) for key in ("way", "context"))
    said, shift = [], 0.8 / len(ways)
    second = ways[min(1, len(ways) - 1)]
    middles = {(row["way"], row["context"]): median(row["seconds"]) for row in rows}
    for number, (way, (colour, marker, _)) in enumerate(zip(ways, SERIES, strict=False)):
        for row in (row for row in rows if row["way"] == way):
            place = sizes.index(row["context"]) + (number - (len(ways) - 1) / 2) * shift
            trials, middle = row["seconds"], middles[way, row["context"]]
            ax.plot([place] * len(trials), trials, marker, color=colour, markersize=4, alpha=0.5)
            ax.plot([place - 0.08, place + 0.08], [middle] * 2, color=INK, linewidth=1.6)
            compared = middles.get((second, row["context"]))
            ratio = f"{middle / compared:.2f}×" if compared else "–"
            top = {"textcoords": "offset points", "ha": "center", "fontsize": 9}
            ax.annotate(ratio, (place, max(trials)), (0, 6), **top)
            said.append(f"{row['context']:,} tokens {way} {duration(middle)}, {ratio}")
        ax.plot([], [], marker, color=colour, label=way)
    ax.set_ylim(bottom=0)
    ax.margins(y=0.14)
    ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    ax.set_xlim(-0.6, len(sizes) - 0.4)
    ax.grid(axis="x", visible=False)
    ax.yaxis.set_major_formatter(FuncFormatter(duration))
    ax.set_xlabel("context: tokens of the one request")
    ax.set_ylabel("time of one decode step")
    fig.legend(loc="outside upper center", ncols=len(ways), frameon=False)
    fig.supxlabel(f"{label}\nbars: medians; ×: of the median of {second}", fontsize=8.5, color=SOFT)
    return Picture(fig, f"Time of a decode step in several ways, medians. {'; '.join(said)}. {label}.")


def storage_moves(traces: Mapping[str, Sequence[tuple[int, int]]], notes: Mapping[str, str]) -> Picture:
    """Where the storage of a cache lies after each append: a row for each of `traces`, a new colour for each move.

    A trace is a list of (address, stored bytes). `notes` maps its name to a few words beside the row.
    """
    most = max(map(len, traces.values()))
    fig, ax = table_axes(len(traces), most, "append")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    said = []
    for row, (name, trace) in enumerate(traces.items()):
        fills, moved = ("#bfdcee", "#fbe3b3"), 0
        for column, (address, _) in enumerate(trace):
            new = column > 0 and address != trace[column - 1][0]
            moved += new
            draw_cell(ax, row, column, "moved" if new and most < 12 else "×" if new else "", fills[moved % 2], INK)
        ax.annotate(notes[name], (1, row), (8, 0), **beside)
        said.append(f"{name}: {notes[name]}")
    ax.set_yticks(range(len(traces)), list(traces))
    ax.set_xticks(range(most), range(1, most + 1))
    ax.set_title("where K of one layer lies after each append; ×: it moved", fontsize=11)
    return Picture(fig, "; ".join(said) + ".")
