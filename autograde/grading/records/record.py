"""Results into nbgrader's gradebook, as the rows that `nbgrader autograde` would have written."""

from collections.abc import Collection
from datetime import datetime
from pathlib import Path

import nbformat
from nbgrader import utils
from nbgrader.api import SubmittedNotebook
from nbgrader.preprocessors import SaveCells

from autograde.course import Lesson
from autograde.grading.places import check_student
from autograde.grading.records.gradebook import open_gradebook, transaction
from autograde.grading.records.settings import Settings
from autograde.grading.result import FAILED, UNREADABLE, Result

NO_RESPONSE = "No response."  # nbgrader's words for an answer cell that was left as released


def untouched(notebook: nbformat.NotebookNode) -> frozenset[str]:
    """The answer cells of a rebuilt submission that are still as they were released, by grade_id."""
    cells = [cell for cell in notebook.cells if utils.is_solution(cell)]
    same = [cell for cell in cells if cell.metadata.nbgrader.get("checksum") == utils.compute_checksum(cell)]
    return frozenset(cell.metadata.nbgrader.grade_id for cell in same)


class Recorder:
    """One lesson's part of the gradebook, open for results. Use it in a `with` block, in one process.

    Opening brings the assignment up to date from `release`, the released notebook. ValueError if the notebook cannot
    be read, does not grade the lesson's exercises at their points, or has other cells than the submissions that the
    gradebook holds; the gradebook is then as it was.
    """

    def __init__(self, settings: Settings, lesson: Lesson, release: Path):
        notebook = _read(release, lesson)
        self._settings, self._lesson = settings, lesson
        self._book = open_gradebook(settings.db_url, settings.course_id)
        try:
            self._save_cells(notebook)
            cells = self._book.find_notebook(lesson.slug, lesson.slug)._base_cells
            self._names = {cell.id: cell.name for cell in cells}
            self._book.db.remove()
        except BaseException:
            self._book.close()
            raise

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_) -> None:
        self._book.close()

    def record(self, result: Result, received: datetime | None = None, untouched: Collection[str] = ()) -> None:
        """Write one result: all of it, or nothing when this raises or the process dies.

        A result that FAILED writes nothing. Scores that a person gave, extra credit and comments stay.
        `received` is when the submission came in, with its offset from UTC; None takes nothing off for being late.
        `untouched` names the answer cells left as released. ValueError if the result is not one of this lesson.
        """
        if result.status == FAILED:
            return
        scores = self._scores(result)
        slug, student = self._lesson.slug, check_student(result.student)
        with transaction(self._book) as book:
            book.update_or_create_student(student)
            book.update_or_create_submission(slug, student, timestamp=received)
            submitted = book.find_submission_notebook(slug, slug, student)
            empty = 0.0 if result.status == UNREADABLE else None
            for grade in submitted.grades:
                name = self._names[grade.cell_id]
                # A cell that is no exercise waits for a person, unless there is nothing in it to look at.
                grade.auto_score = scores.get(name, 0.0 if name in untouched else empty)
                # As nbgrader does: a person's score stays, and the person is asked to look at it again.
                grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
            for comment in submitted.comments:
                comment.auto_comment = NO_RESPONSE if self._names[comment.cell_id] in untouched else None
            book.db.flush()
            submitted.late_submission_penalty = self._penalty(submitted)

    def _scores(self, result: Result) -> dict[str, float]:
        if result.slug != self._lesson.slug:
            raise ValueError(f"a result of {result.slug} cannot be recorded in {self._lesson.slug}")
        if result.status == UNREADABLE:
            return dict.fromkeys(map(_check_cell, self._lesson.exercises), 0.0)
        given = {verdict.exercise: float(result.points_of(verdict)) for verdict in result.verdicts}
        if given.keys() != self._lesson.exercises.keys() or len(given) != len(result.verdicts):
            names = ", ".join(verdict.exercise for verdict in result.verdicts)
            raise ValueError(f"the result of {result.student} in {result.slug} has verdicts on {names or 'nothing'}")
        return {_check_cell(exercise): points for exercise, points in given.items()}

    def _penalty(self, submitted: SubmittedNotebook) -> float | None:
        """Points to take off by nbgrader's late rule, or None."""
        assignment = submitted.assignment
        # An extension of a due date that was never set is an error inside nbgrader.
        if assignment.timestamp is None or assignment.assignment.duedate is None:
            return None
        seconds = assignment.total_seconds_late
        if not seconds:
            return None
        penalty = self._settings.late.late_submission_penalty(assignment.student_id, submitted.score, seconds)
        return None if penalty is None else min(max(penalty, 0), submitted.score)

    def _save_cells(self, notebook: nbformat.NotebookNode) -> None:
        """What `nbgrader generate_assignment` writes. Cut off in the middle, the next opening does it again."""
        slug = self._lesson.slug
        self._book.update_or_create_assignment(slug)
        names = {"notebook": slug, "assignment": slug, "db_url": self._settings.db_url}
        try:
            SaveCells().preprocess(notebook, {"nbgrader": names})
        except RuntimeError:
            raise ValueError(
                f"the gradebook holds submissions of {slug}, released with other cells than lessons/ has now; "
                "grade them with the lesson that was handed out, or begin a new gradebook"
            ) from None


def _check_cell(exercise: str) -> str:
    return f"check_{exercise}"


def _read(release: Path, lesson: Lesson) -> nbformat.NotebookNode:
    """The released notebook, if it grades what the course table says."""
    try:
        notebook = nbformat.read(release, as_version=4)
    except Exception as error:  # nbformat lets many kinds through
        raise ValueError(f"the released lesson {release} cannot be read: {error}") from None
    cells = [cell.metadata.nbgrader for cell in notebook.cells if utils.is_grade(cell)]
    points = {cell.grade_id: cell.points for cell in cells}
    for exercise, worth in lesson.exercises.items():
        if points.get(_check_cell(exercise)) != worth:
            raise ValueError(f"the released lesson {release} does not grade {exercise} at {worth} points")
    return notebook
