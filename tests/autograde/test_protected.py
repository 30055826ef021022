"""A change of one byte in what must not change is named, with its file or cell."""

import re
import shutil
from dataclasses import replace

import nbformat
import pytest

from autograde import protected
from autograde.course import ROOT
from autograde.course import lesson as find_lesson
from autograde.protected import FOLDER, PROGRAMS, _output, verify
from tests.notebooks import by_grade_id, read

LESSON = find_lesson("02")
_printed: dict[tuple, list[str]] = {}


@pytest.fixture(autouse=True)
def programs_run_once(monkeypatch):
    """The same program beside the same model prints the same line, in whichever folder a test put the two."""

    def once(root, program):
        what = (program, *((root / each).read_bytes() for each in (FOLDER / program.file, "tiny_transformer.py")))
        if what not in _printed:
            _printed[what] = _output(root, program)
        return _printed[what]

    monkeypatch.setattr(protected, "_output", once)


@pytest.fixture
def course(tmp_path):
    for kind in ("solutions", "lessons", "autograde/protected"):
        shutil.copytree(ROOT / kind, tmp_path / kind)
    shutil.copy(ROOT / "tiny_transformer.py", tmp_path)
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
    assert "cache_parity.py differs from its digest" in verify(course)[0]


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


def test_one_byte_of_the_tiny_model_is_noticed(course):
    change(course / "tiny_transformer.py", b"seed=13", b"seed=14")
    (problem,) = verify(course)
    assert "tiny_transformer.py differs" in problem


def test_the_manifest_is_in_the_form_that_sha256sum_reads():
    lines = (ROOT / "autograde/protected/SHA256SUMS").read_text().splitlines()
    assert len(lines) >= len(PROGRAMS)
    for line in lines:
        assert re.fullmatch(r"[0-9a-f]{64}  \S+", line)


def test_a_program_that_prints_another_line_is_noticed():
    wrong = replace(PROGRAMS[0], prints="seven comparisons passed")
    (problem,) = _output(ROOT, wrong)
    assert "eight cached/full-prefix comparisons passed" in problem


def edited(course, edit, name="check_kv_bytes", lesson=LESSON, kind="lessons"):
    path = course / kind / lesson.slug / f"{lesson.slug}.ipynb"
    notebook = read(path)
    edit(by_grade_id(notebook)[name], notebook)
    nbformat.write(notebook, path)
    return verify(course)


def program_edited(course, edit, kind):
    program = PROGRAMS[0]
    return "\n".join(edited(course, edit, program.cell, find_lesson(program.slug), kind))


@pytest.mark.parametrize("kind", ["solutions", "lessons"])
@pytest.mark.parametrize(
    ("old", "new"), [(" \n", "\n"), ("\n", "\r\n"), ("atol=1e-10", "atol=1e-1"), ("passed')", "passed')\n")]
)
def test_one_character_of_a_program_in_a_notebook_is_named(course, kind, old, new):
    def edit(cell, _):
        assert old in cell.source
        cell.source = cell.source.replace(old, new, 1)

    assert (
        f"{kind}/03_cache_parity/03_cache_parity.ipynb, cell protected_cache_parity: differs from cache_parity.py"
        in (program_edited(course, edit, kind))
    )


@pytest.mark.parametrize("kind", ["solutions", "lessons"])
def test_an_unlocked_or_missing_program_cell_is_named(course, kind):
    said = program_edited(course, lambda cell, _: cell.metadata.nbgrader.update(locked=False), kind)
    assert "protected_cache_parity: not a locked code cell" in said
    said = program_edited(course, lambda cell, notebook: notebook.cells.remove(cell), kind)
    assert "protected_cache_parity: missing" in said


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
