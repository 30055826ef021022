"""Stock nbgrader: notebooks of lesson 02 go from submission to scores and feedback."""

import csv
import re
import shutil

import nbformat
import pytest
from nbgrader.validator import Validator
from sqlalchemy import create_engine, text
from typer.testing import CliRunner

from autograde.cli import app
from autograde.course import ROOT
from tests.grading import gradebooks
from tests.grading.bubblewrap import needs_bubblewrap
from tests.grading.stock import HANDED_IN, LESSON, nbgrader, record_all
from tests.notebooks import filled, solutions


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """An instructor's folder after stock nbgrader's release, grading, feedback and export."""
    root = tmp_path_factory.mktemp("stock")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    shutil.copytree(ROOT / "solutions", root / "solutions")
    nbgrader(root, "generate_assignment", LESSON.slug)
    for student, (notebook, _) in HANDED_IN.items():
        folder = root / "submitted" / student / LESSON.slug
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{LESSON.slug}.ipynb")
    nbgrader(root, "autograde", LESSON.slug)
    nbgrader(root, "generate_feedback", LESSON.slug)
    nbgrader(root, "export")
    return root


def test_nbgraders_own_release_is_the_committed_lesson(stock):
    released = stock / "lessons" / LESSON.slug / f"{LESSON.slug}.ipynb"
    assert released.read_bytes() == LESSON.notebook("lessons").read_bytes()


def test_scores_are_full_partial_zero_full(stock):
    with (stock / "grades.csv").open(newline="") as file:
        scores = {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in csv.DictReader(file)}
    assert scores == {
        "displays_a_score": (0, 16),
        "own_style": (16, 16),
        "no_two": (2, 16),
        "half": (4, 16),
        "blank": (0, 16),
        "deleted_check": (16, 16),
        "altered": (16, 16),
        "plots": (16, 16),
    }


def rows(path):
    """What the gradebook at `path` says of each graded cell and each comment."""
    engine = create_engine(f"sqlite:///{path}")
    owner = """join submitted_notebook on {0}.notebook_id = submitted_notebook.id
        join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
        join base_cell on {0}.cell_id = base_cell.id"""
    grade = "auto_score, manual_score, extra_credit, needs_manual_grade"
    queries = (
        f"select student_id, base_cell.name, {grade} from grade {owner.format('grade')}",
        f"select student_id, base_cell.name, auto_comment, manual_comment from comment {owner.format('comment')}",
    )
    with engine.connect() as connection:
        return [sorted(connection.execute(text(query)).all(), key=str) for query in queries]


@needs_bubblewrap
def test_our_grader_writes_the_rows_that_stock_nbgrader_writes(stock, tmp_path):
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    where = ["--course", str(tmp_path), "--submitted", str(stock / "submitted")]
    done = CliRunner().invoke(app, ["grade", LESSON.slug, *where])
    assert done.exit_code == 0, done.output
    ours, stocks = rows(tmp_path / "gradebook.db"), rows(stock / "gradebook.db")
    assert len(ours[0]) == len(HANDED_IN) * len(LESSON.exercises)
    assert ours == stocks


def test_the_rows_are_those_that_stock_nbgrader_writes(stock, url):
    record_all(url)
    assert gradebooks.rows(url) == gradebooks.rows(f"sqlite:///{stock / 'gradebook.db'}")


def test_stock_nbgrader_goes_on_working_on_our_gradebook(stock, tmp_path):
    root = tmp_path / "ours"
    made = shutil.ignore_patterns("gradebook.db", "autograded", "feedback", "grades.csv")
    shutil.copytree(stock, root, ignore=made)
    url = f"sqlite:///{root / 'gradebook.db'}"
    record_all(url)
    before = gradebooks.rows(url)
    nbgrader(root, "autograde", LESSON.slug, "--student=half")
    nbgrader(root, "generate_feedback", LESSON.slug, "--student=half")
    nbgrader(root, "export")
    nbgrader(root, "db", "upgrade")
    assert gradebooks.rows(url) == before
    assert ",half," in (root / "grades.csv").read_text()


def feedback(stock, student):
    page = stock / "feedback" / student / LESSON.slug / f"{LESSON.slug}.html"
    visible = re.sub(r"<(style|script|head)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"<[^>]+>", "", visible)


def test_feedback_names_the_mistake_and_shows_no_checker(stock):
    page = feedback(stock, "no_two")
    assert "Did you count only one of the two tensors" in page
    assert "expected" in page and "48" in page
    assert "autograde/" not in page and "Traceback" not in page


def test_feedback_of_a_blank_notebook_says_not_done(stock):
    assert feedback(stock, "blank").count("not done yet") == len(LESSON.exercises)


def test_an_altered_locked_cell_is_restored_and_the_feedback_says_so(stock):
    page = feedback(stock, "altered")
    for name in ("worked_shape", "check_as_units"):
        assert f"The locked cell {name} had been changed" in page
    assert page.count("had been changed") == 2
    assert "something else" not in page and "full marks" not in page
    assert "had been changed" not in feedback(stock, "own_style")


def test_prints_and_warnings_are_shown_and_cost_nothing(stock):
    page = feedback(stock, "own_style")
    assert "counting" in page and "I count slowly" in page


def test_the_validator_tells_a_learner_what_fails(tmp_path, capsys):
    for name, answers, failed in (("right", solutions(LESSON), 0), ("blank", {}, len(LESSON.exercises))):
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(filled(LESSON, answers), path)
        result = Validator().validate(str(path))
        assert len(result.get("failed", [])) == failed
        if failed:
            assert "not done yet" in str(result["failed"][0]["error"])
