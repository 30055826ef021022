"""Every lesson as a learner meets it: blank it runs through, filled it earns all points."""

import re
import subprocess
import sys

import pytest

from autograde.course import LESSONS
from kvlab import evidence
from tests.notebooks import by_grade_id, filled, read, run, solutions, text_of

each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.slug for lesson in LESSONS])


def solved(lesson):
    return read(lesson.notebook("solutions"))


def checks(notebook):
    return {name: cell for name, cell in by_grade_id(notebook).items() if cell.metadata.nbgrader.grade}


@each_lesson
def test_blank_it_runs_to_the_end_and_only_says_not_done_yet(lesson, tmp_path):
    notebook = run(read(lesson.notebook("lessons")), tmp_path)
    graded = checks(notebook)
    assert list(graded) == [f"check_{name}" for name in lesson.exercises]
    for name, cell in graded.items():
        assert cell.execution_count is not None, name
        (error,) = [output for output in cell.outputs if output.output_type == "error"]
        assert error.ename == "CheckFailed"
        assert "not done yet" in text_of(cell)
    others = [cell for cell in notebook.cells if cell.cell_type == "code" and cell not in graded.values()]
    assert not [cell.source for cell in others for output in cell.outputs if output.output_type == "error"]
    assert not [out for cell in notebook.cells for out in cell.get("outputs", []) if out.get("name") == "stderr"]


@each_lesson
def test_filled_from_the_solutions_it_is_the_notebook_that_a_release_executes(lesson):
    """With the same sources, filling in the answers earns what the committed outputs show: see test_release."""
    sources = [[cell.source for cell in each.cells] for each in (filled(lesson, solutions(lesson)), solved(lesson))]
    assert sources[0] == sources[1]


@each_lesson
def test_the_solution_earns_every_point(lesson):
    graded = checks(solved(lesson))
    assert len(graded) == len(lesson.exercises)
    for (name, points), cell in zip(lesson.exercises.items(), graded.values(), strict=True):
        (output,) = cell.outputs
        assert (output.output_type, output.name) == ("stream", "stdout")
        assert f"✓ {name}" in re.sub(r"\x1b\[\d+m", "", output.text)
        assert cell.metadata.nbgrader.points == points


@each_lesson
def test_points_are_those_of_the_course_table_and_between_10_and_20(lesson):
    points = {name: cell.metadata.nbgrader.points for name, cell in checks(solved(lesson)).items()}
    assert points == {f"check_{name}": value for name, value in lesson.exercises.items()}
    assert 10 <= lesson.points <= 20


@each_lesson
def test_a_check_cell_is_locked_and_lets_run_all_go_on_and_an_answer_cell_is_open(lesson):
    cells = by_grade_id(read(lesson.notebook("lessons")))
    for name in lesson.exercises:
        check, answer = cells[f"check_{name}"], cells[name]
        assert check.metadata.nbgrader.locked and check.metadata.editable is False
        assert check.metadata.tags == ["raises-exception"]
        assert check.source.endswith(f'check("{name}")')
        assert answer.metadata.nbgrader.solution and not answer.metadata.nbgrader.locked
        assert (
            answer.source.count("raise NotImplementedError") == solutions(lesson)[name].count("### BEGIN SOLUTION") > 0
        )


@each_lesson
def test_no_locked_cell_stands_between_an_answer_and_its_check(lesson):
    """nbgrader puts a deleted check back behind the nbgrader cell before it, which must be the answer."""
    order = list(by_grade_id(read(lesson.notebook("lessons"))))
    for name in lesson.exercises:
        assert order[order.index(f"check_{name}") - 1] == name


@each_lesson
def test_worked_code_is_short(lesson):
    worked = [cell for name, cell in by_grade_id(solved(lesson)).items() if name.startswith("worked")]
    assert worked
    for cell in worked:
        assert len([line for line in cell.source.splitlines() if line.strip()]) <= 15


@each_lesson
def test_every_figure_in_prose_is_cited_or_computed(lesson):
    notebook = solved(lesson)
    assert evidence.uncited_figures(notebook) == []
    cited = {
        name for cell in notebook.cells if cell.cell_type == "markdown" for name in evidence.cited_ids(cell.source)
    }
    known = {entry.id for entry in evidence.ledger().values() if entry.lesson == lesson.slug}
    assert cited <= known, f"cited but not in the ledger: {cited - known}"
    assert known <= cited, f"in the ledger but cited nowhere: {known - cited}"


@each_lesson
def test_no_committed_output_holds_an_address_a_path_or_a_date(lesson):
    outputs = [output for cell in solved(lesson).cells for output in cell.get("outputs", [])]
    assert outputs
    for output in outputs:
        text = output.get("text", "") + str(output.get("data", {}).get("text/plain", ""))
        assert not re.search(r"0x[0-9a-f]{6,}|/home/|/root|/tmp|/Users|[A-Z]:\\|\b20\d\d-\d\d-\d\d", text), text


@each_lesson
def test_without_the_packages_the_first_cell_says_in_one_sentence_what_to_do(lesson, tmp_path):
    setup = by_grade_id(read(lesson.notebook("lessons")))["setup"].source
    bare = [sys.executable, "-I", "-S", "-c", setup]  # no site-packages
    done = subprocess.run(bare, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(r"ImportError: .* is not installed .* `make lab`.*\.", done.stderr.splitlines()[-1])
    assert "During handling" not in done.stderr
