"""The figures of lesson 07."""

from collections.abc import Mapping, Sequence

from matplotlib.ticker import FuncFormatter, MaxNLocator

from kvlab.figures.picture import Picture
from kvlab.figures.style import BLUE, INK, PAPER, SERIES, SOFT, VERMILION, draw_cell, new_figure, table_axes


def slots_held(slots: Sequence[int]) -> Picture:
    """Slots that a sequence of 0, 1, 2, … tokens holds, above the slots that it uses; the gap is waste."""
    fig, ax = new_figure(7.4, 3.2)
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


def slot_map(
    places: Mapping[tuple[str, int], tuple[int, int]],
    num_blocks: int,
    block_size: int,
    title: str,
    notes: Mapping[int, str] | None = None,
) -> Picture:
    """Which token lies in which slot of a pool, a row for each block.

    `places` maps (sequence, position) to (block id, offset); where two sequences share a slot both names stand in it.
    `notes` maps a block's id to a few words that stand beside its row. ValueError for a place outside the pool.
    """
    names = list(dict.fromkeys(name for name, _ in places))
    slots: dict[tuple[int, int], list] = {}
    for (name, position), (block_id, offset) in places.items():
        if not (0 <= block_id < num_blocks and 0 <= offset < block_size):
            raise ValueError(f"position {position} of {name} lies at {(block_id, offset)}, outside the pool")
        slots.setdefault((int(block_id), int(offset)), []).append((name, position))
    fig, ax = table_axes(num_blocks, block_size, "offset in the block")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    fills = ("#bfdcee", "#fbe3b3", "#bfe7dc", "#f3dbe8")
    said = []
    for block_id in range(num_blocks):
        for offset in range(block_size):
            held = slots.get((block_id, offset), [])
            text = " ".join(f"{name}{position}" for name, position in held)
            fill = PAPER if not held else fills[names.index(held[0][0]) % 4] if len(held) == 1 else "#dcd8cc"
            draw_cell(ax, block_id, offset, text, fill, INK)
            if held:
                said.append(f"{text} in block {block_id}, offset {offset}")
        if notes and block_id in notes:
            ax.annotate(notes[block_id], (1, block_id), (8, 0), **beside)
    ax.set_yticks(range(num_blocks), [f"block {block_id}" for block_id in range(num_blocks)])
    ax.set_title(title, fontsize=11)
    marks = "".join(f" Block {block_id}: {note}." for block_id, note in (notes or {}).items())
    return Picture(fig, f"{title}. {'; '.join(said) or 'No token'}.{marks}")


def waste_share(
    series: Mapping[str, Sequence[tuple[int, float]]], limit: float, marks: Sequence[tuple[int, str]] = ()
) -> Picture:
    """The share of slots that hold no token, against the length of a sequence.

    `series` maps a label to (tokens, share) pairs; `limit` is a share, drawn as a line; `marks` are (tokens, words).
    """
    fig, ax = new_figure(7.4, 3.6)
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
