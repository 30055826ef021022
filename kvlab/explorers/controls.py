"""What every explorer is made of: its controls, how it asks the learner's code, how it answers an event."""

import contextlib
import io
import warnings
from html import escape

import ipywidgets as widgets

from kvlab import sizes
from kvlab.explorers.blit import Blitter, DescribedImage

CUSTOM = "custom"  # the choice that a list of ready settings shows when none of them is set


class Explorer(widgets.VBox):
    """Controls, the exact reading as text, and the picture; `redraws` counts how often it was drawn.

    A subclass makes its controls first, then calls this. It has `setting()`, what the controls say; `read(setting)`;
    `tell(setting, now)`, the reading as HTML; `describe(now)`, the picture in words. `now.computed_by` is the
    caption. TypeError or ValueError from the first two becomes a sentence, and the last picture stays.
    `chart` has a `figure`, the artists that are `moving`, and `set(now)`.
    """

    def __init__(self, controls, chart):
        self.redraws = 0
        self._moving_many = False
        self.text = widgets.HTML()
        self.text.add_class("kv-reading")
        self.picture = DescribedImage(format="png", layout={"width": "100%", "max_width": "540px", "height": "auto"})
        self.picture.add_class("kv-picture")
        self._chart = chart
        self._blitter = Blitter(chart.figure, chart.moving)
        self._last = None
        for control in controls:
            control.observe(self._changed, "value")
        columns = "repeat(auto-fit, minmax(min(320px, 100%), 1fr))"  # one column where two would be cramped
        board = widgets.GridBox(controls, layout={"grid_template_columns": columns, "max_width": "760px"})
        super().__init__((board, self.text, self.picture), layout={"overflow": "hidden"})
        self._redraw()

    @contextlib.contextmanager
    def together(self):
        """Controls moved in here draw nothing: the one that the learner moved draws, once."""
        self._moving_many = True
        try:
            yield
        finally:
            self._moving_many = False

    def _changed(self, _change) -> None:
        if not self._moving_many:
            self._redraw()

    def _redraw(self) -> None:
        try:
            setting = self.setting()
            now = self.read(setting)
        except (TypeError, ValueError) as problem:
            note = f'<span class="kv-problem">{escape(str(problem))}.</span> Still shown: the last setting.'
            before = f'<div class="kv-before">{self.tell(*self._last)}</div>'
            self.text.value = _page(before, note)
            return
        self._last = (setting, now)
        self._chart.set(now)
        self.picture.value = self._blitter.png()
        self.picture.tooltip = self.describe(now)
        caption = now.computed_by
        self.text.value = _page(self.tell(setting, now), escape(caption[:1].upper() + caption[1:] + "."))
        self.redraws += 1


def ask(name: str, function, *arguments):
    """What the learner's `function` returns, and "": or None, and the caption that says why it is not shown.

    Prints and warnings are dropped: what helps to debug an answer has no place in the widget.
    """
    unwritten = "computed by the library until yours is written"
    if function is None:
        return None, unwritten
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            warnings.catch_warnings(action="ignore"),
        ):
            return function(*arguments), ""
    except NotImplementedError:
        return None, unwritten
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
        return None, library_instead(f"your {name} raises {what[:200]}")


def library_instead(problem: str) -> str:
    """The caption when the learner's answer is not the one shown."""
    return f"{problem}: showing the library's"


def facts(rows) -> str:
    """Pairs of a name and HTML, one below the other."""
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows) + "</dl>"


def verdict(sentence: str) -> str:
    """A sentence that stands for the whole reading. On a narrow page it breaks at a semicolon."""
    parts = "; </span> <span>".join(escape(sentence[:1].upper() + sentence[1:] + ".").split("; "))
    return f'<p class="kv-verdict"><span>{parts}</span></p>'


def number(value, unit: str) -> str:
    """An exact number with its unit, kept on one line where that fits."""
    return f"<span>{sizes.show_number(value)} {unit}</span>"


def count(how_many: int, noun: str) -> str:
    return f"<span>{how_many:,} {noun}{'' if how_many == 1 else 's'}</span>"


def slider(label: str, value: int, lowest: int, highest: int, css: str):
    return _control(widgets.IntSlider, label, css, value=value, min=lowest, max=highest)


def ladder(label: str, values, value: int, css: str):
    """A slider over numbers that are not evenly apart, such as powers of two."""
    options = [(f"{each:,}", each) for each in values]
    return _control(widgets.SelectionSlider, label, css, options=options, value=value)


def dropdown(label: str, options, value, css: str):
    return _control(widgets.Dropdown, label, css, options=options, value=value)


def text_field(label: str, value, css: str):
    # Text, because a browser's number field rounds beyond 2^53; read on Enter or on leaving the field.
    return _control(widgets.Text, label, css, value=str(value), continuous_update=False)


def text_area(label: str, placeholder: str, css: str):
    """Room for a text of many lines, read on leaving the field."""
    return _control(widgets.Textarea, label, css, value="", placeholder=placeholder, rows=4, continuous_update=False)


def switch(label: str, css: str):
    return _control(widgets.Checkbox, label, css, value=False)


def _control(kind, label: str, css: str, **options):
    control = kind(description=label, style={"description_width": "86px"}, layout={"width": "auto"}, **options)
    control.add_class(css)
    return control


def _page(reading: str, note: str) -> str:
    """The reading as HTML, in JupyterLab's own colours so that it follows the theme."""
    return f'{STYLE}<div role="status" aria-live="polite">{reading}<p>{note}</p></div>'


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
.kv-reading .kv-verdict { margin: 8px 0 4px; min-height: 0; font-weight: 600; }
.kv-reading .kv-verdict span { display: inline-block; }
@media (max-width: 900px) {
  .kv-reading p { min-height: 4.5em; }
  .kv-reading .kv-verdict { min-height: 3em; }
}
.kv-reading .kv-before { opacity: 0.6; }
.kv-reading .kv-problem { color: var(--jp-error-color1, #b3261e); font-weight: 600; }
</style>"""
