"""Cached decoding of a `TinyDecoder`, and how its logits are held against those of the full forward pass.

This is the library's version of what lesson 03 builds by hand. Shapes: T tokens, V vocabulary, D width.
Ids are whole numbers from 0 to V - 1; NumPy integers are taken, a bool, a float or a negative number is not.
"""

import operator
from collections.abc import Callable, Sequence
from copy import deepcopy

import numpy as np

from tiny_transformer import TinyDecoder, norm, softmax

ATOL = 1e-10  # absolute: the two ways of computing differ by rounding only, here about 1e-15


class CachedDecoder:
    """Decodes one token at a time, from the rows of K and V that earlier tokens left behind.

    `model` is a TinyDecoder; `forward` is never called. `len()` is the number of stored tokens. A call that
    is refused (ValueError) has changed nothing.
    """

    def __init__(self, model: TinyDecoder):
        self.model = model
        self.reset()

    def __len__(self) -> int:
        return len(self._keys)

    def reset(self) -> None:
        """Forget every stored row."""
        self._keys, self._values = [], []

    def step(self, token: int) -> np.ndarray:
        """The logits (V,) after one more token. ValueError on a wrong id or a full context."""
        return self._advance(*self._checked([token]))

    def prefill(self, tokens: Sequence[int]) -> np.ndarray:
        """The logits (len(tokens), V) of a whole prompt, on an empty cache only.

        ValueError on an empty prompt, a wrong id, a prompt beyond the context, or a cache in use.
        """
        if len(self):
            raise ValueError(f"prefill: wanted an empty cache, got one of {len(self)} tokens; call reset() first")
        tokens = self._checked(tokens)
        if not tokens:
            raise ValueError("prefill: wanted at least one id, got none")
        return np.stack([self._advance(token) for token in tokens])

    def _checked(self, tokens: Sequence[int]) -> list[int]:
        """The ids as Python ints. All are looked at before the first one is stored."""
        ids = [_known_id(token, self.model.vocab) for token in tokens]
        if len(self) + len(ids) > self.model.context:
            stored = f"{len(self)} stored and {len(ids)} more"
            raise ValueError(f"context: wanted at most {self.model.context} tokens, got {stored}")
        return ids

    def _advance(self, token: int) -> np.ndarray:
        p = self.model.p
        x = p["E"][token] + p["P"][len(self)]  # the position is the number of tokens before this one
        n, _ = norm(x, p["g1"], p["b1"])
        self._keys.append(n @ p["K"])
        self._values.append(n @ p["V"])
        weights = softmax(np.stack(self._keys) @ (n @ p["Q"]) / np.sqrt(self.model.width))
        h = x + weights @ np.stack(self._values) @ p["O"]
        m, _ = norm(h, p["g2"], p["b2"])
        return (h + np.maximum(m @ p["F"], 0) @ p["G"]) @ p["U"]


def cached_logits(model: TinyDecoder, ids: Sequence[int]) -> np.ndarray:
    """The logits (T, V) of every token of `ids`, from a cache. ValueError as `CachedDecoder.prefill`."""
    return CachedDecoder(model).prefill(ids)


def full_logits(model: TinyDecoder, ids: Sequence[int]) -> np.ndarray:
    """The logits (T, V) of the last token of every prefix of `ids`, each prefix recomputed from scratch.

    ValueError as `TinyDecoder.forward`.
    """
    return np.stack([model.forward([ids[: t + 1]])[0][0, -1] for t in range(len(ids))])


def differences(
    model: TinyDecoder, ids: Sequence[int], decoder: Callable[[TinyDecoder], object] = CachedDecoder
) -> np.ndarray:
    """How far (T, V) the logits of `decoder(model)`, stepped through `ids`, lie from `full_logits`: absolute values.

    ValueError when the steps do not give T × V numbers, or the ids are refused.
    """
    cached = decoder(model)
    return _apart(np.array([cached.step(token) for token in ids]), full_logits(model, ids))


def first_divergence(a: np.ndarray, b: np.ndarray, atol: float) -> int | None:
    """The first row in which some |a - b| is not within `atol`, or None. NaN is not within any tolerance.

    `a` and `b` are tables (T, V). There is no relative tolerance. ValueError when their shapes differ.
    """
    agrees = (_apart(a, b) <= atol).all(axis=-1)  # false for NaN, which > would miss
    return None if agrees.all() else int(np.argmin(agrees))


def position_zero(model: TinyDecoder) -> TinyDecoder:
    """A copy of `model` that reads every position as position 0: what a cache that resets its position computes."""
    blind = deepcopy(model)
    blind.p["P"] = np.repeat(model.p["P"][:1], model.context, axis=0)
    return blind


def sample(logits: np.ndarray, u: float) -> int:
    """The token in whose share of [0, 1) the draw `u` falls, shares laid in the order of the ids.

    `logits` (V,), -inf for a token that cannot come. ValueError when u is outside [0, 1), or when the logits
    give no probabilities.
    """
    if not 0 <= u < 1:
        raise ValueError(f"u: wanted a number from 0 up to, not including, 1, got {u!r}")
    logits = np.asarray(logits, dtype=float)
    if logits.ndim != 1 or not logits.size or not np.isfinite(logits.max()):
        raise ValueError(f"logits: wanted numbers of shape (V,), the largest finite, got {logits.tolist()}")
    ends = np.cumsum(softmax(logits))
    ends /= ends[-1]  # a sum rounded to below 1 would leave a gap that belongs to no token
    return int(np.searchsorted(ends, u, side="right"))  # a share includes its lower end only


def _known_id(token: object, vocab: int) -> int:
    try:
        number = operator.index(token)
    except TypeError:
        number = -1
    if isinstance(token, bool | np.bool_) or not 0 <= number < vocab:
        raise ValueError(f"id: wanted a whole number from 0 to {vocab - 1}, got {token!r}")
    return number


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 2 or a.shape != b.shape:
        raise ValueError(f"wanted two tables of one shape (T, V), got {a.shape} and {b.shape}")
    return np.abs(a - b)
