"""How a reading is told: sentences, and HTML in JupyterLab's own colours so that it follows the theme."""

from collections.abc import Iterable
from fractions import Fraction
from html import escape

from kvlab import sizes


def sentence(text: str) -> str:
    """`text` with a capital at its start and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:]}."


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Pairs of a name and HTML, one below the other."""
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows) + "</dl>"


def spans(*parts: str) -> str:
    """Pieces of HTML in one row. A line breaks between two of them, not inside one."""
    return " ".join(f"<span>{part}</span>" for part in parts)


def verdict(text: str) -> str:
    """A sentence that stands for the whole reading. On a narrow page it breaks at a semicolon."""
    parts = "; </span> <span>".join(escape(sentence(text)).split("; "))
    return f'<p class="kv-verdict"><span>{parts}</span></p>'


def number(value: int | Fraction, unit: str) -> str:
    """An exact number with its unit, kept on one line where that fits."""
    return f"<span>{sizes.show_number(value)} {unit}</span>"


def count(how_many: int, noun: str) -> str:
    """A number of things: "1 token", "1,024 tokens"."""
    return f"<span>{how_many:,} {noun}{'' if how_many == 1 else 's'}</span>"


def page(reading: str, note: str) -> str:
    """A reading and the note below it, both HTML, as a screen reader announces them."""
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
