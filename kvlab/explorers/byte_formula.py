"""Explorer of lesson 02: from the shape of a model to the exact bytes of its cache, and to what fits.

`reading` is the arithmetic, `explore` the controls, `static_figure` the picture for a page without controls.
"""

import contextlib
import io
import operator
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from html import escape

import ipywidgets as widgets
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from kvlab import plots, sizes
from kvlab.explorers.blit import Blitter, DescribedImage
from kvlab.gpus import gpus
from kvlab.models import presets
from kvlab.pictures import CSS_DPI, Picture

CUSTOM = "custom"
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
    card = {key: getattr(setting, key) for key in SHAPE}
    sizes.bytes_per_token(card, bits)  # checks the shape as a whole, divisibility included
    layers, heads, kv_heads, head_dim = card.values()
    stored_heads = {"MHA": heads, "GQA": kv_heads, "MQA": 1}
    calls = {
        "total": (layers, setting.batch, setting.tokens, kv_heads, head_dim, bits),
        "per_token": (layers, 1, 1, kv_heads, head_dim, bits),
        "per_request": (layers, 1, setting.tokens, kv_heads, head_dim, bits),
    }
    for variant, hkv in stored_heads.items():
        calls[variant] = (layers, setting.batch, setting.tokens, hkv, head_dim, bits)
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
    unwritten = "computed by the library until yours is written"
    if kv_bytes is None:
        return answers, unwritten
    theirs = {}
    for name, call in calls.items():
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # a print for debugging has no place in the widget
                theirs[name] = kv_bytes(*call)
        except NotImplementedError:
            return answers, unwritten
        except Exception as error:
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            return answers, f"your kv_bytes raises {what}: showing the library's"
        if not _is_whole(theirs[name]) or theirs[name] != answers[name]:
            given = f"{theirs[name]:,}" if _is_whole(theirs[name]) else f"{theirs[name]!r}"
            where = f"kv_bytes{call}" if name != "total" else "here"
            difference = f"your kv_bytes gives {given} {where}, the library {answers[name]:,}"
            return answers, f"{difference}: showing the library's"
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
    number = Decimal(plain)
    if abs(number) >= 10**MOST_DIGITS:
        raise ValueError(f"{name}: wanted at most {MOST_DIGITS} digits, got {text[:40]!r}")
    if number != int(number):
        raise ValueError(wanted)
    return sizes.whole(name, int(number), at_least)


class Chart:
    """The picture: MHA, GQA and MQA totals on a byte axis that never moves, the device's memory as a line."""

    def __init__(self):
        with rc_context(plots.STYLE):
            self.figure = Figure((5.4, 2.6), dpi=CSS_DPI)  # narrow: its text stays readable when scaled
            ax = self.figure.add_axes((0.21, 0.225, 0.53, 0.64))
        self.axes = ax
        ax.set_xscale("log", base=2)
        ax.set_xlim(LOWEST, HIGHEST)
        ax.set_ylim(2.6, -0.6)
        ax.xaxis.set_major_locator(FixedLocator([sizes.KIB, sizes.MIB, sizes.GIB, sizes.TIB, sizes.PIB]))
        ax.xaxis.set_major_formatter(FuncFormatter(plots.byte_label))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_yticks([])
        ax.set_xlabel("bytes of the whole batch (log scale)")
        self.gpu_line = ax.axvline(LOWEST, color=plots.VERMILION, linewidth=1.6)
        self.gpu_name = ax.text(LOWEST, -0.72, "", color=plots.VERMILION, ha="center", va="bottom")
        self.names, self.stems, self.dots, self.values = [], [], [], []
        outside = ax.get_yaxis_transform()  # x as a fraction of the axes, y in rows
        for row, (colour, marker) in enumerate(((plots.BLUE, "o"), (plots.GREEN, "s"), (plots.PINK, "D"))):
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
    return plots.byte_label(n_bytes) if n_bytes < 10**4 * sizes.PIB else f"{float(n_bytes):.3g} B"


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


class Explorer(widgets.VBox):
    """Controls, the exact numbers as text, and the picture; `redraws` counts how often it was drawn."""

    def __init__(self, kv_bytes=None):
        self.kv_bytes = kv_bytes
        self.redraws = 0
        self._setting_many = False
        start = Setting()
        self.shape = {
            "num_hidden_layers": _slider("layers", start.num_hidden_layers, 128, "kv-layers"),
            "num_attention_heads": _slider("query heads", start.num_attention_heads, 128, "kv-query-heads"),
            "num_key_value_heads": _slider("KV heads", start.num_key_value_heads, 128, "kv-kv-heads"),
            "head_dim": _slider("head width", start.head_dim, 256, "kv-head-dim"),
        }
        self.preset = _dropdown("model", [CUSTOM, *presets(full_attention_only=True)], "Llama-3-8B", "kv-preset")
        self.dtype = _dropdown("element", list(sizes.BITS_PER_ELEMENT), start.dtype, "kv-dtype")
        self.gpu = _dropdown("GPU", list(gpus()), start.gpu, "kv-gpu")
        self.tokens = _text("tokens", start.tokens, "kv-tokens")
        self.batch = _text("requests", start.batch, "kv-batch")
        self.text = widgets.HTML()
        self.text.add_class("kv-reading")
        self.picture = DescribedImage(format="png", layout={"width": "100%", "max_width": "540px", "height": "auto"})
        self.picture.add_class("kv-picture")
        self._chart = Chart()
        self._blitter = Blitter(self._chart.figure, self._chart.moving)
        self._last = None
        self.preset.observe(self._choose_preset, "value")
        for control in self.shape.values():
            control.observe(self._leave_preset, "value")
        for control in (self.dtype, self.gpu, self.tokens, self.batch):
            control.observe(self._redraw, "value")
        controls = (self.preset, self.gpu, *self.shape.values(), self.tokens, self.batch, self.dtype)
        columns = "repeat(auto-fit, minmax(min(320px, 100%), 1fr))"  # one column where two would be cramped
        board = widgets.GridBox(controls, layout={"grid_template_columns": columns, "max_width": "760px"})
        super().__init__((board, self.text, self.picture), layout={"overflow": "hidden"})
        self._redraw()

    def setting(self) -> Setting:
        """What the controls say. ValueError when a text field holds no whole number."""
        return Setting(
            **{key: control.value for key, control in self.shape.items()},
            dtype=self.dtype.value,
            gpu=self.gpu.value,
            batch=parse_count("requests", self.batch.value),
            tokens=parse_count("tokens", self.tokens.value, at_least=0),
        )

    def _choose_preset(self, change) -> None:
        if self._setting_many or change["new"] == CUSTOM:
            return
        card = presets()[change["new"]].card
        self._setting_many = True  # four sliders move, the picture is drawn once
        try:
            for key, control in self.shape.items():
                control.value = card[key]
        finally:
            self._setting_many = False
        self._redraw()

    def _leave_preset(self, _change) -> None:
        if self._setting_many:
            return
        self._setting_many = True
        try:
            self.preset.value = CUSTOM
        finally:
            self._setting_many = False
        self._redraw()

    def _redraw(self, _change=None) -> None:
        try:
            setting = self.setting()
            now = reading(setting, self.kv_bytes)
        except (TypeError, ValueError) as problem:
            self.text.value = _page(self._last, str(problem))
            return
        self._last = (setting, now)
        self._chart.set(now)
        self.picture.value = self._blitter.png()
        self.picture.tooltip = describe(now)
        self.text.value = _page(self._last)
        self.redraws += 1


def _page(last, problem: str = "") -> str:
    """The reading as HTML, in JupyterLab's own colours so that it follows the theme."""
    setting, now = last
    fit = "fits in" if now.fits() else "does not fit in"
    rows = (
        ("one token", _number(now.per_token, "B")),
        ("one request", f"{_number(now.per_request, 'B')} {_count(setting.tokens, 'token')}"),
        ("all requests", f"{_number(now.total, 'B')} {_count(setting.batch, 'request')}"),
        ("in GB and GiB", f"{_number(now.gb, 'GB')} {_number(now.gib, 'GiB')}"),
        ("on the GPU", f"the cache alone {fit} the {_number(now.gpu_bytes, 'B')} (nominal) of one {now.gpu}"),
    )
    facts = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    if problem:
        note = f'<span class="kv-problem">{escape(_in_labels(problem))}.</span> Still shown: the last setting.'
    else:
        note = escape(now.computed_by[:1].upper() + now.computed_by[1:] + ".")
    return f'{STYLE}<div role="status" aria-live="polite"><dl>{facts}</dl><p>{note}</p></div>'


def _number(value, unit: str) -> str:
    return f"<span>{sizes.show_number(value)} {unit}</span>"


def _count(number: int, noun: str) -> str:
    return f"<span>{number:,} {noun}{'' if number == 1 else 's'}</span>"


def _in_labels(problem: str) -> str:
    """A sentence of `kvlab.sizes` in the words that the controls use."""
    labels = {"num_key_value_heads": "KV heads", "num_attention_heads": "query heads"}
    for name, label in labels.items():
        problem = problem.replace(name, label)
    return problem


# The note has room for two lines, three on a narrow page: a sentence about a bad value moves nothing below it.
STYLE = """<style>
.kv-reading .widget-html-content, .kv-reading { line-height: 1.5; max-width: 760px; }
.kv-reading dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 16px; }
.kv-reading dl { margin: 6px 0; }
.kv-reading dt, .kv-reading dd { margin: 0; overflow-wrap: break-word; }
.kv-reading dt { float: none; width: auto; font-weight: normal; color: var(--jp-ui-font-color2, inherit); }
.kv-reading dd span { display: inline-block; max-width: 100%; font-variant-numeric: tabular-nums; }
.kv-reading dd span + span::before { content: "· "; white-space: pre; margin-left: 0.3em; }
.kv-reading p { margin: 4px 0; min-height: 3em; }
@media (max-width: 900px) { .kv-reading p { min-height: 4.5em; } }
.kv-reading .kv-problem { color: var(--jp-error-color1, #b3261e); font-weight: 600; }
</style>"""


def _control(kind, label: str, css: str, **options):
    control = kind(
        description=label,
        style={"description_width": "86px"},
        layout={"width": "auto"},
        **options,
    )
    control.add_class(css)
    return control


def _slider(label: str, value: int, highest: int, css: str):
    return _control(widgets.IntSlider, label, css, value=value, min=1, max=highest)


def _dropdown(label: str, options: list[str], value: str, css: str):
    return _control(widgets.Dropdown, label, css, options=options, value=value)


def _text(label: str, value: int, css: str):
    # Text, because a browser's number field rounds beyond 2^53; read on Enter or on leaving the field.
    return _control(widgets.Text, label, css, value=str(value), continuous_update=False)
