"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

import math

import numpy as np

from autograde.exercise import Advice
from tiny_transformer import norm, softmax

ATOL = 1e-10


class Listed:
    """Right: rows of K and V in lists."""

    def __init__(self, model):
        self.model = model
        self.reset()

    def reset(self):
        self.keys, self.values = [], []

    def __len__(self):
        return len(self.keys)

    def position(self):
        return len(self)

    def refuse(self, tokens):
        if len(self) + len(tokens) > self.model.context:
            raise ValueError(f"the context holds {self.model.context} tokens")
        for token in tokens:
            if type(token) is not int or not 0 <= token < self.model.vocab:
                raise ValueError(f"no such id: {token!r}")

    def rows(self, token):
        """x, and what q, k and v are projected from."""
        x = self.model.p["E"][token] + self.model.p["P"][self.position()]
        n, _ = norm(x, self.model.p["g1"], self.model.p["b1"])
        return x, n, n, n

    def attend(self, q):
        return softmax(np.array(self.keys) @ q / math.sqrt(self.model.width)) @ np.array(self.values)

    def advance(self, token):
        p = self.model.p
        x, for_q, for_k, for_v = self.rows(token)
        self.keys.append(for_k @ p["K"])
        self.values.append(for_v @ p["V"])
        h = self.residual(x) + self.attend(for_q @ p["Q"]) @ p["O"]
        return (h + self.mlp(h)) @ p["U"]

    def residual(self, x):
        return x

    def mlp(self, h):
        p = self.model.p
        return np.maximum(norm(h, p["g2"], p["b2"])[0] @ p["F"], 0) @ p["G"]

    def step(self, token):
        self.refuse([token])
        return self.advance(token)

    def prefill(self, tokens):
        if len(self):
            raise ValueError("prefill wants an empty cache")
        if not tokens:
            raise ValueError("nothing to prefill")
        self.refuse(tokens)
        return np.array([self.advance(token) for token in tokens])


class Preallocated:
    """Right: one array for K and V, a count, and a prompt computed in one rectangular pass."""

    def __init__(self, model):
        self.model = model
        self.store = np.zeros((2, model.context, model.width))
        self.used = 0

    def __len__(self):
        return self.used

    def reset(self):
        self.used = 0

    def step(self, token):
        return self._run([token])[0]

    def prefill(self, tokens):
        if self.used or len(tokens) == 0:
            raise ValueError("prefill wants an empty cache and at least one id")
        return self._run(tokens)

    def _run(self, tokens):
        start, end = self.used, self.used + len(tokens)
        try:
            known = all(token == int(token) and 0 <= token < self.model.vocab for token in tokens)
        except TypeError:
            known = False
        if end > self.model.context or not known:
            raise ValueError("beyond the context, or an unknown id")
        p = self.model.p
        x = p["E"][list(tokens)] + p["P"][start:end]
        n, _ = norm(x, p["g1"], p["b1"])
        self.store[:, start:end] = n @ p["K"], n @ p["V"]
        keys, values = self.store[:, :end]
        scores = n @ p["Q"] @ keys.T / np.sqrt(self.model.width)
        scores[np.arange(end) > np.arange(start, end)[:, None]] = -np.inf
        h = x + softmax(scores) @ values @ p["O"]
        m, _ = norm(h, p["g2"], p["b2"])
        self.used = end
        return (h + np.maximum(m @ p["F"], 0) @ p["G"]) @ p["U"]


class PositionZero(Listed):
    def position(self):
        return 0


class PositionAfterAppend(Listed):
    def position(self):
        return len(self) + 1


class KeysBeforeNorm(Listed):
    def rows(self, token):
        x, n, _, _ = super().rows(token)
        return x, n, x, n


POSITION_ZERO = Advice(
    "Did every token get the embedding of position 0?",
    (
        "Feed the same token twice. Should both steps see the same input?",
        "A decoder that sees one token at a time must be told where it stands.",
        'Use model.p["P"][number of tokens stored before this one].',
    ),
)
POSITION_AFTER_APPEND = Advice(
    "Did you read the position after the new row had been counted, so that every token stands one too far?",
    (
        "At which position does the very first token stand?",
        "The position of a new token is the number of tokens stored before it.",
        "Take len(cache) before you append.",
    ),
)
KEYS_BEFORE_NORM = Advice(
    "Did you project the key from x, although attention reads the normalised x?",
    (
        "What are q and v made from in `forward`?",
        "The block is pre-norm: n = norm(x), then q, k and v from n.",
        'k = n @ model.p["K"], not x @ model.p["K"].',
    ),
)
