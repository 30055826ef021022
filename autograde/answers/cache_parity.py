"""Lesson 03: what is right, by full recomputation, and the mistakes that people make with a cache.

The oracle never keeps K or V. It remembers the input row of each stored token and runs the model's own forward pass
over those rows again.
"""

import math
from copy import deepcopy

import numpy as np

from autograde.exercise import Answer, Case, Misconception
from autograde.exercises.cache_parity import (
    EXERCISES,
    _run_decoder,
    build,
    hidden_strings,
    position_zero,
)
from tiny_transformer import norm, softmax

ATOL = 1e-10

# ---------------------------------------------------------------------------
# Oracles


def _full_logits(case: Case) -> np.ndarray:
    return build(case.inputs["model"]).forward([case.inputs["ids"]])[0][0]


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
    return _run_decoder(_Recomputed, case)


def _first_row(case: Case) -> int | None:
    for row, (left, right) in enumerate(zip(case.inputs["a"], case.inputs["b"], strict=True)):
        for x, y in zip(left, right, strict=True):
            if math.isnan(x) or math.isnan(y) or abs(x - y) > case.inputs["atol"]:
                return row
    return None


def _some_hidden(case: Case) -> list[int]:
    model = build(case.inputs["model"])
    number = int(np.flatnonzero(hidden_strings(model))[0])
    return [number // model.vocab**power % model.vocab for power in reversed(range(model.context))]


def _lacks(case: Case, value: object) -> str:
    """What keeps ids from being hidden, or ""."""
    model = build(case.inputs["model"])
    ids = value.tolist() if isinstance(value, np.ndarray) else value
    if type(ids) is not list or len(ids) != model.context:
        return f"A list of {model.context} ids was wanted."
    if any(type(token) is not int or token not in range(model.vocab) for token in ids):
        return f"Ids are ints from 0 to {model.vocab - 1}."
    right, wrong = (each.forward([ids])[0][0] for each in (model, position_zero(model)))
    for row, tops in enumerate(zip(right.argmax(-1), wrong.argmax(-1), strict=True)):
        if tops[0] != tops[1]:
            return f"In row {row} the arg-max differs: {tops[0]} with the right positions, {tops[1]} with position 0."
    return "" if np.abs(right - wrong).max() >= 1e-3 else "No logit differs by 1e-3, so nothing is hidden."


def _is_hidden(case: Case, value: object) -> bool:
    return not _lacks(case, value)


def _drawn(case: Case) -> int:
    """Walk along the unit interval, one token's share after the other, with exactly rounded sums."""
    top = max(case.inputs["logits"])
    shares = [math.exp(logit - top) for logit in case.inputs["logits"]]
    total = math.fsum(shares)
    return next(i for i in range(len(shares)) if case.inputs["u"] < math.fsum(shares[: i + 1]) / total)


# ---------------------------------------------------------------------------
# Right answers by other algorithms, and the base that wrong ones change in one place


class _Listed:
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


class _Preallocated:
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


def _logits_by(decoder):
    """`cached_logits` through a decoder class."""

    def cached_logits(model, ids):
        it = decoder(model)
        return np.array([it.advance(token) if hasattr(it, "advance") else it.step(token) for token in ids])

    return cached_logits


class _PositionZero(_Listed):
    def position(self):
        return 0


class _PositionAfterAppend(_Listed):
    def position(self):
        return len(self) + 1


class _KeysBeforeNorm(_Listed):
    def rows(self, token):
        x, n, _, _ = super().rows(token)
        return x, n, x, n


class _Unscaled(_Listed):
    def attend(self, q):
        return softmax(np.array(self.keys) @ q) @ np.array(self.values)


class _NoResidual(_Listed):
    def residual(self, x):
        return 0.0


class _NoRelu(_Listed):
    def mlp(self, h):
        p = self.model.p
        return norm(h, p["g2"], p["b2"])[0] @ p["F"] @ p["G"]


class _FirstNormTwice(_Listed):
    def mlp(self, h):
        p = self.model.p
        return np.maximum(norm(h, p["g1"], p["b1"])[0] @ p["F"], 0) @ p["G"]


class _AttendsBeforeAppend(_Listed):
    def attend(self, q):
        if len(self.keys) == 1:
            return np.zeros_like(q)
        return softmax(np.array(self.keys[:-1]) @ q / math.sqrt(self.model.width)) @ np.array(self.values[:-1])


class _ChangedBeforeValidation(_Listed):
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


class _ValuesNotReset(_Listed):
    def reset(self):
        self.keys = []
        self.values = getattr(self, "values", [])


class _WrapsAround(_Listed):
    def position(self):
        return len(self) % self.model.context

    def refuse(self, tokens):
        for token in tokens:
            if type(token) is not int or not 0 <= token < self.model.vocab:
                raise ValueError("unknown id")


class _NegativeIdsWrap(_Listed):
    def refuse(self, tokens):
        if len(self) + len(tokens) > self.model.context:
            raise ValueError("full")
        if any(type(token) is not int or token >= self.model.vocab for token in tokens):
            raise ValueError("unknown id")


class _KeepsCallersList(_Listed):
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


class _PrefillStoresHalf(_Listed):
    def prefill(self, tokens):
        if len(self) or not tokens:
            raise ValueError("prefill wants an empty cache and at least one id")
        return np.array([self.step(token) for token in tokens])


class _PrefillExtends(_Listed):
    def prefill(self, tokens):
        if not tokens:
            raise ValueError("nothing to prefill")
        self.refuse(tokens)
        return np.array([self.advance(token) for token in tokens])


class _RecomputesRows(_Listed):
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


class _KeepsInputs(_Listed):
    """Keeps what K and V are projected from, and projects all of it again at each step."""

    def reset(self):
        super().reset()
        self.inputs = []

    def advance(self, token):
        self.inputs.append(self.rows(token)[2])
        self.keys = [row @ self.model.p["K"] for row in self.inputs[:-1]]
        self.values = [row @ self.model.p["V"] for row in self.inputs[:-1]]
        return super().advance(token)


def _divergence_by_numpy(a, b, atol):
    close = np.isclose(a, b, rtol=0, atol=atol).all(axis=-1)
    return None if close.all() else int(np.argmin(close))


def _divergence_by_where(a, b, atol):
    rows = np.where(~(np.abs(a - b) <= atol))[0]
    return int(rows.min()) if rows.size else None


def _first(rows):
    rows = np.flatnonzero(rows)
    return int(rows[0]) if rows.size else None


def _or_none(a, b, atol):
    return _divergence_by_where(a, b, atol) or None


def _last_row(a, b, atol):
    rows = np.where(~(np.abs(a - b) <= atol))[0]
    return int(rows.max()) if rows.size else None


def _search(wanted):
    """A search of all strings of ids in counting order; `wanted` sees both tables of logits, (strings, T, V)."""

    def hidden_by_argmax(model):
        from itertools import product

        strings = np.array(list(product(range(model.vocab), repeat=model.context)))
        right, wrong = model.forward(strings)[0], position_zero(model).forward(strings)[0]
        found = np.flatnonzero(wanted(right, wrong))
        return strings[found[0]].tolist()

    return hidden_by_argmax


def _agree(right, wrong):
    return right.argmax(-1) == wrong.argmax(-1)


def _hidden_one_by_one(model):
    """Walks numbers in base `vocab` from the largest down, one forward pass each."""
    blind = deepcopy(model)
    blind.p["P"] = model.p["P"][[0] * model.context]
    for number in reversed(range(model.vocab**model.context)):
        ids = [number // model.vocab**power % model.vocab for power in range(model.context)]
        right, wrong = model.forward([ids])[0][0], blind.forward([ids])[0][0]
        if _agree(right, wrong).all() and np.abs(right - wrong).max() >= 1e-3:
            return ids
    return None


def _sample_by_search(logits, u):
    return int(np.searchsorted(np.cumsum(softmax(logits)), u, side="right"))


def _sample_by_counting(logits, u):
    return int((np.cumsum(softmax(np.asarray(logits))) <= u).sum())


def _sample_sorted(logits, u):
    order = np.argsort(-logits, kind="stable")
    return int(order[_sample_by_search(logits[order], u)])


def _sample_without_shift(logits, u):
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(logits)
        return int(np.argmax(np.cumsum(e / e.sum()) > u))


# ---------------------------------------------------------------------------
# The answers


_POSITION_ZERO = (
    "Did every token get the embedding of position 0?",
    (
        "Feed the same token twice. Should both steps see the same input?",
        "A decoder that sees one token at a time must be told where it stands.",
        'Use model.p["P"][number of tokens stored before this one].',
    ),
)
_POSITION_AFTER = (
    "Did you read the position after the new row had been counted, so that every token stands one too far?",
    (
        "At which position does the very first token stand?",
        "The position of a new token is the number of tokens stored before it.",
        "Take len(cache) before you append.",
    ),
)
_KEYS_BEFORE_NORM = (
    "Did you project the key from x, although attention reads the normalised x?",
    (
        "What are q and v made from in `forward`?",
        "The block is pre-norm: n = norm(x), then q, k and v from n.",
        'k = n @ model.p["K"], not x @ model.p["K"].',
    ),
)
_UNSCALED = (
    "Did you leave the scores undivided by the square root of the width?",
    (
        "The first token is right, the second is not. What does the first one not depend on?",
        "With one key the softmax is 1, whatever the score; with two the scale matters.",
        "Divide the scores by np.sqrt(model.width).",
    ),
)
_NO_RESIDUAL = (
    "Did you leave x out of the sum, so that the attention's output stands alone?",
    (
        "What is h in `forward`?",
        "The block is residual: it adds to x, it does not replace it.",
        'h = x + attended @ model.p["O"].',
    ),
)
_NO_RELU = (
    "Did you leave the MLP without its non-linearity?",
    (
        "What stands between F and G in `forward`?",
        "Two matrices with nothing between them are one matrix.",
        'np.maximum(m @ model.p["F"], 0) @ model.p["G"].',
    ),
)
_FIRST_NORM_TWICE = (
    "Did you use the first norm's gain and bias for the second norm too?",
    (
        "How many gains are there in model.p?",
        "The MLP reads its own normalised h, with g2 and b2.",
        'norm(h, model.p["g2"], model.p["b2"]).',
    ),
)
_BEFORE_APPEND = (
    "Did the new token attend only to the old rows, without its own?",
    (
        "What can the very first token attend to?",
        "The allowed prefix of a query includes the query's own position.",
        "Append k and v first, then attend.",
    ),
)

_cached_logits, _decoder, _first_divergence, _hidden_by_argmax, _sample = EXERCISES

ANSWERS = (
    Answer(
        exercise=_cached_logits,
        expected=_full_logits,
        tolerance=ATOL,
        misconceptions=(
            Misconception("position_zero", _logits_by(_PositionZero), *_POSITION_ZERO),
            Misconception("position_after_append", _logits_by(_PositionAfterAppend), *_POSITION_AFTER),
            Misconception("keys_before_norm", _logits_by(_KeysBeforeNorm), *_KEYS_BEFORE_NORM),
            Misconception("unscaled", _logits_by(_Unscaled), *_UNSCALED),
            Misconception("attends_before_append", _logits_by(_AttendsBeforeAppend), *_BEFORE_APPEND),
            Misconception("no_residual", _logits_by(_NoResidual), *_NO_RESIDUAL),
            Misconception("no_relu", _logits_by(_NoRelu), *_NO_RELU),
            Misconception("first_norm_twice", _logits_by(_FirstNormTwice), *_FIRST_NORM_TWICE),
        ),
        alternatives=(_logits_by(_Listed), _logits_by(_Preallocated)),
        hints=(
            "Write one step first: the row of one token, from its embedding to its logits.",
            "Follow `forward` line by line, for one row; only attention looks at other rows, and finds them stored.",
            "Keep two lists. Per token: x, n, append n @ K and n @ V, attend over both lists, then the MLP and U.",
        ),
    ),
    Answer(
        exercise=_decoder,
        expected=_decoder_steps,
        tolerance=ATOL,
        misconceptions=(
            Misconception("position_zero", _PositionZero, *_POSITION_ZERO),
            Misconception("position_after_append", _PositionAfterAppend, *_POSITION_AFTER),
            Misconception("keys_before_norm", _KeysBeforeNorm, *_KEYS_BEFORE_NORM),
            Misconception(
                "changed_before_validation",
                _ChangedBeforeValidation,
                "Was the token counted before you looked whether it may come?",
                (
                    "What does len() give after a refused step?",
                    "A refusal must leave everything as it was, so that the next valid step gives its usual logits.",
                    "Do all checks first, and change the cache afterwards.",
                ),
                "panbanda/higgs#18: a cache was changed before its input had been validated.",
            ),
            Misconception(
                "values_not_reset",
                _ValuesNotReset,
                "Does `reset` forget the keys but keep the values?",
                (
                    "Which lists are empty after a reset?",
                    "Weights over new keys, applied to old values: the lengths no longer match.",
                    "Empty both lists.",
                ),
            ),
            Misconception(
                "wraps_around",
                _WrapsAround,
                "When the context was full, did you start again at position 0 instead of refusing?",
                (
                    "How many position embeddings are there?",
                    "A position that silently starts anew gives plausible, wrong logits.",
                    "Raise ValueError when len(self) == model.context.",
                ),
            ),
            Misconception(
                "negative_ids_wrap",
                _NegativeIdsWrap,
                "Did you let an id below 0 pass, which NumPy reads from the end of the table?",
                (
                    'What is model.p["E"][-1]?',
                    "Python and NumPy count negative indices from the end, without a word.",
                    "Check 0 <= token < model.vocab.",
                ),
            ),
            Misconception(
                "keeps_callers_list",
                _KeepsCallersList,
                "Did you keep the caller's own list of ids, and append to it?",
                (
                    "Who else holds the list that was passed to prefill?",
                    "`self.ids = tokens` makes no copy.",
                    "Use list(tokens), or keep no ids at all.",
                ),
            ),
            Misconception(
                "prefill_stores_half",
                _PrefillStoresHalf,
                "When a prompt held a wrong id near its end, did the ids before it stay in the cache?",
                (
                    "What does len() give after a refused prefill?",
                    "A prompt is stored whole or not at all.",
                    "Check all ids, and the length, before the first one is stored.",
                ),
            ),
            Misconception(
                "prefill_extends",
                _PrefillExtends,
                "Did prefill accept a prompt although the cache was in use?",
                (
                    "What is the state before a prefill?",
                    "This prefill is for an empty cache; appending a chunk to a used one is lesson 04.",
                    "Raise ValueError when len(self) > 0.",
                ),
            ),
            Misconception(
                "recomputes_rows",
                _RecomputesRows,
                "Do you project the earlier tokens again at each step, instead of keeping their rows?",
                (
                    "Which rows of K does one step compute?",
                    "A step computes q, k and v of one token. The others were stored when they came.",
                    "Append k and v in `step`; never loop over earlier ids.",
                ),
            ),
            Misconception(
                "keeps_inputs",
                _KeepsInputs,
                "Do you keep what keys and values are projected from, and project all of it again at each step?",
                (
                    "What does a step compute for tokens that came before?",
                    "A cache stores k and v themselves. Whoever stores inputs pays for every projection again.",
                    "Append `n @ model.p['K']` and `n @ model.p['V']`, and nothing else of the token.",
                ),
            ),
        ),
        alternatives=(_Listed, _Preallocated),
        hints=(
            "Start from your cached_logits: what it kept in local lists, the object keeps in its own.",
            "One private method refuses (context, ids), another advances by one token; step and prefill call both.",
            "prefill: refuse a used cache and an empty prompt, check all ids, then advance token by token.",
        ),
    ),
    Answer(
        exercise=_first_divergence,
        expected=_first_row,
        misconceptions=(
            Misconception(
                "nan_equal",
                lambda a, b, atol: _first((np.abs(a - b) > atol).any(-1)),
                "Is not-a-number counted as agreement, because every comparison with it is false?",
                (
                    "What is nan > 1e-6?",
                    "Ask whether the difference is small, and take the rows where it is not.",
                    "~(np.abs(a - b) <= atol) is true for NaN.",
                ),
            ),
            Misconception(
                "nan_in_both",
                lambda a, b, atol: _first(~np.isclose(a, b, rtol=0, atol=atol, equal_nan=True).all(-1)),
                "Do two not-a-numbers in the same place count as agreement?",
                (
                    "What does equal_nan=True do?",
                    "A NaN says that something went wrong; two of them say it twice.",
                    "Leave equal_nan at False.",
                ),
            ),
            Misconception(
                "strictly_below",
                lambda a, b, atol: _first(~(np.abs(a - b) < atol).all(-1)),
                "Did you count a difference of exactly atol as a divergence?",
                (
                    'What does "differs by more than atol" say of a difference equal to atol?',
                    "More than excludes equal.",
                    "Agreement is <= atol.",
                ),
            ),
            Misconception(
                "mean_of_row",
                lambda a, b, atol: _first(~(np.abs(a - b).mean(-1) <= atol)),
                "Did you average a row's differences, so that one bad entry hides among good ones?",
                (
                    "What is the mean of 0, 0, 0 and twice the tolerance?",
                    "Some entry, not the average one, must be within atol.",
                    "Use .max(axis=-1), or compare entry by entry.",
                ),
            ),
            Misconception(
                "minus_one_for_none",
                lambda a, b, atol: -1 if (row := _divergence_by_where(a, b, atol)) is None else row,
                "Did you return -1 where None was asked for?",
                (
                    "What does your function return when all rows agree?",
                    "-1 is a row, too: the last one, to Python.",
                    "Return None.",
                ),
            ),
            Misconception(
                "rows_from_one",
                lambda a, b, atol: None if (row := _divergence_by_where(a, b, atol)) is None else row + 1,
                "Did you count the rows from 1?",
                (
                    "Which number has the first row?",
                    "Rows count from 0, as in a[0].",
                    "Leave out the + 1.",
                ),
            ),
            Misconception(
                "argmax_only",
                lambda a, b, atol: _first(a.argmax(-1) != b.argmax(-1)),
                "Did you compare which entry is largest, instead of the entries?",
                (
                    "Can two rows differ and have their maximum in the same place?",
                    "Same arg-max is weaker than same logits.",
                    "Compare |a - b| with atol, entry by entry.",
                ),
            ),
            Misconception(
                "relative_too",
                lambda a, b, atol: _first(~np.isclose(a, b, atol=atol).all(-1)),
                "Does a relative tolerance come on top, from the defaults of np.isclose or np.allclose?",
                (
                    "Look at the default arguments of np.isclose.",
                    "It allows atol + rtol × |b|, and rtol is not 0 unless you say so.",
                    "Pass rtol=0.",
                ),
            ),
            Misconception(
                "last_row",
                _last_row,
                "Did you return the last row that differs, instead of the first?",
                (
                    "Where did the two computations part?",
                    "Everything after the first difference may only follow from it.",
                    "Take the smallest row.",
                ),
            ),
            Misconception(
                "entry_number",
                lambda a, b, atol: _first(~(np.abs(a - b) <= atol)),
                "Did you count entries of the flattened table, instead of rows?",
                (
                    "How many rows does the table have, and what did you return?",
                    "np.flatnonzero and argmax without an axis look at one long row.",
                    "Reduce each row first: .any(axis=-1).",
                ),
            ),
            Misconception(
                "signed_difference",
                lambda a, b, atol: _first(~((a - b) <= atol).all(-1)),
                "Did you forget the absolute value, so that only one direction counts?",
                (
                    "What is a - b when b is larger?",
                    "A negative difference is below every tolerance.",
                    "Use np.abs(a - b).",
                ),
            ),
            Misconception(
                "row_zero_lost",
                _or_none,
                "Is row 0 lost, because 0 counts as false?",
                (
                    "What is `0 or None`?",
                    "`if row:` is false for the first row.",
                    "Ask `is None`, not for truth.",
                ),
            ),
        ),
        alternatives=(_divergence_by_numpy, _divergence_by_where),
        hints=(
            "Which rows agree? Everything else follows.",
            "A row agrees when every entry's absolute difference is at most atol.",
            "ok = (np.abs(a - b) <= atol).all(axis=-1); the first row where ok is false, or None.",
        ),
    ),
    Answer(
        exercise=_hidden_by_argmax,
        expected=_some_hidden,
        accept=_is_hidden,
        explain=_lacks,
        misconceptions=(
            Misconception(
                "last_row_only",
                _search(lambda right, wrong: _agree(right, wrong)[:, -1] & ~_agree(right, wrong).all(-1)),
                "Did you compare the arg-max of the last row only?",
                (
                    "How many rows does a string of ids give?",
                    "A decoder that is wrong in the middle would have gone another way there.",
                    "Ask for agreement in all rows: .all().",
                ),
            ),
            Misconception(
                "disagreeing",
                _search(lambda right, wrong: ~_agree(right, wrong)[:, -1]),
                "Did you look for ids on which the arg-max differs, instead of agreeing?",
                (
                    "Which ids would an arg-max test report as a failure?",
                    "Wanted are ids on which that test passes although the logits are wrong.",
                    "Turn the comparison round.",
                ),
            ),
            Misconception(
                "any_row",
                _search(
                    lambda right, wrong: _agree(right, wrong).any(-1) & (np.abs(right - wrong).max((1, 2)) >= 1e-3)
                ),
                "Did you ask whether any row agrees, or guess the first string?",
                (
                    "In how many rows must the arg-max agree?",
                    "Row 0 always agrees: its position really is 0. So `any` is true of every string.",
                    "Ask for agreement in all rows: .all(axis=-1).",
                ),
            ),
            Misconception(
                "repeated_token",
                lambda model: [1] * model.context,
                "Did you guess one token, repeated?",
                (
                    "Does the position-zero decoder see any difference between its steps?",
                    "A guess rarely passes: of all strings only a few are hidden.",
                    "Search: itertools.product gives all strings, and forward takes them as one batch.",
                ),
            ),
            Misconception(
                "one_token",
                lambda model: [0],
                "Is your string one token long, where position 0 is right and no logit differs?",
                (
                    "What is the position of the first token?",
                    "The ids must fill the context.",
                    "Return model.context ids.",
                ),
            ),
        ),
        alternatives=(
            _search(lambda right, wrong: _agree(right, wrong).all(-1) & (np.abs(right - wrong).max((1, 2)) >= 1e-3)),
            _hidden_one_by_one,
        ),
        hints=(
            "There are vocab ** context strings of ids: few enough to try all.",
            'A position-zero model is the same model with every row of p["P"] equal to the first.',
            "Run both models on itertools.product(range(vocab), repeat=context); keep agreeing, differing strings.",
        ),
    ),
    Answer(
        exercise=_sample,
        expected=_drawn,
        misconceptions=(
            Misconception(
                "arg_max",
                lambda logits, u: int(np.argmax(logits)),
                "Did you return the most likely token, whatever u is?",
                (
                    "Which of the arguments does your answer never use?",
                    "Greedy decoding ignores chance; sampling gives every token its share of [0, 1).",
                    "Cumulate the probabilities and find where u falls.",
                ),
            ),
            Misconception(
                "no_softmax",
                lambda logits, u: int(np.argmax(np.cumsum(logits) > u)),
                "Did you cumulate the logits, instead of their probabilities?",
                (
                    "Do your shares add up to 1?",
                    "Logits become probabilities by softmax.",
                    "np.cumsum(softmax(logits)).",
                ),
            ),
            Misconception(
                "not_normalised",
                lambda logits, u: int(np.argmax(np.cumsum(np.exp(logits - logits.max())) > u)),
                "Did you leave the exponentials undivided by their sum?",
                (
                    "Do your shares add up to 1?",
                    "exp alone gives weights; probabilities sum to 1.",
                    "Divide by the sum, or use softmax.",
                ),
            ),
            Misconception(
                "no_shift",
                _sample_without_shift,
                "Does exp overflow for large logits?",
                (
                    "What is np.exp(1000.0)?",
                    "Softmax does not change when the same number is taken from all logits.",
                    "Subtract the maximum first, as `softmax` of tiny_transformer does.",
                ),
            ),
            Misconception(
                "all_equally_likely",
                lambda logits, u: int(u * len(logits)),
                "Did you give every token the same share, whatever its logit?",
                (
                    "Which of the arguments does your answer hardly use?",
                    "A token's share is its probability.",
                    "Cumulate softmax(logits) and find where u falls.",
                ),
            ),
            Misconception(
                "one_too_far",
                lambda logits, u: _sample_by_search(logits, u) + 1,
                "Do you return the number of the token counted from 1?",
                (
                    "Which index has the first token?",
                    "Tokens count from 0.",
                    "Leave out the + 1.",
                ),
            ),
            Misconception(
                "boundary_included",
                lambda logits, u: int(np.searchsorted(np.cumsum(softmax(logits)), u, side="left")),
                "Can a token of probability 0 be drawn, because a share includes its upper end?",
                (
                    "What do you return for u = 0 when the first token has probability 0?",
                    "Token i owns the numbers from the sum before it up to, not including, the sum with it.",
                    'The first index whose cumulated sum is > u: np.searchsorted(…, side="right").',
                ),
            ),
            Misconception(
                "sorted_first",
                _sample_sorted,
                "Did you sort by probability before cumulating?",
                (
                    "In which order are the shares laid along [0, 1)?",
                    "Any fixed order samples right, but two implementations that share u must share the order.",
                    "Keep the order of the ids.",
                ),
            ),
        ),
        alternatives=(_sample_by_search, _sample_by_counting),
        hints=(
            "Lay the tokens' probabilities along the line from 0 to 1, in order. In whose share does u fall?",
            "np.cumsum(softmax(logits)) gives the right ends of the shares.",
            "The first index whose cumulated probability is greater than u.",
        ),
    ),
)
