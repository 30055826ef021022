"""Test the checks themselves: every known mistake is rejected, by its own name and by no other.

A check that accepts a wrong answer, or that blames the wrong mistake, is worse than none. Each misconception is run
as a learner's answer over many seeds, because cases are drawn and an unlucky draw must not hide a mistake.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from random import Random

from autograde.check import answer_of
from autograde.course import LESSONS
from autograde.exercise import Answer
from autograde.judge import accepted, trace
from autograde.values import same

SEEDS = range(200)


@dataclass(frozen=True)
class Row:
    """One misconception: whether each seed rejected it, named it, and told it apart from every other."""

    exercise: str
    misconception: str
    rejected: bool
    diagnosed: bool
    distinct: bool

    @property
    def good(self) -> bool:
        return self.rejected and self.diagnosed and self.distinct


def rows_of(answer: Answer, seeds: range = SEEDS) -> list[Row]:
    """One row per misconception of `answer`. The first known mistake with the same values is the one that is named."""
    names = [known.name for known in answer.misconceptions]
    rejected, diagnosed, distinct = (dict.fromkeys(names, True) for _ in range(3))
    for seed in seeds:
        cases = answer.exercise.cases(Random(seed))
        expected = [answer.expected(case) for case in cases]
        traces = {known.name: trace(answer, known.wrong, cases) for known in answer.misconceptions}
        right = {
            name: list(map(accepted, [answer] * len(cases), cases, values, expected)) for name, values in traces.items()
        }
        for name, values in traces.items():
            rejected[name] &= not all(right[name])
            # Only those that fail the same cases can be the same, and there are many pairs.
            alike = [other for other in names if right[other] == right[name]]
            twins = [other for other in alike if same(values, traces[other], answer.tolerance)]
            diagnosed[name] &= twins[:1] == [name]
            distinct[name] &= twins == [name]
    return [Row(answer.exercise.name, name, rejected[name], diagnosed[name], distinct[name]) for name in names]


def table(names: Sequence[str] = (), seeds: range = SEEDS) -> list[Row]:
    """The rows of the exercises called `names`, or of every exercise of the course. KeyError on an unknown name.

    One exercise a process, as many at a time as there are cores.
    """
    every = [name for lesson in LESSONS for name in lesson.exercises]
    with ProcessPoolExecutor() as processes:
        return [row for rows in processes.map(_rows_of, names or every, repeat(seeds)) for row in rows]


def _rows_of(name: str, seeds: range) -> list[Row]:
    return rows_of(answer_of(name), seeds)
