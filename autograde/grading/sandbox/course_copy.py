"""The part of the project that the sandbox sees: what cells import, without anything that would answer for them."""

import ast
import shutil
from pathlib import Path

from autograde.course import LESSONS, ROOT, Lesson

# Modules of autograde that drive answers. The answers, the judge and the grader itself stay outside.
DRIVING = ("__init__", "blame", "course", "exercise", "limits", "run", "values")
INSIDE = ("__init__", "inside", "limits", "namespaces", "wire", "zygote")
REFUSAL = "from autograde.exercise import Borrowed; raise Borrowed({name!r})"


def build(lesson: Lesson, target: Path, library_answers: bool, root: Path = ROOT) -> None:
    """Lay out the course for the sandbox in the folder `target`.

    Without `library_answers` the library's functions that would answer this lesson's exercises are cut out of its
    copy: code that is not there cannot be called, read or borrowed, whatever a submission does.
    """
    shutil.copy(root / "tiny_transformer.py", target)
    shutil.copytree(root / "kvlab", target / "kvlab", ignore=shutil.ignore_patterns("__pycache__"))
    autograde, ours = target / "autograde", root / "autograde"
    sandbox = autograde / "grading" / "sandbox"
    (autograde / "exercises").mkdir(parents=True)
    sandbox.mkdir(parents=True)
    for name in DRIVING:
        shutil.copy(ours / f"{name}.py", autograde)
    for name in ("__init__", lesson.key):
        shutil.copy(ours / "exercises" / f"{name}.py", autograde / "exercises")
    shutil.copy(ours / "grading" / "__init__.py", autograde / "grading")
    for name in INSIDE:
        shutil.copy(ours / "grading" / "sandbox" / f"{name}.py", sandbox)
    shutil.copy(ours / "grading" / "sandbox" / "silent_check.py", autograde / "check.py")
    if not library_answers:
        for module, names in left_out(lesson).items():
            path = target / f"{module.replace('.', '/')}.py"
            path.write_text(without(path.read_text(encoding="utf-8"), module, names), encoding="utf-8")


def left_out(lesson: Lesson) -> dict[str, set[str]]:
    """Names to be cut out, by module: what answers an exercise of this lesson or of a later one, and its parts.

    A later lesson's functions are often this lesson's in another form. What earlier lessons have built is there to be
    used.
    """
    cut: dict[str, set[str]] = {}
    for each in LESSONS[LESSONS.index(lesson) :]:
        for names in (each.library, each.left_out):
            for module, functions in names.items():
                cut.setdefault(module, set()).update(functions)
    return cut


def without(source: str, module: str, names: set[str]) -> str:
    """`source` of `module`, in which the named functions, and all methods of the named classes, refuse to work.

    ValueError says which names are not there.
    """
    lines = source.splitlines()
    found: set[str] = set()
    for name, node in _functions(ast.parse(source)):
        asked = {name, name.rpartition(".")[0]} & names
        found |= asked
        if asked:
            body = node.body[0]
            lines[body.lineno - 1 : node.end_lineno] = [
                " " * body.col_offset + REFUSAL.format(name=f"{module}.{name}"),
                *[""] * (node.end_lineno - body.lineno),
            ]
    if missing := names - found:
        raise ValueError(f"no function {', '.join(sorted(missing))} in {module} to cut out")
    return "\n".join(lines) + "\n"


def _functions(tree: ast.AST, prefix: str = "") -> list[tuple[str, ast.FunctionDef]]:
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            found.append((prefix + node.name, node))
        elif isinstance(node, ast.ClassDef):
            found += _functions(node, f"{prefix}{node.name}.")
    return found
