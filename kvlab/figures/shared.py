"""Figures that several lessons draw.

As in every module of this folder: data in, picture out, and no arithmetic about caches.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from kvlab.figures.labels import byte_label, short_difference
from kvlab.figures.picture import Picture
from kvlab.figures.style import BLUE, SERIES, VERMILION, Points, even_binary_steps, every_few_doublings, new_figure
from kvlab.sizes import show_bytes

NO_DIFFERENCE, MOST_DIFFERENCE = 1e-17, 10.0  # ends of every axis of differences; the lower one stands for 0


def bytes_by_tokens(
    series: Mapping[str, Points],
    limit_bytes: int | None = None,
    limit_label: str | None = None,
    tokens: str = "stored tokens",
    n_bytes: str = "cache bytes",
) -> Picture:
    """Lines of bytes against tokens, both axes logarithmic.

    `series` maps a label to (tokens, bytes) pairs; a point at 0 has no place on a logarithmic axis and is
    left out. `limit_bytes` draws a horizontal line, for instance a device's nominal memory. `tokens` and `n_bytes` say
    whose they are.
    """
    fig, ax = new_figure(7.4, 4.0)
    for (label, points), (colour, marker, dash) in zip(series.items(), SERIES, strict=False):
        drawn = [(float(x), float(y)) for x, y in points if x > 0 and y > 0]
        ax.plot(
            [x for x, _ in drawn],
            [y for _, y in drawn],
            color=colour,
            marker=marker,
            linestyle=dash,
            markersize=5,
            label=label,
        )
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}" if n < 10**8 else f"{n:.2g}"))
    if limit_bytes is not None:
        ax.axhline(float(limit_bytes), color=VERMILION, linewidth=1.5)
        ax.annotate(
            limit_label or show_bytes(limit_bytes),
            (0.01, float(limit_bytes)),
            xycoords=("axes fraction", "data"),
            xytext=(0, 4),
            textcoords="offset points",
            color=VERMILION,
        )
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * 2)  # room for the limit's label
    ax.yaxis.set_major_locator(FixedLocator(every_few_doublings(*ax.get_ylim())))
    ax.yaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(f"{tokens} (log scale)")
    ax.set_ylabel(f"{n_bytes} (log scale)")
    ax.legend(loc="lower right", frameon=False)
    alt = f"{n_bytes[:1].upper()}{n_bytes[1:]} against {tokens} for " + ", ".join(
        f"{label} (up to {byte_label(float(max(y for _, y in points)))})" for label, points in series.items()
    )
    if limit_bytes is not None:
        alt += f", against {limit_label or show_bytes(limit_bytes)}"
    return Picture(fig, alt + ".")


def model_bars(per_token: Mapping[str, int]) -> Picture:
    """One bar for each model, in the order given: `per_token` maps a name to cache bytes per token."""
    fig, ax = new_figure(7.4, 1.0 + 0.34 * len(per_token))
    values = [float(n) for n in per_token.values()]
    labels = [byte_label(n, digits=5) for n in values]  # as exact as the prose beside it
    bars = ax.barh(range(len(values)), values, 0.66, color=BLUE)
    ax.bar_label(bars, labels, padding=4)
    ax.set_yticks(range(len(values)), per_token)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlim(0, max(values) * 1.18)
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_locator(FixedLocator(even_binary_steps(max(values))))
    ax.xaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.set_xlabel("cache bytes per token")
    alt = "Cache bytes per token: " + ", ".join(map(" ".join, zip(per_token, labels, strict=True)))
    return Picture(fig, alt + ".")


def step_differences(differences: np.ndarray, atol: float) -> Picture:
    """For each step of a decoder the largest |cached - full| of its logits, on a logarithmic axis.

    `differences` (T, V) are absolute. A difference of 0 lies on the bottom edge; one that is not a number, or beyond
    the axis, on the top edge. The line is the tolerance `atol`; a step above it is a red diamond.
    """
    fig, ax = new_figure(7.4, 3.4)
    largest = [max(map(float, row), key=lambda value: (value != value, value)) for row in differences]
    difference_axis(ax.yaxis)
    limit = difference_height(atol)
    ax.axhspan(limit, MOST_DIFFERENCE, color=VERMILION, alpha=0.08, linewidth=0)
    ax.axhline(limit, color=VERMILION, linewidth=1.5)
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "annotation_clip": False}
    ax.annotate(f"tolerance\n{atol:.3g}", (1, limit), (6, 0), va="center", color=VERMILION, **beside)
    looks = {True: (BLUE, "o", "within the tolerance"), False: (VERMILION, "D", "not within it")}
    for agrees, (colour, marker, label) in looks.items():
        steps = [step for step, value in enumerate(largest) if (value <= atol) == agrees]
        heights = [difference_height(largest[step]) for step in steps]
        ax.vlines(steps, NO_DIFFERENCE, heights, color=colour, linewidth=1.2)
        look = {"color": colour, "marker": marker, "markersize": 8, "linestyle": "", "clip_on": False}
        (marks,) = ax.plot(steps, heights, label=label, **look)
        marks.set_in_layout(False)  # marks lie within the axes; an empty set of them would disturb the layout
    for step, value in enumerate(largest):
        if difference_height(value) == MOST_DIFFERENCE:  # its place does not say how much
            ax.annotate(short_difference(value), (step, MOST_DIFFERENCE), (8, -9), textcoords="offset points")
    ax.set_xlim(-0.5, len(largest) - 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(20, integer=True, steps=[1, 2, 5, 10]))
    ax.grid(axis="x", visible=False)
    ax.set_xlabel("step, counted from 0")
    ax.set_ylabel("largest |cached − full|")
    beyond = sum(not value <= atol for value in largest)
    ax.set_title(f"{len(largest) - beyond} of {len(largest)} steps within the tolerance", fontsize=11, pad=12)
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    each = ", ".join(f"step {step} {short_difference(value)}" for step, value in enumerate(largest))
    return Picture(fig, f"{ax.get_title()} {atol:.3g}. Largest difference of each: {each}.")


def counts_by_step(series: Mapping[str, Sequence[int]], xlabel: str, ylabel: str) -> Picture:
    """Lines of counts on a logarithmic axis. `series` maps a label to the counts at 1, 2, 3, …; a 0 is left out."""
    fig, ax = new_figure(7.4, 3.2)
    for (label, counts), (colour, marker, dash) in zip(series.items(), SERIES, strict=False):
        drawn = [(x, float(y)) for x, y in enumerate(counts, start=1) if y > 0]
        look = {"color": colour, "marker": marker, "linestyle": dash, "markersize": 5, "label": label}
        ax.plot([x for x, _ in drawn], [y for _, y in drawn], **look)
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1,) if high > 100 * low else (1, 2, 5), numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    ax.set_xlabel(xlabel)
    ax.set_ylabel(f"{ylabel}\n(log scale)")
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    lines = "; ".join(f"{label}: {', '.join(f'{count:,}' for count in counts)}" for label, counts in series.items())
    return Picture(fig, f"{ylabel} by {xlabel}. {lines}.")


def difference_axis(axis: Axis) -> None:
    """A logarithmic axis of absolute differences with fixed ends; its lower end is labelled 0."""
    axis.axes.set_yscale("log")
    axis.axes.set_ylim(NO_DIFFERENCE, MOST_DIFFERENCE)
    ticks = [NO_DIFFERENCE, 1e-14, 1e-10, 1e-6, 1e-2, 1]
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda n, _: "0" if n == NO_DIFFERENCE else f"{n:g}".replace("e-0", "e-")))
    axis.set_minor_locator(NullLocator())


def difference_height(value: float) -> float:
    """Where a difference lies on that axis: 0 on the lower end and nothing else there; NaN on the upper end."""
    if value == 0:
        return NO_DIFFERENCE
    return max(2 * NO_DIFFERENCE, value) if value < MOST_DIFFERENCE else MOST_DIFFERENCE
