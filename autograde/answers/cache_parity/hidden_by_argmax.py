"""`hidden_by_argmax`: what is right, which mistakes are known, and what to say about them."""

from copy import deepcopy

import numpy as np

from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.exercises.cache_parity import build, hidden_strings, position_zero


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


ANSWER = Answer(
    exercise=exercise("hidden_by_argmax"),
    expected=_some_hidden,
    accept=_is_hidden,
    explain=_lacks,
    misconceptions=(
        Misconception(
            "last_row_only",
            _search(lambda right, wrong: _agree(right, wrong)[:, -1] & ~_agree(right, wrong).all(-1)),
            Advice(
                "Did you compare the arg-max of the last row only?",
                (
                    "How many rows does a string of ids give?",
                    "A decoder that is wrong in the middle would have gone another way there.",
                    "Ask for agreement in all rows: .all().",
                ),
            ),
        ),
        Misconception(
            "disagreeing",
            _search(lambda right, wrong: ~_agree(right, wrong)[:, -1]),
            Advice(
                "Did you look for ids on which the arg-max differs, instead of agreeing?",
                (
                    "Which ids would an arg-max test report as a failure?",
                    "Wanted are ids on which that test passes although the logits are wrong.",
                    "Turn the comparison round.",
                ),
            ),
        ),
        Misconception(
            "any_row",
            _search(lambda right, wrong: _agree(right, wrong).any(-1) & (np.abs(right - wrong).max((1, 2)) >= 1e-3)),
            Advice(
                "Did you ask whether any row agrees, or guess the first string?",
                (
                    "In how many rows must the arg-max agree?",
                    "Row 0 always agrees: its position really is 0. So `any` is true of every string.",
                    "Ask for agreement in all rows: .all(axis=-1).",
                ),
            ),
        ),
        Misconception(
            "repeated_token",
            lambda model: [1] * model.context,
            Advice(
                "Did you guess one token, repeated?",
                (
                    "Does the position-zero decoder see any difference between its steps?",
                    "A guess rarely passes: of all strings only a few are hidden.",
                    "Search: itertools.product gives all strings, and forward takes them as one batch.",
                ),
            ),
        ),
        Misconception(
            "one_token",
            lambda model: [0],
            Advice(
                "Is your string one token long, where position 0 is right and no logit differs?",
                (
                    "What is the position of the first token?",
                    "The ids must fill the context.",
                    "Return model.context ids.",
                ),
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
)
