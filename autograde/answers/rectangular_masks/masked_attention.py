"""`masked_attention`: what is right, which mistakes are known, and what to say about them."""

import numpy as np

from autograde.answers.rectangular_masks.shared import (
    ATOL,
    EVERYTHING_ALLOWED,
    MASK_AFTER_SOFTMAX,
    OWN_KEY_HIDDEN,
    SQUARE_MASK,
    SWAPPED,
    TOP_LEFT,
    allowed_by_grid,
    attention_row_by_row,
    attention_with,
    causal_upper_left,
    everything_allowed,
    mask_after_softmax,
    nan_softmax,
    own_key_hidden,
    plain_softmax,
    scaled_scores,
    square_attention,
    square_mask,
    swapped_mask,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _attended(case: Case) -> np.ndarray:
    q, k, v, cached = case.inputs.values()
    width = len(q[0])
    if cached < 0:
        return np.concatenate([np.zeros((-cached, width)), square_attention(q[-cached:], k, v)])
    return square_attention([[0.0] * width] * cached + q, k, v)[cached:]


def _unshifted(scores):
    e = np.exp(scores)
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def _streaming(q, k, v, cached):
    """Right: one key after the other, with a running maximum and a running sum."""
    rows, total = np.zeros((len(q), v.shape[1])), np.zeros((len(q), 1))
    largest = np.full((len(q), 1), -np.inf)
    for key in range(len(k)):
        new = np.where(allowed_by_grid(cached, len(q))[:, [key]], scaled_scores(q, k[[key]]), -np.inf)
        top = np.maximum(largest, new)
        safe = np.where(np.isneginf(top), 0, top)
        old, weight = np.exp(largest - safe), np.exp(new - safe)
        rows, total, largest = rows * old + weight * v[key], total * old + weight, top
    return rows / np.where(total == 0, 1, total)


def _zeroed_scores(q, k, v, cached):
    return plain_softmax(scaled_scores(q, k) * allowed_by_grid(cached, len(q))) @ v


ANSWER = Answer(
    exercise=exercise("masked_attention"),
    expected=_attended,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "top_left",
            attention_with(causal_upper_left),
            TOP_LEFT,
        ),
        Misconception(
            "own_key_hidden",
            attention_with(own_key_hidden),
            OWN_KEY_HIDDEN,
        ),
        Misconception(
            "everything_allowed",
            attention_with(everything_allowed),
            EVERYTHING_ALLOWED,
        ),
        Misconception(
            "square_mask",
            attention_with(square_mask),
            SQUARE_MASK,
        ),
        Misconception(
            "swapped",
            attention_with(swapped_mask),
            SWAPPED,
        ),
        Misconception(
            "mask_after_softmax",
            mask_after_softmax,
            MASK_AFTER_SOFTMAX,
        ),
        Misconception(
            "zeroed_scores",
            _zeroed_scores,
            Advice(
                "Did you multiply the scores by the mask, so that a forbidden key has score 0 and still gets weight?",
                (
                    "What is exp(0)?",
                    "A score of 0 is an ordinary score; to get no weight it must be −∞.",
                    "Add additive_mask(…) to the scores.",
                ),
            ),
        ),
        Misconception(
            "no_shift",
            attention_with(allowed_by_grid, _unshifted),
            Advice(
                "Did you take exp of the scores as they are, so that large ones overflow and very small ones vanish?",
                (
                    "What are np.exp(1500.0) and np.exp(-1500.0)?",
                    "Softmax does not change when one number is subtracted from all scores of a row.",
                    "Subtract each row's largest score first; 0 where that is −∞.",
                ),
            ),
        ),
        Misconception(
            "nan_rows",
            attention_with(allowed_by_grid, nan_softmax),
            Advice(
                "Does a row that allows nothing give not-a-number, as −∞ − (−∞) or as 0 ÷ 0?",
                (
                    "What is the largest score of a row in which all are −∞, and what is −∞ minus −∞?",
                    "Such a row has no weights to share out. Its output is zeros.",
                    "Subtract 0 instead of a maximum of −∞, and divide by 1 where the sum is 0.",
                ),
                source="pytorch/pytorch#108108: is_causal=True aligns unequal lengths to the upper left.",
            ),
        ),
        Misconception(
            "even_rows",
            attention_with(allowed_by_grid, fill=-1e9),
            Advice(
                "Does a row that allows nothing average over all values in your function?",
                (
                    "Look at the rows of padding. Which keys may they see?",
                    "If every score is the same low number, softmax shares the weight evenly.",
                    "Use −∞, and give zeros where the sum of the exponentials is 0.",
                ),
                source="pytorch/pytorch#108108: is_causal=True aligns unequal lengths to the upper left.",
            ),
        ),
        Misconception(
            "unscaled",
            attention_with(allowed_by_grid, scores_of=lambda q, k: q @ k.T),
            Advice(
                "Did you leave the scores undivided by the square root of the head width?",
                (
                    "What is q · k divided by before the softmax?",
                    "The head width dh is the number of columns of q.",
                    "scores = q @ k.T / np.sqrt(q.shape[-1])",
                ),
            ),
        ),
    ),
    alternatives=(attention_row_by_row, _streaming),
    hints=(
        "Scores of shape (chunk, cached + chunk), then the mask, then a softmax over the keys, then v.",
        "q @ k.T / np.sqrt(dh) + additive_mask(allowed(cached, chunk)); chunk is the number of rows of q.",
        "Where a row's sum of exponentials is 0, divide by 1 instead: the output is then zeros.",
    ),
)
