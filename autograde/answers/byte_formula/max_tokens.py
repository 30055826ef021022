"""`max_tokens`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

from autograde.answers.byte_formula.shared import (
    ALWAYS_TWO_BYTES,
    FACTOR_TWO_DROPPED,
    FLOAT_ROUNDING,
    HIDDEN_OVER_HEADS,
    QUERY_HEADS,
    bits_of_token,
    token_bytes,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _most_tokens(case: Case) -> int:
    """By bisection over caches that are counted, not by division."""
    config, bits = case.inputs["config"], case.inputs["bits_per_element"]
    fits, too_many = 0, 1
    while token_bytes(config, config["num_key_value_heads"], bits, too_many) <= case.inputs["budget_bytes"]:
        fits, too_many = too_many, too_many * 2
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if token_bytes(config, config["num_key_value_heads"], bits, middle) <= case.inputs["budget_bytes"]:
            fits = middle
        else:
            too_many = middle
    return fits


def _tokens_by_bits(budget_bytes, config, bits_per_element):
    bits = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"] * bits_per_element
    return budget_bytes * 8 // bits


def _tokens_by_fraction(budget_bytes, config, bits_per_element):
    elements = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"]
    return math.floor(budget_bytes / (elements * Fraction(bits_per_element, 8)))


def _wrong_rate(size):
    """A wrong `max_tokens` that divides as it should, by a wrong number of bits per token."""
    return lambda budget, config, bits: budget * 8 // size(config, bits)


ANSWER = Answer(
    exercise=exercise("max_tokens"),
    expected=_most_tokens,
    misconceptions=(
        Misconception(
            "ceiling",
            lambda budget, c, bits: -(-budget * 8 // bits_of_token(c, bits)),
            Advice(
                "Did you round up, so that the last token no longer fits?",
                (
                    "How many bytes does your answer need, and how many are there?",
                    "A budget is never exceeded: a token that fits by half does not fit.",
                    "Use `//`.",
                ),
            ),
        ),
        Misconception(
            "nearest",
            lambda budget, c, bits: (budget * 16 // bits_of_token(c, bits) + 1) // 2,
            Advice(
                "Did you round to the nearest whole number of tokens?",
                (
                    "Try a budget one byte below two tokens.",
                    "Nearest goes over half of the time.",
                    "Use `//`, which always rounds down.",
                ),
            ),
        ),
        Misconception(
            "ceiling_of_a_float",
            lambda budget, c, bits: math.ceil(budget / (bits_of_token(c, bits) / 8)),
            Advice(
                "Did you round up, so that the last token no longer fits, and divide through a float besides?",
                (
                    "How many bytes does your answer need, and how many are there?",
                    "A budget is never exceeded; and `/` loses the last digits of large numbers.",
                    "Use `//` on integers.",
                ),
            ),
        ),
        Misconception(
            "nearest_of_a_float",
            lambda budget, c, bits: round(budget / (bits_of_token(c, bits) / 8)),
            Advice(
                "Did you round to the nearest whole number of tokens, through a float?",
                (
                    "Try a budget one byte below two tokens.",
                    "Nearest goes over half of the time; and `/` loses the last digits of large numbers.",
                    "Use `//` on integers.",
                ),
            ),
        ),
        Misconception(
            "whole_bytes_per_token",
            lambda budget, c, bits: budget // -(-bits_of_token(c, bits) // 8),
            Advice(
                "Did you divide by bytes per token that had been rounded up already?",
                (
                    "How many bytes do four tokens of three quarters of a byte take?",
                    "With 3-, 5- or 7-bit elements a token need not fill whole bytes, and rounding each adds up.",
                    "Compare in bits: 8 * budget_bytes // bits of one token.",
                ),
            ),
        ),
        Misconception(
            "at_least_one",
            lambda budget, c, bits: max(1, budget * 8 // bits_of_token(c, bits)),
            Advice(
                "Did you grant one token even where none fits?",
                (
                    "What does your function return for a budget of 5 bytes?",
                    "0 is an honest answer.",
                    "Leave out the max(1, …).",
                ),
            ),
        ),
        Misconception(
            "float_rounding",
            lambda budget, c, bits: int(budget / (bits_of_token(c, bits) / 8)),
            FLOAT_ROUNDING,
        ),
        Misconception(
            "query_heads",
            _wrong_rate(lambda c, bits: bits_of_token({**c, "num_key_value_heads": c["num_attention_heads"]}, bits)),
            QUERY_HEADS,
        ),
        Misconception(
            "hidden_over_heads",
            _wrong_rate(
                lambda c, bits: bits_of_token({**c, "head_dim": c["hidden_size"] // c["num_attention_heads"]}, bits)
            ),
            HIDDEN_OVER_HEADS,
        ),
        Misconception(
            "factor_two_dropped",
            lambda budget, c, bits: budget * 16 // bits_of_token(c, bits),
            FACTOR_TWO_DROPPED,
        ),
        Misconception(
            "always_two_bytes",
            _wrong_rate(lambda c, bits: bits_of_token(c, 16)),
            ALWAYS_TWO_BYTES,
        ),
    ),
    alternatives=(_tokens_by_bits, _tokens_by_fraction),
    hints=(
        "How many bytes does one token take? How often does that go into the budget?",
        "A token that fits only in part does not fit.",
        "In bits, so that nothing is rounded: 8 * budget_bytes // bits of one token.",
    ),
)
