"""Lesson 02: which inputs to try. Sizes are distinct and none is 1 or 2, so no factor can hide behind another."""

from fractions import Fraction
from math import prod
from random import Random

from autograde.exercise import Case, Exercise, call

HAND = {"num_layers": 2, "batch": 1, "tokens": 3, "num_kv_heads": 2, "head_dim": 4}
ODD_BITS = (3, 5, 7)


def _distinct(rng: Random, count: int, low: int = 3, high: int = 31) -> list[int]:
    return rng.sample(range(low, high), count)


def _sizes(rng: Random) -> dict[str, int]:
    return dict(zip(HAND, _distinct(rng, 5), strict=True))


def _huge(rng: Random) -> dict[str, int]:
    """10^15 tokens and odd sizes: twice an odd number beyond 2^65, which no float of any width holds."""
    layers, batch = rng.sample(range(5, 31, 2), 2)
    tokens = 10**15 + 2 * rng.randrange(10**6) + 1
    return {"num_layers": layers, "batch": batch, "tokens": tokens, "num_kv_heads": 7, "head_dim": 129}


def _odd(rng: Random, count: int, rest: int, factor: int = 1) -> tuple[list[int], int]:
    """`count` odd sizes and odd bits whose product, times `factor`, leaves `rest` when divided by 8.

    That product is the bits of K alone. With rest 1 a byte is filled by a quarter and with rest 3 by three quarters,
    which tells rounding down, to the nearest, per tensor, per layer and per head from rounding up once. The largest
    size comes first: rounding each of many layers adds up to more than rounding each of two tensors.
    """
    while True:
        sizes, bits = sorted(rng.sample(range(5, 31, 2), count), reverse=True), rng.choice(ODD_BITS)
        if prod(sizes) * bits * factor % 8 == rest:
            return sizes, bits


def _config(rng: Random, sizes: list[int] | None = None) -> dict[str, int]:
    """A model config in which neither the query heads nor hidden_size / heads say anything about the cache.

    `sizes`, if given, are its layers, KV heads and head width.
    """
    layers, kv_heads, head_dim = sizes or (rng.randrange(13, 40), rng.randrange(3, 12), rng.randrange(40, 60))
    group = rng.choice([each for each in range(3, 12) if each != kv_heads])
    guess = rng.choice([each for each in range(61, 70) if each != head_dim])
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

    def odd(label: str, rest: int) -> Case:
        sizes, bits = _odd(rng, 5, rest)
        return case(label, dict(zip(HAND, sizes, strict=True)), bits)

    return [
        case("the cache you can count by hand", HAND, 16),
        case("five different sizes, 16 bits", _sizes(rng), 16),
        case("32 bits", _sizes(rng), 32),
        case("8 bits", _sizes(rng), 8),
        case("4 bits", _sizes(rng), 4),
        case("no token stored yet", _sizes(rng) | {"tokens": 0}, 16),
        odd("bits that fill a quarter of the last byte", 1),
        odd("bits that fill three quarters of the last byte", 3),
        case("10^15 tokens, exactly", _huge(rng), 16),
    ]


def _ragged(rng: Random) -> list[Case]:
    def case(label: str, lengths: list[int], bits: int = 16, shape: list[int] | None = None) -> Case:
        names = ("num_layers", "num_kv_heads", "head_dim")
        sizes = dict(zip(names, shape or _distinct(rng, 3), strict=True))
        return Case(label, {"lengths": lengths, **sizes, "bits_per_element": bits})

    def odd(label: str, rest: int) -> Case:
        lengths = [rng.randrange(5, 40, 2) for _ in range(9)]  # so many that rounding each adds up
        shape, bits = _odd(rng, 3, rest, factor=sum(lengths))
        return case(label, lengths, bits, shape)

    repeated = rng.randrange(5, 30)
    return [
        case("one request", [rng.randrange(3, 40)]),
        case("requests of different lengths", _distinct(rng, 4, 3, 50)),
        case("a long request among short ones", [*_distinct(rng, 3, 3, 9), rng.randrange(900, 999), 7], 8),
        case("two requests of the same length", [repeated, *_distinct(rng, 4, 31, 60), repeated]),
        case("a request that has stored nothing yet", [*_distinct(rng, 3), 0]),
        case("nothing stored at all", [0, 0, 0]),
        case("no request", []),
        odd("bits that fill a quarter of the last byte", 1),
        odd("bits that fill three quarters of the last byte", 3),
        # Twice an odd number beyond 2^65, which no float of any width holds.
        case("10^15 tokens, exactly", [10**15 + 1, 2 * rng.randrange(2, 20)], 8, rng.sample(range(31, 61, 2), 3)),
    ]


def _as_units(rng: Random) -> list[Case]:
    return [
        Case("one GB", {"n_bytes": 10**9}),
        Case("one GiB", {"n_bytes": 2**30}),
        Case("no byte", {"n_bytes": 0}),
        Case("seven billion two-byte weights", {"n_bytes": 14 * 10**9}),
        Case("some number of bytes", {"n_bytes": rng.randrange(10**10, 10**12)}),
        Case("a handful of bytes", {"n_bytes": rng.randrange(3, 900)}),
    ]


def _bytes_per_token(rng: Random) -> list[Case]:
    def case(label: str, bits: int, **changes: int) -> Case:
        return Case(label, {"config": _config(rng) | changes, "bits_per_element": bits})

    def odd(label: str, rest: int) -> Case:
        sizes, bits = _odd(rng, 3, rest)
        return Case(label, {"config": _config(rng, sizes), "bits_per_element": bits})

    return [
        case("grouped queries, 16 bits", 16),
        case("one KV head for all (MQA)", 16, num_key_value_heads=1),
        case("8 bits", 8),
        case("4 bits", 4),
        case("32 bits", 32),
        odd("bits that fill a quarter of the last byte", 1),
        odd("bits that fill three quarters of the last byte", 3),
    ]


def _capacity_table(rng: Random) -> list[Case]:
    def contexts(count: int) -> list[int]:
        """Not in rising order, and none 1 or 2."""
        while True:
            drawn = _distinct(rng, count, 100, 9000)
            if drawn != sorted(drawn):
                return drawn

    def case(label: str, tokens: list[int], variants: tuple[str, ...] = (), bits: int = 0) -> Case:
        given = {"variants": variants} if variants else {}
        return Case(
            label, {"config": _config(rng), "contexts": tokens, **given, **({"bits_per_element": bits} if bits else {})}
        )

    def odd(label: str, rest: int) -> Case:
        sizes, bits = _odd(rng, 3, rest)
        # Odd contexts leave odd rests of their own; 8 k + 1 keeps the one asked for.
        tokens = [8 * each + 1 for each in contexts(2)]
        inputs = {"config": _config(rng, sizes), "contexts": tokens, "variants": ("GQA",), "bits_per_element": bits}
        return Case(label, inputs)

    three = contexts(3)
    return [
        case("one variant, one context", contexts(2)[:1], ("GQA",)),
        case("all three variants", contexts(2)[:1]),
        case("three contexts", three),
        case("variants in another order", contexts(3), ("MQA", "MHA")),
        case("8 bits", contexts(2), ("MHA", "GQA", "MQA"), 8),
        case("4 bits", contexts(2), ("MHA", "GQA", "MQA"), 4),
        case("a context asked for twice, and an empty one", [three[0], 0, three[0]], ("GQA",)),
        case("a variant asked for twice", contexts(2), ("MHA", "MQA", "MHA")),
        odd("bits that fill a quarter of the last byte", 1),
        odd("bits that fill three quarters of the last byte", 3),
    ]


def _max_tokens(rng: Random) -> list[Case]:
    def case(label: str, tokens: int, rest: int, bits: int = 16, sizes: list[int] | None = None) -> Case:
        """A budget of `tokens` tokens and `rest` bytes; what fits into it is decided elsewhere."""
        config = _config(rng, sizes)
        bits_per_token = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"] * bits
        budget = -(-tokens * bits_per_token // 8) + rest
        return Case(label, {"budget_bytes": budget, "config": config, "bits_per_element": bits})

    sizes, odd_bits = _odd(rng, 3, 3)
    return [
        case("exactly a whole number of tokens", rng.randrange(30, 90), 0),
        case("one byte short of the next token", rng.randrange(30, 90), -1),
        case("a budget below one token", 0, 5),
        case("8 bits, and a few bytes to spare", rng.randrange(30, 90), 7, 8),
        case("4 bits", rng.randrange(30, 90), 3, 4),
        # So many tokens that a part of a byte, rounded for each, adds up to many tokens.
        case("a token of no whole number of bytes", rng.randrange(10**6, 10**7), 0, odd_bits, sizes),
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
    Exercise("kv_elements", _kv_elements),
    Exercise("kv_bytes", _kv_bytes),
    Exercise("ragged_kv_bytes", _ragged),
    Exercise("as_units", _as_units, run=_units_run),
    Exercise("bytes_per_token", _bytes_per_token),
    Exercise("capacity_table", _capacity_table),
    Exercise("max_tokens", _max_tokens),
)
