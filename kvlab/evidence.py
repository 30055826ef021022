"""The ledger: every number the course states, how it is known, and where it comes from.

A row of data/evidence.csv is one number. `kind` says how it is known:

- arithmetic: recomputed from `expression`, which is Python over `kvlab` names;
- configuration: read from a model's published configuration, recomputed in the same way;
- hypothetical: recomputed too, of a model or device that nobody built;
- paper: reported by `source`, not recomputed;
- measured: seen by us, as `source` says.

Lessons cite a row as `[E-02-01](#Evidence)` and show the rows of the lesson with `table(slug)`.
"""

import ast
import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from html import unescape
from pathlib import Path

from kvlab import sizes
from kvlab.allocation import allocation
from kvlab.configs import cache_bytes, read_config, state_bytes
from kvlab.latent import mla_bytes_per_token
from kvlab.models import preset

LEDGER = Path(__file__).parent / "data" / "evidence.csv"
RECOMPUTED = ("arithmetic", "configuration", "hypothetical")
KINDS = (*RECOMPUTED, "paper", "measured")

_NAMES = {name: value for name, value in vars(sizes).items() if not name.startswith("_")}
_NAMES |= {each.__name__: each for each in (preset, read_config, cache_bytes, state_bytes, mla_bytes_per_token)}
_NAMES |= {"allocation": allocation, "sum": sum, "len": len}
_NAMES |= {"round": round, "min": min, "max": max, "Fraction": Fraction, "__builtins__": {}}


@dataclass(frozen=True)
class Entry:
    """One row of the ledger. All fields are text as written; `number` reads the value."""

    id: str  # "E-02-01": lesson 02, first entry
    statement: str
    kind: str
    value: str  # decimal, without thousands separators
    unit: str
    expression: str
    source: str
    lesson: str  # slug

    @property
    def number(self) -> Fraction:
        """The value, exactly as written. ValueError when it is no number."""
        return Fraction(self.value)

    @property
    def figure(self) -> str:
        """The value as the lessons print it, with thousands separators and its unit."""
        whole, dot, decimals = self.value.partition(".")
        return f"{int(whole):,}{dot}{decimals}" + (self.unit if self.unit in ("×", "%") else f" {self.unit}")


def read_entries(path: Path = LEDGER) -> list[Entry]:
    """All rows of a ledger file, in order, faults included."""
    with path.open(encoding="utf-8", newline="") as file:
        names = [field.name for field in fields(Entry)]
        return [Entry(**{name: row[name] or "" for name in names}) for row in csv.DictReader(file)]


@cache
def ledger() -> dict[str, Entry]:
    """The course's entries by id."""
    return {entry.id: entry for entry in read_entries()}


def evaluate(entry: Entry) -> Fraction:
    """The number that the entry's expression gives, exactly.

    Names: everything public in `kvlab.sizes`; `preset` and what reads its configuration (`read_config`, `cache_bytes`,
    `state_bytes`, `mla_bytes_per_token`, `allocation`); `round`, `min`, `max`, `sum`, `len`, `Fraction`.
    """
    return Fraction(eval(entry.expression, dict(_NAMES)))


def problems(entries: list[Entry] | None = None) -> list[str]:
    """One sentence for each fault in the ledger; an empty list means that every entry holds."""
    entries = read_entries() if entries is None else entries
    found, seen = [], set()
    for entry in entries:
        if entry.id in seen:
            found.append(f"{entry.id}: this id occurs more than once")
        seen.add(entry.id)
        found.extend(f"{entry.id}: {fault}" for fault in _faults(entry))
    return found


def _faults(entry: Entry):
    lesson_number = entry.lesson.partition("_")[0]
    if not re.fullmatch(rf"E-{lesson_number}-\d\d", entry.id):
        yield f"the id does not read E-{lesson_number}-NN, as its lesson {entry.lesson!r} asks"
    if entry.kind not in KINDS:
        yield f"unknown kind {entry.kind!r}; the kinds are {', '.join(KINDS)}"
    if not entry.statement:
        yield "no statement"
    if not entry.source:
        yield "no source"
    try:
        number = entry.number
    except ValueError:
        yield f"the value {entry.value!r} is no number"
        return
    if entry.kind not in RECOMPUTED:
        if entry.expression and entry.kind in KINDS:
            yield f"a {entry.kind} number has an expression, though nothing recomputes it"
        return
    if not entry.expression:
        yield f"no expression, though its kind is {entry.kind}"
        return
    try:
        computed = evaluate(entry)
        literals = _numbers_written_in(entry.expression)
    except Exception as error:  # whatever is wrong in a row, the others are still looked at
        yield f"the expression fails: {type(error).__name__}: {error}"
        return
    if computed != number:
        yield f"the value is {entry.value}, the expression gives {computed}"
    if number in literals:
        yield f"the expression holds the value {entry.value} itself, so it proves nothing"


def _numbers_written_in(expression: str) -> set[Fraction]:
    constants = (node.value for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Constant))
    found = set()
    for constant in constants:
        try:
            found.add(Fraction(constant))
        except (TypeError, ValueError):
            continue  # a name such as "Llama-3-8B"
    return found


class Table:
    """The entries of one lesson, readable in a notebook and in a terminal."""

    def __init__(self, entries: list[Entry]):
        self.entries = entries

    def _repr_markdown_(self) -> str:
        # A list, because the expressions are too wide for a table's cell on a narrow page.
        return "\n".join(self._item(entry) for entry in self.entries)

    @staticmethod
    def _item(entry: Entry) -> str:
        how = f"`{entry.expression}` · {entry.source}" if entry.expression else entry.source
        name = f'<span style="white-space: nowrap">**{entry.id}**</span>'  # otherwise it breaks at its hyphens
        return f"- {name} · {entry.statement}: **{entry.figure}** · *{entry.kind}*<br>{how}"

    def __repr__(self) -> str:
        return "\n".join(
            f"{e.id}  {e.statement}: {e.figure}  ({e.kind}; {e.expression or e.source})" for e in self.entries
        )


def table(lesson: str) -> Table:
    """The entries of the lesson whose slug is `lesson`. ValueError names the lessons that have entries."""
    entries = [entry for entry in ledger().values() if entry.lesson == lesson]
    if not entries:
        known = ", ".join(dict.fromkeys(entry.lesson for entry in ledger().values()))
        raise ValueError(f"lesson: wanted one of {known}, got {lesson!r}")
    return Table(entries)


def cited_ids(text: str) -> list[str]:
    """The ids that `text` cites, in order, each once."""
    return list(dict.fromkeys(re.findall(r"\bE-\d\d-\d\d\b", text)))


_UNITS = "GiB|MiB|KiB|TiB|GB|MB|kB|TB|bytes|byte|B|%|×|MMLU"
_FIGURE = re.compile(
    r"(?<![\w.,^#-])"  # not the tail of a name (BF16, GQA-8), of a power or of an issue number
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf"(?:(?P<times>×)(?!\w)|[ \u00a0-]?(?P<unit>%)|[ \u00a0-](?P<word>{_UNITS})\b|(?P<tight>[GMKT]i?B)\b)?"
    r"(?![\w,]*\w)"  # not the head of a name (7B, 4k)
)
_NOT_PROSE = re.compile(
    r"```.*?```|~~~.*?~~~"  # code fences
    r"|``.+?``|`[^`\n]+`"  # code spans
    r"|\]\([^)\s]*(?:\s+\"[^\"]*\")?\)|<https?://[^>]*>|https?://\S+"  # addresses, the link's text stays
    r"|<[^>\n]+>"  # HTML tags
    r"|\barXiv[: ]*\d{4}\.\d{4,5}"
    r"|\d+[ \u00a0](?:min|minutes)\b",
    re.DOTALL | re.IGNORECASE,
)


def uncited_figures(notebook: Mapping[str, object]) -> list[str]:
    """The figures in a notebook's prose that nothing supports, each as "cell 3: 2.5 GiB"; cells count from 1.

    A figure is a number with a byte unit, a percent sign, × or a score unit, or one of three or more digits,
    or one with a decimal point. It is supported by an entry cited in the same cell, as its value or as a
    number in its expression, or by the output of a code cell of the notebook. Outputs that show ledger ids
    support nothing, otherwise the evidence table would stand for every citation. `notebook` is an nbformat
    node or plain dicts.
    """
    shown = _shown_numbers(notebook)
    found = []
    for position, cell in enumerate(notebook["cells"], start=1):
        if cell["cell_type"] != "markdown":
            continue
        source = _joined(cell["source"])
        cited = [ledger()[id] for id in cited_ids(source) if id in ledger()]
        for match in _FIGURE.finditer(_NOT_PROSE.sub(" ", source)):
            number, unit = _number(match), _unit(match)
            if not (unit or "." in match["number"] or number >= 100):
                continue
            if any(_supports(entry, number, unit) for entry in cited):
                continue
            # A short number may occur in an output by chance, so it must occur there with the same unit.
            if (number, unit) in shown or ((number >= 100 or "." in match["number"]) and number in shown):
                continue
            found.append(f"cell {position}: {match[0].strip()}")
    return found


def _supports(entry: Entry, number: Fraction, unit: str) -> bool:
    if number == entry.number:
        return not unit or entry.unit.partition("/")[0] == unit
    return bool(entry.expression) and not unit and number in _numbers_written_in(entry.expression)


def _shown_numbers(notebook: Mapping[str, object]) -> set:
    """What code cells printed: each number with its unit, and alone."""
    shown = set()
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            texts = [_joined(output.get("text", ""))]
            texts += [_joined(v) for kind, v in output.get("data", {}).items() if kind.startswith("text/")]
            for text in texts:
                if cited_ids(text):
                    continue
                for match in _FIGURE.finditer(unescape(re.sub(r"<[^>]*>", " ", text))):
                    shown |= {(_number(match), _unit(match)), _number(match)}
    return shown


def _number(match) -> Fraction:
    return Fraction(match["number"].replace(",", ""))


def _unit(match) -> str:
    unit = match["times"] or match["unit"] or match["word"] or match["tight"] or ""
    return "B" if unit in ("byte", "bytes") else unit


def _joined(text) -> str:
    """Notebook text, which the file format also allows as a list of lines."""
    return text if isinstance(text, str) else "".join(text)
