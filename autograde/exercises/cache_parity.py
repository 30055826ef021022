"""Lesson 03: which models and strings of ids to try, and how to drive a decoder step by step."""

from copy import deepcopy
from itertools import product
from random import Random

import numpy as np

from autograde.exercise import Case, Exercise, attempt, call_with
from autograde.values import plain
from tiny_transformer import TinyDecoder

CHANGE = "# the model's embedding of this id is reversed:"
RETRAIN = "# the model's K and V change their signs"
YOUR_LIST = "# the list that was passed to prefill"


class SealedDecoder(TinyDecoder):
    """A model whose weights can be read but whose `forward` cannot be used: what is wanted comes from a cache."""

    def forward(self, ids):
        raise RuntimeError("forward is sealed here: compute each token from the cache and model.p")


def build(sizes: dict[str, int], kind: type[TinyDecoder] = TinyDecoder) -> TinyDecoder:
    return kind(**sizes)


def _model(rng: Random, context: int | None = None) -> dict[str, int]:
    """Arguments of a TinyDecoder. Width, context and vocabulary differ, so none can stand for another."""
    width = rng.choice([10, 12, 14])
    return {
        "vocab": rng.randrange(4, 7),
        "context": context or rng.randrange(7, 10),
        "width": width,
        "hidden": 2 * width + 1,
        "seed": rng.randrange(10**6),
    }


def _ids(rng: Random, model: dict[str, int], length: int) -> list[int]:
    return [rng.randrange(model["vocab"]) for _ in range(length)]


# --- cached_logits ---------------------------------------------------------------------------------------------


def _cached_logits(rng: Random) -> list[Case]:
    def case(label: str, ids_of) -> Case:
        model = _model(rng)
        return Case(label, {"model": model, "ids": ids_of(model)})

    def full(model: dict[str, int]) -> list[int]:
        return _ids(rng, model, model["context"])

    return [
        case("one token", lambda model: [rng.randrange(1, model["vocab"])]),
        case("two tokens", lambda model: rng.sample(range(model["vocab"]), 2)),
        case("the same token again and again", lambda model: [rng.randrange(model["vocab"])] * 5),
        case("the whole context", full),
        case("the whole context of another model", full),
    ]


def _run_cached_logits(candidate: object, case: Case) -> object:
    return call_with(candidate, {"model": build(case.inputs["model"], SealedDecoder), "ids": list(case.inputs["ids"])})


# --- CachedDecoder ---------------------------------------------------------------------------------------------


def _decoder(rng: Random) -> list[Case]:
    def case(label: str, steps_of, context: int | None = None) -> Case:
        model = _model(rng, context)
        return Case(label, {"model": model, "new": ["model"], "steps": steps_of(model)})

    def steps(count: int):
        return lambda model: [["step", token] for token in _ids(rng, model, count)]

    def filled_then_more(model):
        full = [["step", token] for token in _ids(rng, model, model["context"])]
        return [*full, ["step", 1], ["__len__"], ["reset"], ["step", 2], ["__len__"]]

    def refused_ids(model):
        bad = [-1, model["vocab"], 1.5, None]
        rng.shuffle(bad)
        tried = [step for token in bad for step in (["step", token], ["__len__"])]
        return [*steps(2)(model), *tried, *steps(2)(model)]

    def refused_prefills(model):
        good = _ids(rng, model, 3)
        bad = [[*good, model["vocab"]], [*good, -1], _ids(rng, model, model["context"] + 1), []]
        refused = [step for prompt in bad for step in (["prefill", prompt], ["__len__"])]
        return [
            *refused,
            ["prefill", good],
            ["prefill", good],
            ["__len__"],
            *steps(2)(model),
        ]

    def changed_embedding(model):
        first, second = rng.sample(range(model["vocab"]), 2)
        return [["step", first], [CHANGE, first], ["step", second], ["step", first], ["step", second]]

    def changed_projections(model):
        first, second = rng.sample(range(model["vocab"]), 2)
        return [["step", first], ["step", second], [RETRAIN], ["step", second], ["step", first]]

    return [
        case("one step", steps(1)),
        case("several steps", steps(5)),
        case("a prompt, then steps", lambda model: [["prefill", _ids(rng, model, 4)], *steps(2)(model), ["__len__"]]),
        case("after a reset nothing is left", lambda m: [*steps(3)(m), ["reset"], ["__len__"], *steps(3)(m)]),
        case("a step beyond the context changes nothing", filled_then_more, context=4),
        case("a wrong id is refused before anything changes", refused_ids),
        case("a prompt is stored whole or not at all", refused_prefills, context=7),
        case("your list of ids stays yours", lambda m: [["prefill", _ids(rng, m, 3)], *steps(2)(m), [YOUR_LIST]]),
        case("stored rows are not computed again", changed_embedding),
        case("keys and values are stored, not what they come from", changed_projections),
    ]


def run_decoder(candidate: object, case: Case) -> list[object]:
    """Take the steps. Three of them are ours: CHANGE reverses the model's embedding of a token and RETRAIN negates its
    K and V, neither of which rows that are stored already must follow; YOUR_LIST reads what `prefill` was handed."""
    model = build(case.inputs["model"], SealedDecoder)
    decoder, handed = candidate(model), []

    def take(name: str, *arguments: object) -> object:
        if name == CHANGE:
            row = model.p["E"][arguments[0]]
            row[:] = row[::-1].copy()  # not a mere shift, which the layer norm would undo
            return None
        if name == RETRAIN:
            for projection in "KV":
                model.p[projection] *= -1
            return None
        if name == YOUR_LIST:
            return handed[-1]
        if name == "prefill":
            handed.append(arguments[0])
        if name == "__len__":
            return len(decoder)
        return getattr(decoder, name)(*arguments)

    return [attempt(take, *step) for step in deepcopy(case.inputs["steps"])]


# --- first_divergence ------------------------------------------------------------------------------------------


def _first_divergence(rng: Random) -> list[Case]:
    def case(label: str, changes: list[tuple[int, int, float]], atol: float = 1e-6) -> Case:
        """Two tables that differ by the given amounts in (row, column). Column 0 holds the largest of each row."""
        a = [[round(rng.uniform(low, low + 5), 3) for low in (10, 2, 2, 2)] for _ in range(7)]
        b = [list(row) for row in a]
        for row, column, amount in changes:
            b[row][column] += amount
        return Case(label, {"a": a, "b": b, "atol": atol})

    row, column = rng.randrange(2, 5), rng.randrange(1, 3)
    nan = float("nan")
    both = case("not a number in both", [(row, column, nan)])
    both.inputs["a"][row][column] = nan
    even = Case(
        "a difference of exactly the tolerance", {"a": [[3.0, 5.0], [7.0, 9.0]], "b": [[3.0, 5.25], [7.0, 8.75]]}
    )
    even.inputs["atol"] = 0.25
    return [
        case("no difference", []),
        case("one entry differs", [(row, column, 20.0)]),
        case("the last entry of a row differs", [(row, 3, 20.0)]),
        case("the first entry of a row differs", [(row, 0, -0.5)]),
        case("differences within the tolerance", [(row, column, 1e-9), (0, 2, -1e-9)]),
        even,
        case("the second of two tables is smaller", [(row, column, -0.25), (6, 0, 0.25)]),
        case("a small difference that is no rounding", [(row, column, 1e-5)], atol=1e-6),
        case("one entry just beyond the tolerance", [(row, column, 2e-6)], atol=1e-6),
        case("a difference in the first row", [(0, column, 0.5), (row, 0, 0.5)]),
        case("not a number", [(row, column, nan)]),
        both,
    ]


def _run_first_divergence(candidate: object, case: Case) -> object:
    a, b, atol = case.inputs.values()
    return call_with(candidate, {"a": np.array(a), "b": np.array(b), "atol": atol})


# --- hidden_by_argmax ------------------------------------------------------------------------------------------


def position_zero(model: TinyDecoder) -> TinyDecoder:
    """The same model with every position read as position 0: the mistake that arg-max may hide."""
    blind = deepcopy(model)
    blind.p["P"] = np.repeat(model.p["P"][:1], model.context, axis=0)
    return blind


def hidden_strings(model: TinyDecoder) -> np.ndarray:
    """Which of all strings of `context` ids, in counting order, agree in every arg-max and differ in a logit."""
    strings = np.array(list(product(range(model.vocab), repeat=model.context)))
    right, wrong = model.forward(strings)[0], position_zero(model).forward(strings)[0]
    agree = (right.argmax(-1) == wrong.argmax(-1)).all(-1)
    return agree & (np.abs(right - wrong).max(axis=(1, 2)) >= 1e-3)


def _hidden_by_argmax(rng: Random) -> list[Case]:
    """Two models of which few strings are hidden, and no constant one, so that a guess does not pass.

    On the string of zeros the last row agrees in the first model and not in the second, so that a guess of zeros is
    taken for no search that ended at the first string.
    """
    cases = []
    while len(cases) < 2:
        model = {
            "vocab": 3,
            "context": 5,
            "width": rng.choice([10, 12, 14]),
            "hidden": 24,
            "seed": rng.randrange(10**6),
        }
        built = build(model)
        last = [each.forward([[0] * 5])[0][0, -1].argmax() for each in (built, position_zero(built))]
        if (last[0] == last[1]) != (len(cases) == 0):
            continue
        hidden = hidden_strings(built)
        constant = [digit * (3**5 - 1) // 2 for digit in range(3)]
        if 0 < hidden.mean() < 0.03 and not hidden[constant].any():
            cases.append(Case(f"model {'AB'[len(cases)]}", {"model": model}))
    return cases


def _run_hidden(candidate: object, case: Case) -> object:
    return plain(candidate(build(case.inputs["model"])))


# --- sample ----------------------------------------------------------------------------------------------------


def _sample(rng: Random) -> list[Case]:
    def case(label: str, probabilities: list[float], u: float, shift: float = 0.0) -> Case:
        logits = [float(np.log(p)) + shift if p else float("-inf") for p in probabilities]
        return Case(label, {"logits": logits, "u": u})

    p = [0.1, 0.2, 0.4, 0.3]
    return [
        case("a draw in the first token's share", p, 0.05),
        case("a draw in the middle", p, rng.uniform(0.35, 0.65), rng.uniform(-2, 2)),
        case("a draw in the last token's share", p, rng.uniform(0.75, 0.95), rng.uniform(-2, 2)),
        case("a draw in the second token's share", p, rng.uniform(0.15, 0.25)),
        case("a token of probability 0 comes first, and u is 0", [0.0, 0.5, 0.3, 0.2], 0.0),
        Case("logits of both signs", {"logits": [-1.0, 0.5, 2.0, 1.0], "u": rng.uniform(0.86, 0.97)}),
        case("large logits", [0.25, 0.15, 0.6], rng.uniform(0.45, 0.9), 1000.0),
        case("u is the largest number below 1, and the last token has probability 0", [0.3, 0.7, 0.0], 1 - 2**-53),
    ]


def _run_sample(candidate: object, case: Case) -> object:
    return call_with(candidate, {"logits": np.array(case.inputs["logits"]), "u": case.inputs["u"]})


EXERCISES = (
    Exercise("cached_logits", _cached_logits, run=_run_cached_logits),
    Exercise("CachedDecoder", _decoder, run=run_decoder),
    Exercise("first_divergence", _first_divergence, run=_run_first_divergence),
    Exercise("hidden_by_argmax", _hidden_by_argmax, run=_run_hidden),
    Exercise("sample", _sample, run=_run_sample),
)
