"""Grade everything that was handed in for one lesson: rebuild, run in isolation, judge outside, record."""

import hashlib
import json
import queue
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import nbformat
from filelock import FileLock, Timeout

from autograde.commands import PlainError
from autograde.course import Lesson
from autograde.exercise import Verdict
from autograde.feedback import render
from autograde.grading.judging import Judge
from autograde.grading.notice import notice
from autograde.grading.places import check_student
from autograde.grading.rebuild import Blueprint, Rebuilt, rebuild
from autograde.grading.result import FAILED, UNREADABLE, Flag, Result
from autograde.grading.sandbox import course_copy
from autograde.grading.sandbox.limits import Limits
from autograde.grading.sandbox.process import Sandbox, SandboxError, bubblewrap
from autograde.grading.submission import Submission, Unreadable, digest, read, students_in
from autograde.workspace import write_atomically

NO_ISOLATION = "It was run without isolation: its code had the rights of whoever graded, and could reach everything."


@dataclass(frozen=True)
class Options:
    """What one grading run is asked to do."""

    lesson: Lesson
    course: Path  # the folder that holds the gradebook and autograded/
    submitted: Path
    students: tuple[str, ...] = ()  # all that handed something in, if none is named
    jobs: int = 2
    seed: int | None = None  # of the cases; drawn if None
    isolated: bool = True
    library_answers: str = "zero"
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Graded:
    """A result and the notebook that it came from; None where there was nothing to rebuild."""

    result: Result
    notebook: nbformat.NotebookNode | None


class GradingError(PlainError):
    """Nothing was graded. The message says what has to be different."""


def students(options: Options) -> list[str]:
    """Who is to be graded. GradingError if there is nobody, or a named one handed nothing in."""
    found = students_in(options.submitted, options.lesson.slug)
    if missing := [name for name in options.students if name not in found]:
        raise GradingError(f"{', '.join(missing)} handed nothing in for {options.lesson.slug} in {options.submitted}")
    if not found:
        wanted = options.submitted / "STUDENT" / options.lesson.slug
        raise GradingError(f"nothing is handed in for {options.lesson.slug}; {wanted} was looked for")
    return [name for name in found if not options.students or name in options.students]


def grade(options: Options, record: Callable[[Graded], None], done: Callable[[Result], bool]) -> Iterator[Result]:
    """Grade every submission, `options.jobs` at a time, and yield the results as they come.

    `record` is called in this thread, with one result after the other, before it is yielded. A submission of which
    `done` says, from a sketch of its result, that an interrupted run recorded it already is not graded again.
    """
    names = students(options)
    if options.isolated:
        bubblewrap()
    with tempfile.TemporaryDirectory(prefix="grading-") as folder:
        yield from _Run(options, Path(folder)).results(names, record, done)


class _Run:
    """What all submissions of one run share."""

    def __init__(self, options: Options, folder: Path):
        self.options = options
        lesson = options.lesson
        path = lesson.notebook("lessons")
        self.blueprint = Blueprint(lesson, path)
        self.judge = Judge(lesson, options.seed)
        self.release = digest_of(path)
        folder.chmod(0o755)  # root's sandbox reads it as another user
        course_copy.build(lesson, folder, options.library_answers == "flag")
        self.folder = folder

    def results(
        self, names: list[str], record: Callable[[Graded], None], done: Callable[[Result], bool]
    ) -> Iterator[Result]:
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for name in names:
            waiting.put(name)
        finished: queue.Queue[Graded] = queue.Queue(maxsize=2 * self.options.jobs)
        stop = threading.Event()
        workers = [
            threading.Thread(target=self._work, args=(waiting, finished, stop, done), daemon=True)
            for _ in range(min(self.options.jobs, len(names)))
        ]
        for worker in workers:
            worker.start()
        try:
            for _ in names:
                yield self._recorded(finished.get(), record)
        finally:
            stop.set()
            while any(worker.is_alive() for worker in workers):
                with suppress(queue.Empty):
                    finished.get(timeout=0.05)

    def _recorded(self, graded: Graded, record: Callable[[Graded], None]) -> Result:
        """Record one result. One that cannot be kept, for what is in it, fails alone; a full disk ends the run."""
        try:
            record(graded)
        except (TypeError, ValueError) as error:
            return self._failed(graded.result.student, f"{type(error).__name__}: {error}")
        return graded.result

    def _work(
        self, waiting: queue.SimpleQueue, finished: queue.Queue, stop: threading.Event, done: Callable[[Result], bool]
    ) -> None:
        options = self.options
        warm = self.blueprint.warm
        with Sandbox(self.folder, options.lesson.key, warm, options.limits, options.isolated) as sandbox:
            while not stop.is_set():
                try:
                    student = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    graded = self._one(student, sandbox, done)
                except Exception as error:  # one submission never stops the batch
                    graded = Graded(self._failed(student, f"{type(error).__name__}: {error}"), None)
                finished.put(graded)

    def _sketch(self, student: str) -> Result:
        options = self.options
        return Result(
            student,
            options.lesson.slug,
            FAILED,
            (),
            seed=options.seed,
            isolated=options.isolated,
            library_answers=options.library_answers,
            release=self.release,
        )

    def _failed(self, student: str, why: str) -> Result:
        return replace(self._sketch(student), flags=(Flag("failed", f"The grader could not do its work: {why}"),))

    def _one(self, student: str, sandbox: Sandbox, done: Callable[[Result], bool]) -> Graded:
        options = self.options
        sketch = self._sketch(check_student(student))
        try:
            submission = read(options.submitted, student, options.lesson.slug)
        except Unreadable as error:
            blank = [
                Verdict(name, "not done", points, seed=options.seed)
                for name, points in options.lesson.exercises.items()
            ]
            flag = Flag("unreadable", str(error))
            return Graded(replace(sketch, status=UNREADABLE, verdicts=tuple(blank), flags=(flag,)), None)
        sketch = replace(sketch, digest=submission.digest)
        if done(sketch):
            return Graded(sketch, None)
        rebuilt = rebuild(self.blueprint, submission)
        answer = self._run(rebuilt, sandbox)
        if answer["trouble"]:
            return Graded(self._failed(student, answer["trouble"]), None)
        status, verdicts, flags = self.judge.judge(rebuilt.steps, answer["end"], answer["report"])
        result = replace(
            sketch,
            status=status,
            verdicts=tuple(verdicts),
            flags=(*self._about(submission), *rebuilt.flags, *flags, *notice(rebuilt.steps)),
            seconds=answer["seconds"],
            cpu_seconds=answer["cpu_seconds"],
        )
        return Graded(result, _with_verdicts(rebuilt, result))

    def _run(self, rebuilt: Rebuilt, sandbox: Sandbox) -> dict:
        job = {
            "lesson": self.options.lesson.key,
            "seed": self.options.seed,
            "watch": self.options.library_answers == "flag",  # otherwise there is nothing to be seen
            "cell_seconds": self.options.limits.cell_seconds,
            "cells": [{"check": step.check} if step.check else {"source": step.source} for step in rebuilt.steps],
        }
        try:
            return sandbox.run(job)
        except SandboxError:
            return sandbox.run(job)  # in a new one: the machine may have been short of something

    def _about(self, submission: Submission) -> Iterator[Flag]:
        if not self.options.isolated:
            yield Flag("not isolated", NO_ISOLATION)
        if submission.name != f"{self.options.lesson.slug}.ipynb":
            yield Flag("renamed", f"The notebook was called {submission.name}.")
        if submission.others:
            shown = ", ".join(submission.others[:5]) + (", …" if len(submission.others) > 5 else "")
            yield Flag("ignored", f"Beside the notebook lay what was not looked at: {shown}.")


def _with_verdicts(rebuilt: Rebuilt, result: Result) -> nbformat.NotebookNode:
    """The notebook as it was graded, with each verdict as the output of its check: formgrader shows this one."""
    verdicts = {f"check_{verdict.exercise}": verdict for verdict in result.verdicts}
    for cell in rebuilt.notebook.cells:
        verdict = verdicts.get(cell.metadata.get("nbgrader", {}).get("grade_id"))
        if verdict is None:
            continue
        text = render(verdict)
        if result.points_of(verdict):
            output = nbformat.v4.new_output("stream", name="stdout", text=text + "\n")
        else:
            plain = render(verdict, color=False)
            output = nbformat.v4.new_output("error", ename="CheckFailed", evalue=plain, traceback=text.splitlines())
        cell.outputs = [output]
    return rebuilt.notebook


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _fingerprint(options: Options) -> str:
    """Of everything that is to be graded."""
    whole = hashlib.sha256()
    for student in students(options):
        try:
            what = digest(options.submitted, student, options.lesson.slug)
        except Unreadable as error:
            what = str(error)
        whole.update(repr((student, what)).encode("utf-8", "backslashreplace"))
    return whole.hexdigest()


def unfinished(course: Path, slug: str) -> bool:
    """Whether a run of the lesson was begun in the folder `course` and has not ended."""
    return _journal(course, slug).exists()


def _journal(course: Path, slug: str) -> Path:
    return course / "autograded" / f".{slug}.run.json"


class Journal:
    """Marks a run as begun until it is ended, so that the next one can go on with it, on the same cases.

    Only with the very same submissions: whoever has seen the inputs of a run must not hand in for it.
    """

    def __init__(self, options: Options):
        self.path = _journal(options.course, options.lesson.slug)
        self.terms = {
            "release": digest_of(options.lesson.notebook("lessons")),
            "isolated": options.isolated,
            "library_answers": options.library_answers,
            "submissions": _fingerprint(options),
        }
        self.seed = options.seed
        self.resumed = False

    @contextmanager
    def begin(self) -> Iterator["Journal"]:
        """GradingError if another run of this lesson is under way in this folder."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.path.with_suffix(".lock"), timeout=0):
                self._resume()
                write_atomically(self.path, json.dumps(self.terms | {"seed": self.seed}).encode())
                yield self
        except Timeout:
            raise GradingError(f"another run is grading this lesson in {self.path.parent}") from None

    def _resume(self) -> None:
        try:
            left = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            left = {}
        seed = left.pop("seed", None) if isinstance(left, dict) else None
        self.resumed = left == self.terms and type(seed) is int and self.seed in (None, seed)
        if self.resumed:
            self.seed = seed
        elif self.seed is None:
            self.seed = secrets.randbelow(2**32)

    def end(self) -> None:
        self.path.unlink(missing_ok=True)
