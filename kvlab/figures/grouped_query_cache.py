"""The figures of lesson 05."""

from collections.abc import Mapping, Sequence
from math import hypot
from statistics import median

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from kvlab.figures.labels import byte_label, duration, power_of_ten
from kvlab.figures.picture import CSS_DPI, Picture
from kvlab.figures.style import (
    BLUE,
    GRID,
    INK,
    ON_COLOUR,
    PAPER,
    SERIES,
    SOFT,
    STYLE,
    VERMILION,
    bare,
    draw_cell,
    even_binary_steps,
    new_figure,
    table_axes,
)
from kvlab.reprs import short_repr


def head_lines(readers: Sequence[object], num_kv_heads: int, title: str) -> Picture:
    """Which KV head each query head reads: `readers[h]` is the KV head of query head h.

    A number that is no KV head is drawn at the edge, in red.
    """
    fig, ax = new_figure(7.4, 2.5)
    heads = len(readers)
    places = [(head + 0.5) * heads / num_kv_heads - 0.5 for head in range(num_kv_heads)]
    dot = {"marker": "s", "markersize": min(21, 300 / heads), "linestyle": "", "clip_on": False}
    said = []
    for head, reader in enumerate(readers):
        known = type(reader) is int and 0 <= reader < num_kv_heads
        place = places[reader] if known else heads - 0.2
        look = {"color": SERIES[reader % len(SERIES)][0] if known else VERMILION, "linewidth": 1.6}
        ax.plot([head, place], [1, 0], zorder=1, **look)
        said.append(f"query head {head} reads {short_repr(reader, 30)}")
    ax.plot(range(heads), [1] * heads, color=INK, **dot)
    for reader, place in enumerate(places):
        ax.plot(place, 0, color=SERIES[reader % len(SERIES)][0], **dot)
    inside = {"ha": "center", "va": "center", "color": "white", "weight": "bold", "fontsize": 9}
    for height, row in ((1, range(heads)), (0, places)):
        for number, place in enumerate(row):
            ax.text(place, height, f"{number}", **inside)
    ax.set_xlim(-0.7, heads - 0.2)
    ax.set_ylim(-0.3, 1.3)
    ax.set_yticks([1, 0], ["query heads", "KV heads"])
    ax.set_xticks([])
    ax.set_xlabel("heads, counted from 0; a line joins a query head with the KV head that it reads", fontsize=9)
    bare(ax)
    ax.set_title(title, fontsize=11)
    return Picture(fig, f"{title}: {', '.join(said)}.")


def storages(ways: Mapping[str, Sequence[tuple[str, int]]]) -> Picture:
    """New storage of each way of computing the same: `ways` maps a label to (operation, bytes) pairs, largest first.

    One bar for each way, one piece of it for each storage. Names that find no place in a short bar stand behind it.
    """
    fig, ax = new_figure(7.4, 1.5 + 0.5 * len(ways))
    longest = max(sum(n for _, n in made) for made in ways.values())
    said = []
    for place, (label, made) in enumerate(ways.items()):
        left, unnamed = 0, []
        for (operation, n_bytes), (colour, _, _) in zip(made, SERIES * len(made), strict=False):
            ax.barh(place, n_bytes, 0.62, left, color=colour, edgecolor=PAPER, linewidth=1.2)
            if n_bytes > 0.012 * len(operation) * longest + 0.01 * longest:
                inside = {"ha": "center", "va": "center", "fontsize": 9, "color": INK, "bbox": ON_COLOUR}
                ax.text(left + n_bytes / 2, place, operation, **inside)
            else:
                unnamed.append(operation)
            left += n_bytes
        names = list(dict.fromkeys(unnamed)) if left < 0.3 * longest else []  # behind a longer bar there is no room
        short = ", ".join(name[:16] for name in names[:4]) + ", …" * (len(names) > 4)
        ax.text(left + 0.01 * longest, place, byte_label(left) + (short and f": {short}"), va="center")
        said.append(f"{label}: {byte_label(left)} in {len(made)} new storages")
    ax.set_xlim(0, longest * 1.18)
    ax.set_ylim(len(ways) - 0.5, -0.5)
    ax.set_yticks(range(len(ways)), ways)
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_locator(FixedLocator(even_binary_steps(longest)))
    ax.xaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.set_xlabel("bytes of new storage; each piece is one storage, named by the operation that made it")
    return Picture(fig, "; ".join(said) + ".")


def slot_strips(moments: Sequence[tuple[str, object, Sequence[str]]], capacity: int) -> Picture:
    """A cache after each of several calls: `moments` holds (call, used, stored), `stored` one short text for each slot.

    Slots from `used` on are empty, whatever lies in them.
    """
    fig, ax = table_axes(len(moments), capacity, "slot")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    said = []
    for row, (call, used, stored) in enumerate(moments):
        for slot in range(capacity):
            full = slot < len(stored)
            draw_cell(ax, row, slot, stored[slot] if full else "", *((BLUE, "white", "bold") if full else (PAPER, INK)))
        ax.annotate(f"used {short_repr(used, 30)}", (1, row), (8, 0), **beside)
        said.append(f"{call}: used {short_repr(used, 30)}, slots {', '.join(stored) or 'empty'}")
    ax.set_yticks(range(len(moments)), [call for call, _, _ in moments])
    ax.set_title("what is stored after each call, by token", fontsize=11)
    return Picture(fig, "; ".join(said) + ".")


def turned_pairs(pairs: Sequence[Sequence[tuple[float, float]]]) -> Picture:
    """Where rotary positions take the point (1, 0) of each pair: `pairs[i][p]` is (x, y) of pair i at position p."""
    with rc_context(STYLE):
        figure = Figure((7.4, 3.1), dpi=CSS_DPI, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
        axes = figure.subplots(1, len(pairs), squeeze=False)[0]
    said = []
    for number, (ax, points) in enumerate(zip(axes, pairs, strict=True)):
        ax.add_patch(Circle((0, 0), 1, fill=False, color=GRID, linewidth=1.2))
        colour = SERIES[number % len(SERIES)][0]
        for position, (x, y) in enumerate(points):
            ax.plot([0, x], [0, y], color=colour, linewidth=1, alpha=0.5)
            ax.plot(x, y, "o", color=colour, markersize=6)
            before = points[position - 1] if position else (0, 0)
            if hypot(x - before[0], y - before[1]) > 0.3:  # closer labels would lie on one another
                ax.text(1.2 * x, 1.2 * y, f"{position}", ha="center", va="center", fontsize=9)
        ax.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        ax.set_title(f"pair {number}", fontsize=11)
        ax.set_xlabel(f"element {number}")
        ax.set_ylabel(f"element {number + len(pairs)}", labelpad=0)
        said.append(f"pair {number} ends at ({points[-1][0]:.2f}, {points[-1][1]:.2f})")
    many = f"The point (1, 0) of each pair at positions 0 to {len(pairs[0]) - 1}"
    figure.suptitle(many, fontsize=11)
    return Picture(figure, f"{many}: {'; '.join(said)}.")


def costs(rows: Sequence[Mapping], amount: str, label: str) -> Picture:
    """Two ways of doing the same at several sizes: an exact `amount` at the left, every trial's time at the right.

    `rows` come in pairs, the costly way first; each has tokens, way, `seconds` of all trials, and the amount, which is
    "elements" or "peak_bytes". `label` says where the times come from.
    """
    with rc_context(STYLE):
        figure = Figure((7.4, 3.7), dpi=CSS_DPI, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
        counted, timed = figure.subplots(1, 2)
    ways, sizes = list(dict.fromkeys(row["way"] for row in rows)), list(dict.fromkeys(row["tokens"] for row in rows))
    said = []
    for shift, way, (colour, marker, dash) in zip((-0.12, 0.12), ways, (SERIES[1], SERIES[0]), strict=True):
        mine = [row for row in rows if row["way"] == way]
        look = {"color": colour, "marker": marker, "linestyle": dash, "label": way}
        counted.plot(range(len(mine)), [row[amount] for row in mine], **look)
        for place, row in enumerate(mine):
            trials = len(row["seconds"])
            timed.plot([place + shift] * trials, row["seconds"], marker, color=colour, markersize=4, alpha=0.5)
            middle = median(row["seconds"])
            timed.plot([place + shift - 0.1, place + shift + 0.1], [middle] * 2, color=INK, linewidth=1.5)
    for place, (costly, lean) in enumerate(zip(rows[::2], rows[1::2], strict=True)):
        ratio = median(costly["seconds"]) / median(lean["seconds"])
        top = max(*costly["seconds"], *lean["seconds"])
        above = {"textcoords": "offset points", "ha": "center", "fontsize": 9}
        timed.annotate(f"{ratio:.2g}×", (place, top), (0, 7), **above)
        counted.annotate(f"{costly[amount] / lean[amount]:,.5g}×", (place, costly[amount]), (0, 8), **above)
        said.append(
            f"{costly['tokens']:,} tokens: {costly[amount] / lean[amount]:,.5g} times the amount, "
            f"{ratio:.2g} times the median time"
        )
    name = {"elements": "elements written", "peak_bytes": "peak of new bytes"}[amount]
    for ax, ylabel in ((counted, f"{name} (log scale)"), (timed, "time, every trial (log scale)")):
        ax.set_yscale("log")
        ax.margins(x=0.14, y=0.2)
        ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
        ax.set_xlabel("tokens")
        ax.set_ylabel(ylabel)
        ax.yaxis.set_minor_locator(NullLocator())
        ax.grid(axis="x", visible=False)
    counted.yaxis.set_major_formatter(FuncFormatter(byte_label if amount == "peak_bytes" else power_of_ten))
    if amount == "peak_bytes":
        counted.yaxis.set_major_locator(LogLocator(base=4))
    timed.yaxis.set_major_formatter(FuncFormatter(duration))
    figure.legend(*counted.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    figure.supxlabel(f"{label}\nbars: medians; ×: {ways[0]} ÷ {ways[1]}", fontsize=8.5, color=SOFT)
    return Picture(figure, f"{ways[0]} against {ways[1]}, {name} and time; {'; '.join(said)}. {label}.")
