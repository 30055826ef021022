"""The `autograde` command: what it says, its exit codes and its JSON; and the JupyterLab that it starts."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from autograde import check, cli, course, lab, mutants, progress, protected, release, workspace
from autograde.exercise import Verdict

FINE, NOT_RIGHT, USAGE = 0, 1, 2


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOGRADE_PROGRESS", str(tmp_path / "progress" / ".progress.json"))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr(progress, "_unsaved", {})


def run(*arguments):
    return CliRunner().invoke(cli.app, arguments)


def test_help_names_every_command_and_each_has_its_own():
    text = run("--help")
    assert text.exit_code == FINE
    for name in ("lab", "progress", "reset", "check", "release", "verify", "mutants"):
        assert name in text.output
        assert run(name, "--help").exit_code == FINE


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["check"], ["reset"], ["check", "99"], ["reset", "kv_byte"], ["check", "no.ipynb"]],
)
def test_what_is_not_understood_is_exit_code_2_with_a_sentence(arguments):
    result = run(*arguments)
    assert result.exit_code == USAGE
    assert "Error" in result.output and "Traceback" not in result.output


def test_the_module_runs_as_the_command_does():
    line = [sys.executable, "-m", "autograde", "progress", "--json"]
    shown = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)
    assert shown["kv_bytes"] == {"solved": False, "attempts": 0, "hints": 0}


def test_progress_shows_what_was_recorded_as_text_and_as_json():
    progress.record("kv_bytes", True)
    assert "1 of 7 exercises · 2 of 16 points" in run("progress").output
    shown = json.loads(run("progress", "--json").output)
    assert list(shown) == [name for lesson in course.LESSONS for name in lesson.exercises]
    assert shown["kv_bytes"] == {"solved": True, "attempts": 1, "hints": 0}


@pytest.mark.parametrize(("name", "exercise"), [("02", None), ("02_byte_formula", None), ("kv_bytes", "kv_bytes")])
def test_reset_takes_a_lesson_or_an_exercise_and_names_the_backup(monkeypatch, name, exercise):
    asked = []
    backup = course.ROOT / "work" / "02_byte_formula" / "backup" / "then.ipynb"
    monkeypatch.setattr(workspace, "reset", lambda *given: asked.append(given) or backup)
    result = run("reset", name)
    assert result.exit_code == FINE and asked == [(course.lesson("02"), exercise)]
    assert str(backup.relative_to(course.ROOT)) in result.output


def test_a_reset_that_cannot_be_done_is_one_sentence(monkeypatch):
    def fail(*_):
        raise FileNotFoundError("lessons/ holds no 02_byte_formula to restore from")

    monkeypatch.setattr(workspace, "reset", fail)
    result = run("reset", "02")
    assert result.exit_code == USAGE and "autograde: lessons/ holds no" in result.stderr


@pytest.mark.parametrize(
    ("statuses", "code"), [(["right", "right"], FINE), (["right", "not done"], NOT_RIGHT), ([], NOT_RIGHT)]
)
def test_check_fails_unless_every_exercise_is_right(tmp_path, monkeypatch, statuses, code):
    notebook = tmp_path / "any.ipynb"
    notebook.touch()
    verdicts = [Verdict(f"task{i}", status, 2, cases=3) for i, status in enumerate(statuses)]
    monkeypatch.setattr(check, "check_notebook", lambda path: verdicts)
    result = run("check", str(notebook))
    assert result.exit_code == code
    assert all(verdict.exercise in result.output for verdict in verdicts) and "\x1b" not in result.output
    result = run("check", str(notebook), "--json")
    assert result.exit_code == code
    assert [each["status"] for each in json.loads(result.output)] == statuses


@pytest.mark.parametrize(("problems", "code"), [([], FINE), (["gqa.py line 3 differs"], NOT_RIGHT)])
def test_verify_fails_on_any_problem_and_names_it(monkeypatch, problems, code):
    monkeypatch.setattr(protected, "verify", lambda: problems)
    result = run("verify")
    assert result.exit_code == code and all(problem in result.output for problem in problems)
    result = run("verify", "--json")
    assert result.exit_code == code and json.loads(result.output) == problems


@pytest.mark.parametrize("missing", [None, "rejected", "diagnosed", "distinct"])
def test_mutants_fails_on_any_no(monkeypatch, missing):
    answers = {column: column != missing for column in ("rejected", "diagnosed", "distinct")}
    good = SimpleNamespace(exercise="e", misconception="fine", rejected=True, diagnosed=True, distinct=True)
    row = SimpleNamespace(exercise="kv_bytes", misconception="no factor 2", **answers)
    monkeypatch.setattr(mutants, "table", lambda names: [good, row])
    code = NOT_RIGHT if missing else FINE
    result = run("mutants")
    assert result.exit_code == code and ("NO" in result.output) == bool(missing)
    result = run("mutants", "--json")
    assert result.exit_code == code and json.loads(result.output)[1] == vars(row)


def test_mutants_that_tries_nothing_is_no_success(monkeypatch):
    monkeypatch.setattr(mutants, "table", lambda names: [])
    assert run("mutants").exit_code == NOT_RIGHT


def test_release_names_the_files_that_it_changed(monkeypatch):
    monkeypatch.setattr(release, "release", lambda lessons: [course.ROOT / "lessons" / "one.ipynb"])
    assert str(Path("lessons", "one.ipynb")) in run("release").output
    monkeypatch.setattr(release, "release", lambda lessons: [])
    assert run("release").output == "nothing changed\n"
    monkeypatch.setattr(release, "release", lambda lessons: [course.ROOT / each.slug for each in lessons])
    assert run("release", "07").output == "changed 07_paging\n"


def test_lab_prepares_first_says_what_it_did_and_passes_other_options_on(monkeypatch):
    started = []
    monkeypatch.setattr(lab, "prepare", lambda: ["02_byte_formula: copied"])
    monkeypatch.setattr(lab, "start", lambda arguments, instructor: started.append((arguments, instructor)) or 7)
    result = run("lab", "--port", "8899", "--instructor", "--no-browser")
    assert result.exit_code == 7 and "copied" in result.output
    assert started == [(["--port", "8899", "--no-browser"], True)]


def test_an_instructor_gets_the_whole_project_and_all_of_nbgrader(tmp_path):
    line = lab.command(["--no-browser"], instructor=True, root=tmp_path)
    assert f"--ServerApp.root_dir={tmp_path}" in line and "--no-browser" in line
    assert not any("settings" in part or "nbgrader" in part for part in line)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A real JupyterLab on an empty course: its address and its log up to the start."""
    if os.name == "nt":
        pytest.skip("on Windows JupyterLab is a child that would outlive the terminated command")
    root = tmp_path_factory.mktemp("course")
    (root / "lessons").mkdir()
    code = (
        "import sys; from pathlib import Path; from autograde import lab; root = Path(sys.argv[1])\n"
        "lab.prepare(root); lab.start(sys.argv[2:], root=root)"
    )
    options = ["--no-browser", "--allow-root", "--port=0", "--IdentityProvider.token=secret"]
    environment = {
        **os.environ,
        "AUTOGRADE_PROGRESS": str(root / "none.json"),
        "JUPYTER_CONFIG_DIR": str(root / "j"),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(root), *options],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
    )  # fmt: skip
    log = ""
    try:
        for line in process.stdout:
            log += line
            if address := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                break
        else:
            pytest.fail(f"JupyterLab did not start:\n{log}")
        wait_until_it_listens(process, int(address[1]))
        yield SimpleNamespace(address=address[0], log=log, root=root)
    finally:
        process.terminate()
        process.communicate()


def wait_until_it_listens(process, port):
    """The server names its address a moment before it listens there."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                pytest.fail(f"JupyterLab ended with code {process.wait(timeout=0.1)}")


def fetch(server, path):
    request = urllib.request.Request(server.address + path, headers={"Authorization": "token secret"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.geturl(), reply.read().decode()


def test_jupyterlab_starts_without_complaint_and_with_validate_as_nbgraders_only_page(server):
    assert re.findall(r"^\[[EC] .*|^\[W .*(?:nbgrader|LabApp|overrides).*", server.log, re.MULTILINE) == []
    assert set(re.findall(r"nbgrader\.server_extensions\.(\w+)", server.log)) == {"validate_assignment"}


def test_jupyterlab_opens_on_the_course_map_as_a_page(server):
    address, _ = fetch(server, "/")
    assert address.endswith(f"/lab/tree/{workspace.MAP_NAME}")
    _, layout = fetch(server, "/lab/api/workspaces/default")  # what a visit to /lab restores
    tab = f"markdownviewer-widget:{workspace.MAP_NAME}"
    assert json.loads(layout)["data"]["layout-restorer:data"]["main"]["current"] == tab
    assert (server.root / "work" / workspace.MAP_NAME).is_file()


def test_jupyterlab_asks_for_no_news_and_hides_what_is_for_instructors(server):
    def settings(name):
        return json.loads(fetch(server, f"/lab/api/settings/@jupyterlab/{name}")[1])["schema"]["properties"]

    news = settings("apputils-extension:notification")
    assert (news["fetchNews"]["default"], news["checkForUpdates"]["default"]) == ("false", False)
    viewers = settings("docmanager-extension:plugin")["defaultViewers"]["default"]
    assert viewers == {"markdown": "Markdown Preview"}
    _, page = fetch(server, "/lab")
    config = json.loads(re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    disabled = config["disabledExtensions"]
    assert "@jupyter/nbgrader:formgrader" in disabled and "@jupyter/nbgrader:validate-assignment" not in disabled


def test_jupyterlab_keeps_its_own_login(server):
    with urllib.request.urlopen(server.address + "/lab", timeout=60) as reply:
        assert "/login" in reply.geturl()


def test_mutants_of_an_unknown_exercise_is_bad_use():
    result = CliRunner().invoke(cli.app, ["mutants", "nothing"])
    assert result.exit_code == 2
    assert "kv_bytes" in result.output and "02_byte_formula" in result.output


def test_mutants_of_a_lesson_are_those_of_its_exercises(monkeypatch):
    asked = []
    monkeypatch.setattr(mutants, "table", lambda names: asked.append(names) or [])
    run("mutants", "06", "kv_bytes")
    assert asked == [[*course.lesson("06").exercises, "kv_bytes"]]
