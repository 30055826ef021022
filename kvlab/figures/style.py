"""What every figure of the course looks like: colours, and the parts that axes are made of.

Colours are Okabe and Ito's, which remain distinct in every common form of colour blindness; what a colour
says, a label, marker or hatch says too. The paper is opaque and light, so that a figure reads the same in a
dark theme.
"""

from collections.abc import Mapping, Sequence
from math import ceil

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter

from kvlab.figures.picture import CSS_DPI

Points = Sequence[tuple[float, float]]  # (x, y) of each

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


ON_COLOUR = {"boxstyle": "round,pad=0.15", "facecolor": PAPER, "edgecolor": "none"}


def new_figure(width: float, height: float, **axes: object) -> tuple[Figure, Axes]:
    """A figure of `width` × `height` inches with one axes, in the course's style; `axes` go to `add_subplot`."""
    with rc_context(STYLE):
        figure = Figure((width, height), dpi=CSS_DPI, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)  # inches of paper around everything
        return figure, figure.add_subplot(**axes)


def draw_series(ax: Axes, series: Mapping[str, Points]) -> None:
    """A line with its marks for each label of `series`, which maps it to (x, y) pairs."""
    for (label, points), (colour, marker, dash) in zip(series.items(), SERIES, strict=False):
        look = {"color": colour, "marker": marker, "linestyle": dash, "markersize": 4}
        ax.plot([x for x, _ in points], [float(y) for _, y in points], label=label, **look)


def powers_of_two_axis(axis: Axis, most: float) -> None:
    """Make `axis` logarithmic, with at most ten ticks at powers of two from 1 to `most`."""
    axis.axes.set_xscale("log", base=2)
    axis.set_major_locator(FixedLocator(every_few_doublings(1, most)))
    axis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))


def table_axes(rows: int, columns: int, xlabel: str) -> tuple[Figure, Axes]:
    """A figure whose axes hold cells of unit size, row 0 on top."""
    fig, ax = new_figure(7.4, 1.5 + 0.29 * rows)
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


def bare(ax: Axes) -> None:
    """Take grid, ticks' lines and frame off `ax`."""
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def draw_cell(ax: Axes, row: float, column: float, text: str, fill: str, ink: str, weight: str = "normal") -> None:
    """One cell of a table, of unit size around (column, row): `text` in colour `ink` on colour `fill`."""
    ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=fill, edgecolor=GRID, linewidth=1))
    ax.text(column, row, text, ha="center", va="center", color=ink, weight=weight, fontsize=9)


def even_binary_steps(largest: float) -> list[float]:
    """Five to nine ticks from 0 to `largest` or just above, a power of two apart, so that binary labels stay short."""
    step = 1.0
    while largest / step > 8:
        step *= 2
    return [step * i for i in range(ceil(largest / step) + 1)]


def every_few_doublings(low: float, high: float) -> list[float]:
    """At most ten powers of two inside an axis."""
    exponents = [e for e in range(200) if low <= 2.0**e <= high]
    return [2.0**e for e in exponents[:: max(1, -(-len(exponents) // 9))]]
