"""Notebooks as a learner hands them in: a released lesson with its answer cells filled, and its executed outcome."""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from autograde.course import Lesson


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def by_grade_id(notebook: nbformat.NotebookNode) -> dict[str, nbformat.NotebookNode]:
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}


def solutions(lesson: Lesson) -> dict[str, str]:
    """Source of each answer cell in `solutions/`, by grade_id."""
    cells = by_grade_id(read(lesson.notebook("solutions")))
    return {name: cell.source for name, cell in cells.items() if cell.metadata.nbgrader.solution}


def learner_of(lesson: Lesson, **names) -> dict[str, object]:
    """The functions and classes of the solution, as a learner would have written them; `names` are what they use."""
    for source in solutions(lesson).values():
        exec(source, names)
    return names


def filled(lesson: Lesson, answers: dict[str, str]) -> nbformat.NotebookNode:
    """The released lesson with these sources in its answer cells."""
    notebook = read(lesson.notebook("lessons"))
    cells = by_grade_id(notebook)
    for name, source in answers.items():
        cells[name].source = source
    return notebook


def run(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Run All, as JupyterLab does it: a cell that raises stops the run unless it is tagged `raises-exception`."""
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute(env={**os.environ, "AUTOGRADE_PROGRESS": str(folder / "progress.json")})
    return notebook


def text_of(cell: nbformat.NotebookNode) -> str:
    """Everything that a code cell shows as text, errors included."""
    shown = [output.get("text") or "\n".join(output.get("traceback", [])) for output in cell.outputs]
    return "\n".join(shown)
