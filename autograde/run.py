"""Drive a learner's object over the cases and report plain values. Knows nothing of what is right."""

import contextlib
import io
import sys
import threading
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograde.blame import blame
from autograde.course import ROOT
from autograde.exercise import Borrowed, Case, Exercise
from autograde.limits import TimeLimit, time_limit
from autograde.values import Raised, plain, same

ORACLES = str(ROOT / "autograde" / "answers")  # calling what decides is borrowing too
KVLAB = str(ROOT / "kvlab")
SLOW = "Does a loop never end, or take one step per token where a formula would do?"
MAX_PRINTED = 4_000  # characters of a learner's prints that are replayed


@dataclass(frozen=True)
class Outcome:
    """What one case gave: a plain value (Raised for an exception), and the learner's own line if one failed."""

    value: object
    note: str = ""
    unwritten: bool = False  # the stub's NotImplementedError came out
    printed: str = ""
    borrowed: str = ""  # dotted name of the library function that ran inside the answer


def collect(
    exercise: Exercise, candidate: object, cases: list[Case], library: Collection[str] | None = None
) -> list[Outcome]:
    """One outcome per case, in order. After a time-out the remaining cases are not run, and share its value.

    `library` names functions that would answer for the learner, as "package.module:function"; a call of one, or of an
    answer of the course, is noted. Without it nobody looks: answers of our own run twice as fast.
    """
    outcomes: list[Outcome] = []
    for case in cases:
        outcomes.append(_one(exercise, candidate, case, library))
        if same(outcomes[-1].value, Raised("TimeLimit")):
            return outcomes + outcomes[-1:] * (len(cases) - len(outcomes))
    return outcomes


def _one(exercise: Exercise, candidate: object, case: Case, library: Collection[str] | None) -> Outcome:
    watching = contextlib.nullcontext([]) if library is None else _watching(library)
    with _listening() as heard, watching as borrowed:
        try:
            with time_limit(exercise.seconds):
                value, note = plain(exercise.run(candidate, case), ours=True), ""
        except TimeLimit:
            value, note = Raised("TimeLimit"), f"It was still running after {exercise.seconds:g} s. {SLOW}"
        except KeyboardInterrupt:
            raise  # somebody pressed Interrupt
        except Borrowed as error:
            value, note = Raised("RuntimeError"), ""
            borrowed.append(str(error))
        except BaseException as error:  # SystemExit, GeneratorExit and their like are only wrong answers
            value, note = Raised.from_exception(error), blame(error)
    unwritten = same(value, Raised("NotImplementedError"))
    return Outcome(value, note, unwritten, heard.getvalue(), next(iter(borrowed), ""))


class _Heard(io.StringIO):
    """Keeps the first MAX_PRINTED characters. Closing it, as a learner may close sys.stdout, closes nothing."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, MAX_PRINTED - self.tell())])
        return len(text)

    def close(self) -> None:
        pass


@contextlib.contextmanager
def _listening() -> Iterator[io.StringIO]:
    """Collect prints and warnings. nbgrader scores 0 for anything on stderr, so nothing may reach it."""
    heard = _Heard()

    def heed(message, category, filename, lineno, file=None, line=None) -> None:
        heard.write(f"{category.__name__}: {message}\n")

    with (
        contextlib.redirect_stdout(heard),
        contextlib.redirect_stderr(heard),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")
        warnings.showwarning = heed
        yield heard


@contextlib.contextmanager
def _watching(library: Collection[str]) -> Iterator[list[str]]:
    """Names of functions that run meanwhile and are in `library`, or among the course's answers.

    Functions are known by their file and name, so that a copy under another name is noticed; what one function of
    kvlab calls in another is kvlab's business. A profiler that is already set stays, and nothing is noticed.
    """
    if sys.getprofile() is not None:
        yield []
        return
    seen: list[str] = []
    names = {_place(name): name.replace(":", ".") for name in library}

    def watch(frame, event, argument) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith(ORACLES):
            seen.append(f"answer in {Path(code.co_filename).name}")
        elif (code.co_filename, code.co_qualname) in names:
            caller = frame.f_back.f_code.co_filename if frame.f_back else ""
            if not caller.startswith(KVLAB):
                seen.append(names[code.co_filename, code.co_qualname])

    sys.setprofile(watch)
    threading.setprofile(watch)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _place(name: str) -> tuple[str, str]:
    """File and qualified name of a function given as "package.module:function"."""
    module, _, function = name.partition(":")
    return f"{ROOT.joinpath(*module.split('.'))}.py", function
