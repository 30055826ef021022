"""The gradebook as a table for people, for Canvas or for Moodle.

Scores count as nbgrader counts them: a person's score before the grader's, extra credit added, lateness taken off,
never below zero.
"""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nbgrader.api import Assignment, Gradebook, Student, SubmittedAssignment
from sqlalchemy import select

from autograde.grading.records.gradebook import open_gradebook
from autograde.grading.records.settings import Settings
from autograde.workspace import write_atomically

Rows = Iterator[list[object]]


@dataclass(frozen=True)
class Score:
    raw: float = 0.0
    penalty: float = 0.0
    timestamp: datetime | None = None

    @property
    def points(self) -> float:
        return max(0.0, self.raw - self.penalty)


@dataclass(frozen=True)
class Lesson:
    assignment: Assignment
    scores: dict[str, Score]  # by student; nobody stands here who did not submit


def export(settings: Settings, form: str, to: Path, slugs: tuple[str, ...] = ()) -> int:
    """Write the scores in `slugs`, or in all lessons, to the file `to` as "csv", "canvas" or "moodle".

    Returns how many students the file lists. ValueError for another form, or for a lesson that the gradebook does not
    hold; nothing is written then.
    """
    if form not in FORMS:
        raise ValueError(f"no export format {form!r}; the formats are {', '.join(FORMS)}")
    book = open_gradebook(settings.db_url, settings.course_id, make=False)
    try:
        lessons = [Lesson(each, _scores(book, each)) for each in _assignments(book, slugs)]
        students = book.students
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerows([_cell(value) for value in row] for row in FORMS[form](lessons, students))
    finally:
        book.close()
    write_atomically(to, table.getvalue().encode())
    return len(students)


def _assignments(book: Gradebook, slugs: tuple[str, ...]) -> list[Assignment]:
    known = {each.name: each for each in sorted(book.assignments, key=lambda each: each.name)}
    if missing := [slug for slug in slugs if slug not in known]:
        raise ValueError(f"the gradebook holds no {missing[0]!r}; it holds {', '.join(known) or 'no lesson yet'}")
    return [known[slug] for slug in slugs or known]


def _scores(book: Gradebook, assignment: Assignment) -> dict[str, Score]:
    made = SubmittedAssignment
    columns = (made.student_id, made.score, made.late_submission_penalty, made.timestamp)
    found = book.db.execute(select(*columns).where(made.assignment_id == assignment.id))
    return {student: Score(score, penalty, timestamp) for student, score, penalty, timestamp in found}


def _cell(value: object) -> object:
    """`value` as a spreadsheet may hold it: a text that it would take for a formula gets an apostrophe in front."""
    if not isinstance(value, str):
        return value
    line = " ".join(value.splitlines())
    start = line.lstrip()
    return f"'{line}" if len(start) > 1 and start[0] in "=+-@" else line


def _csv(lessons: list[Lesson], students: list[Student]) -> Rows:
    """The columns of `nbgrader export`; who did not submit has 0."""
    yield [
        *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
        *("raw_score", "late_submission_penalty", "score", "max_score"),
    ]
    for lesson in lessons:
        for each in students:
            score = lesson.scores.get(each.id, Score())
            about = (each.id, each.last_name, each.first_name, each.email)
            points = (score.raw, score.penalty, score.points, lesson.assignment.max_score)
            yield [lesson.assignment.name, lesson.assignment.duedate, score.timestamp, *about, *points]


def _canvas(lessons: list[Lesson], students: list[Student]) -> Rows:
    """Canvas finds a student by ID, then SIS ID, then login, and an assignment by its title."""
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(lesson.assignment.name for lesson in lessons)]
    yield ["    Points Possible", *[""] * 4, *(_number(lesson.assignment.max_score) for lesson in lessons)]
    for each in students:
        name = ", ".join(filter(None, (each.last_name, each.first_name))) or each.id
        yield [name, each.lms_user_id, "", each.id, "", *_points(lessons, each, missing="")]


def _moodle(lessons: list[Lesson], students: list[Student]) -> Rows:
    """Real grades, because Moodle's import reads no percentages. A dash stands for no grade."""
    yield ["Username", "ID number", "Email address", *(lesson.assignment.name for lesson in lessons)]
    for each in students:
        yield [each.id, each.lms_user_id, each.email, *_points(lessons, each, missing="-")]


def _points(lessons: list[Lesson], student: Student, missing: str) -> Iterator[str]:
    for lesson in lessons:
        score = lesson.scores.get(student.id)
        yield _number(score.points) if score else missing


def _number(points: float) -> str:
    return f"{points:.4f}".rstrip("0").rstrip(".")


FORMS: dict[str, Callable[[list[Lesson], list[Student]], Rows]] = {"csv": _csv, "canvas": _canvas, "moodle": _moodle}
