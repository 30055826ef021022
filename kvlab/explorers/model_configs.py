"""Explorer of lesson 06: from a preset or a pasted config.json to what each kind of layer stores.

`reading` is the arithmetic, `explore` the controls, `static_figure` the picture for a page without controls.
"""

import json
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from kvlab import sizes
from kvlab.allocation import STEPS, allocation
from kvlab.configs import Layer, ModelConfig, read_config
from kvlab.explorers import controls
from kvlab.explorers.byte_formula import parse_count
from kvlab.explorers.controls import ask, dropdown, facts, library_instead, text_area, text_field
from kvlab.figures import style
from kvlab.figures.labels import byte_label
from kvlab.figures.picture import CSS_DPI, Picture
from kvlab.gpus import gpus
from kvlab.models import preset, presets
from kvlab.rules import short

PASTED = "pasted config.json"
MOST_TOKENS, MOST_TEXT = 10**6, 200_000  # characters; the longest real ones have some thousand
BLOCK = 16
LOWEST, HIGHEST = sizes.MIB, 4 * sizes.TIB  # ends of the byte axis
PLACES = sorted({round(2 ** (step / 3)) for step in range(60)} | {MOST_TOKENS})  # tokens at which the curves are drawn
KINDS = ("state", "cross", "latent", "window", "full")  # from the bottom: what stays flat lies below
COLOURS = dict(zip(KINDS, (style.PINK, style.SKY, style.GREEN, style.ORANGE, style.BLUE), strict=True))
CONV_WIDTH = 4  # as `transformers` keeps it
PROBES = (("Gemma-2-27B", 8192, 16), ("DeepSeek-V3", 5, 8), ("Jamba-v0.1", 3, 4), ("Mistral-7B-v0.1", 5000, 16))


@dataclass(frozen=True)
class Setting:
    """What the controls say. `config` is the dict of a config.json, `gpu` names a row of `kvlab.gpus`."""

    config: dict
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
        return self.payload + self.apart

    @property
    def fits(self) -> bool:
        return self.total <= gpus()[self.setting.gpu].memory_bytes


def reading(setting: Setting, cache_bytes=None) -> Reading:
    """What `setting` stores; the payload by the learner's `cache_bytes` where that is right, else by the library.

    ValueError begins with the field, or the control, that is at fault.
    """
    tokens = sizes.whole("tokens", setting.tokens)
    if tokens > MOST_TOKENS:
        raise ValueError(f"tokens: wanted at most {MOST_TOKENS:,}, got {tokens:,}")
    bits, model = sizes.dtype_bits(setting.dtype), read_config(setting.config)
    payload = _payload(model, tokens, bits)
    growth = _payload(model, tokens + 1, bits) - payload
    return Reading(
        model,
        setting,
        payload,
        allocation(model, tokens, bits, BLOCK),
        growth,
        *_curves(model.layers, model.state_bytes(CONV_WIDTH), model.cross_bytes(bits), bits),
        _whose(cache_bytes, (setting.config, tokens, bits), payload),
    )


@lru_cache(16)
def _curves(layers: tuple[Layer, ...], state: int, cross: int, bits: int) -> tuple[dict[str, list[int]], list[int]]:
    """Bytes of each kind, and bytes allocated, at PLACES. They are the same wherever the tokens are moved to."""
    made = Counter(layers)
    curves = {"state": [state] * len(PLACES), "cross": [cross] * len(PLACES)}
    for kind in ("latent", "window", "full"):
        mine = [(each, n * each.row_elements * bits) for each, n in made.items() if each.kind == kind]
        curves[kind] = [(sum(each.rows(place) * row for each, row in mine) + 7) // 8 for place in PLACES]
    model = ModelConfig("", 1, layers)
    pages = [sum(allocation(model, place, bits, BLOCK).values()) for place in PLACES]
    return curves, [each + state + cross for each in pages]


def _payload(model: ModelConfig, tokens: int, bits: int) -> int:
    return (model.elements(tokens) * bits + 7) // 8


def _apart(model: ModelConfig, bits: int) -> int:
    return model.state_bytes(CONV_WIDTH) + model.cross_bytes(bits)


def _whose(cache_bytes, here: tuple, payload: int) -> str:
    """The caption: whose payload is shown. Where the learner's is right, it is the library's too."""
    calls = [(here, payload, "here")]
    for name, tokens, bits in PROBES:
        config = preset(name).config
        calls.append(((config, tokens, bits), _payload(read_config(config), tokens, bits), f"of {name}"))
    for (config, tokens, bits), wanted, where in calls:
        mine, problem = ask("cache_bytes", cache_bytes, config, tokens, bits)
        if problem:
            return problem
        if type(mine) is not int or mine != wanted:
            gives = f"{mine:,}" if type(mine) is int and mine.bit_length() < 200 else short(mine)
            return library_instead(f"your cache_bytes gives {gives} {where}, the library {wanted:,}")
    return "payload computed by your cache_bytes"


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
        with rc_context(style.STYLE):
            self.figure = Figure((5.4, 3.9), dpi=CSS_DPI)  # narrow: its text stays readable when scaled
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
    def moving(self):
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


def layers_in_words(model: ModelConfig) -> str:
    """The layers by kind: "23 full, 23 window of 4,096"."""
    said = []
    for layer, n in Counter(model.layers).items():
        said.append(f"{n} {layer.kind}" + (f" of {layer.window:,}" if layer.window else ""))
    return ", ".join(said)


def describe(now: Reading) -> str:
    """The picture in words."""
    fit = "fits in" if now.fits else "does not fit in"
    total, allocated = byte_label(now.total), byte_label(sum(now.steps.values()) + now.apart)
    return (
        f"{layers_in_words(now.model)}: {total} at {now.setting.tokens:,} tokens, one more adds {now.growth:,} B; "
        f"{allocated} allocated; {fit} {now.setting.gpu}."
    )


def static_figure(cache_bytes=None, setting: Setting | None = None) -> Picture:
    """The explorer's picture at its first setting, for a page that cannot run it."""
    chart, now = Chart(), reading(setting or Setting(preset("Gemma-2-27B").config), cache_bytes)
    chart.set(now)
    return Picture(chart.figure, describe(now))


def explore(cache_bytes=None) -> "Explorer":
    """The explorer as a widget. Pass your own `cache_bytes`: the payload comes from it once it is right."""
    return Explorer(cache_bytes)


class Explorer(controls.Explorer):
    """A list of models, or a field to paste a config.json into; tokens, element and device."""

    def __init__(self, cache_bytes=None):
        self.cache_bytes = cache_bytes
        self.preset = dropdown("model", [*presets(), PASTED], "Gemma-2-27B", "kv-preset")
        self.tokens = text_field("tokens", 8192, "kv-tokens")
        self.dtype = dropdown("element", list(sizes.BITS_PER_ELEMENT), "BF16", "kv-dtype")
        self.gpu = dropdown("GPU", list(gpus()), "H100 SXM", "kv-gpu")
        self.paste = text_area("config.json", "paste one here, then press Tab", "kv-paste")
        self.paste.observe(self._choose_paste, "value")
        super().__init__((self.preset, self.tokens, self.dtype, self.gpu, self.paste), Chart())

    def setting(self) -> Setting:
        """What the controls say. ValueError when a text field holds no number, or no configuration."""
        pasted = self.preset.value == PASTED
        config = parse_config(self.paste.value) if pasted else preset(self.preset.value).config
        return Setting(config, parse_count("tokens", self.tokens.value), self.dtype.value, self.gpu.value)

    def read(self, setting: Setting) -> Reading:
        """The reading, the payload by the learner's function where that is right."""
        return reading(setting, self.cache_bytes)

    def tell(self, setting: Setting, now: Reading) -> str:
        """The reading as HTML."""
        added = " ".join(f"<span>{step} {byte_label(now.steps[step])}</span>" for step in STEPS[1:])
        rows = [
            ("layers", layers_in_words(now.model)),
            ("from", _origins(now.model)),
            ("payload", f"<span>{sizes.show_bytes(now.payload)}</span>"),
            ("one more token", f"<span>{now.growth:,} B</span>"),
            ("allocated", f"<span>{sizes.show_bytes(sum(now.steps.values()))}</span>"),
            ("of which added", added),
        ]
        if now.apart:
            rows.append(("state and cross", f"<span>{sizes.show_bytes(now.apart)}, whatever the tokens</span>"))
        return facts(rows)

    def describe(self, now: Reading) -> str:
        """The picture in words."""
        return describe(now)

    def _choose_paste(self, change) -> None:
        if change["new"].strip():
            with self.together():
                self.preset.value = PASTED


def _origins(model: ModelConfig) -> str:
    names = {"num_key_value_heads": "KV heads", "head_dim": "head width", "sliding_window": "window"}
    names |= {"kv_lora_rank": "rank", "qk_rope_head_dim": "rotary", "layers": "layers"}
    return " ".join(
        f"<span>{said}: {model.origins[name]}</span>" for name, said in names.items() if name in model.origins
    )
