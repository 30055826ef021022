"""Exports: nbgrader's own numbers, in the columns that each reader wants, and no formula in any of them."""

import csv
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from nbgrader.api import Gradebook

from autograde.course import lesson
from autograde.grading.records.export import export
from autograde.grading.records.record import Recorder
from tests.grading.gradebooks import result, settings

SECOND, THIRD = lesson("02"), lesson("03")
DUE = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Two lessons: ada late by a day in one, marked by a person in the other; bob and =cmd in one; eve in none."""
    url = f"sqlite:///{tmp_path_factory.mktemp('export') / 'gradebook.db'}"
    with Recorder(settings(url, "zero"), SECOND, SECOND.notebook("lessons")) as book:
        with Gradebook(url) as gradebook:
            gradebook.update_or_create_assignment(SECOND.slug, duedate=DUE)
        book.record(result(SECOND, "ada", {"kv_bytes"}), DUE.replace(day=2))
        book.record(result(SECOND, "bob", {"kv_bytes", "max_tokens"}))
    with Recorder(settings(url), THIRD, THIRD.notebook("lessons")) as book:
        book.record(result(THIRD, "ada", set()))
        book.record(result(THIRD, "=cmd", set()))
    with Gradebook(url) as gradebook:
        gradebook.update_or_create_student("ada", first_name="Ada", last_name="Lovelace", lms_user_id="42")
        gradebook.update_or_create_student("eve", email="@eve")
        grade = gradebook.find_grade("check_sample", THIRD.slug, THIRD.slug, "ada")
        grade.manual_score, grade.extra_credit = 1.25, 0.5
        gradebook.db.commit()
    return url


def table(url, form, path, slugs=()):
    count = export(settings(url), form, path, slugs)
    with path.open(newline="", encoding="utf-8") as file:
        return count, list(csv.reader(file))


def test_csv_is_what_nbgrader_exports_but_for_formulas(url, tmp_path):
    count, rows = table(url, "csv", tmp_path / "ours.csv")
    command = [sys.executable, "-m", "nbgrader", "export", f"--CourseDirectory.db_url={url}", "--to=stock.csv"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with (tmp_path / "stock.csv").open(newline="") as file:
        stock = list(csv.reader(file))
    assert sorted([each.removeprefix("'") for each in row] for row in rows) == sorted(stock)
    assert count == 4 and len(rows) == 1 + 2 * 4


def test_canvas_has_its_five_columns_then_the_lessons_and_the_points_possible(url, tmp_path):
    _, rows = table(url, "canvas", tmp_path / "canvas.csv")
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", SECOND.slug, THIRD.slug]
    assert rows[1] == ["    Points Possible", "", "", "", "", str(SECOND.points), str(THIRD.points)]
    assert {row[3]: row for row in rows[2:]} == {
        "ada": ["Lovelace, Ada", "42", "", "ada", "", "0", "1.75"],
        "bob": ["bob", "", "", "bob", "", "5", ""],
        "'=cmd": ["'=cmd", "", "", "'=cmd", "", "", "0"],
        "eve": ["eve", "", "", "eve", "", "", ""],
    }


def test_moodle_has_real_grades_and_a_dash_for_none(url, tmp_path):
    _, rows = table(url, "moodle", tmp_path / "moodle.csv")
    assert rows[0] == ["Username", "ID number", "Email address", SECOND.slug, THIRD.slug]
    assert {row[0]: row[1:] for row in rows[1:]} == {
        "ada": ["42", "", "0", "1.75"],
        "bob": ["", "", "5", "-"],
        "'=cmd": ["", "", "-", "0"],
        "eve": ["", "'@eve", "-", "-"],
    }


@pytest.mark.parametrize("form", ["csv", "canvas", "moodle"])
def test_one_lesson_alone_can_be_exported(url, tmp_path, form):
    _, rows = table(url, form, tmp_path / "one.csv", (THIRD.slug,))
    flat = [each for row in rows for each in row]
    assert THIRD.slug in flat and SECOND.slug not in flat


@pytest.mark.parametrize("form", ["csv", "canvas", "moodle"])
def test_no_cell_begins_a_formula(tmp_path, form):
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    with Recorder(settings(url), SECOND, SECOND.notebook("lessons")) as book:
        for student in ("=1+1", "+1", "-rf", "@sum"):
            book.record(result(SECOND, student, set()))
    with Gradebook(url) as gradebook:
        for student in gradebook.students:
            gradebook.update_or_create_student(student.id, email="\t=1", last_name="\r=1", lms_user_id="=2")
    _, rows = table(url, form, tmp_path / "out.csv")
    assert len(rows) == (6 if form == "canvas" else 5)
    rows = [row for row in rows if "Points Possible" not in row[0]]
    assert not [
        each for row in rows for each in row if each[:1] in tuple("=+@\t\r ") or (each[:1] == "-" and each != "-")
    ]


def test_bad_use_is_said_and_writes_nothing(url, tmp_path):
    to = tmp_path / "out.csv"
    absent = f"sqlite:///{tmp_path / 'gradebook.db'}"
    for bad, said in (
        ((settings(url), "excel", to), "no export format 'excel'; the formats are csv, canvas, moodle"),
        ((settings(url), "csv", to, ("09_none",)), "holds no '09_none'; it holds 02_byte_formula, 03_cache_parity"),
        ((settings(absent), "csv", to), "there is no gradebook"),
    ):
        with pytest.raises(ValueError, match=said):
            export(*bad)
    assert not list(tmp_path.iterdir())
