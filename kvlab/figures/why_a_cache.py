"""The figures of lesson 01."""

from collections.abc import Sequence

from matplotlib import rc_context
from matplotlib.patches import Rectangle

from kvlab.figures.picture import Picture
from kvlab.figures.style import BLUE, INK, ORANGE, PAPER, SOFT, STYLE, VERMILION, draw_cell, new_figure, table_axes


def attention_weights(weights: Sequence[float]) -> Picture:
    """How much of each stored row one query reads: `weights` (T,), the last one that of the query's own token."""
    weights = [float(weight) for weight in weights]
    fig, ax = new_figure(7.4, 2.6)
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
        fig, ax = table_axes(len(strips) + 1, 2 * prompt + 3, "token")
    ax.set_ylim(strips[-1][2] + 0.6, -1.3)
    right = prompt + 1.5  # where the picture of the decode step starts
    for _, name, y in strips:
        for token in range(prompt):
            draw_cell(ax, y, token, *looks["q" if name == "Q" else "+"][:3], weight="bold")
        for token in range(prompt + 1):
            new = token == prompt
            if name == "Q" and not new:
                continue  # old queries are never needed again
            draw_cell(ax, y, right + token, *looks["·" if not new else "q" if name == "Q" else "+"][:3], weight="bold")
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


def row_survival(lines: Sequence[tuple[str, Sequence[bool], Sequence[bool], str]]) -> Picture:
    """Which rows of K and V are found again after a change.

    `lines` holds (label, K, V, note): K and V are lists of truth values, one for each row, all lines of the same
    length; `note` stands beside the line and may be empty.
    """
    width = len(lines[0][1])
    fig, ax = table_axes(len(lines), 2 * width + 1, "row of K, and row of V")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    for line, (_, *tables, note) in enumerate(lines):
        for left, kept in zip((0, width + 1), tables, strict=True):
            for row, same in enumerate(kept):
                look = ("=", PAPER, INK, "normal") if same else ("≠", VERMILION, "white", "bold")
                draw_cell(ax, line, left + row, *look)
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
