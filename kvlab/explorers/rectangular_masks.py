"""Explorer of lesson 04: the right mask of a chunk beside a wrong one, each disagreeing cell outlined."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from kvlab import masks
from kvlab.explorers import base
from kvlab.explorers.controls import dropdown, slider
from kvlab.explorers.learner import computed_by
from kvlab.explorers.words import sentence, verdict
from kvlab.figures import rectangular_masks, style
from kvlab.sizes import whole

MOST_CACHED, MOST_CHUNK = 7, 5
MOST_KEYS = MOST_CACHED + MOST_CHUNK
TOP_LEFT, NO_MASK = "top-left mask", "no mask"
WIDE = 0.41  # of a grid, as a fraction of the picture
PROBES = ((0, 3, 9), (3, 2, 9), (4, 3, 2))  # right on one setting is not yet right: cached, chunk, window


@dataclass(frozen=True)
class Setting:
    """What the controls say. A window of `MOST_KEYS` hides nothing."""

    cached: int = 3
    chunk: int = 2
    window: int = MOST_KEYS
    beside: str = TOP_LEFT

    @property
    def windowed(self) -> bool:
        """Whether the window can hide a key."""
        return self.window < self.cached + self.chunk


@dataclass(frozen=True)
class Reading:
    """The two masks (chunk, cached + chunk) of a setting."""

    setting: Setting
    right: np.ndarray
    wrong: np.ndarray
    computed_by: str  # a sentence for the caption

    @property
    def leaks(self) -> np.ndarray:
        """The cells that the wrong mask shows and should not."""
        return self.wrong & ~self.right

    @property
    def lost(self) -> np.ndarray:
        """The cells that the wrong mask hides and should not."""
        return self.right & ~self.wrong

    @property
    def verdict(self) -> str:
        """Which token leaks or is lost, in one sentence without its full stop."""
        apart = self.leaks | self.lost
        if not apart.any():
            return f"{self.setting.beside}: nothing differs; on this chunk no test can see the mistake"
        row = int(np.argmax(apart.any(axis=1)))
        query = self.setting.cached + row
        said = []
        if self.lost[row].any():
            own = " (its own included)" if self.lost[row, query] else ""
            said.append(f"loses {_keys(self.lost[row])}{own}")
        after, before = np.flatnonzero(self.leaks[row, query + 1 :]), np.flatnonzero(self.leaks[row, :query])
        if after.size:
            said.append(f"sees {_keys(_tail(self.leaks[row], query))} from its future")
        if before.size:
            said.append(f"sees {_keys(_head(self.leaks[row], query))} from beyond its window")
        total = int(apart.sum())
        cells = f"{total} cell{' differs' if total == 1 else 's differ'} in all"
        return f"{self.setting.beside}: query {query} {' and '.join(said)}; {cells}"

    def describe(self) -> str:
        """The picture in words."""
        said, cached = [sentence(self.verdict)], self.setting.cached
        for name, mask in (("Right", self.right), (self.setting.beside.capitalize(), self.wrong)):
            rows = [f"query {cached + row} sees {_keys(cells)}" for row, cells in enumerate(mask)]
            said.append(f"{name}: {'; '.join(rows)}.")
        return " ".join(said)

    def tell(self) -> str:
        """The reading as HTML."""
        return verdict(self.verdict)


def _tail(row, query):
    return row & (np.arange(row.size) > query)


def _head(row, query):
    return row & (np.arange(row.size) < query)


def _keys(row) -> str:
    """The keys that are marked in a row, in words: "key 4", "keys 1 to 3"; marks of one kind lie side by side."""
    keys = np.flatnonzero(row)
    if not keys.size:
        return "nothing"
    if keys.size == 1:
        return f"key {keys[0]}"
    return f"keys {keys[0]} {'and' if keys.size == 2 else 'to'} {keys[-1]}"


def reading(setting: Setting, allowed: Callable | None = None, window_allowed: Callable | None = None) -> Reading:
    """Both masks. The caption says whether the learner's function gives the right one: `window_allowed` where the
    window hides something, otherwise `allowed`.

    TypeError or ValueError on a setting that has no answer.
    """
    cached, chunk, window = whole("cached", setting.cached, 0), setting.chunk, setting.window
    if setting.beside not in (TOP_LEFT, NO_MASK):
        raise ValueError(f"beside: wanted {TOP_LEFT!r} or {NO_MASK!r}, got {setting.beside!r}")
    right = masks.window_allowed(cached, chunk, window)
    if setting.windowed:
        asked = (cached, chunk, window), *PROBES
        caption = _caption("window_allowed", window_allowed, masks.window_allowed, asked)
    else:
        asked = (cached, chunk), *(probe[:2] for probe in PROBES)
        caption = _caption("allowed", allowed, masks.allowed, asked)
    wrong = np.ones_like(right)
    if setting.beside == TOP_LEFT:
        wrong = masks.in_window(masks.causal_upper_left(cached, chunk), window, first=0)
    return Reading(setting, right, wrong, caption)


def _caption(name: str, function, library, asked) -> str:
    def fault(mask, sizes) -> str:
        wanted = library(*sizes)
        if type(mask) is not np.ndarray or mask.dtype != bool or mask.shape != wanted.shape:
            return f"{sizes} gives no bool array of shape {wanted.shape}"
        if (mask == wanted).all():
            return ""
        row, key = np.argwhere(mask != wanted)[0].tolist()
        return f"{sizes} gives {mask[row, key]} in row {row}, column {key}"

    return computed_by(name, function, {sizes: sizes for sizes in asked}, fault)


class Grid:
    """One mask on axes that never move. Cells are markers, because few artists are drawn fast."""

    def __init__(self, figure: Figure, left: float, title: str):
        ax = figure.add_axes((left, 0.33, WIDE, 0.42))
        self.axes = ax
        ax.set_xlim(-0.5, MOST_KEYS - 0.5)
        ax.set_ylim(MOST_CHUNK - 0.5, -0.5)
        ax.set_xticks(range(MOST_KEYS))
        ax.set_yticks([])
        ax.tick_params(labelsize=8)
        ax.set_xlabel("key position", fontsize=9)
        style.bare(ax)
        self.title = ax.text(-0.5, -0.75, title, weight="bold", va="bottom")
        side = figure.get_figwidth() * 72 * WIDE / MOST_KEYS  # of a cell, in points
        cell = {"marker": "s", "linestyle": "", "clip_on": False}
        self.cells = ax.plot([], [], markersize=side - 1, color=style.BLUE, **cell)
        self.cells += ax.plot([], [], markersize=side - 1.5, color="white", markeredgecolor=style.GRID, **cell)
        self.signs = ax.plot([], [], **(rectangular_masks.SEEN | {"markersize": 4}))
        self.signs += ax.plot([], [], **(rectangular_masks.HIDDEN | {"markersize": 3.5}))
        outline = {"color": "none", "markersize": side - 2.2, "zorder": 4, **cell}
        self.own = ax.plot([], [], markeredgecolor=style.INK, markeredgewidth=1.3, **outline)
        self.apart = ax.plot([], [], markeredgecolor=style.VERMILION, markeredgewidth=2.4, **outline)
        self.edge = ax.plot([], [], color=style.INK, linewidth=1.2, linestyle=(0, (3, 2)), clip_on=False, zorder=5)
        left_of = {"ha": "right", "va": "center", "fontsize": 8, "color": style.INK}
        self.rows = [ax.text(-0.75, row, "", **left_of) for row in range(MOST_CHUNK)]

    @property
    def moving(self) -> list[Artist]:
        """The artists that `set` changes, in drawing order."""
        return [*self.cells, *self.signs, *self.own, *self.apart, *self.edge, *self.rows, self.title]

    def set(self, mask: np.ndarray, apart: np.ndarray, cached: int) -> None:
        """Show `mask`, outline the cells `apart`, and draw the line between cache and chunk."""
        for dots, marked in zip(
            (*self.cells, *self.signs, *self.apart), (mask, ~mask, mask, ~mask, apart), strict=True
        ):
            rows, keys = np.nonzero(marked)
            dots.set_data(keys, rows)
        queries = np.arange(len(mask))
        self.own[0].set_data(queries + cached, queries)
        self.edge[0].set_data([cached - 0.5] * 2, [-0.6, len(mask) - 0.4])
        for row, label in enumerate(self.rows):
            label.set_text(f"{cached + row}" if row < len(mask) else "")


class Chart:
    """The picture: the right mask at the left, the wrong one at the right, of at most 5 queries and 12 keys each."""

    def __init__(self):
        with base.styled_figure(2.2) as self.figure:
            self.grids = [Grid(self.figure, left, "right") for left in (0.085, 0.575)]
            beside = {"rotation": 90, "ha": "right", "va": "center", "fontsize": 9}
            self.grids[0].axes.text(-1.65, (MOST_CHUNK - 1) / 2, "query position", **beside)
            rectangular_masks.mask_legend(self.figure, loc="lower center")

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        return [artist for grid in self.grids for artist in grid.moving]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading."""
        apart, cached = now.right != now.wrong, now.setting.cached
        self.grids[0].set(now.right, np.zeros_like(apart), cached)
        self.grids[1].set(now.wrong, apart, cached)
        self.grids[1].title.set_text(now.setting.beside)


class Explorer(base.Explorer):
    """Sliders for cached tokens, chunk and window, and which wrong mask stands beside the right one.

    Pass your own `allowed` and `window_allowed`: the caption names them once they are right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(self, allowed: Callable | None = None, window_allowed: Callable | None = None):
        start = Setting()
        self.cached = slider("cached", start.cached, 0, MOST_CACHED, "kv-cached")
        self.chunk = slider("chunk", start.chunk, 1, MOST_CHUNK, "kv-chunk")
        self.window = slider("window", start.window, 1, MOST_KEYS, "kv-window")
        self.beside = dropdown("beside it", [TOP_LEFT, NO_MASK], start.beside, "kv-beside")
        super().__init__((self.cached, self.chunk, self.window, self.beside), allowed, window_allowed)


explore, static_figure = Explorer, Explorer.static_figure
