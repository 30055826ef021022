"""`intensity_ceiling`: what is right, which mistakes are known, and what to say about them."""

from fractions import Fraction

from autograde.answers.roofline.shared import (
    ALWAYS_TWO_BYTES,
    ATTENTION_DROPPED,
    ATTENTION_KV_HEADS,
    FLOP_PER_MULTIPLY_ADD,
    FLOP_PER_PARAMETER,
    K_ONLY,
    ONE_ROW_ONLY,
    ONE_TOKEN_ATTENTION,
    PART_OF_A_BYTE_DROPPED,
    PER_BIT,
    PER_ELEMENT,
    QUERY_HEADS,
    SCORES_ONLY,
    TOLERANCE,
    WHOLE_BYTES_PER_TOKEN,
    attention_flops,
    counted_step,
    kv_heads_everywhere,
    query_heads_everywhere,
    ratio_of,
    row_elements,
    step_with,
    token_bytes_down,
    token_bytes_up,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _limit(case: Case) -> float:
    """One sequence more, in a batch of any size: what it adds to the FLOPs, over what it adds to the bits."""
    sizes = case.inputs
    counts = [
        counted_step(sizes["config"], sizes["num_params"], batch, sizes["context"], 16, sizes["kv_bits"])
        for batch in (7, 8)
    ]
    flops, bits = (many - few for few, many in zip(*counts, strict=True))
    return float(8 * Fraction(flops, bits))


def _ceiling_of(flops=lambda c, n, s: 2 * n + s * attention_flops(c), bits=lambda c, s, k: s * row_elements(c) * k):
    return lambda c, n, s, k: 8 * flops(c, n, s) / bits(c, s, k)


def _at_batch(batch):
    return lambda c, n, s, k: ratio_of(step_with())(c, n, batch, s, 16, k)


def _ceiling_in_two_parts(config, num_params, context, kv_bits):
    """What attention has by itself, and the parameters' work over the rows' bytes."""
    group = config["num_attention_heads"] / config["num_key_value_heads"]
    return 16 * group / kv_bits + 16 * num_params / (context * row_elements(config) * kv_bits)


def _ceiling_by_fractions(config, num_params, context, kv_bits):
    return float(
        Fraction(2 * num_params + context * attention_flops(config))
        / (context * row_elements(config) * Fraction(kv_bits, 8))
    )


BATCH_OF_A_MILLION = Advice(
    "Did you use a large batch instead of the limit?",
    (
        "Does your number still change when the batch is ten times as large?",
        "In the limit the weights' bytes are not few: they are none.",
        "FLOPs of one sequence over the bytes of its own rows, without any batch.",
    ),
)


ANSWER = Answer(
    exercise=exercise("intensity_ceiling"),
    expected=_limit,
    # A batch of 10^15 is off by less than this in every case, one of 10^12 by more in some: no seed decides.
    tolerance=10 * TOLERANCE,
    misconceptions=(
        Misconception(
            "at_batch_one",
            _at_batch(1),
            Advice(
                "Did you compute the intensity of one sequence?",
                (
                    "What becomes of the weights' share when a thousand sequences use them?",
                    "The ceiling is the limit for large batches: weights, read once, weigh nothing any more.",
                    "FLOPs of one sequence over the bytes of its own rows.",
                ),
            ),
        ),
        Misconception(
            "attention_dropped",
            _ceiling_of(lambda c, n, s: 2 * n),
            ATTENTION_DROPPED,
        ),
        Misconception(
            "attention_alone",
            _ceiling_of(lambda c, n, s: s * attention_flops(c)),
            Advice(
                "Did you leave out the work with the parameters?",
                (
                    "Weights weigh nothing in the limit. Does the work with them?",
                    "Every sequence of the batch is multiplied by every weight.",
                    "(2 · num_params + attention) over the bytes of its own rows.",
                ),
            ),
        ),
        Misconception(
            "attention_kv_heads",
            _ceiling_of(lambda c, n, s: 2 * n + s * attention_flops(kv_heads_everywhere(c))),
            ATTENTION_KV_HEADS,
        ),
        Misconception(
            "one_token_attention",
            _ceiling_of(lambda c, n, s: 2 * n + attention_flops(c)),
            ONE_TOKEN_ATTENTION,
        ),
        Misconception(
            "scores_only",
            _ceiling_of(lambda c, n, s: 2 * n + s * attention_flops(c) // 2),
            SCORES_ONLY,
        ),
        Misconception(
            "flop_per_multiply_add",
            _ceiling_of(lambda c, n, s: n + s * attention_flops(c) // 2),
            FLOP_PER_MULTIPLY_ADD,
        ),
        Misconception(
            "one_row_only",
            _ceiling_of(bits=lambda c, s, k: row_elements(c) * k),
            ONE_ROW_ONLY,
        ),
        Misconception(
            "k_only",
            _ceiling_of(bits=lambda c, s, k: s * row_elements(c) * k // 2),
            K_ONLY,
        ),
        Misconception(
            "query_heads",
            _ceiling_of(bits=lambda c, s, k: s * row_elements(query_heads_everywhere(c)) * k),
            QUERY_HEADS,
        ),
        Misconception(
            "per_bit",
            _ceiling_of(bits=lambda c, s, k: 8 * s * row_elements(c) * k),
            PER_BIT,
        ),
        Misconception(
            "per_element",
            _ceiling_of(bits=lambda c, s, k: 8 * s * row_elements(c)),
            PER_ELEMENT,
        ),
        Misconception(
            "always_two_bytes",
            _ceiling_of(bits=lambda c, s, k: s * row_elements(c) * 16),
            ALWAYS_TWO_BYTES,
        ),
        Misconception(
            "flop_per_parameter",
            _ceiling_of(lambda c, n, s: n + s * attention_flops(c)),
            FLOP_PER_PARAMETER,
        ),
        Misconception(
            "whole_bytes_per_token",
            _ceiling_of(bits=lambda c, s, k: s * token_bytes_up(c, k)),
            WHOLE_BYTES_PER_TOKEN,
        ),
        Misconception(
            "part_of_a_byte_dropped",
            _ceiling_of(bits=lambda c, s, k: s * token_bytes_down(c, k)),
            PART_OF_A_BYTE_DROPPED,
        ),
        Misconception(
            "batch_of_a_million",
            _at_batch(10**6),
            BATCH_OF_A_MILLION,
        ),
        Misconception(
            "batch_of_a_billion",
            _at_batch(10**9),
            BATCH_OF_A_MILLION,
        ),
        Misconception(
            "batch_of_a_trillion",
            _at_batch(10**12),
            BATCH_OF_A_MILLION,
        ),
    ),
    alternatives=(_ceiling_in_two_parts, _ceiling_by_fractions),
    hints=(
        "In a batch of a million, which of the bytes can you forget?",
        "Every sequence brings its own FLOPs and its own rows. Divide one by the other.",
        "(2 · num_params + attention) / (context · cached elements of a token · kv_bits / 8)",
    ),
)
