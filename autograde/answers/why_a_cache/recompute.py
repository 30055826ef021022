"""`recompute`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.answers.why_a_cache.shared import (
    ATOL,
    FIRST_TOKEN_LOST,
    NO_RESIDUAL,
    OWN_TOKEN_NOT_ATTENDED,
    TOKENS_INTO_EVERY_LAYER,
    attend_online,
    softmax,
    step_by_hand,
    step_in_arrays,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _row_by_row(case: Case) -> np.ndarray:
    caches = [([], []) for _ in case.inputs["layers"]]
    return np.array([step_by_hand(x, case.inputs["layers"], caches) for x in case.inputs["xs"]])


def _whole(xs, layers, allowed, residual=True, feed=True):
    """The output rows of one pass; `allowed` (T, T) says which row may read which."""
    tokens = xs
    for layer in layers:
        source = xs if feed else tokens
        q, k, v = (source @ layer[name] for name in ("WQ", "WK", "WV"))
        scores = np.where(allowed, q @ k.T / math.sqrt(xs.shape[1]), -1e300)
        read = softmax(scores) * allowed @ v  # a row that may read nothing reads zeros
        xs = source + read if residual else read
    return xs


def _pass(mask=np.tri, **changed):
    """`recompute` as one masked pass over everything."""
    return lambda xs, layers: _whole(xs, layers, mask(len(xs)).astype(bool), **changed)


def _recompute_by_steps(xs, layers):
    caches = [([], []) for _ in layers]
    return np.array([step_in_arrays(x, layers, caches) for x in xs])


def _recompute_layer_by_layer(xs, layers):
    """Right: within a layer each row looks back by itself."""
    for layer in layers:
        keys, values = xs @ layer["WK"], xs @ layer["WV"]
        reads = [attend_online(x @ layer["WQ"], keys[: i + 1], values[: i + 1]) for i, x in enumerate(xs)]
        xs = xs + np.array(reads)
    return xs


def _recompute_unmasked(xs, layers):
    """Each prefix alone, but within it every row reads every row."""
    return np.array([_whole(xs[: t + 1], layers, np.ones((t + 1, t + 1), bool))[-1] for t in range(len(xs))])


def _recompute_first_lost(xs, layers):
    prefixes = [xs[1 : t + 1] if t else xs[:1] for t in range(len(xs))]
    return np.array([_whole(each, layers, np.tri(len(each), dtype=bool))[-1] for each in prefixes])


ANSWER = Answer(
    exercise=exercise("recompute"),
    expected=_row_by_row,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "future_attended",
            _pass(lambda tokens: np.ones((tokens, tokens))),
            Advice(
                "Can a row read tokens that come after it?",
                (
                    "Change the last token. Which of your rows change?",
                    "Row t comes from the prefix xs[: t + 1], and from nothing else.",
                    "Compute each row from its own prefix.",
                ),
            ),
        ),
        Misconception(
            "prefix_unmasked",
            _recompute_unmasked,
            Advice(
                "Within a prefix, do old rows read newer ones?",
                (
                    "With one layer you are right. What does layer 1 read from the rows of layer 0?",
                    "Layer 0's row for an old token must not know what came later, in a prefix too.",
                    "In every layer row i attends to rows 0 to i: attend(x @ WQ, keys[: i + 1], values[: i + 1]).",
                ),
            ),
        ),
        Misconception(
            "own_token_not_attended",
            _pass(lambda tokens: np.tri(tokens, k=-1)),
            OWN_TOKEN_NOT_ATTENDED,
        ),
        Misconception(
            "first_token_lost",
            _recompute_first_lost,
            FIRST_TOKEN_LOST,
        ),
        Misconception(
            "no_residual",
            _pass(residual=False),
            NO_RESIDUAL,
        ),
        Misconception(
            "tokens_into_every_layer",
            _pass(feed=False),
            TOKENS_INTO_EVERY_LAYER,
        ),
        Misconception(
            "last_layer_forgotten",
            lambda xs, layers: _pass()(xs, layers[:-1]),
            Advice(
                "Did you leave out the last layer?",
                (
                    "What do you return when there is one layer?",
                    "The output is that of the last layer, not its input.",
                    "Let the loop run over all of layers.",
                ),
            ),
        ),
    ),
    alternatives=(_pass(), _recompute_by_steps, _recompute_layer_by_layer),
    hints=(
        "For each t, take the prefix xs[: t + 1] and run it through all layers; its last row is row t.",
        "In a layer, row i reads the rows 0 to i of that layer's K and V.",
        "Inside a prefix: xs = xs + the attend of every row over keys[: i + 1]; layer after layer; then [-1].",
    ),
)
