"""Stock nbgrader: seven notebooks of lesson 02 go from submission to scores and feedback."""

import csv
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from nbgrader.validator import Validator
from sqlalchemy import create_engine, text

from autograde.course import ROOT, lesson
from tests.grading.bubblewrap import needs_bubblewrap
from tests.notebooks import by_grade_id, filled, read, solutions

LESSON = lesson("02_byte_formula")

# Solved in another style than the reference: loops, prints, a warning, helper names of their own.
OWN_STYLE = {
    "kv_elements": """\
import logging
import warnings
from functools import reduce
logging.basicConfig()

def kv_elements(layers, requests, length, heads, width):
    print("counting", layers, "layers")
    warnings.warn("I count slowly")
    logging.warning("still counting")
    per_layer = {"K": 0, "V": 0}
    for tensor in per_layer:
        per_layer[tensor] = reduce(lambda a, b: a * b, (requests, length, heads, width))
    return sum(per_layer.values()) * layers
""",
    "kv_bytes": """\
def kv_bytes(*sizes_and_bits):
    *sizes, bits = sizes_and_bits
    whole, rest = divmod(kv_elements(*sizes) * bits, 8)
    return whole + bool(rest)
""",
    "ragged_kv_bytes": """\
def ragged_kv_bytes(lengths, n, h, d, bits):
    total = 0
    for length in lengths:
        total = total + 2 * n * h * d * length * bits
    return (total + 7) // 8
""",
    "as_units": """\
from fractions import Fraction
def as_units(n):
    return {name: Fraction(n, base**power) for name, base, power in
            [("GB", 1000, 3), ("GiB", 1024, 3), ("MB", 1000, 2), ("MiB", 1024, 2), ("KiB", 1024, 1)]}
""",
    "bytes_per_token": """\
def bytes_per_token(config, bits):
    row = config['num_key_value_heads'] * config['head_dim']
    return -(-sum(2 * row for _ in range(config['num_hidden_layers'])) * bits // 8)
""",
    "capacity_table": """\
def capacity_table(config, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
    rows = []
    for v in variants:
        new = dict(config)
        if v != "GQA":
            new['num_key_value_heads'] = 1 if v == "MQA" else config['num_attention_heads']
        for t in contexts:
            size = ragged_kv_bytes([t], new['num_hidden_layers'], new['num_key_value_heads'], new['head_dim'],
                                   bits_per_element)
            rows.append(dict(variant=v, tokens=t, bytes=size))
    return rows
""",
    "max_tokens": """\
def max_tokens(budget_bytes, config, bits_per_element):
    elements = kv_elements(config['num_hidden_layers'], 1, 1, config['num_key_value_heads'], config['head_dim'])
    return budget_bytes * 8 // (elements * bits_per_element)
""",
}


def handed_in():
    """Notebooks as they come, by student."""
    right = solutions(LESSON)
    half = right["kv_elements"].replace("return 2 * num_layers", "return num_layers")
    deleted = filled(LESSON, right)
    deleted.cells = [
        cell for cell in deleted.cells if cell.metadata.get("nbgrader", {}).get("grade_id") != "check_kv_bytes"
    ]
    altered = filled(LESSON, right)
    by_grade_id(altered)["worked_shape"].source = "print('something else')"
    by_grade_id(altered)["check_as_units"].source = "print('full marks')"
    plots = filled(LESSON, right)
    drawing = "import matplotlib.pyplot as plt\n\nplt.plot([kv_elements(2, 1, t, 2, 4) for t in range(9)])\nplt.show()"
    plots.cells.insert(12, nbformat.v4.new_code_cell(drawing))
    cheat = "import sys\ndef kv_elements(*sizes):\n    sys.displayhook(2)\n    return 0"
    return {
        "displays_a_score": filled(LESSON, {"kv_elements": cheat}),
        "altered": altered,
        "own_style": filled(LESSON, OWN_STYLE),
        "plots": plots,
        "no_two": filled(LESSON, right | {"kv_elements": half}),
        "blank": read(LESSON.notebook("lessons")),
        "deleted_check": deleted,
    }


HANDED_IN = handed_in()


def nbgrader(course, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments], cwd=course, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """An instructor's folder after generate, autograde, feedback and export."""
    root = tmp_path_factory.mktemp("instructor")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    shutil.copytree(ROOT / "solutions", root / "solutions")
    nbgrader(root, "generate_assignment", LESSON.slug)
    for student, notebook in HANDED_IN.items():
        folder = root / "submitted" / student / LESSON.slug
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{LESSON.slug}.ipynb")
    nbgrader(root, "autograde", LESSON.slug)
    nbgrader(root, "generate_feedback", LESSON.slug)
    nbgrader(root, "export")
    return root


def test_nbgraders_own_release_is_the_committed_lesson(course):
    released = course / "lessons" / LESSON.slug / f"{LESSON.slug}.ipynb"
    assert released.read_bytes() == LESSON.notebook("lessons").read_bytes()


def test_scores_are_full_partial_zero_full(course):
    with (course / "grades.csv").open(newline="") as file:
        scores = {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in csv.DictReader(file)}
    # Without the factor 2 in kv_elements, kv_bytes, ragged_kv_bytes, bytes_per_token, capacity_table and max_tokens,
    # which build on it, are wrong too; as_units is right.
    assert scores == {
        "displays_a_score": (0, 16),
        "own_style": (16, 16),
        "no_two": (2, 16),
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
def test_our_grader_writes_the_rows_that_stock_nbgrader_writes(course, tmp_path):
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    command = [sys.executable, "-m", "autograde", "grade", LESSON.slug, "--course", tmp_path]
    subprocess.run([*command, "--submitted", course / "submitted"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    ours, stocks = rows(tmp_path / "gradebook.db"), rows(course / "gradebook.db")
    assert len(ours[0]) == len(HANDED_IN) * len(LESSON.exercises)
    assert ours == stocks


def feedback(course, student):
    page = course / "feedback" / student / LESSON.slug / f"{LESSON.slug}.html"
    visible = re.sub(r"<(style|script|head)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"<[^>]+>", "", visible)


def test_feedback_names_the_mistake_and_shows_no_checker(course):
    page = feedback(course, "no_two")
    assert "Did you count only one of the two tensors" in page
    assert "expected" in page and "48" in page
    assert "autograde/" not in page and "Traceback" not in page


def test_feedback_of_a_blank_notebook_says_not_done(course):
    assert feedback(course, "blank").count("not done yet") == len(LESSON.exercises)


def test_an_altered_locked_cell_is_restored_and_the_feedback_says_so(course):
    page = feedback(course, "altered")
    for name in ("worked_shape", "check_as_units"):
        assert f"The locked cell {name} had been changed" in page
    assert page.count("had been changed") == 2
    assert "something else" not in page and "full marks" not in page
    assert "had been changed" not in feedback(course, "own_style")


def test_prints_and_warnings_are_shown_and_cost_nothing(course):
    page = feedback(course, "own_style")
    assert "counting" in page and "I count slowly" in page


def test_the_validator_tells_a_learner_what_fails(tmp_path, capsys):
    for name, answers, failed in (("right", solutions(LESSON), 0), ("blank", {}, len(LESSON.exercises))):
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(filled(LESSON, answers), path)
        result = Validator().validate(str(path))
        assert len(result.get("failed", [])) == failed
        if failed:
            assert "not done yet" in str(result["failed"][0]["error"])
