"""What may not drift: the given programs, byte for byte, and the locked cells of every lesson."""

import hashlib
from pathlib import Path

import nbformat

from autograde.course import LESSONS, ROOT, Lesson

MANIFEST = "SHA256SUMS"  # in the form that `sha256sum -c` reads


def verify(root: Path = ROOT, lessons: tuple[Lesson, ...] = LESSONS) -> list[str]:
    """Every deviation as one sentence that names the file or cell; an empty list when there is none."""
    problems = _manifest(root / "autograde" / "protected")
    for lesson in lessons:
        problems += _locked_cells(root, lesson)
    return problems


def _manifest(folder: Path) -> list[str]:
    problems, listed = [], set()
    for line in (folder / MANIFEST).read_text(encoding="ascii").splitlines():
        digest, _, name = line.partition("  ")
        listed.add(name)
        if not (folder / name).is_file():
            problems.append(f"{folder / name} is missing")
        elif hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            problems.append(f"{folder / name} differs from its digest in {MANIFEST}")
    extra = {path.name for path in folder.iterdir() if path.is_file()} - listed - {MANIFEST}
    return problems + [f"{folder / name} is not listed in {MANIFEST}" for name in sorted(extra)]


def _locked_cells(root: Path, lesson: Lesson) -> list[str]:
    """A locked cell reads the same in the lesson as in its source, and is locked in both."""
    name = f"{lesson.slug}.ipynb"
    source, released = (_cells(root / kind / lesson.slug / name) for kind in ("solutions", "lessons"))
    problems = []
    for grade_id, cell in source.items():
        where = f"lessons/{lesson.slug}/{name}, cell {grade_id}"
        twin = released.get(grade_id)
        if twin is None:
            problems.append(f"{where}: missing")
            continue
        marks = [each.metadata.nbgrader.get("locked") for each in (cell, twin)]
        if marks[0] != marks[1]:
            problems.append(f"{where}: {'un' * (not marks[1])}locked, unlike its source")
        if marks[0] and cell.source != twin.source:
            problems.append(f"{where}: differs from its source in solutions/")
        if cell.metadata.nbgrader.get("points") != twin.metadata.nbgrader.get("points"):
            problems.append(f"{where}: worth other points than its source")
    return problems


def _cells(path: Path) -> dict[str, nbformat.NotebookNode]:
    notebook = nbformat.read(path, as_version=4)
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
