"""The figures of lesson 06."""

from collections.abc import Mapping, Sequence

from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from kvlab.figures.picture import Picture
from kvlab.figures.style import BLUE, GREEN, ORANGE, PAPER, PINK, SOFT, VERMILION, bare, new_figure
from kvlab.reprs import short_repr


def two_readings(rows: Sequence[tuple[str, int, int]], names: tuple[str, str], xlabel: str) -> Picture:
    """Two numbers for each model, joined by a line: `rows` are (model, first, second), `names` what the two are.

    The first is a filled dot, the second a ring; where the two agree the dot lies in the ring.
    """
    fig, ax = new_figure(7.4, 1.35 + 0.34 * len(rows))
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
    said = "; ".join(f"{name} {short_repr(a, 30)} and {short_repr(b, 30)}" for name, a, b in rows)
    return Picture(fig, f"{names[0]} and {names[1]} of each model: {said}.")


LAYER_LOOKS = {
    "full": (BLUE, "full"),
    "window": (ORANGE, "window"),
    "latent": (GREEN, "latent"),
    "state": (PINK, "state"),
    "shared": (PAPER, "shared"),
}


def layer_strips(models: Mapping[str, Sequence[str]]) -> Picture:
    """One strip for each model, one cell for each layer, layer 0 on the left: `models` maps a name to its kinds.

    A kind that nobody knows is a red cell with a cross.
    """
    fig, ax = new_figure(7.4, 1.25 + 0.36 * len(models))
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
    bare(ax)
    ax.tick_params(axis="x", length=3)
    keys = [Rectangle((0, 0), 1, 1, facecolor=c, edgecolor=SOFT, linewidth=0.5) for c, _ in LAYER_LOOKS.values()]
    fig.legend(keys, [label for _, label in LAYER_LOOKS.values()], loc="outside lower center", ncols=5, frameon=False)
    said = [
        f"{name}: " + ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds)) for name, kinds in models.items()
    ]
    return Picture(fig, f"Layers by kind. {'; '.join(map(str, said))}.")
