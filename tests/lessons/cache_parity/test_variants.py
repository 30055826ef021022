"""Lesson 03, people make the same mistake in other words: the same name. An unrelated error: no name."""

import math
from itertools import product

import numpy as np
import pytest

from autograde.answers import answer_of
from autograde.check import examine
from tests.variants import pair_of_tests
from tiny_transformer import norm, softmax


class Decoder:
    """Right, and built unlike any other here: one (2, T, D) array grown by concatenation; variants change one line."""

    def __init__(self, model):
        self.m, self.kv = model, np.empty((2, 0, model.width))

    def __len__(self):
        return self.kv.shape[1]

    def reset(self):
        self.kv = self.kv[:, :0]

    def where(self):
        return self.kv.shape[1]

    def legal(self, ids):
        fits = len(self) + len(ids) <= self.m.context
        return fits and all(isinstance(i, int) and i in range(self.m.vocab) for i in ids)

    def project(self, x, n):
        return n @ self.m.p["K"], n @ self.m.p["V"]

    def one(self, i):
        p, m = self.m.p, self.m
        x = p["E"][i] + p["P"][self.where()]
        n = norm(x, p["g1"], p["b1"])[0]
        self.kv = np.concatenate([self.kv, np.stack(self.project(x, n))[:, None]], axis=1)
        w = softmax((self.kv[0] * (n @ p["Q"])).sum(-1) / m.width**0.5)
        h = x + np.einsum("t,td->d", w, self.kv[1]) @ p["O"]
        return (h + np.clip(norm(h, p["g2"], p["b2"])[0] @ p["F"], 0, None) @ p["G"]) @ p["U"]

    def step(self, i):
        if not self.legal([i]):
            raise ValueError
        return self.one(i)

    def prefill(self, ids):
        if len(self) or not ids or not self.legal(ids):
            raise ValueError
        return np.vstack([self.one(i) for i in ids])


class NoPosition(Decoder):
    def where(self):
        return 0 * len(self)


class CountsItself(Decoder):
    def where(self):
        return sum(1 for _ in self.kv[0]) + 1


class RawKeys(Decoder):
    def project(self, x, n):
        return x @ self.m.p["K"], n @ self.m.p["V"]


class Modulo(Decoder):
    def where(self):
        return divmod(len(self), self.m.context)[1]

    def legal(self, ids):
        return all(isinstance(i, int) and 0 <= i < self.m.vocab for i in ids)


class OnlyUpperBound(Decoder):
    def legal(self, ids):
        try:
            return len(self) + len(ids) <= self.m.context and max(map(int.__index__, ids)) < self.m.vocab
        except TypeError:
            return False


class StepByStep(Decoder):
    def prefill(self, ids):
        if len(self) or not ids:
            raise ValueError
        out = []
        for i in ids:
            out.append(self.step(i))
        return np.array(out)


class AppendsAnyway(Decoder):
    def prefill(self, ids):
        if not ids or not self.legal(ids):
            raise ValueError
        return np.vstack([self.one(i) for i in ids])


class Replays(Decoder):
    """Keeps ids and starts from an empty cache at every step."""

    history = ()

    def reset(self):
        super().reset()
        self.history = ()

    def one(self, i):
        self.history = (*self.history, i)
        super().reset()
        return [Decoder.one(self, each) for each in self.history][-1]


def through(decoder):
    def cached_logits(model, ids):
        it = decoder(model)
        return np.vstack([it.one(i) for i in ids])

    return cached_logits


def not_large(a, b, atol):
    for row in range(len(a)):
        if max(abs(x - y) for x, y in zip(a[row], b[row], strict=True)) > atol:
            return row
    return None


def same_winner(a, b, atol):
    for row, (x, y) in enumerate(zip(a, b, strict=True)):
        if np.argsort(x)[-1] != np.argsort(y)[-1]:
            return row
    return None


def allclose_rows(a, b, atol):
    for row in range(len(a)):
        if not np.allclose(a[row], b[row], atol=atol):
            return row
    return None


def greedy(logits, u):
    return max(range(len(logits)), key=lambda i: logits[i])


class StoresHidden(Decoder):
    """All stored inputs are projected before each step, in two products."""

    def project(self, x, n):
        self.normed = np.vstack([self.normed, n]) if len(self) else n[None]
        return super().project(x, n)

    def one(self, i):
        if len(self):
            self.kv = np.stack([self.normed @ self.m.p["K"], self.normed @ self.m.p["V"]])
        return super().one(i)


def by_likelihood(logits, u):
    p = softmax(np.array(logits))
    for i in sorted(range(len(p)), key=lambda i: -p[i]):
        u -= p[i]
        if u < 0:
            return i
    return None


def closed_shares(logits, u):
    total, p = 0.0, softmax(np.array(logits))
    for i, each in enumerate(p):
        total += each
        if total >= u:
            return i
    return len(p)


def looks_at_the_end(model):
    blind = dict(model.p, P=np.tile(model.p["P"][0], (model.context, 1)))
    for ids in product(range(model.vocab), repeat=model.context):
        right = model.forward([ids])[0][0].argmax(-1)
        keep, model.p = model.p, blind
        wrong = model.forward([ids])[0][0].argmax(-1)
        model.p = keep
        if right[-1] == wrong[-1] and any(right != wrong):
            return list(ids)
    return None


VARIANTS = [
    ("cached_logits", through(NoPosition), "position_zero"),
    ("cached_logits", through(CountsItself), "position_after_append"),
    ("cached_logits", through(RawKeys), "keys_before_norm"),
    ("CachedDecoder", NoPosition, "position_zero"),
    ("CachedDecoder", RawKeys, "keys_before_norm"),
    ("CachedDecoder", Modulo, "wraps_around"),
    ("CachedDecoder", OnlyUpperBound, "negative_ids_wrap"),
    ("CachedDecoder", StepByStep, "prefill_stores_half"),
    ("CachedDecoder", AppendsAnyway, "prefill_extends"),
    ("CachedDecoder", Replays, "recomputes_rows"),
    ("CachedDecoder", StoresHidden, "keeps_inputs"),
    ("first_divergence", allclose_rows, "relative_too"),
    ("first_divergence", same_winner, "argmax_only"),
    ("first_divergence", not_large, "nan_equal"),
    ("hidden_by_argmax", looks_at_the_end, "last_row_only"),
    ("sample", greedy, "arg_max"),
    ("sample", by_likelihood, "sorted_first"),
    ("sample", lambda logits, u: math.floor(u * len(logits)), "all_equally_likely"),
    (
        "first_divergence",
        lambda a, b, atol: next((i for i in range(len(a)) if not abs(a - b)[i].max() < atol), None),
        "strictly_below",
    ),
    ("sample", closed_shares, "boundary_included"),
]


class Sloppy(Decoder):
    """An unrelated error: the MLP is left out."""

    def one(self, i):
        return super().one(i) * 0.5


class NoResidual(Decoder):
    def one(self, i):
        return super().one(i) - self.m.p["E"][i] @ self.m.p["U"]


class SilentRefusal(Decoder):
    def step(self, i):
        return self.one(i) if self.legal([i]) else None


UNRELATED = [
    ("cached_logits", through(Sloppy)),
    ("cached_logits", through(NoResidual)),
    ("cached_logits", lambda model, ids: np.zeros((len(ids), model.vocab))),
    ("CachedDecoder", Sloppy),
    ("CachedDecoder", SilentRefusal),
    ("first_divergence", lambda a, b, atol: 0),
    ("first_divergence", lambda a, b, atol: bool((abs(a - b) > atol).any())),
    ("hidden_by_argmax", lambda model: []),
    ("hidden_by_argmax", lambda model: "01201"),
    ("sample", lambda logits, u: 0),
    ("sample", lambda logits, u: int(np.argmax(np.cumsum(softmax(logits)) > 1 - u))),
]


@pytest.mark.parametrize("name", ["CachedDecoder", "cached_logits"])
def test_the_base_of_the_variants_is_right(name):
    assert examine(answer_of(name), 1, Decoder if name == "CachedDecoder" else through(Decoder), 5).right


def test_a_list_of_rows_is_no_array_and_the_check_says_so():
    class Rows(Decoder):
        def prefill(self, ids):
            return list(super().prefill(ids))

    verdict = examine(answer_of("CachedDecoder"), 1, Rows, 5)
    assert verdict.case_label == "a prompt, then steps" and "ndarray was wanted" in verdict.note


test_the_same_mistake_in_other_words_gets_the_same_name, test_an_unrelated_error_is_rejected_without_a_name = (
    pair_of_tests(VARIANTS, UNRELATED)
)
