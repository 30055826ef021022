"""Attention in which several query heads share one head of keys and values (Ainslie et al., arXiv 2305.13245).

This is the library's version of what lesson 05 builds by hand. Shapes: B requests, H query heads, Hkv KV heads, m
queries, T keys, dh head width. Query head h reads KV head h // (H / Hkv): neighbours share.
"""

import math

import torch

from kvlab import masks
from kvlab.sizes import whole


def group_size(num_heads: int, num_kv_heads: int) -> int:
    """How many query heads share a KV head. ValueError when the heads cannot be shared out evenly."""
    num_heads, num_kv_heads = whole("num_heads", num_heads), whole("num_kv_heads", num_kv_heads)
    if num_heads % num_kv_heads:
        raise ValueError(f"heads: wanted a number of query heads that {num_kv_heads} divides, got {num_heads}")
    return num_heads // num_kv_heads


def kv_head_of(query_head: int, num_heads: int, num_kv_heads: int) -> int:
    """The KV head that a query head reads; both count from 0. ValueError as `group_size`, or for no such head."""
    group = group_size(num_heads, num_kv_heads)
    if whole("query_head", query_head, 0) >= num_heads:
        raise ValueError(f"query_head: wanted a head from 0 to {num_heads - 1}, got {query_head}")
    return query_head // group


def repeat_kv(k: torch.Tensor, num_heads: int) -> torch.Tensor:
    """`k` (B, Hkv, T, dh) with each head written once for every query head that reads it: (B, H, T, dh), a copy.

    ValueError as `group_size`.
    """
    return k.repeat_interleave(group_size(num_heads, k.shape[1]), dim=1)


def grouped_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, start: int) -> torch.Tensor:
    """Causal attention (B, m, H · dh) of a chunk behind `start` tokens; K and V are read where they lie.

    `q` (B, H, m, dh), `k` and `v` (B, Hkv, start + m, dh). The queries of one group become rows of one matrix, so
    each KV head meets all its readers in one product and is never repeated. ValueError when sizes disagree.
    """
    batch, heads, chunk, width = q.shape
    group = group_size(heads, k.shape[1])
    mask = _mask(start, chunk, k)
    rows = (q / math.sqrt(width)).reshape(batch, -1, group * chunk, width)
    scores = (rows @ k.mT).view(batch, -1, group, chunk, k.shape[2])
    weights = scores.masked_fill_(~mask, -math.inf).softmax(dim=-1)
    out = weights.view(batch, -1, group * chunk, k.shape[2]) @ v
    return _side_by_side(out.view(batch, heads, chunk, width))


def expanded_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, start: int) -> torch.Tensor:
    """The same by way of `repeat_kv`, which writes every KV head once for each of its readers. Errors as above."""
    k, v = repeat_kv(k, q.shape[1]), repeat_kv(v, q.shape[1])
    scores = (q / math.sqrt(q.shape[-1])) @ k.mT
    weights = scores.masked_fill_(~_mask(start, q.shape[2], k), -math.inf).softmax(dim=-1)
    return _side_by_side(weights @ v)


def _mask(start: int, chunk: int, k: torch.Tensor) -> torch.Tensor:
    if k.shape[2] != start + chunk:
        raise ValueError(f"k: wanted {start} + {chunk} keys, the chunk's own included, got {k.shape[2]}")
    return torch.from_numpy(masks.allowed(start, chunk)).to(k.device)


def _side_by_side(out: torch.Tensor) -> torch.Tensor:
    """(B, H, m, dh) as (B, m, H · dh): the heads of a token in one row."""
    return out.transpose(1, 2).flatten(2)
