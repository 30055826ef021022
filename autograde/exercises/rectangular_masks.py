"""Lesson 04: which cached lengths, chunks, windows and tensors to try."""

import math
from random import Random

import numpy as np

from autograde.exercise import Case, Exercise, call_with


def _table(rng: Random, rows: int, columns: int) -> list[list[float]]:
    return [[round(rng.uniform(-2, 2), 2) for _ in range(columns)] for _ in range(rows)]


def _arrays(value: object) -> object:
    """Tables of numbers as arrays, also inside a dict; everything else as it is."""
    if type(value) is dict:
        return {key: _arrays(item) for key, item in value.items()}
    return np.array(value) if type(value) is list and type(value[0]) is list else value


def _call(candidate: object, case: Case) -> object:
    """Call the learner's function with fresh arrays in place of nested lists."""
    return call_with(candidate, {name: _arrays(value) for name, value in case.inputs.items()})


# --- allowed ---------------------------------------------------------------------------------------------------


def _allowed(rng: Random) -> list[Case]:
    def case(label: str, cached: int, chunk: int) -> Case:
        return Case(label, {"cached": cached, "chunk": chunk})

    return [
        case("a prompt, nothing cached", 0, rng.randrange(4, 7)),
        case("one token on a cache", rng.randrange(4, 9), 1),
        case("a chunk on a cache", rng.randrange(5, 9), rng.randrange(3, 5)),
        case("a chunk that is longer than the cache", rng.randrange(2, 4), rng.randrange(5, 7)),
        case("one token, nothing cached", 0, 1),
        case("a chunk that begins with padding", -rng.randrange(2, 4), rng.randrange(5, 7)),
    ]


# --- additive_mask ---------------------------------------------------------------------------------------------


def _additive_mask(rng: Random) -> list[Case]:
    def case(label: str, mask: list) -> Case:
        return Case(label, {"allowed": mask})

    def pattern(rows: int, columns: int) -> list[list[bool]]:
        """In each row some keys are allowed and some are not."""
        marks = [[rng.random() < 0.5 for _ in range(columns)] for _ in range(rows)]
        for row in marks:
            row[0], row[-1] = True, False
            rng.shuffle(row)
        return marks

    cached, chunk = rng.randrange(3, 5), rng.randrange(2, 4)
    return [
        case("one query", pattern(1, 4)),
        case(
            "a chunk on a cache", [[key <= cached + query for key in range(cached + chunk)] for query in range(chunk)]
        ),
        case("any pattern", pattern(3, 5)),
        case("a row that allows nothing", [*pattern(2, 4), [False] * 4]),
        case("the masks of a batch", [pattern(2, 3) for _ in range(4)]),
    ]


# --- masked_attention ------------------------------------------------------------------------------------------


def _masked_attention(rng: Random) -> list[Case]:
    def case(label: str, cached: int, chunk: int, width: int) -> Case:
        keys = cached + chunk
        tensors = {"q": _table(rng, chunk, width), "k": _table(rng, keys, width), "v": _table(rng, keys, width)}
        return Case(label, {**tensors, "cached": cached})

    def level(label: str, score: float) -> Case:
        """All scores near `score`, and near one another."""
        inputs = {"q": [[100.0, 0.0], [0.0, 100.0]], "k": [], "v": _table(rng, 4, 2), "cached": 2}
        reach = score * math.sqrt(2) / 100
        inputs["k"] = [[round(reach + rng.uniform(-0.02, 0.02), 4) for _ in range(2)] for _ in range(4)]
        return Case(label, inputs)

    tempting = case("a forbidden key that matches by far the best", 3, 2, 5)
    _tempt(tempting.inputs["q"], tempting.inputs["k"])
    return [
        case("one token on a cache", rng.randrange(4, 7), 1, 3),
        case("a prompt, nothing cached", 0, rng.randrange(4, 6), 3),
        case("a chunk on a cache", rng.randrange(4, 6), 3, 2),
        case("a chunk that is longer than the cache", 2, rng.randrange(4, 6), 3),
        tempting,
        case("a chunk that begins with padding", -2, rng.randrange(4, 6), 3),
        level("scores of about 1500", 1500.0),
        level("scores of about -1500", -1500.0),
    ]


def _tempt(q: list[list[float]], k: list[list[float]]) -> None:
    """Let the first query, at position 3, score about -600 with the keys that it may see and 600 with key 4.

    Apart by more than exp can express, and yet neither is too large for a softmax that subtracts no maximum.
    """
    query = q[0]
    reach = 600 * math.sqrt(len(query)) / sum(each * each for each in query)
    for place, key in enumerate(k):
        sign = 1 if place == 4 else -1
        key[:] = [round(sign * reach * each + own, 2) for each, own in zip(query, key, strict=True)]
    q[1] = [round(each / 2, 2) for each in query]  # so that its scores are no larger


# --- chunked_attention -----------------------------------------------------------------------------------------


def _chunked_attention(rng: Random) -> list[Case]:
    def case(label: str, widths: list[int]) -> Case:
        inner, width = rng.sample((3, 4, 5), 2)
        weights = {name: _table(rng, inner, width) for name in ("WQ", "WK", "WV")}
        return Case(label, {"x": _table(rng, sum(widths), inner), "widths": widths, "weights": weights})

    return [
        case("in one chunk", [rng.randrange(4, 7)]),
        case("token by token", [1] * rng.randrange(4, 7)),
        case("two chunks", [rng.randrange(4, 6), rng.randrange(2, 4)]),
        case("three chunks of different widths", rng.sample((2, 3, 4), 3)),
        case("long and short chunks", [1, rng.randrange(3, 5), 1, 2]),
    ]


# --- ragged_allowed --------------------------------------------------------------------------------------------


def _ragged_allowed(rng: Random) -> list[Case]:
    def case(label: str, cached: list[int], chunk: int) -> Case:
        return Case(label, {"cached": cached, "chunk": chunk})

    lengths = rng.sample(range(2, 8), 4)
    return [
        case("requests of the same length", [rng.randrange(3, 6)] * 2, 3),
        case("a short request before a long one", [rng.randrange(1, 3), rng.randrange(4, 7)], 3),
        case("one token for each of four requests", lengths, 1),
        case("a request that only begins", [rng.randrange(4, 7), 0, 2], rng.choice([2, 4])),
        case("an empty slot", [rng.randrange(2, 5), -2, rng.randrange(5, 7)], 2),
    ]


# --- window_allowed --------------------------------------------------------------------------------------------


def _window_allowed(rng: Random) -> list[Case]:
    def case(label: str, cached: int, chunk: int, window: int) -> Case:
        return Case(label, {"cached": cached, "chunk": chunk, "window": window})

    return [
        case("one token on a cache", rng.randrange(6, 9), 1, rng.randrange(3, 5)),
        case("a window that reaches over everything", rng.randrange(2, 4), 3, rng.randrange(8, 12)),
        case("a chunk on a cache", rng.randrange(6, 9), rng.randrange(3, 5), rng.randrange(3, 5)),
        case("a chunk that is longer than the window", rng.randrange(4, 6), 5, 3),
        case("the first tokens of a prompt", 0, rng.randrange(5, 7), 3),
        case("a window of one token", rng.randrange(3, 5), 3, 1),
    ]


EXERCISES = (
    Exercise("allowed", _allowed, run=_call),
    Exercise("additive_mask", _additive_mask, run=_call),
    Exercise("masked_attention", _masked_attention, run=_call),
    Exercise("chunked_attention", _chunked_attention, run=_call),
    Exercise("ragged_allowed", _ragged_allowed, run=_call),
    Exercise("window_allowed", _window_allowed, run=_call),
)
