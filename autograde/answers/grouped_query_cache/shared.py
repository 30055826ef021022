"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

import math

import numpy as np
import torch

from autograde.exercise import Advice

ATOL = 1e-12


def kv_head_of_each(num_heads: int, num_kv_heads: int) -> list[int]:
    """The KV head of each query head, dealt out one group after the other; none where a group would be cut."""
    size, rest = divmod(num_heads, num_kv_heads)
    return [] if rest else [kv_head for kv_head in range(num_kv_heads) for _ in range(size)]


def square_attention(q, k, v):
    """Causal attention of a whole sequence: q (B, H, T, dh), k and v (B, Hkv, T, dh) → (B, T, H · dh)."""
    k, v = (torch.stack([each[:, i] for i in kv_head_of_each(q.shape[1], each.shape[1])], 1) for each in (k, v))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return torch.cat(out.unbind(1), dim=-1)


def rotary_by_complex_numbers(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    half = x.shape[-1] // 2
    speeds = [10_000.0 ** (-2 * i / x.shape[-1]) for i in range(half)]
    points = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * np.outer(positions, speeds))
    return np.concatenate([points.real, points.imag], axis=-1)


def repeat_kv(k, group):
    return k.repeat_interleave(group, dim=1)


def tile_kv(k, group):
    return k.repeat(1, group, 1, 1)


def heads_side_by_side(out):
    return out.transpose(1, 2).flatten(2)


def causal_lower_right(start, chunk, tokens):
    return torch.arange(tokens) <= start + torch.arange(chunk)[:, None]


def attention_with(
    expand=repeat_kv, seen=causal_lower_right, divisor=lambda heads, width: width, join=heads_side_by_side
):
    """`grouped_attention` by way of expansion, with parts that may be wrong."""

    def grouped_attention(q, k, v, start):
        heads, width = q.shape[1], q.shape[3]
        k, v = (expand(each, heads // each.shape[1]) for each in (k, v))
        scores = q @ k.mT / math.sqrt(divisor(heads, width))
        scores = scores.masked_fill(~seen(start, q.shape[2], k.shape[2]), -math.inf)
        return join(scores.softmax(-1) @ v)

    return grouped_attention


def attention_head_by_head(q, k, v, start):
    """Right: each query head with the KV head that it reads, row by row, over a slice of the keys."""
    group = q.shape[1] // k.shape[1]
    out = torch.zeros(q.shape[0], q.shape[2], q.shape[1] * q.shape[3], dtype=q.dtype)
    for head in range(q.shape[1]):
        for row in range(q.shape[2]):
            keys, values = (each[:, head // group, : start + row + 1] for each in (k, v))
            scores = (keys @ q[:, head, row, :, None]).squeeze(-1) / math.sqrt(q.shape[3])
            mixed = (scores.softmax(-1)[:, None] @ values).squeeze(1)
            out[:, row, head * q.shape[3] : (head + 1) * q.shape[3]] = mixed
    return out


def inv_freq(half, dtype=torch.float64):
    return 10_000.0 ** -(torch.arange(half, dtype=dtype) / half)


def rotary_with(speeds=inv_freq, place=lambda positions: positions, turn=None):
    """`rope` with parts that may be wrong."""

    def rope(x, positions):
        angles = place(positions)[:, None] * speeds(x.shape[-1] // 2)
        first, second = x.chunk(2, dim=-1)
        return (turn or turn_halves)(x, first, second, angles.cos(), angles.sin())

    return rope


def turn_halves(x, first, second, cos, sin):
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def turn_neighbours(x, first, second, cos, sin):
    first, second = x[..., ::2], x[..., 1::2]
    return torch.stack([first * cos - second * sin, second * cos + first * sin], dim=-1).flatten(-2)


def rotary_by_matrices(x, positions):
    """Right: one dh × dh rotation for each row."""
    width = x.shape[-1]
    half = width // 2
    out = torch.empty_like(x)
    for row, position in enumerate(positions.tolist()):
        matrix = torch.zeros(width, width, dtype=x.dtype)
        for i in range(half):
            angle = position * 10_000.0 ** (-i / half)
            matrix[i, i] = matrix[i + half, i + half] = math.cos(angle)
            matrix[i, i + half], matrix[i + half, i] = math.sin(angle), -math.sin(angle)
        out[..., row, :] = x[..., row, :] @ matrix
    return out


def causal_upper_left(start, chunk, tokens):
    return causal_lower_right(0, chunk, tokens)


TILED = Advice(
    "Did you deal the KV heads out like cards (0, 1, 0, 1, …), where neighbouring query heads should share one?",
    (
        "Which query heads read KV head 0: the first few, or every second one?",
        "A group is a run of neighbours: with 6 query heads and 2 KV heads, heads 0, 1, 2 read KV head 0.",
        "KV head h // (H // Hkv). For copies: repeat_interleave, not repeat.",
    ),
    source="ekzhang/jax-js#180: key/value heads were tiled instead of repeated.",
)
UNEVEN_HEADS = Advice(
    "Did you let a number of query heads pass that the KV heads do not divide?",
    (
        "How many query heads would read each KV head if 7 shared 3?",
        "Integer division forgets the remainder, and a head that does not exist is read, or one goes missing.",
        'if num_heads % num_kv_heads: raise ValueError("…")',
    ),
)
MODEL_WIDTH = Advice(
    "Did you divide the scores by √(H · dh), the width of all heads, instead of by √dh?",
    (
        "How many products are summed in one score?",
        "A score is the dot product of one head: dh terms, whatever the model's width is.",
        "Divide by math.sqrt(q.shape[-1]).",
    ),
)
TOP_LEFT = Advice(
    "Did you count the chunk's queries from 0, so that the mask forgets the cached tokens?",
    (
        "At which position does the first query of the chunk stand?",
        "Behind `start` tokens, query i stands at position start + i and sees the keys up to there.",
        "torch.arange(tokens) <= start + torch.arange(chunk)[:, None] marks what may be seen.",
    ),
    source="pytorch/pytorch#108108: is_causal=True aligns unequal lengths to the upper left.",
)
NEIGHBOURING_PAIRS = Advice(
    "Did you pair neighbours (0 with 1, 2 with 3), where this lesson pairs the two halves (0 with dh/2)?",
    (
        "Which two elements of a row of six form the first pair?",
        "Both conventions are in use, and weights trained with one are wrong with the other. Here: 0 and 3.",
        "first, second = x[..., :half], x[..., half:], and torch.cat at the end.",
    ),
)
