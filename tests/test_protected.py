"""A change of one byte in what must not change is named, with its file or cell."""

import shutil

import nbformat
import pytest

from autograde.course import LESSONS, ROOT
from autograde.protected import verify
from tests.notebooks import by_grade_id, read

LESSON = LESSONS[0]


@pytest.fixture
def course(tmp_path):
    for kind in ("solutions", "lessons", "autograde/protected"):
        shutil.copytree(ROOT / kind, tmp_path / kind)
    return tmp_path


def test_the_tree_is_as_given():
    assert verify() == []


def change(path, old, new):
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


@pytest.mark.parametrize(("old", "new"), [(b" \n", b"\n"), (b"\n", b"\r\n"), (b"0,1,2", b"0,1,1")])
def test_one_byte_of_a_given_program_is_noticed(course, old, new):
    change(course / "autograde/protected/cache_parity.py", old, new)
    (problem,) = verify(course)
    assert "cache_parity.py differs" in problem


def test_a_lost_final_newline_a_missing_and_an_extra_program_are_noticed(course):
    folder = course / "autograde/protected"
    path = folder / "serving_budget.py"
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    (folder / "gqa_chunked_cache.py").unlink()
    (folder / "other.py").write_text("")
    problems = "\n".join(verify(course))
    assert "serving_budget.py differs" in problems
    assert "gqa_chunked_cache.py is missing" in problems
    assert "other.py is not listed" in problems


def edited(course, edit):
    path = course / "lessons" / LESSON.slug / f"{LESSON.slug}.ipynb"
    notebook = read(path)
    edit(by_grade_id(notebook)["check_kv_bytes"], notebook)
    nbformat.write(notebook, path)
    return verify(course)


def test_an_edited_locked_cell_is_named(course):
    (problem,) = edited(course, lambda cell, _: cell.update(source=cell.source + " "))
    assert "check_kv_bytes: differs" in problem


def test_an_unlocked_cell_is_named(course):
    (problem,) = edited(course, lambda cell, _: cell.metadata.nbgrader.update(locked=False))
    assert "check_kv_bytes: unlocked" in problem


def test_a_removed_cell_and_other_points_are_named(course):
    (problem,) = edited(course, lambda cell, notebook: notebook.cells.remove(cell))
    assert "check_kv_bytes: missing" in problem
    shutil.copy(LESSON.notebook("lessons"), course / "lessons" / LESSON.slug)
    (problem,) = edited(course, lambda cell, _: cell.metadata.nbgrader.update(points=9))
    assert "check_kv_bytes: worth other points" in problem
