"""`bytes_per_token`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

from autograde.answers.byte_formula.shared import (
    ALWAYS_TWO_BYTES,
    BITS_AS_BYTES,
    FACTOR_TWO_DROPPED,
    GROUP_SIZE_FOR_HEADS,
    HIDDEN_OVER_HEADS,
    LAYERS_DROPPED,
    QUERY_HEADS,
    ROUNDS_DOWN,
    ROUNDS_EACH_LAYER,
    ROUNDS_EACH_TENSOR,
    bits_of_token,
    token_bytes,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _per_token(case: Case) -> int:
    config = case.inputs["config"]
    return token_bytes(config, config["num_key_value_heads"], case.inputs["bits_per_element"])


def _per_token_by_loop(config, bits_per_element):
    bits = 0
    for _layer in range(config["num_hidden_layers"]):
        for _head in range(config["num_key_value_heads"]):
            bits += 2 * config["head_dim"] * bits_per_element
    return math.ceil(Fraction(bits, 8))


def _per_token_by_product(config, bits_per_element):
    sizes = (config[key] for key in ("num_hidden_layers", "num_key_value_heads", "head_dim"))
    return (math.prod(sizes) * bits_per_element + 3) // 4


ANSWER = Answer(
    exercise=exercise("bytes_per_token"),
    expected=_per_token,
    misconceptions=(
        Misconception(
            "query_heads",
            lambda c, bits: -(-bits_of_token({**c, "num_key_value_heads": c["num_attention_heads"]}, bits) // 8),
            QUERY_HEADS,
        ),
        Misconception(
            "group_size_for_heads",
            lambda c, bits: (
                -(
                    -bits_of_token(
                        {**c, "num_key_value_heads": c["num_attention_heads"] // c["num_key_value_heads"]}, bits
                    )
                    // 8
                )
            ),
            GROUP_SIZE_FOR_HEADS,
        ),
        Misconception(
            "hidden_over_heads",
            lambda c, bits: (
                -(-bits_of_token({**c, "head_dim": c["hidden_size"] // c["num_attention_heads"]}, bits) // 8)
            ),
            HIDDEN_OVER_HEADS,
        ),
        Misconception(
            "rounds_down",
            lambda c, bits: bits_of_token(c, bits) // 8,
            ROUNDS_DOWN,
        ),
        Misconception(
            "rounds_each_tensor",
            lambda c, bits: 2 * -(-bits_of_token(c, bits) // 16),
            ROUNDS_EACH_TENSOR,
        ),
        Misconception(
            "rounds_each_layer",
            lambda c, bits: c["num_hidden_layers"] * -(-bits_of_token({**c, "num_hidden_layers": 1}, bits) // 8),
            ROUNDS_EACH_LAYER,
        ),
        Misconception(
            "hidden_size_as_row",
            lambda c, bits: -(-2 * c["num_hidden_layers"] * c["hidden_size"] * bits // 8),
            Advice(
                "Did you take hidden_size for the width of a stored key?",
                (
                    "How many numbers does one token's K hold in one layer?",
                    "A stored key is num_key_value_heads × head_dim wide, which need not be hidden_size.",
                    "Replace hidden_size by num_key_value_heads * head_dim.",
                ),
            ),
        ),
        Misconception(
            "kv_heads_dropped",
            lambda c, bits: -(-2 * c["num_hidden_layers"] * c["head_dim"] * bits // 8),
            Advice(
                "Did you count a single head, although each key/value head stores its own vectors?",
                (
                    "Which entry of the config does your answer never use?",
                    "Each K/V head keeps one key and one value of head_dim numbers a token.",
                    "Multiply by num_key_value_heads.",
                ),
            ),
        ),
        Misconception(
            "layers_dropped",
            lambda c, bits: -(-2 * c["num_key_value_heads"] * c["head_dim"] * bits // 8),
            LAYERS_DROPPED,
        ),
        Misconception(
            "factor_two_dropped",
            lambda c, bits: -(-bits_of_token(c, bits) // 16),
            FACTOR_TWO_DROPPED,
        ),
        Misconception(
            "bits_as_bytes",
            lambda c, bits: bits_of_token(c, bits),
            BITS_AS_BYTES,
        ),
        Misconception(
            "always_two_bytes",
            lambda c, bits: bits_of_token(c, 16) // 8,
            ALWAYS_TWO_BYTES,
        ),
    ),
    alternatives=(_per_token_by_loop, _per_token_by_product),
    hints=(
        "This is kv_bytes for one token of one request. Which entries of the config go where?",
        "Only what is stored counts: key/value heads and their width, in every layer.",
        "2 × num_hidden_layers × num_key_value_heads × head_dim × bits, then bits to bytes.",
    ),
)
