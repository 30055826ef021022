"""Only answers and own cells come from a student; they survive whatever was done to the notebook around them."""

import json

import nbformat
import pytest

from autograde.course import LESSONS, lesson
from autograde.grading.rebuild import Blueprint, rebuild
from autograde.grading.submission import read as read_submission
from tests.notebooks import by_grade_id, filled, solutions

LESSON = lesson("02_byte_formula")
BLUEPRINT = Blueprint(LESSON, LESSON.notebook("lessons"))
ANSWERS = solutions(LESSON)


def rebuilt_from(tmp_path, notebook):
    folder = tmp_path / "ada" / LESSON.slug
    folder.mkdir(parents=True)
    (folder / f"{LESSON.slug}.ipynb").write_text(json.dumps(notebook))
    return rebuild(BLUEPRINT, read_submission(tmp_path, "ada", LESSON.slug))


def answers_in(rebuilt) -> dict[str, str]:
    return {step.answers: step.source for step in rebuilt.steps if step.answers}


def kinds(rebuilt) -> set[str]:
    return {flag.kind for flag in rebuilt.flags}


def test_an_untouched_submission_is_the_lesson_with_its_answers_and_no_flag(tmp_path):
    rebuilt = rebuilt_from(tmp_path, filled(LESSON, ANSWERS))
    assert answers_in(rebuilt) == ANSWERS
    assert rebuilt.flags == []
    assert [step.check for step in rebuilt.steps if step.check] == list(LESSON.exercises)
    assert not any(step.own for step in rebuilt.steps)


@pytest.mark.parametrize("each", LESSONS, ids=lambda each: each.slug)
def test_each_check_comes_after_its_answer(each):
    steps = rebuild(Blueprint(each, each.notebook("lessons")), _empty()).steps
    for name in each.exercises:
        answer = next(number for number, step in enumerate(steps) if step.answers == name)
        check = next(number for number, step in enumerate(steps) if step.check == name)
        assert answer < check


def _empty():
    from autograde.grading.submission import Submission

    return Submission("x.ipynb", "", ())


def test_nothing_in_a_notebook_without_cells_is_the_released_lesson(tmp_path):
    rebuilt = rebuilt_from(tmp_path, {"cells": []})
    assert answers_in(rebuilt) == {name: BLUEPRINT.answers[name].source for name in LESSON.exercises}
    assert {flag.exercise for flag in rebuilt.flags if flag.kind == "deleted"} >= set(LESSON.exercises)


def _delete(notebook):
    notebook.cells = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("solution")]


def _shuffle(notebook):
    notebook.cells = notebook.cells[::-1]


def _retype(notebook):
    for name in LESSON.exercises:
        by_grade_id(notebook)[name].cell_type = "markdown"


def _strip_metadata(notebook):
    for cell in notebook.cells:
        cell.metadata = {}


def _strip_ids(notebook):
    notebook.nbformat_minor = 4
    for cell in notebook.cells:
        cell.pop("id")


def _strip_everything(notebook):
    _strip_metadata(notebook)
    _strip_ids(notebook)


def _windows(notebook):
    for cell in notebook.cells:
        cell.source = cell.source.replace("\n", "\r\n").splitlines(keepends=True)


def _foreign(notebook):
    notebook.metadata = {"kernelspec": {"name": "julia", "language": "julia", "display_name": "Julia"}}


def _points(notebook):
    for name in LESSON.exercises:
        by_grade_id(notebook)[f"check_{name}"].metadata.nbgrader.points = 50


def _copies(notebook):
    for cell in list(notebook.cells):
        again = nbformat.from_dict(cell)
        if again.metadata.get("nbgrader", {}).get("solution"):
            again.source = BLUEPRINT.answers[again.metadata.nbgrader.grade_id].source
        notebook.cells.append(again)


@pytest.mark.parametrize(
    ("damage", "flag"),
    [
        (_delete, "deleted"),
        (_shuffle, "moved"),
        (_retype, "restored"),
        (_strip_metadata, ""),
        (_strip_ids, ""),
        (_strip_everything, "metadata"),
        (_windows, ""),
        (_foreign, ""),
        (_points, "metadata"),
        (_copies, "duplicate"),
    ],
)
def test_the_answers_survive_every_kind_of_damage(tmp_path, damage, flag):
    notebook = filled(LESSON, ANSWERS)
    damage(notebook)
    rebuilt = rebuilt_from(tmp_path, notebook)
    assert answers_in(rebuilt) == ANSWERS
    assert flag in kinds(rebuilt) | {""}
    whole = [(cell.kind, cell.source) for cell in BLUEPRINT.cells if not cell.answers]
    laid = [(cell.cell_type, cell.source) for cell in rebuilt.notebook.cells]
    assert whole and [each for each in whole if each not in laid] == []


def test_a_changed_locked_cell_is_put_back_and_said(tmp_path):
    notebook = filled(LESSON, ANSWERS)
    by_grade_id(notebook)["check_kv_bytes"].source = "print('✓')"
    rebuilt = rebuilt_from(tmp_path, notebook)
    assert [flag.text for flag in rebuilt.flags] == [
        "The locked cell check_kv_bytes had been changed; it was put back."
    ]
    assert "print('✓')" not in [step.source for step in rebuilt.steps]


def test_own_cells_run_where_they_stood(tmp_path):
    notebook = filled(LESSON, ANSWERS)
    answer = by_grade_id(notebook)["kv_bytes"]
    at = notebook.cells.index(answer)
    notebook.cells.insert(at, nbformat.v4.new_code_cell("import math"))
    notebook.cells.insert(0, nbformat.v4.new_code_cell("first = 1"))
    notebook.cells.append(nbformat.v4.new_code_cell("last = 1"))
    notebook.cells.append(nbformat.v4.new_markdown_cell("a note"))
    steps = rebuilt_from(tmp_path, notebook).steps
    sources = [step.source for step in steps]
    assert [step.source for step in steps if step.own] == ["first = 1", "import math"]
    assert sources[0] == "first = 1" and steps[-1].check == list(LESSON.exercises)[-1]
    assert sources.index("import math") + 1 == sources.index(ANSWERS["kv_bytes"])


def test_an_answer_cell_that_was_split_runs_in_full(tmp_path):
    notebook = filled(LESSON, ANSWERS)
    answer = by_grade_id(notebook)["kv_bytes"]
    helper = nbformat.from_dict(answer)
    helper.source, helper.id = "from math import prod", "other"
    notebook.cells.insert(notebook.cells.index(answer), helper)
    rebuilt = rebuilt_from(tmp_path, notebook)
    sources = [step.source for step in rebuilt.steps]
    assert sources.index("from math import prod") < sources.index(ANSWERS["kv_bytes"])
    assert answers_in(rebuilt) == ANSWERS
    assert "2 cells for kv_bytes" in rebuilt.flags[0].text


def test_a_changed_picture_runs_as_the_students_own_and_an_unchanged_one_is_not_drawn(tmp_path):
    notebook = filled(LESSON, ANSWERS)
    drawn = [cell for cell in notebook.cells if "nbval-ignore-output" in cell.metadata.get("tags", [])]
    drawn[0].source = "my_helper = 5"
    rebuilt = rebuilt_from(tmp_path, notebook)
    assert [step.source for step in rebuilt.steps if step.own] == ["my_helper = 5"]
    assert drawn[1].source not in [step.source for step in rebuilt.steps]


def test_a_cell_beyond_measure_is_not_run(tmp_path):
    notebook = filled(LESSON, ANSWERS | {"kv_bytes": "#" * 2_000_000})
    notebook.cells.insert(0, nbformat.v4.new_code_cell("#" * 2_000_000))
    rebuilt = rebuilt_from(tmp_path, notebook)
    assert max(len(step.source) for step in rebuilt.steps) < 1_000_000
    assert [flag.kind for flag in rebuilt.flags] == ["limit", "limit"]


def test_a_release_that_differs_from_the_course_table_is_refused(tmp_path):
    notebook = filled(LESSON, {})
    notebook.cells = [
        cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") != "kv_bytes"
    ]
    path = tmp_path / "lesson.ipynb"
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match="kv_bytes"):
        Blueprint(LESSON, path)
