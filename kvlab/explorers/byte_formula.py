"""Explorer of lesson 02: from the shape of a model to the exact bytes of its cache, and to what fits.

`reading` is the arithmetic, `explore` the controls, `static_figure` the picture for a page without controls.
"""

import operator
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from kvlab import sizes
from kvlab.explorers import controls
from kvlab.explorers.controls import CUSTOM, ask, count, dropdown, facts, library_instead, number, slider, text_field
from kvlab.figures import labels, style
from kvlab.figures.picture import CSS_DPI, Picture
from kvlab.gpus import gpus
from kvlab.models import presets

SHAPE = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")
LOWEST, HIGHEST = sizes.KIB, sizes.PIB  # ends of the byte axis, whatever the setting
MOST_DIGITS = 30  # of a number typed in: beyond any cache, and still readable


@dataclass(frozen=True)
class Setting:
    """What the controls say. `gpu` names a row of `kvlab.gpus`, `dtype` one of `sizes.BITS_PER_ELEMENT`."""

    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int = 8
    head_dim: int = 128
    dtype: str = "BF16"
    batch: int = 1
    tokens: int = 8192
    gpu: str = "H100 SXM"


@dataclass(frozen=True)
class Reading:
    """What a setting costs, in exact bytes of payload."""

    per_token: int  # one more token of one request
    per_request: int
    total: int
    variants: dict[str, int]  # MHA, GQA, MQA -> total bytes of the batch
    stored_heads: dict[str, int]  # MHA, GQA, MQA -> KV heads in each layer
    gpu: str
    gpu_bytes: int  # nominal
    computed_by: str  # a sentence for the caption

    @property
    def gb(self) -> Fraction:
        return sizes.as_units(self.total)["GB"]

    @property
    def gib(self) -> Fraction:
        return sizes.as_units(self.total)["GiB"]

    def fits(self, variant: str = "GQA") -> bool:
        """Whether the cache alone, without weights, is within the device's nominal memory."""
        return self.variants[variant] <= self.gpu_bytes


def reading(setting: Setting, kv_bytes=None) -> Reading:
    """What `setting` costs, by the learner's `kv_bytes` where it is right, otherwise by the library.

    TypeError or ValueError on a setting that has no answer, in the words of `kvlab.sizes`.
    """
    bits = sizes.dtype_bits(setting.dtype)
    if setting.gpu not in gpus():
        raise ValueError(f"gpu: wanted one of {', '.join(gpus())}, got {setting.gpu!r}")
    config = {key: getattr(setting, key) for key in SHAPE}
    sizes.bytes_per_token(config, bits)  # checks the shape as a whole, divisibility included
    layers, heads, kv_heads, head_dim = config.values()
    stored_heads = {"MHA": heads, "GQA": kv_heads, "MQA": 1}
    calls = {
        "total": (layers, setting.batch, setting.tokens, kv_heads, head_dim, bits),
        "per_token": (layers, 1, 1, kv_heads, head_dim, bits),
        "per_request": (layers, 1, setting.tokens, kv_heads, head_dim, bits),
    }
    for variant, hkv in stored_heads.items():
        calls[variant] = (layers, setting.batch, setting.tokens, hkv, head_dim, bits)
    # Two calls beside the setting: right at 16 bits is not yet right.
    calls |= {f"{odd} bits": (layers, 1, 3, kv_heads, head_dim, odd) for odd in (3, 4)}
    answers = {name: sizes.kv_bytes(*call) for name, call in calls.items()}
    answers, computed_by = _from_learner(kv_bytes, calls, answers)
    return Reading(
        per_token=answers["per_token"],
        per_request=answers["per_request"],
        total=answers["total"],
        variants={variant: answers[variant] for variant in stored_heads},
        stored_heads=stored_heads,
        gpu=setting.gpu,
        gpu_bytes=gpus()[setting.gpu].memory_bytes,
        computed_by=computed_by,
    )


def _from_learner(kv_bytes, calls: dict, answers: dict) -> tuple[dict, str]:
    """The learner's answers where all agree with the library's, and a sentence that says whose are shown."""
    theirs = {}
    for name, call in calls.items():
        theirs[name], problem = ask("kv_bytes", kv_bytes, *call)
        if problem:
            return answers, problem
        if not _is_whole(theirs[name]) or theirs[name] != answers[name]:
            given = f"{theirs[name]:,}" if _is_whole(theirs[name]) else f"{theirs[name]!r}"
            where = f"kv_bytes{call}" if name != "total" else "here"
            return answers, library_instead(f"your kv_bytes gives {given} {where}, the library {answers[name]:,}")
    return {name: int(value) for name, value in theirs.items()}, "computed by your kv_bytes"


def _is_whole(value) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def parse_count(name: str, text: str, at_least: int = 1) -> int:
    """A whole number typed by a person, exactly: "131072", "131,072", "131_072" or "1e15".

    ValueError says what came and what was wanted.
    """
    wanted = f"{name}: wanted a whole number of at least {at_least}, such as 131,072 or 1e15, got {text[:40]!r}"
    plain = text.strip()
    if re.fullmatch(r"[+-]?\d{1,3}([,_ ]\d{3})+", plain):
        plain = re.sub(r"[,_ ]", "", plain)
    if not re.fullmatch(r"[+-]?\d+(\.\d+)?([eE]\+?\d{1,3})?", plain):
        raise ValueError(wanted)
    value = Decimal(plain)
    if abs(value) >= 10**MOST_DIGITS:
        raise ValueError(f"{name}: wanted at most {MOST_DIGITS} digits, got {text[:40]!r}")
    if value != int(value):
        raise ValueError(wanted)
    return sizes.whole(name, int(value), at_least)


class Chart:
    """The picture: MHA, GQA and MQA totals on a byte axis that never moves, the device's memory as a line."""

    def __init__(self):
        with rc_context(style.STYLE):
            self.figure = Figure((5.4, 2.6), dpi=CSS_DPI)  # narrow: its text stays readable when scaled
            ax = self.figure.add_axes((0.21, 0.225, 0.53, 0.64))
        self.axes = ax
        ax.set_xscale("log", base=2)
        ax.set_xlim(LOWEST, HIGHEST)
        ax.set_ylim(2.6, -0.6)
        ax.xaxis.set_major_locator(FixedLocator([sizes.KIB, sizes.MIB, sizes.GIB, sizes.TIB, sizes.PIB]))
        ax.xaxis.set_major_formatter(FuncFormatter(labels.byte_label))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_yticks([])
        ax.set_xlabel("bytes of the whole batch (log scale)")
        self.gpu_line = ax.axvline(LOWEST, color=style.VERMILION, linewidth=1.6)
        self.gpu_name = ax.text(LOWEST, -0.72, "", color=style.VERMILION, ha="center", va="bottom")
        self.names, self.stems, self.dots, self.values = [], [], [], []
        outside = ax.get_yaxis_transform()  # x as a fraction of the axes, y in rows
        for row, (colour, marker) in enumerate(look[:2] for look in style.SERIES[:3]):
            self.names.append(ax.text(-0.02, row, "", transform=outside, ha="right", va="center", linespacing=1.1))
            self.stems += ax.plot([], [], color=colour, linewidth=1.2)
            self.dots += ax.plot([], [], color=colour, marker=marker, markersize=9, linestyle="", clip_on=False)
            self.values.append(ax.text(1.05, row, "", transform=outside, ha="left", va="center", linespacing=1.1))

    @property
    def moving(self):
        """The artists that a reading changes, in drawing order."""
        return [self.gpu_line, self.gpu_name, *self.stems, *self.dots, *self.names, *self.values]

    def set(self, reading: Reading) -> None:
        """Move the artists to `reading`. A total outside the axis sits at its end, marked with an arrow."""
        self.gpu_line.set_xdata([reading.gpu_bytes] * 2)
        self.gpu_name.set_x(reading.gpu_bytes)
        self.gpu_name.set_text(f"{reading.gpu}: {reading.gpu_bytes // sizes.GB} GB nominal")
        for row, (variant, total) in enumerate(reading.variants.items()):
            at = min(max(total, LOWEST), HIGHEST)
            side = "" if at == total else ("→ " if total > HIGHEST else "← ")
            self.stems[row].set_data([LOWEST, at], [row, row])
            self.dots[row].set_data([at], [row])
            heads = reading.stored_heads[variant]
            self.names[row].set_text(f"{variant}\n{heads} KV head{'s' if heads > 1 else ''}")
            verdict = "fits" if reading.fits(variant) else "does not fit"
            self.values[row].set_text(f"{side}{_axis_value(total)}\n{verdict}")


def _axis_value(n_bytes: int) -> str:
    """A total beside the axis, short at any size."""
    return labels.byte_label(n_bytes) if n_bytes < 10**4 * sizes.PIB else f"{float(n_bytes):.3g} B"


def describe(reading: Reading) -> str:
    """The picture in words."""
    parts = [
        f"{variant} {_axis_value(total)}, {'fits' if reading.fits(variant) else 'does not fit'}"
        for variant, total in reading.variants.items()
    ]
    device = f"{reading.gpu} with {reading.gpu_bytes // sizes.GB} GB nominal"
    return f"Whole batch beside {device}: {'; '.join(parts)}."


def static_figure(kv_bytes=None, setting: Setting = Setting()) -> Picture:
    """The explorer's picture at its first setting, for a page that cannot run it."""
    chart, now = Chart(), reading(setting, kv_bytes)
    chart.set(now)
    return Picture(chart.figure, describe(now))


def explore(kv_bytes=None) -> "Explorer":
    """The explorer as a widget. Pass your own `kv_bytes`, and the numbers come from it once it is right."""
    return Explorer(kv_bytes)


class Explorer(controls.Explorer):
    """Sliders for the shape, a list of models that sets them, and text fields for what may be large."""

    def __init__(self, kv_bytes=None):
        self.kv_bytes = kv_bytes
        start = Setting()
        self.shape = {
            "num_hidden_layers": slider("layers", start.num_hidden_layers, 1, 128, "kv-layers"),
            "num_attention_heads": slider("query heads", start.num_attention_heads, 1, 128, "kv-query-heads"),
            "num_key_value_heads": slider("KV heads", start.num_key_value_heads, 1, 128, "kv-kv-heads"),
            "head_dim": slider("head width", start.head_dim, 1, 256, "kv-head-dim"),
        }
        self.preset = dropdown("model", [CUSTOM, *presets(full_attention_only=True)], "Llama-3-8B", "kv-preset")
        self.dtype = dropdown("element", list(sizes.BITS_PER_ELEMENT), start.dtype, "kv-dtype")
        self.gpu = dropdown("GPU", list(gpus()), start.gpu, "kv-gpu")
        self.tokens = text_field("tokens", start.tokens, "kv-tokens")
        self.batch = text_field("requests", start.batch, "kv-batch")
        self.preset.observe(self._choose_preset, "value")
        for control in self.shape.values():
            control.observe(self._leave_preset, "value")
        super().__init__(
            (self.preset, self.gpu, *self.shape.values(), self.tokens, self.batch, self.dtype),
            Chart(),
        )

    def setting(self) -> Setting:
        """What the controls say. ValueError when a text field holds no whole number."""
        return Setting(
            **{key: control.value for key, control in self.shape.items()},
            dtype=self.dtype.value,
            gpu=self.gpu.value,
            batch=parse_count("requests", self.batch.value),
            tokens=parse_count("tokens", self.tokens.value, at_least=0),
        )

    def read(self, setting: Setting) -> Reading:
        """The reading. TypeError or ValueError in the words that the controls use."""
        try:
            return reading(setting, self.kv_bytes)
        except (TypeError, ValueError) as problem:
            raise ValueError(_in_labels(str(problem))) from None

    def tell(self, setting: Setting, now: Reading) -> str:
        """The reading as HTML."""
        fit = "fits in" if now.fits() else "does not fit in"
        return facts(
            (
                ("one token", number(now.per_token, "B")),
                ("one request", f"{number(now.per_request, 'B')} {count(setting.tokens, 'token')}"),
                ("all requests", f"{number(now.total, 'B')} {count(setting.batch, 'request')}"),
                ("in GB and GiB", f"{number(now.gb, 'GB')} {number(now.gib, 'GiB')}"),
                ("on the GPU", f"the cache alone {fit} the {number(now.gpu_bytes, 'B')} (nominal) of one {now.gpu}"),
            )
        )

    def describe(self, now: Reading) -> str:
        """The picture in words."""
        return describe(now)

    def _choose_preset(self, change) -> None:
        if change["new"] != CUSTOM:
            with self.together():
                for key, control in self.shape.items():
                    control.value = presets()[change["new"]].attention_config[key]

    def _leave_preset(self, _change) -> None:
        if not self._moving_many:
            with self.together():
                self.preset.value = CUSTOM


def _in_labels(problem: str) -> str:
    """A sentence of `kvlab.sizes` in the words that the controls use."""
    labels = {"num_key_value_heads": "KV heads", "num_attention_heads": "query heads"}
    for name, label in labels.items():
        problem = problem.replace(name, label)
    return problem
