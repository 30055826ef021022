"""What may not drift: the given programs, byte for byte, wherever they appear, and the locked cells of every lesson."""

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograde.course import LESSONS, ROOT, Lesson

FOLDER = Path("autograde") / "protected"
MANIFEST = "SHA256SUMS"  # in the form that `sha256sum -c` reads


@dataclass(frozen=True)
class Program:
    """A given program: the line that it prints, and the lesson in which it is a locked cell."""

    file: str
    prints: str
    slug: str

    @property
    def cell(self) -> str:
        """grade_id of the locked cell, whose source is the file without its final newline."""
        return f"protected_{self.file.removesuffix('.py')}"


PROGRAMS = (
    Program("cache_parity.py", "eight cached/full-prefix comparisons passed", "03_cache_parity"),
    Program(
        "gqa_chunked_cache.py",
        "GQA full/token/chunk parity; wrong-mask and capacity controls passed",
        "05_grouped_query_cache",
    ),
    Program("serving_budget.py", "KV MiB 512.0 TTFT 0.12 mean ITL 0.043333333333333335", "10_admission"),
)


def verify(root: Path = ROOT, lessons: tuple[Lesson, ...] = LESSONS) -> list[str]:
    """Every deviation as one sentence that names the file or cell; an empty list when there is none."""
    problems = _manifest(root / FOLDER)
    if not problems:  # a program that is not the given one is not run
        problems += [said for program in PROGRAMS for said in _output(root, program)]
    for lesson in lessons:
        problems += _locked_cells(root, lesson)
        for program in PROGRAMS:
            if program.slug == lesson.slug and (root / FOLDER / program.file).is_file():  # a missing one is told above
                problems += _program_cells(root, lesson, program)
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


def _output(root: Path, program: Program) -> list[str]:
    """Run the program beside tiny_transformer.py; it prints its one line and nothing else."""
    path = root / FOLDER / program.file
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, path], cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode or done.stdout != f"{program.prints}\n":
        last = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        return [f"{path} should print {program.prints!r}; it ended with {last!r}"]
    return []


def _locked_cells(root: Path, lesson: Lesson) -> list[str]:
    """A locked cell reads the same in the lesson as in its source, and is locked in both."""
    source, released = (_cells(root, kind, lesson) for kind in ("solutions", "lessons"))
    problems = []
    for grade_id, cell in source.items():
        where = f"{lesson.notebook('lessons', root).relative_to(root)}, cell {grade_id}"
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


def _program_cells(root: Path, lesson: Lesson, program: Program) -> list[str]:
    """The program is one locked code cell of the lesson, in solutions/ and in lessons/."""
    problems = []
    text = (root / FOLDER / program.file).read_bytes().decode().removesuffix("\n")
    for kind in ("solutions", "lessons"):
        where = f"{lesson.notebook(kind, root).relative_to(root)}, cell {program.cell}"
        cell = _cells(root, kind, lesson).get(program.cell)
        if cell is None:
            problems.append(f"{where}: missing")
        elif cell.cell_type != "code" or not cell.metadata.nbgrader.get("locked"):
            problems.append(f"{where}: not a locked code cell")
        elif cell.source != text:
            problems.append(f"{where}: differs from {program.file}")
    return problems


def _cells(root: Path, kind: str, lesson: Lesson) -> dict[str, nbformat.NotebookNode]:
    notebook = nbformat.read(lesson.notebook(kind, root), as_version=4)
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
