"""Lesson 09: which steps to try. Sizes are distinct, and weights and cache weigh about the same, so none hides."""

from fractions import Fraction
from random import Random

from autograde.exercise import Case, Exercise

NAMES = (
    "decode_cost",
    "intensity",
    "step_time_bound",
    "batch_gain",
    "intensity_ceiling",
    "crossover_tokens",
    "context_for_ceiling",
)
# What would do the counting for the learner goes with the answers themselves.


def _config(rng: Random) -> dict[str, int]:
    """A model in which layers, heads and widths all differ, and hidden_size / heads is not the head width."""
    layers, kv_heads = rng.sample([3, 5, 7, 9, 11], 2)
    group = rng.choice([each for each in (3, 5, 7) if each != kv_heads])
    return {
        "num_hidden_layers": layers,
        "num_attention_heads": kv_heads * group,
        "num_key_value_heads": kv_heads,
        "head_dim": rng.choice([13, 15, 17, 19, 21]),
        "hidden_size": kv_heads * group * rng.choice([23, 25, 27]),
    }


def _elements(config: dict[str, int]) -> int:
    """Cached elements of one token."""
    return 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"]


def _step(rng: Random, weight_bits: int = 16, kv_bits: int = 16, **changes: int) -> dict[str, object]:
    """A step in which the rows of the batch take between a third of the bits of the weights and three times as many."""
    config = _config(rng)
    step = {
        "config": config,
        "num_params": 0,
        "batch": rng.randrange(5, 13),
        "context": rng.randrange(40, 90),
    } | changes
    rows = step["batch"] * step["context"] * _elements(config) * kv_bits
    share = Fraction(rng.randrange(30, 300), 100)
    # A multiple of eight, so that whole bytes come of any number of bits.
    step["num_params"] = 8 * int(rows * share / weight_bits / 8 + 1)
    return step | {"weight_bits": weight_bits, "kv_bits": kv_bits}


def _fits_bytes(rng: Random, *bits: int, **changes: int) -> dict[str, object]:
    """A step whose total is a whole number of bytes, so that nobody's answer depends on rounding."""
    while True:
        step = _step(rng, *bits, **changes)
        if step["context"] * _elements(step["config"]) * step["kv_bits"] % 8 == 0:
            return step


def _unfilled(rng: Random, rest: int) -> dict[str, object]:
    """A step whose last byte is filled by `rest` bits, of which the weights have one: neither part is whole bytes."""
    while True:
        step = _step(rng, rng.choice([3, 5, 7]), rng.choice([3, 5, 7]), batch=rng.choice([5, 7, 9]))
        step["num_params"] += rng.randrange(8)
        rows = step["batch"] * step["context"] * _elements(step["config"]) * step["kv_bits"]
        if step["num_params"] * step["weight_bits"] % 8 == 1 and rows % 8 == rest - 1:
            return step


# --- a step ----------------------------------------------------------------------------------------------------


def _decode_cost(rng: Random) -> list[Case]:
    huge = _step(rng, context=rng.randrange(41, 90, 2)) | {"num_params": 10**18 + 2 * rng.randrange(10**6) + 1}
    return [
        Case("one sequence", _step(rng, batch=1)),
        Case("a batch", _step(rng)),
        Case("a batch that reads one row each", _step(rng, context=1)),
        Case("cache in 8 bits, weights in 16", _step(rng, 16, 8)),
        Case("weights in 4 bits, cache in 16", _step(rng, 4, 16)),
        Case("bits that fill three eighths of the last byte", _unfilled(rng, 3)),
        Case("bits that fill seven eighths of the last byte", _unfilled(rng, 7)),
        Case("10^18 parameters, exactly", huge),
    ]


def _intensity(rng: Random) -> list[Case]:
    return [
        Case("one sequence", _fits_bytes(rng, batch=1)),
        Case("a batch", _fits_bytes(rng)),
        Case("cache in 8 bits, weights in 16", _fits_bytes(rng, 16, 8)),
        Case("weights in 4 bits, cache in 16", _fits_bytes(rng, 4, 16)),
        Case("a large batch", _fits_bytes(rng, batch=rng.randrange(500, 900))),
    ]


# --- its time --------------------------------------------------------------------------------------------------


def _step_time_bound(rng: Random) -> list[Case]:
    def case(label: str, compute: float, memory: float) -> Case:
        """A step whose two terms take these seconds, on a device with rates that nobody mistakes for others."""
        peak, bandwidth = rng.randrange(50, 990) * 10**12, rng.randrange(300, 4900) * 10**9
        flops, n_bytes = round(compute * peak), round(memory * bandwidth)
        return Case(label, {"flops": flops, "bytes": n_bytes, "peak_flops": peak, "bandwidth": bandwidth})

    def seconds() -> tuple[float, float]:
        return rng.uniform(0.02, 0.05), rng.uniform(0.11, 0.4)

    return [
        case("memory takes longer", *seconds()),
        case("arithmetic takes longer", *reversed(seconds())),
        case("memory takes a little longer", longer := rng.uniform(0.1, 0.4), longer * 1.02),
        case("arithmetic takes a little longer", longer := rng.uniform(0.1, 0.4), longer / 1.02),
        case("both take the same time", longer := rng.uniform(0.1, 0.4), longer),
        case("more than a second", *(100 * each for each in seconds())),
        case("nothing to compute", 0.0, seconds()[1]),
    ]


def _batch_gain(rng: Random) -> list[Case]:
    def case(label: str, ridge: Fraction, **changes: int) -> Case:
        """A device whose ridge is the intensity `ridge` times that of one sequence, weights and cache as drawn."""
        step = _fits_bytes(rng, **changes)
        config, params, context = step["config"], step["num_params"], step["context"]
        attention = 4 * config["num_hidden_layers"] * config["num_attention_heads"] * config["head_dim"] * context
        n_bytes = 2 * (params + context * _elements(config))
        bandwidth = rng.randrange(300, 4900) * 10**4
        peak = int(bandwidth * ridge * Fraction(2 * params + attention, n_bytes))
        return Case(label, step | {"peak_flops": peak, "bandwidth": bandwidth})

    return [
        case("memory bounds both steps", Fraction(rng.randrange(30, 50))),
        case("a batch of one", Fraction(rng.randrange(30, 50)), batch=1),
        case("arithmetic bounds the batch", Fraction(rng.randrange(13, 16), 10)),
        case("arithmetic bounds both steps", Fraction(rng.randrange(5, 9), 10)),
        case("a large batch", Fraction(999), batch=rng.randrange(60, 90)),
    ]


# --- its ceiling -----------------------------------------------------------------------------------------------


def _intensity_ceiling(rng: Random) -> list[Case]:
    def case(label: str, kv_bits: int = 16, context: int = 0) -> Case:
        """Rows of the whole context are whole bytes: only one who rounds each token sees a difference."""
        step = _fits_bytes(rng, 16, kv_bits)
        context = context or step["context"]
        return Case(
            label, {"config": step["config"], "num_params": step["num_params"], "context": context, "kv_bits": kv_bits}
        )

    return [
        case("16 bits"),
        case("8 bits", 8),
        case("4 bits", 4),
        case("a token of no whole number of bytes", rng.choice([3, 5]), 8 * rng.randrange(5, 12)),
        case("a context of one token", context=1),
        case("a context so long that attention is most of the work", context=rng.randrange(10**6, 2 * 10**6)),
    ]


def _crossover_tokens(rng: Random) -> list[Case]:
    def case(label: str, tokens: int, rest: Fraction, weight_bits: int = 16, kv_bits: int = 16) -> Case:
        """Weights that take as many bits as `tokens` and a share `rest` of a token more, or up to one bit less."""
        config = _config(rng)
        bits = (tokens + rest) * _elements(config) * kv_bits
        params = -(-bits // weight_bits) if rest else bits // weight_bits
        return Case(
            label, {"config": config, "num_params": int(params), "weight_bits": weight_bits, "kv_bits": kv_bits}
        )

    def tokens() -> int:
        return rng.randrange(300, 3000)

    return [
        case("weights and cache in 16 bits", tokens(), Fraction(2, 5)),
        case("just short of one more token", tokens(), Fraction(9, 10)),
        case("as many bits on both sides", tokens(), Fraction(0)),
        case("a toy whose weights take a fraction of one token", 0, Fraction(1, rng.randrange(5, 30))),
        case("cache in 8 bits", tokens(), Fraction(1, 3), 16, 8),
        case("weights in 4 bits", tokens(), Fraction(1, 3), 4, 16),
        # So many tokens that a part of a byte, rounded for each, adds up to many tokens.
        case("a token of no whole number of bytes", 10**6 + tokens(), Fraction(1, 2), 16, rng.choice([3, 5])),
        # So many that a float cannot say which side of a whole number it is on.
        case("10^17 tokens, exactly", 10**17 + 9, Fraction(99, 100)),
    ]


def _context_for_ceiling(rng: Random) -> list[Case]:
    def case(label: str, above: int, context: int, rest: int, kv_bits: int = 16) -> Case:
        """Parameters for which the longest context is `context`, at a target so far above attention's own.

        `rest` of 0 makes that context's ceiling the target itself. `above` of 0 or less is a target that attention
        reaches alone.
        """
        config = _config(rng)
        attention = 32 * config["num_hidden_layers"] * config["num_attention_heads"] * config["head_dim"]
        bits = _elements(config) * kv_bits
        target = attention // bits + above
        lacking = target * bits - attention
        params = (context * lacking + 15) // 16 + rest if lacking > 0 else 10**5 + rest
        return Case(label, {"config": config, "num_params": params, "kv_bits": kv_bits, "target": target})

    def exact(label: str) -> Case:
        """16 N is a multiple of what is lacking, so the ceiling of the longest context is the target itself."""
        return case(label, rng.randrange(9, 30), 16 * rng.randrange(20, 60), 0)

    def context() -> int:
        return rng.randrange(300, 900)

    return [
        case("16 bits", rng.randrange(20, 60), context(), 5),
        case("8 bits", rng.randrange(20, 60), context(), 5, 8),
        exact("a ceiling that is the target itself"),
        case("a target just above what attention reaches", 1, context(), 3),
        case("a target that attention reaches exactly", 0, 0, rng.randrange(1000)),
        case("a target below what attention reaches", -1, 0, rng.randrange(1000)),
        case("no context has it", 10**9, 0, 10**4),
        # Between the query heads on a KV head, which are attention's own intensity in 16 bits, and the one in these.
        case("8 bits, a target that attention reaches", -1, 0, rng.randrange(1000), 8),
        case("32 bits, a target just above what attention reaches", 1, context(), 3, 32),
        # So many tokens that a part of a byte, rounded for each, adds up to many tokens.
        case("a token of no whole number of bytes", rng.randrange(20, 60), 100 * context(), 1, rng.choice([3, 5])),
        case("10^15 tokens, exactly", rng.randrange(20, 60), 10**15 + 7, -1),
    ]


_CASES = (
    _decode_cost,
    _intensity,
    _step_time_bound,
    _batch_gain,
    _intensity_ceiling,
    _crossover_tokens,
    _context_for_ceiling,
)
EXERCISES = tuple(Exercise(name, cases) for name, cases in zip(NAMES, _CASES, strict=True))
