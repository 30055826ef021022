"""bootstrap.py: builds .venv once, knows when it is stale, and fails in plain sentences.

The commands are recorded instead of run; the real thing runs at the start of every `make test`.
"""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograde.course import ROOT

SPEC = importlib.util.spec_from_file_location("bootstrap", ROOT / "bootstrap.py")
bootstrap = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bootstrap)


class Commands:
    """Stands in for subprocess.run: notes each command and plays a venv that comes into being."""

    def __init__(self, root: Path):
        self.root, self.lines, self.failing = root, [], None
        self.version = f"{sys.version_info[0]} {sys.version_info[1]}\n".encode()
        self.has_pip = True

    def __call__(self, command, **_):
        line = " ".join(map(str, command))
        self.lines.append(line)
        code = 1 if self.failing and self.failing in line else 0
        if "-m venv" in line and not code:
            python = Path(bootstrap.venv_python(self.root))
            python.parent.mkdir(parents=True, exist_ok=True)
            if not python.is_symlink():  # as the real one, which keeps even a link that leads nowhere
                python.touch()
        if "pip --version" in line:
            code = 0 if self.has_pip else 1
        return subprocess.CompletedProcess(command, code, stdout=self.version)

    def count(self, part: str) -> int:
        return sum(part in line for line in self.lines)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "requirements.lock").write_text("a==1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    return tmp_path


@pytest.fixture
def commands(root, monkeypatch):
    commands = Commands(root)
    monkeypatch.setattr(bootstrap, "subprocess", SimpleNamespace(**{**vars(subprocess), "run": commands}))
    return commands


def test_an_old_python_can_parse_the_file_and_is_told_what_is_needed():
    ast.parse(Path(bootstrap.__file__).read_text(encoding="utf-8"), feature_version=(3, 5))
    assert bootstrap.too_old((3, 8, 18)) == "Python 3.11 or newer is needed; this is 3.8."
    assert bootstrap.too_old((3, 11, 0)) is None
    assert bootstrap.too_old((4, 0, 0)) is None


def test_an_old_python_stops_before_anything_is_made(root, commands, monkeypatch):
    monkeypatch.setattr(bootstrap, "sys", SimpleNamespace(version_info=(3, 8, 18), exit=sys.exit))
    with pytest.raises(SystemExit, match=r"Python 3\.11 or newer is needed; this is 3\.8\."):
        bootstrap.main(str(root))
    assert commands.lines == []


def test_a_first_run_makes_the_venv_then_installs_lock_and_project_then_has_nothing_to_do(root, commands):
    bootstrap.main(str(root))
    made, locked, project = (
        next(i for i, line in enumerate(commands.lines) if part in line)
        for part in ("-m venv", "install -r", "--no-build-isolation --no-deps -e")
    )
    assert made < locked < project
    before = len(commands.lines)
    bootstrap.main(str(root))
    assert len(commands.lines) == before + 1  # only the question which Python it is


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_a_changed_file_updates_the_venv_in_place(root, commands, name):
    bootstrap.main(str(root))
    (root / name).write_text("changed\n")
    bootstrap.main(str(root))
    assert commands.count("-m venv") == 1
    assert commands.count("install -r") == 2


def test_another_python_behind_the_venv_makes_it_stale(root, commands):
    bootstrap.main(str(root))
    commands.version, commands.has_pip = b"3 99\n", False
    bootstrap.main(str(root))
    assert commands.count("-m venv") == 2


def test_a_moved_folder_is_stale_as_its_scripts_name_the_old_place(root, commands):
    stamp = bootstrap.wanted_stamp(str(root), [3, 11])
    moved = root / "moved"
    moved.mkdir()
    for name in ("requirements.lock", "pyproject.toml"):
        (moved / name).write_bytes((root / name).read_bytes())
    assert bootstrap.wanted_stamp(str(moved), [3, 11]) != stamp


@pytest.mark.parametrize(
    ("failing", "sentence"),
    [
        ("-m venv", "venv module"),
        ("install -r", "Check the network"),
        ("--no-deps", "could not install the course itself"),
    ],
)
def test_a_failed_step_says_so_and_the_next_run_takes_it_up_again(root, commands, failing, sentence):
    commands.failing = failing
    with pytest.raises(SystemExit, match=sentence):
        bootstrap.main(str(root))
    assert not os.path.exists(bootstrap.stamp_path(str(root)))
    commands.failing = None
    bootstrap.main(str(root))
    assert commands.count("install -r") >= 1
    assert os.path.exists(bootstrap.stamp_path(str(root)))


def test_an_interrupted_build_leaves_no_stamp(root, commands, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "run", interrupt)
    with pytest.raises(SystemExit, match="interrupted; run the same command again"):
        bootstrap.main(str(root))
    assert not os.path.exists(bootstrap.stamp_path(str(root)))


@pytest.mark.skipif(os.name == "nt", reason="a venv on Windows holds copies, not links")
def test_links_to_a_python_that_is_gone_are_replaced_and_other_files_stay(root, commands):
    scripts = root / ".venv" / "bin"
    scripts.mkdir(parents=True)
    (scripts / "python").symlink_to(root / "gone")
    (scripts / "mine").write_text("a tool of the user's own")
    bootstrap.main(str(root))
    assert (scripts / "python").is_file()
    assert (scripts / "mine").exists()


def test_a_venv_of_an_old_python_is_named_and_left_alone(root, commands):
    commands.version = b"3 9\n"
    with pytest.raises(SystemExit, match=r"needed; this is 3\.9\. Delete \.venv and run again"):
        bootstrap.main(str(root))
    assert commands.count("install") == 0


def test_the_pythons_of_both_platforms_are_found_where_venv_puts_them():
    assert Path(bootstrap.venv_python("r", windows=True)).parts == ("r", ".venv", "Scripts", "python.exe")
    assert Path(bootstrap.venv_python("r", windows=False)).parts == ("r", ".venv", "bin", "python")


def test_an_interpreter_that_does_not_start_has_no_version(tmp_path):
    assert bootstrap.python_version(str(tmp_path / "none")) is None
    broken = tmp_path / "python"
    broken.write_text("not a program")
    assert bootstrap.python_version(str(broken)) is None
    assert bootstrap.python_version(sys.executable) == list(sys.version_info[:2])
