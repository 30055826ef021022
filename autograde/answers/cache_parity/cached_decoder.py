"""`CachedDecoder`: what is right, which mistakes are known, and what to say about them."""

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
from autograde.exercises.cache_parity import run_decoder
from tiny_transformer import norm


class _Recomputed:
    """Every step attends anew from the input rows and projections of all tokens, as they were when they came."""

    def __init__(self, model):
        self.model, self.rows, self.projections = model, [], []

    def __len__(self):
        return len(self.rows)

    def reset(self):
        self.rows, self.projections = [], []

    def prefill(self, tokens):
        if self.rows or not tokens:
            raise ValueError
        self._refuse(tokens)
        return np.stack([self.step(token) for token in tokens])

    def step(self, token):
        self._refuse([token])
        p = self.model.p
        self.rows.append(p["E"][token] + p["P"][len(self.rows)])
        self.projections.append((p["K"].copy(), p["V"].copy()))
        normed, _ = norm(np.array(self.rows), p["g1"], p["b1"])
        keys, values = (np.einsum("td,tde->te", normed, np.array(each)) for each in zip(*self.projections, strict=True))
        scores = np.einsum("d,td->t", normed[-1] @ p["Q"], keys) / math.sqrt(self.model.width)
        weights = np.exp(scores - scores.max())
        h = self.rows[-1] + np.average(values, axis=0, weights=weights) @ p["O"]
        inner, _ = norm(h, p["g2"], p["b2"])
        return (h + np.clip(inner @ p["F"], 0, None) @ p["G"]) @ p["U"]

    def _refuse(self, tokens):
        known = range(self.model.vocab)
        if len(self.rows) + len(tokens) > self.model.context or any(
            type(token) is not int or token not in known for token in tokens
        ):
            raise ValueError


def _decoder_steps(case: Case) -> list[object]:
    return run_decoder(_Recomputed, case)


class _ChangedBeforeValidation(Listed):
    """Counts the token, then looks whether it may come."""

    def reset(self):
        super().reset()
        self.used = 0

    def __len__(self):
        return self.used

    def position(self):
        return self.used - 1

    def step(self, token):
        self.used += 1
        if self.used > self.model.context:
            raise ValueError("full")
        if type(token) is not int or not 0 <= token < self.model.vocab:
            raise ValueError("unknown id")
        return self.advance(token)

    def prefill(self, tokens):
        if self.used or not tokens:
            raise ValueError("prefill wants an empty cache and at least one id")
        self.refuse(tokens)
        return np.array([self.step(token) for token in tokens])


class _ValuesNotReset(Listed):
    def reset(self):
        self.keys = []
        self.values = getattr(self, "values", [])


class _WrapsAround(Listed):
    def position(self):
        return len(self) % self.model.context

    def refuse(self, tokens):
        for token in tokens:
            if type(token) is not int or not 0 <= token < self.model.vocab:
                raise ValueError("unknown id")


class _NegativeIdsWrap(Listed):
    def refuse(self, tokens):
        if len(self) + len(tokens) > self.model.context:
            raise ValueError("full")
        if any(type(token) is not int or token >= self.model.vocab for token in tokens):
            raise ValueError("unknown id")


class _KeepsCallersList(Listed):
    """Remembers the prompt by reference, and appends each later id to it."""

    def reset(self):
        super().reset()
        self.ids = []

    def prefill(self, tokens):
        logits = super().prefill(tokens)
        self.ids = tokens
        return logits

    def step(self, token):
        logits = super().step(token)
        self.ids.append(token)
        return logits


class _PrefillStoresHalf(Listed):
    def prefill(self, tokens):
        if len(self) or not tokens:
            raise ValueError("prefill wants an empty cache and at least one id")
        return np.array([self.step(token) for token in tokens])


class _PrefillExtends(Listed):
    def prefill(self, tokens):
        if not tokens:
            raise ValueError("nothing to prefill")
        self.refuse(tokens)
        return np.array([self.advance(token) for token in tokens])


class _RecomputesRows(Listed):
    """Keeps the ids and projects all of them again at each step."""

    def reset(self):
        super().reset()
        self.ids = []

    def advance(self, token):
        self.ids.append(token)
        self.keys, self.values = [], []
        for each in self.ids:
            logits = super().advance(each)
        return logits


class _KeepsInputs(Listed):
    """Keeps what K and V are projected from, and projects all of it again at each step."""

    def reset(self):
        super().reset()
        self.inputs = []

    def advance(self, token):
        self.inputs.append(self.rows(token)[2])
        self.keys = [row @ self.model.p["K"] for row in self.inputs[:-1]]
        self.values = [row @ self.model.p["V"] for row in self.inputs[:-1]]
        return super().advance(token)


ANSWER = Answer(
    exercise=exercise("CachedDecoder"),
    expected=_decoder_steps,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "position_zero",
            PositionZero,
            POSITION_ZERO,
        ),
        Misconception(
            "position_after_append",
            PositionAfterAppend,
            POSITION_AFTER_APPEND,
        ),
        Misconception(
            "keys_before_norm",
            KeysBeforeNorm,
            KEYS_BEFORE_NORM,
        ),
        Misconception(
            "changed_before_validation",
            _ChangedBeforeValidation,
            Advice(
                "Was the token counted before you looked whether it may come?",
                (
                    "What does len() give after a refused step?",
                    "A refusal must leave everything as it was, so that the next valid step gives its usual logits.",
                    "Do all checks first, and change the cache afterwards.",
                ),
                source="panbanda/higgs#18: a cache was changed before its input had been validated.",
            ),
        ),
        Misconception(
            "values_not_reset",
            _ValuesNotReset,
            Advice(
                "Does `reset` forget the keys but keep the values?",
                (
                    "Which lists are empty after a reset?",
                    "Weights over new keys, applied to old values: the lengths no longer match.",
                    "Empty both lists.",
                ),
            ),
        ),
        Misconception(
            "wraps_around",
            _WrapsAround,
            Advice(
                "When the context was full, did you start again at position 0 instead of refusing?",
                (
                    "How many position embeddings are there?",
                    "A position that silently starts anew gives plausible, wrong logits.",
                    "Raise ValueError when len(self) == model.context.",
                ),
            ),
        ),
        Misconception(
            "negative_ids_wrap",
            _NegativeIdsWrap,
            Advice(
                "Did you let an id below 0 pass, which NumPy reads from the end of the table?",
                (
                    'What is model.p["E"][-1]?',
                    "Python and NumPy count negative indices from the end, without a word.",
                    "Check 0 <= token < model.vocab.",
                ),
            ),
        ),
        Misconception(
            "keeps_callers_list",
            _KeepsCallersList,
            Advice(
                "Did you keep the caller's own list of ids, and append to it?",
                (
                    "Who else holds the list that was passed to prefill?",
                    "`self.ids = tokens` makes no copy.",
                    "Use list(tokens), or keep no ids at all.",
                ),
            ),
        ),
        Misconception(
            "prefill_stores_half",
            _PrefillStoresHalf,
            Advice(
                "When a prompt held a wrong id near its end, did the ids before it stay in the cache?",
                (
                    "What does len() give after a refused prefill?",
                    "A prompt is stored whole or not at all.",
                    "Check all ids, and the length, before the first one is stored.",
                ),
            ),
        ),
        Misconception(
            "prefill_extends",
            _PrefillExtends,
            Advice(
                "Did prefill accept a prompt although the cache was in use?",
                (
                    "What is the state before a prefill?",
                    "This prefill is for an empty cache; appending a chunk to a used one is lesson 04.",
                    "Raise ValueError when len(self) > 0.",
                ),
            ),
        ),
        Misconception(
            "recomputes_rows",
            _RecomputesRows,
            Advice(
                "Do you project the earlier tokens again at each step, instead of keeping their rows?",
                (
                    "Which rows of K does one step compute?",
                    "A step computes q, k and v of one token. The others were stored when they came.",
                    "Append k and v in `step`; never loop over earlier ids.",
                ),
            ),
        ),
        Misconception(
            "keeps_inputs",
            _KeepsInputs,
            Advice(
                "Do you keep what keys and values are projected from, and project all of it again at each step?",
                (
                    "What does a step compute for tokens that came before?",
                    "A cache stores k and v themselves. Whoever stores inputs pays for every projection again.",
                    "Append `n @ model.p['K']` and `n @ model.p['V']`, and nothing else of the token.",
                ),
            ),
        ),
    ),
    alternatives=(Listed, Preallocated),
    hints=(
        "Start from your cached_logits: what it kept in local lists, the object keeps in its own.",
        "One private method refuses (context, ids), another advances by one token; step and prefill call both.",
        "prefill: refuse a used cache and an empty prompt, check all ids, then advance token by token.",
    ),
)
