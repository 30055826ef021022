"""The part of the project that the sandbox sees: what cells import, without anything that would answer for them."""

import ast
import re
import shutil
from importlib import import_module
from pathlib import Path

from autograde.course import LESSONS, ROOT, Lesson

# Modules of autograde that drive answers. The answers, the judge and the grader itself stay outside.
DRIVING = ("__init__", "blame", "course", "exercise", "limits", "run", "values")
INSIDE = ("__init__", "inside", "limits", "namespaces", "wire", "zygote")
REFUSAL = "from autograde.grading.inside import refuse; refuse({name!r})"


def build(lesson: Lesson, target: Path, library_answers: bool, root: Path = ROOT) -> None:
    """Lay out the course for the sandbox in the folder `target`.

    Without `library_answers` the library's functions that would answer this lesson's exercises are cut out of its
    copy: code that is not there cannot be called, read or borrowed, whatever a submission does.
    """
    shutil.copy(root / "tiny_transformer.py", target)
    shutil.copytree(root / "kvlab", target / "kvlab", ignore=shutil.ignore_patterns("__pycache__"))
    package = target / "autograde"
    (package / "grading").mkdir(parents=True)
    for name in DRIVING:
        shutil.copy(root / "autograde" / f"{name}.py", package)
    for name in INSIDE:
        shutil.copy(root / "autograde" / "grading" / f"{name}.py", package / "grading")
    shutil.copy(root / "autograde" / "grading" / "silent_check.py", package / "check.py")
    (package / "exercises").mkdir()
    for name in ("__init__", lesson.module):
        shutil.copy(root / "autograde" / "exercises" / f"{name}.py", package / "exercises")
    if not library_answers:
        for file, functions in _answering(lesson, root).items():
            path = target / file
            module = file.removesuffix(".py").replace("/", ".")
            path.write_text(without(path.read_text(encoding="utf-8"), module, functions), encoding="utf-8")


def _answering(lesson: Lesson, root: Path) -> dict[str, set[str]]:
    """Functions of the library to be cut out, by file.

    Those that answer an exercise of this lesson or of a later one, whose functions are often this lesson's in another
    form; and what stands beside them in their modules, unless the lesson speaks of it. What earlier lessons have built
    is there to be used.
    """
    notebook = lesson.notebook("lessons").read_text(encoding="utf-8")
    said = set(re.findall(r"\w+", notebook))
    cut: dict[str, set[str]] = {}
    for each in LESSONS[LESSONS.index(lesson) :]:
        for module, functions in _library(each).items():
            file = f"{module.replace('.', '/')}.py"
            source = (root / file).read_text(encoding="utf-8")
            beside = {name for name, _ in _functions(ast.parse(source)) if name.rpartition(".")[2] not in said}
            cut[file] = cut.get(file, set()) | functions | beside
    return cut


def _library(lesson: Lesson) -> dict[str, set[str]]:
    """Qualified names of the functions that would answer the lesson's exercises, by module."""
    found: dict[str, set[str]] = {}
    for exercise in import_module(f"autograde.exercises.{lesson.module}").EXERCISES:
        for name in exercise.library:
            module, _, function = name.partition(":")
            found.setdefault(module, set()).add(function)
    return found


def without(source: str, module: str, functions: set[str]) -> str:
    """`source` of `module`, in which the named functions refuse to work. ValueError names what is missing."""
    lines = source.splitlines()
    missing = set(functions)
    for name, node in _functions(ast.parse(source)):
        if name in functions:
            missing.discard(name)
            body = node.body[0]
            lines[body.lineno - 1 : node.end_lineno] = [
                " " * body.col_offset + REFUSAL.format(name=f"{module}.{name}"),
                *[""] * (node.end_lineno - body.lineno),
            ]
    if missing:
        raise ValueError(f"no function {', '.join(sorted(missing))} to cut out")
    return "\n".join(lines) + "\n"


def _functions(tree: ast.AST, prefix: str = "") -> list[tuple[str, ast.FunctionDef]]:
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            found.append((prefix + node.name, node))
        elif isinstance(node, ast.ClassDef):
            found += _functions(node, f"{prefix}{node.name}.")
    return found
