"""`chunked_attention`: what is right, which mistakes are known, and what to say about them."""

import numpy as np

from autograde.answers.rectangular_masks.shared import (
    ATOL,
    EVERYTHING_ALLOWED,
    MASK_AFTER_SOFTMAX,
    OWN_KEY_HIDDEN,
    TOP_LEFT,
    allowed_by_grid,
    attention_row_by_row,
    attention_with,
    causal_upper_left,
    everything_allowed,
    mask_after_softmax,
    own_key_hidden,
    plain_softmax,
    scaled_scores,
    square_attention,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _one_shot(case: Case) -> np.ndarray:
    x, weights = np.array(case.inputs["x"]), case.inputs["weights"]
    return square_attention(*(x @ np.array(weights[name]) for name in ("WQ", "WK", "WV")))


def _chunks(attend_of, keep=True):
    """`chunked_attention`: `attend_of(q, k, v, cached, previous)` sees one chunk, `previous` is the last width."""

    def chunked_attention(x, widths, weights):
        start = previous = 0
        rows = []
        for width in widths:
            first = 0 if keep else start
            seen, new = x[first : start + width], x[start : start + width]
            q, k, v = new @ weights["WQ"], seen @ weights["WK"], seen @ weights["WV"]
            rows.append(attend_of(q, k, v, start, previous))
            start, previous = start + width, width
        return np.concatenate(rows)

    return chunked_attention


def _masked_by(mask_of):
    attention = attention_with(mask_of)
    return lambda q, k, v, cached, previous: attention(q, k, v, cached)


def _previous_offset(q, k, v, cached, previous):
    mask = np.arange(len(k)) <= previous + np.arange(len(q))[:, None]
    return plain_softmax(np.where(mask, scaled_scores(q, k), -np.inf)) @ v


def _own_chunk_only(q, k, v, cached, previous):
    return attention_with(allowed_by_grid)(q, k, v, 0)


def _one_shot_numpy(x, widths, weights):
    q, k, v = (x @ weights[name] for name in ("WQ", "WK", "WV"))
    return attention_with(allowed_by_grid)(q, k, v, 0)


def _token_by_token(x, widths, weights):
    return _chunks(lambda q, k, v, cached, previous: attention_row_by_row(q, k, v, cached))(x, [1] * len(x), weights)


ANSWER = Answer(
    exercise=exercise("chunked_attention"),
    expected=_one_shot,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "previous_offset",
            _chunks(_previous_offset),
            Advice(
                "Did you take the width of the previous chunk for the number of cached tokens?",
                (
                    "Two chunks are right, the third is not. What does its first token stand behind?",
                    "Every chunk so far is in the cache, not only the last one.",
                    "cached is the number of stored keys before this chunk: sum the widths, or ask len(keys).",
                ),
            ),
        ),
        Misconception(
            "own_chunk_only",
            _chunks(_own_chunk_only, keep=False),
            Advice(
                "Does each chunk attend to itself alone, without the keys of earlier chunks?",
                (
                    "Which keys are there when the second chunk comes?",
                    "Keys and values of every chunk are kept; the queries are not.",
                    "Append the chunk's K and V to those stored, and attend over all of them.",
                ),
            ),
        ),
        Misconception(
            "top_left",
            _chunks(_masked_by(causal_upper_left)),
            TOP_LEFT,
        ),
        Misconception(
            "everything_allowed",
            _chunks(_masked_by(everything_allowed)),
            EVERYTHING_ALLOWED,
        ),
        Misconception(
            "own_key_hidden",
            _chunks(_masked_by(own_key_hidden)),
            OWN_KEY_HIDDEN,
        ),
        Misconception(
            "mask_after_softmax",
            _chunks(lambda q, k, v, cached, previous: mask_after_softmax(q, k, v, cached)),
            MASK_AFTER_SOFTMAX,
        ),
        Misconception(
            "last_chunk",
            lambda x, widths, weights: _one_shot_numpy(x, widths, weights)[-widths[-1] :],
            Advice(
                "Did you return the rows of the last chunk only?",
                (
                    "How many rows does x have, and how many has your result?",
                    "Every chunk gives as many rows as it has tokens.",
                    "Collect the rows of each chunk, and np.concatenate them at the end.",
                ),
            ),
        ),
    ),
    alternatives=(_one_shot_numpy, _token_by_token),
    hints=(
        "Keep K and V of all chunks so far. What does a chunk add, and what does it attend to?",
        "For each chunk: read how many keys are stored, append its K and V, then masked_attention over all.",
        "rows.append(masked_attention(new @ weights['WQ'], keys, values, cached)), then np.concatenate(rows)",
    ),
)
