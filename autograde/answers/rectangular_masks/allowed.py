"""`allowed`: what is right, which mistakes are known, and what to say about them."""

import numpy as np

from autograde.answers.rectangular_masks.shared import (
    EVERYTHING_ALLOWED,
    OWN_KEY_HIDDEN,
    SQUARE_MASK,
    SWAPPED,
    TOP_LEFT,
    causal_upper_left,
    everything_allowed,
    mask_rows,
    mask_where,
    own_key_hidden,
    square_mask,
    swapped_mask,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _allowed_rows(case: Case) -> np.ndarray:
    cached, chunk = case.inputs["cached"], case.inputs["chunk"]
    return mask_rows(cached, chunk, cached + chunk, lambda query, key: key in range(query + 1))


def _by_tri(cached, chunk):
    return np.tri(chunk, cached + chunk, cached, dtype=bool)


def _last_rows_of_a_square(cached, chunk):
    square = np.tril(np.ones((max(cached, 0) + chunk, cached + chunk), dtype=bool), min(cached, 0))
    return square[-chunk:]


def _cache_hidden(cached, chunk):
    queries, keys = mask_where(cached, chunk)
    return (keys <= queries) & (keys >= cached)


ANSWER = Answer(
    exercise=exercise("allowed"),
    expected=_allowed_rows,
    misconceptions=(
        Misconception(
            "top_left",
            causal_upper_left,
            TOP_LEFT,
        ),
        Misconception(
            "own_key_hidden",
            own_key_hidden,
            OWN_KEY_HIDDEN,
        ),
        Misconception(
            "everything_allowed",
            everything_allowed,
            EVERYTHING_ALLOWED,
        ),
        Misconception(
            "square_mask",
            square_mask,
            SQUARE_MASK,
        ),
        Misconception(
            "swapped",
            swapped_mask,
            SWAPPED,
        ),
        Misconception(
            "cache_hidden",
            _cache_hidden,
            Advice(
                "Did you forbid the cached keys?",
                (
                    "What was the cache kept for?",
                    "Every cached key lies before the chunk, so every query of the chunk may see it.",
                    "There is no lower bound: key k is allowed where k <= cached + i.",
                ),
            ),
        ),
    ),
    alternatives=(_by_tri, _last_rows_of_a_square),
    hints=(
        "Write down the position of each query and of each key, then compare the two.",
        "Queries stand at cached, cached + 1, …; keys at 0, 1, …, cached + chunk - 1.",
        "np.arange(cached + chunk) <= cached + np.arange(chunk)[:, None]",
    ),
)
