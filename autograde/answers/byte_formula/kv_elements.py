"""`kv_elements`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.answers.byte_formula.shared import (
    BATCH_DROPPED,
    FACTOR_TWO_DROPPED,
    FLOAT_ROUNDING,
    LAYERS_DROPPED,
    elements_by_adding,
    expected_elements,
)
from autograde.exercise import Advice, Answer, Misconception
from autograde.exercises import exercise


def _elements_by_shape(num_layers, batch, tokens, num_kv_heads, head_dim):
    return math.prod([num_layers, 2, batch, tokens, num_kv_heads, head_dim])


ANSWER = Answer(
    exercise=exercise("kv_elements"),
    expected=expected_elements,
    misconceptions=(
        Misconception(
            "factor_two_dropped",
            lambda L, B, T, H, d: L * B * T * H * d,
            FACTOR_TWO_DROPPED,
        ),
        Misconception(
            "layers_dropped",
            lambda L, B, T, H, d: 2 * B * T * H * d,
            LAYERS_DROPPED,
        ),
        Misconception(
            "batch_dropped",
            lambda L, B, T, H, d: 2 * L * T * H * d,
            BATCH_DROPPED,
        ),
        Misconception(
            "bytes_not_elements",
            lambda L, B, T, H, d: 4 * L * B * T * H * d,
            Advice(
                "Did you already multiply by two bytes, although elements were asked for?",
                (
                    "How many numbers does the toy cache hold, and how many bytes?",
                    "Elements come first; their size is the next exercise.",
                    "Leave out the second factor of 2.",
                ),
            ),
        ),
        Misconception(
            "tokens_plus_one",
            lambda L, B, T, H, d: 2 * L * B * (T + 1) * H * d,
            Advice(
                (
                    "Did you add one for the token that is being generated, "
                    "although the count was taken after the append?"
                ),
                (
                    "What does your function give for an empty cache?",
                    "`tokens` is the number of tokens that are stored already, the newest included.",
                    "Use `tokens` as it is.",
                ),
            ),
        ),
        Misconception(
            "float_rounding",
            lambda L, B, T, H, d: int(2.0 * L * B * T * H * d),
            FLOAT_ROUNDING,
        ),
        Misconception(
            "int64_overflow",
            lambda L, B, T, H, d: int(np.prod(np.array([2, L, B, T, H, d], dtype=np.int64))),
            Advice(
                "Did NumPy multiply in 64 bits, which wrap around without a word?",
                (
                    "Look at the sign and the size of your largest answer.",
                    "Python's int has no upper limit; np.int64 ends at 2**63 - 1.",
                    "Multiply Python ints, with `*` or `math.prod`.",
                ),
            ),
        ),
    ),
    alternatives=(_elements_by_shape, elements_by_adding),
    hints=(
        "Count one layer's K for one request first: it is a small block of numbers.",
        "That block is tokens × num_kv_heads × head_dim. How many such blocks are there?",
        "Two tensors per layer, num_layers layers, batch requests: multiply all of it.",
    ),
)
