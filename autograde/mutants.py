"""Test the checks themselves: every known mistake is rejected, by its own name and by no other.

A check that accepts a wrong answer, or that blames the wrong mistake, is worse than none. Each misconception is run
as a learner's answer over many seeds, because cases are drawn and an unlucky draw must not hide a mistake.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from random import Random

from autograde.answers import answer_of
from autograde.course import LESSONS
from autograde.exercise import Answer, Case
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
        refused, groups = _tell_apart(answer, answer.exercise.cases(Random(seed)))
        for first, *others in groups:
            for name in (first, *others):
                rejected[name] &= name in refused
                diagnosed[name] &= name == first
                distinct[name] &= not others
    return [Row(answer.exercise.name, name, rejected[name], diagnosed[name], distinct[name]) for name in names]


def _tell_apart(answer: Answer, cases: list[Case]) -> tuple[set[str], list[list[str]]]:
    """The names of the mistakes that some case refuses, and all names in groups that give the same values on all cases.

    The most subtle case comes first, because it tells most of them apart. A mistake that has been refused, and is like
    no other any more, need not be run on the rest.
    """
    refused: set[str] = set()
    wrong = {known.name: known.wrong for known in answer.misconceptions}
    groups, settled = [list(wrong)], []
    for case in reversed(cases):
        unsettled = [group for group in groups if len(group) > 1 or group[0] not in refused]
        settled += [group for group in groups if group not in unsettled]
        groups = []
        if not unsettled:
            break
        expected = answer.expected(case)
        for group in unsettled:
            parts: list[tuple[object, list[str]]] = []  # a value, and who gives it
            for name in group:
                (value,) = trace(answer, wrong[name], [case])
                if not accepted(answer, case, value, expected):
                    refused.add(name)
                alike = next((part for given, part in parts if same(value, given, answer.tolerance)), None)
                if alike is None:
                    parts.append((value, [name]))
                else:
                    alike.append(name)
            groups += [part for _, part in parts]
    return refused, settled + groups


def table(names: Sequence[str] = (), seeds: range = SEEDS) -> list[Row]:
    """The rows of the exercises called `names`, or of every exercise of the course. KeyError on an unknown name.

    One exercise a process, as many at a time as there are cores.
    """
    every = [name for lesson in LESSONS for name in lesson.exercises]
    with ProcessPoolExecutor() as processes:
        return [row for rows in processes.map(_rows_of, names or every, repeat(seeds)) for row in rows]


def _rows_of(name: str, seeds: range) -> list[Row]:
    return rows_of(answer_of(name), seeds)
