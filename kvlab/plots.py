"""Data in, picture out. No plot computes anything about caches: it draws the numbers it is given.

Colours are Okabe and Ito's, which remain distinct in every common form of colour blindness; what a colour
says, a label, marker or hatch says too. The paper is opaque and light, so that a plot reads the same in a
dark theme.
"""

from itertools import zip_longest
from math import ceil, hypot, isfinite, log10
from numbers import Integral
from statistics import median

from matplotlib import rc_context
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from kvlab.pictures import CSS_DPI, Picture
from kvlab.sizes import GIB, KIB, MIB, PIB, TIB, show_bytes

INK, SOFT, PAPER, GRID = "#1f2328", "#59606a", "#fcfbf7", "#dddad2"
BLUE, ORANGE, GREEN, VERMILION, SKY, PINK = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7"
SERIES = ((BLUE, "o", "-"), (ORANGE, "s", "--"), (GREEN, "^", "-."), (VERMILION, "D", ":"), (PINK, "v", "-"))
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.facecolor": PAPER,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}
MOST_CELLS = 2000  # beyond this a cell is too small to count by eye
SEEN = {"color": "white", "marker": "o", "markersize": 5, "linestyle": ""}  # in the cells of a mask
HIDDEN = {"color": SOFT, "marker": "x", "markersize": 4, "linestyle": "", "markeredgewidth": 0.9}
_ON_COLOUR = {"boxstyle": "round,pad=0.15", "facecolor": PAPER, "edgecolor": "none"}
NO_DIFFERENCE, MOST_DIFFERENCE = 1e-17, 10.0  # ends of every axis of differences; the lower one stands for 0


def _figure(width: float, height: float, **axes):
    """A figure of `width` × `height` inches with one axes, in the course's style."""
    with rc_context(STYLE):
        figure = Figure((width, height), dpi=CSS_DPI, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)  # inches of paper around everything
        return figure, figure.add_subplot(**axes)


def byte_label(n_bytes, _position=None, digits=4) -> str:
    """A tick of a byte axis: "512 MiB"."""
    for unit, name in ((PIB, "PiB"), (TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.{digits}g} {name}"
    return f"{n_bytes:,.{digits}g} B"


def cache_cells(num_layers, batch, tokens, num_kv_heads, head_dim, counted=None) -> Picture:
    """Every element of a small cache as one cell: a row for each layer, K beside V, a block for each KV head.

    `counted` is the learner's own number of elements; it is printed beside the number of cells drawn.
    ValueError when there are more than 2000 cells.
    """
    blocks = [f"head {head}" for head in range(num_kv_heads)]
    if batch > 1:
        blocks = [f"request {request}, {block}" for request in range(batch) for block in blocks]
    if num_layers * 2 * len(blocks) * tokens * head_dim > MOST_CELLS:
        raise ValueError(f"cache_cells: wanted at most {MOST_CELLS} cells, which can be counted by eye")
    half = len(blocks) * (head_dim + 1) + 1  # cells across K or V, gaps included
    across, down = 2 * half - 2, num_layers * (tokens + 1) - 1
    cell = min(6.4 / across, 0.26)  # inches
    fig, ax = _figure(7.4, down * cell + 1.45)
    cells = {"K": [], "V": []}
    for layer in range(num_layers):
        top = layer * (tokens + 1)
        beside = {"textcoords": "offset points", "ha": "right", "va": "center"}
        ax.annotate(f"layer {layer}", (0, top + tokens / 2), (-8, 0), **beside)
        for name, left in (("K", 0), ("V", half)):
            for place in range(len(blocks)):
                for token in range(tokens):
                    for element in range(head_dim):
                        corner = (left + place * (head_dim + 1) + element + 0.05, top + token + 0.05)
                        cells[name].append(Rectangle(corner, 0.9, 0.9))
    above = {"textcoords": "offset points", "ha": "left", "va": "bottom"}
    for name, left, colour in (("K", 0, BLUE), ("V", half, ORANGE)):
        ax.add_collection(PatchCollection(cells[name], facecolor=colour, edgecolor="none"))
        ax.annotate(name, (left, 0), (0, 16), weight="bold", **above)
        for place, block in enumerate(blocks):
            if head_dim * cell > 0.08 * len(block):  # inches: the label fits its block
                ax.annotate(block, (left + place * (head_dim + 1), 0), (0, 3), fontsize=9, color=SOFT, **above)
    drawn = sum(len(collection.get_paths()) for collection in ax.collections)
    ax.set_xlim(0, across)
    ax.set_ylim(down, 0)
    ax.set_aspect("equal")
    ax.axis("off")
    title = f"{drawn:,} elements drawn"
    if counted is not None:
        title += f" · {counted:,} counted by you: " + ("the same" if counted == drawn else "not the same")
    fig.suptitle(title, fontsize=11)
    key = f"One cell is one element, one block one KV head: {tokens} high (tokens), {head_dim} wide (head_dim)."
    fig.supxlabel(key, fontsize=9, color=SOFT)
    alt = f"The cells of a cache; layers: {num_layers}; blocks in each of K and V: {len(blocks)}. {title}."
    return Picture(fig, alt)


def bytes_by_tokens(
    series, limit_bytes=None, limit_label=None, tokens="stored tokens", n_bytes="cache bytes"
) -> Picture:
    """Lines of bytes against tokens, both axes logarithmic.

    `series` maps a label to (tokens, bytes) pairs; a point at 0 has no place on a logarithmic axis and is
    left out. `limit_bytes` draws a horizontal line, for instance a device's nominal memory. `tokens` and `n_bytes` say
    whose they are.
    """
    fig, ax = _figure(7.4, 4.0)
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
    ax.yaxis.set_major_locator(FixedLocator(_every_few_doublings(*ax.get_ylim())))
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


def capacity_lines(rows, limit_bytes=None, limit_label=None) -> Picture:
    """`bytes_by_tokens` of the rows {"variant", "tokens", "bytes"} that `capacity_table` returns."""
    series = {}
    for row in rows:
        series.setdefault(row["variant"], []).append((row["tokens"], row["bytes"]))
    return bytes_by_tokens(series, limit_bytes, limit_label)


def request_bars(lengths, stored, padded) -> Picture:
    """For each request its stored bytes, and around them the bytes that a padded batch would hold for it.

    `lengths` in tokens, `stored` and `padded` in bytes, all equally long.
    """
    fig, ax = _figure(7.4, 3.4)
    places = range(len(lengths))
    hollow = {"fill": False, "edgecolor": SOFT, "hatch": "///"}
    ax.bar(places, [float(n) for n in padded], 0.66, label="padded", **hollow)
    ax.bar(places, [float(n) for n in stored], 0.66, label="stored", color=BLUE)
    ax.set_xticks(places, [f"{n:,}" for n in lengths])
    ax.set_xlabel("request, by its stored tokens")
    ax.set_ylabel("bytes")
    ax.grid(axis="x", visible=False)
    ticks = _even_binary_steps(max(float(n) for n in padded))
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.set_ylim(0, ticks[-1])
    ax.yaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.set_title(f"stored {show_bytes(sum(stored))} · padded {show_bytes(sum(padded))}", fontsize=11)
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    alt = f"{len(lengths)} requests: stored {show_bytes(sum(stored))}, padded {show_bytes(sum(padded))}."
    return Picture(fig, alt)


def unit_gap(readings) -> Picture:
    """The same bytes read twice: `readings` maps a label to a dict with the numbers under "GB" and "GiB"."""
    fig, ax = _figure(7.4, 1.2 + 0.75 * len(readings))
    for shift, unit, colour in ((-0.19, "GB", ORANGE), (0.19, "GiB", BLUE)):
        numbers = [float(units[unit]) for units in readings.values()]
        bars = ax.barh(
            [place + shift for place in range(len(numbers))], numbers, 0.34, color=colour, label=f"in {unit}"
        )
        ax.bar_label(bars, [f"{number:,.4g} {unit}" for number in numbers], padding=4)
    ax.margins(x=0.2)  # room for the numbers beside the bars
    ax.set_ylim(len(readings) - 0.5, -0.5)
    ax.set_yticks(range(len(readings)), readings)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("the same bytes, as a number of GB and of GiB")
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    said = {label: (float(units["GB"]), float(units["GiB"])) for label, units in readings.items()}
    alt = "; ".join(f"{label}: {gb:,.4g} GB is {gib:,.4g} GiB" for label, (gb, gib) in said.items())
    return Picture(fig, alt + ".")


def model_bars(per_token) -> Picture:
    """One bar for each model, in the order given: `per_token` maps a name to cache bytes per token."""
    fig, ax = _figure(7.4, 1.0 + 0.34 * len(per_token))
    values = [float(n) for n in per_token.values()]
    labels = [byte_label(n, digits=5) for n in values]  # as exact as the prose beside it
    bars = ax.barh(range(len(values)), values, 0.66, color=BLUE)
    ax.bar_label(bars, labels, padding=4)
    ax.set_yticks(range(len(values)), per_token)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlim(0, max(values) * 1.18)
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_locator(FixedLocator(_even_binary_steps(max(values))))
    ax.xaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.set_xlabel("cache bytes per token")
    alt = "Cache bytes per token: " + ", ".join(map(" ".join, zip(per_token, labels, strict=True)))
    return Picture(fig, alt + ".")


def tokens_that_fit(points) -> Picture:
    """A staircase: `points` are (budget in bytes, tokens that fit) pairs in growing order of budget."""
    fig, ax = _figure(7.4, 3.4)
    budgets, tokens = [float(b) for b, _ in points], [float(t) for _, t in points]
    ax.step(budgets, tokens, where="post", color=BLUE, linewidth=1.8)
    ax.xaxis.set_major_locator(FixedLocator(_even_binary_steps(max(budgets))))
    ax.xaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    ax.set_xlabel("budget in bytes")
    ax.set_ylabel("tokens that fit")
    alt = f"Tokens that fit, in whole steps up to {max(tokens):,.0f} for {byte_label(max(budgets))}."
    return Picture(fig, alt)


def step_differences(differences, atol) -> Picture:
    """For each step of a decoder the largest |cached - full| of its logits, on a logarithmic axis.

    `differences` (T, V) are absolute. A difference of 0 lies on the bottom edge; one that is not a number, or beyond
    the axis, on the top edge. The line is the tolerance `atol`; a step above it is a red diamond.
    """
    fig, ax = _figure(7.4, 3.4)
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


def row_verdicts(differences, atol, first) -> Picture:
    """A strip of rows with the difference of each entry; rows that are not within `atol` stand out.

    `differences` (T, V) are absolute; NaN is within no tolerance. `first` is what the learner's `first_divergence`
    gave: the row that it names is marked, right or wrong.
    """
    rows = [[float(value) for value in row] for row in differences]
    fig, ax = _table_axes(len(rows), len(rows[0]), "entry of the row")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    diverging = [row for row, values in enumerate(rows) if not all(value <= atol for value in values)]
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            if value <= atol:
                _cell(ax, row, column, short_difference(value), PAPER, INK)
            else:
                _cell(ax, row, column, f"≠  {short_difference(value)}", VERMILION, "white", weight="bold")
        verdict, colour = ("diverges", VERMILION) if row in diverging else ("agrees", SOFT)
        ax.annotate(verdict, (1, row), (8, 0), color=colour, **beside)
        if _names(first, row):
            ax.annotate("◄  your answer", (1, row), (74, 0), weight="bold", **beside)
    ax.set_title(f"|a − b|, tolerance {atol:.3g} · your first_divergence: {_short(first)}", fontsize=11)
    said = "no row" if not diverging else "rows " + ", ".join(map(str, diverging))
    return Picture(fig, f"{len(rows)} rows, beyond the tolerance {atol:.3g}: {said}. You gave {_short(first)}.")


def logit_pairs(right, wrong) -> Picture:
    """The logits (T, V) of two decoders side by side, the largest of each row filled.

    `right` uses every position, `wrong` reads each as position 0.
    """
    tables = [[[float(value) for value in row] for row in table] for table in (right, wrong)]
    width = len(tables[0][0])
    fig, ax = _table_axes(len(tables[0]), 2 * width + 1, "token whose logit it is")
    largest = [[row.index(max(row)) for row in table] for table in tables]
    looks = (("right positions", BLUE, "white"), ("every position 0", ORANGE, INK))
    for place, (name, fill, ink) in enumerate(looks):
        left = place * (width + 1)
        ax.text(left + (width - 1) / 2, -0.75, name, ha="center", va="bottom", weight="bold")
        for row, values in enumerate(tables[place]):
            for column, value in enumerate(values):
                best = column == largest[place][row]
                look = (fill, ink, "bold") if best else (PAPER, INK, "normal")
                _cell(ax, row, left + column, f"{value:.3f}", *look)
    for row, (one, other) in enumerate(zip(*largest, strict=True)):
        sign, colour = ("=", SOFT) if one == other else ("≠", VERMILION)
        ax.text(width, row, sign, ha="center", va="center", color=colour, fontsize=13)
    ax.set_xticks([*range(width), *range(width + 1, 2 * width + 1)], [*range(width)] * 2)
    same = sum(one == other for one, other in zip(*largest, strict=True))
    ax.set_title(f"filled: the arg-max of each row, the same in {same} of {len(tables[0])} rows", fontsize=11, pad=26)
    alt = f"Logits of {len(tables[0])} rows; the arg-max is the same in {same} of them. "
    pairs = enumerate(zip(*tables, strict=True))
    alt += " ".join(f"Row {row}: {_list_logits(one)} against {_list_logits(other)}." for row, (one, other) in pairs)
    return Picture(fig, alt)


def shares(probabilities, u, chosen) -> Picture:
    """The unit interval cut into the tokens' shares, in the order of the ids, with the draw `u` as a line.

    `chosen` is the token that the learner's `sample` gave; its share is filled.
    """
    probabilities = [float(p) for p in probabilities]
    fig, ax = _figure(7.4, 2.2)
    left = 0.0
    for token, p in enumerate(probabilities):
        fill, ink, weight = (BLUE, "white", "bold") if _names(chosen, token) else (PAPER, INK, "normal")
        ax.add_patch(Rectangle((left, 0), p, 1, facecolor=fill, edgecolor=INK, linewidth=1))
        middle = left + p / 2
        if p >= 0.025:  # room for a label inside
            label = f"token {token}\n{p:.3g}" if p >= 0.1 else f"{token}"
            ax.text(middle, 0.5, label, ha="center", va="center", color=ink, weight=weight)
        elif p > 0:
            ax.text(middle, 1.03, f"{token}", ha="center", va="bottom", color=INK, weight=weight)
        left += p
    ax.plot((u, u), (-0.06, 1.4), color=VERMILION, linewidth=2, clip_on=False, solid_capstyle="butt")
    side = "left" if u < 0.5 else "right"
    ax.text(u, 1.26, f"  u = {_below_one(u)}  ", color=VERMILION, ha=side, va="bottom", weight="bold")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("[0, 1): each token owns as much of it as its probability")
    ax.set_ylabel("share")
    title = f"your sample: {_short(chosen)}"
    if empty := [f"{token}" for token, p in enumerate(probabilities) if p == 0]:
        title += f" · tokens of probability 0: {', '.join(empty)}"
    ax.set_title(title, fontsize=11, pad=36)
    each = ", ".join(f"token {token} {p:.3g}" for token, p in enumerate(probabilities))
    alt = f"The unit interval in shares: {each}. The draw is {_below_one(u)}; your sample gave {_short(chosen)}."
    return Picture(fig, alt)


def mask_grid(mask, title, first_query=0) -> Picture:
    """A mask (chunk, keys) as a grid, True filled and dotted, False crossed; `first_query` is the first position.

    ValueError when it is no table of bools.
    """
    return mask_grids([mask], [title], [first_query])


def mask_grids(masks, titles, first_queries) -> Picture:
    """Masks (chunk, keys) one below the other. The key of the query's own position, where it exists, is framed.

    ValueError when one of them is no table of bools.
    """
    tables = [_bools(mask) for mask in masks]
    with rc_context(STYLE):
        height = sum(0.3 * len(table) + 0.62 for table in tables) + 0.55
        figure = Figure((7.4, height), dpi=CSS_DPI, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.06)
        rows = [len(table) + 1.6 for table in tables]
        axes = figure.subplots(len(tables), height_ratios=rows, squeeze=False)[:, 0]
    said = []
    for ax, table, title, first in zip(axes, tables, titles, first_queries, strict=True):
        _mask_axes(ax, table, first)
        said.append(f"{title}: {_mask_words(table, first)}.")
        ax.set_title(title, fontsize=10.5, loc="left")
        ax.set_xlabel("key position" if ax is axes[-1] else " ", fontsize=10 if ax is axes[-1] else 1)
    mask_legend(figure, loc="outside lower center")
    return Picture(figure, " ".join(said))


def number_grid(values, title, filled, first_query=0) -> Picture:
    """Numbers (chunk, keys), one in each cell: a mask to be added to scores, or the weights of attention.

    `filled` (chunk, keys) says which cells stand out. ValueError when the numbers are no table.
    """
    if getattr(values, "ndim", 0) != 2:
        raise ValueError(f"wanted an array of two dimensions, got {_short(values)}")
    rows = [[float(value) for value in row] for row in values]
    fig, ax = _table_axes(len(rows), len(rows[0]), "key position")
    for row, numbers in enumerate(rows):
        for column, value in enumerate(numbers):
            _cell(ax, row, column, _entry(value), *((BLUE, "white", "bold") if filled[row][column] else (PAPER, INK)))
    queries = [f"query {first_query + row}" for row in range(len(rows))]
    ax.set_yticks(range(len(rows)), queries)
    ax.set_title(title, fontsize=11)
    said = "; ".join(f"{query} {', '.join(map(_entry, row))}" for query, row in zip(queries, rows, strict=True))
    return Picture(fig, f"{title}. {said}.")


def mask_legend(figure, **options):
    """A legend for grids of masks; each entry is a cell with its sign."""
    cell = {"marker": "s", "markersize": 11, "linestyle": ""}
    seen = Line2D([], [], color=BLUE, **cell), Line2D([], [], **SEEN)
    hidden = Line2D([], [], color=PAPER, markeredgecolor=GRID, **cell), Line2D([], [], **HIDDEN)
    own = Line2D([], [], color="none", markeredgecolor=INK, markeredgewidth=1.8, **cell)
    labels = ("may be seen", "hidden", "the query's own key")
    return figure.legend([seen, hidden, own], labels, ncols=3, frameon=False, fontsize=9, **options)


def attention_weights(weights) -> Picture:
    """How much of each stored row one query reads: `weights` (T,), the last one that of the query's own token."""
    weights = [float(weight) for weight in weights]
    fig, ax = _figure(7.4, 2.6)
    places = range(len(weights))
    bars = ax.bar(places, weights, 0.66, color=[BLUE] * (len(weights) - 1) + [ORANGE])
    ax.bar_label(bars, [f"{weight:.3f}" for weight in weights], padding=3)
    ax.set_xticks(places, [*(f"{place}" for place in places[:-1]), f"{places[-1]}, its own"])
    ax.set_xlabel("row that is read")
    ax.set_ylabel("weight")
    ax.set_ylim(0, 1.12)
    ax.set_yticks([0, 0.5, 1])
    ax.grid(axis="x", visible=False)
    ax.set_title(f"weights of the newest token; they add up to {sum(weights):.3f}", fontsize=11)
    each = ", ".join(f"row {place} {weight:.3f}" for place, weight in enumerate(weights))
    return Picture(fig, f"Weights of the newest token: {each}. They add up to {sum(weights):.3f}.")


def prefill_and_decode(prompt: int, num_layers: int) -> Picture:
    """Which rows of Q, K and V each layer makes for a prompt, and beside it for the next token.

    `prompt` is the number of prompt tokens. A new query, a row that is written and a row that is only read differ in
    colour and in sign.
    """
    looks = {
        "q": ("q", BLUE, "white", "new query"),
        "+": ("+", ORANGE, INK, "K or V row, appended"),
        "·": ("·", "#e6e3da", INK, "history: stored, read again"),
    }
    strips = [(layer, name, layer * 3.5 + place) for layer in range(num_layers) for place, name in enumerate("QKV")]
    with rc_context(STYLE):
        fig, ax = _table_axes(len(strips) + 1, 2 * prompt + 3, "token")
    ax.set_ylim(strips[-1][2] + 0.6, -1.3)
    right = prompt + 1.5  # where the picture of the decode step starts
    for _, name, y in strips:
        for token in range(prompt):
            _cell(ax, y, token, *looks["q" if name == "Q" else "+"][:3], weight="bold")
        for token in range(prompt + 1):
            new = token == prompt
            if name == "Q" and not new:
                continue  # old queries are never needed again
            _cell(ax, y, right + token, *looks["·" if not new else "q" if name == "Q" else "+"][:3], weight="bold")
    for left, width, title in ((0, prompt, "prefill: the whole prompt"), (right, prompt + 1, "decode: one more token")):
        ax.text(left + (width - 1) / 2, -0.75, title, ha="center", va="bottom", weight="bold")
    ax.set_xlim(-0.6, right + prompt + 0.6)
    ax.set_xticks(
        [*range(prompt), *(right + token for token in range(prompt + 1))], [*range(prompt), *range(prompt + 1)]
    )
    ax.set_yticks([y for *_, y in strips], [f"layer {layer} · {name}" for layer, name, _ in strips])
    marks = [Rectangle((0, 0), 1, 1, facecolor=fill, edgecolor=SOFT) for _, fill, _, _ in looks.values()]
    labels = [f"{sign}  {said}" for sign, _, _, said in looks.values()]
    fig.legend(marks, labels, loc="outside lower center", ncols=3, frameon=False)
    alt = (
        f"In each of {num_layers} layers a prefill of {prompt} tokens makes {prompt} rows of Q, K and V. The decode "
        f"step after it makes one row of each; it appends those of K and V to {prompt} rows of history, which it reads."
    )
    return Picture(fig, alt)


def counts_by_step(series, xlabel, ylabel) -> Picture:
    """Lines of counts on a logarithmic axis. `series` maps a label to the counts at 1, 2, 3, …; a 0 is left out."""
    fig, ax = _figure(7.4, 3.2)
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


def row_survival(lines) -> Picture:
    """Which rows of K and V are found again after a change.

    `lines` holds (label, K, V, note): K and V are lists of truth values, one for each row, all lines of the same
    length; `note` stands beside the line and may be empty.
    """
    width = len(lines[0][1])
    fig, ax = _table_axes(len(lines), 2 * width + 1, "row of K, and row of V")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    for line, (_, *tables, note) in enumerate(lines):
        for left, kept in zip((0, width + 1), tables, strict=True):
            for row, same in enumerate(kept):
                look = ("=", PAPER, INK, "normal") if same else ("≠", VERMILION, "white", "bold")
                _cell(ax, line, left + row, *look)
        if note:
            ax.annotate(note, (1, line), (8, 0), **beside)
    for left, name in ((0, "K"), (width + 1, "V")):
        ax.text(left + (width - 1) / 2, -0.65, name, ha="center", va="bottom", weight="bold")
    ax.set_xticks([*range(width), *range(width + 1, 2 * width + 1)], [*range(width)] * 2)
    ax.set_yticks(range(len(lines)), [label for label, *_ in lines])
    ax.set_title("= the row is the same as before the change · ≠ it is another", fontsize=11, pad=24)
    each = " ".join(
        f"{label}: K {sum(keys)} and V {sum(values)} of {width}{f', {note}' if note else ''}."
        for label, keys, values, note in lines
    )
    return Picture(fig, f"Rows that survive a change. {each}")


def head_lines(readers, num_kv_heads, title) -> Picture:
    """Which KV head each query head reads: `readers[h]` is the KV head of query head h.

    A number that is no KV head is drawn at the edge, in red.
    """
    fig, ax = _figure(7.4, 2.5)
    heads = len(readers)
    places = [(head + 0.5) * heads / num_kv_heads - 0.5 for head in range(num_kv_heads)]
    dot = {"marker": "s", "markersize": min(21, 300 / heads), "linestyle": "", "clip_on": False}
    said = []
    for head, reader in enumerate(readers):
        known = type(reader) is int and 0 <= reader < num_kv_heads
        place = places[reader] if known else heads - 0.2
        look = {"color": SERIES[reader % len(SERIES)][0] if known else VERMILION, "linewidth": 1.6}
        ax.plot([head, place], [1, 0], zorder=1, **look)
        said.append(f"query head {head} reads {_short(reader)}")
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
    _bare(ax)
    ax.set_title(title, fontsize=11)
    return Picture(fig, f"{title}: {', '.join(said)}.")


def storages(ways) -> Picture:
    """New storage of each way of computing the same: `ways` maps a label to (operation, bytes) pairs, largest first.

    One bar for each way, one piece of it for each storage. Names that find no place in a short bar stand behind it.
    """
    fig, ax = _figure(7.4, 1.5 + 0.5 * len(ways))
    longest = max(sum(n for _, n in made) for made in ways.values())
    said = []
    for place, (label, made) in enumerate(ways.items()):
        left, unnamed = 0, []
        for (operation, n_bytes), (colour, _, _) in zip(made, SERIES * len(made), strict=False):
            ax.barh(place, n_bytes, 0.62, left, color=colour, edgecolor=PAPER, linewidth=1.2)
            if n_bytes > 0.012 * len(operation) * longest + 0.01 * longest:
                inside = {"ha": "center", "va": "center", "fontsize": 9, "color": INK, "bbox": _ON_COLOUR}
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
    ax.xaxis.set_major_locator(FixedLocator(_even_binary_steps(longest)))
    ax.xaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.set_xlabel("bytes of new storage; each piece is one storage, named by the operation that made it")
    return Picture(fig, "; ".join(said) + ".")


def slot_strips(moments, capacity) -> Picture:
    """A cache after each of several calls: `moments` holds (call, used, stored), `stored` one short text for each slot.

    Slots from `used` on are empty, whatever lies in them.
    """
    fig, ax = _table_axes(len(moments), capacity, "slot")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    said = []
    for row, (call, used, stored) in enumerate(moments):
        for slot in range(capacity):
            full = slot < len(stored)
            _cell(ax, row, slot, stored[slot] if full else "", *((BLUE, "white", "bold") if full else (PAPER, INK)))
        ax.annotate(f"used {_short(used)}", (1, row), (8, 0), **beside)
        said.append(f"{call}: used {_short(used)}, slots {', '.join(stored) or 'empty'}")
    ax.set_yticks(range(len(moments)), [call for call, _, _ in moments])
    ax.set_title("what is stored after each call, by token", fontsize=11)
    return Picture(fig, "; ".join(said) + ".")


def turned_pairs(pairs) -> Picture:
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


def costs(rows, amount, label) -> Picture:
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
    counted.yaxis.set_major_formatter(FuncFormatter(byte_label if amount == "peak_bytes" else _power_of_ten))
    if amount == "peak_bytes":
        counted.yaxis.set_major_locator(LogLocator(base=4))
    timed.yaxis.set_major_formatter(FuncFormatter(duration))
    figure.legend(*counted.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    figure.supxlabel(f"{label}\nbars: medians; ×: {ways[0]} ÷ {ways[1]}", fontsize=8.5, color=SOFT)
    return Picture(figure, f"{ways[0]} against {ways[1]}, {name} and time; {'; '.join(said)}. {label}.")


def slots_held(slots) -> Picture:
    """Slots that a sequence of 0, 1, 2, … tokens holds, above the slots that it uses; the gap is waste."""
    fig, ax = _figure(7.4, 3.2)
    tokens, slots = list(range(len(slots))), [float(each) for each in slots]
    ax.fill_between(tokens, tokens, slots, step="mid", color=VERMILION, alpha=0.15, linewidth=0, label="empty slots")
    ax.plot(tokens, slots, color=BLUE, marker="o", markersize=4, linewidth=1, drawstyle="steps-mid", label="slots held")
    ax.plot(tokens, tokens, color=INK, linewidth=1.2, linestyle="--", label="slots in use")
    ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set_xlabel("tokens of a sequence")
    ax.set_ylabel("slots")
    fig.legend(loc="outside lower center", ncols=3, frameon=False)
    each = ", ".join(f"{count:g}" for count in slots)
    return Picture(fig, f"Slots held by a sequence of 0, 1, 2, … tokens: {each}.")


def slot_map(places, num_blocks: int, block: int, title: str, notes=None) -> Picture:
    """Which token lies in which slot of a pool, a row for each block.

    `places` maps (sequence, position) to (block, offset); where two sequences share a slot both names stand in it.
    `notes` maps a block to a few words that stand beside its row. ValueError for a place outside the pool.
    """
    names = list(dict.fromkeys(name for name, _ in places))
    slots: dict[tuple[int, int], list] = {}
    for (name, position), (number, offset) in places.items():
        if not (0 <= number < num_blocks and 0 <= offset < block):
            raise ValueError(f"position {position} of {name} lies at {(number, offset)}, outside the pool")
        slots.setdefault((int(number), int(offset)), []).append((name, position))
    fig, ax = _table_axes(num_blocks, block, "offset in the block")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    fills = ("#bfdcee", "#fbe3b3", "#bfe7dc", "#f3dbe8")
    said = []
    for number in range(num_blocks):
        for offset in range(block):
            held = slots.get((number, offset), [])
            text = " ".join(f"{name}{position}" for name, position in held)
            fill = PAPER if not held else fills[names.index(held[0][0]) % 4] if len(held) == 1 else "#dcd8cc"
            _cell(ax, number, offset, text, fill, INK)
            if held:
                said.append(f"{text} in block {number}, offset {offset}")
        if notes and number in notes:
            ax.annotate(notes[number], (1, number), (8, 0), **beside)
    ax.set_yticks(range(num_blocks), [f"block {number}" for number in range(num_blocks)])
    ax.set_title(title, fontsize=11)
    marks = "".join(f" Block {number}: {note}." for number, note in (notes or {}).items())
    return Picture(fig, f"{title}. {'; '.join(said) or 'No token'}.{marks}")


def waste_share(series, limit: float, marks=()) -> Picture:
    """The share of slots that hold no token, against the length of a sequence.

    `series` maps a label to (tokens, share) pairs; `limit` is a share, drawn as a line; `marks` are (tokens, words).
    """
    fig, ax = _figure(7.4, 3.6)
    for (label, points), (colour, _, dash) in zip(series.items(), SERIES, strict=False):
        ax.plot([x for x, _ in points], [float(y) for _, y in points], color=colour, linestyle=dash, label=label)
    ax.axhline(limit, color=VERMILION, linewidth=1.4)
    for tokens, words in marks:
        ax.axvline(tokens, color=SOFT, linewidth=1, linestyle=":")
        ax.annotate(
            words, (tokens, 0.97), (5, 0), xycoords=("data", "axes fraction"), textcoords="offset points", va="top"
        )
    ax.set_ylim(0, 0.5)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
    ax.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    ax.set_xlabel("tokens of a sequence")
    ax.set_ylabel("slots that hold no token")
    fig.legend(loc="outside lower center", ncols=3, frameon=False)
    ends = ", ".join(f"{label} {float(points[-1][1]):.1%} at {points[-1][0]:,}" for label, points in series.items())
    told = "".join(f" {words} at {tokens:,} tokens." for tokens, words in marks)
    return Picture(fig, f"Share of wasted slots against length, and a line at {limit:.0%}: {ends}.{told}")


def two_readings(rows, names, xlabel) -> Picture:
    """Two numbers for each model, joined by a line: `rows` are (model, first, second), `names` what the two are.

    The first is a filled dot, the second a ring; where the two agree the dot lies in the ring.
    """
    fig, ax = _figure(7.4, 1.35 + 0.34 * len(rows))
    first, second = ([float(row[place]) for row in rows] for place in (1, 2))
    height = range(len(rows))
    ax.hlines(height, first, second, color=SOFT, linewidth=1.2, zorder=1)
    ax.plot(second, height, color=VERMILION, marker="o", markersize=12, fillstyle="none", linestyle="", label=names[1])
    ax.plot(first, height, color=BLUE, marker="o", markersize=7, linestyle="", label=names[0])
    most = max(*first, *second)
    for y, pair in enumerate(zip(first, second, strict=True)):
        said = f"{pair[0]:,.4g}" if pair[0] == pair[1] else f"{pair[0]:,.4g}, not {pair[1]:,.4g}"
        ax.annotate(said, (max(pair), y), (11, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set_yticks(height, [row[0] for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, most * 1.28)
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.set_xlabel(xlabel)
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    said = "; ".join(f"{name} {_short(a)} and {_short(b)}" for name, a, b in rows)
    return Picture(fig, f"{names[0]} and {names[1]} of each model: {said}.")


def step_reads(rows) -> Picture:
    """What a decode step reads: `rows` are (label, bytes of weights, bytes of cached rows), one bar each."""
    fig, ax = _figure(7.4, 1.6 + 0.4 * len(rows))
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


def two_terms(rows) -> Picture:
    """Both times of one step on many devices: `rows` are (device, arithmetic, memory, bound), in seconds.

    The bound is what a learner's function gave; right, its ring lies around the longer of the two.
    """
    fig, ax = _figure(7.4, 1.35 + 0.32 * len(rows))
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


def gains(series) -> Picture:
    """Throughput of a batch over that of one sequence: `series` maps a label to (batch, gain) pairs."""
    fig, ax = _figure(7.4, 3.6)
    most = max(batch for points in series.values() for batch, _ in points)
    ax.plot([1, most], [1, most], color=SOFT, linewidth=1.2, linestyle=(0, (1, 2)), label="gain = batch")
    _series(ax, series)
    _powers_of_two(ax.xaxis, most)
    ax.set_yscale("log", base=2)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,g}×"))
    ax.set_xlabel("batch (log scale)")
    ax.set_ylabel("gain in tokens per second (log scale)")
    fig.legend(loc="outside right center", frameon=False)
    said = "; ".join(f"{label} {float(points[-1][1]):.4g}× at {points[-1][0]:,}" for label, points in series.items())
    return Picture(fig, f"Gain of a batch over one sequence: {said}.")


def peak_shares(series, ceilings) -> Picture:
    """Attainable share of a device's peak against the batch, and where each line must stop.

    `series` maps a label to (batch, share) pairs, `ceilings` the same labels to a share. A share beyond 1 is the peak;
    a ceiling beyond 1 is not drawn, and the legend says so.
    """
    fig, ax = _figure(7.4, 4.0)
    most = max(batch for points in series.values() for batch, _ in points)
    series = {label: [(x, min(1.0, float(y))) for x, y in points] for label, points in series.items()}
    _series(ax, series)
    for ceiling, (colour, *_) in zip(ceilings.values(), SERIES, strict=False):
        if ceiling < 1:
            ax.axhline(float(ceiling), color=colour, linewidth=0.8, alpha=0.8)
    ax.axhline(1, color=INK, linewidth=1.4)
    ax.annotate("the peak", (1, 1), (0, 4), textcoords="offset points", fontsize=9)
    _powers_of_two(ax.xaxis, most)
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


def ceiling_curve(points, marks, alone) -> Picture:
    """The ceiling of the intensity against the context: `points` are (tokens, FLOP/byte).

    `marks` are (tokens, FLOP/byte, words); `alone` is what attention has by itself, where the curve ends.
    """
    fig, ax = _figure(7.4, 3.8)
    ax.plot([x for x, _ in points], [float(y) for _, y in points], color=BLUE, linewidth=1.8, label="ceiling")
    ax.axhline(alone, color=SOFT, linewidth=1.2, linestyle="--", label=f"attention alone: {alone:g}")
    for tokens, height, words in marks:
        ax.plot([tokens], [height], color=VERMILION, marker="D", markersize=7, linestyle="")
        ax.annotate(words, (tokens, height), (8, 5), textcoords="offset points", va="bottom", fontsize=9)
    _powers_of_two(ax.xaxis, max(x for x, _ in points))
    ax.set_xlim(right=max(x for x, _ in points) * 1.4)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("context in tokens (log scale)")
    ax.set_ylabel("FLOP/byte (log scale)")
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    said = "; ".join(f"{words} ({height:.4g} FLOP/byte at {tokens:,} tokens)" for tokens, height, words in marks)
    return Picture(fig, f"Ceiling of the intensity against context, down to {alone:g}. {said}.")


def _series(ax, series) -> None:
    """A line with its marks for each label."""
    for (label, points), (colour, marker, dash) in zip(series.items(), SERIES, strict=False):
        look = {"color": colour, "marker": marker, "linestyle": dash, "markersize": 4}
        ax.plot([x for x, _ in points], [float(y) for _, y in points], label=label, **look)


def _powers_of_two(axis, most: float) -> None:
    axis.axes.set_xscale("log", base=2)
    axis.set_major_locator(FixedLocator(_every_few_doublings(1, most)))
    axis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))


LAYER_LOOKS = {
    "full": (BLUE, "full"),
    "window": (ORANGE, "window"),
    "latent": (GREEN, "latent"),
    "state": (PINK, "state"),
    "shared": (PAPER, "shared"),
}


def layer_strips(models) -> Picture:
    """One strip for each model, one cell for each layer, layer 0 on the left: `models` maps a name to its kinds.

    A kind that nobody knows is a red cell with a cross.
    """
    fig, ax = _figure(7.4, 1.25 + 0.36 * len(models))
    most = max(map(len, models.values()), default=1)
    for y, kinds in enumerate(models.values()):
        for layer, kind in enumerate(kinds):
            known = type(kind) is str and kind in LAYER_LOOKS
            colour = LAYER_LOOKS[kind][0] if known else VERMILION
            cell = Rectangle((layer + 0.06, y - 0.36), 0.88, 0.72, facecolor=colour, edgecolor=SOFT, linewidth=0.5)
            ax.add_patch(cell)
            if not known:
                ax.plot(layer + 0.5, y, color="white", marker="x", markersize=5)
    ax.set_xlim(0, most)
    ax.set_ylim(len(models) - 0.5, -0.5)
    ax.set_yticks(range(len(models)), models)
    ax.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    ax.set_xlabel("layer, counted from 0")
    _bare(ax)
    ax.tick_params(axis="x", length=3)
    keys = [Rectangle((0, 0), 1, 1, facecolor=c, edgecolor=SOFT, linewidth=0.5) for c, _ in LAYER_LOOKS.values()]
    fig.legend(keys, [label for _, label in LAYER_LOOKS.values()], loc="outside lower center", ncols=5, frameon=False)
    said = [
        f"{name}: " + ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds)) for name, kinds in models.items()
    ]
    return Picture(fig, f"Layers by kind. {'; '.join(map(str, said))}.")


def device_parts(parts, total: int, room=None) -> Picture:
    """What lies on a device, as one bar: `parts` maps a name to bytes, `total` is all of it, `room` what is left."""
    fig, ax = _figure(7.4, 2.3)
    shades, left, said = (BLUE, ORANGE, PINK, SKY, SOFT), 0.0, []
    bars = [*zip(parts.items(), (shades * len(parts))[: len(parts)], strict=True)]
    bars += [(("room for the cache", room), GREEN)] * (room is not None)
    for (name, size), colour in bars:
        size = float(size)
        free = colour == GREEN
        ax.barh(0, size, 0.5, left, color=colour, edgecolor=PAPER, linewidth=1.5, hatch="//" * free, label=name)
        if size > total / 12:
            box = _ON_COLOUR if free or colour in (ORANGE, SKY, PINK) else None
            look = {"color": INK if box else "white", "fontsize": 9, "bbox": box}
            ax.text(left + size / 2, 0, byte_label(size), ha="center", va="center", **look)
        said.append(f"{name} {byte_label(size)}")
        left += size
    ax.axvline(total, color=VERMILION, linewidth=1.6)
    ax.set_xlim(0, max(total, left) * 1.03)
    ax.xaxis.set_major_locator(FixedLocator(_even_binary_steps(max(total, left))))
    ax.xaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.set_xlabel("bytes; the line is the end of the device")
    ax.set_yticks([0], ["device"])
    ax.grid(axis="y", visible=False)
    fig.legend(loc="outside lower center", ncols=4, frameon=False)
    return Picture(fig, f"A device of {byte_label(total)}: {', '.join(said)}.")


def queue_fit(needs, free: int, admitted) -> Picture:
    """A queue side by side with the free blocks: `needs` maps an id to its blocks, `admitted` lists those let in."""
    fig, ax = _figure(7.4, 1.3 + 0.36 * max(len(needs), 2))
    end, inside = 0, list(admitted)
    for row, (name, blocks) in enumerate(needs.items()):
        look = {"color": BLUE} if name in inside else {"facecolor": PAPER, "edgecolor": SOFT, "hatch": "///"}
        ax.barh(row, blocks, 0.7, end, linewidth=1, **look)
        end += blocks
        ax.annotate(f"{blocks}", (end, row), (4, 0), textcoords="offset points", va="center", fontsize=9)
    ax.axvline(free, color=VERMILION, linewidth=1.6)
    ax.set_yticks(range(len(needs)), needs)
    ax.set_ylim(len(needs) - 0.4, -0.6)
    ax.set_xlim(0, max(end, free) * 1.06 + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    ax.set_xlabel("blocks of the worst case, one request behind the other; the line: free blocks")
    ax.grid(axis="y", visible=False)
    keys = [Rectangle((0, 0), 1, 1, color=BLUE), Rectangle((0, 0), 1, 1, facecolor=PAPER, edgecolor=SOFT, hatch="///")]
    fig.legend(keys, ["admitted", "waits"], loc="outside lower center", ncols=2, frameon=False)
    each = ", ".join(f"{name} {blocks}" for name, blocks in needs.items())
    return Picture(
        fig, f"Blocks of each worst case: {each}. {free} are free. Admitted: {', '.join(inside) or 'nobody'}."
    )


def schedule(steps, budget: int) -> Picture:
    """Who wrote how many tokens in which step: `steps` are lists of a scheduler's events, a list for each step.

    A cell holds the tokens written; a dot marks a step that gave a token, a cross one in which it was preempted.
    """
    marks = {"token": "o", "preempt": "x", "expire": "X", "finish": "s"}
    written, marked = {}, {}
    for number, events in enumerate(steps, start=1):
        for kind, name, *more in events:
            written.setdefault(name, {})
            if kind == "write":
                written[name][number] = int(more[0])
            elif kind in marks:
                marked.setdefault((name, number), []).append(kind)
    names = list(written)
    fig, ax = _table_axes(len(names), len(steps), f"step, of at most {budget} tokens")
    fills, said = ("#dcecf6", "#bfdcee", "#8fc1e3"), []
    for row, name in enumerate(names):
        for column in range(len(steps)):
            n, kinds = written[name].get(column + 1, 0), marked.get((name, column + 1), [])
            _cell(ax, row, column, f"{n}" if n else "", fills[(n > 1) + (n >= budget / 2)] if n else PAPER, INK)
            if "token" in kinds:
                end = "finish" in kinds
                ax.plot(column + 0.32, row + 0.28, "s" if end else "o", color=VERMILION if end else GREEN, markersize=4)
            for kind in {"preempt", "expire"} & set(kinds):
                ax.plot(column, row, marks[kind], color=VERMILION, markersize=7, markeredgewidth=1.8)
        told = ", ".join(f"{n} in step {number}" for number, n in written[name].items()) or "nothing"
        ends = "".join(
            f"; {kind} in step {n}"
            for (who, n), ks in marked.items()
            if who == name
            for kind in ks[-1:]
            if kind != "token"
        )
        said.append(f"{name} writes {told}{ends}")
    ax.set_xticks(range(len(steps)), range(1, len(steps) + 1))
    ax.set_yticks(range(len(names)), names)
    looks = [(GREEN, "o", "gives a token"), (VERMILION, "s", "gives the last"), (VERMILION, "x", "preempted")]
    keys = [Line2D([], [], color=colour, marker=marker, linestyle="", label=label) for colour, marker, label in looks]
    fig.legend(handles=keys, loc="outside lower center", ncols=3, frameon=False)
    return Picture(fig, f"Tokens written in each step. {'. '.join(said)}.")


def token_times(arrival: float, rows, reports) -> Picture:
    """When tokens came: `rows` maps a label to time stamps in seconds, `reports` the label to what a report says.

    Drawn for each row: the wait for the first token, a dot for each token, and the end.
    """
    fig, ax = _figure(7.4, 1.5 + 0.7 * len(rows))
    said = []
    for row, (label, stamps) in enumerate(rows.items()):
        ax.plot([arrival, stamps[0]], [row, row], color=ORANGE, linewidth=5, solid_capstyle="butt")
        ax.plot(stamps, [row] * len(stamps), color=BLUE, marker="o", markersize=6, linewidth=1.2)
        numbers = ((name, reports[label].get(name)) for name in ("ttft", "mean_itl", "max_itl", "end_to_end"))
        words = ", ".join(f"{name} {'none' if value is None else f'{float(value):.3g} s'}" for name, value in numbers)
        ax.annotate(words, (arrival, row), (3, 9), textcoords="offset points", fontsize=9)
        said.append(f"{label}: {words}")
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.6, -0.7)
    ax.set_xlim(left=arrival)
    ax.set_xlabel("seconds")
    ax.grid(axis="y", visible=False)
    keys = [Line2D([], [], color=ORANGE, linewidth=5, label="wait for the first token")]
    keys.append(Line2D([], [], color=BLUE, marker="o", linewidth=1.2, label="tokens, and the gaps between them"))
    fig.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False)
    return Picture(fig, f"{'; '.join(said)}.")


def trial_times(true, measured) -> Picture:
    """Seconds of each trial: rings for what a device took, dots for what somebody measured, on a logarithmic axis."""
    fig, ax = _figure(7.4, 3.1)
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


def trial_summary(trials, summary) -> Picture:
    """Trials in their order, with the median and the p10 to p90 band of `summary`, and the mean for comparison."""
    fig, ax = _figure(7.4, 3.1)
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


def bandwidth_bars(rows, ceiling) -> Picture:
    """Bandwidths on a logarithmic axis: `rows` are (label, bytes per second, plausible or not); `ceiling` is a line."""
    fig, ax = _figure(7.4, 1.5 + 0.42 * len(rows))
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


def step_times(rows, bounds, lines, label) -> Picture:
    """Time of a decode step against context: every trial, the bound, and a fitted line for each batch.

    `rows` have context, batch and `seconds`; `bounds` maps a batch to its (context, seconds) pairs; `lines` maps a
    batch to (seconds per token, intercept), or lacks it. `label` says where the times come from.
    """
    fig, ax = _figure(7.4, 4.3)
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


def way_times(rows, label) -> Picture:
    """The same step in several ways at several contexts: every trial, medians, and their ratio to the second way.

    `rows` have context, way and `seconds`.
    """
    fig, ax = _figure(7.4, 3.9)
    ways, sizes = (list(dict.fromkeys(row[key] for row in rows)) for key in ("way", "context"))
    said, shift = [], 0.8 / len(ways)
    middles = {(row["way"], row["context"]): median(row["seconds"]) for row in rows}
    for number, (way, (colour, marker, _)) in enumerate(zip(ways, SERIES, strict=False)):
        for row in (row for row in rows if row["way"] == way):
            place = sizes.index(row["context"]) + (number - (len(ways) - 1) / 2) * shift
            trials, middle = row["seconds"], middles[way, row["context"]]
            ax.plot([place] * len(trials), trials, marker, color=colour, markersize=4, alpha=0.5)
            ax.plot([place - 0.08, place + 0.08], [middle] * 2, color=INK, linewidth=1.6)
            ratio = f"{middle / middles[ways[1], row['context']]:.2f}×"
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
    fig.supxlabel(f"{label}\nbars: medians; ×: of the median of {ways[1]}", fontsize=8.5, color=SOFT)
    return Picture(fig, f"Time of a decode step in several ways, medians. {'; '.join(said)}. {label}.")


def storage_moves(traces, notes) -> Picture:
    """Where the storage of a cache lies after each append: a row for each of `traces`, a new colour for each move.

    A trace is a list of (address, stored bytes). `notes` maps its name to a few words beside the row.
    """
    most = max(map(len, traces.values()))
    fig, ax = _table_axes(len(traces), most, "append")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    said = []
    for row, (name, trace) in enumerate(traces.items()):
        fills, moved = ("#bfdcee", "#fbe3b3"), 0
        for column, (address, _) in enumerate(trace):
            new = column > 0 and address != trace[column - 1][0]
            moved += new
            _cell(ax, row, column, "moved" if new and most < 12 else "×" if new else "", fills[moved % 2], INK)
        ax.annotate(notes[name], (1, row), (8, 0), **beside)
        said.append(f"{name}: {notes[name]}")
    ax.set_yticks(range(len(traces)), list(traces))
    ax.set_xticks(range(most), range(1, most + 1))
    ax.set_title("where K of one layer lies after each append; ×: it moved", fontsize=11)
    return Picture(fig, "; ".join(said) + ".")


def rate_label(bytes_per_second, _position=None) -> str:
    """A bandwidth in few characters: "25.4 GB/s"."""
    for unit, scale in (("PB/s", 1e15), ("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if bytes_per_second >= scale * 0.9995:
            return f"{bytes_per_second / scale:,.3g} {unit}"
    return f"{bytes_per_second:,.3g} B/s"


def difference_axis(axis) -> None:
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


def short_difference(value: float) -> str:
    """A difference in few characters: "0", "4.4e-16", "0.41", "nan"."""
    return f"{value:.1e}" if 0 < value < 1e-3 else f"{value:.2g}"


def _table_axes(rows: int, columns: int, xlabel: str):
    """A figure whose axes hold cells of unit size, row 0 on top."""
    fig, ax = _figure(7.4, 1.5 + 0.29 * rows)
    ax.set_xlim(-0.5, columns - 0.5)
    ax.set_ylim(rows - 0.5, -0.5)
    ax.set_xticks(range(columns))
    ax.set_yticks(range(rows), [f"row {row}" for row in range(rows)])
    ax.set_xlabel(xlabel)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return fig, ax


def _bare(ax) -> None:
    """Axes without grid, ticks' lines and frame."""
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _power_of_ten(value, _position=None) -> str:
    power = round(log10(value))
    return f"{value:,.0f}" if power < 5 else f"$10^{{{power}}}$"


def duration(seconds, _position=None) -> str:
    """A time in few characters: "12.5 ms"."""
    if seconds == 0:
        return "0"
    for unit, scale in (("s", 1), ("ms", 1e-3)):
        if seconds >= scale * 0.999:
            return f"{seconds / scale:,.4g} {unit}"
    return f"{seconds * 1e6:,.4g} µs"


def _cell(ax, row, column, text, fill, ink, weight="normal") -> None:
    ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=fill, edgecolor=GRID, linewidth=1))
    ax.text(column, row, text, ha="center", va="center", color=ink, weight=weight, fontsize=9)


def _bools(mask) -> list[list[bool]]:
    if getattr(mask, "ndim", 0) != 2 or mask.dtype != bool or not mask.size:
        got = f"{mask.dtype} of shape {mask.shape}" if hasattr(mask, "dtype") else _short(mask)
        raise ValueError(f"wanted an array of bool, one row per query and one column per key, got {got}")
    return mask.tolist()


def _mask_axes(ax, table, first) -> None:
    for row, cells in enumerate(table):
        for column, seen in enumerate(cells):
            fill = BLUE if seen else PAPER
            ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=fill, edgecolor=GRID, linewidth=1))
            ax.plot([column], [row], **(SEEN if seen else HIDDEN))
        if 0 <= first + row < len(cells):
            own = Rectangle((first + row - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=INK, linewidth=1.8, zorder=3)
            ax.add_patch(own)
    ax.set_xlim(-0.5, max(len(table[0]), 10) - 0.5)  # cells of few keys are no wider than those of ten
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.set_xticks(range(len(table[0])))
    ax.set_yticks(range(len(table)), [f"query {first + row}" for row in range(len(table))])
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _mask_words(table, first) -> str:
    rows = []
    for row, cells in enumerate(table):
        keys = [str(key) for key, seen in enumerate(cells) if seen]
        rows.append(f"query {first + row} sees {', '.join(keys) or 'nothing'}")
    return "; ".join(rows)


def _entry(value: float) -> str:
    """A number in a cell: "0", "−∞", "0.31"."""
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    return "0" if value == 0 else f"{value:.2f}" if abs(value) < 1000 else f"{value:.1e}"


def _list_logits(values) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def _below_one(u: float) -> str:
    """A draw from [0, 1) in few digits, but never as 1."""
    return f"{u:.4g}" if float(f"{u:.4g}") < 1 else f"{float(u)!r}"


def _names(answer, number: int) -> bool:
    """Whether what a learner's function returned is this whole number."""
    return isinstance(answer, Integral) and not isinstance(answer, bool) and answer == number


def _short(answer) -> str:
    """What a learner's function returned, whatever it is, in a few characters."""
    text = repr(answer)
    return text if len(text) <= 30 else text[:29] + "…"


def _even_binary_steps(largest: float) -> list[float]:
    """Five to nine ticks from 0 to `largest` or just above, a power of two apart, so that binary labels stay short."""
    step = 1.0
    while largest / step > 8:
        step *= 2
    return [step * i for i in range(ceil(largest / step) + 1)]


def _every_few_doublings(low: float, high: float) -> list[float]:
    """At most ten powers of two inside an axis."""
    exponents = [e for e in range(200) if low <= 2.0**e <= high]
    return [2.0**e for e in exponents[:: max(1, -(-len(exponents) // 9))]]
