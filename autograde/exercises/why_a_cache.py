"""Lesson 01: which tokens, weights and stored rows to try, and how to drive the step over a cache."""

from copy import deepcopy
from random import Random

import numpy as np

from autograde.exercise import Case, Exercise, attempt, call_with
from autograde.values import plain

# The example that is worked on paper; the notebook states the same numbers.
HAND = {"x0": [1, 2], "x1": [3, 1], "WQ": [[1, 0], [-1, 1]], "WK": [[1, -1], [0, 1]], "WV": [[2, 1], [0, 3]]}


def _vector(rng: Random, width: int, most: float = 1.5) -> list[float]:
    """Numbers with one decimal, so that a person can read a case."""
    return [round(rng.uniform(-most, most), 1) for _ in range(width)]


def _rows(rng: Random, count: int, width: int, most: float = 1.5) -> list[list[float]]:
    return [_vector(rng, width, most) for _ in range(count)]


def _layers(rng: Random, count: int, width: int) -> list[dict[str, list[list[float]]]]:
    return [{name: _rows(rng, width, width, 0.9) for name in ("WQ", "WK", "WV")} for _ in range(count)]


def arrays(layers) -> list[dict[str, np.ndarray]]:
    return [{name: np.array(weight) for name, weight in layer.items()} for layer in layers]


# --- hand_two_steps --------------------------------------------------------------------------------------------


def _hand_two_steps(_rng: Random) -> list[Case]:
    return [Case("the two tokens of the exercise", {})]


def _run_hand_two_steps(candidate: object, _case: Case) -> object:
    """The dict, its arrays as lists: on paper there is no difference."""
    value = plain(candidate())
    if type(value) is not dict:
        return value
    return {name: row.tolist() if isinstance(row, np.ndarray) else row for name, row in value.items()}


# --- attend ----------------------------------------------------------------------------------------------------


def _attend(rng: Random) -> list[Case]:
    def case(label: str, tokens: int, width: int, far: float = 1.0) -> Case:
        """`far` stretches the query, and with it the scores."""
        q = [round(far * number, 1) for number in _vector(rng, width)]
        return Case(label, {"q": q, "keys": _rows(rng, tokens, width), "values": _rows(rng, tokens, width)})

    def alike() -> Case:
        q, key = _vector(rng, 3), _vector(rng, 3)
        return Case("all keys alike", {"q": q, "keys": [key] * 4, "values": _rows(rng, 4, 3)})

    def two() -> list[list[float]]:
        return _rows(rng, 2, 2)

    def far_apart() -> Case:
        """Scores beyond a thousand, whose exponential float64 cannot hold, and close to one another."""
        width = 3
        key = [round(rng.uniform(0.8, 1.5), 1) for _ in range(width)]
        keys = [[key[0] + 0.001 * i, key[1], key[2]] for i in rng.sample(range(6), 4)]
        return Case("large scores", {"q": [800.0, 700.0, 900.0], "keys": keys, "values": _rows(rng, 4, width)})

    return [
        alike(),
        case("two tokens", 2, 3),
        case("more tokens than numbers in a key", 6, 3),
        case("more numbers in a key than tokens", 3, 5),
        far_apart(),
        # Nothing but the largest score is safe to subtract from all of these.
        Case(
            "scores of about 2000 and -2000", {"q": [70.0, 0.0], "keys": [[-40.0, 1.0], [40.0, 2.0]], "values": two()}
        ),
        Case(
            "scores of about -2000 and -2200", {"q": [70.0, 0.0], "keys": [[-40.0, 1.0], [-44.0, 2.0]], "values": two()}
        ),
    ]


def _run_attend(candidate: object, case: Case) -> object:
    return call_with(candidate, {name: np.array(value) for name, value in case.inputs.items()})


# --- decode_step -----------------------------------------------------------------------------------------------


def _decode_step(rng: Random) -> list[Case]:
    def case(label: str, layers: int, steps: int, stored: int = 0, change: bool = False, width: int = 3) -> Case:
        inputs = {
            "layers": _layers(rng, layers, width),
            "caches": [[_rows(rng, stored, width), _rows(rng, stored, width)] for _ in range(layers)],
            "xs": _rows(rng, steps, width),
        }
        if change:
            place = [rng.randrange(layers), rng.choice("KV"), rng.randrange(stored)]
            inputs["after_step_0"] = [*place, _vector(rng, width)]
        return Case(label, inputs)

    return [
        case("one layer, one stored row, one step", 1, 1, stored=1),
        case("one layer, the first token of all", 1, 1),
        case("one layer, several steps", 1, 3, width=4),
        case("two layers, several steps", 2, 4),
        case("stored rows that no token made", 2, 2, stored=3),
        case("between two steps a stored row is replaced", 2, 3, stored=2, change=True),
    ]


def run_decode_step(candidate: object, case: Case) -> dict[str, object]:
    """One call for each row of `xs` on the same caches; then the rows that each cache holds, and `xs` as it was left.

    `after_step_0` is [layer, "K" or "V", row, its new values].
    """
    inputs = deepcopy(case.inputs)
    layers = arrays(inputs["layers"])
    caches = [tuple([np.array(row) for row in rows] for rows in pair) for pair in inputs["caches"]]
    outputs, xs = {}, np.array(inputs["xs"])
    for number, x in enumerate(xs):
        outputs[f"y{number}"] = attempt(lambda x=x: candidate(x, layers, caches))
        if number == 0 and "after_step_0" in inputs:
            layer, name, row, values = inputs["after_step_0"]
            caches[layer]["KV".index(name)][row] = np.array(values)
    stored = {f"rows of layer {n}": attempt(lambda pair=pair: list(map(len, pair))) for n, pair in enumerate(caches)}
    return outputs | stored | {"xs": xs}


# --- recompute -------------------------------------------------------------------------------------------------


def _recompute(rng: Random) -> list[Case]:
    def case(label: str, tokens: int, layers: int, width: int) -> Case:
        return Case(label, {"xs": _rows(rng, tokens, width), "layers": _layers(rng, layers, width)})

    return [
        case("one layer, two tokens", 2, 1, 3),
        case("one layer, several tokens", 5, 1, 3),
        case("two layers", 5, 2, 3),
        case("three layers", 4, 3, 5),
        case("one token", 1, 2, 3),
    ]


def _run_recompute(candidate: object, case: Case) -> object:
    return call_with(candidate, {"xs": np.array(case.inputs["xs"]), "layers": arrays(case.inputs["layers"])})


# --- score_work ------------------------------------------------------------------------------------------------


def _score_work(rng: Random) -> list[Case]:
    # A remainder of 1 or 2 makes the sum of squares odd: beyond 2^53 no float holds it. A loop still takes no second.
    large = 400_000 - 4 * rng.randrange(250) - rng.choice((2, 3))
    return [
        Case("one token", {"n": 1}),
        Case("few tokens", {"n": rng.randrange(4, 8)}),
        Case("a prompt", {"n": rng.randrange(300, 3000)}),
        Case("no token", {"n": 0}),
        Case("many tokens, exactly", {"n": large}),
    ]


# --- reusable_rows ---------------------------------------------------------------------------------------------


def _reusable_rows(rng: Random) -> list[Case]:
    def tokens(count: int) -> list[int]:
        return rng.sample(range(10, 100), count)

    def edited(old: list[int], *places: int) -> list[int]:
        return [token + 100 * (place in places) for place, token in enumerate(old)]

    def case(label: str, old: list[int], new: list[int], layers: int) -> Case:
        return Case(label, {"old_tokens": old, "new_tokens": new, "num_layers": layers})

    a, b, c, d, e, f = (tokens(count) for count in (5, 7, 6, 8, 7, 6))
    return [
        case("nothing changed", a, list(a), 3),
        case("a longer suffix", a, a + tokens(2), 2),
        case("token 3 is edited", b, edited(b, 3), 2),
        case("the first token is edited", c, edited(c, 0), 3),
        case("two tokens are edited", d, edited(d, 2, 5), 4),
        case("the end is cut off, and one token edited", e, edited(e, 3)[:5], 3),
        case("a token is put in", f, [*f[:2], rng.randrange(10), *f[2:]], 2),
        case("a token comes again at another place", [*f[:4], f[1]], [f[1], *f[1:4], f[0]], 3),
        case("one layer", b, edited(b, 2), 1),
    ]


EXERCISES = (
    Exercise("hand_two_steps", _hand_two_steps, run=_run_hand_two_steps),
    Exercise("attend", _attend, run=_run_attend),
    Exercise("decode_step", _decode_step, run=run_decode_step),
    Exercise("recompute", _recompute, run=_run_recompute),
    Exercise("score_work", _score_work, seconds=10.0),
    Exercise("reusable_rows", _reusable_rows),
)
