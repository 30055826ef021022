"""Start the process that runs submissions, shut in by bubblewrap, and talk to it."""

import contextlib
import io
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psutil

from autograde.commands import PlainError
from autograde.grading.sandbox.limits import Limits
from autograde.grading.sandbox.namespaces import SCRATCH
from autograde.grading.sandbox.zygote import HEADER, RUN, STOP

COURSE = "/course"  # where the sandbox sees the part of the project that it may see
START = "import sys; sys.path.insert(0, {course!r}); from autograde.grading.sandbox.zygote import main; main()"
NOBODY = 65534  # whom a sandbox that root starts runs as
# Of the system: programs, libraries and what the dynamic linker and the fonts need. No accounts, no host names.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives")
SYSTEM += ("/etc/fonts", "/etc/localtime")
START_SECONDS = 180.0  # to import the libraries
SPARE_SECONDS = 30.0  # beyond the limits, until the sandbox counts as stuck


class SandboxError(PlainError):
    """The sandbox could not be started, or stopped working. The message says what it said last."""


def bubblewrap() -> None:
    """Try bubblewrap. SandboxError says what to do where it does not work."""
    if not shutil.which("bwrap"):
        raise SandboxError(
            "submissions are run inside bubblewrap, which is not installed here; on Debian and Ubuntu: "
            "apt install bubblewrap. --no-isolation runs them with your own rights instead"
        )
    trial = subprocess.run([*_wrapped([], Path("/usr")), "true"], capture_output=True, text=True)
    if trial.returncode:
        raise SandboxError(
            f"bubblewrap does not work here ({trial.stderr.strip()}); on Ubuntu 24.04 and later, user namespaces "
            "have to be allowed: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )


def _wrapped(python: list[str], course: Path) -> list[str]:
    """The command line, up to the program, of a sandbox that sees `python`'s folders, `course` and the system."""
    files: list[str] = []
    for path in SYSTEM:
        if os.path.islink(path) and not os.path.isabs(os.readlink(path)):
            files += ["--symlink", os.readlink(path), path]
        else:
            files += ["--ro-bind-try", path, path]
    for folder in sorted({str(each) for path in python for each in Path(path).parents if each != Path("/")}):
        files += ["--perms", "0755", "--dir", folder]  # bubblewrap's own default shuts other users out
    for path in python:
        files += ["--ro-bind", path, path]
    files += ["--ro-bind", str(course), COURSE, "--perms", "1777", "--tmpfs", SCRATCH]
    files += ["--perms", "0755", "--dir", "/tmp"]  # bubblewrap itself works there
    apart = ["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    for name, value in _environment().items():
        apart += ["--setenv", name, value]
    sealed = ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
    if os.getuid() != 0:
        return ["bwrap", *apart, *files, *sealed, "--"]
    # Root's files in /proc/sys are root's in any namespace. So root lays the files out where everybody may look, gives
    # its rights away, and only then starts the sandbox proper, which sees no more than was laid out.
    laid_out = ["bwrap", "--die-with-parent", *files, "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc", "--"]
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    everything = ["--ro-bind", "/", "/", "--tmpfs", SCRATCH]
    return [*laid_out, *become, "bwrap", *apart, *everything, *sealed, "--"]


ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": SCRATCH,
    "USER": "student",
    "LANG": "C.UTF-8",
    "TMPDIR": SCRATCH,
    "MPLBACKEND": "agg",
    "PYTHONHASHSEED": "0",
    # One thread each: there are as many sandboxes as cores, and a pool of threads does not survive a fork.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
}
PASSED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # with which this machine's NumPy computes right


def _environment() -> dict[str, str]:
    return ENVIRONMENT | {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def _python_folders() -> list[str]:
    """Where the interpreter and its packages lie."""
    bases = {sys.base_prefix, sys.base_exec_prefix}
    folders = bases | {os.path.realpath(each) for each in bases} | {sys.prefix}
    return sorted(each for each in folders if each != "/usr" and not each.startswith("/usr/"))


class Sandbox:
    """One waiting process. `run` gives it a submission; it starts anew after it was stuck."""

    def __init__(self, course: Path, lesson: str, warm: list[str], limits: Limits, isolated: bool = True):
        self._course, self._limits, self._isolated = course, limits, isolated
        options = {"lesson": lesson, "warm": warm, "isolated": isolated, "limits": limits.as_dict()}
        place = COURSE if isolated else str(course)
        program = [sys.executable, "-I", "-B", "-c", START.format(course=place), json.dumps(options)]
        self._command = [*_wrapped(_python_folders(), course), *program] if isolated else program
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the sandbox)

    def run(self, job: dict) -> dict:
        """What the zygote says of the run, and the "report". SandboxError when it did not start or gave no answer."""
        try:
            if self._process is None:
                self._start()
            with _Deadline(self._process, self._limits.notebook_seconds + SPARE_SECONDS):
                return self._ask(job)
        except (OSError, ValueError) as error:
            self.close()
            raise SandboxError(f"the sandbox stopped ({error}); {self._last_words()}") from error

    def _start(self) -> None:
        environment = _environment()
        if not self._isolated:
            environment |= {"HOME": str(self._course), "TMPDIR": tempfile.gettempdir()}
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                self._command,
                stdin=theirs,
                stdout=self._log,
                stderr=self._log,
                env=environment | {"PATH": os.environ.get("PATH", os.defpath)},
                start_new_session=True,  # Ctrl-C ends the grader in order, not the sandbox under it
            )
        with _Deadline(self._process, START_SECONDS):
            self._answer()

    def _ask(self, job: dict) -> dict:
        """Give a job and two fresh pipes, and gather the report until the answer comes and every writer is gone."""
        job_end, job_pipe = os.pipe()
        report_pipe, report_end = os.pipe()
        with os.fdopen(job_pipe, "wb") as jobs, os.fdopen(report_pipe, "rb", buffering=0) as reports:
            try:
                socket.send_fds(self._control, [RUN], [job_end, report_end])
            finally:
                os.close(job_end)
                os.close(report_end)
            with contextlib.suppress(BrokenPipeError):  # it ended before it had read all
                jobs.write(json.dumps(job).encode())
                jobs.flush()
            with contextlib.suppress(BrokenPipeError):
                jobs.close()
            report, flooded = self._gather(reports)
            answer = self._answer()
            while not flooded and (piece := reports.read(2**20)):
                report += piece
        if len(report) > self._limits.report_bytes:
            answer["end"] = "report"
        return answer | {"report": report[: self._limits.report_bytes].decode("ascii", errors="replace")}

    def _gather(self, reports: io.FileIO) -> tuple[bytearray, bool]:
        """What is reported until the answer is there, and whether that was so much that the run had to be stopped."""
        report = bytearray()
        watched = [reports, self._control]
        while True:
            ready, _, _ = select.select(watched, [], [])
            if self._control in ready:
                return report, False
            if not (piece := reports.read(2**20)):
                watched.remove(reports)  # every writer is gone; the answer follows
            report += piece
            if len(report) > self._limits.report_bytes:
                self._control.sendall(STOP)
                return report, True

    def _answer(self) -> dict:
        (size,) = HEADER.unpack(self._exactly(HEADER.size))
        return json.loads(self._exactly(size))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not (piece := self._control.recv(size - len(data))):
                raise ValueError("it ended")
            data += piece
        return data

    def _last_words(self) -> str:
        self._log.seek(0)
        said = self._log.read()[-2_000:].decode(errors="replace").strip()
        return f"it said last: {said}" if said else "it said nothing"

    def close(self) -> None:
        """End the process and everything in it."""
        process, self._process = self._process, None
        if process is None:
            return
        _end(process)
        self._control.close()
        process.wait()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._log.close()


def _end(process: subprocess.Popen) -> None:
    """Kill the process and all under it. Bubblewrap's own promise to die with its parent ends where rights change."""
    with contextlib.suppress(psutil.NoSuchProcess):
        top = psutil.Process(process.pid)
        for each in [*top.children(recursive=True), top]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


class _Deadline:
    """Ends the process if the block takes longer than `seconds`, so that a read from it returns."""

    def __init__(self, process: subprocess.Popen, seconds: float):
        self._timer = threading.Timer(seconds, _end, [process])
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
