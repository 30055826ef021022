"""Data in, picture out. No plot computes anything about caches: it draws the numbers it is given.

Colours are Okabe and Ito's, which remain distinct in every common form of colour blindness; what a colour
says, a label, marker or hatch says too. The paper is opaque and light, so that a plot reads the same in a
dark theme.
"""

from matplotlib import rc_context
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

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


def _figure(width: float, height: float, **axes):
    """A figure of `width` × `height` inches with one axes, in the course's style."""
    with rc_context(STYLE):
        figure = Figure((width, height), dpi=CSS_DPI, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)  # inches of paper around everything
        return figure, figure.add_subplot(**axes)


def byte_label(n_bytes, _position=None) -> str:
    """A tick of a byte axis: "512 MiB"."""
    for unit, name in ((PIB, "PiB"), (TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.4g} {name}"
    return f"{n_bytes:,.4g} B"


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


def bytes_by_tokens(series, limit_bytes=None, limit_label=None) -> Picture:
    """Lines of bytes against tokens, both axes logarithmic.

    `series` maps a label to (tokens, bytes) pairs; a point at 0 has no place on a logarithmic axis and is
    left out. `limit_bytes` draws a horizontal line, for instance a device's nominal memory.
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
    ax.set_xlabel("stored tokens (log scale)")
    ax.set_ylabel("cache bytes (log scale)")
    ax.legend(loc="lower right", frameon=False)
    alt = "Cache bytes against stored tokens for " + ", ".join(
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
    ax.yaxis.set_major_locator(FixedLocator(_even_binary_steps(max(float(n) for n in padded))))
    ax.yaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.set_title(f"stored {show_bytes(sum(stored))} · padded {show_bytes(sum(padded))}", fontsize=11)
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    alt = f"{len(lengths)} requests: stored {show_bytes(sum(stored))}, padded {show_bytes(sum(padded))}."
    return Picture(fig, alt)


def unit_gap(readings) -> Picture:
    """The same bytes read twice: `readings` maps a label to a dict with the numbers under "GB" and "GiB"."""
    fig, ax = _figure(7.4, 1.3 + 0.55 * len(readings))
    for place, units in enumerate(readings.values()):
        gb, gib = float(units["GB"]), float(units["GiB"])
        ax.plot((gib, gb), (place, place), color=SOFT, linewidth=2, zorder=1)
        ax.scatter(gib, place, color=BLUE, marker="o", s=50, zorder=2, label="in GiB" if place == 0 else None)
        ax.scatter(gb, place, color=ORANGE, marker="s", s=50, zorder=2, label="in GB" if place == 0 else None)
        beside = {"textcoords": "offset points", "va": "center"}
        ax.annotate(f"{gib:,.4g} GiB", (gib, place), (-9, 0), ha="right", **beside)
        ax.annotate(f"{gb:,.4g} GB", (gb, place), (9, 0), ha="left", **beside)
    largest = max(float(units["GB"]) for units in readings.values())
    ax.set_xlim(-0.22 * largest, 1.22 * largest)  # room for the numbers beside the marks
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.set_xticks([tick for tick in ax.get_xticks() if 0 <= tick <= 1.2 * largest])
    ax.set_ylim(len(readings) - 0.5, -0.5)
    ax.set_yticks(range(len(readings)), readings)
    ax.set_xlabel("the number read, in GB or GiB")
    fig.legend(loc="outside upper right", ncols=2, frameon=False)
    said = {label: (float(units["GB"]), float(units["GiB"])) for label, units in readings.items()}
    alt = "; ".join(f"{label}: {gb:,.4g} GB is {gib:,.4g} GiB" for label, (gb, gib) in said.items())
    return Picture(fig, alt + ".")


def model_bars(per_token) -> Picture:
    """One bar for each model, in the order given: `per_token` maps a name to cache bytes per token."""
    fig, ax = _figure(7.4, 1.0 + 0.34 * len(per_token))
    values = [float(n) for n in per_token.values()]
    bars = ax.barh(range(len(values)), values, 0.66, color=BLUE)
    ax.bar_label(bars, [byte_label(n) for n in values], padding=4)
    ax.set_yticks(range(len(values)), per_token)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlim(0, max(values) * 1.18)
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_locator(FixedLocator(_even_binary_steps(max(values))))
    ax.xaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.set_xlabel("cache bytes per token")
    alt = "Cache bytes per token: " + ", ".join(f"{k} {byte_label(float(n))}" for k, n in per_token.items())
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


def _even_binary_steps(largest: float) -> list[float]:
    """Four to eight ticks from 0 to `largest` at a power of two apart, so that binary labels stay short."""
    step = 1.0
    while largest / step >= 8:
        step *= 2
    return [step * i for i in range(int(largest / step) + 1)]


def _every_few_doublings(low: float, high: float) -> list[float]:
    """At most ten powers of two inside an axis."""
    exponents = [e for e in range(200) if low <= 2.0**e <= high]
    return [2.0**e for e in exponents[:: max(1, -(-len(exponents) // 9))]]
