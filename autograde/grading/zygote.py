"""The process that waits in the sandbox with every library imported, and forks one child per submission.

It is given {"module": …, "warm": […], "isolated": true, "limits": {…}} as its one argument. Jobs come on standard input
and answers go to standard output, each as four bytes of length and that many of JSON. It never runs a student's code
itself: the grandchild that does cannot see it, signal it or write where it reads.
"""

import contextlib
import gc
import json
import os
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
from typing import NoReturn

from autograde.grading import inside, namespaces
from autograde.grading.limits import Limits

POLL_SECONDS = 0.05
GRACE_SECONDS = 3.0  # for a cell to end by its own limit, and for a process to end after its last report
SETTLE_SECONDS = 20.0
HEADER = struct.Struct(">I")


def main() -> None:
    options = json.loads(sys.argv[1])
    # Standard output is for answers alone; whatever a library prints while it is imported goes to the log.
    answers = os.dup(1)
    os.dup2(2, 1)
    inside.warm(options["module"], options["warm"])
    shell = inside.make_shell()
    gc.collect()
    gc.freeze()  # so that a child's collector does not touch, and thereby copy, what is imported
    zygote = Zygote(shell, Limits(**options["limits"]), options["isolated"])
    _send(answers, {"ready": True})
    while (job := _receive(0)) is not None:
        _send(answers, zygote.run(job))


def _receive(descriptor: int) -> dict | None:
    header = _exactly(descriptor, HEADER.size)
    return None if header is None else json.loads(_exactly(descriptor, HEADER.unpack(header)[0]))


def _exactly(descriptor: int, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        if not (piece := os.read(descriptor, min(size - len(data), 2**20))):
            return None
        data += piece
    return data


def _send(descriptor: int, message: dict) -> None:
    data = json.dumps(message).encode()
    data = HEADER.pack(len(data)) + data
    while data:
        data = data[os.write(descriptor, data) :]


class Zygote:
    """Runs one submission at a time and watches it from outside."""

    def __init__(self, shell, limits, isolated: bool):
        self.shell, self.limits, self.isolated = shell, limits, isolated
        self.around = set(_processes()) if isolated else set()  # that belong to the sandbox itself

    def run(self, job: dict) -> dict:
        """{"end": "done" or the limit that was met, "report": its lines, "seconds", "cpu_seconds"}."""
        begun = time.monotonic()
        report, report_end = os.pipe()
        status, status_end = os.pipe()
        scratch = None if self.isolated else tempfile.mkdtemp(prefix="grading-")
        child = os.fork()
        if child == 0:
            self._guard(job, report_end, status_end, scratch)
        os.close(report_end)
        os.close(status_end)
        try:
            lines, end = self._watch(report, begun)
            usage = self._end(child, GRACE_SECONDS if end == "done" else 0.0)
            trouble = os.read(status, 4096).decode(errors="replace")
            self._settle()
        finally:
            os.close(report)
            os.close(status)
            if scratch:
                shutil.rmtree(scratch, ignore_errors=True)
        if "trouble" in trouble:
            return {"end": "sandbox", "report": trouble, "seconds": 0.0, "cpu_seconds": 0.0}
        return {
            "end": end,
            "report": lines.decode("ascii", errors="replace"),
            "seconds": time.monotonic() - begun,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
        }

    def _watch(self, report: int, begun: float) -> tuple[bytes, str]:
        """Read the report to its end, or until a limit is met."""
        lines = bytearray()
        cell_begun = begun
        while True:
            ready, _, _ = select.select([report], [], [], POLL_SECONDS)
            now = time.monotonic()
            if ready:
                piece = os.read(report, 2**20)
                if not piece:
                    return bytes(lines), "done"
                if b'{"cell"' in piece:
                    cell_begun = now
                lines += piece
                if lines.endswith(b'{"done": true}\n'):
                    return bytes(lines), "done"  # what still runs is ended with the rest
            for name, met in (
                ("report", len(lines) > self.limits.report_bytes),
                ("cell time", now - cell_begun > self.limits.cell_seconds + GRACE_SECONDS),
                ("notebook time", now - begun > self.limits.notebook_seconds),
            ):
                if met:
                    return bytes(lines), name
            if not ready and (name := self._too_much()):
                return bytes(lines), name

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

    def _guard(self, job: dict, report: int, status: int, scratch: str | None) -> NoReturn:
        """In the first child: shut itself in, start process 1 there, wait for it."""
        try:
            _only(report, status)
            os.setsid()
            if self.isolated:
                namespaces.unshare()
                namespaces.die_with_parent()
                first = os.fork()
                if first == 0:
                    self._first(job, report, status)
                os.close(report)
                os.waitpid(first, 0)
            else:
                os.close(status)
                os.chdir(scratch)
                os.environ["HOME"] = scratch
                self._student(job, report)
        except BaseException as error:
            os.write(status, f"trouble: {error!r}".encode())
        finally:
            os._exit(0)

    def _first(self, job: dict, report: int, status: int) -> NoReturn:
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
                self._student(job, report)
            os.close(report)
            while os.wait()[0] != student:  # orphans are handed to process 1
                pass
        except BaseException as error:
            os.write(status, f"trouble: {error!r}".encode())
        finally:
            os._exit(0)

    def _student(self, job: dict, report: int) -> NoReturn:
        try:
            namespaces.set_limits(self.limits)
            inside.run(job, self.shell, inside.reporter(report))
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
