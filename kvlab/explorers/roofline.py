"""Explorer of lesson 09: where a decode step of an 8B model lies under the roof of a device, and where it must stop."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isclose
from numbers import Integral, Real

from matplotlib.artist import Artist
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from kvlab import roofline
from kvlab.explorers import base
from kvlab.explorers.controls import dropdown, ladder
from kvlab.explorers.learner import computed_by
from kvlab.explorers.words import facts, sentence, spans
from kvlab.figures import style
from kvlab.gpus import Gpu, gpus
from kvlab.models import preset
from kvlab.reprs import short_repr
from kvlab.sizes import BITS_PER_ELEMENT, GB, dtype_bits, weight_bytes, whole

MODEL, NUM_PARAMS = "Llama-3-8B", 8_030_261_248  # counted in the lesson
LATENT = HEADS, RANK, ROPE = 128, 512, 64  # query heads, latent and rotary key of DeepSeek-V3
ATTENTION = {
    "MHA": "32 query heads, a KV head for each (hypothetical)",
    "GQA": f"32 query heads on 8 KV heads, as in {MODEL}",
    "MQA": "32 query heads on one KV head (hypothetical)",
    "MLA": "128 query heads on one latent of 512 + 64, absorbed, as in DeepSeek-V3 (hypothetical here)",
}
BATCHES = [2**n for n in range(13)]
CONTEXTS = [2**n for n in range(7, 18)]
LEAST, MOST = 0.05, 10**6  # ends of the axis of intensities
LOWEST, HIGHEST = 0.02, 10**4  # ends of the axis of TFLOP/s
TERA = 10**12
LEFT_OUT = (
    "left out, and on top of every bound: writes, activations, launches, communication;\n"
    "peaks are as printed, dense, in 16 bits"
)


@dataclass(frozen=True)
class Setting:
    """What the controls say. `gpu` names a row of `kvlab.gpus`; `weights` and `cache` are types of elements."""

    batch: int = 64
    context: int = 8192
    variant: str = "GQA"
    weights: str = "BF16"
    cache: str = "BF16"
    gpu: str = "H100 SXM"


@dataclass(frozen=True)
class Reading:
    """A decode step and the prefill of one prompt of the same length, each as (FLOPs, bytes), on a device."""

    setting: Setting
    decode: tuple[int, int]
    alone: tuple[int, int]  # the step with a batch of one
    prefill: tuple[int, int]
    ceiling: float  # FLOP/byte that no batch gets beyond
    computed_by: str  # a sentence for the caption

    @property
    def device(self) -> Gpu:
        """The row of `kvlab.gpus` that the setting names."""
        return gpus()[self.setting.gpu]

    @property
    def peak(self) -> float:
        """FLOP/s."""
        return self.device.dense_bf16_tflops * TERA

    @property
    def bandwidth(self) -> float:
        """B/s."""
        return self.device.peak_bandwidth_gb_s * GB

    @property
    def ridge(self) -> float:
        """FLOP/byte from which on arithmetic bounds a step."""
        return self.peak / self.bandwidth

    @property
    def intensity(self) -> float:
        """FLOP/byte of the decode step."""
        return self.decode[0] / self.decode[1]

    @property
    def seconds(self) -> float:
        """The least time of the decode step."""
        return roofline.step_time_bound(*self.decode, self.peak, self.bandwidth)

    def attainable(self, intensity: float) -> float:
        """FLOP/s at the most."""
        return min(self.peak, intensity * self.bandwidth)

    @property
    def verdict(self) -> str:
        """What the batch has reached, in one sentence without its full stop."""
        where = "beyond" if self.reachable else "below"
        limit = f"the ceiling {_said(self.ceiling)} lies {where} the ridge {_said(self.ridge)} FLOP/byte"
        return f"{self.bound_by}; {limit}, so {self.prospect}"

    @property
    def reachable(self) -> bool:
        """Whether some batch gets to the ridge; the ceiling itself is never reached."""
        return self.ceiling > self.ridge

    @property
    def bound_by(self) -> str:
        """Whether arithmetic or memory bounds the decode step, in words."""
        if self.intensity >= self.ridge:
            return "arithmetic bounds this step"
        return f"memory bounds this step: at most {self.intensity / self.ridge:.2%} of the peak"

    @property
    def prospect(self) -> str:
        """Whether some batch gets to the ridge, in words."""
        return "a large enough batch reaches it" if self.reachable else "no batch reaches it"

    @property
    def prefill_intensity(self) -> float:
        """FLOP/byte of the prefill."""
        return self.prefill[0] / self.prefill[1]

    def describe(self) -> str:
        """The picture in words."""
        setting, left_out = self.setting, " ".join(LEFT_OUT.split())
        return (
            f"{sentence(self.verdict)} "
            f"On the {setting.gpu}, decode with batch {setting.batch:,} at {setting.context:,} tokens has "
            f"{_said(self.intensity)} FLOP/byte, prefill of as many {_said(self.prefill_intensity)}. "
            f"{sentence(left_out)}"
        )

    def tell(self) -> str:
        """The reading as HTML."""
        setting = self.setting
        weights = weight_bytes(NUM_PARAMS, dtype_bits(setting.weights))
        ceiling, ridge = f"below {_said(self.ceiling)} FLOP/byte", f"ridge {_said(self.ridge)}"
        at_least, at_most = f"at least {_time(self.seconds)}", f"at most {_said(setting.batch / self.seconds)} tokens/s"
        where = "within" if self.decode[1] <= self.device.memory_bytes else "beyond"
        memory = f"{where} the {self.device.memory_gb} GB (nominal)"
        prefill = f"{_said(self.prefill_intensity)} FLOP/byte", f"one prompt of {setting.context:,} tokens"
        return facts(
            (
                ("attention", ATTENTION[setting.variant]),
                ("decode", spans(f"{_said(self.intensity)} FLOP/byte", self.bound_by)),
                ("with any batch", spans(ceiling, ridge, self.prospect)),
                ("a step", spans(at_least, at_most)),
                ("prefill", spans(*prefill)),
                ("it reads", spans(f"weights {_gb(weights)}", f"cache {_gb(self.decode[1] - weights)}", memory)),
            )
        )


def _said(value: float) -> str:
    """In at least three digits: "1.19", "18.96", "295.2", "8,705"."""
    return f"{value:,.{2 if value < 100 else 1 if value < 1000 else 0}f}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:,.4g} ms" if seconds < 1 else f"{seconds:,.4g} s"


def _gb(n_bytes: int) -> str:
    """In four digits, or all before the point: "0.2684 GB", "16.06 GB", "17,592 GB"."""
    return f"{n_bytes / GB:,.4g} GB" if n_bytes < 1000 * GB else f"{n_bytes / GB:,.0f} GB"


def reading(
    setting: Setting, decode_cost: Callable | None = None, intensity_ceiling: Callable | None = None
) -> Reading:
    """The counts of a setting. The caption says whether the learner's functions give the same.

    TypeError or ValueError on a setting that has no answer.
    """
    batch, context = whole("batch", setting.batch), whole("context", setting.context)
    bits = dtype_bits(setting.weights), dtype_bits(setting.cache)
    for name, known in (("variant", ATTENTION), ("gpu", gpus())):
        if getattr(setting, name) not in known:
            raise ValueError(f"{name}: wanted one of {', '.join(known)}, got {getattr(setting, name)!r}")
    if setting.variant == "MLA":
        found = _latent(batch, context, *bits)
        return Reading(setting, *found, "computed by the library: your functions count no latent")
    config = _config(setting.variant)
    decode, alone = (roofline.decode_cost(config, NUM_PARAMS, each, context, *bits) for each in (batch, 1))
    prefill = roofline.prefill_cost(config, NUM_PARAMS, context, *bits)
    ceiling = roofline.intensity_ceiling(config, NUM_PARAMS, context, bits[1])
    # One call beside the setting: right at whole bytes is not yet right.
    asked = (batch, context, *bits), (1, context, *bits), (3, 7, 5, 3)
    decode_by = _decode_caption(decode_cost, config, asked)
    ceiling_by = _ceiling_caption(intensity_ceiling, (config, NUM_PARAMS, context, bits[1]), ceiling)
    return Reading(setting, decode, alone, prefill, ceiling, f"decode: {decode_by}; ceiling: {ceiling_by}")


def _config(variant: str) -> dict:
    """The model with as many KV heads as the variant stores; everything else, N too, stays."""
    config = preset(MODEL).attention_config
    heads = {"MHA": config["num_attention_heads"], "GQA": config["num_key_value_heads"], "MQA": 1}[variant]
    return config | {"num_key_value_heads": heads}


def _latent(batch: int, context: int, weight_bits: int, kv_bits: int):
    """Decode step, the same with a batch of one, prefill and ceiling of the model with DeepSeek-V3's attention."""
    layers = preset(MODEL).attention_config["num_hidden_layers"]
    decode, alone = (
        roofline.latent_decode_cost(layers, *LATENT, NUM_PARAMS, each, context, weight_bits, kv_bits)
        for each in (batch, 1)
    )
    pairs = context * (context + 1) // 2
    flops = 2 * NUM_PARAMS * context + pairs * layers * roofline.latent_flops(*LATENT)
    ceiling = 8 * alone[0] / (context * layers * (RANK + ROPE) * kv_bits)
    return decode, alone, (flops, alone[1]), ceiling


def _decode_caption(decode_cost, config: dict, asked) -> str:
    calls = {each: (config, NUM_PARAMS, *each) for each in asked}

    def fault(cost, each) -> str:
        wanted = roofline.decode_cost(*calls[each])
        if _is_pair(cost) and tuple(cost) == wanted:
            return ""
        return f" gives {short_repr(cost)} for batch, context and bits {each}, the library {wanted}"

    return computed_by("decode_cost", decode_cost, calls, fault)


def _ceiling_caption(intensity_ceiling, call: tuple, wanted: float) -> str:
    def fault(value, _) -> str:
        right = isinstance(value, Real) and not isinstance(value, bool) and isclose(value, wanted, rel_tol=1e-9)
        return "" if right else f" gives {short_repr(value)}, the library {wanted:.4g}"

    return computed_by("intensity_ceiling", intensity_ceiling, {"": call}, fault)


def _is_pair(value) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(isinstance(each, Integral) and not isinstance(each, bool) for each in value)
    )


class Chart:
    """The picture: the roof of a device, decode and prefill under it, and the stretch that a batch can move in."""

    def __init__(self):
        with base.styled_figure(4.2) as self.figure:
            ax = self.figure.add_axes((0.145, 0.255, 0.835, 0.69))
        self.axes = ax
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(LEAST, MOST)
        ax.set_ylim(LOWEST, HIGHEST)
        ax.xaxis.set_major_locator(FixedLocator([0.1, 1, 10, 100, 1000, 10**4, 10**5]))
        ax.yaxis.set_major_locator(FixedLocator([0.1, 1, 10, 100, 1000, 10**4]))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,g}" if n < 10**5 else f"{n:,.0f}"))
        ax.tick_params(labelsize=8.5)
        ax.set_xlabel("intensity in FLOP/byte (log scale)", fontsize=9)
        ax.set_ylabel("attainable TFLOP/s (log scale)", fontsize=9)
        wide = {"linewidth": 7, "alpha": 0.55, "solid_capstyle": "butt"}
        (self.path,) = ax.plot([], [], color=style.SKY, label="batch 1 … ∞", **wide)
        (self.roof,) = ax.plot([], [], color=style.INK, linewidth=1.6, label="roof")
        (self.ridge,) = ax.plot([], [], color=style.SOFT, linewidth=1.2, linestyle=":")
        (self.ceiling,) = ax.plot([], [], color=style.VERMILION, linewidth=1.4, linestyle="--")
        look = {"linestyle": "", "markersize": 9, "clip_on": False, "markeredgecolor": "white"}
        (self.decode,) = ax.plot([], [], color=style.BLUE, marker="o", label="decode", **look)
        (self.prefill,) = ax.plot([], [], color=style.ORANGE, marker="s", label="prefill", **look)
        near = {"textcoords": "offset points", "fontsize": 9}
        self.ridge_name = ax.annotate("", (1, 0.25), (0, 0), va="center", color=style.SOFT, **near)
        self.ceiling_name = ax.annotate("", (1, 0.05), (0, 0), va="center", color=style.VERMILION, **near)
        self.gpu = ax.text(0.015, 0.985, "", transform=ax.transAxes, va="top", fontsize=9)
        self.figure.legend(
            handles=[self.roof, self.path, self.decode, self.prefill],
            loc="center",
            bbox_to_anchor=(0.54, 0.1),
            ncols=4,
            frameon=False,
            fontsize=8.5,
            handlelength=1.6,
            columnspacing=1.4,
        )
        self.figure.text(0.54, 0.035, LEFT_OUT, ha="center", va="center", fontsize=8, color=style.SOFT)

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        lines = [self.path, self.ridge, self.ceiling, self.roof, self.prefill, self.decode]
        return [*lines, self.ridge_name, self.ceiling_name, self.gpu]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading."""

        def height(intensity: float) -> float:
            return now.attainable(intensity) / TERA

        corners = [LEAST, now.ridge, MOST]
        self.roof.set_data(corners, [height(each) for each in corners])
        alone = now.alone[0] / now.alone[1]
        along = [alone, *([now.ridge] if alone < now.ridge < now.ceiling else []), now.ceiling]
        self.path.set_data(along, [height(each) for each in along])
        self.ridge.set_data([now.ridge] * 2, [LOWEST, height(now.ridge)])
        self.ceiling.set_data([now.ceiling] * 2, [LOWEST, height(now.ceiling)])
        self.decode.set_data([now.intensity], [height(now.intensity)])
        self.prefill.set_data([now.prefill_intensity], [height(now.prefill_intensity)])
        beyond = now.ceiling > now.ridge
        # Words stand where there is room: between the two lines, or on the far side of both.
        right = now.ceiling < 20_000 if beyond else now.ceiling * 60 < now.ridge
        self._name(self.ceiling_name, now.ceiling, f"ceiling {_said(now.ceiling)}", right)
        self._name(self.ridge_name, now.ridge, f"ridge {_said(now.ridge)}", right=not beyond)
        self.gpu.set_text(f"{now.setting.gpu}: {now.peak / TERA:g} TFLOP/s, {now.bandwidth / GB:,g} GB/s")

    @staticmethod
    def _name(text, at: float, said: str, right: bool) -> None:
        text.xy = (at, text.xy[1])
        text.set_position((4 if right else -4, 0))
        text.set(text=said, ha="left" if right else "right")


class Explorer(base.Explorer):
    """Batch and context in powers of two, the kind of attention, both types of elements and the device.

    Pass your own `decode_cost` and `intensity_ceiling`: the caption names them once they are right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(self, decode_cost: Callable | None = None, intensity_ceiling: Callable | None = None):
        start = Setting()
        self.batch = ladder("batch", BATCHES, start.batch, "kv-batch")
        self.context = ladder("context", CONTEXTS, start.context, "kv-context")
        self.variant = dropdown("attention", list(ATTENTION), start.variant, "kv-variant")
        self.gpu = dropdown("GPU", list(gpus()), start.gpu, "kv-gpu")
        self.weights = dropdown("weights", list(BITS_PER_ELEMENT), start.weights, "kv-weights")
        self.cache = dropdown("cache", list(BITS_PER_ELEMENT), start.cache, "kv-cache")
        controls = self.batch, self.context, self.variant, self.gpu, self.weights, self.cache
        super().__init__(controls, decode_cost, intensity_ceiling)


explore, static_figure = Explorer, Explorer.static_figure
