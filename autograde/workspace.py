"""The learner's own copies of the lessons, in `work/`.

A released lesson is copied there once and never again, so an update of the repository cannot touch an answer:
a changed lesson is laid beside the copy, and only `reset`, after a backup, puts released cells into it.
"""

import hashlib
import json
import os
import shutil
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from autograde.course import LESSONS, ROOT, Lesson

MAP_NAME = "course_map.md"
RELEASED_NAME = ".released.json"  # digests of the released files that each copy was made from or offered


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path`; a reader or a crash finds the old file or the new, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def sync(root: Path = ROOT, lessons: tuple[Lesson, ...] = LESSONS) -> list[str]:
    """Copy missing lessons from `lessons/` to `work/`, lay changed ones beside a copy; say what was done."""
    if not (root / "lessons").is_dir():
        raise FileNotFoundError(f"no folder lessons in {root}; run this inside a checkout of the course")
    origins = _read_origins(root)
    said = []
    for lesson in lessons:
        source = lesson.notebook("lessons", root)
        if not source.is_file():
            continue
        content = source.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        copy = lesson.notebook("work", root)
        _copy_companions(source.parent, copy.parent)
        if not copy.exists():
            write_atomically(copy, content)
            origins[lesson.slug] = [digest]
            said.append(f"{lesson.slug}: copied to {copy.relative_to(root)}")
        elif digest not in origins.get(lesson.slug, []) and content != copy.read_bytes():
            update = copy.with_name(f"{lesson.slug}.update-{digest[:8]}.ipynb")
            if not update.exists():
                write_atomically(update, content)
            # Remembered, so that an update which the learner deletes does not come back.
            origins.setdefault(lesson.slug, []).append(digest)
            said.append(f"{lesson.slug}: a new version lies beside your copy, which stays: {update.name}")
        elif digest not in origins.get(lesson.slug, []):
            origins.setdefault(lesson.slug, []).append(digest)
    _write_origins(root, origins)
    return said


def reset(lesson: Lesson, exercise: str | None = None, root: Path = ROOT) -> Path | None:
    """Restore the learner's copy of `lesson`, or its answer to `exercise` alone, from the released lesson.

    Returns the backup of the copy as it was; None where there was no copy. A reset that cannot be done raises
    KeyError (not an exercise of this lesson), FileNotFoundError or ValueError, and changes nothing.
    """
    source, copy = lesson.notebook("lessons", root), lesson.notebook("work", root)
    if exercise is not None and exercise not in lesson.exercises:
        raise KeyError(f"no exercise {exercise!r} in {lesson.slug}; it has {', '.join(lesson.exercises)}")
    if not source.is_file():
        raise FileNotFoundError(f"lessons/ holds no {lesson.slug} to restore from")
    if exercise is None or not copy.exists():
        content = source.read_bytes()
    else:
        content = _with_answer_restored(copy, source, exercise)
    backup = _back_up(copy) if copy.exists() else None
    write_atomically(copy, content)
    if exercise is None or backup is None:
        origins = _read_origins(root)
        origins[lesson.slug] = [hashlib.sha256(content).hexdigest()]
        _write_origins(root, origins)
    return backup


def course_map(state: dict[str, dict], root: Path = ROOT, lessons: tuple[Lesson, ...] = LESSONS) -> str:
    """The course map as Markdown: each lesson, what it is for, how far `state` of the progress file is."""
    lines = [
        "# The KV cache, by hand",
        "",
        "Each lesson is a notebook: predict, trace by hand, write one function, check it, then play with the "
        "explorer that your own function drives. A CPU is enough, and no weights are downloaded.",
        "",
        "| Lesson | Afterwards you can | Minutes | Needs | Your progress |",
        "|:---|:---|---:|:---|:---|",
    ]
    for lesson in lessons:
        title, notebook = f"{lesson.number} · {lesson.title}", lesson.notebook("work", root)
        link = f"[{title}]({notebook.relative_to(root / 'work').as_posix()})"
        name = link if lesson.notebook("lessons", root).is_file() else title
        needs = ", ".join(slug.partition("_")[0] for slug in lesson.needs) or "–"
        done = progress_of(lesson, state)
        lines.append(f"| {name} | {lesson.promise} | {lesson.minutes} | {needs} | {done} |")
    lines += [
        "",
        "## How this works",
        "",
        "1. Open a lesson and run its **setup cell**: click it and press **Shift+Enter**.",
        "2. Write your **answer** in the cell under an exercise and run it.",
        "3. Run the **check** cell below it. It says at once what is right, or which case is not, and why.",
        '4. Stuck? Run `hint("name_of_the_exercise")` in a new cell; each call goes one step further.',
        "",
        "These notebooks are your own copies, in the folder `work`. An update of the course never changes "
        "them: a new version of a lesson is laid beside your copy, with `update` in its name.",
        "",
        "To start afresh, type `autograde reset 02` (a whole lesson) or `autograde reset kv_bytes` (one "
        "exercise) in a terminal (File, New, Terminal). The copy as it was is kept in the lesson's `backup` "
        "folder.",
        "",
        "This page is written anew after every check; close it and open it again to see your progress.",
        "",
    ]
    return "\n".join(lines)


def progress_of(lesson: Lesson, state: dict[str, dict]) -> str:
    """How far a lesson is: "3 of 7 exercises · 6 of 16 points", done, or not begun."""
    solved = [name for name in lesson.exercises if state.get(name, {}).get("solved")]
    tried = any(state.get(name, {}).get("attempts") for name in lesson.exercises)
    points = sum(lesson.exercises[name] for name in solved)
    if len(solved) == len(lesson.exercises):
        return f"done ✓ {lesson.points} of {lesson.points} points"
    if not tried:
        return f"not begun · {len(lesson.exercises)} exercises, {lesson.points} points"
    return f"{len(solved)} of {len(lesson.exercises)} exercises · {points} of {lesson.points} points"


def write_map(state: dict[str, dict], root: Path = ROOT, lessons: tuple[Lesson, ...] = LESSONS) -> Path:
    path = root / "work" / MAP_NAME
    write_atomically(path, course_map(state, root, lessons).encode())
    return path


def _copy_companions(source: Path, target: Path) -> None:
    """Pictures and data that lie beside a released notebook; again, only those that are missing."""
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_file() and path.suffix != ".ipynb" and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)


def _read_origins(root: Path) -> dict[str, list[str]]:
    # A lost or damaged file costs nothing but one more offer of a version that the learner may know already.
    try:
        origins = json.loads((root / "work" / RELEASED_NAME).read_text(encoding="utf-8"))
        return {slug: [str(digest) for digest in digests] for slug, digests in origins.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write_origins(root: Path, origins: dict[str, list[str]]) -> None:
    write_atomically(root / "work" / RELEASED_NAME, json.dumps(origins, indent=1).encode())


def _back_up(copy: Path) -> Path:
    """Copy a notebook into its `backup` folder under the time; two backups in one second get two names."""
    folder = copy.parent / "backup"
    folder.mkdir(exist_ok=True)
    name = f"{copy.stem}-{datetime.now():%Y%m%d-%H%M%S}"
    content = copy.read_bytes()
    count = 1
    while True:
        path = folder / (f"{name}.ipynb" if count == 1 else f"{name}-{count}.ipynb")
        try:
            with path.open("xb") as file:
                file.write(content)
            return path
        except FileExistsError:
            count += 1


def _is_answer_to(exercise: str, cell: dict) -> bool:
    return cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") == exercise


def _with_answer_restored(copy: Path, source: Path, exercise: str) -> bytes:
    """The learner's notebook with the released answer cells of one exercise in place of the learner's."""
    import nbformat  # slow to import, and every check in a notebook imports this module for the course map

    try:
        notebook = nbformat.read(copy, as_version=4)
    except Exception as error:
        raise ValueError(f"{copy} is not a readable notebook ({error}); reset the whole lesson instead") from error
    fresh = nbformat.read(source, as_version=4)
    answer = next((place for place, cell in enumerate(fresh.cells) if _is_answer_to(exercise, cell)), None)
    if answer is None:
        raise ValueError(f"{source} has no answer cell for {exercise}; nothing was changed")
    for place, cell in enumerate(notebook.cells):
        if _is_answer_to(exercise, cell):
            notebook.cells[place] = fresh.cells[answer]
            break
    else:
        notebook.cells.insert(_place_before(notebook.cells, fresh.cells[answer + 1 :]), fresh.cells[answer])
    return (nbformat.writes(notebook) + "\n").encode()


def _place_before(cells: list[dict], followers: list[dict]) -> int:
    """Where a deleted cell belongs: before the first released follower that is still there, else last."""
    for follower in followers:
        for place, cell in enumerate(cells):
            if cell.get("id") == follower.get("id"):
                return place
    return len(cells)
