"""The figures of lesson 02."""

from collections.abc import Mapping, Sequence

from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from kvlab.figures.labels import byte_label
from kvlab.figures.picture import Picture
from kvlab.figures.shared import bytes_by_tokens
from kvlab.figures.style import BLUE, ORANGE, SOFT, even_binary_steps, new_figure
from kvlab.sizes import show_bytes

MOST_CELLS = 2000  # beyond this a cell is too small to count by eye


def cache_cells(
    num_layers: int, batch: int, tokens: int, num_kv_heads: int, head_dim: int, counted: object = None
) -> Picture:
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
    fig, ax = new_figure(7.4, down * cell + 1.45)
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


def capacity_lines(
    rows: Sequence[Mapping[str, object]], limit_bytes: int | None = None, limit_label: str | None = None
) -> Picture:
    """`bytes_by_tokens` of the rows {"variant", "tokens", "bytes"} that `capacity_table` returns."""
    series = {}
    for row in rows:
        series.setdefault(row["variant"], []).append((row["tokens"], row["bytes"]))
    return bytes_by_tokens(series, limit_bytes, limit_label)


def request_bars(lengths: Sequence[int], stored: Sequence[int], padded: Sequence[int]) -> Picture:
    """For each request its stored bytes, and around them the bytes that a padded batch would hold for it.

    `lengths` in tokens, `stored` and `padded` in bytes, all equally long.
    """
    fig, ax = new_figure(7.4, 3.4)
    places = range(len(lengths))
    hollow = {"fill": False, "edgecolor": SOFT, "hatch": "///"}
    ax.bar(places, [float(n) for n in padded], 0.66, label="padded", **hollow)
    ax.bar(places, [float(n) for n in stored], 0.66, label="stored", color=BLUE)
    ax.set_xticks(places, [f"{n:,}" for n in lengths])
    ax.set_xlabel("request, by its stored tokens")
    ax.set_ylabel("bytes")
    ax.grid(axis="x", visible=False)
    ticks = even_binary_steps(max(float(n) for n in padded))
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.set_ylim(0, ticks[-1])
    ax.yaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.set_title(f"stored {show_bytes(sum(stored))} · padded {show_bytes(sum(padded))}", fontsize=11)
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    alt = f"{len(lengths)} requests: stored {show_bytes(sum(stored))}, padded {show_bytes(sum(padded))}."
    return Picture(fig, alt)


def unit_gap(readings: Mapping[str, Mapping[str, float]]) -> Picture:
    """The same bytes read twice: `readings` maps a label to a dict with the numbers under "GB" and "GiB"."""
    fig, ax = new_figure(7.4, 1.2 + 0.75 * len(readings))
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


def tokens_that_fit(points: Sequence[tuple[int, int]]) -> Picture:
    """A staircase: `points` are (budget in bytes, tokens that fit) pairs in growing order of budget."""
    fig, ax = new_figure(7.4, 3.4)
    budgets, tokens = [float(b) for b, _ in points], [float(t) for _, t in points]
    ax.step(budgets, tokens, where="post", color=BLUE, linewidth=1.8)
    ax.xaxis.set_major_locator(FixedLocator(even_binary_steps(max(budgets))))
    ax.xaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    ax.set_xlabel("budget in bytes")
    ax.set_ylabel("tokens that fit")
    alt = f"Tokens that fit, in whole steps up to {max(tokens):,.0f} for {byte_label(max(budgets))}."
    return Picture(fig, alt)
