"""The gradebook: a result is recorded whole or not at all, on SQLite and on PostgreSQL."""

import contextlib
import random
import signal
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import nbformat
import pytest
from nbgrader.api import Gradebook
from sqlalchemy import create_engine, inspect, text

from autograde.grading.records import record
from autograde.grading.records.gradebook import open_gradebook, transaction
from autograde.grading.records.record import Recorder
from autograde.grading.result import CUT_SHORT, FAILED, UNREADABLE
from tests.grading.gradebooks import fresh_processes, grades, result, rows, settings
from tests.grading.stock import LESSON, record_all
from tests.notebooks import by_grade_id, read

RELEASE = LESSON.notebook("lessons")
ALL = set(LESSON.exercises)
DUE = datetime(2026, 3, 1, 12, 0)


def open_book(url, late="none", release=RELEASE):
    return Recorder(settings(url, late), LESSON, release)


def test_a_fresh_database_carries_the_version_that_nbgrader_knows(url):
    open_book(url).__exit__()
    engine = create_engine(url)
    with engine.connect() as connection:
        assert "alembic_version" in inspect(connection).get_table_names()
        assert len(connection.execute(text("SELECT version_num FROM alembic_version")).all()) == 1
    engine.dispose()


def test_opening_again_changes_nothing(url):
    record_all(url)
    before = rows(url)
    open_book(url).__exit__()
    assert rows(url) == before


def test_regrading_replaces_the_scores_and_doubles_none(url):
    with open_book(url) as book:
        book.record(result(LESSON, "ada", {"kv_bytes"}))
        book.record(result(LESSON, "ada", {"as_units", "max_tokens"}))
    (scores,) = grades(url, "auto_score").values()
    assert scores == {name: worth * (name in ("as_units", "max_tokens")) for name, worth in LESSON.exercises.items()}
    assert len(rows(url)["grade"]) == len(LESSON.exercises)


def test_what_a_person_gave_stays_and_asks_to_be_looked_at_again(url):
    with open_book(url) as book:
        book.record(result(LESSON, "ada", set()))
        with Gradebook(url) as gradebook:
            grade = gradebook.find_grade("check_kv_bytes", LESSON.slug, LESSON.slug, "ada")
            grade.manual_score, grade.extra_credit, grade.needs_manual_grade = 1.5, 0.5, False
            comment = gradebook.find_comment("kv_bytes", LESSON.slug, LESSON.slug, "ada")
            comment.manual_comment = "nearly"
            gradebook.db.commit()
        book.record(result(LESSON, "ada", ALL), untouched={"kv_bytes"})
    columns = ("auto_score", "manual_score", "extra_credit", "needs_manual_grade")
    scores = grades(url, *columns)["ada"]
    assert scores["kv_bytes"] == (2.0, 1.5, 0.5, True)
    assert scores["as_units"] == (2.0, None, None, False)
    (commented,) = [dict(row) for row in rows(url)["comment"] if dict(row)["manual_comment"]]
    assert (commented["auto_comment"], commented["manual_comment"]) == ("No response.", "nearly")


def test_an_unreadable_submission_has_zero_in_every_cell(url):
    with open_book(url) as book:
        book.record(result(LESSON, "ada", ALL))
        book.record(replace(result(LESSON, "ada", set(), UNREADABLE), verdicts=()))
    assert set(grades(url, "auto_score", "needs_manual_grade")["ada"].values()) == {(0.0, False)}


def test_a_submission_that_was_cut_short_keeps_what_was_reached(url):
    with open_book(url) as book:
        book.record(result(LESSON, "ada", {"kv_elements"}, CUT_SHORT))
    assert grades(url, "auto_score")["ada"]["kv_elements"] == 2.0


def test_a_failed_grading_writes_nothing(url):
    with open_book(url) as book:
        book.record(result(LESSON, "ada", ALL))
        before = rows(url)
        book.record(replace(result(LESSON, "ada", set(), FAILED), verdicts=()))
        book.record(replace(result(LESSON, "bob", set(), FAILED), verdicts=()))
    assert rows(url) == before


def test_borrowed_answers_count_as_the_run_says(url):
    def borrowed(policy):
        made = result(LESSON, policy, set(), library_answers=policy)
        return replace(made, verdicts=tuple(replace(each, status="borrowed") for each in made.verdicts))

    with open_book(url) as book:
        for policy in ("zero", "flag"):
            book.record(borrowed(policy))
    scores = grades(url, "auto_score")
    assert (sum(scores["zero"].values()), sum(scores["flag"].values())) == (0, LESSON.points)


def test_an_error_in_the_middle_leaves_the_old_rows(url, monkeypatch):
    with open_book(url) as book:
        book.record(result(LESSON, "ada", {"kv_bytes"}))
        before = rows(url)

        def fail(*_):
            raise RuntimeError("the disk is full")

        monkeypatch.setattr(Recorder, "_penalty", fail)
        for student in ("ada", "new"):
            with pytest.raises(RuntimeError):
                book.record(result(LESSON, student, ALL))
        monkeypatch.undo()
        assert rows(url) == before
        book.record(result(LESSON, "new", ALL))
    assert sum(grades(url, "auto_score")["new"].values()) == LESSON.points


def test_no_other_writer_gets_in_between_reading_and_writing(tmp_path):
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    open_book(url).__exit__()
    book = open_gradebook(url, "kv-cache")
    with transaction(book):
        book.find_assignment(LESSON.slug)
        other = sqlite3.connect(tmp_path / "gradebook.db", timeout=0)
        with contextlib.closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
    book.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"slug": "03_cache_parity"}, "03_cache_parity cannot be recorded in 02_byte_formula"),
        ({"verdicts": ()}, "verdicts on nothing"),
        ({"verdicts": result(LESSON, "x", ALL).verdicts[1:]}, "verdicts on kv_bytes, "),
        ({"verdicts": result(LESSON, "x", ALL).verdicts * 2}, "verdicts on kv_elements, "),
        ({"student": "../ada"}, "hidden"),
    ],
)
def test_a_result_that_does_not_fit_changes_nothing(tmp_path, change, said):
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    with open_book(url) as book:
        before = rows(url)
        with pytest.raises(ValueError, match=said):
            book.record(replace(result(LESSON, "ada", ALL), **change))
    assert rows(url) == before


@pytest.mark.parametrize("damage", ["absent", "no notebook", "a cell less", "other points"])
def test_a_release_that_is_not_the_lesson_makes_no_gradebook(tmp_path, damage):
    release = tmp_path / "release.ipynb"
    if damage == "no notebook":
        release.write_text('{"cells": [')
    elif damage != "absent":
        notebook = read(RELEASE)
        cell = by_grade_id(notebook)["check_kv_bytes"]
        if damage == "a cell less":
            notebook.cells.remove(cell)
        else:
            cell.metadata.nbgrader.points = 20
        nbformat.write(notebook, release)
    with pytest.raises(ValueError, match=r"release\.ipynb"):
        open_book(f"sqlite:///{tmp_path / 'gradebook.db'}", release=release)
    assert not (tmp_path / "gradebook.db").exists()


def test_a_release_with_other_cells_than_the_recorded_submissions_is_refused(tmp_path, url):
    record_all(url)
    before = rows(url)
    notebook = read(RELEASE)
    notebook.cells.remove(by_grade_id(notebook)["worked_shape"])
    nbformat.write(notebook, tmp_path / "release.ipynb")
    with pytest.raises(ValueError, match="other cells"):
        open_book(url, release=tmp_path / "release.ipynb")
    assert rows(url) == before


def with_question(path):
    """The release with one more question, which a person marks."""
    notebook = read(RELEASE)
    more = nbformat.v4.new_markdown_cell("Why?", metadata={"nbgrader": {
        "grade": True, "solution": True, "locked": False, "task": False, "grade_id": "why", "points": 3,
        "schema_version": 3, "cell_type": "markdown"}})  # fmt: skip
    more.metadata.nbgrader.checksum = record.utils.compute_checksum(more)
    notebook.cells.append(more)
    nbformat.write(notebook, path)
    return path


def test_a_question_that_a_person_marks_waits_for_that_person(tmp_path, url):
    with open_book(url, release=with_question(tmp_path / "release.ipynb")) as book:
        book.record(result(LESSON, "answered", ALL))
        book.record(result(LESSON, "blank", ALL), untouched={"why"})
        book.record(result(LESSON, "unreadable", ALL, UNREADABLE))
    found = {student: each["why"] for student, each in grades(url, "auto_score", "needs_manual_grade").items()}
    assert found == {"answered": (None, True), "blank": (0.0, False), "unreadable": (0.0, False)}


@pytest.mark.parametrize(
    ("late", "received", "extension", "penalty"),
    [
        ("zero", DUE + timedelta(hours=1), None, 7.0),
        ("zero", DUE, None, None),
        ("zero", DUE + timedelta(hours=1), timedelta(hours=2), None),
        ("none", DUE + timedelta(hours=1), None, None),
        ("zero", None, None, None),
    ],
)
def test_lateness_is_judged_by_nbgraders_rule_from_the_time_that_was_given(url, late, received, extension, penalty):
    three = {"kv_bytes", "as_units", "max_tokens"}
    with open_book(url, late) as book:
        book.record(result(LESSON, "ada", set()))
        with Gradebook(url) as gradebook:
            gradebook.update_or_create_assignment(LESSON.slug, duedate=DUE)
            gradebook.find_submission(LESSON.slug, "ada").extension = extension
            gradebook.db.commit()
        # The same moment, told from another time zone.
        told = received and received.replace(tzinfo=UTC).astimezone(None)
        book.record(result(LESSON, "ada", three), told)
    with Gradebook(url) as gradebook:
        submission = gradebook.find_submission(LESSON.slug, "ada")
        assert submission.timestamp == received
        assert submission.notebooks[0].late_submission_penalty == penalty


def test_an_extension_of_no_due_date_is_no_lateness(url):
    with open_book(url, "zero") as book:
        book.record(result(LESSON, "ada", ALL))
        with Gradebook(url) as gradebook:
            gradebook.find_submission(LESSON.slug, "ada").extension = timedelta(hours=1)
            gradebook.db.commit()
        book.record(result(LESSON, "ada", ALL), DUE.replace(tzinfo=UTC))
    assert dict(rows(url)["submitted_notebook"][0])["late_submission_penalty"] is None


def test_a_time_that_was_given_once_goes_when_none_is_given(url):
    with open_book(url, "zero") as book:
        with Gradebook(url) as gradebook:
            gradebook.update_or_create_assignment(LESSON.slug, duedate=DUE)
        book.record(result(LESSON, "ada", ALL), (DUE + timedelta(days=1)).replace(tzinfo=UTC))
        assert dict(rows(url)["submitted_notebook"][0])["late_submission_penalty"] == LESSON.points
        book.record(result(LESSON, "ada", ALL))
    assert dict(rows(url)["submitted_notebook"][0])["late_submission_penalty"] is None
    assert dict(rows(url)["submitted_assignment"][0])["timestamp"] is None


def record_thirty(url, telling=None):
    """Record 30 students in order, `telling` before each one. What is written does not depend on what is there."""
    names = list(LESSON.exercises)
    tell = telling.send if telling else lambda _: None
    tell("opening")
    with Recorder(settings(url), LESSON, RELEASE) as book:
        for number in range(30):
            tell(number)
            right, rest = set(names[: number % 8]), set(names[number % 8 :])
            book.record(result(LESSON, f"student{number}", right), untouched=rest)


def test_killed_at_any_moment_and_run_again_the_gradebook_is_that_of_an_undisturbed_run(url, tmp_path):
    fresh = fresh_processes()
    draw, exits = random.Random(5), set()
    for lines in (1, 2, *(draw.randrange(2, 31) for _ in range(6))):
        told, telling = fresh.Pipe(duplex=False)
        child = fresh.Process(target=record_thirty, args=(url, telling))
        child.start()
        for _ in range(lines):
            told.recv()
        child.kill()  # somewhere in the opening, or in recording a student
        child.join()
        exits.add(child.exitcode)
        for scores in grades(url, "auto_score", "needs_manual_grade").values() if lines > 1 else ():
            assert len(scores) == len(ALL) and (None, True) not in scores.values()
    assert -signal.SIGKILL in exits
    undisturbed = f"sqlite:///{tmp_path / 'undisturbed.db'}"
    record_thirty(url)
    record_thirty(undisturbed)
    assert rows(url) == rows(undisturbed)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("gradebook.db", "no database URL"),
        ("nosuch://host/book", "cannot be used"),
        ("sqlite:////no/such/folder/gradebook.db", "unable to open"),
        ("postgresql://me:secret@localhost:1/book?connect_timeout=1", r"me:\*\*\*@localhost"),
    ],
)
def test_a_database_that_cannot_be_used_is_named_without_its_password(url, said):
    with pytest.raises(ValueError, match=said) as caught:
        open_book(url)
    assert "secret" not in str(caught.value)


def test_a_gradebook_of_another_version_of_nbgrader_is_left_alone(url):
    record_all(url)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'b6d005d67074'"))
    engine.dispose()
    before = rows(url)
    with pytest.raises(ValueError, match="nbgrader db upgrade"):
        open_book(url)
    assert rows(url) == before
