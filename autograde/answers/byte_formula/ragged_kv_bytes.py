"""`ragged_kv_bytes`: what is right, which mistakes are known, and what to say about them."""

import math

from autograde.answers.byte_formula.shared import (
    BITS_AS_BYTES,
    FACTOR_TWO_DROPPED,
    FLOAT_ROUNDING,
    LAYERS_DROPPED,
    ROUNDS_DOWN,
    ROUNDS_EACH_TENSOR,
    ROUNDS_TO_NEAREST,
    count_elements,
    to_bytes,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _ragged(case: Case) -> int:
    sizes = case.inputs
    elements = count_elements(sizes["num_layers"], sizes["lengths"], sizes["num_kv_heads"], sizes["head_dim"])
    return to_bytes(elements, sizes["bits_per_element"])


def _ragged_by_request(lengths, num_layers, num_kv_heads, head_dim, bits_per_element):
    bits = 0
    for length in lengths:
        bits += 2 * num_layers * num_kv_heads * head_dim * length * bits_per_element
    return (bits + 7) // 8


def _ragged_by_sorting(lengths, num_layers, num_kv_heads, head_dim, bits_per_element):
    # Layer the batch: as many requests as are still long enough store each further stretch of tokens.
    row_bits, total, before = 2 * num_layers * num_kv_heads * head_dim * bits_per_element, 0, 0
    ordered = sorted(lengths)
    for index, length in enumerate(ordered):
        total += (len(ordered) - index) * (length - before) * row_bits
        before = length
    return -(-total // 8)


ANSWER = Answer(
    exercise=exercise("ragged_kv_bytes"),
    expected=_ragged,
    misconceptions=(
        Misconception(
            "padded_total",
            lambda n, L, H, d, bits: -(-2 * L * len(n) * max(n, default=0) * H * d * bits // 8),
            Advice(
                "Did you give every request the length of the longest?",
                (
                    "What does a request of three tokens store?",
                    "A dense padded batch holds batch × longest; the payload is what was really stored.",
                    "Replace batch × tokens by the sum of the lengths.",
                ),
            ),
        ),
        Misconception(
            "longest_only",
            lambda n, L, H, d, bits: -(-2 * L * max(n, default=0) * H * d * bits // 8),
            Advice(
                "Did you count only the longest request of the batch?",
                (
                    "What happens to the others' keys and values?",
                    "Every request stores its own tokens.",
                    "Sum the lengths.",
                ),
            ),
        ),
        Misconception(
            "first_only",
            lambda n, L, H, d, bits: -(-2 * L * sum(n[:1]) * H * d * bits // 8),
            Advice(
                "Did you count only the first request?",
                (
                    "Is there a `return` inside your loop?",
                    "A loop that returns in its first round never sees the others.",
                    "Add up in the loop; return behind it.",
                ),
            ),
        ),
        Misconception(
            "last_only",
            lambda n, L, H, d, bits: -(-2 * L * sum(n[-1:]) * H * d * bits // 8),
            Advice(
                "Did you keep only the last request's bytes?",
                (
                    "Does your loop add, or does it replace?",
                    "`total = …` forgets what was there; `total += …` adds.",
                    "Start from 0 and use +=.",
                ),
            ),
        ),
        Misconception(
            "batch_times_sum",
            lambda n, L, H, d, bits: -(-2 * L * len(n) * sum(n) * H * d * bits // 8),
            Advice(
                "Did you multiply by the number of requests on top of the sum of their lengths?",
                (
                    "How often does each request's length appear in your answer?",
                    "The sum already runs over the batch.",
                    "Use sum(lengths) alone, with a batch of 1.",
                ),
            ),
        ),
        Misconception(
            "distinct_lengths",
            lambda n, L, H, d, bits: -(-2 * L * sum(set(n)) * H * d * bits // 8),
            Advice(
                "Did you count requests of the same length only once?",
                (
                    "What happens to two requests that have stored equally many tokens?",
                    "A set keeps one of several equal numbers.",
                    "Sum the list, not a set of it.",
                ),
            ),
        ),
        Misconception(
            "mean_rounded",
            lambda n, L, H, d, bits: -(-2 * L * len(n) * (sum(n) // max(1, len(n))) * H * d * bits // 8),
            Advice(
                "Did you work with a mean length that had been rounded to a whole number?",
                (
                    "What is the mean of 3 and 4, and what is 2 × that after rounding?",
                    "A rounded mean, multiplied again, is no sum.",
                    "Use sum(lengths) itself.",
                ),
            ),
        ),
        Misconception(
            "rounds_to_nearest",
            lambda n, L, H, d, bits: (2 * L * sum(n) * H * d * bits + 4) // 8,
            ROUNDS_TO_NEAREST,
        ),
        Misconception(
            "rounds_each_tensor",
            lambda n, L, H, d, bits: 2 * -(-L * sum(n) * H * d * bits // 8),
            ROUNDS_EACH_TENSOR,
        ),
        Misconception(
            "factor_two_dropped",
            lambda n, L, H, d, bits: -(-L * sum(n) * H * d * bits // 8),
            FACTOR_TWO_DROPPED,
        ),
        Misconception(
            "layers_dropped",
            lambda n, L, H, d, bits: -(-2 * sum(n) * H * d * bits // 8),
            LAYERS_DROPPED,
        ),
        Misconception(
            "bits_as_bytes",
            lambda n, L, H, d, bits: 2 * L * sum(n) * H * d * bits,
            BITS_AS_BYTES,
        ),
        Misconception(
            "rounds_each_request",
            lambda n, L, H, d, bits: sum(-(-2 * L * t * H * d * bits // 8) for t in n),
            Advice(
                "Did you round each request up to whole bytes, instead of the total once?",
                (
                    "Your answer is a few bytes too large. Where could they come from?",
                    "The formula counts the payload of the whole batch; a byte may be shared across a boundary.",
                    "Sum the lengths first; compute bytes once.",
                ),
            ),
        ),
        Misconception(
            "rounds_down",
            lambda n, L, H, d, bits: 2 * L * sum(n) * H * d * bits // 8,
            ROUNDS_DOWN,
        ),
        Misconception(
            "float_rounding",
            lambda n, L, H, d, bits: math.ceil(2 * L * sum(n) * H * d * bits / 8),
            FLOAT_ROUNDING,
        ),
    ),
    alternatives=(_ragged_by_request, _ragged_by_sorting),
    hints=(
        "What does a request of length t store, whatever the others do?",
        "Everything in the formula stays but batch × tokens.",
        "Put sum(lengths) in the place of batch × tokens, then turn bits into bytes once.",
    ),
)
