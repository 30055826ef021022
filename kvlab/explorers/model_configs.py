"""Explorer of lesson 06: from a preset or a pasted config.json to what each kind of layer stores."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from kvlab import sizes
from kvlab.allocation import STEPS, allocation
from kvlab.configs import Layer, ModelConfig, read_config
from kvlab.explorers import base
from kvlab.explorers.controls import between, dropdown, parse_count, text_area, text_field
from kvlab.explorers.learner import computed_by
from kvlab.explorers.words import facts, spans
from kvlab.figures import style
from kvlab.figures.labels import byte_label
from kvlab.gpus import gpus
from kvlab.models import preset, presets
from kvlab.reprs import short_repr

FIRST, PASTED = "Gemma-2-27B", "pasted config.json"
MOST_TOKENS, MOST_TEXT = 10**6, 200_000  # characters; the longest real ones have some thousand
BLOCK_SIZE = 16
LOWEST, HIGHEST = sizes.MIB, 4 * sizes.TIB  # ends of the byte axis
PLACES = sorted({round(2 ** (step / 3)) for step in range(60)} | {MOST_TOKENS})  # tokens at which the curves are drawn
KINDS = ("state", "cross", "latent", "window", "full")  # from the bottom: what stays flat lies below
COLOURS = dict(zip(KINDS, (style.PINK, style.SKY, style.GREEN, style.ORANGE, style.BLUE), strict=True))
CONV_WIDTH = 4  # as `transformers` keeps it
PROBES = (("Gemma-2-27B", 8192, 16), ("DeepSeek-V3", 5, 8), ("Jamba-v0.1", 3, 4), ("Mistral-7B-v0.1", 5000, 16))


@dataclass(frozen=True)
class Setting:
    """What the controls say. `config` is the dict of a config.json, `gpu` names a row of `kvlab.gpus`."""

    config: dict = field(default_factory=lambda: preset(FIRST).config)
    tokens: int = 8192
    dtype: str = "BF16"
    gpu: str = "H100 SXM"


@dataclass(frozen=True)
class Reading:
    """What a request stores, in bytes. `curves` has the bytes of each kind at PLACES, `allocated` those of all."""

    model: ModelConfig
    setting: Setting
    payload: int
    steps: dict[str, int]  # of `kvlab.allocation`
    growth: int  # bytes that one more token adds
    curves: dict[str, list[int]]
    allocated: list[int]
    computed_by: str  # a sentence for the caption

    @property
    def apart(self) -> int:
        """Bytes that do not depend on the tokens: recurrent state and cross-attention."""
        return _apart(self.model, sizes.dtype_bits(self.setting.dtype))

    @property
    def total(self) -> int:
        """Bytes of the payload and of what is `apart`."""
        return self.payload + self.apart

    @property
    def fits(self) -> bool:
        """Whether the total, without weights, is within the device's nominal memory."""
        return self.total <= gpus()[self.setting.gpu].memory_bytes

    @property
    def layers(self) -> str:
        """The layers by kind: "23 full, 23 window of 4,096"."""
        return ", ".join(
            f"{n} {layer.kind}" + (f" of {layer.window:,}" if layer.window else "")
            for layer, n in Counter(self.model.layers).items()
        )

    def describe(self) -> str:
        """The picture in words."""
        fit = "fits in" if self.fits else "does not fit in"
        total, allocated = byte_label(self.total), byte_label(sum(self.steps.values()) + self.apart)
        return (
            f"{self.layers}: {total} at {self.setting.tokens:,} tokens, one more adds {self.growth:,} B; "
            f"{allocated} allocated; {fit} {self.setting.gpu}."
        )

    def tell(self) -> str:
        """The reading as HTML."""
        rows = [
            ("layers", self.layers),
            ("from", _origins(self.model)),
            ("payload", spans(sizes.show_bytes(self.payload))),
            ("one more token", spans(f"{self.growth:,} B")),
            ("allocated", spans(sizes.show_bytes(sum(self.steps.values())))),
            ("of which added", spans(*(f"{step} {byte_label(self.steps[step])}" for step in STEPS[1:]))),
        ]
        if self.apart:
            rows.append(("state and cross", spans(f"{sizes.show_bytes(self.apart)}, whatever the tokens")))
        return facts(rows)


def _origins(model: ModelConfig) -> str:
    names = {"num_key_value_heads": "KV heads", "head_dim": "head width", "sliding_window": "window"}
    names |= {"kv_lora_rank": "rank", "qk_rope_head_dim": "rotary", "layers": "layers"}
    return spans(*(f"{said}: {model.origins[name]}" for name, said in names.items() if name in model.origins))


def reading(setting: Setting, cache_bytes: Callable | None = None) -> Reading:
    """What `setting` stores. The caption says whether the learner's `cache_bytes` gives the same payload.

    ValueError begins with the field, or the control, that is at fault.
    """
    tokens = between("tokens", setting.tokens, 1, MOST_TOKENS)
    bits, model = sizes.dtype_bits(setting.dtype), read_config(setting.config)
    payload = _payload(model, tokens, bits)
    growth = _payload(model, tokens + 1, bits) - payload
    return Reading(
        model,
        setting,
        payload,
        allocation(model, tokens, bits, BLOCK_SIZE),
        growth,
        *_curves(model.layers, model.state_bytes(CONV_WIDTH), model.cross_bytes(bits), bits),
        _caption(cache_bytes, (setting.config, tokens, bits)),
    )


@lru_cache(16)
def _curves(layers: tuple[Layer, ...], state: int, cross: int, bits: int) -> tuple[dict[str, list[int]], list[int]]:
    """Bytes of each kind, and bytes allocated, at PLACES. They are the same wherever the tokens are moved to."""
    made = Counter(layers)
    curves = {"state": [state] * len(PLACES), "cross": [cross] * len(PLACES)}
    for kind in ("latent", "window", "full"):
        mine = [(each, n * each.row_elements * bits) for each, n in made.items() if each.kind == kind]
        curves[kind] = [sizes.bits_to_bytes(sum(each.rows(place) * row for each, row in mine)) for place in PLACES]
    model = ModelConfig("", 1, layers)
    pages = [sum(allocation(model, place, bits, BLOCK_SIZE).values()) for place in PLACES]
    return curves, [each + state + cross for each in pages]


def _payload(model: ModelConfig, tokens: int, bits: int) -> int:
    return sizes.bits_to_bytes(model.elements(tokens) * bits)


def _apart(model: ModelConfig, bits: int) -> int:
    return model.state_bytes(CONV_WIDTH) + model.cross_bytes(bits)


def _caption(cache_bytes, here: tuple) -> str:
    calls = {"here": here} | {f"of {name}": (preset(name).config, *rest) for name, *rest in PROBES}

    def fault(given, where: str) -> str:
        config, tokens, bits = calls[where]
        wanted = _payload(read_config(config), tokens, bits)
        if type(given) is int and given == wanted:
            return ""
        gives = f"{given:,}" if type(given) is int and given.bit_length() < 200 else short_repr(given)
        return f" gives {gives} {where}, the library {wanted:,}"

    caption = computed_by("cache_bytes", cache_bytes, calls, fault)
    return f"payload {caption}" if caption == "computed by your cache_bytes" else caption


def parse_config(text: str) -> dict:
    """The dict that a person pasted. ValueError says what is wrong with it."""
    if not text.strip():
        raise ValueError("config.json: wanted one in the field, got nothing")
    if len(text) > MOST_TEXT:
        raise ValueError(f"config.json: wanted at most {MOST_TEXT:,} characters, got {len(text):,}")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as problem:
        raise ValueError(f"config.json: no JSON, line {problem.lineno}: {problem.msg}") from None
    except (RecursionError, ValueError):  # a number of thousands of digits
        raise ValueError("config.json: no configuration looks like that") from None
    if type(found) is not dict:
        raise ValueError(f"config.json: wanted an object with fields, got a {type(found).__name__}")
    return found


class Chart:
    """Bytes by layer kind, stacked, against tokens; allocated dashed, every device's memory thin, the chosen one bold.

    The axis is that of a logarithm, so that an area says nothing by its height: the picture says so.
    """

    def __init__(self):
        with base.styled_figure(3.9) as self.figure:
            ax = self.figure.add_axes((0.155, 0.135, 0.62, 0.7))
        self.axes = ax
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        ax.set_xlim(1, MOST_TOKENS)
        ax.set_ylim(LOWEST, HIGHEST)
        ax.xaxis.set_major_locator(FixedLocator([2**power for power in (0, 4, 8, 12)] + [MOST_TOKENS]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
        ax.yaxis.set_major_locator(FixedLocator([2**power for power in range(20, 43, 4)]))
        ax.yaxis.set_major_formatter(FuncFormatter(byte_label))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_locator(NullLocator())
        ax.set_xlabel("tokens of one request (log scale)")
        hint = "stacked on a log scale:\nread the edges, not the heights"
        ax.text(0.02, 0.98, hint, transform=ax.transAxes, ha="left", va="top", fontsize=8.5, color=style.SOFT)
        for memory in {gpu.memory_bytes for gpu in gpus().values()}:
            ax.axhline(memory, color=style.SOFT, linewidth=0.5)
        self.areas = {}
        for kind in KINDS:
            colour = COLOURS[kind]
            self.areas[kind] = ax.fill_between(
                [1, 2], [LOWEST] * 2, [LOWEST] * 2, color=colour, alpha=0.75, linewidth=0
            )
        self.top = ax.plot([], [], color=style.INK, linewidth=1.6)[0]
        self.pages = ax.plot([], [], color=style.VERMILION, linewidth=1.4, linestyle=(0, (4, 2)))[0]
        self.here = ax.axvline(1, color=style.SOFT, linewidth=1, linestyle=":")
        self.dot = ax.plot([], [], color=style.INK, marker="o", markersize=6, linestyle="", clip_on=False)[0]
        self.device = ax.axhline(LOWEST, color=style.SOFT, linewidth=2)
        outside = ax.get_yaxis_transform()  # x as a fraction of the axes, y in bytes
        beside = {"transform": outside, "ha": "left", "va": "center", "fontsize": 9, "linespacing": 1.1}
        self.device_name = ax.text(1.03, LOWEST, "", color=style.SOFT, **beside)
        self.value = ax.text(1.03, LOWEST, "", **beside)
        names = ("full", "window", "latent", "cross", "state")
        keys = [self.top, self.pages, *(Patch(color=COLOURS[kind], alpha=0.75) for kind in names)]
        rows = ["total", "allocated", *names]
        with rc_context(style.STYLE):
            self.legend = self.figure.legend(
                keys,
                rows,
                loc="upper center",
                ncols=4,
                fontsize=9,
                frameon=False,
                columnspacing=1.2,
                handlelength=1.6,
            )

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        lines = (self.top, self.pages, self.here, self.device, self.dot)
        return [*self.areas.values(), *lines, self.device_name, self.value, self.legend]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading. What lies beyond the axis is cut at its end."""
        below = [0] * len(PLACES)
        for kind in KINDS:
            above = [low + more for low, more in zip(below, now.curves[kind], strict=True)]
            floor, ceiling = _inside(below), _inside(above)
            self.areas[kind].set_verts(
                [[*zip(PLACES, ceiling, strict=True), *zip(PLACES[::-1], floor[::-1], strict=True)]]
            )
            below = above
        # The names that the picture does not need are taken away; the others keep their places.
        named = zip(self.legend.legend_handles, self.legend.get_texts(), strict=True)
        for handle, text in named:
            used = any(now.curves.get(text.get_text(), [1]))
            handle.set_visible(used)
            text.set_visible(used)
        self.top.set_data(PLACES, _inside(below))
        self.pages.set_data(PLACES, _inside(now.allocated))
        self.here.set_xdata([now.setting.tokens] * 2)
        total = _inside([now.total])[0]
        self.dot.set_data([now.setting.tokens], [total])
        gpu = gpus()[now.setting.gpu]
        self.device.set_ydata([gpu.memory_bytes] * 2)
        self.device_name.set(y=gpu.memory_bytes, text=f"{now.setting.gpu}\n{gpu.memory_gb} GB")
        near = abs(_doublings(total) - _doublings(gpu.memory_bytes)) < 2.6
        shift = (1 if total >= gpu.memory_bytes else -1) * 2.6 if near else 0
        at = 2 ** min(max(_doublings(gpu.memory_bytes) + shift if near else _doublings(total), 20), 42)
        self.value.set(y=at, text=f"{byte_label(now.total)}\nat the dot")


def _inside(values: list[int]) -> list[float]:
    return [float(min(max(value, LOWEST), HIGHEST)) for value in values]


def _doublings(n_bytes: float) -> float:
    return int(n_bytes).bit_length() - 1


class Explorer(base.Explorer):
    """A list of models, or a field to paste a config.json into; tokens, element and device.

    Pass your own `cache_bytes`: the caption names it once it is right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(self, cache_bytes: Callable | None = None):
        start = Setting()
        self.preset = dropdown("model", [*presets(), PASTED], FIRST, "kv-preset")
        self.tokens = text_field("tokens", start.tokens, "kv-tokens")
        self.dtype = dropdown("element", list(sizes.BITS_PER_ELEMENT), start.dtype, "kv-dtype")
        self.gpu = dropdown("GPU", list(gpus()), start.gpu, "kv-gpu")
        self.paste = text_area("config.json", "paste one here, then press Tab", "kv-paste")
        self.paste.observe(self._choose_paste, "value")
        super().__init__((self.preset, self.tokens, self.dtype, self.gpu, self.paste), cache_bytes)

    def setting(self) -> Setting:
        """What the controls say. ValueError as `parse_config` or `parse_count`."""
        pasted = self.preset.value == PASTED
        config = parse_config(self.paste.value) if pasted else preset(self.preset.value).config
        return Setting(config, parse_count("tokens", self.tokens.value), self.dtype.value, self.gpu.value)

    def _choose_paste(self, change) -> None:
        if change["new"].strip():
            with self.together():
                self.preset.value = PASTED


explore, static_figure = Explorer, Explorer.static_figure
