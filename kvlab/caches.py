"""Caches of grouped keys and values in PyTorch, for inference: no gradient passes through them.

This is the library's version of what lesson 05 builds by hand. Shapes: B requests, Hkv KV heads, T stored tokens, m
tokens of a chunk, dh head width, D model width. Every refusal is a ValueError, and leaves storage and counters as they
were, bit for bit.
"""

import torch

from kvlab.attention import group_size, grouped_attention
from kvlab.rope import rope
from kvlab.sizes import whole


class GroupedCache:
    """Keys and values of one layer in storage that is allocated once.

    `used` tokens are stored; `keys` and `values` are views of the storage, not copies.
    """

    def __init__(
        self,
        batch: int,
        num_heads: int,
        num_kv_heads: int,
        head_dim: int,
        capacity: int,
        dtype: torch.dtype = torch.float64,
        device: str | torch.device = "cpu",
    ):
        group_size(num_heads, num_kv_heads)
        shape = (whole("batch", batch), num_kv_heads, whole("capacity", capacity), whole("head_dim", head_dim))
        self.storage = torch.empty((2, *shape), dtype=dtype, device=device)  # K, then V
        self.used = 0

    @property
    def capacity(self) -> int:
        """Tokens that the storage has room for."""
        return self.storage.shape[3]

    @property
    def keys(self) -> torch.Tensor:
        """The stored keys (B, Hkv, used, dh), a view."""
        return self.storage[0, :, :, : self.used]

    @property
    def values(self) -> torch.Tensor:
        """The stored values (B, Hkv, used, dh), a view."""
        return self.storage[1, :, :, : self.used]

    def append(self, k: torch.Tensor, v: torch.Tensor) -> None:
        """Store a chunk, `k` and `v` of shape (B, Hkv, m, dh) with m ≥ 1, behind what is stored."""
        for name, new in (("k", k), ("v", v)):
            self._refuse(name, new)
        if k.shape != v.shape:
            raise ValueError(f"v: wanted as many tokens as k has, {k.shape[2]}, got {v.shape[2]}")
        end = self.used + k.shape[2]
        if end > self.capacity:
            raise ValueError(f"capacity: wanted at most {self.capacity} tokens, got {self.used} and {k.shape[2]} more")
        self.storage[0, :, :, self.used : end] = k.detach()
        self.storage[1, :, :, self.used : end] = v.detach()
        self.used = end

    def truncate(self, n: int) -> None:
        """Keep the first `n` tokens, 0 ≤ n ≤ used: what came behind them leaves the cache."""
        if whole("n", n, 0) > self.used:
            raise ValueError(f"n: wanted at most the {self.used} tokens that are stored, got {n}")
        self.used = n

    def _refuse(self, name: str, new: torch.Tensor) -> None:
        _, batch, heads, _, width = self.storage.shape
        if new.ndim != 4 or (new.shape[0], new.shape[1], new.shape[3]) != (batch, heads, width) or not new.shape[2]:
            raise ValueError(f"{name}: wanted shape ({batch}, {heads}, m ≥ 1, {width}), got {tuple(new.shape)}")
        if (new.dtype, new.device) != (self.storage.dtype, self.storage.device):
            wanted = f"{self.storage.dtype} on {self.storage.device}"
            raise ValueError(f"{name}: wanted {wanted}, got {new.dtype} on {new.device}")


class ConcatenatedCache:
    """The same rows in tensors that each append makes anew, for comparison: it checks nothing."""

    def __init__(self):
        self.keys = self.values = None

    @property
    def used(self) -> int:
        """Stored tokens."""
        return 0 if self.keys is None else self.keys.shape[2]

    def append(self, k: torch.Tensor, v: torch.Tensor) -> None:
        """Put a chunk, `k` and `v` of shape (B, Hkv, m, dh), behind what is stored: every row is copied."""
        self.keys = k if self.keys is None else torch.cat([self.keys, k], dim=2)
        self.values = v if self.values is None else torch.cat([self.values, v], dim=2)


class RotaryCache:
    """One attention layer with rotary positions and a cache.

    `weights` holds WQ (D, H · dh), WK and WV (D, Hkv · dh), WO (H · dh, D), num_heads and num_kv_heads. The first
    chunk says how many requests there are.
    """

    def __init__(self, weights: dict[str, torch.Tensor | int], capacity: int):
        group_size(weights["num_heads"], weights["num_kv_heads"])
        self.weights, self.capacity, self.cache = weights, whole("capacity", capacity), None

    @property
    def used(self) -> int:
        """Stored tokens."""
        return self.cache.used if self.cache else 0

    def step(self, x: torch.Tensor) -> torch.Tensor:
        """The layer's output (B, m, D) for a chunk `x` (B, m, D), which is stored. ValueError as GroupedCache.append.

        Keys are turned once, at their absolute positions, before they are stored; values are not turned at all.
        """
        w = self.weights
        if x.ndim != 3 or x.shape[-1] != len(w["WQ"]):
            raise ValueError(f"x: wanted shape (B, m, {len(w['WQ'])}), got {tuple(x.shape)}")
        cache = self.cache or self._cache_for(x)
        start = cache.used
        positions = torch.arange(start, start + x.shape[1], device=x.device)
        q = rope(_heads(x @ w["WQ"], w["num_heads"]), positions)
        k = rope(_heads(x @ w["WK"], w["num_kv_heads"]), positions)
        cache.append(k, _heads(x @ w["WV"], w["num_kv_heads"]))
        self.cache = cache
        return grouped_attention(q, cache.keys, cache.values, start) @ w["WO"]

    def _cache_for(self, x: torch.Tensor) -> GroupedCache:
        w = self.weights
        width = w["WK"].shape[1] // w["num_kv_heads"]
        return GroupedCache(len(x), w["num_heads"], w["num_kv_heads"], width, self.capacity, x.dtype, x.device)


def elements_copied(tokens: int, row_elements: int) -> tuple[int, int]:
    """Elements written when `tokens` rows of `row_elements` come one by one: by concatenation, by preallocation.

    Concatenation writes every old row and the new one at each step; preallocation writes each row once.
    TypeError or ValueError names an argument that is no whole number in range.
    """
    tokens, row_elements = whole("tokens", tokens, 0), whole("row_elements", row_elements)
    return row_elements * tokens * (tokens + 1) // 2, row_elements * tokens


def _heads(rows: torch.Tensor, heads: int) -> torch.Tensor:
    """(B, m, heads · dh) as (B, heads, m, dh)."""
    return rows.unflatten(-1, (heads, -1)).transpose(1, 2)
