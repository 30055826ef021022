"""The process that waits in the sandbox with every library imported, and forks one child per submission.

It is given {"lesson": its key, "warm": […], "isolated": true, "limits": {…}} as its argument. Its standard input is a
socket. For each submission two pipes come through it, one to read the job from and one to write the report to, which it
hands to the child unread; back goes what became of the run. So nothing of one submission is ever in this process, whose
memory the next child inherits. It never runs a student's code itself: the grandchild that does cannot see it, signal it
or write where it reads.
"""

import contextlib
import gc
import json
import os
import resource
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
from typing import NoReturn

from autograde.grading.sandbox import inside, namespaces
from autograde.grading.sandbox.limits import Limits

POLL_SECONDS = 0.05
LOOK_SECONDS = 0.2  # between looks at memory, which take a few milliseconds for each process
GRACE_SECONDS = 3.0  # for a cell to end by its own limit, and for a process to end after its last report
SETTLE_SECONDS = 20.0
HEADER = struct.Struct(">I")
RUN, STOP = b"r", b"s"  # what the grader says


def main() -> None:
    options = json.loads(sys.argv[1])
    control = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    inside.warm(options["lesson"], options["warm"])
    shell = inside.make_shell()
    gc.collect()
    gc.freeze()  # so that a child's collector does not touch, and thereby copy, what is imported
    zygote = Zygote(shell, Limits(**options["limits"]), options["isolated"], control)
    _send(control, {"ready": True})
    while True:
        said, pipes, _, _ = socket.recv_fds(control, 1, 2)
        if said == RUN:
            _send(control, zygote.run(*pipes))
        elif said != STOP:  # a late STOP is about a run that has ended; nothing at all means that the grader is gone
            return


def _send(control: socket.socket, message: dict) -> None:
    data = json.dumps(message).encode()
    control.sendall(HEADER.pack(len(data)) + data)


class Zygote:
    """Runs one submission at a time and watches it from outside."""

    def __init__(self, shell, limits: Limits, isolated: bool, control: socket.socket):
        self.shell, self.limits, self.isolated, self.control = shell, limits, isolated, control
        self.around = set(_processes()) if isolated else set()  # that belong to the sandbox itself

    def run(self, job: int, report: int) -> dict:
        """{"end": "done" or the limit that was met, "seconds", "cpu_seconds", "trouble": with the sandbox}."""
        begun = time.monotonic()
        beats, beat_end = os.pipe()  # one byte as each cell begins
        status, status_end = os.pipe()
        scratch = None if self.isolated else tempfile.mkdtemp(prefix="grading-")
        child = os.fork()
        if child == 0:
            self._guard(job, report, beat_end, status_end, scratch)
        for mine in (job, report, beat_end, status_end):
            os.close(mine)
        try:
            end = self._watch(beats, begun)
            usage = self._end(child, GRACE_SECONDS if end == "done" else 0.0)
            trouble = os.read(status, 4096).decode(errors="replace")
            self._settle()
        finally:
            os.close(beats)
            os.close(status)
            if scratch:
                shutil.rmtree(scratch, ignore_errors=True)
        return {
            "end": end,
            "seconds": time.monotonic() - begun,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "trouble": trouble,
        }

    def _watch(self, beats: int, begun: float) -> str:
        """Wait for the end, or until a limit is met. Each beat begins the time of another cell."""
        cell_begun = looked = begun
        while True:
            ready, _, _ = select.select([beats, self.control], [], [], POLL_SECONDS)
            now = time.monotonic()
            if self.control in ready:  # the grader has had enough, or is gone
                return "report"
            if beats in ready:
                beat = os.read(beats, 4096)
                if not beat or inside.LAST in beat:
                    return "done"  # what still runs is ended with the rest
                cell_begun = now
            for name, met in (
                ("cell time", now - cell_begun > self.limits.cell_seconds + GRACE_SECONDS),
                ("notebook time", now - begun > self.limits.notebook_seconds),
            ):
                if met:
                    return name
            if now - looked > LOOK_SECONDS:
                looked = now
                if name := self._too_much():
                    return name

    def _too_much(self) -> str:
        """The limit on processes or memory that the submission as a whole has met, or ""."""
        if not self.isolated:
            return ""  # its processes cannot be told from others
        processes = [each for each in _processes() if each not in self.around]
        if len(processes) > self.limits.processes + 3:
            return "processes"
        return "memory" if sum(map(_memory, processes)) > self.limits.memory_bytes else ""

    def _end(self, child: int, patience: float) -> resource.struct_rusage:
        """Wait for the child, at most `patience` seconds, then end it; process 1 of its namespace dies with it."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            ended, _, usage = os.wait4(child, os.WNOHANG)
            if ended:
                return usage
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError):
            (os.kill if self.isolated else os.killpg)(child, signal.SIGKILL)
        return os.wait4(child, 0)[2]

    def _settle(self) -> None:
        """Wait until no process of this submission is left, so that none is taken for the next one's.

        RuntimeError if one does not go; the grader then starts another sandbox.
        """
        deadline = time.monotonic() + SETTLE_SECONDS
        while self.isolated and (left := [each for each in _processes() if each not in self.around]):
            if time.monotonic() > deadline:
                raise RuntimeError(f"processes that do not end: {left}")
            time.sleep(0.001)

    def _guard(self, job: int, report: int, beats: int, status: int, scratch: str | None) -> NoReturn:
        """In the first child: shut itself in, start process 1 there, wait for it."""
        try:
            _only(job, report, beats, status)
            os.setsid()
            if self.isolated:
                namespaces.unshare()
                namespaces.die_with_parent()
                first = os.fork()
                if first == 0:
                    self._first(job, report, beats, status)
                _only(status)
                os.waitpid(first, 0)
            else:
                os.close(status)
                os.chdir(scratch)
                os.environ["HOME"] = scratch
                self._student(job, report, beats)
        except BaseException as error:
            os.write(status, f"trouble: {error!r}".encode())
        finally:
            os._exit(0)

    def _first(self, job: int, report: int, beats: int, status: int) -> NoReturn:
        """In process 1 of the namespace: make it private, start the student's process, end when that ends."""
        try:
            namespaces.private_files(self.limits)
            os.chdir(namespaces.SCRATCH)
            namespaces.drop_rights()
            namespaces.die_with_parent()
            namespaces.prctl(namespaces.DUMPABLE, 0)  # nobody may trace process 1
            student = os.fork()
            if student == 0:
                namespaces.prctl(namespaces.DUMPABLE, 1)
                os.close(status)
                namespaces.limit_processes(self.limits)
                namespaces.forbid_calls()
                self._student(job, report, beats)
            _only(status)
            while os.wait()[0] != student:  # orphans are handed to process 1
                pass
        except BaseException as error:
            os.write(status, f"trouble: {error!r}".encode())
        finally:
            os._exit(0)

    def _student(self, job: int, report: int, beats: int) -> NoReturn:
        try:
            namespaces.set_limits(self.limits)
            inside.run(inside.read_job(job), self.shell, report, beats)
        finally:
            os._exit(0)


def _only(*descriptors: int) -> None:
    """Close everything else; the standard streams lead nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    kept = sorted({2, *descriptors})
    for low, high in zip(kept, [*kept[1:], 65_536], strict=True):
        os.closerange(low + 1, high)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _memory(process: int) -> int:
    """Bytes of memory of `process`, its share of what it shares with others; 0 when it is gone.

    A process that hides its share is charged with everything that it can see.
    """
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except (OSError, ValueError, StopIteration):
        pass
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
