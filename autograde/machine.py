"""Test the cases: a right answer, changed in one place by a machine, must be refused.

A known mistake is one that somebody thought of. Here a machine changes the solution and each right alternative, one
comparison, constant or statement at a time. What the cases still accept is either no change in meaning, and listed
with its reason in `answers/equivalent_mutants.toml`, or a clause that no case holds.
"""

import ast
import contextlib
import io
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import nbformat

from autograde import answers
from autograde.course import LESSONS, Lesson, lesson_of
from autograde.exercise import Answer
from autograde.judge import accepted, read
from autograde.mutations import changes
from autograde.run import collect

SEEDS = range(300, 303)
SECONDS = 2.0  # of one case: a changed condition may make a loop endless
EQUIVALENTS = Path(answers.__file__).parent / "equivalent_mutants.toml"
DRAWS = "nbval-ignore-output"  # tag of a cell that times, draws or shows a widget
FILE = "<right answer>"


@dataclass(frozen=True)
class Mutant:
    """One change of one statement."""

    origin: str  # "solution" or "alternative 1"
    line: str  # the statement, or the first line of a compound one
    was: str
    now: str
    number: int = 1  # among equal changes of equal statements


@dataclass(frozen=True)
class Outcome:
    """What became of one exercise's mutants: how many there were, which were accepted, which of those are listed."""

    exercise: str
    tried: int
    survivors: tuple[Mutant, ...]  # accepted and not listed
    stale: tuple[Mutant, ...]  # listed, and refused or no longer there


@dataclass(frozen=True)
class Subject:
    """A right answer as a syntax tree, the definitions in it that are changed, and how the answer is made from it."""

    origin: str
    tree: ast.Module
    definitions: list[ast.AST]
    make: Callable[[ast.Module], object]


def table(names: tuple[str, ...] | list[str] = ()) -> Iterator[Outcome]:
    """The outcome of each exercise named, or of the whole course; as many at a time as there are cores."""
    every = [name for lesson in LESSONS for name in lesson.exercises]
    with ProcessPoolExecutor() as processes:
        yield from processes.map(outcome_of, names or every)


def outcome_of(name: str) -> Outcome:
    """Try every mutant of one exercise."""
    answer = answers.answer_of(name)
    answer = replace(answer, exercise=replace(answer.exercise, seconds=SECONDS))
    trials = [[(case, answer.expected(case)) for case in answer.exercise.cases(Random(seed))] for seed in SEEDS]
    tried, alive = 0, []
    for subject in subjects_of(answer):
        for mutant, tree in mutants_of(subject, answer, trials):
            tried += 1
            if is_accepted(answer, lambda: subject.make(tree), trials):  # noqa: B023 (called at once)
                alive.append(mutant)
    listed = equivalents(name)
    survivors = tuple(each for each in alive if each not in listed)
    return Outcome(name, tried, survivors, tuple(each for each in listed if each not in alive))


def equivalents(name: str) -> list[Mutant]:
    """Changes of this exercise's right answers that are known to change no meaning."""
    listed = tomllib.loads(EQUIVALENTS.read_text(encoding="utf-8")).get(name, [])
    return [Mutant(**{key: value for key, value in each.items() if key != "reason"}) for each in listed]


def is_accepted(answer: Answer, make: Callable[[], object], trials: list) -> bool:
    """Whether no case refuses what `make` gives."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            candidate = make()
    except Exception:
        return False  # it cannot even be defined
    for cases in trials:
        for case, expected in reversed(cases):  # the subtle ones refuse most
            (outcome,) = collect(answer.exercise, candidate, [case])
            value = read(answer, case, outcome.value)
            if outcome.unwritten or not accepted(answer, case, value, expected):
                return False
    return True


def mutants_of(subject: Subject, answer: Answer, trials: list) -> Iterator[tuple[Mutant, ast.Module]]:
    """Every change of a statement that the cases reach. What is never run is no part of this right answer."""
    reached = _lines_run(subject, answer, trials)
    seen: Counter = Counter()
    for statement, nodes in _statements(subject.definitions):
        if statement.lineno not in reached:
            continue
        line = ast.unparse(statement).splitlines()[0]
        for node, now, tree in changes(subject.tree, nodes):
            if _never_true(node, now, reached):
                continue
            key = (line, _told(node), now.splitlines()[0])
            seen[key] += 1
            yield Mutant(subject.origin, *key, seen[key]), tree


def _told(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0]


def _never_true(node: ast.AST, now: str, reached: set[int]) -> bool:
    """A condition that no case meets is as good as one that is never taken: only known mistakes go there."""
    return isinstance(node, ast.If) and now.startswith("if False") and node.body[0].lineno not in reached


def _statements(definitions: list[ast.AST]) -> Iterator[tuple[ast.stmt, list[ast.AST]]]:
    """Each statement inside the definitions with its own nodes, those of statements inside it left out."""
    for definition in definitions:
        for statement in ast.walk(definition):
            if isinstance(statement, ast.stmt) and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                yield statement, list(_own_nodes(statement))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What an exception or a text says is no part of an answer, but for the fields that it names."""
    yield node
    if isinstance(node, ast.Raise | ast.JoinedStr):
        return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield from _own_nodes(child)


def _lines_run(subject: Subject, answer: Answer, trials: list) -> set[int]:
    lines: set[int] = set()

    def trace(frame, event, argument):
        if frame.f_code.co_filename != FILE:
            return None
        lines.add(frame.f_lineno)
        return trace

    candidate = subject.make(subject.tree)
    sys.settrace(trace)
    try:
        for cases in trials:
            collect(answer.exercise, candidate, [case for case, _ in cases])
    finally:
        sys.settrace(None)
    return lines


def subjects_of(answer: Answer) -> Iterator[Subject]:
    """The solution of an exercise, then each of its alternatives."""
    name = answer.exercise.name
    lesson = lesson_of(name)
    namespace, source = _before(lesson, name)
    tree = ast.parse(source)

    def from_cell(tree: ast.Module) -> object:
        names = dict(namespace)
        exec(compile(tree, FILE, "exec"), names)
        return names[name]

    yield Subject("solution", tree, tree.body, from_cell)
    tree = _one_module(name)
    for place, expression in enumerate(_alternatives(tree)):

        def from_module(tree: ast.Module, place: int = place) -> object:
            names = {"__name__": FILE}
            exec(compile(tree, FILE, "exec"), names)
            return names["ANSWER"].alternatives[place]

        yield Subject(f"alternative {place + 1}", tree, _reached_from(expression, tree), from_module)


def _before(lesson: Lesson, name: str) -> tuple[dict[str, object], str]:
    """What the cells of the solution define for this exercise, and the source of its own answer cell."""
    notebook = nbformat.read(lesson.notebook("solutions"), as_version=4)
    names: dict[str, object] = {"__name__": "__main__"}
    answer = ""
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if cell.cell_type != "code" or DRAWS in cell.metadata.get("tags", []) or marks.get("grade"):
            continue
        if marks.get("grade_id") == name:
            answer = cell.source
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
            exec(compile(cell.source, "<lesson>", "exec"), names)
    return names, answer


def _one_module(name: str) -> ast.Module:
    """The exercise's module of answers, with what it takes from the lesson's shared one written into it."""
    module = sys.modules[f"{answers.module_of(name)}"]
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    shared = Path(module.__file__).with_name("shared.py")
    own = f"autograde.answers.{lesson_of(name).key}.shared"
    if shared.is_file():
        body = ast.parse(shared.read_text(encoding="utf-8")).body
        # Lines of the two files must not be mistaken for each other.
        for node in (each for statement in body for each in ast.walk(statement) if hasattr(each, "lineno")):
            node.lineno += 100_000
            node.end_lineno += 100_000
        tree.body = body + [each for each in tree.body if not (isinstance(each, ast.ImportFrom) and each.module == own)]
    return tree


def _alternatives(tree: ast.Module) -> list[ast.expr]:
    (answer,) = (each.value for each in tree.body if isinstance(each, ast.Assign) and each.targets[0].id == "ANSWER")
    return next(each.value.elts for each in answer.keywords if each.arg == "alternatives")


def _reached_from(expression: ast.expr, tree: ast.Module) -> list[ast.AST]:
    """The expression, and the functions and classes of the module that it needs, directly or not."""
    defined = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    found: dict[str, ast.AST] = {}
    todo: list[ast.AST] = [expression]
    while todo:
        for node in ast.walk(todo.pop()):
            if isinstance(node, ast.Name) and node.id in defined and node.id not in found:
                found[node.id] = defined[node.id]
                todo.append(defined[node.id])
    return list(found.values())
