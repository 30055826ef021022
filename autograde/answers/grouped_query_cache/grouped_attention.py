"""`grouped_attention`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np
import torch

from autograde.answers.grouped_query_cache.shared import (
    ATOL,
    MODEL_WIDTH,
    TILED,
    TOP_LEFT,
    attention_head_by_head,
    attention_with,
    causal_lower_right,
    causal_upper_left,
    heads_side_by_side,
    repeat_kv,
    square_attention,
    tile_kv,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from kvlab.bench.clock import one_thread


def _attended(case: Case) -> np.ndarray:
    q, k, v, start = (torch.tensor(each) for each in case.inputs.values())
    unasked = torch.zeros(*q.shape[:2], start, q.shape[3], dtype=q.dtype)  # queries in front of the chunk
    with one_thread():
        return square_attention(torch.cat([unasked, q], dim=2), k, v)[:, start:].numpy()


def _masked_too_late(q, k, v, start):
    k, v = (repeat_kv(each, q.shape[1] // each.shape[1]) for each in (k, v))
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return heads_side_by_side(weights * causal_lower_right(start, q.shape[2], k.shape[2]) @ v)


def _folded(seen):
    """`grouped_attention` with the group folded into rows; `seen(start, chunk, group, tokens)` masks those rows."""

    def grouped_attention(q, k, v, start):
        batch, heads, chunk, width = q.shape
        group = heads // k.shape[1]
        rows = q.reshape(batch, -1, group * chunk, width)
        scores = rows @ k.mT / math.sqrt(width)
        weights = scores.masked_fill(~seen(start, chunk, group, k.shape[2]), -math.inf).softmax(-1)
        return heads_side_by_side((weights @ v).view(q.shape))

    return grouped_attention


def _without_mod(start, chunk, group, tokens):
    return causal_lower_right(start, group * chunk, tokens)


def _each_row_repeated(start, chunk, group, tokens):
    return causal_lower_right(start, chunk, tokens).repeat_interleave(group, 0)


def _by_einsum(q, k, v, start):
    """Right: the group as an axis of its own."""
    q = q.unflatten(1, (k.shape[1], -1))
    scores = torch.einsum("bhgmd,bhtd->bhgmt", q, k) / math.sqrt(q.shape[-1])
    scores.masked_fill_(~causal_lower_right(start, q.shape[3], k.shape[2]), -math.inf)
    return torch.einsum("bhgmt,bhtd->bmhgd", scores.softmax(-1), v).flatten(2)


ANSWER = Answer(
    exercise=exercise("grouped_attention"),
    expected=_attended,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "tiled",
            attention_with(expand=tile_kv),
            TILED,
        ),
        Misconception(
            "model_width",
            attention_with(divisor=lambda heads, width: heads * width),
            MODEL_WIDTH,
        ),
        Misconception(
            "top_left",
            attention_with(seen=causal_upper_left),
            TOP_LEFT,
        ),
        Misconception(
            "mask_without_mod",
            _folded(_without_mod),
            Advice(
                "Do the rows of a group count on, so that the mask takes a later head's queries for later tokens?",
                (
                    "Which row of a group is the first query of its second head, and where does that query stand?",
                    "Row r of a group belongs to query r mod m: each head's rows begin again at position start.",
                    "start + torch.arange(group * m) % m, or scores viewed as (B, Hkv, group, m, T) before the mask.",
                ),
            ),
        ),
        Misconception(
            "mask_rows_repeated",
            _folded(_each_row_repeated),
            Advice(
                "Did you repeat each row of the mask, where the whole mask must be repeated for each head?",
                (
                    "In which order do the rows of a group lie: head by head, or query by query?",
                    "They are m queries of the first head, then m of the second. The mask's m rows follow that order.",
                    "mask.repeat(group, 1), not repeat_interleave: row r of a group takes row r mod m of the mask.",
                ),
            ),
        ),
        Misconception(
            "no_mask",
            attention_with(seen=lambda start, chunk, tokens: torch.ones(chunk, tokens, dtype=torch.bool)),
            Advice(
                "Did you let every query see every key, those of later tokens included?",
                (
                    "Which keys of its own chunk must the chunk's first query not see?",
                    "One token on a cache needs no mask, since all keys lie before it; a chunk does.",
                    "Set the score to -inf where torch.arange(tokens) > start + torch.arange(chunk)[:, None].",
                ),
                source="Mikyx-1/TinyLLM#17: a chunk on a cache attended to everything, later tokens included.",
            ),
        ),
        Misconception(
            "own_key_hidden",
            attention_with(seen=lambda start, chunk, tokens: causal_lower_right(start - 1, chunk, tokens)),
            Advice(
                "Did you hide each token's own key from it?",
                (
                    "What can the very first token of a prompt attend to?",
                    "A token sees the keys before it and its own, which lies at the query's position.",
                    "Hide the keys with position > start + i, not >=.",
                ),
            ),
        ),
        Misconception(
            "unscaled",
            attention_with(divisor=lambda heads, width: 1),
            Advice(
                "Did you leave out the division of the scores by √dh?",
                (
                    "What grows with the head width in a dot product?",
                    "Scores are divided by √dh, so that the softmax is as sharp for wide heads as for narrow ones.",
                    "scores / math.sqrt(q.shape[-1])",
                ),
            ),
        ),
        Misconception(
            "mask_after_softmax",
            _masked_too_late,
            Advice(
                "Did you apply the mask after the softmax, so that the weights no longer sum to 1?",
                (
                    "What do the weights of a row sum to in your function?",
                    "The softmax has already given weight to keys that are hidden afterwards.",
                    "masked_fill the scores with -inf first, then softmax(dim=-1).",
                ),
            ),
        ),
        Misconception(
            "heads_not_beside",
            attention_with(join=lambda out: out.reshape(out.shape[0], out.shape[2], -1)),
            Advice(
                (
                    "Did you reshape (B, H, m, dh) to (B, m, H · dh) without "
                    "swapping the axes of heads and tokens first?"
                ),
                (
                    "Which numbers lie side by side in memory: those of one token, or those of one head?",
                    "A reshape moves nothing. The heads of one token must become neighbours first.",
                    "out.transpose(1, 2).reshape(B, m, H * dh)",
                ),
            ),
        ),
    ),
    alternatives=(attention_with(), _by_einsum, attention_head_by_head),
    hints=(
        "All queries that read one KV head can be rows of one matrix: group · m of them.",
        "q.reshape(B, Hkv, group * m, dh) @ k.mT gives scores (B, Hkv, group * m, T). The rows of a group are m "
        "queries of its first head, then m of its second.",
        "View the scores as (B, Hkv, group, m, T), mask, softmax, view back, @ v; then view as (B, H, m, dh), "
        "transpose(1, 2) and flatten(2).",
    ),
)
