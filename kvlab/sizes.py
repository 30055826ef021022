"""Byte formulas of a full-attention KV cache: whole numbers in, exact whole numbers out.

Units and element sizes live here and nowhere else. Elements are measured in *bits*, so that four-bit payloads
stay exact; an odd total of bits rounds up to a byte once, at the end. All of these count the *payload*: what
an allocator adds (pages, scales, padding) is another number.

Words: `num_layers` attention layers, `batch` requests, `tokens` stored per request, `num_kv_heads` KV heads,
`head_dim` elements per head. A `config` is an `AttentionConfig`; other keys are carried along and never used.

Every function refuses what is not a whole number in range: TypeError for a bool, float or str, ValueError for
a number that is too small or a name that is unknown. NumPy integers are taken and become Python ints, which
do not overflow.
"""

import operator
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NotRequired, TypedDict

GB, MB = 10**9, 10**6
PIB, TIB, GIB, MIB, KIB = 2**50, 2**40, 2**30, 2**20, 2**10

BITS_PER_ELEMENT = {"FP32": 32, "BF16": 16, "FP16": 16, "FP8": 8, "INT8": 8, "INT4": 4}
VARIANTS = ("MHA", "GQA", "MQA")


class AttentionConfig(TypedDict):
    """What a config.json holds about attention. Every KV head serves equally many query heads; widths in elements."""

    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    hidden_size: NotRequired[int]  # the width of the model, which decides no size of the cache


def kv_elements(num_layers: int, batch: int, tokens: int, num_kv_heads: int, head_dim: int) -> int:
    """Elements of a cache of logical shape [num_layers, 2, batch, tokens, num_kv_heads, head_dim].

    The 2 stands for K and V. `tokens` may be 0, the others are at least 1. Source: Pope et al., arXiv
    2211.05102.
    """
    return (
        2
        * whole("num_layers", num_layers)
        * whole("batch", batch)
        * whole("tokens", tokens, at_least=0)
        * whole("num_kv_heads", num_kv_heads)
        * whole("head_dim", head_dim)
    )


def kv_bytes(num_layers: int, batch: int, tokens: int, num_kv_heads: int, head_dim: int, bits_per_element: int) -> int:
    """Payload bytes of the cache that `kv_elements` counts, at `bits_per_element` bits each (BF16: 16)."""
    elements = kv_elements(num_layers, batch, tokens, num_kv_heads, head_dim)
    return bits_to_bytes(elements * whole("bits_per_element", bits_per_element))


def ragged_kv_bytes(
    lengths: Iterable[int], num_layers: int, num_kv_heads: int, head_dim: int, bits_per_element: int
) -> int:
    """Payload bytes of requests of unequal `lengths` (tokens of each), stored without padding.

    A length may be 0; a batch without requests holds 0 bytes. The arguments are checked in either case.
    """
    tokens = sum(whole(f"lengths[{i}]", n, at_least=0) for i, n in enumerate(_each("lengths", lengths)))
    return kv_bytes(num_layers, 1, tokens, num_kv_heads, head_dim, bits_per_element)


def bytes_per_token(config: AttentionConfig, bits_per_element: int) -> int:
    """Payload bytes that one more token of one request adds, over all layers of the model that `config` describes."""
    layers, _, kv_heads, head_dim = _shape(config)
    return kv_bytes(layers, 1, 1, kv_heads, head_dim, bits_per_element)


def capacity_table(
    config: AttentionConfig,
    contexts: Iterable[int],
    variants: Iterable[str] = VARIANTS,
    bits_per_element: int = 16,
) -> list[dict[str, str | int]]:
    """Rows {"variant", "tokens", "bytes"} for one request, variant-major, both in the order given.

    MHA stores a KV head for each query head, GQA as many as the config says, MQA one. `contexts` are token
    counts. ValueError on an unknown variant.
    """
    layers, heads, kv_heads, head_dim = _shape(config)
    stored_heads = {"MHA": heads, "GQA": kv_heads, "MQA": 1}
    contexts = [whole(f"contexts[{i}]", n, at_least=0) for i, n in enumerate(_each("contexts", contexts))]
    rows = []
    for variant in _each("variants", variants):
        hkv = stored_heads[_known("variants", variant, stored_heads)]
        for tokens in contexts:
            n_bytes = kv_bytes(layers, 1, tokens, hkv, head_dim, bits_per_element)
            rows.append({"variant": variant, "tokens": tokens, "bytes": n_bytes})
    return rows


def max_tokens(budget_bytes: int, config: AttentionConfig, bits_per_element: int) -> int:
    """The largest number of tokens whose cache is no larger than `budget_bytes`; 0 when not even one fits."""
    budget_bits = 8 * whole("budget_bytes", budget_bytes, at_least=0)
    layers, _, kv_heads, head_dim = _shape(config)
    bits = kv_elements(layers, 1, 1, kv_heads, head_dim) * whole("bits_per_element", bits_per_element)
    return budget_bits // bits


def weight_bytes(num_params: int, bits: int) -> int:
    """Payload bytes of `num_params` parameters at `bits` bits each."""
    return bits_to_bytes(whole("num_params", num_params) * whole("bits", bits))


def bits_to_bytes(bits: int) -> int:
    """Bytes that hold `bits` bits, the last one perhaps in part. Round a total once, at the end."""
    return (bits + 7) // 8


def as_units(n_bytes: int) -> dict[str, Fraction]:
    """`n_bytes` read in GB and MB (powers of ten) and in GiB, MiB and KiB (powers of two), exactly."""
    n_bytes = whole("n_bytes", n_bytes, at_least=0)
    units = {"GB": GB, "GiB": GIB, "MB": MB, "MiB": MIB, "KiB": KIB}
    return {name: Fraction(n_bytes, unit) for name, unit in units.items()}


def dtype_bits(dtype: str) -> int:
    """Bits per element of the type called `dtype`, for example "BF16". ValueError names the known ones."""
    return BITS_PER_ELEMENT[_known("dtype", dtype, BITS_PER_ELEMENT)]


def show_bytes(n_bytes: int) -> str:
    """`n_bytes` for people, "2.15625 GiB (2,315,255,808 B)": binary unit first, the exact count beside it."""
    n_bytes = whole("n_bytes", n_bytes, at_least=0)
    exact = f"{n_bytes:,} B"
    for name, unit in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if n_bytes >= unit:
            return f"{show_number(Fraction(n_bytes, unit))} {name} ({exact})"
    return exact


def show_number(value: int | float | Fraction) -> str:
    """A non-negative number in decimal: exact within five decimal places, otherwise "≈" and four digits."""
    value = Fraction(value)
    if (value * 10**5).denominator == 1:
        return _decimal(value, 5)
    places = 4 - len(str(int(value)))
    while value * 10**places < 1000 and places < 12:  # below 1 the leading zeros are no significant digits
        places += 1
    return "≈ " + _decimal(value, max(places, 0))


def whole(name: str, value: object, at_least: int = 1) -> int:
    """`value` as a Python int; TypeError or ValueError names the argument, what came and what was wanted."""
    wanted = f"{name}: wanted a whole number of at least {at_least}, got {value!r}"
    if isinstance(value, bool):
        raise TypeError(f"{wanted} (bool)")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{wanted} ({type(value).__name__})") from None
    if number < at_least:
        raise ValueError(wanted)
    return number


def _decimal(value: Fraction, places: int) -> str:
    digits = str(round(value * 10**places)).rjust(places + 1, "0")
    whole_part, fraction = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{int(whole_part):,}.{fraction}".rstrip("0").rstrip(".") if places else f"{int(whole_part):,}"


def _known(name: str, value: object, options: Iterable[str]) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: wanted one of {', '.join(options)}, got {value!r} ({type(value).__name__})")
    if value not in options:
        raise ValueError(f"{name}: wanted one of {', '.join(options)}, got {value!r}")
    return value


def _each(name: str, values: object) -> Iterable:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: wanted a list, got {values!r} ({type(values).__name__})")
    return values


def _shape(config: AttentionConfig) -> tuple[int, int, int, int]:
    """Layers, query heads, KV heads and head width of a config, checked together."""
    if not isinstance(config, Mapping):
        raise TypeError(f"config: wanted a dict, got {config!r} ({type(config).__name__})")
    keys = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")
    missing = [key for key in keys if key not in config]
    if missing:
        raise ValueError(f"config: wanted the keys {', '.join(keys)}, got none for {', '.join(missing)}")
    layers, heads, kv_heads, head_dim = (whole(key, config[key]) for key in keys)
    if heads % kv_heads:
        raise ValueError(
            f"num_key_value_heads: wanted a divisor of num_attention_heads = {heads}, so that every KV head "
            f"serves equally many query heads, got {kv_heads}"
        )
    return layers, heads, kv_heads, head_dim
