"""`first_divergence`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _first_row(case: Case) -> int | None:
    for row, (left, right) in enumerate(zip(case.inputs["a"], case.inputs["b"], strict=True)):
        for x, y in zip(left, right, strict=True):
            if math.isnan(x) or math.isnan(y) or abs(x - y) > case.inputs["atol"]:
                return row
    return None


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


ANSWER = Answer(
    exercise=exercise("first_divergence"),
    expected=_first_row,
    misconceptions=(
        Misconception(
            "nan_equal",
            lambda a, b, atol: _first((np.abs(a - b) > atol).any(-1)),
            Advice(
                "Is not-a-number counted as agreement, because every comparison with it is false?",
                (
                    "What is nan > 1e-6?",
                    "Ask whether the difference is small, and take the rows where it is not.",
                    "~(np.abs(a - b) <= atol) is true for NaN.",
                ),
            ),
        ),
        Misconception(
            "nan_in_both",
            lambda a, b, atol: _first(~np.isclose(a, b, rtol=0, atol=atol, equal_nan=True).all(-1)),
            Advice(
                "Do two not-a-numbers in the same place count as agreement?",
                (
                    "What does equal_nan=True do?",
                    "A NaN says that something went wrong; two of them say it twice.",
                    "Leave equal_nan at False.",
                ),
            ),
        ),
        Misconception(
            "strictly_below",
            lambda a, b, atol: _first(~(np.abs(a - b) < atol).all(-1)),
            Advice(
                "Did you count a difference of exactly atol as a divergence?",
                (
                    'What does "differs by more than atol" say of a difference equal to atol?',
                    "More than excludes equal.",
                    "Agreement is <= atol.",
                ),
            ),
        ),
        Misconception(
            "mean_of_row",
            lambda a, b, atol: _first(~(np.abs(a - b).mean(-1) <= atol)),
            Advice(
                "Did you average a row's differences, so that one bad entry hides among good ones?",
                (
                    "What is the mean of 0, 0, 0 and twice the tolerance?",
                    "Some entry, not the average one, must be within atol.",
                    "Use .max(axis=-1), or compare entry by entry.",
                ),
            ),
        ),
        Misconception(
            "minus_one_for_none",
            lambda a, b, atol: -1 if (row := _divergence_by_where(a, b, atol)) is None else row,
            Advice(
                "Did you return -1 where None was asked for?",
                (
                    "What does your function return when all rows agree?",
                    "-1 is a row, too: the last one, to Python.",
                    "Return None.",
                ),
            ),
        ),
        Misconception(
            "rows_from_one",
            lambda a, b, atol: None if (row := _divergence_by_where(a, b, atol)) is None else row + 1,
            Advice(
                "Did you count the rows from 1?",
                (
                    "Which number has the first row?",
                    "Rows count from 0, as in a[0].",
                    "Leave out the + 1.",
                ),
            ),
        ),
        Misconception(
            "argmax_only",
            lambda a, b, atol: _first(a.argmax(-1) != b.argmax(-1)),
            Advice(
                "Did you compare which entry is largest, instead of the entries?",
                (
                    "Can two rows differ and have their maximum in the same place?",
                    "Same arg-max is weaker than same logits.",
                    "Compare |a - b| with atol, entry by entry.",
                ),
            ),
        ),
        Misconception(
            "relative_too",
            lambda a, b, atol: _first(~np.isclose(a, b, atol=atol).all(-1)),
            Advice(
                "Does a relative tolerance come on top, from the defaults of np.isclose or np.allclose?",
                (
                    "Look at the default arguments of np.isclose.",
                    "It allows atol + rtol × |b|, and rtol is not 0 unless you say so.",
                    "Pass rtol=0.",
                ),
            ),
        ),
        Misconception(
            "last_row",
            _last_row,
            Advice(
                "Did you return the last row that differs, instead of the first?",
                (
                    "Where did the two computations part?",
                    "Everything after the first difference may only follow from it.",
                    "Take the smallest row.",
                ),
            ),
        ),
        Misconception(
            "entry_number",
            lambda a, b, atol: _first(~(np.abs(a - b) <= atol)),
            Advice(
                "Did you count entries of the flattened table, instead of rows?",
                (
                    "How many rows does the table have, and what did you return?",
                    "np.flatnonzero and argmax without an axis look at one long row.",
                    "Reduce each row first: .any(axis=-1).",
                ),
            ),
        ),
        Misconception(
            "signed_difference",
            lambda a, b, atol: _first(~((a - b) <= atol).all(-1)),
            Advice(
                "Did you forget the absolute value, so that only one direction counts?",
                (
                    "What is a - b when b is larger?",
                    "A negative difference is below every tolerance.",
                    "Use np.abs(a - b).",
                ),
            ),
        ),
        Misconception(
            "row_zero_lost",
            _or_none,
            Advice(
                "Is row 0 lost, because 0 counts as false?",
                (
                    "What is `0 or None`?",
                    "`if row:` is false for the first row.",
                    "Ask `is None`, not for truth.",
                ),
            ),
        ),
    ),
    alternatives=(_divergence_by_numpy, _divergence_by_where),
    hints=(
        "Which rows agree? Everything else follows.",
        "A row agrees when every entry's absolute difference is at most atol.",
        "ok = (np.abs(a - b) <= atol).all(axis=-1); the first row where ok is false, or None.",
    ),
)
