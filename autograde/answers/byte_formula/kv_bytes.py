"""`kv_bytes`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

from autograde.answers.byte_formula.shared import (
    ALWAYS_TWO_BYTES,
    BATCH_DROPPED,
    BITS_AS_BYTES,
    FACTOR_TWO_DROPPED,
    FLOAT_ROUNDING,
    LAYERS_DROPPED,
    ROUNDS_DOWN,
    ROUNDS_EACH_LAYER,
    ROUNDS_EACH_TENSOR,
    ROUNDS_TO_NEAREST,
    elements_by_adding,
    expected_elements,
    to_bytes,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _bytes(case: Case) -> int:
    return to_bytes(expected_elements(case), case.inputs["bits_per_element"])


def _bytes_by_divmod(num_layers, batch, tokens, num_kv_heads, head_dim, bits_per_element):
    elements = elements_by_adding(num_layers, batch, tokens, num_kv_heads, head_dim)
    whole, rest = divmod(elements * bits_per_element, 8)
    return whole + (rest > 0)


def _bytes_by_fraction(num_layers, batch, tokens, num_kv_heads, head_dim, bits_per_element):
    return math.ceil(2 * num_layers * batch * tokens * num_kv_heads * head_dim * Fraction(bits_per_element, 8))


ANSWER = Answer(
    exercise=exercise("kv_bytes"),
    expected=_bytes,
    misconceptions=(
        Misconception(
            "factor_two_dropped",
            lambda L, B, T, H, d, bits: -(-L * B * T * H * d * bits // 8),
            FACTOR_TWO_DROPPED,
        ),
        Misconception(
            "layers_dropped",
            lambda L, B, T, H, d, bits: -(-2 * B * T * H * d * bits // 8),
            LAYERS_DROPPED,
        ),
        Misconception(
            "batch_dropped",
            lambda L, B, T, H, d, bits: -(-2 * L * T * H * d * bits // 8),
            BATCH_DROPPED,
        ),
        Misconception(
            "bits_as_bytes",
            lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * bits,
            BITS_AS_BYTES,
        ),
        Misconception(
            "always_two_bytes",
            lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * 2,
            ALWAYS_TWO_BYTES,
        ),
        Misconception(
            "rounds_each_element",
            lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * math.ceil(bits / 8),
            Advice(
                "Did you round one element up to whole bytes before you counted them all?",
                (
                    "How many bytes do two 4-bit elements take together?",
                    "Sub-byte elements are packed: two of them share a byte.",
                    "Add up all bits first, and round up once, at the end.",
                ),
            ),
        ),
        Misconception(
            "rounds_down",
            lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * bits // 8,
            ROUNDS_DOWN,
        ),
        Misconception(
            "element_rounded_down",
            lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * (bits // 8),
            Advice(
                "Did you divide the bits of one element by eight before multiplying, so that 4 bits became 0 bytes?",
                (
                    "What is 4 // 8?",
                    "A part of a byte is lost for every element.",
                    "Multiply first; divide the total by eight, once.",
                ),
            ),
        ),
        Misconception(
            "rounds_to_nearest",
            lambda L, B, T, H, d, bits: (2 * L * B * T * H * d * bits + 4) // 8,
            ROUNDS_TO_NEAREST,
        ),
        Misconception(
            "rounds_each_tensor",
            lambda L, B, T, H, d, bits: 2 * -(-L * B * T * H * d * bits // 8),
            ROUNDS_EACH_TENSOR,
        ),
        Misconception(
            "rounds_each_layer",
            lambda L, B, T, H, d, bits: L * -(-2 * B * T * H * d * bits // 8),
            ROUNDS_EACH_LAYER,
        ),
        Misconception(
            "float_rounding",
            lambda L, B, T, H, d, bits: math.ceil(2 * L * B * T * H * d * bits / 8),
            FLOAT_ROUNDING,
        ),
    ),
    alternatives=(_bytes_by_divmod, _bytes_by_fraction),
    hints=(
        "You have counted elements already.",
        "Elements times bits per element is a number of bits. A byte has eight.",
        "-(-bits // 8) divides by eight and rounds up, in whole numbers.",
    ),
)
