"""Put a submission back on the released lesson: from the student come the answers and their own cells, nothing else.

The rules, which docs/grading.md tells students too:

- A cell is known by its `grade_id`; without one by its cell id, else by being word for word a released cell. An answer
  that lost both is known by the graded name that it defines.
- Of several cells for one answer the last that is not the untouched stub is the answer. The others run as own cells,
  so a cell that was split in two still works, and an untouched copy undoes nothing.
- An own cell runs right after the released cell that it followed in the submission.
- Everything else comes from the release: locked cells, checks, points, tags, kernel, order.
- What comes after the last check can change no mark, and is not run.
"""

import ast
import copy
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from autograde.course import Lesson
from autograde.grading.result import Flag
from autograde.grading.submission import MAX_SOURCE, Submission, SubmittedCell, clean
from kvlab.reprs import short_repr

DRAWS = "nbval-ignore-output"  # a released cell with this tag only times, draws or shows widgets


@dataclass(frozen=True)
class ReleasedCell:
    """A cell of the released lesson. `answers` and `checks` are names of exercises."""

    key: str  # its grade_id, or its cell id
    kind: str
    source: str
    answers: str = ""
    checks: str = ""
    locked: bool = False
    draws: bool = False
    marks: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Step:
    """One cell to run. Where `check` is set, the answer of that name is tried instead."""

    source: str
    check: str = ""
    place: str = ""  # how to call the cell when it raises: "your answer kv_bytes", "your own cell 2"
    answers: str = ""  # the exercise whose answer it holds
    own: bool = False  # a cell that the student added


@dataclass
class Rebuilt:
    """The notebook that is graded."""

    steps: list[Step] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)
    notebook: nbformat.NotebookNode | None = None


class Blueprint:
    """The released lesson, read once."""

    def __init__(self, lesson: Lesson, path: Path):
        self.lesson = lesson
        self.notebook = nbformat.read(path, as_version=4)
        self.cells = [self._cell(cell) for cell in self.notebook.cells]
        self.by_key = {cell.key: cell for cell in self.cells}
        self.by_id = {cell.id: known for cell, known in zip(self.notebook.cells, self.cells, strict=True)}
        self.by_source = {cell.source: cell for cell in self.cells if cell.source.strip()}
        self.answers = {cell.answers: cell for cell in self.cells if cell.answers}
        if set(self.answers) != set(lesson.exercises):
            missing = ", ".join(sorted(set(lesson.exercises) ^ set(self.answers)))
            raise ValueError(f"{path} and the course table differ in {missing}; run `autograde release`")

    def _cell(self, cell: nbformat.NotebookNode) -> ReleasedCell:
        marks = cell.metadata.get("nbgrader", {})
        name = marks.get("grade_id", "")
        graded, solution = marks.get("grade", False), marks.get("solution", False)
        return ReleasedCell(
            key=name or cell.id,
            kind=cell.cell_type,
            source=clean(cell.source),
            answers=name if solution else "",
            checks=name.removeprefix("check_") if graded and not solution else "",
            locked=bool(marks.get("locked")),
            draws=DRAWS in cell.metadata.get("tags", []),
            marks=tuple((key, short_repr(value, 80)) for key, value in sorted(marks.items()) if key != "grade_id"),
        )

    @property
    def warm(self) -> list[str]:
        """Sources of the locked cells that compute something, up to the last check."""
        last = max(number for number, cell in enumerate(self.cells) if cell.checks)
        return [cell.source for cell in self.cells[:last] if cell.kind == "code" and cell.locked and not cell.checks]


def rebuild(blueprint: Blueprint, submission: Submission) -> Rebuilt:
    """The released lesson with the submission's answers and own cells in it, and what was noticed on the way."""
    rebuilt = Rebuilt()
    placed, answers = _match(blueprint, submission.cells, rebuilt.flags)
    _notice_changes(blueprint, placed, rebuilt.flags)
    after: dict[str, list[SubmittedCell]] = {}
    chosen = {id(cell) for cell in answers.values()}
    last = ""
    for cell, known in placed:
        if id(cell) not in chosen and _is_own(cell, known):
            after.setdefault(last, []).append(cell)
        elif known is not None:
            last = known.key
    _lay_out(blueprint, answers, after, rebuilt)
    return rebuilt


Placed = list[tuple[SubmittedCell, ReleasedCell | None]]


def _match(
    blueprint: Blueprint, cells: tuple[SubmittedCell, ...], flags: list[Flag]
) -> tuple[Placed, dict[str, SubmittedCell]]:
    """Each submitted cell with the released one that it is, and for each answer the cell that counts."""
    placed: Placed = [(cell, _known(blueprint, cell)) for cell in cells]
    found = {known.answers for cell, known in placed if known and known.answers}
    for number, (cell, known) in enumerate(placed):
        for name in _defines(cell) if known is None else ():
            if name in blueprint.answers and name not in found:
                placed[number] = (cell, blueprint.answers[name])
                flags.append(Flag("metadata", "The cell had lost its name; it is known by what it defines.", name))
    answers: dict[str, SubmittedCell] = {}
    for name, released in blueprint.answers.items():
        candidates = [cell for cell, known in placed if known is released]
        written = [cell for cell in candidates if cell.source != released.source]
        if len(candidates) > 1:
            text = f"There were {len(candidates)} cells for {name}; the last that is not the released stub counts."
            flags.append(Flag("duplicate", text, name))
        if candidates:
            answers[name] = (written or candidates)[-1]
        else:
            flags.append(Flag("deleted", f"The answer cell {name} was not there.", name))
    return placed, answers


def _known(blueprint: Blueprint, cell: SubmittedCell) -> ReleasedCell | None:
    if cell.grade_id in blueprint.by_key:
        return blueprint.by_key[cell.grade_id]
    return blueprint.by_id.get(cell.id) or blueprint.by_source.get(cell.source)


def _defines(cell: SubmittedCell) -> list[str]:
    try:
        body = ast.parse(cell.source).body if len(cell.source) <= MAX_SOURCE else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _is_own(cell: SubmittedCell, known: ReleasedCell | None) -> bool:
    """Whether a cell that is no answer is run as the student's own: also an unlocked cell that was changed."""
    if cell.kind != "code" or not cell.source.strip():
        return False
    return known is None or (not known.locked and cell.source != known.source)


def _notice_changes(blueprint: Blueprint, placed: Placed, flags: list[Flag]) -> None:
    """Say what was put back. Text that a student changed is theirs to change."""
    came: dict[str, list[SubmittedCell]] = {}
    for cell, known in placed:
        if known is not None:
            came.setdefault(known.key, []).append(cell)
    for known in blueprint.cells:
        cells = came.get(known.key, [])
        if known.locked and not cells:
            flags.append(Flag("deleted", f"The locked cell {known.key} was not there; it was put back.", known.checks))
        elif known.locked and any(cell.source != known.source or cell.kind != known.kind for cell in cells):
            flags.append(
                Flag("restored", f"The locked cell {known.key} had been changed; it was put back.", known.checks)
            )
        elif known.locked and len(cells) > 1:
            flags.append(Flag("duplicate", f"The locked cell {known.key} was there {len(cells)} times.", known.checks))
        if known.answers and any(cell.kind != known.kind for cell in cells):
            flags.append(Flag("restored", f"The answer cell {known.key} was no code cell any more.", known.answers))
        if known.marks and any(cell.marks and cell.marks != known.marks for cell in cells):
            flags.append(Flag("metadata", f"The grading data of {known.key} had been changed.", known.checks))
    order = {cell.key: number for number, cell in enumerate(blueprint.cells)}
    numbers = [order[known.key] for _, known in placed if known is not None and known.marks]
    if numbers != sorted(numbers):
        flags.append(Flag("moved", "Cells had been moved; they were run in the order of the lesson."))


def _lay_out(
    blueprint: Blueprint, answers: dict[str, SubmittedCell], after: dict[str, list[SubmittedCell]], rebuilt: Rebuilt
) -> None:
    rebuilt.notebook = copy.deepcopy(blueprint.notebook)
    laid: list[nbformat.NotebookNode] = []
    own = 0

    def add_own(key: str) -> None:
        nonlocal own
        for cell in after.get(key, []):
            own += 1
            if len(cell.source) > MAX_SOURCE:
                rebuilt.flags.append(Flag("limit", f"Your own cell {own} is too long to be run."))
                continue
            rebuilt.steps.append(Step(cell.source, place=f"your own cell {own}", own=True))
            made = nbformat.v4.new_code_cell(cell.source)
            made.id = f"own-{own}"
            laid.append(made)

    add_own("")
    for cell, known in zip(rebuilt.notebook.cells, blueprint.cells, strict=True):
        source = known.source
        if known.answers in answers:
            source = answers[known.answers].source
            if len(source) > MAX_SOURCE:
                rebuilt.flags.append(Flag("limit", f"The answer {known.answers} is too long to be run.", known.answers))
                source = known.source
            cell.source = source
        if known.kind == "code" and not known.draws:
            place = f"the lesson's cell {known.key}"
            if name := known.answers or known.checks:
                place = f"your answer {name}"
            rebuilt.steps.append(Step(source, known.checks, place, known.answers))
        laid.append(cell)
        add_own(known.key)
    rebuilt.notebook.cells = laid
    del rebuilt.steps[1 + max(number for number, step in enumerate(rebuilt.steps) if step.check) :]
