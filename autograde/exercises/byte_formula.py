"""Lesson 02: which inputs to try. Sizes are distinct and none is 1 or 2, so no factor can hide behind another."""

from fractions import Fraction
from random import Random

from autograde.exercise import Case, Exercise, call

LIBRARY = ("kvlab.sizes",)
HAND = {"num_layers": 2, "batch": 1, "tokens": 3, "num_kv_heads": 2, "head_dim": 4}


def _distinct(rng: Random, count: int, low: int = 3, high: int = 31) -> list[int]:
    return rng.sample(range(low, high), count)


def _sizes(rng: Random) -> dict[str, int]:
    layers, batch, tokens, kv_heads, head_dim = _distinct(rng, 5)
    return {
        "num_layers": layers,
        "batch": batch,
        "tokens": tokens,
        "num_kv_heads": kv_heads,
        "head_dim": head_dim,
    }


def _huge(rng: Random) -> dict[str, int]:
    """10^15 tokens and an odd rest: beyond 2^63 elements, and beyond what a float holds exactly."""
    return _sizes(rng) | {"tokens": 10**15 + 2 * rng.randrange(10**6) + 1, "num_kv_heads": 7, "head_dim": 129}


def _card(rng: Random) -> dict[str, int]:
    """A model card in which neither the query heads nor hidden_size / heads say anything about the cache."""
    kv_heads, group = rng.sample(range(3, 12), 2)
    layers, head_dim, guess = rng.sample(range(13, 60), 3)
    heads = kv_heads * group
    return {
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "hidden_size": heads * guess,
    }


def _kv_elements(rng: Random) -> list[Case]:
    return [
        Case("the cache you can count by hand", HAND),
        Case("five sizes, all different", _sizes(rng)),
        Case("no token stored yet", _sizes(rng) | {"tokens": 0}),
        Case("another five sizes", _sizes(rng)),
        Case("10^15 tokens, exactly", _huge(rng)),
    ]


def _kv_bytes(rng: Random) -> list[Case]:
    def case(label: str, sizes: dict[str, int], bits: int) -> Case:
        return Case(label, sizes | {"bits_per_element": bits})

    odd = dict(zip(HAND, rng.sample(range(3, 31, 2), 5), strict=True))
    return [
        case("the cache you can count by hand", HAND, 16),
        case("five different sizes, 16 bits", _sizes(rng), 16),
        case("32 bits", _sizes(rng), 32),
        case("8 bits", _sizes(rng), 8),
        case("4 bits", _sizes(rng), 4),
        case("a total of bits that fills no whole byte", odd, rng.choice([3, 5, 7])),
        case("10^15 tokens, exactly", _huge(rng), 16),
    ]


def _ragged(rng: Random) -> list[Case]:
    def case(label: str, lengths: list[int], bits: int = 16) -> Case:
        layers, kv_heads, head_dim = _distinct(rng, 3)
        return Case(
            label,
            {
                "lengths": lengths,
                "num_layers": layers,
                "num_kv_heads": kv_heads,
                "head_dim": head_dim,
                "bits_per_element": bits,
            },
        )

    odd = case("an odd number of elements, 3 bits each", [3, 5, 9], 3)
    odd.inputs.update(num_layers=rng.choice([5, 7, 13]), num_kv_heads=9, head_dim=11)
    # Twice an odd number beyond 2^54: no float holds it.
    huge = case("10^15 tokens, exactly", [10**15 + 1, 2 * rng.randrange(2, 20)], 8)
    huge.inputs.update(zip(("num_layers", "num_kv_heads", "head_dim"), rng.sample(range(3, 31, 2), 3), strict=True))
    return [
        case("one request", [rng.randrange(3, 40)]),
        case("requests of different lengths", _distinct(rng, 4, 3, 50)),
        case("a long request among short ones", [*_distinct(rng, 3, 3, 9), rng.randrange(900, 999)], 8),
        case("a request that has stored nothing yet", [*_distinct(rng, 3), 0]),
        odd,
        huge,
    ]


def _as_units(rng: Random) -> list[Case]:
    return [
        Case("one GB", {"n_bytes": 10**9}),
        Case("one GiB", {"n_bytes": 2**30}),
        Case("no byte", {"n_bytes": 0}),
        Case("seven billion two-byte weights", {"n_bytes": 14 * 10**9}),
        Case("some number of bytes", {"n_bytes": rng.randrange(10**10, 10**12)}),
    ]


def _bytes_per_token(rng: Random) -> list[Case]:
    def case(label: str, bits: int, **changes: int) -> Case:
        return Case(label, {"card": _card(rng) | changes, "bits_per_element": bits})

    return [
        case("grouped queries, 16 bits", 16),
        case("one KV head for all (MQA)", 16, num_key_value_heads=1),
        case("8 bits", 8),
        case("4 bits", 4),
        case("32 bits", 32),
    ]


def _capacity_table(rng: Random) -> list[Case]:
    contexts = _distinct(rng, 3, 100, 9000)
    return [
        Case("one variant, one context", {"card": _card(rng), "contexts": contexts[:1], "variants": ("GQA",)}),
        Case("all three variants", {"card": _card(rng), "contexts": contexts[:1]}),
        Case("three contexts", {"card": _card(rng), "contexts": contexts}),
        Case("variants in another order", {"card": _card(rng), "contexts": contexts, "variants": ("MQA", "MHA")}),
        Case(
            "4 bits",
            {"card": _card(rng), "contexts": contexts, "variants": ("MHA", "GQA", "MQA"), "bits_per_element": 4},
        ),
    ]


def _max_tokens(rng: Random) -> list[Case]:
    def per_token(card: dict[str, int], bits: int) -> int:
        # Only places the budget beside a boundary; what is right there is decided elsewhere.
        return 2 * card["num_hidden_layers"] * card["num_key_value_heads"] * card["head_dim"] * bits // 8

    def case(label: str, tokens: int, rest: int, bits: int = 16) -> Case:
        card = _card(rng)
        budget = tokens * per_token(card, bits) + rest
        return Case(label, {"budget_bytes": budget, "card": card, "bits_per_element": bits})

    return [
        case("exactly a whole number of tokens", rng.randrange(30, 90), 0),
        case("one byte short of the next token", rng.randrange(30, 90), -1),
        case("a budget below one token", 0, 5),
        case("a budget just above", rng.randrange(30, 90), 7, 8),
        case("4 bits", rng.randrange(30, 90), 3, 4),
        # The answer ends in 8, which no float of this size does: they are 16 apart.
        case("10^17 tokens, one byte short", 10**17 + 9, -1),
    ]


def _units_run(candidate: object, case: Case) -> object:
    """Fractions and floats are both welcome, so both are read as floats."""
    units = call(candidate, case)
    if type(units) is not dict:
        return units
    return {key: float(value) if type(value) is Fraction else value for key, value in units.items()}


EXERCISES = (
    Exercise("kv_elements", _kv_elements, library=LIBRARY),
    Exercise("kv_bytes", _kv_bytes, library=LIBRARY),
    Exercise("ragged_kv_bytes", _ragged, library=LIBRARY),
    Exercise("as_units", _as_units, run=_units_run, library=LIBRARY),
    Exercise("bytes_per_token", _bytes_per_token, library=LIBRARY),
    Exercise("capacity_table", _capacity_table, library=LIBRARY),
    Exercise("max_tokens", _max_tokens, library=LIBRARY),
)
