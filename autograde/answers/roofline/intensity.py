"""`intensity`: what is right, which mistakes are known, and what to say about them."""

from fractions import Fraction

from autograde.answers.roofline.shared import (
    ALWAYS_TWO_BYTES,
    ATTENTION_DROPPED,
    ATTENTION_KV_HEADS,
    CACHE_DROPPED,
    FLOP_PER_MULTIPLY_ADD,
    FLOPS_OF_ONE,
    K_ONLY,
    PER_BIT,
    PER_ELEMENT,
    ROWS_READ_ONCE,
    STEPS,
    TOLERANCE,
    WEIGHTS_DROPPED,
    WEIGHTS_PER_SEQUENCE,
    cost_by_group,
    counted_step,
    intensity_by_shares,
    ratio_of,
    row_elements,
    step_bits,
    step_flops,
    step_with,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from kvlab.sizes import bits_to_bytes


def _ratio(case: Case) -> float:
    flops, bits = counted_step(**case.inputs)
    return float(Fraction(8 * flops, bits))


def _intensity_by_fractions(*step):
    flops, n_bytes = cost_by_group(*step)
    return float(Fraction(flops, n_bytes))


ANSWER = Answer(
    exercise=exercise("intensity"),
    expected=_ratio,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "inverted",
            lambda *step: 1 / ratio_of(step_with())(*step),
            Advice(
                "Did you divide the bytes by the FLOPs?",
                (
                    "Which unit has your number?",
                    "Intensity is FLOP/byte: how much is computed with what is read.",
                    "flops / n_bytes",
                ),
            ),
        ),
        Misconception(
            "per_element",
            lambda c, n, b, s, w, k: step_flops(c, n, b, s, w, k) / (n + b * s * row_elements(c)),
            PER_ELEMENT,
        ),
        Misconception(
            "per_bit",
            ratio_of(step_with(to_bytes=lambda bits: bits)),
            PER_BIT,
        ),
        Misconception(
            "whole_numbers",
            lambda *step: step_flops(*step) // bits_to_bytes(step_bits(*step)),
            Advice(
                "Did you drop what lies behind the decimal point?",
                (
                    "What is 3 / 2, and what is 3 // 2?",
                    "An intensity is no whole number.",
                    "Divide with `/`.",
                ),
            ),
        ),
        Misconception(
            "cache_dropped",
            ratio_of(STEPS["cache_dropped"]),
            CACHE_DROPPED,
        ),
        Misconception(
            "weights_dropped",
            ratio_of(STEPS["weights_dropped"]),
            WEIGHTS_DROPPED,
        ),
        Misconception(
            "flops_of_one",
            ratio_of(STEPS["flops_of_one"]),
            FLOPS_OF_ONE,
        ),
        Misconception(
            "flop_per_multiply_add",
            ratio_of(STEPS["flop_per_multiply_add"]),
            FLOP_PER_MULTIPLY_ADD,
        ),
        Misconception(
            "attention_kv_heads",
            ratio_of(STEPS["attention_kv_heads"]),
            ATTENTION_KV_HEADS,
        ),
        Misconception(
            "attention_dropped",
            ratio_of(STEPS["attention_dropped"]),
            ATTENTION_DROPPED,
        ),
        Misconception(
            "weights_per_sequence",
            ratio_of(STEPS["weights_per_sequence"]),
            WEIGHTS_PER_SEQUENCE,
        ),
        Misconception(
            "rows_read_once",
            ratio_of(STEPS["rows_read_once"]),
            ROWS_READ_ONCE,
        ),
        Misconception(
            "k_only",
            ratio_of(STEPS["k_only"]),
            K_ONLY,
        ),
        Misconception(
            "always_two_bytes",
            ratio_of(STEPS["always_two_bytes"]),
            ALWAYS_TWO_BYTES,
        ),
    ),
    alternatives=(_intensity_by_fractions, intensity_by_shares),
    hints=(
        "How much is computed with each byte that is read?",
        "decode_cost gives both numbers.",
        "flops / n_bytes",
    ),
)
