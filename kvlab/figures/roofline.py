"""The figures of lesson 09."""

from collections.abc import Mapping, Sequence

from matplotlib.ticker import FuncFormatter, NullLocator

from kvlab.figures.picture import Picture
from kvlab.figures.style import (
    BLUE,
    INK,
    ORANGE,
    SERIES,
    SKY,
    SOFT,
    VERMILION,
    Points,
    draw_series,
    new_figure,
    powers_of_two_axis,
)


def step_reads(rows: Sequence[tuple[str, int, int]]) -> Picture:
    """What a decode step reads: `rows` are (label, bytes of weights, bytes of cached rows), one bar each."""
    fig, ax = new_figure(7.4, 1.6 + 0.4 * len(rows))
    places = range(len(rows))
    weights, cached = ([float(row[part]) / 1e9 for row in rows] for part in (1, 2))
    ax.barh(places, weights, 0.62, color=SKY, label="weights, once for the batch")
    bars = ax.barh(places, cached, 0.62, left=weights, color=ORANGE, label="cached rows, of each sequence")
    ax.bar_label(bars, [f"{a + b:,.4g} GB" for a, b in zip(weights, cached, strict=True)], padding=4, fontsize=9)
    ax.set_yticks(places, [row[0] for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.margins(x=0.15)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("bytes read in one step, in GB")
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    said = "; ".join(
        f"{row[0]}: weights {a:,.4g} GB, rows {b:,.4g} GB" for row, a, b in zip(rows, weights, cached, strict=True)
    )
    return Picture(fig, f"Bytes that one decode step reads. {said}.")


def two_terms(rows: Sequence[tuple[str, float, float, float]]) -> Picture:
    """Both times of one step on many devices: `rows` are (device, arithmetic, memory, bound), in seconds.

    The bound is what a learner's function gave; right, its ring lies around the longer of the two.
    """
    fig, ax = new_figure(7.4, 1.35 + 0.32 * len(rows))
    height = range(len(rows))
    arithmetic, memory, bound = ([1e3 * float(row[part]) for row in rows] for part in (1, 2, 3))
    ax.hlines(height, arithmetic, memory, color=SOFT, linewidth=1.2, zorder=1)
    ring = {"color": VERMILION, "marker": "o", "markersize": 13, "fillstyle": "none", "linestyle": ""}
    ax.plot(bound, height, label="your bound", **ring)
    ax.plot(arithmetic, height, color=BLUE, marker="o", markersize=6, linestyle="", label="arithmetic")
    ax.plot(memory, height, color=ORANGE, marker="s", markersize=6, linestyle="", label="memory")
    for y, value in enumerate(bound):
        ax.annotate(f"{value:,.4g} ms", (value, y), (11, 0), textcoords="offset points", va="center", fontsize=9)
    every = [value for value in (*arithmetic, *memory, *bound) if value > 0]
    ax.set_xscale("log")
    ax.set_xlim(min(every) / 1.6, max(every) * 3)  # room for the words beside the last ring
    ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_yticks(height, [row[0] for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel("ms (log scale)")
    fig.legend(loc="outside lower center", ncols=3, frameon=False)
    said = "; ".join(
        f"{row[0]} {a:,.4g} and {m:,.4g}, bound {b:,.4g}"
        for row, a, m, b in zip(rows, arithmetic, memory, bound, strict=True)
    )
    return Picture(fig, f"Times of arithmetic and of memory for one step, in ms: {said}.")


def gains(series: Mapping[str, Points]) -> Picture:
    """Throughput of a batch over that of one sequence: `series` maps a label to (batch, gain) pairs."""
    fig, ax = new_figure(7.4, 3.6)
    most = max(batch for points in series.values() for batch, _ in points)
    ax.plot([1, most], [1, most], color=SOFT, linewidth=1.2, linestyle=(0, (1, 2)), label="gain = batch")
    draw_series(ax, series)
    powers_of_two_axis(ax.xaxis, most)
    ax.set_yscale("log", base=2)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,g}×"))
    ax.set_xlabel("batch (log scale)")
    ax.set_ylabel("gain in tokens per second (log scale)")
    fig.legend(loc="outside right center", frameon=False)
    said = "; ".join(f"{label} {float(points[-1][1]):.4g}× at {points[-1][0]:,}" for label, points in series.items())
    return Picture(fig, f"Gain of a batch over one sequence: {said}.")


def peak_shares(series: Mapping[str, Points], ceilings: Mapping[str, float]) -> Picture:
    """Attainable share of a device's peak against the batch, and where each line must stop.

    `series` maps a label to (batch, share) pairs, `ceilings` the same labels to a share. A share beyond 1 is the peak;
    a ceiling beyond 1 is not drawn, and the legend says so.
    """
    fig, ax = new_figure(7.4, 4.0)
    most = max(batch for points in series.values() for batch, _ in points)
    series = {label: [(x, min(1.0, float(y))) for x, y in points] for label, points in series.items()}
    draw_series(ax, series)
    for ceiling, (colour, *_) in zip(ceilings.values(), SERIES, strict=False):
        if ceiling < 1:
            ax.axhline(float(ceiling), color=colour, linewidth=0.8, alpha=0.8)
    ax.axhline(1, color=INK, linewidth=1.4)
    ax.annotate("the peak", (1, 1), (0, 4), textcoords="offset points", fontsize=9)
    powers_of_two_axis(ax.xaxis, most)
    ax.set_yscale("log")
    ax.set_ylim(top=2)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("batch (log scale)")
    ax.set_ylabel("attainable share of the peak (log scale)")
    above = [label for label in series if ceilings[label] >= 1]
    title = "\n".join(["thin line: its ceiling", *(f"({label}:\nabove the peak)" for label in above)])
    fig.legend(loc="outside right center", frameon=False, title=title, title_fontsize=9)
    said = "; ".join(
        f"{label} {points[-1][1]:.2%} at batch {points[-1][0]:,}, ceiling {float(ceilings[label]):.2%}"
        + (", above the peak" if label in above else "")
        for label, points in series.items()
    )
    return Picture(fig, f"Attainable share of the peak against batch: {said}.")


def ceiling_curve(points: Points, marks: Sequence[tuple[int, float, str]], alone: float) -> Picture:
    """The ceiling of the intensity against the context: `points` are (tokens, FLOP/byte).

    `marks` are (tokens, FLOP/byte, words); `alone` is what attention has by itself, where the curve ends.
    """
    fig, ax = new_figure(7.4, 3.8)
    ax.plot([x for x, _ in points], [float(y) for _, y in points], color=BLUE, linewidth=1.8, label="ceiling")
    ax.axhline(alone, color=SOFT, linewidth=1.2, linestyle="--", label=f"attention alone: {alone:g}")
    for tokens, height, words in marks:
        ax.plot([tokens], [height], color=VERMILION, marker="D", markersize=7, linestyle="")
        ax.annotate(words, (tokens, height), (8, 5), textcoords="offset points", va="bottom", fontsize=9)
    powers_of_two_axis(ax.xaxis, max(x for x, _ in points))
    ax.set_xlim(right=max(x for x, _ in points) * 1.4)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("context in tokens (log scale)")
    ax.set_ylabel("FLOP/byte (log scale)")
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    said = "; ".join(f"{words} ({height:.4g} FLOP/byte at {tokens:,} tokens)" for tokens, height, words in marks)
    return Picture(fig, f"Ceiling of the intensity against context, down to {alone:g}. {said}.")
