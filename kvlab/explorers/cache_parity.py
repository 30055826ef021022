"""Explorer of lesson 03: every logit of a cached decoder beside the full forward pass, step by step."""

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.artist import Artist
from matplotlib.patches import Rectangle

from kvlab import parity
from kvlab.explorers import base
from kvlab.explorers.controls import CUSTOM, dropdown, slider, switch, text_field
from kvlab.explorers.learner import ask, library_instead
from kvlab.explorers.words import sentence, verdict
from kvlab.figures import labels, shared, style
from kvlab.reprs import short_repr
from tiny_transformer import TinyDecoder

STRINGS = {
    "mixed": (0, 1, 2, 0, 1, 2, 0, 1),
    "one token repeated": (0, 0, 0, 0, 0, 0, 0, 0),
    "alternating": (0, 1, 0, 1, 0, 1, 0, 1),
}
TOLERANCES = {"1e-10": 1e-10, "1e-6": 1e-6, "1e-2": 1e-2}
MOST_SEED = 99
VOCAB, CONTEXT = TinyDecoder().vocab, TinyDecoder().context
MARKS = ((style.BLUE, "o"), (style.ORANGE, "s"), (style.PINK, "^"))  # one for each token's logit
AGREES, DIFFERS = "#d7ebe2", "#f6d3bf"  # tints of green and vermilion, under ink


@dataclass(frozen=True)
class Setting:
    """What the controls say. `seed` makes the model's weights, `ids` are fed to it one by one."""

    ids: tuple[int, ...] = STRINGS["mixed"]
    seed: int = 13
    position_zero: bool = False  # the cached decoder reads every token at position 0
    argmax_only: bool = False  # judge by the largest logit of each step alone
    atol: float = parity.ATOL


@dataclass(frozen=True)
class Reading:
    """The logits (T, V) that a setting gives, both ways."""

    setting: Setting
    cached: np.ndarray
    full: np.ndarray
    computed_by: str  # a sentence for the caption

    @property
    def differences(self) -> np.ndarray:
        """How far each logit is from that of the full pass, (T, V), never negative."""
        return np.abs(self.cached - self.full)

    @property
    def best(self) -> list[tuple[int, int]]:
        """The arg-max of each step: cached, full."""
        return list(zip(self.cached.argmax(-1).tolist(), self.full.argmax(-1).tolist(), strict=True))

    @property
    def agrees(self) -> list[bool]:
        """Whether each step passes the comparison that was chosen."""
        if self.setting.argmax_only:
            return [cached == full for cached, full in self.best]
        return (self.differences <= self.setting.atol).all(-1).tolist()

    @property
    def verdict(self) -> str:
        """The comparison in one sentence, without its full stop."""
        agrees, atol = self.agrees, self.setting.atol
        largest = labels.short_difference(self.differences.max())
        steps = f"{len(agrees)} step" + ("" if len(agrees) == 1 else "s")
        if self.setting.argmax_only:
            if not all(agrees):
                return f"arg-max differs first at step {agrees.index(False)}; it agrees in {sum(agrees)} of {steps}"
            if self.differences.max() > parity.ATOL:
                return f"all {len(agrees)} arg-maxes agree, although logits differ by up to {largest}"
            return f"all {len(agrees)} arg-maxes agree; largest difference of a logit {largest}"
        if not all(agrees):
            first = agrees.index(False)
            by = labels.short_difference(self.differences[first].max())
            return f"step {first} is the first to differ: by {by}; {sum(agrees)} of {steps} agree within {atol:g}"
        return f"{sum(agrees)} of {steps} agree within {atol:g}; largest difference {largest}"

    def describe(self) -> str:
        """The picture in words."""
        said = f"{sentence(self.verdict)} "
        if self.setting.argmax_only:
            best = ", ".join(f"{cached} and {full}" for cached, full in self.best)
            said += f"Arg-max, cached and full: {best}. "
        each = ", ".join(labels.short_difference(value) for value in self.differences.max(-1))
        return f"{said}Largest difference of each step: {each}."

    def tell(self) -> str:
        """The reading as HTML."""
        return verdict(self.verdict)


def reading(setting: Setting, decoder_class: Callable | None = None) -> Reading:
    """Step a cached decoder through the ids and compare: the learner's class where it is right, else the library's.

    TypeError or ValueError on a setting that has no answer.
    """
    ids = checked_ids(setting.ids)
    model = TinyDecoder(seed=setting.seed)
    models = [model, parity.position_zero(model)] if setting.position_zero else [model]
    cached, computed_by = _from_learner(decoder_class, models, ids)
    if cached is None:
        cached = parity.cached_logits(models[-1], ids)
    return Reading(setting, cached, parity.full_logits(model, ids), computed_by)


def _from_learner(decoder_class, models, ids):
    """The learner's logits of the last of `models` where those of all are right, or None; and a caption.

    A decoder that always reads position 0 is right on a model whose positions are all alike: it must be right on
    the unchanged model too.
    """
    name = "CachedDecoder"
    for model in models:
        cached, problem = ask(name, decoder_class and _stepped, decoder_class, deepcopy(model), ids)
        if problem:
            return None, problem
        for step, logits in enumerate(cached):
            if logits is None:
                return None, library_instead(f"your {name} gives no {VOCAB} logits, shape ({VOCAB},), at step {step}")
        full = parity.full_logits(model, ids)
        first = parity.first_divergence(cached, full, parity.ATOL)
        if first is not None:
            by = labels.short_difference(np.abs(cached[first] - full[first]).max())
            return None, library_instead(f"your {name} differs from the full pass first at step {first}, by {by}")
    return np.stack(cached), f"computed by your {name}"


def _stepped(decoder_class, model, ids) -> list:
    """What each step of the learner's decoder gives: a copy of its logits, or None where it gives something else."""
    decoder = decoder_class(model)
    return [_logits(decoder.step(token)) for token in ids]


def _logits(value):
    try:
        logits = np.array(value, dtype=float)
    except (TypeError, ValueError):
        return None
    return logits if logits.shape == (VOCAB,) else None


def checked_ids(ids: Iterable[int]) -> tuple[int, ...]:
    """The ids, if one decoder can take them all. ValueError says what came and what was wanted."""
    ids = tuple(ids)
    if not 1 <= len(ids) <= CONTEXT or not all(type(token) is int and 0 <= token < VOCAB for token in ids):
        raise ValueError(_wanted(" ".join(map(str, ids))))
    return ids


def parse_ids(text: str) -> tuple[int, ...]:
    """Ids typed by a person, each a digit: "0 1 2", "0,1,2" or "012". ValueError as `checked_ids`."""
    if not re.fullmatch(r"[0-9,\s]*", text):
        raise ValueError(_wanted(text))
    return checked_ids(int(digit) for digit in re.findall(r"[0-9]", text))


def _wanted(text: str) -> str:
    return f"ids: wanted 1 to {CONTEXT} digits from 0 to {VOCAB - 1}, such as 0 1 2 or 012, got {short_repr(text)}"


class Chart:
    """The picture: a verdict for each step, and under it the step's differences on an axis that never moves."""

    def __init__(self):
        with base.styled_figure(3.5) as self.figure:
            ax = self.figure.add_axes((0.14, 0.275, 0.84, 0.52))
            self.axes = ax
            ax.set_xlim(-0.5, CONTEXT - 0.5)
            ax.set_xticks(range(CONTEXT))
            ax.grid(axis="x", visible=False)
            shared.difference_axis(ax.yaxis)
            ax.set_ylabel("|cached − full|")
            across = ax.get_xaxis_transform()  # x in steps, y as a fraction of the axes
            beside = {"transform": ax.transAxes, "ha": "right", "va": "center"}
            ax.text(-0.025, -0.078, "step", color=style.INK, **beside)
            ax.text(-0.025, -0.19, "id", color=style.INK, **beside)
            self.above = ax.axhspan(parity.ATOL, shared.MOST_DIFFERENCE, color=style.VERMILION, alpha=0.08, linewidth=0)
            self.tolerance = ax.axhline(parity.ATOL, color=style.VERMILION, linewidth=1.4)
            self.dots = []
            for token, (colour, marker) in enumerate(MARKS):
                look = {"color": colour, "marker": marker, "markersize": 7, "linestyle": "", "clip_on": False}
                self.dots += ax.plot([], [], label=f"logit {token}", **look)
            self.figure.legend(handles=self.dots, loc="lower center", ncols=VOCAB, frameon=False)
            self.title = ax.text(0, 1.17, "", transform=ax.transAxes, va="bottom")
            self.cells, self.signs, self.ids = [], [], []
            for step in range(CONTEXT):
                cell = Rectangle((step - 0.46, 1.03), 0.92, 0.12, transform=across, clip_on=False, linewidth=0)
                self.cells.append(ax.add_patch(cell))
                centred = {"transform": across, "ha": "center", "va": "center"}
                self.signs.append(ax.text(step, 1.087, "", weight="bold", **centred))
                self.ids.append(ax.text(step, -0.19, "", **centred))

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        return [self.above, self.tolerance, *self.dots, self.title, *self.cells, *self.signs, *self.ids]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading. Steps without a token stay blank."""
        atol, argmax_only = now.setting.atol, now.setting.argmax_only
        self.tolerance.set_ydata([atol] * 2)
        self.above.set_y(atol)
        self.above.set_height(shared.MOST_DIFFERENCE - atol)
        for artist in (self.tolerance, self.above):
            artist.set_visible(not argmax_only)  # an arg-max has no tolerance
        self.title.set_text("arg-max, cached and full:" if argmax_only else f"every logit within {atol:g}?")
        for token, dots in enumerate(self.dots):
            heights = [shared.difference_height(value) for value in now.differences[:, token]]
            dots.set_data(np.arange(len(heights)) + 0.24 * (token - (VOCAB - 1) / 2), heights)
            dots.set_alpha(0.35 if argmax_only else 1)
        for artist in (*self.cells, *self.signs, *self.ids):
            artist.set_visible(False)
        for step, (token, agrees, (cached, full)) in enumerate(zip(now.setting.ids, now.agrees, now.best, strict=True)):
            sign = "=" if agrees else "≠"
            self.cells[step].set(visible=True, facecolor=AGREES if agrees else DIFFERS)
            self.signs[step].set(visible=True, text=f"{cached} {sign} {full}" if argmax_only else sign)
            self.ids[step].set(visible=True, text=f"{token}")


class Explorer(base.Explorer):
    """Ids typed or chosen, the model's seed, two switches and the tolerance.

    Pass your own `CachedDecoder`: its logits are shown once they are right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(self, decoder_class: Callable | None = None):
        start = Setting()
        self.strings = dropdown("string", [CUSTOM, *STRINGS], "mixed", "kv-strings")
        self.ids = text_field("ids", _spaced(start.ids), "kv-ids")
        self.seed = slider("model seed", start.seed, 0, MOST_SEED, "kv-seed")
        self.atol = dropdown("tolerance", list(TOLERANCES.items()), start.atol, "kv-atol")
        self.position_zero = switch("every token at position 0", "kv-position-zero")
        self.argmax_only = switch("compare arg-max only", "kv-argmax-only")
        self.argmax_only.observe(self._leave_tolerance, "value")
        self.offer(self.strings, self._set_ids, self.ids)
        super().__init__(
            (self.strings, self.ids, self.seed, self.atol, self.position_zero, self.argmax_only), decoder_class
        )

    def setting(self) -> Setting:
        """What the controls say, the ids read from their text field. ValueError as `parse_ids`."""
        return replace(super().setting(), ids=parse_ids(self.ids.value))

    def _set_ids(self, string: str) -> None:
        self.ids.value = _spaced(STRINGS[string])

    def _leave_tolerance(self, change) -> None:
        self.atol.disabled = change["new"]  # an arg-max has no tolerance


def _spaced(ids) -> str:
    return " ".join(map(str, ids))


explore, static_figure = Explorer, Explorer.static_figure
