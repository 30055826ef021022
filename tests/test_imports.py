"""Imports run one way, so that a room can be read, tested and shut in without the ones above it."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from autograde.course import ROOT

PACKAGES = ("tiny_transformer", "kvlab", "autograde")
# From the bottom up. A module belongs to the longest name that it starts with, and imports none of a later one.
LAYERS = ("tiny_transformer", "kvlab", "autograde", "autograde.exercises", "autograde.answers")
ABOVE_ANSWERS = (
    "autograde.check",
    "autograde.machine",
    "autograde.mutants",
    "autograde.cli",
    "autograde.grading",
    "autograde.__main__",
)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> dict[str, Path]:
    files = [ROOT / "tiny_transformer.py", *(ROOT / "kvlab").rglob("*.py"), *(ROOT / "autograde").rglob("*.py")]
    given = ROOT / "autograde" / "protected"  # payloads, not modules
    return {module_of(path): path for path in files if given not in path.parents}


def imported(path: Path, modules: dict[str, Path]) -> set[str]:
    """Modules of the course that a file imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found & set(modules)


def graph() -> dict[str, set[str]]:
    modules = sources()
    return {name: imported(path, modules) - {name} for name, path in modules.items()}


def without_empty_packages(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """A package that imports nothing is only a folder: naming it is no step of a circle."""
    return {name: {other for other in others if edges[other]} for name, others in edges.items()}


def test_the_import_graph_has_no_circle():
    assert len(graph()) > 100  # it was found
    try:
        TopologicalSorter(without_empty_packages(graph())).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def layer(name: str) -> int:
    if name.startswith(ABOVE_ANSWERS):
        return len(LAYERS)
    return max(number for number, each in enumerate(LAYERS) if name == each or name.startswith(f"{each}."))


def test_no_room_imports_from_the_ones_above_it():
    upward = [(name, other) for name, others in graph().items() for other in others if layer(other) > layer(name)]
    assert upward == []


def test_what_the_sandbox_holds_reaches_no_answer():
    """Followed import by import, from the process that runs a student's code."""
    edges, seen = graph(), set()
    todo = ["autograde.grading.sandbox.zygote", *(name for name in edges if name.startswith("autograde.exercises."))]
    while todo:
        name = todo.pop()
        seen.add(name)
        todo += [other for other in edges[name] if other not in seen]
    assert "autograde.run" in seen
    assert not [name for name in seen if name.startswith(("autograde.answers", "autograde.judge", "autograde.check"))]


@pytest.mark.parametrize("folder", ["lessons", "solutions", "tests"])
def test_nothing_imports_from_the_notebooks_or_the_tests(folder):
    for name, path in sources().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] != folder, name
