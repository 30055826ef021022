"""`score_work`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _counted(case: Case) -> list[int]:
    n = case.inputs["n"]
    pairs = math.comb(n + 1, 2)
    return [pairs + 2 * math.comb(n + 1, 3), pairs]  # t² is t, and t (t - 1) more


def _squares(n):
    return n * (n + 1) * (2 * n + 1) // 6


def _count(full, cached):
    return lambda n: (full(n), cached(n))


def _sum(n):
    return n * (n + 1) // 2


def _loop(n):
    full = cached = 0
    for t in range(1, n + 1):
        full, cached = full + t * t, cached + t
    return full, cached


def _by_numpy(n):
    lengths = np.arange(n + 1, dtype=np.int64)  # the sum of squares is below 2^63 up to 3,000,000
    return int(lengths @ lengths), int(lengths.sum())


ANSWER = Answer(
    exercise=exercise("score_work"),
    expected=_counted,
    misconceptions=(
        Misconception(
            "last_step_only",
            _count(lambda n: n * n, lambda n: n),
            Advice(
                "Did you count the last step alone?",
                (
                    "How many steps does it take to reach length n?",
                    "Each length from 1 to n is one step, with work of its own.",
                    "Sum t × t, and t, over t from 1 to n.",
                ),
            ),
        ),
        Misconception(
            "square_for_sum_of_squares",
            _count(lambda n: n * n, _sum),
            Advice(
                "Did you count n × n for the full steps, instead of the sum of all t × t?",
                (
                    "The step at length 3 makes 9 scores. What did the steps before it make?",
                    "Each shorter length was a full step too.",
                    "sum(t * t for t in range(1, n + 1))",
                ),
            ),
        ),
        Misconception(
            "sum_for_squares",
            _count(_sum, _sum),
            Advice(
                "Did you count one row of scores for a step that recomputes everything?",
                (
                    "Without a cache, how many queries does a step at length t have?",
                    "t queries meet t keys.",
                    "The full step makes t * t scores, the cached one t.",
                ),
            ),
        ),
        Misconception(
            "square_for_sum",
            _count(_squares, lambda n: n * n),
            Advice(
                "Did you count the cached steps as though each met all n keys?",
                (
                    "How many rows are stored when token 3 comes?",
                    "The history grows: 1, 2, 3, … keys.",
                    "The cached total is the sum of t from 1 to n.",
                ),
            ),
        ),
        Misconception(
            "flat_steps",
            _count(_squares, lambda n: n),
            Advice(
                "Did you count one score for each cached step?",
                (
                    "What does the one query of a cached step meet?",
                    "A cache saves the old queries, not the old keys: they are consulted again.",
                    "A cached step at length t makes t scores.",
                ),
            ),
        ),
        Misconception(
            "cube",
            _count(lambda n: n**3, lambda n: n * n),
            Advice(
                "Did you charge every step with the final length?",
                (
                    "How long is the sequence at the first step?",
                    "The step at length t costs t × t or t, not n × n or n.",
                    "Sum over t, with t in the term.",
                ),
            ),
        ),
        Misconception(
            "last_length_missing",
            _count(lambda n: _squares(n - 1) if n else 0, lambda n: _sum(n - 1) if n else 0),
            Advice(
                "Is the last length missing?",
                (
                    "What should one token cost?",
                    "range(n) ends at n - 1.",
                    "range(1, n + 1)",
                ),
            ),
        ),
        Misconception(
            "swapped",
            _count(_sum, _squares),
            Advice(
                "Did you return the two numbers in the other order?",
                (
                    "Which of your two numbers is larger?",
                    "First the work of recomputing everything, then the work with a cache.",
                    "return full, cached",
                ),
            ),
        ),
        Misconception(
            "causal_half",
            _count(lambda n: n * (n + 1) * (n + 2) // 6, _sum),
            Advice(
                "Did you count only the scores that the causal mask lets through?",
                (
                    "How many numbers has the score matrix of a full step at length 3?",
                    "Masked scores are made and then thrown away; here they count.",
                    "A full step at length t makes t * t scores.",
                ),
            ),
        ),
        Misconception(
            "float_rounding",
            _count(lambda n: int(n * (n + 1) * (2 * n + 1) / 6), _sum),
            Advice(
                "Does a float come between, and round a large sum?",
                (
                    "Which operator in your formula gives a float?",
                    "Beyond 2^53 a float cannot hold every whole number.",
                    "Use // instead of /, or sum integers.",
                ),
            ),
        ),
    ),
    alternatives=(_count(_squares, _sum), _loop, _by_numpy),
    hints=(
        "Write down both counts for n = 1, 2 and 3.",
        "Full: 1 + 4 + 9 + … Cached: 1 + 2 + 3 + …",
        "Two sums over t in range(1, n + 1), of t * t and of t.",
    ),
)
