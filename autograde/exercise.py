"""The vocabulary: an exercise is data, its right answer is another module's, and a verdict is plain text and numbers.

`Exercise` and `Case` say which inputs are tried and how the learner's object is driven: that half is safe to hand to
the process that runs a learner's code. `Answer` and `Misconception` say what is right and which mistakes are known.
"""

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass
from random import Random

from autograde.blame import blame
from autograde.values import Changed, Opaque, Raised, plain, same

Run = Callable[[object, "Case"], object]


class Borrowed(Exception):
    """Raised in place of a library function that would answer for the learner; its text is the function's name."""


@dataclass(frozen=True)
class Case:
    """One trial of an answer. `label` says what it is about; `inputs` are plain values, shown under their names."""

    label: str
    inputs: dict[str, object]


def call(candidate: object, case: Case) -> object:
    """Call the learner's function with copies of the inputs, by position, so that parameters may carry any name."""
    return call_with(candidate, copy.deepcopy(case.inputs))


def call_with(candidate: object, arguments: dict[str, object]) -> object:
    """The plain value of the learner's function for `arguments`, in their order; Changed where it changed one."""
    before = {name: plain(value) for name, value in arguments.items()}
    value = plain(candidate(*arguments.values()))
    changed = tuple(name for name, now in arguments.items() if not _unchanged(before[name], plain(now)))
    return Changed(changed, value) if changed else value


def _unchanged(before: object, now: object) -> bool:
    """Whether two plain values are equal; what is no plain value, such as a function, is not looked at."""
    if isinstance(before, Opaque):
        return True
    if type(before) is type(now) is list and len(before) == len(now):
        return all(map(_unchanged, before, now))
    if type(before) is type(now) is dict and before.keys() == now.keys():
        return all(_unchanged(before[key], now[key]) for key in before)
    return same(before, now)


def attempt(step: Callable[..., object], *args: object) -> object:
    """The plain value of `step(*args)`, or the exception that it raised: one step of a class exercise.

    Changed, where it changed an argument.

    NotImplementedError passes through, because a method that is not written yet is no wrong answer; so does Borrowed,
    because the library's answer is none of the learner's.
    """
    try:
        return call_with(step, {f"argument {number}": each for number, each in enumerate(args, start=1)})
    except (NotImplementedError, Borrowed):
        raise
    except Exception as error:
        return Raised.from_exception(error, blame(error))


@dataclass(frozen=True)
class Exercise:
    """What is asked: the graded name, the cases to try, how to drive the learner's object over one case."""

    name: str
    cases: Callable[[Random], list[Case]]  # from fundamental to subtle; the same seed gives the same cases
    run: Run = call  # gives `plain` values of what the learner's code returned
    seconds: float = 5.0  # time limit of one case


@dataclass(frozen=True)
class Advice:
    """What to say to somebody who makes a known mistake."""

    diagnosis: str  # one sentence, put as a question
    hints: tuple[str, str, str]  # from a nudge to nearly the answer
    source: str = ""  # a public place where this mistake was made: "owner/repository#12: what was seen there."


@dataclass(frozen=True)
class Misconception:
    """A known mistake as an executable wrong answer, with what to say to somebody who makes it."""

    name: str
    wrong: object  # a wrong answer of the same kind as the right one
    advice: Advice
    also: tuple[object, ...] = ()  # other answers with this mistake, such as one that has another mistake as well


@dataclass(frozen=True)
class Answer:
    """What is right: `expected` reaches it by another path than the solution does."""

    exercise: Exercise
    expected: Callable[[Case], object]
    misconceptions: tuple[Misconception, ...]
    alternatives: tuple[object, ...]  # right answers by other algorithms; the checks must accept them all
    hints: tuple[str, str, str]  # for a mistake that nobody has named yet, and for an empty page
    tolerance: float = 0.0  # of floats, see `autograde.values.same`; integers are always exact
    accept: Callable[[Case, object], bool] | None = None  # where more than one value is right
    # What the raw values of a run are worth: found here, where the learner's code cannot reach, before they are judged.
    read: Callable[[Case, object], object] | None = None
    explain: Callable[[Case, object], str] | None = None  # what a value, or that of a step, lacks


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check, in plain text and numbers, so that it can be printed, stored and sent."""

    exercise: str
    status: str  # "right", "wrong", "not done" or "borrowed" (the library's own function answered)
    points: int  # that the exercise is worth
    cases: int = 0
    seed: int = 0
    case_number: int = 0  # of the first case that failed, from 1
    case_label: str = ""
    inputs: tuple[tuple[str, str], ...] = ()  # (name, value); a step of a class exercise has no name
    yours: str = ""
    expected: str = ""
    note: str = ""  # what else is known about the failure: the type that came, the learner's own line
    misconception: str = ""
    diagnosis: str = ""
    source: str = ""
    upstream: str = ""  # an exercise that this answer calls and that is not right yet
    printed: str = ""  # what the learner's code printed and warned

    @property
    def right(self) -> bool:
        return self.status == "right"

    def as_dict(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: dict) -> "Verdict":
        return cls(**{**fields, "inputs": tuple(tuple(pair) for pair in fields["inputs"])})
