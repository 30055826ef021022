"""`context_for_ceiling`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

from autograde.answers.roofline.shared import (
    ALWAYS_TWO_BYTES,
    ATTENTION_DROPPED,
    ATTENTION_KV_HEADS,
    FLOAT_ROUNDING,
    FLOP_PER_MULTIPLY_ADD,
    K_ONLY,
    ONE_LESS,
    ONE_MORE,
    PART_OF_A_BYTE_DROPPED,
    QUERY_HEADS,
    ROUNDS_UP,
    SCORES_ONLY,
    WHOLE_BYTES_PER_TOKEN,
    attention_flops,
    kv_heads_everywhere,
    last_that_holds,
    query_heads_everywhere,
    row_elements,
    sequence_counts,
    token_bits,
    token_bytes_down,
    token_bytes_up,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _longest_context(case: Case) -> int | None:
    sizes = case.inputs
    work, _ = sequence_counts(sizes["config"], sizes["num_params"], 0)
    flops, elements = sequence_counts(sizes["config"], 0, 1)  # what each cached token adds
    bits = elements * sizes["kv_bits"]

    def has_it(context: int) -> bool:
        return 8 * (work + context * flops) >= sizes["target"] * context * bits

    # The ceiling falls with the context. One that holds here holds for good: the parameters have no say any more.
    return None if has_it(10**60) else last_that_holds(has_it)


def _in_16_bits(config: dict, target: int, lacking: int) -> bool:
    return target * config["num_key_value_heads"] <= config["num_attention_heads"]


def _longest(
    attention=attention_flops,
    bits=token_bits,
    divide=lambda params, lacking: params // lacking,
    work=2,
    none=None,
    every=lambda config, target, lacking: lacking <= 0,
):
    """A wrong `context_for_ceiling`; `none` is what it gives where it finds that `every` context has the target."""

    def context_for_ceiling(config, num_params, kv_bits, target):
        lacking = target * bits(config, kv_bits) - 8 * attention(config)
        return none if every(config, target, lacking) else divide(8 * work * num_params, lacking)

    return context_for_ceiling


def _longest_by_fractions(config, num_params, kv_bits, target):
    row = row_elements(config) * Fraction(kv_bits, 8)
    missing = target - attention_flops(config) / row
    return math.floor(2 * num_params / row / missing) if missing > 0 else None


def _longest_by_halving(config, num_params, kv_bits, target):
    def has_it(s):
        return 8 * (2 * num_params + s * attention_flops(config)) >= target * s * row_elements(config) * kv_bits

    if target * row_elements(config) * kv_bits <= 8 * attention_flops(config):
        return None
    low, high = 0, 16 * num_params + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if has_it(middle) else (low, middle)
    return low


ANSWER = Answer(
    exercise=exercise("context_for_ceiling"),
    expected=_longest_context,
    misconceptions=(
        Misconception(
            "rounds_up",
            _longest(divide=lambda params, lacking: -(-params // lacking)),
            ROUNDS_UP,
        ),
        Misconception(
            "one_more",
            _longest(divide=lambda params, lacking: params // lacking + 1),
            ONE_MORE,
        ),
        Misconception(
            "one_less",
            _longest(divide=lambda params, lacking: (params - 1) // lacking),
            ONE_LESS,
        ),
        Misconception(
            "zero_for_none",
            _longest(none=0),
            Advice(
                "Did you return 0 where every context has the target?",
                (
                    "For which contexts does the ceiling reach a target that attention reaches alone?",
                    "0 says that no context has it. Here all of them have.",
                    "return None",
                ),
            ),
        ),
        Misconception(
            "none_ignored",
            _longest(every=lambda config, target, lacking: False),
            Advice(
                "Did you leave out the case in which every context has the target?",
                (
                    "What is your divisor where attention alone has the target? And where it has more?",
                    "It is 0, or below 0: then the ceiling is above the target at any context.",
                    "if target * bits of a row <= 8 * attention with one token: return None",
                ),
            ),
        ),
        Misconception(
            "floor_in_16_bits",
            _longest(every=_in_16_bits),
            Advice(
                "Did you test for None with the query heads on a KV head, whatever kv_bits says?",
                (
                    "What does attention have by itself in 8 bits, and what in 32?",
                    "Half as many bytes are twice as many FLOP/byte. Only in 16 bits are they the heads on a KV head.",
                    "if target * bits of a row <= 8 * attention with one token: return None",
                ),
            ),
        ),
        Misconception(
            "never_none",
            _longest(every=lambda config, target, lacking: lacking == 0),
            Advice(
                "Did you divide by a number below 0, where every context has the target?",
                (
                    "Your answer is below 0. What does the sign of the divisor say?",
                    "Attention alone has 4 · query heads · … over the bytes of a row, at any context.",
                    "if target * bits of a row <= 8 * attention with one token: return None",
                ),
            ),
        ),
        Misconception(
            "none_for_zero",
            _longest(divide=lambda params, lacking: params // lacking or None),
            Advice(
                "Did you return None where no context has the target?",
                (
                    "What is the longest of no contexts?",
                    "None says that every context has it. Here there is none that has.",
                    "0 is what the division gives; leave it.",
                ),
            ),
        ),
        Misconception(
            "equality_forgotten",
            _longest(every=lambda config, target, lacking: lacking < 0),
            Advice(
                "Did you divide by 0, where attention alone has the target exactly?",
                (
                    "What does your function do where the ceiling comes down to the target and never gets there?",
                    "The ceiling lies above attention's own at any context.",
                    "<= instead of < in the test for None.",
                ),
            ),
        ),
        Misconception(
            "attention_dropped",
            _longest(attention=lambda c: 0),
            ATTENTION_DROPPED,
        ),
        Misconception(
            "attention_kv_heads",
            _longest(attention=lambda c: attention_flops(kv_heads_everywhere(c))),
            ATTENTION_KV_HEADS,
        ),
        Misconception(
            "scores_only",
            _longest(attention=lambda c: attention_flops(c) // 2),
            SCORES_ONLY,
        ),
        Misconception(
            "flop_per_multiply_add",
            _longest(attention=lambda c: attention_flops(c) // 2, work=1),
            FLOP_PER_MULTIPLY_ADD,
        ),
        Misconception(
            "k_only",
            _longest(bits=lambda c, k: token_bits(c, k) // 2),
            K_ONLY,
        ),
        Misconception(
            "query_heads",
            _longest(bits=lambda c, k: token_bits(query_heads_everywhere(c), k)),
            QUERY_HEADS,
        ),
        Misconception(
            "always_two_bytes",
            _longest(bits=lambda c, k: token_bits(c, 16)),
            ALWAYS_TWO_BYTES,
        ),
        Misconception(
            "whole_bytes_per_token",
            _longest(bits=token_bytes_up),
            WHOLE_BYTES_PER_TOKEN,
        ),
        Misconception(
            "part_of_a_byte_dropped",
            _longest(bits=token_bytes_down),
            PART_OF_A_BYTE_DROPPED,
        ),
        Misconception(
            "float_rounding",
            _longest(divide=lambda params, lacking: int(params / lacking)),
            FLOAT_ROUNDING,
        ),
    ),
    alternatives=(_longest_by_fractions, _longest_by_halving),
    hints=(
        "Write down that the ceiling is at least the target, and solve it for the context.",
        "2 · num_params + context · attention ≥ target · context · bytes of a row. Both sides have the context.",
        "16 * num_params // (target * bits of a row − 8 * attention with one token); None if that is 0 or less.",
    ),
)
