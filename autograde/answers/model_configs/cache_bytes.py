"""`cache_bytes`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

import numpy as np

from autograde.answers.model_configs.shared import (
    ABSENT_IS_NO_WINDOW,
    ALL_LAYERS_OF_JAMBA,
    EXPERTS,
    FACTOR_TWO,
    HEADS_OF_A_LATENT,
    HIDDEN_OVER_HEADS,
    NO_ROTARY_KEY,
    NULL_IS_ABSENT,
    ROUNDS_DOWN,
    SHARING_IGNORED,
    UNKNOWN_AS_LLAMA,
    WINDOWS_IGNORED,
    LayerKindsBySwitch,
    Reading,
    inner_config,
    latent_row,
    oracle_kv_heads,
    oracle_width,
    oracle_windows,
    refusing,
)
from autograde.exercise import Advice, Answer, Misconception
from autograde.exercises import exercise


def _payload(config: dict, tokens: int, bits: int) -> int:
    """Every layer's rows, really allocated where that is little memory."""
    total = 0
    for kept in oracle_windows(config):
        if kept == -1:
            total += np.empty((tokens, latent_row(inner_config(config))), np.uint8).nbytes
        elif kept != -2:
            rows = len(range(tokens)[slice(None) if kept is None else slice(max(0, tokens - kept), None)])
            total += sum(np.empty((oracle_kv_heads(config), rows, oracle_width(config)), np.uint8).nbytes for _ in "KV")
    return math.ceil(Fraction(total * bits, 8))


ANSWER = Answer(
    exercise=exercise("cache_bytes"),
    expected=refusing(_payload),
    misconceptions=(
        Misconception(
            "windows_ignored",
            Reading("windows ignored").cache_bytes,
            WINDOWS_IGNORED,
        ),
        Misconception(
            "one_row_short",
            Reading("one row short").cache_bytes,
            Advice(
                "Does a window keep one row fewer than it is wide in yours?",
                (
                    "How many rows does a query in a window of 4 read, its own included?",
                    "transformers keeps W − 1, because the next token brings its own. The payload counts the window.",
                    "min(tokens, window)",
                ),
            ),
        ),
        Misconception(
            "windows_dropped",
            Reading("windows dropped").cache_bytes,
            Advice(
                "Do layers with a window hold nothing any more in yours, once they are full?",
                (
                    "Beyond the window, what do such layers still hold?",
                    "They stop growing; they do not become empty.",
                    "Each window layer holds min(tokens, window) rows.",
                ),
            ),
        ),
        Misconception(
            "absent_is_no_window",
            Reading("absent is no window").cache_bytes,
            ABSENT_IS_NO_WINDOW,
        ),
        Misconception(
            "null_is_absent",
            Reading("null is absent").cache_bytes,
            NULL_IS_ABSENT,
        ),
        Misconception(
            "hidden_over_heads",
            Reading("hidden / heads").cache_bytes,
            HIDDEN_OVER_HEADS,
        ),
        Misconception(
            "query_heads",
            Reading("query heads").cache_bytes,
            Advice(
                "Did you count the query heads?",
                (
                    "Whose rows stay in the cache?",
                    "Queries are used once; keys and values are stored.",
                    "Use your kv_heads.",
                ),
                source="hahnyuan/LLM-Viewer#12: the cache of a grouped-query model was sized by its query heads.",
            ),
        ),
        Misconception(
            "experts",
            Reading("experts").cache_bytes,
            EXPERTS,
        ),
        Misconception(
            "all_layers_of_jamba",
            Reading("all layers of Jamba").cache_bytes,
            ALL_LAYERS_OF_JAMBA,
        ),
        Misconception(
            "factor_two",
            Reading("factor two").cache_bytes,
            FACTOR_TWO,
        ),
        Misconception(
            "heads_of_a_latent",
            Reading("heads of a latent").cache_bytes,
            HEADS_OF_A_LATENT,
        ),
        Misconception(
            "no_rotary_key",
            Reading("no rotary key").cache_bytes,
            NO_ROTARY_KEY,
        ),
        Misconception(
            "no_default",
            Reading("no default").cache_bytes,
            Advice(
                "Do you refuse a latent model whose `qk_rope_head_dim` is absent?",
                (
                    "What stands for an absent `qk_rope_head_dim`?",
                    "Both parts of a latent row have a default.",
                    "(DEFAULTS | decoder(config)) has both fields.",
                ),
            ),
        ),
        Misconception(
            "sharing_ignored",
            Reading("sharing ignored").cache_bytes,
            SHARING_IGNORED,
        ),
        Misconception(
            "rounds_down",
            Reading("rounds down").cache_bytes,
            ROUNDS_DOWN,
        ),
        Misconception(
            "rounds_each_layer",
            Reading("rounds each layer").cache_bytes,
            Advice(
                "Did you round each layer up to whole bytes?",
                (
                    "Your answer is a few bytes too large. Where could they come from?",
                    "The payload is rounded once.",
                    "Add up all bits first.",
                ),
            ),
        ),
        Misconception(
            "always_two_bytes",
            Reading("always two bytes").cache_bytes,
            Advice(
                "Did you take every element for two bytes?",
                (
                    "Which of the arguments does your answer never use?",
                    "`bits_per_element` is 16 for BF16, 8 for FP8.",
                    "Multiply by bits_per_element, then divide by eight.",
                ),
            ),
        ),
        Misconception(
            "unknown_as_llama",
            Reading("unknown as llama").cache_bytes,
            UNKNOWN_AS_LLAMA,
        ),
    ),
    alternatives=(LayerKindsBySwitch().cache_bytes, Reading().cache_bytes),
    hints=(
        "Go through the layers: how many rows does each keep, and how many elements has a row?",
        "full: tokens rows; window: min(tokens, window); latent: tokens rows of rank + rotary; others: none.",
        "Add elements of all layers, multiply by the bits, round up once.",
    ),
)
