"""A decoder that fits on a page: one block, one head, learned positions, float64, NumPy only.

It has random weights and speaks no language. It exists so that two ways of computing the same logits, with a cache
and without, can be compared to the last digits. Shapes: B batch, T tokens, D width, M hidden, V vocabulary, C context.
"""

import numpy as np


def softmax(x):
    """Softmax over the last axis. Shifting by the maximum changes nothing but keeps exp from overflowing."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def norm(x, gain, bias, eps=1e-5):
    """Layer norm over the last axis: (y, saved), where saved holds the normalised x and 1 / its deviation."""
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    normal = centred * scale
    return normal * gain + bias, (normal, scale)


class TinyDecoder:
    """One pre-norm causal block. The same arguments give the same weights, in every process.

    `p` holds the weights: E (V,D) token and P (C,D) position embeddings; g1, b1, g2, b2 (D,) norms; Q, K, V, O (D,D)
    attention; F (D,M), G (M,D) the MLP; U (D,V) the read-out. Positions weigh as much as tokens, so that a wrong
    position shows in the logits; gains are not 1 and biases not 0, so that a forgotten one shows too.
    """

    def __init__(self, vocab=3, context=8, width=12, hidden=24, seed=13):
        rng = np.random.default_rng(seed)

        def draw(rows, columns, scale):
            return rng.standard_normal((rows, columns)) * scale

        self.vocab, self.context, self.width = vocab, context, width
        self.p = {"E": draw(vocab, width, 1.0), "P": draw(context, width, 1.0)}
        for name in "QKVO":
            self.p[name] = draw(width, width, width**-0.5)
        self.p["F"] = draw(width, hidden, width**-0.5)
        self.p["G"] = draw(hidden, width, hidden**-0.5)
        self.p["U"] = draw(width, vocab, width**-0.5)
        for i in "12":
            self.p["g" + i] = 1 + 0.2 * rng.standard_normal(width)
            self.p["b" + i] = 0.2 * rng.standard_normal(width)

    def forward(self, ids):
        """Logits (B,T,V) of every position of ids (B,T), and a dict of the arrays on the way.

        ValueError unless ids are integers from 0 to vocab - 1, of shape (B, T) with B >= 1 and 1 <= T <= context.
        """
        ids = np.asarray(ids)
        if ids.dtype.kind not in "iu" or ids.ndim != 2 or ids.size == 0:
            raise ValueError(f"ids must be integers of shape (B, T), at least one; got {ids.dtype} of shape {ids.shape}")
        if ids.shape[1] > self.context:
            raise ValueError(f"context holds {self.context} tokens; got {ids.shape[1]}")
        if ids.min() < 0 or ids.max() >= self.vocab:
            raise ValueError(f"ids must lie in 0..{self.vocab - 1}; got {ids.min()}..{ids.max()}")
        p, length = self.p, ids.shape[1]
        x = p["E"][ids] + p["P"][:length]
        n, saved1 = norm(x, p["g1"], p["b1"])
        q, k, v = n @ p["Q"], n @ p["K"], n @ p["V"]
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(self.width)
        future = np.triu(np.ones((length, length), dtype=bool), 1)
        weights = softmax(np.where(future, -np.inf, scores))
        h = x + weights @ v @ p["O"]
        m, saved2 = norm(h, p["g2"], p["b2"])
        hidden = np.maximum(m @ p["F"], 0)
        z = h + hidden @ p["G"]
        saved = {"x": x, "n": n, "q": q, "k": k, "v": v, "weights": weights, "h": h, "m": m, "hidden": hidden, "z": z}
        return z @ p["U"], saved | {"norm1": saved1, "norm2": saved2}
