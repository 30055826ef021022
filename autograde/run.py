"""Drive a learner's object over the cases and report plain values. Knows nothing of what is right."""

import contextlib
import io
import linecache
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograde.exercise import Case, Exercise
from autograde.limits import TimeLimit, time_limit
from autograde.values import Raised, plain, same

ORACLES = "autograde.answers."  # calling what decides is borrowing too
HERE = str(Path(__file__).resolve().parent)
MAX_PRINTED = 4_000  # characters of a learner's prints that are replayed


@dataclass(frozen=True)
class Outcome:
    """What one case gave: a plain value (Raised for an exception), and the learner's own line if one failed."""

    value: object
    note: str = ""
    unwritten: bool = False  # the stub's NotImplementedError came out
    printed: str = ""
    borrowed: str = ""  # dotted name of the library function that ran inside the answer


def collect(exercise: Exercise, candidate: object, cases: list[Case], watch: bool = True) -> list[Outcome]:
    """One outcome per case, in order. After a time-out the remaining cases are not run, and share its value.

    Without `watch` nobody looks whether the library answered: answers of our own run twice as fast.
    """
    outcomes: list[Outcome] = []
    for case in cases:
        outcomes.append(_one(exercise, candidate, case, watch))
        if same(outcomes[-1].value, Raised("TimeLimit")):
            return outcomes + outcomes[-1:] * (len(cases) - len(outcomes))
    return outcomes


def _one(exercise: Exercise, candidate: object, case: Case, watch: bool) -> Outcome:
    watching = _watching(exercise.library) if watch else contextlib.nullcontext([])
    with _listening() as heard, watching as borrowed:
        try:
            with time_limit(exercise.seconds):
                value, note, unwritten = plain(exercise.run(candidate, case)), "", False
        except TimeLimit:
            value, unwritten = Raised("TimeLimit"), False
            note = f"It was still running after {exercise.seconds:g} s. Does a loop end?"
        except NotImplementedError as error:
            value, note, unwritten = Raised("NotImplementedError"), own_line(error), True
        except (Exception, SystemExit) as error:
            value, note, unwritten = Raised.from_exception(error), own_line(error), False
    return Outcome(value, note, unwritten, heard.getvalue()[:MAX_PRINTED], next(iter(borrowed), ""))


@contextlib.contextmanager
def _listening() -> Iterator[io.StringIO]:
    """Collect prints and warnings. nbgrader scores 0 for anything on stderr, so nothing may reach it."""
    heard = io.StringIO()

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
def _watching(library: tuple[str, ...]) -> Iterator[list[str]]:
    """Names of functions that run meanwhile and belong to `library` (dotted prefixes) or to the course's answers.

    A profiler that is already set stays, and nothing is noticed.
    """
    seen: list[str] = []
    if sys.getprofile() is not None:
        yield seen
        return

    def watch(frame, event, argument) -> None:
        if event == "call":
            name = f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_qualname}"
            if name.startswith((*library, ORACLES)):
                seen.append(name)

    sys.setprofile(watch)
    try:
        yield seen
    finally:
        sys.setprofile(None)


def own_line(error: BaseException) -> str:
    """The exception as a learner needs it: its class, its message and the last line of theirs that was running."""
    try:
        message = str(error)[:300]
    except Exception:  # a hostile or broken __str__
        message = "(its message cannot be shown)"
    said = f"{type(error).__name__}: {message}" if message else type(error).__name__
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith(HERE):
            return said  # the call itself failed, before a line of the answer ran
        if "site-packages" not in frame.filename and not frame.filename.startswith(sys.base_prefix):
            line = linecache.getline(frame.filename, frame.lineno).strip() or frame.line or ""
            return f"{said}\nin your line {frame.lineno}:  {line}"
    return said
