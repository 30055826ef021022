"""Which keys a query may see when a chunk of new tokens meets a cache, and attention through such a mask.

This is the library's version of what lesson 04 builds by hand. c cached tokens, then a chunk of m: queries stand at
positions c to c + m - 1, keys at 0 to c + m - 1. In a mask True means "may be seen"; rows are queries, columns keys.

c may be negative: then the first -c queries are padding in front of position 0. They see nothing, and attention
gives zeros for them, as pytorch/pytorch#108108 proposes for more queries than keys.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from kvlab.sizes import whole


def allowed(cached: int, chunk: int) -> np.ndarray:
    """The mask (chunk, cached + chunk) of a chunk behind `cached` tokens: each query sees the keys up to its own.

    TypeError or ValueError unless both are whole numbers, chunk ≥ 1 and cached + chunk ≥ 1.
    """
    cached, chunk = _sizes(cached, chunk)
    return np.arange(cached + chunk) <= cached + np.arange(chunk)[:, None]


def causal_upper_left(cached: int, chunk: int) -> np.ndarray:
    """The wrong mask (chunk, cached + chunk) that forgets the cache: query i sees keys 0 to i.

    It is `torch.nn.attention.bias.causal_upper_left`, and what torch's `is_causal=True` means. Errors as `allowed`.
    """
    cached, chunk = _sizes(cached, chunk)
    return np.tri(chunk, cached + chunk, dtype=bool)


def window_allowed(cached: int, chunk: int, window: int) -> np.ndarray:
    """As `allowed`, but each query sees at most `window` keys, its own included. Errors as `allowed`; window ≥ 1."""
    return in_window(allowed(cached, chunk), whole("window", window), _sizes(cached, chunk)[0])


def in_window(mask: np.ndarray, window: int, first: int) -> np.ndarray:
    """`mask` (m, keys) without the keys that lie `window` or more positions before their query.

    `first` is the position that the first row's query is taken to have.
    """
    queries, keys = np.arange(mask.shape[0])[:, None] + first, np.arange(mask.shape[1])
    return mask & (keys > queries - window)


def ragged_allowed(cached: Sequence[int], chunk: int) -> np.ndarray:
    """The masks (B, chunk, max(cached) + chunk) of a batch: keys from column 0, each chunk behind its own prefix.

    A slot without a request has cached length -chunk, and its rows allow nothing. Errors as `allowed` for the
    largest cached length; no entry may lie below -chunk.
    """
    lengths = [whole("cached", length, -whole("chunk", chunk)) for length in cached]
    if not lengths:
        raise ValueError("cached: wanted the cached length of at least one request, got none")
    longest, chunk = _sizes(max(lengths), chunk)
    ends = np.add.outer(lengths, np.arange(chunk))  # (B, chunk): the last key that each query sees
    return np.arange(longest + chunk) <= ends[:, :, None]


def additive_mask(allowed: np.ndarray) -> np.ndarray:
    """0.0 where `allowed`, a bool array of any shape, is True, and -inf elsewhere: to be added to scores.

    TypeError for another dtype.
    """
    allowed = np.asarray(allowed)
    if allowed.dtype != bool:
        raise TypeError(f"allowed: wanted an array of bool, got {allowed.dtype}")
    return np.where(allowed, 0.0, -np.inf)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """softmax(q kᵀ / √dh) v over the allowed keys: q (…, m, dh), k (…, K, dh), v (…, K, dv), mask (…, m, K).

    A row that allows nothing gives zeros. ValueError when the mask does not fit.
    """
    q, k, v = (np.asarray(each, dtype=float) for each in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if np.shape(mask) != scores.shape:
        raise ValueError(f"mask: wanted shape {scores.shape}, one row per query, got {np.shape(mask)}")
    scores = scores + additive_mask(mask)
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(largest), 0, largest))  # -inf minus -inf would be NaN
    total = weights.sum(axis=-1, keepdims=True)
    return weights @ v / np.where(total == 0, 1, total)


def masked_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, cached: int) -> np.ndarray:
    """Attention (m, dh) of a chunk's queries q (m, dh) over k, v (cached + m, dh). ValueError when sizes disagree."""
    return attend(q, k, v, allowed(cached, len(q)))


def chunked_attention(x: np.ndarray, widths: Sequence[int], weights: Mapping[str, np.ndarray]) -> np.ndarray:
    """Causal attention (T, dh) over x (T, D), fed in chunks of the given widths; the same for every partition.

    `weights` holds WQ, WK and WV, each (D, dh). ValueError unless the widths are at least 1 and sum to T.
    """
    widths = [whole("width", width) for width in widths]
    if not widths or sum(widths) != len(x):
        raise ValueError(f"widths: wanted whole numbers that sum to {len(x)}, got {widths}")
    keys = np.empty((0, weights["WK"].shape[1]))
    values = np.empty((0, weights["WV"].shape[1]))
    rows = []
    for width in widths:
        cached = len(keys)  # read before the chunk's own keys come
        new = x[cached : cached + width]
        keys = np.concatenate([keys, new @ weights["WK"]])
        values = np.concatenate([values, new @ weights["WV"]])
        rows.append(masked_attention(new @ weights["WQ"], keys, values, cached))
    return np.concatenate(rows)


def _sizes(cached: int, chunk: int) -> tuple[int, int]:
    chunk = whole("chunk", chunk)
    return whole("cached", cached, 1 - chunk), chunk
