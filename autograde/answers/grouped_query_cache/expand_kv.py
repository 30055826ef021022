"""`expand_kv`: what is right, which mistakes are known, and what to say about them."""

import numpy as np
import torch

from autograde.answers.grouped_query_cache.shared import TILED, UNEVEN_HEADS, kv_head_of_each, repeat_kv, tile_kv
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised


def _dealt(case: Case) -> object:
    k, num_heads = case.inputs.values()
    readers = kv_head_of_each(num_heads, k.shape[1])
    return np.stack([k[:, head] for head in readers], axis=1) if readers else Raised("ValueError")


def _expanded(copies, shared=True):
    """`expand_kv` from `copies(k, group)`."""

    def expand_kv(k, num_heads):
        if shared and num_heads % k.shape[1]:
            raise ValueError(f"{k.shape[1]} KV heads cannot be shared by {num_heads}")
        return copies(k, num_heads // k.shape[1])

    return expand_kv


def _by_expand(k, group):
    batch, heads, tokens, width = k.shape
    return k[:, :, None].expand(batch, heads, group, tokens, width).reshape(batch, heads * group, tokens, width)


def _by_index(k, group):
    return k[:, torch.arange(k.shape[1] * group) // group]


ANSWER = Answer(
    exercise=exercise("expand_kv"),
    expected=_dealt,
    misconceptions=(
        Misconception(
            "tiled",
            _expanded(tile_kv),
            TILED,
        ),
        Misconception(
            "tiled_unchecked",
            _expanded(tile_kv, shared=False),
            TILED,
        ),
        Misconception(
            "uneven_heads",
            _expanded(repeat_kv, shared=False),
            UNEVEN_HEADS,
        ),
        Misconception(
            "tokens_repeated",
            _expanded(lambda k, group: k.repeat_interleave(group, dim=2)),
            Advice(
                "Did you repeat the tokens, instead of the heads?",
                (
                    "Which axis of (B, Hkv, T, dh) holds the heads?",
                    "The result has H heads and as many tokens as before.",
                    "k.repeat_interleave(group, dim=1)",
                ),
            ),
        ),
        Misconception(
            "kv_heads_times",
            lambda k, num_heads: _expanded(lambda k, group: repeat_kv(k, k.shape[1]))(k, num_heads),
            Advice(
                "Did you repeat each head Hkv times, instead of H // Hkv times?",
                (
                    "How many query heads read one KV head?",
                    "With 6 query heads and 2 KV heads each is written 3 times, not 2 times.",
                    "k.repeat_interleave(num_heads // k.shape[1], dim=1)",
                ),
            ),
        ),
        Misconception(
            "heads_times",
            lambda k, num_heads: _expanded(lambda k, group: repeat_kv(k, num_heads))(k, num_heads),
            Advice(
                "Did you repeat each head H times, instead of H // Hkv times?",
                (
                    "How many heads has your result, and how many are there query heads?",
                    "Hkv heads times the number of copies must give H.",
                    "k.repeat_interleave(num_heads // k.shape[1], dim=1)",
                ),
            ),
        ),
    ),
    alternatives=(_expanded(_by_expand), _expanded(_by_index)),
    hints=(
        "Query head h needs KV head h // (H // Hkv): build the heads in this order.",
        "Each KV head occurs H // Hkv times in a row. torch.Tensor.repeat_interleave does this along one axis.",
        "k.repeat_interleave(num_heads // k.shape[1], dim=1), after a check that raises ValueError.",
    ),
)
