"""Test the checks themselves: every known mistake is rejected, by its own name and by no other.

A check that accepts a wrong answer, or that blames the wrong mistake, is worse than none. Each misconception is run
as a learner's answer over many seeds, because cases are drawn and an unlucky draw must not hide a mistake.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from random import Random

from autograde.answers import answer_of
from autograde.course import LESSONS
from autograde.exercise import Answer, Case
from autograde.judge import accepted, trace
from autograde.values import same

SEEDS = range(200)
TASK_SEEDS = 20


@dataclass(frozen=True)
class Row:
    """One misconception: whether each seed rejected it, named it, and told it apart from every other."""

    exercise: str
    misconception: str
    rejected: bool
    diagnosed: bool
    distinct: bool

    @property
    def _verdicts(self) -> tuple[bool, bool, bool]:
        return self.rejected, self.diagnosed, self.distinct

    @property
    def good(self) -> bool:
        return all(self._verdicts)

    def __and__(self, other: "Row") -> "Row":
        """The row of both rows' seeds together."""
        verdicts = (mine and yours for mine, yours in zip(self._verdicts, other._verdicts, strict=True))
        return Row(self.exercise, self.misconception, *verdicts)


def rows_of(answer: Answer, seeds: range = SEEDS) -> list[Row]:
    """One row per misconception of `answer`. The first known mistake with the same values is the one that is named."""
    names = [known.name for known in answer.misconceptions]
    rejected, diagnosed, distinct = (dict.fromkeys(names, True) for _ in range(3))
    # The case that tells most mistakes apart goes first: it leaves least to do for the others.
    told = [len(_alike(answer, names, case)) for case in answer.exercise.cases(Random(seeds[0]))]
    for seed in seeds:
        cases = answer.exercise.cases(Random(seed))
        order = sorted(range(len(cases)), key=lambda at: told[at] if at < len(told) else 0, reverse=True)
        refused, groups = _tell_apart(answer, [cases[at] for at in order])
        for first, *others in groups:
            for name in (first, *others):
                rejected[name] &= name in refused
                diagnosed[name] &= name == first
                distinct[name] &= not others
    return [Row(answer.exercise.name, name, rejected[name], diagnosed[name], distinct[name]) for name in names]


def _tell_apart(answer: Answer, cases: list[Case]) -> tuple[set[str], list[list[str]]]:
    """The names of the mistakes that some case refuses, and all names in groups that give the same values on all cases.

    A mistake that has been refused, and is like no other any more, need not be run on the rest.
    """
    refused: set[str] = set()
    groups, settled = [[known.name for known in answer.misconceptions]], []
    for case in cases:
        unsettled = [group for group in groups if len(group) > 1 or group[0] not in refused]
        settled += [group for group in groups if group not in unsettled]
        groups = []
        if not unsettled:
            break
        expected = answer.expected(case)
        for values in (part for group in unsettled for part in _alike(answer, group, case)):
            groups.append(list(values))
            refused |= {name for name, value in values.items() if not accepted(answer, case, value, expected)}
    return refused, settled + groups


def _alike(answer: Answer, names: list[str], case: Case) -> list[dict[str, object]]:
    """The value that each mistake in `names` gives on the case, by name; those with the same value in one dict."""
    wrong = {known.name: known.wrong for known in answer.misconceptions}
    parts: list[dict[str, object]] = []
    for name in names:
        (value,) = trace(answer, wrong[name], [case])
        part = next((part for part in parts if same(value, next(iter(part.values())), answer.tolerance)), None)
        if part is None:
            parts.append(part := {})
        part[name] = value
    return parts


def table(names: Sequence[str] = (), seeds: range = SEEDS) -> list[Row]:
    """The rows of the exercises called `names`, or of every exercise of the course. KeyError on an unknown name.

    A task is one exercise on a few seeds, so that the longest exercise is shared between the cores too.
    """
    names = names or [name for lesson in LESSONS for name in lesson.exercises]
    tasks = product(names, (seeds[first : first + TASK_SEEDS] for first in range(0, len(seeds), TASK_SEEDS)))
    whole: dict[tuple[str, str], Row] = {}
    with ProcessPoolExecutor() as processes:
        for rows in processes.map(_rows_of, *zip(*tasks, strict=True)):
            for row in rows:
                which = row.exercise, row.misconception
                whole[which] = row & whole.get(which, row)
    return list(whole.values())


def _rows_of(name: str, seeds: range) -> list[Row]:
    return rows_of(answer_of(name), seeds)
