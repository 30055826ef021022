"""What a submission can reach, use up and leave behind: nothing of anybody else's."""

import ast
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autograde.course import LESSONS, ROOT, lesson
from autograde.grading.sandbox import course_copy, zygote
from autograde.grading.sandbox.limits import Limits
from autograde.grading.sandbox.process import Sandbox, SandboxError, _end, bubblewrap
from tests.grading.bubblewrap import needs_bubblewrap

LESSON = lesson("02_byte_formula")
LIMITS = Limits(cell_seconds=2, notebook_seconds=8, memory_bytes=512 << 20, scratch_bytes=8 << 20, file_bytes=4 << 20)
pytestmark = needs_bubblewrap


def job(*sources: str, seconds: float = LIMITS.cell_seconds) -> dict:
    cells = [{"source": source} for source in sources]
    return {"lesson": LESSON.key, "seed": 1, "watch": False, "cell_seconds": seconds, "cells": cells}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    for each in (folder, *folder.parents):
        if each.owner() == folder.owner() and each != Path("/tmp"):
            each.chmod(0o755)
    course_copy.build(LESSON, folder, library_answers=False)
    return folder


@pytest.fixture(scope="module")
def sandbox(course):
    os.environ["INSTRUCTORS_TOKEN"] = "secret"
    with Sandbox(course, LESSON.key, ["import numpy as np"], LIMITS) as made:
        yield made
    del os.environ["INSTRUCTORS_TOKEN"]


def ask(sandbox: Sandbox, code: str) -> object:
    """The value that the student's code leaves in `found`, carried out by an exception."""
    answer = sandbox.run(job(f"{code}\nimport json\nraise Exception('@' + json.dumps(found))"))
    (said,) = [each["said"] for each in map(json.loads, answer["report"].splitlines()) if "said" in each]
    assert said.startswith("Exception: @"), said
    return json.loads(said.removeprefix("Exception: @").splitlines()[0])


REFUSED = (
    "def tried(do, *args):\n    try:\n        do(*args)\n    except OSError as error:\n        return error.errno\n"
)


def test_there_is_no_network(sandbox):
    code = (
        "import socket\nfound = [tried(socket.create_connection, (host, 80), 1) for host in ('127.0.0.1', '192.0.2.1')]"
    )
    assert ask(sandbox, REFUSED + code) == [111, 101]  # refused by nobody's loopback, and unreachable


def test_only_its_own_processes_are_seen(sandbox):
    assert ask(sandbox, "import os\nfound = sorted(int(each) for each in os.listdir('/proc') if each.isdigit())") == [
        1,
        2,
    ]


def test_nothing_of_the_instructors_is_there(sandbox, course):
    code = "import os\nfound = [os.path.exists(path) for path in {paths!r}] + ['INSTRUCTORS_TOKEN' in os.environ]"
    paths = [
        *(str(ROOT / each) for each in ("solutions", "autograde", "lessons", "nbgrader_config.py", ".git", "tests")),
        *("/course/autograde/answers", "/course/autograde/judge.py", "/course/solutions", str(course)),
        *("/etc/passwd", "/etc/shadow", "/var", "/run", "/srv", "/root/.bashrc", str(Path.home() / ".ssh")),
    ]
    assert ask(sandbox, code.format(paths=paths)) == [False] * (len(paths) + 1)


def test_nothing_can_be_written_but_its_own_scratch(sandbox):
    places = ["/course", "/course/kvlab", "/usr", "/dev", "/", "/etc", sys.prefix, os.path.dirname(json.__file__)]
    code = f"found = [tried(open, place + '/mine', 'w') for place in {places!r}] + [tried(open, 'mine', 'w')]"
    *refused, scratch = ask(sandbox, REFUSED + code)
    assert set(refused) <= {13, 30} and scratch is None  # no permission, or a read-only file system
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/user/max_user_namespaces", "/proc/sysrq-trigger"):
        assert ask(sandbox, REFUSED + f"found = tried(open, {path!r}, 'w')") in (1, 2, 13, 30), path


def test_what_one_submission_leaves_the_next_does_not_find(sandbox):
    leave = "for place in ('/scratch', '/dev/shm'):\n    open(place + '/left', 'w').write('x')\n"
    leave += "import numpy\nnumpy.left = 1"
    assert sandbox.run(job(leave))["end"] == "done"
    code = "import os, numpy\nfound = [os.listdir('/scratch'), os.listdir('/dev/shm'), hasattr(numpy, 'left')]"
    assert ask(sandbox, code) == [[], [], False]


SCAN = """
import re
found = 0
with open('/proc/self/mem', 'rb', 0) as memory:
    for line in open('/proc/self/maps'):
        first, last = (int(each, 16) for each in line.split()[0].split('-'))
        if 'rw' in line.split()[1]:
            try:
                memory.seek(first)
                found += memory.read(last - first).count(b''.join((b'secret', b'-of-ada')))
            except (OSError, ValueError, OverflowError):
                pass
"""


def test_no_source_and_no_value_of_one_submission_is_in_the_memory_of_the_next(sandbox):
    assert ask(sandbox, "x = ''.join(('secret', '-of-ada'))\n" + SCAN) > 0  # the scan finds what is there
    for _ in range(3):
        lines = "\n".join(f"x{number} = 'secret-of-ada {number}'" for number in range(2_000))
        assert sandbox.run(job(lines, "raise ValueError('secret-of-ada')"))["report"].count("secret-of-ada") == 2
    assert ask(sandbox, SCAN) == 0


def test_calls_that_no_lesson_needs_are_refused(sandbox):
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
numbers = {'x86_64': (319, 29, 250, 321, 0x40000000 + 319), 'aarch64': (279, 194, 219, 280)}[os.uname().machine]
found = []
for number in numbers[:4]:
    found.append((libc.syscall(number, 0, 0, 0, 0, 0), ctypes.get_errno()))
pid = os.fork()
if pid == 0:
    libc.syscall(numbers[-1], 0, 0, 0, 0, 0)
    os._exit(0)
found.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    *refused, other = ask(sandbox, code)
    assert refused == [[-1, 1]] * 4
    assert other in (0, -31)  # arm64 has no second numbering; x86-64 kills who uses it


def test_there_is_no_way_to_more_rights(sandbox):
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
found = [libc.unshare(0x10000000), libc.umount2(b'/scratch', 2), libc.mount(b'x', b'/scratch', b'tmpfs', 0, None),
         libc.ptrace(16, 1, 0, 0), libc.setuid(0), libc.sethostname(b'x', 1)]
"""
    assert ask(sandbox, code) == [-1] * 6
    status = "found = [line.split()[1] for line in open('/proc/self/status') if line[:3] in ('Cap', 'NoN')]"
    assert ask(sandbox, status) == ["0" * 16] * 5 + ["1"]
    assert ask(sandbox, REFUSED + "found = tried(open, '/proc/1/mem', 'rb')") == 13


def test_killing_everything_in_reach_hurts_nobody_else(sandbox):
    kill = "import os, signal\nfor process in [*range(1, 300), os.getppid(), -1]:\n"
    kill += "    if process != os.getpid():\n        try: os.kill(process, 9)\n        except OSError: pass\n"
    assert ask(sandbox, "found = 0") == 0
    before = sandbox._process.pid
    assert sandbox.run(job(kill))["end"] == "done"
    assert ask(sandbox, "found = 1") == 1
    assert sandbox._process.pid == before


def test_its_processes_are_gone_afterwards(sandbox):
    mark = "86399.125"
    code = f"import os\nif os.fork() == 0:\n    os.setsid()\n    os.execv('/usr/bin/sleep', ['sleep', '{mark}'])"
    assert sandbox.run(job(code))["end"] == "done"
    assert ask(sandbox, "found = 1") == 1  # whatever was being ended has been
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert mark not in running


ENDLESS = "import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass"
DEAF = "import signal, time\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\ntime.sleep(60)"
GREEDY = "import os, time\nfor _ in range(2): os.fork()\nhog = b'1' * (200 << 20)\ntime.sleep(9)"
FLOOD = """
import os
while True:
    for descriptor in range(3, 64):
        try: os.write(descriptor, b'x' * 60_000)
        except OSError: pass
"""


@pytest.mark.parametrize(
    ("code", "end"), [(ENDLESS, "cell time"), (DEAF, "cell time"), (GREEDY, "memory"), (FLOOD, "report")]
)
def test_a_limit_ends_the_run_and_is_named(sandbox, code, end):
    answer = sandbox.run(job(code, seconds=60))  # so that on a busy machine the cell's own limit is not met before
    assert answer["end"] == end
    assert '{"done": true}' not in answer["report"]


def test_many_cells_that_each_take_long_meet_the_limit_of_the_notebook(course):
    with Sandbox(course, LESSON.key, [], replace(LIMITS, notebook_seconds=2)) as sandbox:
        assert sandbox.run(job(*["import time; time.sleep(0.5)"] * 9))["end"] == "notebook time"


def test_a_slow_cell_is_ended_and_the_rest_still_runs(sandbox):
    answer = sandbox.run(job("while True: pass", "x = 1", seconds=0.5))
    assert answer["end"] == "done"
    assert "still running after 0.5 s" in answer["report"]


def test_one_process_cannot_take_memory_disk_or_files_without_end(sandbox):
    memory = "try:\n    found = len(bytearray(3 << 30))\nexcept MemoryError:\n    found = 'no'"
    assert ask(sandbox, memory) == "no"
    file = "found = tried(open('/scratch/x', 'wb').write, b'1' * (5 << 20))"
    assert ask(sandbox, REFUSED + file) == 27  # file too large
    disk = "found = [tried(open(f'/scratch/{i}', 'wb', buffering=0).write, b'1' * (3 << 20)) for i in range(4)]"
    assert ask(sandbox, REFUSED + disk)[-1] == 28  # no space left
    assert ask(sandbox, "import os\nfound = sum(e.stat().st_size for e in os.scandir('/scratch'))") == 0


HIDDEN = """
import ctypes, os
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
for _ in range(2): os.fork()
hog = b"1" * (200 << 20)
import time
time.sleep(9)
"""


def test_a_process_that_hides_its_memory_is_counted_all_the_same(sandbox):
    assert sandbox.run(job(HIDDEN, seconds=60))["end"] == "memory"


def test_what_was_imported_before_is_not_charged_to_each_process_again(sandbox):
    idle = "import os, time\nfor _ in range(40):\n    if os.fork() == 0:\n        time.sleep(0.6); os._exit(0)\n"
    assert ask(sandbox, idle + "time.sleep(0.3)\nfound = 1") == 1


BOMB = """
import os, time
found = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(9)
        found += 1
except OSError: pass
"""


def test_a_fork_bomb_stays_small(sandbox):
    assert ask(sandbox, BOMB) < LIMITS.processes


def test_a_run_has_not_ended_while_a_process_of_it_is_left(monkeypatch):
    """Under load, the dying processes of one submission were taken for the next one's."""
    seen = iter([[1, 2, 40, 41], [1, 2, 41], [1, 2], [1, 2, 99]])
    monkeypatch.setattr(zygote, "_processes", lambda: [1, 2])
    watcher = zygote.Zygote(None, LIMITS, isolated=True, control=None)
    monkeypatch.setattr(zygote, "_processes", lambda: next(seen))
    watcher._settle()
    assert next(seen) == [1, 2, 99]
    monkeypatch.setattr(zygote, "_processes", lambda: [1, 2, 99])
    monkeypatch.setattr(zygote, "SETTLE_SECONDS", 0.01)
    with pytest.raises(RuntimeError, match="99"):
        watcher._settle()


@pytest.mark.parametrize(
    "line",
    ['{"done": true}', "no json", '{"cell": "x"}', "[" * 50_000, '{"exercise": 5}'],
)
def test_a_forged_line_does_not_hold_the_sandbox_up(sandbox, line):
    code = f"import os, time\nfor fd in range(3, 64):\n    try: os.write(fd, {line + chr(10)!r}.encode())\n"
    answer = sandbox.run(job(code + "    except OSError: pass\ntime.sleep(60)", seconds=0.5))
    assert answer["end"] == "done"  # by the cell's own limit
    assert "still running after 0.5 s" in answer["report"]


def test_the_end_of_the_process_is_no_end_of_the_sandbox(sandbox):
    answer = sandbox.run(job("x = 1", "import os; os._exit(0)", "y = 2"))
    assert answer["end"] == "done" and answer["report"].splitlines() == ['{"cell": 0}', '{"cell": 1}']
    assert ask(sandbox, "found = 1") == 1


def test_magics_await_and_displays_work(sandbox):
    code = "%precision 3\nimport asyncio\nawait asyncio.sleep(0)\ndisplay({'a': 1})\nfound = !echo shell\n"
    assert ask(sandbox, code + "found = list(found)") == ["shell"]


def test_a_module_that_a_cell_writes_can_be_imported_and_shadows_nothing(sandbox):
    code = "open('mine.py', 'w').write('x = 5')\nopen('json.py', 'w').write('x = 5')\nimport mine\nfound = mine.x"
    assert ask(sandbox, "%matplotlib inline\n" + code) == 5


def test_a_sandbox_that_died_says_so_and_the_next_run_starts_another(course):
    with Sandbox(course, LESSON.key, [], LIMITS) as sandbox:
        assert ask(sandbox, "found = 1") == 1
        _end(sandbox._process)
        with pytest.raises(SandboxError, match="stopped"):
            sandbox.run(job("x = 1"))
        assert ask(sandbox, "found = 2") == 2


def test_a_sandbox_that_cannot_start_repeats_what_was_said(tmp_path):
    tmp_path.chmod(0o755)
    with Sandbox(tmp_path, LESSON.key, [], LIMITS) as sandbox, pytest.raises(SandboxError, match="No module named"):
        sandbox.run(job("x = 1"))


def test_without_bubblewrap_nothing_is_run(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="bubblewrap, which is not installed"):
        bubblewrap()


def test_without_isolation_the_same_job_runs_and_its_scratch_is_gone(course):
    with Sandbox(course, LESSON.key, [], LIMITS, isolated=False) as sandbox:
        scratch = ask(sandbox, "import os\nfound = os.getcwd()\nopen('left', 'w').write('x')")
        assert not os.path.exists(scratch)
        assert sandbox.run(job(ENDLESS))["end"] == "cell time"


@pytest.mark.parametrize("each", LESSONS, ids=lambda each: each.slug)
def test_no_line_of_what_would_answer_is_in_the_sandbox(each, tmp_path):
    course_copy.build(each, tmp_path, library_answers=False)
    assert not (tmp_path / "autograde" / "answers").exists()
    for module, names in course_copy.left_out(each).items():
        file = tmp_path / f"{module.replace('.', '/')}.py"
        for holder in ast.parse(file.read_text(encoding="utf-8")).body:
            members = holder.body if isinstance(holder, ast.ClassDef) else [holder]
            for member in (each for each in members if isinstance(each, ast.FunctionDef)):
                asked = {holder.name, member.name if member is holder else f"{holder.name}.{member.name}"} & names
                assert ("raise Borrowed" in ast.unparse(member)) == bool(asked), (module, holder.name, member.name)


def test_a_function_is_cut_out_and_the_rest_stays():
    source = '''\
def kept(x):
    return x

def gone(x):
    """Doc."""
    secret = x
    return secret

class Thing:
    def gone(self): return "kept too"

    def step(self, x):
        # a secret comment
        return self.gone() + x
'''
    left = course_copy.without(source, "lib", {"gone", "Thing.step"})
    assert "kept too" in left and "return x" in left
    assert "secret = x" not in left and "self.gone() + x" not in left
    with pytest.raises(ValueError, match="nowhere"):
        course_copy.without(source, "lib", {"nowhere"})
