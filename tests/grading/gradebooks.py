"""Results to record, a gradebook's rows in a form that two databases can be compared by, processes to be killed."""

import multiprocessing
from multiprocessing.context import BaseContext

from nbgrader.api import Base
from nbgrader.plugins import LateSubmissionPlugin
from sqlalchemy import create_engine, select

from autograde.course import Lesson
from autograde.exercise import Verdict
from autograde.grading.records.settings import Settings
from autograde.grading.result import GRADED, Result


def settings(url: str, late: str = "none") -> Settings:
    return Settings(url, "kv-cache", LateSubmissionPlugin(penalty_method=late))


def result(lesson: Lesson, student: str, right: set[str], status: str = GRADED, **fields: object) -> Result:
    """A result with these exercises right and all others wrong."""
    verdicts = [Verdict(name, "right" if name in right else "wrong", worth) for name, worth in lesson.exercises.items()]
    return Result(student, lesson.slug, status, tuple(verdicts), **fields)


def fresh_processes() -> BaseContext:
    """Starts processes that share nothing with this one and have imported the grader and nbgrader already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["autograde.cli", "autograde.grading.batch", "autograde.grading.records.record"])
    return context


def rows(url: str) -> dict[str, list[tuple]]:
    """Every row of every table of nbgrader's, sorted. Random ids are replaced by what they stand for."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {
            table.name: [dict(row) for row in connection.execute(select(table)).mappings()]
            for table in Base.metadata.sorted_tables
        }
    engine.dispose()
    named = ("assignment", "notebook", "base_cell", "source_cell")
    labels = {row["id"]: f"{row.get('type', '')}{row['name']}" for table in named for row in found[table]}
    for row in found["submitted_assignment"]:
        labels[row["id"]] = f"{row['student_id']} in {labels[row['assignment_id']]}"
    for row in found["submitted_notebook"]:
        labels[row["id"]] = f"notebook of {labels[row['assignment_id']]}"
    for row in found["grade"] + found["comment"]:
        labels[row["id"]] = ""
    return {
        table: sorted(
            (tuple((key, labels.get(value, value)) for key, value in row.items()) for row in several), key=repr
        )
        for table, several in found.items()
    }


def grades(url: str, *columns: str) -> dict[str, dict[str, object]]:
    """Of each student, each exercise's value in one column of the table `grade`, or a tuple of several."""
    table: dict[str, dict[str, object]] = {}
    for row in map(dict, rows(url)["grade"]):
        student = row["notebook_id"].removeprefix("notebook of ").partition(" in ")[0]
        values = tuple(row[column] for column in columns)
        exercise = row["cell_id"].removeprefix("GradeCell").removeprefix("check_")
        table.setdefault(student, {})[exercise] = values if len(columns) > 1 else values[0]
    return table
