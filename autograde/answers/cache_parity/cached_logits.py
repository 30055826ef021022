"""`cached_logits`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.answers.cache_parity.shared import (
    ATOL,
    KEYS_BEFORE_NORM,
    POSITION_AFTER_APPEND,
    POSITION_ZERO,
    KeysBeforeNorm,
    Listed,
    PositionAfterAppend,
    PositionZero,
    Preallocated,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.exercises.cache_parity import build
from tiny_transformer import norm, softmax


def _full_logits(case: Case) -> np.ndarray:
    return build(case.inputs["model"]).forward([case.inputs["ids"]])[0][0]


def _logits_by(decoder):
    """`cached_logits` through a decoder class."""

    def cached_logits(model, ids):
        it = decoder(model)
        return np.array([it.advance(token) if hasattr(it, "advance") else it.step(token) for token in ids])

    return cached_logits


class _Unscaled(Listed):
    def attend(self, q):
        return softmax(np.array(self.keys) @ q) @ np.array(self.values)


class _NoResidual(Listed):
    def residual(self, x):
        return 0.0


class _NoRelu(Listed):
    def mlp(self, h):
        p = self.model.p
        return norm(h, p["g2"], p["b2"])[0] @ p["F"] @ p["G"]


class _FirstNormTwice(Listed):
    def mlp(self, h):
        p = self.model.p
        return np.maximum(norm(h, p["g1"], p["b1"])[0] @ p["F"], 0) @ p["G"]


class _AttendsBeforeAppend(Listed):
    def attend(self, q):
        if len(self.keys) == 1:
            return np.zeros_like(q)
        return softmax(np.array(self.keys[:-1]) @ q / math.sqrt(self.model.width)) @ np.array(self.values[:-1])


ANSWER = Answer(
    exercise=exercise("cached_logits"),
    expected=_full_logits,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "position_zero",
            _logits_by(PositionZero),
            POSITION_ZERO,
        ),
        Misconception(
            "position_after_append",
            _logits_by(PositionAfterAppend),
            POSITION_AFTER_APPEND,
        ),
        Misconception(
            "keys_before_norm",
            _logits_by(KeysBeforeNorm),
            KEYS_BEFORE_NORM,
        ),
        Misconception(
            "unscaled",
            _logits_by(_Unscaled),
            Advice(
                "Did you leave the scores undivided by the square root of the width?",
                (
                    "The first token is right, the second is not. What does the first one not depend on?",
                    "With one key the softmax is 1, whatever the score; with two the scale matters.",
                    "Divide the scores by np.sqrt(model.width).",
                ),
            ),
        ),
        Misconception(
            "attends_before_append",
            _logits_by(_AttendsBeforeAppend),
            Advice(
                "Did the new token attend only to the old rows, without its own?",
                (
                    "What can the very first token attend to?",
                    "The allowed prefix of a query includes the query's own position.",
                    "Append k and v first, then attend.",
                ),
            ),
        ),
        Misconception(
            "no_residual",
            _logits_by(_NoResidual),
            Advice(
                "Did you leave x out of the sum, so that the attention's output stands alone?",
                (
                    "What is h in `forward`?",
                    "The block is residual: it adds to x, it does not replace it.",
                    'h = x + attended @ model.p["O"].',
                ),
            ),
        ),
        Misconception(
            "no_relu",
            _logits_by(_NoRelu),
            Advice(
                "Did you leave the MLP without its non-linearity?",
                (
                    "What stands between F and G in `forward`?",
                    "Two matrices with nothing between them are one matrix.",
                    'np.maximum(m @ model.p["F"], 0) @ model.p["G"].',
                ),
            ),
        ),
        Misconception(
            "first_norm_twice",
            _logits_by(_FirstNormTwice),
            Advice(
                "Did you use the first norm's gain and bias for the second norm too?",
                (
                    "How many gains are there in model.p?",
                    "The MLP reads its own normalised h, with g2 and b2.",
                    'norm(h, model.p["g2"], model.p["b2"]).',
                ),
            ),
        ),
    ),
    alternatives=(_logits_by(Listed), _logits_by(Preallocated)),
    hints=(
        "Write one step first: the row of one token, from its embedding to its logits.",
        "Follow `forward` line by line, for one row; only attention looks at other rows, and finds them stored.",
        "Keep two lists. Per token: x, n, append n @ K and n @ V, attend over both lists, then the MLP and U.",
    ),
)
