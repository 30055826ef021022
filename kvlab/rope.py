"""Rotary position embedding (Su et al., arXiv 2104.09864): a position as an angle.

This is the library's version of what lesson 05 builds by hand. Element i of the first half of a head and element i of
the second half are one pair (half-split pairs, as in Llama's released code for `transformers`; the paper pairs
neighbours). A pair is a point in the plane, and position p turns it by p · θ^(−2i/dh).
"""

from collections.abc import Sequence

import torch

THETA = 10_000.0


def rope(x: torch.Tensor, positions: Sequence[int] | torch.Tensor, theta: float = THETA) -> torch.Tensor:
    """`x` (…, T, dh) with each row turned by its absolute position; the same shape and dtype.

    `positions` holds T whole numbers. The dot product of two turned rows depends on the difference of their positions
    alone. ValueError when dh is odd or the positions are not one for each row.
    """
    positions = torch.as_tensor(positions, device=x.device)
    if x.ndim < 2 or x.shape[-1] % 2:
        raise ValueError(f"x: wanted shape (…, T, dh) with an even dh, got {tuple(x.shape)}")
    if positions.shape != x.shape[-2:-1]:
        raise ValueError(f"positions: wanted {x.shape[-2]}, one for each row, got shape {tuple(positions.shape)}")
    return apply_rotary(x, *angles(positions, x.shape[-1], x.dtype, theta))


def angles(
    positions: torch.Tensor, head_dim: int, dtype: torch.dtype, theta: float = THETA
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine (T, dh / 2) of every pair at `positions` (T,), which all layers and heads of a step share."""
    half = head_dim // 2
    # In float64: at position 100,000 the angle of the fastest pair has few digits left in float32.
    inv_freq = theta ** -(torch.arange(half, dtype=torch.float64, device=positions.device) / half)
    turned = positions[:, None] * inv_freq  # radians
    return turned.cos().to(dtype), turned.sin().to(dtype)


def apply_rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """`x` (…, T, dh) with pair i of row t turned by the angle whose cosine and sine are `cos[t, i]`, `sin[t, i]`."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
