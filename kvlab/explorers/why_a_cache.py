"""Explorer of lesson 01: step through a prompt and its continuation, and count what is made with and without a cache.

All counts are those of one layer with one head.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.colors import ListedColormap
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from kvlab import reuse
from kvlab.explorers import base
from kvlab.explorers.controls import slider
from kvlab.explorers.learner import computed_by
from kvlab.explorers.words import count, facts, sentence
from kvlab.figures import style
from kvlab.reprs import short_repr
from kvlab.sizes import whole

MOST = 16  # prompt tokens, and decode steps
NOTHING, READ, QUERY, WRITTEN = range(4)  # what a cell of the strips shows
COLOURS = (style.PAPER, "#d3cfc4", style.BLUE, style.ORANGE)
WAYS = ("cached", "recomputed")


@dataclass(frozen=True)
class Setting:
    """What the controls say. Step 0 is the prefill; step s brings token prompt + s - 1."""

    prompt: int = 5
    steps: int = 12
    step: int = 4


@dataclass(frozen=True)
class Reading:
    """Counts from the prefill up to and including the setting's step, each as (with a cache, recomputed)."""

    setting: Setting
    rows: tuple[int, int]  # of K made so far, and as many of V
    scores: tuple[int, int]
    computed_by: str  # a sentence for the caption

    @property
    def length(self) -> int:
        """Tokens after this step."""
        return self.setting.prompt + self.setting.step

    @property
    def made(self) -> tuple[int, int]:
        """Rows of K that this step makes."""
        return (self.setting.prompt if self.setting.step == 0 else 1), self.length

    @property
    def title(self) -> str:
        """What the step is, with its tokens, for the head of the picture."""
        prompt, step = self.setting.prompt, self.setting.step
        return f"prefill of {prompt} token{'s' * (prompt > 1)}" if step == 0 else f"step {step}: length {self.length}"

    @property
    def strips(self) -> np.ndarray:
        """What each token's cell shows, (4, 2 MOST): Q and K, V with a cache, Q and K, V recomputed."""
        cells = np.full((4, 2 * MOST), NOTHING)
        for place, made in enumerate(self.made):
            cells[2 * place, self.length - made : self.length] = QUERY
            cells[2 * place + 1, : self.length] = READ
            cells[2 * place + 1, self.length - made : self.length] = WRITTEN
        return cells

    def describe(self) -> str:
        """The picture in words."""
        new, all_again = self.made
        made = f"Rows of K that it makes: {new} with a cache, {all_again} recomputed; stored rows it reads: "
        made += f"{self.length - new}. "
        so_far = (
            f"{name} {rows:,} rows and {scores:,} scores"
            for name, rows, scores in zip(WAYS, self.rows, self.scores, strict=True)
        )
        return f"{sentence(self.title)} {made}So far in each layer: {', '.join(so_far)}."

    def tell(self) -> str:
        """The reading as HTML."""
        new, _ = self.made
        return facts(
            (
                ("this step", f"{count(new, 'new token')} {count(self.length - new, 'stored token')}"),
                ("rows of K", _both(self.rows)),
                ("scores", _both(self.scores)),
                ("ratio", f"{self.scores[1] / self.scores[0]:.1f} times as many scores recomputed"),
            )
        )


def _both(pair: tuple[int, int]) -> str:
    return "".join(f"<span>{value:,} {name}</span>" for value, name in zip(pair, WAYS, strict=True))


def reading(setting: Setting, score_work: Callable | None = None) -> Reading:
    """The counts of a setting. The caption says whether the learner's `score_work` gives the same.

    TypeError or ValueError on a setting that has no answer.
    """
    prompt = whole("prompt", setting.prompt)
    step, steps = whole("step", setting.step, at_least=0), whole("decode steps", setting.steps)
    if step > steps or prompt > MOST or steps > MOST:
        raise ValueError(f"step: wanted at most the {steps} decode steps, and those and the prompt at most {MOST}")
    before, after = (reuse.score_work(n) for n in (prompt, prompt + step))
    # Both ways make prompt × prompt scores in the prefill; after it each length costs a step.
    full, cached = (prompt**2 + late - early for early, late in zip(before, after, strict=True))
    lengths = range(prompt + 1, prompt + step + 1)
    asked = {n: (n,) for n in (prompt, prompt + step, 3)}
    caption = computed_by("score_work", score_work, asked, _fault)
    return Reading(setting, (prompt + step, prompt + sum(lengths)), (cached, full), caption)


def _fault(given, n: int) -> str:
    wanted = reuse.score_work(n)
    if _pair(given) == wanted:
        return ""
    return f" gives {short_repr(given)} for n = {n}, the library {wanted}"


def _pair(value) -> tuple[int, ...] | None:
    try:
        return tuple(operator.index(each) for each in value)
    except TypeError:
        return None


class Chart:
    """The picture: what this step makes and reads, and under it all counts so far on an axis that never moves."""

    def __init__(self):
        with base.styled_figure(4.3) as self.figure:
            self.axes = self.figure.add_axes((0.265, 0.575, 0.55, 0.29))
            self.counts = self.figure.add_axes((0.265, 0.115, 0.55, 0.29))
        ax, last = self.axes, 2 * MOST
        ax.set_xlim(-0.5, last - 0.5)
        ax.set_ylim(4.6, -0.6)
        style.bare(ax)
        ax.set_xticks(range(0, last, 4))
        ax.set_xlabel("token", labelpad=1)
        places = (0, 1, 3, 4)  # a gap between the two ways
        ax.set_yticks(places, ["cached · Q", "cached · K, V", "recomputed · Q", "recomputed · K, V"], fontsize=9)
        edges = np.arange(last + 1) - 0.5
        look = {"cmap": ListedColormap(COLOURS), "vmin": 0, "vmax": len(COLOURS) - 1, "edgecolors": style.GRID}
        self.meshes, self.notes = [], []
        for place in places:
            blank = np.zeros((1, last))
            self.meshes.append(ax.pcolormesh(edges, [place - 0.45, place + 0.45], blank, linewidth=0.6, **look))
            self.notes.append(ax.text(last, place, "", va="center", fontsize=9))
        self.title = ax.text(-0.5, -0.85, "", va="bottom", weight="bold")
        key = (("new q", style.BLUE), ("new k, v", style.ORANGE), ("stored, read", COLOURS[READ]))
        for place, (name, colour) in enumerate(key):
            left = 0.265 + (0, 0.155, 0.35)[place]
            self.figure.text(left, 0.945, "■", color=colour, fontsize=13, va="baseline")
            self.figure.text(left + 0.035, 0.948, name, color=style.INK, fontsize=9, va="baseline")
        ax = self.counts
        ax.set_xscale("log")
        ax.set_xlim(1, 20_000)
        ax.set_ylim(4.6, -0.6)
        ax.xaxis.set_major_locator(FixedLocator([1, 10, 100, 1000, 10_000]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.grid(axis="y", visible=False)
        ax.set_xlabel("made since the start, in each layer (log scale)", labelpad=2)
        ax.set_yticks(
            places, ["cached · rows", "recomputed · rows", "cached · scores", "recomputed · scores"], fontsize=9
        )
        self.stems, self.dots, self.values = [], [], []
        for number, place in enumerate(places):
            colour, marker = style.SERIES[number % 2][:2]
            self.stems += ax.plot([], [], color=colour, linewidth=1.4)
            self.dots += ax.plot([], [], color=colour, marker=marker, markersize=8, linestyle="", clip_on=False)
            outside = ax.get_yaxis_transform()
            self.values.append(ax.text(1.02, place, "", transform=outside, va="center"))
        self.places = places

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        return [self.title, *self.meshes, *self.notes, *self.stems, *self.dots, *self.values]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading."""
        self.title.set_text(now.title)
        for mesh, cells in zip(self.meshes, now.strips, strict=True):
            mesh.set_array(cells[None])
        read = now.length - now.made[0]
        notes = (f"{now.made[0]} new", f"{now.made[0]} new, {read} old", *(f"{now.made[1]} new",) * 2)
        for text, note in zip(self.notes, notes, strict=True):
            text.set_text(note)
        totals = zip(self.places, self.stems, self.dots, self.values, (*now.rows, *now.scores), strict=True)
        for place, stem, dot, value, total in totals:
            stem.set_data([1, total], [place, place])
            dot.set_data([total], [place])
            value.set_text(f"{total:,}")


class Explorer(base.Explorer):
    """Prompt length, how many decode steps, and the step that is looked at.

    Pass your own `score_work`: the caption names it once it is right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(self, score_work: Callable | None = None):
        start = Setting()
        self.prompt = slider("prompt", start.prompt, 1, MOST, "kv-prompt")
        self.steps = slider("steps", start.steps, 1, MOST, "kv-steps")
        self.step = slider("step", start.step, 0, start.steps, "kv-step")
        self.steps.observe(self._limit_step, "value")
        super().__init__((self.prompt, self.steps, self.step), score_work)

    def _limit_step(self, change) -> None:
        with self.together():
            self.step.max = change["new"]  # a step beyond it moves back to it


explore, static_figure = Explorer, Explorer.static_figure
