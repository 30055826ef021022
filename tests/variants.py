"""The two tests of every lesson's variants: the same mistake in other words is named, an unrelated error is not."""

from collections.abc import Callable
from functools import cache
from random import Random

import pytest

from autograde.answers import answer_of
from autograde.exercise import Verdict
from autograde.judge import Trial
from autograde.run import collect

SEEDS = [1, 2, 3]


@cache
def trial(name: str, seed: int) -> Trial:
    """What is right and what each known mistake gives: found once for all variants."""
    return Trial(answer_of(name), 1, seed)


def verdict_on(name: str, candidate: object, seed: int) -> Verdict:
    """As `check` would judge a wrong answer, borrowed or not.

    The cases are drawn anew, because a variant may change what it is given.
    """
    exercise = answer_of(name).exercise
    return trial(name, seed).judge(collect(exercise, candidate, exercise.cases(Random(seed))))


def pair_of_tests(variants: list, unrelated: list) -> tuple[Callable, Callable]:
    """Two test functions, for (exercise, wrong answer, name of the mistake) and for (exercise, wrong answer)."""

    @pytest.mark.parametrize(("name", "variant", "mistake"), variants)
    @pytest.mark.parametrize("seed", SEEDS)
    def same_name(name, variant, mistake, seed):
        assert verdict_on(name, variant, seed).misconception == mistake

    @pytest.mark.parametrize(("name", "wrong"), unrelated)
    @pytest.mark.parametrize("seed", SEEDS)
    def no_name(name, wrong, seed):
        verdict = verdict_on(name, wrong, seed)
        assert (verdict.status, verdict.misconception) == ("wrong", "")

    return same_name, no_name
