"""`decode_cost`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

from autograde.answers.roofline.shared import (
    ALWAYS_TWO_BYTES,
    ATTENTION_DROPPED,
    ATTENTION_KV_HEADS,
    CACHE_AT_WEIGHT_BITS,
    CACHE_DROPPED,
    FLOAT_ROUNDING,
    FLOP_PER_MULTIPLY_ADD,
    FLOP_PER_PARAMETER,
    FLOPS_OF_ONE,
    HIDDEN_OVER_HEADS,
    K_ONLY,
    ONE_ROW_ONLY,
    ONE_TOKEN_ATTENTION,
    QUERY_HEADS,
    ROWS_READ_ONCE,
    SCORES_ONLY,
    STEPS,
    WEIGHTS_AT_CACHE_BITS,
    WEIGHTS_DROPPED,
    WEIGHTS_PER_SEQUENCE,
    cost_by_group,
    cost_by_layers,
    counted_step,
    row_elements,
    step_flops,
    step_with,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from kvlab.sizes import bits_to_bytes


def _cost(case: Case) -> list[int]:
    flops, bits = counted_step(**case.inputs)
    return [flops, math.ceil(Fraction(bits, 8))]


def _one_token_more(c, n, b, s, w, k):
    return step_with()(c, n, b, s + 1, w, k)


def _apart(c, n, b, s, w, k):
    return step_flops(c, n, b, s, w, k), bits_to_bytes(n * w) + bits_to_bytes(b * s * row_elements(c) * k)


def _by_sequence(c, n, b, s, w, k):
    return step_flops(c, n, b, s, w, k), bits_to_bytes(n * w) + b * bits_to_bytes(s * row_elements(c) * k)


ANSWER = Answer(
    exercise=exercise("decode_cost"),
    expected=_cost,
    misconceptions=(
        Misconception(
            "flop_per_multiply_add",
            STEPS["flop_per_multiply_add"],
            FLOP_PER_MULTIPLY_ADD,
        ),
        Misconception(
            "attention_kv_heads",
            STEPS["attention_kv_heads"],
            ATTENTION_KV_HEADS,
        ),
        Misconception(
            "flop_per_parameter",
            STEPS["flop_per_parameter"],
            FLOP_PER_PARAMETER,
        ),
        Misconception(
            "attention_by_hidden_size",
            STEPS["attention_by_hidden_size"],
            Advice(
                "Did you count the work of attention by hidden_size?",
                (
                    "Compare num_attention_heads * head_dim with hidden_size.",
                    "A query has head_dim elements in each head, and a model may choose that width freely.",
                    "4 · layers · query heads · head_dim · context for each sequence.",
                ),
            ),
        ),
        Misconception(
            "attention_dropped",
            STEPS["attention_dropped"],
            ATTENTION_DROPPED,
        ),
        Misconception(
            "attention_of_one",
            STEPS["attention_of_one"],
            Advice(
                "Did you multiply the work with the parameters by the batch, and that of attention not?",
                (
                    "Which part of your FLOPs grows with the batch?",
                    "Each sequence has a query of its own, which meets that sequence's tokens.",
                    "batch * (2 · num_params + attention)",
                ),
            ),
        ),
        Misconception(
            "scores_only",
            STEPS["scores_only"],
            SCORES_ONLY,
        ),
        Misconception(
            "one_token_attention",
            STEPS["one_token_attention"],
            ONE_TOKEN_ATTENTION,
        ),
        Misconception(
            "old_tokens_again",
            STEPS["old_tokens_again"],
            Advice(
                "Did you send every cached token through the model again?",
                (
                    "What does the cache save?",
                    "A decode step computes one token of each sequence; the old ones only lend their rows.",
                    "2 · num_params for a sequence, whatever its context.",
                ),
            ),
        ),
        Misconception(
            "flops_of_one",
            STEPS["flops_of_one"],
            FLOPS_OF_ONE,
        ),
        Misconception(
            "weights_per_sequence",
            STEPS["weights_per_sequence"],
            WEIGHTS_PER_SEQUENCE,
        ),
        Misconception(
            "rows_read_once",
            STEPS["rows_read_once"],
            ROWS_READ_ONCE,
        ),
        Misconception(
            "k_only",
            STEPS["k_only"],
            K_ONLY,
        ),
        Misconception(
            "query_heads",
            STEPS["query_heads"],
            QUERY_HEADS,
        ),
        Misconception(
            "hidden_over_heads",
            STEPS["hidden_over_heads"],
            HIDDEN_OVER_HEADS,
        ),
        Misconception(
            "one_row_only",
            STEPS["one_row_only"],
            ONE_ROW_ONLY,
        ),
        Misconception(
            "weights_dropped",
            STEPS["weights_dropped"],
            WEIGHTS_DROPPED,
        ),
        Misconception(
            "cache_dropped",
            STEPS["cache_dropped"],
            CACHE_DROPPED,
        ),
        Misconception(
            "cache_at_weight_bits",
            STEPS["cache_at_weight_bits"],
            CACHE_AT_WEIGHT_BITS,
        ),
        Misconception(
            "weights_at_cache_bits",
            STEPS["weights_at_cache_bits"],
            WEIGHTS_AT_CACHE_BITS,
        ),
        Misconception(
            "always_two_bytes",
            STEPS["always_two_bytes"],
            ALWAYS_TWO_BYTES,
        ),
        Misconception(
            "bits_as_bytes",
            step_with(to_bytes=lambda bits: bits),
            Advice(
                "Did you take bits for bytes?",
                (
                    "How many bytes does a 16-bit element take?",
                    "There are eight bits in a byte.",
                    "Divide the bits by eight.",
                ),
            ),
        ),
        Misconception(
            "rounds_down",
            step_with(to_bytes=lambda bits: bits // 8),
            Advice(
                "Did you drop the bits of an unfinished byte?",
                (
                    "Nine bits: how many bytes are read?",
                    "`//` rounds down; a last, partly filled byte has to be read too.",
                    "-(-bits // 8) rounds up without a float.",
                ),
            ),
        ),
        Misconception(
            "rounds_each_part",
            _apart,
            Advice(
                "Did you round weights and cache up to whole bytes apart?",
                (
                    "Your bytes are one too many. Where could it come from?",
                    "The total rounds up once.",
                    "Add up all bits first, then divide by eight.",
                ),
            ),
        ),
        Misconception(
            "rounds_each_sequence",
            _by_sequence,
            Advice(
                "Did you round each sequence's rows up to whole bytes?",
                (
                    "Your bytes are a few too many. Where could they come from?",
                    "The total rounds up once.",
                    "Add up all bits first, then divide by eight.",
                ),
            ),
        ),
        Misconception(
            "float_rounding",
            step_with(to_bytes=lambda bits: math.ceil(bits / 8)),
            FLOAT_ROUNDING,
        ),
        Misconception(
            "one_token_more",
            _one_token_more,
            Advice(
                "Did you add the new token to the context, which counts it already?",
                (
                    "What does the docstring say about the context?",
                    "The new token's own row is among the context's.",
                    "Use context as it is passed.",
                ),
            ),
        ),
        Misconception(
            "swapped",
            lambda *step: step_with()(*step)[::-1],
            Advice(
                "Did you return the bytes first?",
                (
                    "Compare the two numbers of your pair with the expected ones.",
                    "The name of the pair says its order: (flops, bytes).",
                    "return flops, n_bytes",
                ),
            ),
        ),
    ),
    alternatives=(cost_by_layers, cost_by_group),
    hints=(
        "Two lists: what is computed, and what is read. Which entries grow with the batch?",
        "FLOPs: 2 a parameter and 4 · layers · query heads · head width a cached token, for each sequence.",
        "Bits: num_params * weight_bits once, and 2 · layers · KV heads · head width * kv_bits a cached token.",
    ),
)
