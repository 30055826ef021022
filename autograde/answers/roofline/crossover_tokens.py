"""`crossover_tokens`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

from autograde.answers.roofline.shared import (
    CACHE_AT_WEIGHT_BITS,
    FLOAT_ROUNDING,
    HIDDEN_OVER_HEADS,
    ONE_LESS,
    ONE_MORE,
    PART_OF_A_BYTE_DROPPED,
    QUERY_HEADS,
    ROUNDS_UP,
    WEIGHTS_AT_CACHE_BITS,
    WHOLE_BYTES_PER_TOKEN,
    head_dim_divided,
    last_that_holds,
    query_heads_everywhere,
    row_elements,
    sequence_counts,
    token_bytes_down,
    token_bytes_up,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _most_tokens(case: Case) -> int:
    sizes = case.inputs
    _, row = sequence_counts(sizes["config"], 0, 1)
    return last_that_holds(lambda tokens: tokens * row * sizes["kv_bits"] <= sizes["num_params"] * sizes["weight_bits"])


def _crossing(row=row_elements, divide=lambda weights, token: weights // token):
    return lambda c, n, w, k: divide(n * w, row(c) * k)


def _crossing_by_fractions(config, num_params, weight_bits, kv_bits):
    return math.floor(Fraction(num_params, row_elements(config)) * Fraction(weight_bits, kv_bits))


def _crossing_by_divmod(config, num_params, weight_bits, kv_bits):
    tokens, _rest = divmod(num_params * weight_bits, kv_bits * row_elements(config))
    return tokens


ANSWER = Answer(
    exercise=exercise("crossover_tokens"),
    expected=_most_tokens,
    misconceptions=(
        Misconception(
            "rounds_up",
            _crossing(divide=lambda weights, token: -(-weights // token)),
            ROUNDS_UP,
        ),
        Misconception(
            "one_more",
            _crossing(divide=lambda weights, token: weights // token + 1),
            ONE_MORE,
        ),
        Misconception(
            "one_less",
            _crossing(divide=lambda weights, token: (weights - 1) // token),
            ONE_LESS,
        ),
        Misconception(
            "bits_ignored",
            lambda c, n, w, k: n // row_elements(c),
            Advice(
                "Did you leave out how wide the elements are?",
                (
                    "Which two of the arguments does your answer never use?",
                    "Fewer bits for the cache, and more tokens weigh as much as the weights.",
                    "num_params * weight_bits // (cached elements of a token * kv_bits)",
                ),
            ),
        ),
        Misconception(
            "cache_at_weight_bits",
            lambda c, n, w, k: n * 16 // (row_elements(c) * w),
            CACHE_AT_WEIGHT_BITS,
        ),
        Misconception(
            "weights_at_cache_bits",
            lambda c, n, w, k: n * 16 // (row_elements(c) * k),
            WEIGHTS_AT_CACHE_BITS,
        ),
        Misconception(
            "whole_bytes_per_token",
            lambda c, n, w, k: n * w // token_bytes_up(c, k),
            WHOLE_BYTES_PER_TOKEN,
        ),
        Misconception(
            "part_of_a_byte_dropped",
            lambda c, n, w, k: n * w // token_bytes_down(c, k),
            PART_OF_A_BYTE_DROPPED,
        ),
        Misconception(
            "upside_down",
            _crossing(divide=lambda weights, token: token // weights),
            Advice(
                "Did you divide the bits of a token by those of the weights?",
                (
                    "How many tokens fit into the weights, or how many weights into a token?",
                    "Your answer is 0 wherever a model is larger than a token.",
                    "num_params * weight_bits // (cached elements of a token * kv_bits)",
                ),
            ),
        ),
        Misconception(
            "twice_too_many",
            _crossing(row=lambda c: row_elements(c) // 2),
            Advice(
                "Are you off by a factor of 2: did you count only K, or take 2 · num_params?",
                (
                    "Your number of tokens is twice too large. Which two tensors has a layer? What are 2 · num_params?",
                    "The weights are num_params elements. A token has a row of K and a row of V in every layer.",
                    "num_params * weight_bits // (2 · layers · KV heads · head width * kv_bits)",
                ),
            ),
        ),
        Misconception(
            "query_heads",
            _crossing(row=lambda c: row_elements(query_heads_everywhere(c))),
            QUERY_HEADS,
        ),
        Misconception(
            "hidden_over_heads",
            _crossing(row=lambda c: row_elements(head_dim_divided(c))),
            HIDDEN_OVER_HEADS,
        ),
        Misconception(
            "float_rounding",
            _crossing(divide=lambda weights, token: int(weights / token)),
            FLOAT_ROUNDING,
        ),
    ),
    alternatives=(_crossing_by_fractions, _crossing_by_divmod),
    hints=(
        "How many bits have the weights? How many has one cached token?",
        "The question is how often the second number goes into the first.",
        "num_params * weight_bits // (2 · layers · KV heads · head width * kv_bits)",
    ),
)
