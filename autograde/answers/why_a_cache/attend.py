"""`attend`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.answers.why_a_cache.shared import (
    ATOL,
    FIRST_TOKEN_LOST,
    OWN_TOKEN_NOT_ATTENDED,
    SOFTMAX_AXIS,
    UNSCALED,
    attend_in_numpy,
    attend_online,
    read_rows,
    softmax,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _attended(case: Case) -> np.ndarray:
    return np.array(read_rows(*case.inputs.values()))


def _weights_not_normalised(q, keys, values):
    return np.exp(keys @ q / math.sqrt(len(q))) @ values


def _attend_by_logs(q, keys, values):
    scores = np.einsum("td,d->t", keys, q) / len(q) ** 0.5
    return np.exp(scores - np.logaddexp.reduce(scores)) @ values


def _overflowing(q, keys, values):
    with np.errstate(all="ignore"):
        weights = np.exp(keys @ q / math.sqrt(len(q)))
        return (weights / weights.sum()) @ values


ANSWER = Answer(
    exercise=exercise("attend"),
    expected=_attended,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "unscaled",
            lambda q, keys, values: softmax(keys @ q) @ values,
            UNSCALED,
        ),
        Misconception(
            "scaled_by_tokens",
            lambda q, keys, values: softmax(keys @ q / math.sqrt(len(keys))) @ values,
            Advice(
                "Did you divide by the square root of the number of tokens?",
                (
                    "Should a longer history make a score smaller?",
                    "The scale belongs to the width of the head, not to the length of the sequence.",
                    "np.sqrt(len(q)), not np.sqrt(len(keys)).",
                ),
            ),
        ),
        Misconception(
            "scaled_by_width",
            lambda q, keys, values: softmax(keys @ q / len(q)) @ values,
            Advice(
                "Did you divide by dh instead of its square root?",
                (
                    "Look at the scale once more.",
                    "A sum of dh random products grows like √dh.",
                    "Divide by np.sqrt(len(q)).",
                ),
            ),
        ),
        Misconception(
            "softmax_axis",
            lambda q, keys, values: values.sum(axis=0),
            SOFTMAX_AXIS,
        ),
        Misconception(
            "not_normalised",
            _weights_not_normalised,
            Advice(
                "Did you leave the exponentials undivided by their sum?",
                (
                    "What do your weights add up to?",
                    "exp alone gives weights that add up to anything.",
                    "weights / weights.sum()",
                ),
            ),
        ),
        Misconception(
            "own_token_not_attended",
            lambda q, keys, values: attend_in_numpy(q, keys[:-1], values[:-1]),
            OWN_TOKEN_NOT_ATTENDED,
        ),
        Misconception(
            "first_token_lost",
            lambda q, keys, values: attend_in_numpy(q, keys[1:], values[1:]),
            FIRST_TOKEN_LOST,
        ),
        Misconception(
            "overflow",
            _overflowing,
            Advice(
                "Does exp overflow for large scores?",
                (
                    "What is np.exp(1000.0)?",
                    "Softmax stays the same when one number is taken off all scores.",
                    "np.exp(scores - scores.max())",
                ),
            ),
        ),
        Misconception(
            "keys_for_values",
            lambda q, keys, values: attend_in_numpy(q, keys, keys),
            Advice(
                "Did you mix the keys, instead of the values?",
                (
                    "Which argument does your answer never use?",
                    "Keys decide how much, values say what.",
                    "weights @ values",
                ),
            ),
        ),
    ),
    alternatives=(attend_online, _attend_by_logs),
    hints=(
        "One score for each key, one weight for each score, one sum of values.",
        "scores = keys @ q / np.sqrt(len(q)) has shape (T,); its softmax has too.",
        "weights = np.exp(scores - scores.max()); then weights / weights.sum() @ values, in the right order.",
    ),
)
