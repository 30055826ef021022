"""The two tests of every lesson's variants: the same mistake in other words is named, an unrelated error is not."""

from collections.abc import Callable

import pytest

from autograde.answers import answer_of
from autograde.check import examine

SEEDS = [1, 2, 3]


def pair_of_tests(variants: list, unrelated: list) -> tuple[Callable, Callable]:
    """Two test functions, for (exercise, wrong answer, name of the mistake) and for (exercise, wrong answer)."""

    @pytest.mark.parametrize(("name", "variant", "mistake"), variants)
    @pytest.mark.parametrize("seed", SEEDS)
    def same_name(name, variant, mistake, seed):
        assert examine(answer_of(name), 1, variant, seed).misconception == mistake

    @pytest.mark.parametrize(("name", "wrong"), unrelated)
    @pytest.mark.parametrize("seed", SEEDS)
    def no_name(name, wrong, seed):
        verdict = examine(answer_of(name), 1, wrong, seed)
        assert (verdict.status, verdict.misconception) == ("wrong", "")

    return same_name, no_name
