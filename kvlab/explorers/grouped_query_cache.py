"""Explorer of lesson 05: which KV head each query head reads, beside heads dealt out like cards, and both sizes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from kvlab import attention, sizes
from kvlab.explorers import base
from kvlab.explorers.controls import dropdown, slider, with_commas
from kvlab.explorers.learner import computed_by
from kvlab.explorers.words import facts, sentence, spans, verdict
from kvlab.figures import style

MOST_HEADS = 12
TOKENS = (512, 4096, 32_768, 131_072)
HEAD_DIM, BITS = 128, 16
PROBES = ((12, 4), (8, 2), (3, 3), (4, 1))  # right on one setting is not yet right
KV_COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.PINK)  # of neighbours; a number says which head it is


@dataclass(frozen=True)
class Setting:
    """What the controls say: heads, and the tokens of one request in one layer."""

    num_heads: int = 8
    num_kv_heads: int = 2
    tokens: int = 4096


@dataclass(frozen=True)
class Reading:
    """Readers of a setting: the KV head of each query head, right and tiled; bytes at 16 bits, head width 128."""

    setting: Setting
    right: list[int]
    tiled: list[int]
    stored_bytes: int
    expanded_bytes: int
    computed_by: str  # a sentence for the caption

    @property
    def apart(self) -> list[int]:
        """The query heads that read a wrong KV head when the heads are dealt out like cards."""
        return [head for head, pair in enumerate(zip(self.right, self.tiled, strict=True)) if len(set(pair)) == 2]

    @property
    def verdict(self) -> str:
        """What the tiled order does wrong, in one sentence without its full stop."""
        heads = self.setting.num_heads
        if not self.apart:
            return "tiled: every query head reads its own KV head; with these counts no test can see the mistake"
        first = self.apart[0]
        return (
            f"tiled: {len(self.apart)} of {heads} query heads read a wrong KV head; "
            f"the first is query head {first}, which reads {self.tiled[first]} instead of {self.right[first]}"
        )

    def describe(self) -> str:
        """The picture in words."""
        right, tiled = (" ".join(map(str, readers)) for readers in (self.right, self.tiled))
        return f"{sentence(self.verdict)} KV heads read, in order: {right}; tiled: {tiled}."

    def tell(self) -> str:
        """The reading as HTML."""
        rows = (
            ("K and V stored", spans(sizes.show_bytes(self.stored_bytes))),
            ("K and V expanded", spans(sizes.show_bytes(self.expanded_bytes))),
            (
                "both counted for",
                spans(f"one layer, one request, head width {HEAD_DIM}, {BITS // 8} bytes an element"),
            ),
        )
        return verdict(self.verdict) + facts(rows)


def reading(setting: Setting, kv_head_of: Callable | None = None) -> Reading:
    """Both orders. The caption says whether the learner's `kv_head_of` gives the right one.

    TypeError or ValueError on heads that cannot be shared out evenly.
    """
    heads, kv_heads = setting.num_heads, setting.num_kv_heads
    right = [attention.kv_head_of(head, heads, kv_heads) for head in range(heads)]
    tiled = [head % kv_heads for head in range(heads)]
    stored, expanded = (sizes.kv_bytes(1, 1, setting.tokens, n, HEAD_DIM, BITS) for n in (kv_heads, heads))
    asked = [(head, *counts) for counts in ((heads, kv_heads), *PROBES) for head in range(counts[0])]
    caption = computed_by("kv_head_of", kv_head_of, {call: call for call in asked}, _fault)
    return Reading(setting, right, tiled, stored, expanded, caption)


def _fault(reader, call) -> str:
    if type(reader) is not int:
        return f"{call} gives no int"
    return "" if reader == attention.kv_head_of(*call) else f"{call} gives {reader!r:.60}"


class Board:
    """Query heads above, KV heads below, on axes that never move. Heads are markers, because few artists draw fast."""

    def __init__(self, figure: Figure, bottom: float, title: str):
        ax = figure.add_axes((0.175, bottom, 0.81, 0.3))
        self.axes = ax
        ax.set_xlim(-0.6, MOST_HEADS - 0.4)
        ax.set_ylim(-0.35, 1.35)
        ax.set_xticks([])
        ax.set_yticks([1, 0], ["query heads", "KV heads"], fontsize=9)
        style.bare(ax)
        ax.text(-0.6, 1.5, title, weight="bold", va="bottom")
        box = {"marker": "s", "markersize": 17, "linestyle": "", "clip_on": False}
        self.lines = [ax.plot([], [], color=colour, linewidth=1.6, zorder=1)[0] for colour in KV_COLOURS]
        self.wrong = ax.plot([], [], color=style.VERMILION, linewidth=1.8, linestyle=(0, (3, 1.5)), zorder=1)[0]
        self.queries = ax.plot([], [], color=style.INK, **box)[0]
        self.outline = ax.plot([], [], markeredgecolor=style.VERMILION, markeredgewidth=2.6, color=style.INK, **box)[0]
        self.kv = [ax.plot([], [], color=colour, **box)[0] for colour in KV_COLOURS]
        inside = {"ha": "center", "va": "center", "color": "white", "weight": "bold", "fontsize": 8.5}
        self.numbers = [[ax.text(0, height, "", **inside) for _ in range(MOST_HEADS)] for height in (1, 0)]

    @property
    def moving(self) -> list[Artist]:
        """The artists that `set` changes, in drawing order."""
        texts = [text for row in self.numbers for text in row]
        return [*self.lines, self.wrong, self.queries, self.outline, *self.kv, *texts]

    def set(self, readers: Sequence[int], right: Sequence[int], kv_heads: int) -> None:
        """Draw the readers; a query head whose KV head is not the right one is outlined, its line dashed."""
        heads = len(readers)
        spread = MOST_HEADS / heads
        above = [(head + 0.5) * spread - 0.5 for head in range(heads)]
        below = [(head + 0.5) * MOST_HEADS / kv_heads - 0.5 for head in range(kv_heads)]
        wrong = [head for head in range(heads) if readers[head] != right[head]]
        for colour, (line, dots) in enumerate(zip(self.lines, self.kv, strict=True)):
            mine = [head for head in range(heads) if head not in wrong and readers[head] % len(KV_COLOURS) == colour]
            line.set_data(*_segments(mine, readers, above, below))
            places = below[colour :: len(KV_COLOURS)]
            dots.set_data(places, [0] * len(places))
        self.wrong.set_data(*_segments(wrong, readers, above, below))
        self.queries.set_data(above, [1] * heads)
        self.outline.set_data([above[head] for head in wrong], [1] * len(wrong))
        for texts, places in zip(self.numbers, (above, below), strict=True):
            for head, text in enumerate(texts):
                text.set_visible(head < len(places))
                if head < len(places):
                    text.set(x=places[head], text=f"{head}")


def _segments(heads, readers, above, below):
    """Lines from query heads to KV heads as one path with gaps."""
    x = [place for head in heads for place in (above[head], below[readers[head]], np.nan)]
    return x, [1, 0, np.nan] * len(heads)


class Chart:
    """The picture: the right readers on top, the tiled ones below, of at most 12 heads each."""

    def __init__(self):
        with base.styled_figure(3.6) as self.figure:
            self.boards = [
                Board(self.figure, 0.575, "grouped: right"),
                Board(self.figure, 0.105, "tiled: dealt out like cards"),
            ]
            wrong = "outlined: a query head that reads a wrong KV head"
            self.boards[1].axes.set_xlabel(wrong, fontsize=9, color=style.VERMILION)

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        return [artist for board in self.boards for artist in board.moving]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading."""
        for board, readers in zip(self.boards, (now.right, now.tiled), strict=True):
            board.set(readers, now.right, now.setting.num_kv_heads)


class Explorer(base.Explorer):
    """Sliders for query heads and KV heads, and the tokens that the bytes are counted for.

    Pass your own `kv_head_of`: the caption names it once it is right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(self, kv_head_of: Callable | None = None):
        start = Setting()
        self.num_heads = slider("query heads", start.num_heads, 1, MOST_HEADS, "kv-heads")
        self.num_kv_heads = slider("KV heads", start.num_kv_heads, 1, MOST_HEADS, "kv-kv-heads")
        self.tokens = dropdown("tokens", with_commas(TOKENS), start.tokens, "kv-tokens")
        super().__init__((self.num_heads, self.num_kv_heads, self.tokens), kv_head_of)


explore, static_figure = Explorer, Explorer.static_figure
