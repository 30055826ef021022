"""`ragged_allowed`: what is right, which mistakes are known, and what to say about them."""

import numpy as np

from autograde.answers.rectangular_masks.shared import OWN_KEY_HIDDEN, SWAPPED, TOP_LEFT, allowed_by_grid, mask_rows
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _ragged_rows(case: Case) -> np.ndarray:
    cached, chunk = case.inputs["cached"], case.inputs["chunk"]
    width = max(cached) + chunk
    return np.stack([mask_rows(each, chunk, width, lambda query, key: key in range(query + 1)) for each in cached])


def _ragged(row_of):
    """`ragged_allowed` from `row_of(own, longest, queries, keys)`, one request's mask; queries count from 0."""

    def ragged_allowed(cached, chunk):
        queries, keys = np.arange(chunk)[:, None], np.arange(max(cached) + chunk)
        return np.array([row_of(own, max(cached), queries, keys) for own in cached])

    return ragged_allowed


def _ragged_by_tri(cached, chunk):
    return np.array([np.tri(chunk, max(cached) + chunk, own, dtype=bool) for own in cached])


def _ragged_padded(cached, chunk):
    """Right: each request's own mask, and columns of False behind it."""
    batch = []
    for own in cached:
        batch.append(np.pad(allowed_by_grid(own, chunk), ((0, 0), (0, max(cached) - own))))
    return np.stack(batch)


def _after_longest(own, longest, queries, keys):
    return (keys < own) | ((keys >= longest) & (keys <= longest + queries))


def _right_aligned(own, longest, queries, keys):
    return (keys >= longest - own) & (keys <= longest + queries)


ANSWER = Answer(
    exercise=exercise("ragged_allowed"),
    expected=_ragged_rows,
    misconceptions=(
        Misconception(
            "after_longest",
            _ragged(_after_longest),
            Advice(
                "Did you put every chunk behind the longest prefix, instead of behind its own?",
                (
                    "In which column does the first new key of the shortest request lie?",
                    "Keys are aligned left: there is no gap between a request's prefix and its chunk.",
                    "Query i of request b sees the keys up to cached[b] + i.",
                ),
            ),
        ),
        Misconception(
            "all_longest",
            _ragged(lambda own, longest, queries, keys: keys <= longest + queries),
            Advice(
                "Did you mask every request as though it had the longest prefix?",
                (
                    "What lies in a short request's row of the cache behind its own tokens?",
                    "Each request needs its own length; the memory behind it holds nothing of its own.",
                    "Use cached[b] in the mask of request b; max(cached) only sets the number of columns.",
                ),
            ),
        ),
        Misconception(
            "right_aligned",
            _ragged(_right_aligned),
            Advice(
                "Did you align the keys at the right, with the padding in front?",
                (
                    "In which column does the first token of every request lie?",
                    "Left-aligned: key 0 of each request is in column 0, unused columns come last.",
                    "np.arange(columns) <= cached[b] + np.arange(chunk)[:, None]",
                ),
            ),
        ),
        Misconception(
            "lengths_only",
            _ragged(lambda own, longest, queries, keys: (keys < own + len(queries)) & (queries >= 0)),
            Advice(
                "Did you mask by length alone, so that a chunk's first token sees the rest of its chunk?",
                (
                    "Which keys of its own chunk must the first new token not see?",
                    "A length mask hides what lies behind a request; the order within a chunk is still needed.",
                    "Row i ends at cached[b] + i, not at cached[b] + chunk - 1.",
                ),
                source="Mikyx-1/TinyLLM#17: a chunk on a cache attended to everything, later tokens included.",
            ),
        ),
        Misconception(
            "top_left",
            _ragged(lambda own, longest, queries, keys: keys <= queries),
            TOP_LEFT,
        ),
        Misconception(
            "own_key_hidden",
            _ragged(lambda own, longest, queries, keys: keys < own + queries),
            OWN_KEY_HIDDEN,
        ),
        Misconception(
            "swapped",
            _ragged(lambda own, longest, queries, keys: keys > own + queries),
            SWAPPED,
        ),
    ),
    alternatives=(_ragged_by_tri, _ragged_padded),
    hints=(
        "One mask for each request, all of them as wide as the longest needs.",
        "The mask of request b is that of exercise 1, with cached[b], and with columns of False behind it.",
        "keys <= cached[b] + i, for keys = np.arange(max(cached) + chunk) and every i of the chunk.",
    ),
)
