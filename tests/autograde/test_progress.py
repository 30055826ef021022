"""The progress file: exact under two kernels, never lost, never in the way."""

import json
import subprocess
import sys
import warnings

import pytest

from autograde import progress, workspace


@pytest.fixture
def path(tmp_path, monkeypatch):
    path = tmp_path / "work" / ".progress.json"
    monkeypatch.setenv("AUTOGRADE_PROGRESS", str(path))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr(progress, "_unsaved", {})
    return path


def test_attempts_count_and_a_solved_exercise_stays_solved(path):
    assert progress.state() == {}
    progress.record("kv_bytes", False)
    assert progress.state() == {"kv_bytes": {"solved": False, "attempts": 1, "hints": 0}}
    progress.record("kv_bytes", True)
    progress.record("kv_bytes", False)
    assert progress.state() == {"kv_bytes": {"solved": True, "attempts": 3, "hints": 0}}


def test_hints_go_from_first_to_last_and_then_repeat_the_last_for_each_mistake_apart(path):
    assert [progress.next_hint("kv_bytes", "no factor 2", 3) for _ in range(5)] == [0, 1, 2, 2, 2]
    assert progress.next_hint("kv_bytes", "", 3) == 0
    assert progress.next_hint("as_units", "no factor 2", 3) == 0
    assert progress.state()["kv_bytes"]["hints"] == 4


@pytest.mark.parametrize("count", [0, -1, True, 2.0, "3", None])
def test_a_number_of_hints_that_is_none_is_refused_and_not_recorded(path, count):
    with pytest.raises(ValueError, match="at least 1 is needed"):
        progress.next_hint("kv_bytes", "", count)
    assert progress.state() == {}


def test_two_kernels_at_once_lose_no_attempt(path):
    code = "from autograde import progress\nfor _ in range(50): progress.record('kv_bytes', False)"
    kernels = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [kernel.wait() for kernel in kernels] == [0, 0]
    assert progress.state()["kv_bytes"]["attempts"] == 100


def test_while_another_kernel_holds_the_lock_nothing_is_written_and_nothing_lost(path, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_FOR_LOCK", 0)
    progress.record("kv_bytes", False)
    before = path.read_bytes()
    with progress.FileLock(path.with_name(path.name + ".lock")):
        progress.record("kv_bytes", True)
        assert path.read_bytes() == before
    progress.record("kv_bytes", False)
    assert json.loads(path.read_text())["exercises"]["kv_bytes"] == {
        "solved": True,
        "attempts": 3,
        "hints": {},
    }


def test_the_lock_of_a_kernel_that_died_does_not_stay(path):
    code = (
        "import os; from autograde import progress\n"
        "progress.write_atomically = lambda *_: os._exit(9)  # dies while it holds the lock\n"
        "progress.record('kv_bytes', True)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 9
    progress.record("kv_bytes", False)
    assert json.loads(path.read_text())["exercises"]["kv_bytes"]["attempts"] == 1


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"exercises": 3}',
        '{"exercises": {"kv_bytes": {}}}',
        b"\xff\xfe\x00",
        "1" * 5000,
    ],
)
def test_a_damaged_file_is_set_aside_whole_and_said_so(path, content):
    content = content if isinstance(content, bytes) else content.encode()
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.warns(UserWarning, match="cannot be read"):
        assert progress.state() == {}
    assert path.read_bytes() == content  # reading alone moves nothing
    with pytest.warns(UserWarning, match="damaged"):
        progress.record("kv_bytes", True)
    (aside,) = path.parent.glob(".progress.json.broken-*")
    assert aside.read_bytes() == content
    assert progress.state()["kv_bytes"]["solved"]


def test_a_graders_run_writes_nothing(path, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    progress.record("kv_bytes", True)
    assert progress.next_hint("kv_bytes", "", 3) == 0
    assert not path.parent.exists()


def test_where_nothing_can_be_written_learning_goes_on_and_a_later_write_loses_nothing(path, monkeypatch):
    blocker = path.parent
    blocker.write_text("a file where the folder should be")
    progress.record("kv_bytes", True)
    assert [progress.next_hint("kv_bytes", "", 3) for _ in range(2)] == [0, 1]
    expected = {"kv_bytes": {"solved": True, "attempts": 1, "hints": 2}}
    with warnings.catch_warnings(action="ignore"):
        assert progress.state() == expected
    blocker.unlink()
    progress.record("kv_bytes", False)
    expected["kv_bytes"]["attempts"] = 2
    assert progress.state() == expected
    assert json.loads(path.read_text())["exercises"]["kv_bytes"]["solved"]


def test_a_write_that_fails_keeps_the_old_file_and_counts_once(path, monkeypatch):
    progress.record("kv_bytes", False)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(progress, "write_atomically", fail)
    progress.record("kv_bytes", True)
    assert path.read_bytes() == before
    assert progress.state() == {"kv_bytes": {"solved": True, "attempts": 2, "hints": 0}}


def test_the_course_map_beside_the_file_follows_each_record(path, tmp_path):
    workspace.write_map({}, tmp_path)
    assert "not begun" in (path.parent / workspace.MAP_NAME).read_text(encoding="utf-8")
    progress.record("kv_bytes", True)
    assert "1 of 7 exercises · 2 of 16 points" in (path.parent / workspace.MAP_NAME).read_text(encoding="utf-8")


def test_without_a_course_map_a_record_makes_none(path):
    progress.record("kv_bytes", True)
    assert not (path.parent / workspace.MAP_NAME).exists()


def test_the_file_lies_in_a_checkouts_work_folder_else_in_the_users_data_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("AUTOGRADE_PROGRESS", raising=False)
    assert tmp_path not in progress.path(tmp_path).parents
    assert "kv-cache-course" in progress.path(tmp_path).parts
    (tmp_path / "lessons").mkdir()
    assert progress.path(tmp_path) == tmp_path / "work" / ".progress.json"
