"""Explorer of lesson 02: from the shape of a model to the exact bytes of its cache, and to what fits."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from matplotlib.artist import Artist
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from kvlab import sizes
from kvlab.explorers import base
from kvlab.explorers.controls import CUSTOM, dropdown, parse_count, slider, text_field
from kvlab.explorers.learner import computed_by
from kvlab.explorers.words import count, facts, number
from kvlab.figures import labels, style
from kvlab.gpus import gpus
from kvlab.models import presets

SHAPE = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")
LOWEST, HIGHEST = sizes.KIB, sizes.PIB  # ends of the byte axis, whatever the setting


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

    setting: Setting
    per_token: int  # one more token of one request
    per_request: int
    total: int
    variants: dict[str, int]  # MHA, GQA, MQA -> total bytes of the batch
    stored_heads: dict[str, int]  # MHA, GQA, MQA -> KV heads in each layer
    computed_by: str  # a sentence for the caption

    @property
    def gpu_bytes(self) -> int:
        """Nominal."""
        return gpus()[self.setting.gpu].memory_bytes

    @property
    def gb(self) -> Fraction:
        """The total in GB of 10^9 bytes, exactly."""
        return sizes.as_units(self.total)["GB"]

    @property
    def gib(self) -> Fraction:
        """The total in GiB of 2^30 bytes, exactly."""
        return sizes.as_units(self.total)["GiB"]

    def fits(self, variant: str = "GQA") -> bool:
        """Whether the cache alone, without weights, is within the device's nominal memory."""
        return self.variants[variant] <= self.gpu_bytes

    def fit(self, variant: str = "GQA") -> str:
        """`fits` in words."""
        return "fits" if self.fits(variant) else "does not fit"

    def describe(self) -> str:
        """The picture in words."""
        parts = (f"{variant} {_axis_value(total)}, {self.fit(variant)}" for variant, total in self.variants.items())
        return (
            f"Whole batch beside {self.setting.gpu} with {self.gpu_bytes // sizes.GB} GB nominal: {'; '.join(parts)}."
        )

    def tell(self) -> str:
        """The reading as HTML."""
        gpu = f"the {number(self.gpu_bytes, 'B')} (nominal) of one {self.setting.gpu}"
        return facts(
            (
                ("one token", number(self.per_token, "B")),
                ("one request", f"{number(self.per_request, 'B')} {count(self.setting.tokens, 'token')}"),
                ("all requests", f"{number(self.total, 'B')} {count(self.setting.batch, 'request')}"),
                ("in GB and GiB", f"{number(self.gb, 'GB')} {number(self.gib, 'GiB')}"),
                ("on the GPU", f"the cache alone {self.fit()} in {gpu}"),
            )
        )


def _axis_value(n_bytes: int) -> str:
    """A total beside the axis, short at any size."""
    return labels.byte_label(n_bytes) if n_bytes < 10**4 * sizes.PIB else f"{float(n_bytes):.3g} B"


def reading(setting: Setting, kv_bytes: Callable | None = None) -> Reading:
    """What `setting` costs. The caption says whether the learner's `kv_bytes` gives the same.

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

    def fault(value, name: str) -> str:
        if _is_whole(value) and value == answers[name]:
            return ""
        given = f"{value:,}" if _is_whole(value) else f"{value!r}"
        where = f"kv_bytes{calls[name]}" if name != "total" else "here"
        return f" gives {given} {where}, the library {answers[name]:,}"

    return Reading(
        setting,
        per_token=answers["per_token"],
        per_request=answers["per_request"],
        total=answers["total"],
        variants={variant: answers[variant] for variant in stored_heads},
        stored_heads=stored_heads,
        computed_by=computed_by("kv_bytes", kv_bytes, calls, fault),
    )


def _is_whole(value) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


class Chart:
    """The picture: MHA, GQA and MQA totals on a byte axis that never moves, the device's memory as a line."""

    def __init__(self):
        with base.styled_figure(2.6) as self.figure:
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
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        return [self.gpu_line, self.gpu_name, *self.stems, *self.dots, *self.names, *self.values]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading. A total outside the axis sits at its end, marked with an arrow."""
        self.gpu_line.set_xdata([now.gpu_bytes] * 2)
        self.gpu_name.set_x(now.gpu_bytes)
        self.gpu_name.set_text(f"{now.setting.gpu}: {now.gpu_bytes // sizes.GB} GB nominal")
        for row, (variant, total) in enumerate(now.variants.items()):
            at = min(max(total, LOWEST), HIGHEST)
            side = "" if at == total else ("→ " if total > HIGHEST else "← ")
            self.stems[row].set_data([LOWEST, at], [row, row])
            self.dots[row].set_data([at], [row])
            heads = now.stored_heads[variant]
            self.names[row].set_text(f"{variant}\n{heads} KV head{'s' if heads > 1 else ''}")
            self.values[row].set_text(f"{side}{_axis_value(total)}\n{now.fit(variant)}")


def _reading_in_labels(setting: Setting, kv_bytes: Callable | None = None) -> Reading:
    """As `reading`, with TypeError or ValueError in the words that the controls use."""
    try:
        return reading(setting, kv_bytes)
    except (TypeError, ValueError) as problem:
        said = str(problem).replace("num_key_value_heads", "KV heads").replace("num_attention_heads", "query heads")
        raise ValueError(said) from None


class Explorer(base.Explorer):
    """Sliders for the shape, a list of models that sets them, and text fields for what may be large.

    Pass your own `kv_bytes`: the caption names it once it is right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(_reading_in_labels)

    def __init__(self, kv_bytes: Callable | None = None):
        start = Setting()
        self.preset = dropdown("model", [CUSTOM, *presets(full_attention_only=True)], "Llama-3-8B", "kv-preset")
        self.gpu = dropdown("GPU", list(gpus()), start.gpu, "kv-gpu")
        self.num_hidden_layers = slider("layers", start.num_hidden_layers, 1, 128, "kv-layers")
        self.num_attention_heads = slider("query heads", start.num_attention_heads, 1, 128, "kv-query-heads")
        self.num_key_value_heads = slider("KV heads", start.num_key_value_heads, 1, 128, "kv-kv-heads")
        self.head_dim = slider("head width", start.head_dim, 1, 256, "kv-head-dim")
        self.tokens = text_field("tokens", start.tokens, "kv-tokens")
        self.batch = text_field("requests", start.batch, "kv-batch")
        self.dtype = dropdown("element", list(sizes.BITS_PER_ELEMENT), start.dtype, "kv-dtype")
        self.shape = {key: getattr(self, key) for key in SHAPE}
        self.offer(self.preset, self._set_shape, *self.shape.values())
        super().__init__((self.preset, self.gpu, *self.shape.values(), self.tokens, self.batch, self.dtype), kv_bytes)

    def setting(self) -> Setting:
        """What the controls say, both text fields read as whole numbers. ValueError as `parse_count`."""
        said = super().setting()
        return replace(
            said,
            batch=parse_count("requests", said.batch),
            tokens=parse_count("tokens", said.tokens, at_least=0),
        )

    def _set_shape(self, model: str) -> None:
        for key, control in self.shape.items():
            control.value = presets()[model].attention_config[key]


explore, static_figure = Explorer, Explorer.static_figure
