"""The figures of lesson 03."""

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Rectangle

from kvlab.figures.labels import is_number, short_difference
from kvlab.figures.picture import Picture
from kvlab.figures.style import BLUE, INK, ORANGE, PAPER, SOFT, VERMILION, draw_cell, new_figure, table_axes
from kvlab.reprs import short_repr


def row_verdicts(differences: np.ndarray, atol: float, first: object) -> Picture:
    """A strip of rows with the difference of each entry; rows that are not within `atol` stand out.

    `differences` (T, V) are absolute; NaN is within no tolerance. `first` is what the learner's `first_divergence`
    gave: the row that it names is marked, right or wrong.
    """
    rows = [[float(value) for value in row] for row in differences]
    fig, ax = table_axes(len(rows), len(rows[0]), "entry of the row")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    diverging = [row for row, values in enumerate(rows) if not all(value <= atol for value in values)]
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            if value <= atol:
                draw_cell(ax, row, column, short_difference(value), PAPER, INK)
            else:
                draw_cell(ax, row, column, f"≠  {short_difference(value)}", VERMILION, "white", weight="bold")
        verdict, colour = ("diverges", VERMILION) if row in diverging else ("agrees", SOFT)
        ax.annotate(verdict, (1, row), (8, 0), color=colour, **beside)
        if is_number(first, row):
            ax.annotate("◄  your answer", (1, row), (74, 0), weight="bold", **beside)
    ax.set_title(f"|a − b|, tolerance {atol:.3g} · your first_divergence: {short_repr(first, 30)}", fontsize=11)
    said = "no row" if not diverging else "rows " + ", ".join(map(str, diverging))
    return Picture(fig, f"{len(rows)} rows, beyond the tolerance {atol:.3g}: {said}. You gave {short_repr(first, 30)}.")


def logit_pairs(right: np.ndarray, wrong: np.ndarray) -> Picture:
    """The logits (T, V) of two decoders side by side, the largest of each row filled.

    `right` uses every position, `wrong` reads each as position 0.
    """
    tables = [[[float(value) for value in row] for row in table] for table in (right, wrong)]
    width = len(tables[0][0])
    fig, ax = table_axes(len(tables[0]), 2 * width + 1, "token whose logit it is")
    largest = [[row.index(max(row)) for row in table] for table in tables]
    looks = (("right positions", BLUE, "white"), ("every position 0", ORANGE, INK))
    for place, (name, fill, ink) in enumerate(looks):
        left = place * (width + 1)
        ax.text(left + (width - 1) / 2, -0.75, name, ha="center", va="bottom", weight="bold")
        for row, values in enumerate(tables[place]):
            for column, value in enumerate(values):
                best = column == largest[place][row]
                look = (fill, ink, "bold") if best else (PAPER, INK, "normal")
                draw_cell(ax, row, left + column, f"{value:.3f}", *look)
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


def shares(probabilities: Sequence[float], u: float, chosen: object) -> Picture:
    """The unit interval cut into the tokens' shares, in the order of the ids, with the draw `u` as a line.

    `chosen` is the token that the learner's `sample` gave; its share is filled.
    """
    probabilities = [float(p) for p in probabilities]
    fig, ax = new_figure(7.4, 2.2)
    left = 0.0
    for token, p in enumerate(probabilities):
        fill, ink, weight = (BLUE, "white", "bold") if is_number(chosen, token) else (PAPER, INK, "normal")
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
    given = short_repr(chosen, 30)
    title = f"your sample: {given}"
    if empty := [f"{token}" for token, p in enumerate(probabilities) if p == 0]:
        title += f" · tokens of probability 0: {', '.join(empty)}"
    ax.set_title(title, fontsize=11, pad=36)
    each = ", ".join(f"token {token} {p:.3g}" for token, p in enumerate(probabilities))
    alt = f"The unit interval in shares: {each}. The draw is {_below_one(u)}; your sample gave {given}."
    return Picture(fig, alt)


def _list_logits(values) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def _below_one(u: float) -> str:
    """A draw from [0, 1) in few digits, but never as 1."""
    return f"{u:.4g}" if float(f"{u:.4g}") < 1 else f"{float(u)!r}"
