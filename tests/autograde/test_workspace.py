"""The learner's copies: made once, never overwritten, updated only on request and after a backup."""

import hashlib
from dataclasses import replace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograde import workspace
from autograde.course import lesson as find_lesson

LESSON = replace(find_lesson("02"), needs=(), exercises={"first": 2, "cache": 3, "first_again": 1})


def cell(source, grade_id, **flags):
    made = new_code_cell(source, id=grade_id.replace(".", "-"))
    made.metadata["nbgrader"] = {"grade_id": grade_id, "solution": False, "grade": False, **flags}
    return made


def answer(name, source):
    return cell(source, name, solution=True)


def check_of(name):
    return cell(f'check("{name}")', f"check_{name}", grade=True)


def lesson_cells(mark="released"):
    return [
        new_markdown_cell("# The lesson", id="title"),
        answer("first", f"first = '{mark}'"),
        new_code_cell("draw(first)", id="picture"),
        check_of("first"),
        answer("cache", f"cache = '{mark}'"),
        check_of("cache"),
        answer("first_again", f"last = '{mark}'"),
        check_of("first_again"),
    ]


def write(path, cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=cells), path)


def sources(path):
    return [each.source for each in nbformat.read(path, as_version=4).cells]


@pytest.fixture
def root(tmp_path):
    write(LESSON.notebook("lessons", tmp_path), lesson_cells())
    return tmp_path


@pytest.fixture
def copy(root):
    workspace.sync(root, (LESSON,))
    return LESSON.notebook("work", root)


def answer_everything(copy):
    write(copy, lesson_cells("mine"))


def test_a_missing_lesson_is_copied_byte_for_byte_and_said_so(root):
    (said,) = workspace.sync(root, (LESSON,))
    copy = LESSON.notebook("work", root)
    assert copy.read_bytes() == LESSON.notebook("lessons", root).read_bytes()
    assert "copied to" in said and workspace.sync(root, (LESSON,)) == []


def test_a_copy_is_never_overwritten_and_an_update_is_offered_beside_it_once(root, copy):
    answer_everything(copy)
    mine = copy.read_bytes()
    assert workspace.sync(root, (LESSON,)) == []
    write(LESSON.notebook("lessons", root), lesson_cells("new"))
    released = LESSON.notebook("lessons", root).read_bytes()
    update = copy.with_name(f"{LESSON.slug}.update-{hashlib.sha256(released).hexdigest()[:8]}.ipynb")

    (said,) = workspace.sync(root, (LESSON,))
    assert update.name in said and update.read_bytes() == released
    assert workspace.sync(root, (LESSON,)) == []
    update.unlink()
    assert workspace.sync(root, (LESSON,)) == [] and not update.exists()  # the learner has declined it

    write(LESSON.notebook("lessons", root), lesson_cells("newer"))
    assert len(workspace.sync(root, (LESSON,))) == 1
    assert copy.read_bytes() == mine


def test_a_copy_of_unknown_origin_stays_and_is_offered_the_release(root, copy):
    answer_everything(copy)
    (root / "work" / workspace.RELEASED_NAME).write_text("[damaged")
    (said,) = workspace.sync(root, (LESSON,))
    assert "update" in said and "mine" in sources(copy)[1]


def test_an_untouched_copy_of_unknown_origin_needs_no_offer(root, copy):
    (root / "work" / workspace.RELEASED_NAME).unlink()
    assert workspace.sync(root, (LESSON,)) == []
    assert len(list(copy.parent.iterdir())) == 1


def test_files_beside_a_lesson_are_copied_when_missing_and_kept_when_changed(root):
    data = LESSON.notebook("lessons", root).parent / "data" / "table.csv"
    data.parent.mkdir()
    data.write_text("1")
    workspace.sync(root, (LESSON,))
    own = LESSON.notebook("work", root).parent / "data" / "table.csv"
    assert own.read_text() == "1"
    own.write_text("mine")
    workspace.sync(root, (LESSON,))
    assert own.read_text() == "mine"


def test_outside_a_checkout_sync_says_so_and_makes_nothing(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder lessons"):
        workspace.sync(tmp_path, (LESSON,))
    assert list(tmp_path.iterdir()) == []


def test_resetting_a_lesson_restores_it_after_a_backup_of_every_byte(root, copy):
    answer_everything(copy)
    mine = copy.read_bytes()
    backup = workspace.reset(LESSON, root=root)
    assert backup.parent == copy.parent / "backup" and backup.read_bytes() == mine
    assert copy.read_bytes() == LESSON.notebook("lessons", root).read_bytes()


def test_no_backup_overwrites_another(root, copy):
    backups = {workspace.reset(LESSON, root=root) for _ in range(5)}
    assert len(backups) == 5 and all(path.exists() for path in backups)


def test_resetting_an_updated_lesson_takes_the_new_version_and_ends_the_offer(root, copy):
    write(LESSON.notebook("lessons", root), lesson_cells("new"))
    workspace.reset(LESSON, root=root)
    assert workspace.sync(root, (LESSON,)) == []


def test_resetting_a_lesson_that_was_deleted_copies_it_without_a_backup(root, copy):
    copy.unlink()
    assert workspace.reset(LESSON, root=root) is None
    assert copy.exists()


def test_resetting_one_exercise_changes_its_answer_alone(root, copy):
    answer_everything(copy)
    backup = workspace.reset(LESSON, "first", root)
    assert "first = 'mine'" in sources(backup)
    assert sources(copy) == [*sources(copy)[:1], "first = 'released'", *sources(backup)[2:]]


def test_a_deleted_answer_cell_comes_back_in_its_place(root, copy):
    kept = [each for each in lesson_cells("mine") if each.id not in ("first", "cache")]
    write(copy, [new_markdown_cell("my notes", id="notes"), *kept])
    workspace.reset(LESSON, "first", root)
    workspace.reset(LESSON, "cache", root)
    text = sources(copy)
    assert text.index("first = 'released'") == text.index("draw(first)") - 1
    assert text[text.index('check("cache")') - 1] == "cache = 'released'"
    assert text[0] == "my notes"


def test_an_answer_whose_followers_are_all_gone_comes_back_at_the_end(root, copy):
    write(copy, lesson_cells("mine")[:4])
    workspace.reset(LESSON, "first_again", root)
    assert sources(copy)[-1] == "last = 'released'"


@pytest.mark.parametrize(
    ("damage", "exercise", "error"),
    [("nothing", "other", KeyError), ("copy", "first", ValueError), ("release", "first", FileNotFoundError)],
)
def test_a_reset_that_cannot_be_done_changes_nothing(root, copy, damage, exercise, error):
    answer_everything(copy)
    if damage == "copy":
        copy.write_text("{ half a notebook")
    if damage == "release":
        LESSON.notebook("lessons", root).unlink()
    before = copy.read_bytes()
    with pytest.raises(error):
        workspace.reset(LESSON, exercise, root)
    assert copy.read_bytes() == before and not (copy.parent / "backup").exists()


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(workspace.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        workspace.write_atomically(path, b"new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_the_map_links_each_released_lesson_and_shows_own_progress(root):
    later = replace(LESSON, slug="03_later", title="Later", needs=(LESSON.slug,))
    tried = {"attempts": 1, "hints": 0}
    state = {"first": {"solved": True, **tried}, "cache": {"solved": False, **tried}}
    lessons = (LESSON, later)
    text = workspace.course_map(state, root, lessons)
    assert f"({LESSON.slug}/{LESSON.slug}.ipynb) | {LESSON.promise} | {LESSON.minutes} | – |" in text
    assert "1 of 3 exercises · 2 of 6 points" in text
    assert "| 03 · Later |" in text and "| 02 |" in text  # not released yet: no link; needs lesson 02

    assert "not begun" in workspace.course_map({}, root, lessons)
    done = {name: {"solved": True, **tried} for name in LESSON.exercises}
    assert "done ✓" in workspace.course_map(done, root, lessons)
