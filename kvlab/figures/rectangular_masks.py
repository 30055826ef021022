"""The figures of lesson 04."""

from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from kvlab.figures.labels import entry_label
from kvlab.figures.picture import CSS_DPI, Picture
from kvlab.figures.style import BLUE, GRID, INK, PAPER, SOFT, STYLE, draw_cell, table_axes
from kvlab.reprs import short_repr

SEEN = {"color": "white", "marker": "o", "markersize": 5, "linestyle": ""}  # in the cells of a mask


HIDDEN = {"color": SOFT, "marker": "x", "markersize": 4, "linestyle": "", "markeredgewidth": 0.9}


def mask_grid(mask: np.ndarray, title: str, first_query: int = 0) -> Picture:
    """A mask (chunk, keys) as a grid, True filled and dotted, False crossed; `first_query` is the first position.

    ValueError when it is no table of bools.
    """
    return mask_grids([mask], [title], [first_query])


def mask_grids(masks: Sequence[np.ndarray], titles: Sequence[str], first_queries: Sequence[int]) -> Picture:
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


def number_grid(values: np.ndarray, title: str, filled: np.ndarray, first_query: int = 0) -> Picture:
    """Numbers (chunk, keys), one in each cell: a mask to be added to scores, or the weights of attention.

    `filled` (chunk, keys) says which cells stand out. ValueError when the numbers are no table.
    """
    if getattr(values, "ndim", 0) != 2:
        raise ValueError(f"wanted an array of two dimensions, got {short_repr(values, 30)}")
    rows = [[float(value) for value in row] for row in values]
    fig, ax = table_axes(len(rows), len(rows[0]), "key position")
    for row, numbers in enumerate(rows):
        for column, value in enumerate(numbers):
            draw_cell(
                ax, row, column, entry_label(value), *((BLUE, "white", "bold") if filled[row][column] else (PAPER, INK))
            )
    queries = [f"query {first_query + row}" for row in range(len(rows))]
    ax.set_yticks(range(len(rows)), queries)
    ax.set_title(title, fontsize=11)
    said = "; ".join(f"{query} {', '.join(map(entry_label, row))}" for query, row in zip(queries, rows, strict=True))
    return Picture(fig, f"{title}. {said}.")


def mask_legend(figure: Figure, **options: object) -> Legend:
    """Put a legend for grids of masks on `figure`; each entry is a cell with its sign. `options` of `Figure.legend`."""
    cell = {"marker": "s", "markersize": 11, "linestyle": ""}
    seen = Line2D([], [], color=BLUE, **cell), Line2D([], [], **SEEN)
    hidden = Line2D([], [], color=PAPER, markeredgecolor=GRID, **cell), Line2D([], [], **HIDDEN)
    own = Line2D([], [], color="none", markeredgecolor=INK, markeredgewidth=1.8, **cell)
    labels = ("may be seen", "hidden", "the query's own key")
    return figure.legend([seen, hidden, own], labels, ncols=3, frameon=False, fontsize=9, **options)


def _bools(mask) -> list[list[bool]]:
    if getattr(mask, "ndim", 0) != 2 or mask.dtype != bool or not mask.size:
        got = f"{mask.dtype} of shape {mask.shape}" if hasattr(mask, "dtype") else short_repr(mask, 30)
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
