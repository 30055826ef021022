"""`hand_two_steps`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.answers.why_a_cache.shared import (
    ATOL,
    OWN_TOKEN_NOT_ATTENDED,
    SOFTMAX_AXIS,
    UNSCALED,
    attend_in_numpy,
    read_rows,
    row_times_matrix,
    softmax,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.exercises.why_a_cache import HAND


def _on_paper(_case: Case) -> dict[str, list[float]]:
    found = {}
    for i in (0, 1):
        found[f"k{i}"] = row_times_matrix(HAND[f"x{i}"], HAND["WK"])
        found[f"v{i}"] = row_times_matrix(HAND[f"x{i}"], HAND["WV"])
        keys, values = ([found[f"{name}{j}"] for j in range(i + 1)] for name in "kv")
        found[f"y{i}"] = read_rows(row_times_matrix(HAND[f"x{i}"], HAND["WQ"]), keys, values)
    return found


def _paper(project=lambda x, w: x @ w, read=None, key="WK", value="WV"):
    """`hand_two_steps` with one thing changed. `read` gets q, the rows of K and V so far."""
    read = read or attend_in_numpy

    def hand_two_steps():
        weights = {name: np.array(HAND[name]) for name in ("WQ", "WK", "WV")}
        keys, values, found = [], [], {}
        for i in (0, 1):
            x = np.array(HAND[f"x{i}"])
            keys.append(project(x, weights[key]))
            values.append(project(x, weights[value]))
            found |= {f"k{i}": keys[i], f"v{i}": values[i]}
            found[f"y{i}"] = read(project(x, weights["WQ"]), np.array(keys), np.array(values))
        return {name: np.asarray(row, dtype=float).tolist() for name, row in found.items()}

    return hand_two_steps


def _paper_in_one_pass():
    xs = np.array([HAND["x0"], HAND["x1"]], dtype=float)
    q, k, v = (np.einsum("ti,ij->tj", xs, HAND[name]) for name in ("WQ", "WK", "WV"))
    weight = 1 / (1 + math.exp((q[1] @ k[0] - q[1] @ k[1]) / math.sqrt(2)))  # of token 1, for token 1
    return {"k0": k[0], "v0": v[0], "y0": v[0], "k1": k[1], "v1": v[1], "y1": (1 - weight) * v[0] + weight * v[1]}


def _paper_own_lost():
    """Each query reads the older rows only; for the first one nothing is left, so it keeps its own value."""
    found = _paper()()
    return found | {"y1": found["v0"]}


ANSWER = Answer(
    exercise=exercise("hand_two_steps"),
    expected=_on_paper,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "own_token_not_attended",
            _paper_own_lost,
            OWN_TOKEN_NOT_ATTENDED,
        ),
        Misconception(
            "softmax_axis",
            _paper(read=lambda q, keys, values: values.sum(axis=0)),
            SOFTMAX_AXIS,
        ),
        Misconception(
            "values_from_wk",
            _paper(value="WK"),
            Advice(
                "Did you make v with WK?",
                (
                    "Compare your k0 and v0.",
                    "Each token has three projections, each with its own weights.",
                    "v0 is x0 @ WV.",
                ),
            ),
        ),
        Misconception(
            "unscaled",
            _paper(read=lambda q, keys, values: softmax(keys @ q) @ values),
            UNSCALED,
        ),
        Misconception(
            "transposed",
            _paper(project=lambda x, w: w @ x),
            Advice(
                "Did you multiply the weights with the token from the left, W @ x?",
                (
                    "In the table, which numbers does the first entry of k add up?",
                    "A token is a row here: it stands to the left of its weights.",
                    "k0 is x0 @ WK, so its first entry is 1·1 + 2·0.",
                ),
            ),
        ),
        Misconception(
            "query_from_wk",
            _paper(read=lambda q, keys, values: attend_in_numpy(keys[-1], keys, values)),
            Advice(
                "Did you use the key of the token as its query?",
                (
                    "What does token 1 ask with?",
                    "The query has weights of its own, WQ.",
                    "q1 is x1 @ WQ; its scores are q1 · k0 and q1 · k1.",
                ),
            ),
        ),
    ),
    alternatives=(_paper(), _paper_in_one_pass),
    hints=(
        "Six rows of two numbers. Four of them are a row times a matrix.",
        "Token 0 can read only itself: its weight is 1, whatever the score, so y0 is v0.",
        "y1 = (e^a · v0 + e^b · v1) / (e^a + e^b), with a = q1 · k0 / √2 and b = q1 · k1 / √2.",
    ),
)
