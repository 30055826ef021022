"""`autograde grade` from the outside: exit codes, files, and a run that is killed and goes on.

Whole processes are started where they matter; elsewhere the command runs in this one, which has imported nbgrader.
"""

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest
from nbgrader.api import Gradebook
from sqlalchemy import create_engine, inspect, text
from typer.testing import CliRunner

from autograde.cli import app
from autograde.course import ROOT, lesson
from autograde.grading.records import store
from tests.grading.bubblewrap import needs_bubblewrap
from tests.grading.gradebooks import fresh_processes
from tests.grading.test_batch import HALF, hand_in
from tests.notebooks import filled, solutions

LESSON = lesson("02_byte_formula")
RIGHT = solutions(LESSON)
pytestmark = needs_bubblewrap


COMMAND = [sys.executable, "-m", "autograde"]


def autograde(*arguments, rc=0):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == rc, (done.output, done.exc_info)
    return done


@pytest.fixture
def course(tmp_path):
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    hand_in(tmp_path, "ada", filled(LESSON, RIGHT))
    hand_in(tmp_path, "bob", filled(LESSON, HALF))
    return tmp_path


def grades(course) -> list[tuple]:
    """Every row of the gradebook's submitted half, without the keys that are drawn at random."""
    engine = create_engine(f"sqlite:///{course / 'gradebook.db'}")
    query = """
        select submitted_assignment.student_id, base_cell.name, grade.auto_score, grade.manual_score,
               grade.needs_manual_grade, grade.extra_credit
        from grade join base_cell on grade.cell_id = base_cell.id
        join submitted_notebook on grade.notebook_id = submitted_notebook.id
        join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
    """
    with engine.connect() as connection:
        assert "grade" in inspect(connection).get_table_names()
        return sorted(connection.execute(text(query)).all(), key=str)


def test_a_graded_batch_is_in_the_gradebook_the_folders_and_the_table(course):
    command = [*COMMAND, "grade", "02", "--course", course, "--seed", "7"]
    table = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "ada" in table and "16/16" in table and "2/16" in table and "seed 7" in table
    assert len(grades(course)) == 2 * len(LESSON.exercises)
    assert sum(row[2] for row in grades(course)) == 18
    result = store.load(course, "bob", LESSON.slug)
    assert (result.points, result.seed, result.isolated) == (2, 7, True)
    assert (course / "autograded" / "bob" / LESSON.slug / f"{LESSON.slug}.ipynb").is_file()


def test_a_submission_that_cannot_be_read_makes_the_exit_code_1_and_the_rest_is_graded(course):
    hand_in(course, "eve", b"")
    found = json.loads(autograde("grade", "02", "--jobs", 1, "--course", course, "--json", rc=1).stdout)
    assert [(each["student"], each["status"], each["points"]) for each in found] == [
        ("ada", "graded", 16),
        ("bob", "graded", 2),
        ("eve", "unreadable", 0),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("grade", "99"), "no lesson '99'"),
        (("grade", "02", "--students", "eve"), "eve handed nothing in"),
        (("grade", "03"), "nothing is handed in"),
        (("grade", "02", "--cell-seconds", "0"), "cell_seconds is 0"),
        (("grade", "02", "--received", "nowhere.csv"), "nowhere.csv"),
        (("grade", "02", "--library-answers", "maybe"), "maybe"),
        (("grade", "02", "--jobs", "0"), "jobs"),
        (("feedback", "02"), "nothing of 02_byte_formula is graded"),
        (("export", "--format", "xls"), "xls"),
    ],
)
def test_bad_use_is_said_in_a_sentence_and_changes_nothing(course, arguments, said):
    before = sorted(course.rglob("*"))
    done = autograde(*arguments, "--course", course, rc=2)
    assert said in done.stderr and "Traceback" not in done.stderr
    assert sorted(each for each in course.rglob("*") if ".run" not in each.name) in (
        before,
        sorted([*before, course / "autograded"]),
    )


def test_bad_use_ends_a_whole_process_with_exit_code_2():
    done = subprocess.run([*COMMAND, "export", "--format", "xls"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "xls" in done.stderr


def test_without_bubblewrap_it_refuses_and_without_isolation_it_is_loud(course, monkeypatch):
    monkeypatch.setenv("PATH", str(course / "nowhere"))
    refused = autograde("grade", "02", "--jobs", 1, "--course", course, rc=2)
    assert "bubblewrap, which is not installed" in refused.stderr
    loud = autograde("grade", "02", "--jobs", 1, "--course", course, "--no-isolation", "--json")
    assert "NO ISOLATION" in loud.stderr
    assert [each["isolated"] for each in json.loads(loud.stdout)] == [False, False]


def test_feedback_and_export_follow(course):
    autograde("grade", "02", "--jobs", 1, "--course", course)
    assert "2 pages" in autograde("feedback", "02", "--course", course).stdout
    page = (course / "feedback" / "bob" / LESSON.slug / f"{LESSON.slug}.html").read_text(encoding="utf-8")
    assert "only one of the two tensors" in page
    autograde("export", "--format", "moodle", "--to", course / "grades.csv", "--course", course)
    assert "bob" in (course / "grades.csv").read_text(encoding="utf-8")


def test_regrading_replaces_and_a_persons_score_stays(course):
    autograde("grade", "02", "--jobs", 1, "--course", course)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "kv-cache") as book:
        given = book.find_grade("check_kv_bytes", LESSON.slug, LESSON.slug, "bob")
        given.manual_score = 1.5
        book.db.commit()
    hand_in(course, "bob", filled(LESSON, RIGHT))
    autograde("grade", "02", "--jobs", 1, "--course", course, "--students", "bob")
    rows = {row[1]: row for row in grades(course) if row[0] == "bob"}
    assert sum(row[2] for row in rows.values()) == 16
    assert rows["check_kv_bytes"][3] == 1.5


def test_a_killed_run_goes_on_and_no_mark_is_lost_or_doubled(course):
    for number in range(6):
        hand_in(course, f"s{number}", filled(LESSON, RIGHT if number % 2 else HALF))
    undisturbed = course / "undisturbed"
    shutil.copytree(course / "submitted", undisturbed / "submitted")
    shutil.copy(course / "nbgrader_config.py", undisturbed)
    command = ["grade", "02", "--course", str(course), "--jobs", "1"]
    exits = set()
    for recorded in (1, 3, 4):
        running = fresh_processes().Process(target=CliRunner().invoke, args=(app, command))
        running.start()
        while len(list(course.glob("autograded/*/*/result.json"))) < recorded and running.is_alive():
            time.sleep(0.005)
        running.kill()
        running.join()
        exits.add(running.exitcode)
    left = len(list(course.glob("autograded/*/*/result.json")))
    assert left >= 4 and -signal.SIGKILL in exits
    done = autograde("grade", "02", "--jobs", 1, "--course", course, "--json")
    found = json.loads(done.stdout)
    if left < len(found):
        assert "Going on with the run" in done.stderr
    seeds = {each["seed"] for each in found}
    assert len(seeds) == 1 and len(found) == 8
    autograde("grade", "02", "--course", undisturbed, "--seed", seeds.pop())
    assert grades(course) == grades(undisturbed)
    assert not (course / "autograded" / f".{LESSON.slug}.run.json").exists()
