"""Find and read what a student handed in, whatever it is. Nothing in it is trusted to be a notebook, or even a file."""

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from kvlab.reprs import short_repr

MAX_BYTES = 200 * 2**20
MAX_CELLS = 5_000
MAX_SOURCE = 1_000_000  # characters of one cell


class Unreadable(Exception):
    """There is no notebook to grade. The message is a sentence for student and instructor alike."""


@dataclass(frozen=True)
class SubmittedCell:
    """One cell as it came, in plain types."""

    kind: str  # "code", "markdown", "raw" or whatever else was written there
    source: str
    grade_id: str = ""
    id: str = ""
    marks: tuple[tuple[str, str], ...] = ()  # nbgrader's own metadata: what is graded, locked, worth points


@dataclass(frozen=True)
class Submission:
    name: str  # of the file
    digest: str  # SHA-256 of its bytes
    cells: tuple[SubmittedCell, ...]
    others: tuple[str, ...] = ()  # what else lay beside it, which is ignored


def students_in(submitted: Path, slug: str) -> list[str]:
    """Students with anything at all handed in for the lesson, in order of name."""
    if not submitted.is_dir():
        return []
    return sorted(each.name for each in submitted.iterdir() if os.path.lexists(each / slug))


def read(submitted: Path, student: str, slug: str) -> Submission:
    """The notebook that `student` handed in. Unreadable says why there is none."""
    names, name, content = _handed_in(submitted, student, slug)
    others = tuple(clean(each) for each in names if each not in (name, "timestamp.txt"))
    return Submission(clean(name), _digest(content), tuple(_cells(content)), others)


def digest(submitted: Path, student: str, slug: str) -> str:
    """SHA-256 of the file that `student` handed in, whatever is in it. Unreadable says why there is none."""
    return _digest(_handed_in(submitted, student, slug)[2])


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _handed_in(submitted: Path, student: str, slug: str) -> tuple[list[str], str, bytes]:
    """Names of all files that lie there, the name of the notebook, and its bytes."""
    for folder in (submitted / student, submitted / student / slug):
        if folder.is_symlink():
            raise Unreadable(f"{folder.name} is a link; links are not followed.")
    folder = submitted / student / slug
    if not folder.is_dir():
        raise Unreadable(f"{slug} is a file; a folder with the notebook in it was wanted.")
    names = sorted(os.listdir(folder))
    name = _choose([each for each in names if each.endswith(".ipynb")], slug)
    return names, name, _content(folder / name)


def _choose(names: list[str], slug: str) -> str:
    """The notebook by its own name, or the only one there is: browsers rename what they save twice."""
    if f"{slug}.ipynb" in names:
        return f"{slug}.ipynb"
    if not names:
        raise Unreadable(f"There is no notebook; {slug}.ipynb was wanted.")
    if len(names) > 1:
        raise Unreadable(f"There are {len(names)} notebooks and none is called {slug}.ipynb.")
    return names[0]


def _content(path: Path) -> bytes:
    # No link is followed and no pipe is waited for: a submission may be made to lead the grader elsewhere.
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        what = "is a link; links are not followed" if path.is_symlink() else f"cannot be read: {error.strerror}"
        raise Unreadable(f"{path.name} {what}.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unreadable(f"{path.name} is no file.")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise Unreadable(f"{path.name} is larger than {MAX_BYTES // 2**20} MiB.")
    return content


def _cells(content: bytes) -> list[SubmittedCell]:
    if not content.strip():
        raise Unreadable("The file is empty.")
    try:
        notebook = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unreadable("The file is no text in UTF-8, so it is no notebook.") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"The file is no notebook, or not all of it: {str(error)[:200]}.") from None
    cells = notebook.get("cells") if type(notebook) is dict else None
    if type(cells) is not list:
        raise Unreadable("The file holds no cells, so it is no notebook (of format 4).")
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"The notebook has {len(cells)} cells; at most {MAX_CELLS} are read.")
    return [_cell(cell) for cell in cells if type(cell) is dict]


def _cell(cell: dict) -> SubmittedCell:
    source = cell.get("source", "")
    if type(source) is list:
        source = "".join(line for line in source if type(line) is str)
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if type(metadata) is dict else None
    marks = marks if type(marks) is dict else {}
    return SubmittedCell(
        kind=_text(cell.get("cell_type")),
        source=clean(source if type(source) is str else ""),
        grade_id=_text(marks.get("grade_id")),
        id=_text(cell.get("id")),
        marks=tuple(sorted((key, short_repr(value, 80)) for key, value in marks.items() if key != "grade_id")),
    )


def _text(value: object) -> str:
    return value if type(value) is str else ""


def clean(source: str) -> str:
    """`source` with the line ends of this course, and without what UTF-8 cannot write."""
    return source.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
