"""`window_allowed`: what is right, which mistakes are known, and what to say about them."""

import numpy as np

from autograde.answers.rectangular_masks.shared import SWAPPED, mask_rows, mask_where
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _window_rows(case: Case) -> np.ndarray:
    cached, chunk, window = case.inputs.values()
    return mask_rows(cached, chunk, cached + chunk, lambda query, key: key in range(query + 1)[-window:])


def _windowed(sees):
    """`window_allowed` from `sees(queries, keys, window, cached)`."""

    def window_allowed(cached, chunk, window):
        return sees(*mask_where(cached, chunk), window, cached)

    return window_allowed


def _window_of_two_triangles(cached, chunk, window):
    """Right: the triangle up to the own key, without the triangle that ends in front of the window."""
    size = (chunk, cached + chunk)
    return np.tri(*size, cached, dtype=bool) & ~np.tri(*size, cached - window, dtype=bool)


def _window_by_slices(cached, chunk, window):
    mask = np.zeros((chunk, cached + chunk), dtype=bool)
    for row, query in enumerate(range(cached, cached + chunk)):
        mask[row, max(0, query - window + 1) : query + 1] = True
    return mask


ANSWER = Answer(
    exercise=exercise("window_allowed"),
    expected=_window_rows,
    misconceptions=(
        Misconception(
            "one_too_long",
            _windowed(lambda p, k, window, cached: (k <= p) & (k >= p - window)),
            Advice(
                "Is your window one key too long, because the own key is not counted in it?",
                (
                    "With a window of 1, which keys may a token see?",
                    "A window of W holds W keys, and the query's own is one of them.",
                    "Hide every key k with k <= p - window.",
                ),
            ),
        ),
        Misconception(
            "one_too_short",
            _windowed(lambda p, k, window, cached: (k <= p) & (k > p - window + 1)),
            Advice(
                "Is your window one key too short?",
                (
                    "With a window of 1, which keys may a token see?",
                    "A window of W holds W keys: the own one and W - 1 before it.",
                    "Hide only keys k with k <= p - window; the key at p - window + 1 stays.",
                ),
            ),
        ),
        Misconception(
            "no_future_hidden",
            _windowed(lambda p, k, window, cached: k > p - window),
            Advice(
                "Did you bound the window on the left only, so that a token sees what comes after it?",
                (
                    "Look at the first row of a chunk. Which keys come after its token?",
                    "A window is taken away from the causal mask; it does not replace it.",
                    "Both must hold: k <= p, and k > p - window.",
                ),
            ),
        ),
        Misconception(
            "one_start_for_all",
            _windowed(lambda p, k, window, cached: (k <= p) & (k > cached - window)),
            Advice(
                "Did you place the window once for the whole chunk, at its first token?",
                (
                    "Does the window of the chunk's last token begin where that of its first does?",
                    "The window slides: each query has its own left end.",
                    "Measure from the query's position, cached + i, not from cached.",
                ),
            ),
        ),
        Misconception(
            "window_not_shifted",
            _windowed(lambda p, k, window, cached: (k <= p - cached) & (k > p - cached - window)),
            Advice(
                "Did you count the chunk's queries from 0, so that mask and window forget the cached tokens?",
                (
                    "At which position does the first token of the chunk stand?",
                    "Both ends of the window are measured from the query's position.",
                    "p = cached + i for query i; then k <= p and k > p - window.",
                ),
                source="pytorch/pytorch#108108: is_causal=True aligns unequal lengths to the upper left.",
            ),
        ),
        Misconception(
            "swapped",
            _windowed(lambda p, k, window, cached: (k > p) | (k <= p - window)),
            SWAPPED,
        ),
    ),
    alternatives=(_window_of_two_triangles, _window_by_slices),
    hints=(
        "Start from the mask of exercise 1. Which of its cells does a window take away?",
        "The query at position p sees at most W keys: p, p - 1, …, p - W + 1.",
        "Allow key k where k <= p and k > p - window, for p = cached + i.",
    ),
)
