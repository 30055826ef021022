"""A release is what the sources say, byte for byte, and holds nothing that a learner should find alone."""

import re
import shutil

import nbformat
import pytest

from autograde import release as module
from autograde.course import LESSONS, ROOT
from autograde.release import KEPT, UNSTABLE, ReleaseError, execute, normalise, release
from tests.notebooks import by_grade_id, read, solutions

each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.slug for lesson in LESSONS])


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of what a release reads and writes."""
    root = tmp_path_factory.mktemp("course")
    for kind in ("solutions", "lessons"):
        shutil.copytree(ROOT / kind, root / kind)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return root


@each_lesson
def test_a_release_of_the_committed_tree_changes_no_byte(course, lesson):
    assert release(course, (lesson,)) == []


@pytest.fixture
def unexecuted(monkeypatch):
    """Outputs stay as they are committed: the test above shows that executing changes none."""
    monkeypatch.setattr(module, "execute", lambda notebook, folder: notebook)


@pytest.mark.usefixtures("unexecuted")
def test_a_release_is_of_all_lessons(course):
    for lesson in LESSONS:
        lesson.notebook("lessons", course).unlink()
    assert release(course) == [lesson.notebook("lessons", course) for lesson in LESSONS]


@pytest.mark.usefixtures("unexecuted")
def test_a_changed_source_changes_its_lesson_and_a_second_release_nothing(course):
    lesson = LESSONS[0]
    path = course / "solutions" / lesson.slug / f"{lesson.slug}.ipynb"
    before = path.read_bytes()
    notebook = read(path)
    notebook.cells[0].source += "\n\nOne more sentence."
    nbformat.write(notebook, path)
    (path.parent / "answers.txt").write_text("lies beside the notebook")
    changed = release(course, (lesson,))
    released = course / "lessons" / lesson.slug / f"{lesson.slug}.ipynb"
    assert released in changed
    assert "One more sentence." in released.read_text(encoding="utf-8")
    assert [each.name for each in released.parent.iterdir()] == [released.name]
    assert release(course, (lesson,)) == []
    path.write_bytes(before)
    release(course, (lesson,))
    assert released.read_bytes() == lesson.notebook("lessons").read_bytes()


@each_lesson
def test_no_answer_and_no_path_reaches_a_lesson(lesson):
    text = lesson.notebook("lessons").read_text(encoding="utf-8")
    assert "SOLUTION" not in text
    assert str(ROOT) not in text
    assert "autograde/answers" not in text and "autograde.answers" not in text
    cells = by_grade_id(read(lesson.notebook("lessons")))
    stub = "raise NotImplementedError  # replace this line with your answer"
    prose = "\n".join(cell.source for cell in read(lesson.notebook("lessons")).cells)
    region = re.compile(r"### BEGIN SOLUTION\n(.*?)\n? *### END SOLUTION", re.DOTALL)
    for name, source in solutions(lesson).items():
        assert cells[name].source == region.sub(stub, source)
        for line in "\n".join(region.findall(source)).splitlines():
            if line.strip().startswith("return ") and len(line) > 30:
                assert line.strip() not in prose, f"{name}: {line}"


@each_lesson
def test_a_lesson_folder_holds_one_notebook_and_no_output(lesson):
    folder = lesson.notebook("lessons").parent
    assert [path.name for path in folder.iterdir() if path.name != ".ipynb_checkpoints"] == [f"{lesson.slug}.ipynb"]
    assert not [cell for cell in read(lesson.notebook("lessons")).cells if cell.get("outputs")]


def sample():
    cells = [
        nbformat.v4.new_code_cell("1 + 1", execution_count=7, metadata={"collapsed": True, "tags": ["x"]}),
        nbformat.v4.new_code_cell(
            "2 + 2", execution_count=12, metadata={"tags": [UNSTABLE], "execution": {"a": "2020"}}
        ),
        nbformat.v4.new_code_cell("3", execution_count=13, metadata={"tags": [UNSTABLE, KEPT]}),
        nbformat.v4.new_markdown_cell("text\r\nmore"),
    ]
    for cell in cells[:3]:
        cell.outputs = [
            nbformat.v4.new_output("execute_result", {"text/plain": "2"}, execution_count=7, metadata={"odd": 1})
        ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["widgets"] = {"state": {}}
    notebook.metadata["language_info"] = {"name": "python", "version": "3.11.7"}
    return notebook


def test_what_depends_on_the_run_is_dropped():
    clean = normalise(sample())
    assert [cell.get("execution_count") for cell in clean.cells] == [1, 2, 3, None]
    assert [len(cell.outputs) for cell in clean.cells[:3]] == [1, 0, 1]
    assert clean.cells[2].outputs[0].execution_count == 3 and clean.cells[2].outputs[0].metadata == {}
    assert clean.metadata.language_info == {"name": "python"} and "widgets" not in clean.metadata
    assert clean.cells[0].metadata == {"tags": ["x"]}
    assert clean.cells[3].source == "text\nmore"


def test_a_print_that_arrives_in_pieces_is_one_output():
    cell = nbformat.v4.new_code_cell("print(1)", execution_count=1)
    pieces = (("stdout", "1\n"), ("stdout", "2\n"), ("stderr", "3\n"), ("stdout", "4\n"))
    cell.outputs = [nbformat.v4.new_output("stream", name=name, text=text) for name, text in pieces]
    clean = normalise(nbformat.v4.new_notebook(cells=[cell]))
    assert [(each.name, each.text) for each in clean.cells[0].outputs] == [
        ("stdout", "1\n2\n"),
        ("stderr", "3\n"),
        ("stdout", "4\n"),
    ]


def test_normalising_twice_changes_nothing():
    once = normalise(sample())
    assert nbformat.writes(normalise(once)) == nbformat.writes(once)


def test_a_source_that_fails_is_not_released(tmp_path):
    broken = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]})]
    )
    with pytest.raises(ReleaseError, match=r"cell 1(.|\n)*ZeroDivisionError"):
        execute(broken, tmp_path)


def test_a_failed_lesson_leaves_every_file_as_it_was(course, monkeypatch):
    def fail(notebook, folder):
        raise ReleaseError("no")

    before = {path: path.read_bytes() for path in course.rglob("*.ipynb")}
    monkeypatch.setattr(module, "execute", fail)
    with pytest.raises(ReleaseError):
        release(course)
    assert {path: path.read_bytes() for path in course.rglob("*.ipynb")} == before
