"""Byte formulas against arrays really allocated, against counting one by one, and against their own laws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab import sizes

CONFIG = {
    "num_hidden_layers": 5,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "head_dim": 7,
    "hidden_size": 99,
}
SHAPE = {"num_layers": 3, "batch": 4, "tokens": 11, "num_kv_heads": 5, "head_dim": 7}
small = st.integers(1, 9)
large = st.integers(1, 10**6)


def allocated(num_layers, batch, tokens, num_kv_heads, head_dim, dtype):
    """K and V of every layer, as arrays that exist."""
    shape = (batch, num_kv_heads, tokens, head_dim)
    return [np.zeros(shape, dtype) for _layer in range(num_layers) for _k_or_v in range(2)]


@given(st.tuples(small, small, st.integers(0, 9), small, small))
def test_elements_and_bytes_are_those_of_allocated_arrays(shape):
    for dtype, bits in ((np.float32, 32), (np.float16, 16), (np.int8, 8)):
        arrays = allocated(*shape, dtype)
        assert sizes.kv_elements(*shape) == sum(array.size for array in arrays)
        assert sizes.kv_bytes(*shape, bits) == sum(array.nbytes for array in arrays)


def test_the_hand_count_is_counted_one_by_one():
    cells = [
        (layer, which, token, head, element)
        for layer in range(2)
        for which in "KV"
        for token in range(3)
        for head in range(2)
        for element in range(4)
    ]
    assert sizes.kv_elements(2, 1, 3, 2, 4) == len(cells) == 96
    assert sizes.kv_bytes(2, 1, 3, 2, 4, 16) == 192


@pytest.mark.parametrize("argument", SHAPE)
@given(factor=large)
def test_elements_are_linear_in_each_argument(argument, factor):
    once = sizes.kv_elements(**(SHAPE | {argument: 1}))
    assert sizes.kv_elements(**(SHAPE | {argument: factor})) == factor * once


@given(elements=large, bits=st.integers(1, 64))
def test_an_odd_total_of_bits_rounds_up_once(elements, bits):
    assert sizes.kv_bytes(1, 1, elements, 1, 1, bits) == math.ceil(Fraction(2 * elements * bits, 8))


@given(bits=st.integers(0, 2**80))
def test_bits_fill_the_fewest_bytes_that_hold_them(bits):
    assert sizes.bits_to_bytes(bits) == math.ceil(Fraction(bits, 8))


def test_rounding_happens_at_the_end_and_not_for_each_request():
    assert sizes.ragged_kv_bytes([1, 1, 1, 1], 1, 1, 1, 3) == 3  # 24 bits; rounding each request would give 4


def test_a_quadrillion_tokens_stay_exact():
    tokens = 10**15
    counted = 0
    for _layer in range(32):
        for _head in range(8):
            counted += tokens * 128 * 2 * 2  # elements of one head, K and V, two bytes each
    got = sizes.kv_bytes(32, 1, tokens, 8, 128, 16)
    assert got == counted == 131_072 * 10**15 and type(got) is int
    assert sizes.max_tokens(got, CONFIG | {"num_hidden_layers": 32}, 16) > tokens


def test_numpy_integers_do_not_overflow():
    got = sizes.kv_bytes(np.int32(32), np.int8(100), np.int64(10**15), np.uint8(8), np.int16(128), 16)
    assert got == 131_072 * 10**17 and type(got) is int


@given(length=st.integers(0, 99), batch=small, bits=st.integers(1, 40))
def test_ragged_requests_of_equal_length_are_a_batch(length, batch, bits):
    ragged = sizes.ragged_kv_bytes([length] * batch, 3, 5, 7, bits)
    assert ragged == sizes.kv_bytes(3, batch, length, 5, 7, bits)


@given(lengths=st.lists(st.integers(0, 9), max_size=6))
def test_ragged_bytes_are_those_of_one_allocation_for_each_request(lengths):
    arrays = [array for n in lengths for array in allocated(3, 1, n, 5, 7, np.float16)]
    assert sizes.ragged_kv_bytes(lengths, 3, 5, 7, 16) == sum(array.nbytes for array in arrays)


def test_an_empty_batch_holds_nothing_and_lengths_may_be_any_iterable():
    assert sizes.ragged_kv_bytes([], 3, 5, 7, 16) == 0
    assert sizes.ragged_kv_bytes((n for n in (2, 3)), 3, 5, 7, 16) == sizes.kv_bytes(3, 1, 5, 5, 7, 16)
    assert sizes.ragged_kv_bytes(np.array([2, 3]), 3, 5, 7, 16) == sizes.kv_bytes(3, 1, 5, 5, 7, 16)


def test_bytes_per_token_ignores_query_heads_and_hidden_size():
    expected = sum(array.nbytes for array in allocated(5, 1, 1, 4, 7, np.float16))
    assert sizes.bytes_per_token(CONFIG, 16) == expected
    assert sizes.bytes_per_token(CONFIG | {"num_attention_heads": 24, "hidden_size": 1}, 16) == expected


def test_capacity_table_is_variant_major_in_the_order_given():
    rows = sizes.capacity_table(CONFIG, [30, 10], ["MQA", "MHA", "GQA"], 8)
    heads = {"MHA": 12, "GQA": 4, "MQA": 1}
    expected = []
    for variant in ("MQA", "MHA", "GQA"):
        for tokens in (30, 10):
            n_bytes = sum(array.nbytes for array in allocated(5, 1, tokens, heads[variant], 7, np.int8))
            expected.append({"variant": variant, "tokens": tokens, "bytes": n_bytes})
    assert rows == expected
    assert [row["variant"] for row in sizes.capacity_table(CONFIG, [1])] == ["MHA", "GQA", "MQA"]
    assert sizes.capacity_table(CONFIG, []) == []


@given(budget=st.integers(0, 10**7), bits=st.sampled_from([3, 4, 8, 16, 32]))
def test_max_tokens_is_the_largest_that_fits(budget, bits):
    tokens = sizes.max_tokens(budget, CONFIG, bits)
    assert sizes.kv_bytes(5, 1, tokens, 4, 7, bits) <= budget < sizes.kv_bytes(5, 1, tokens + 1, 4, 7, bits)


def test_max_tokens_at_the_edges():
    one = sizes.bytes_per_token(CONFIG, 16)
    assert [sizes.max_tokens(n, CONFIG, 16) for n in (0, one - 1, one, 2 * one - 1)] == [0, 0, 1, 1]


@given(n_bytes=st.integers(0, 10**24))
def test_units_are_exact_and_round_trip(n_bytes):
    units = sizes.as_units(n_bytes)
    assert list(units) == ["GB", "GiB", "MB", "MiB", "KiB"]
    scale = {"GB": 10**9, "GiB": 1024**3, "MB": 10**6, "MiB": 1024**2, "KiB": 1024}
    assert all(isinstance(value, Fraction) and value * scale[name] == n_bytes for name, value in units.items())


def test_weight_bytes_round_up_like_the_cache():
    assert sizes.weight_bytes(7 * 10**9, 16) == 14 * 10**9
    assert sizes.weight_bytes(3, 4) == 2


@pytest.mark.parametrize(
    ("n_bytes", "shown"),
    [
        (0, "0 B"),
        (192, "192 B"),
        (1024, "1 KiB (1,024 B)"),
        (1500, "≈ 1.465 KiB (1,500 B)"),
        (2_315_255_808, "2.15625 GiB (2,315,255,808 B)"),
        (14 * 10**9, "≈ 13.04 GiB (14,000,000,000 B)"),
        (131_072 * 10**15, "122,070,312,500 GiB (131,072,000,000,000,000,000 B)"),
    ],
)
def test_show_bytes_is_exact_when_short_and_says_when_it_is_not(n_bytes, shown):
    assert sizes.show_bytes(n_bytes) == shown


@given(st.fractions(min_value=0, max_value=10**12))
def test_show_number_is_right_to_four_digits(value):
    shown = sizes.show_number(value)
    number = Fraction(shown.removeprefix("≈ ").replace(",", ""))
    assert (
        number == value if not shown.startswith("≈") else abs(number - value) <= max(value / 1000, Fraction(1, 10**12))
    )


NOT_WHOLE = [
    True,
    False,
    np.True_,
    2.0,
    0.5,
    float("nan"),
    float("inf"),
    "3",
    None,
    [3],
    np.float64(3),
    Fraction(3),
]
CALLS = {
    "kv_elements": (sizes.kv_elements, SHAPE),
    "kv_bytes": (sizes.kv_bytes, SHAPE | {"bits_per_element": 16}),
    "ragged_kv_bytes": (
        lambda length, **rest: sizes.ragged_kv_bytes([5, length], **rest),
        {"length": 3, "num_layers": 3, "num_kv_heads": 5, "head_dim": 7, "bits_per_element": 16},
    ),
    "bytes_per_token": (
        lambda bits_per_element, **config: sizes.bytes_per_token(config, bits_per_element),
        CONFIG | {"bits_per_element": 16},
    ),
    "capacity_table": (
        lambda context, bits_per_element, **config: sizes.capacity_table(
            config, [5, context], bits_per_element=bits_per_element
        ),
        CONFIG | {"context": 3, "bits_per_element": 16},
    ),
    "max_tokens": (
        lambda budget_bytes, bits_per_element, **config: sizes.max_tokens(budget_bytes, config, bits_per_element),
        CONFIG | {"budget_bytes": 3, "bits_per_element": 16},
    ),
    "weight_bytes": (sizes.weight_bytes, {"num_params": 3, "bits": 16}),
    "as_units": (sizes.as_units, {"n_bytes": 3}),
    "show_bytes": (sizes.show_bytes, {"n_bytes": 3}),
}
ARGUMENTS = [(name, argument) for name, (_, good) in CALLS.items() for argument in good if argument != "hidden_size"]
MAY_BE_ZERO = {"tokens", "length", "context", "budget_bytes", "n_bytes"}
SHOWN_AS = {"length": "lengths[1]", "context": "contexts[1]"}


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_every_argument_must_be_a_whole_number_in_range(name, argument):
    function, good = CALLS[name]
    shown = SHOWN_AS.get(argument, argument)
    function(**good)
    for bad in NOT_WHOLE:
        with pytest.raises(TypeError) as error:
            function(**(good | {argument: bad}))
        assert str(error.value).startswith(f"{shown}: wanted a whole number") and repr(bad) in str(error.value)
    lowest = 0 if argument in MAY_BE_ZERO else 1
    for bad in (lowest - 1, -(10**20), np.int64(-5)):
        with pytest.raises(ValueError, match="wanted a whole number of at least") as error:
            function(**(good | {argument: bad}))
        assert str(error.value).startswith(f"{shown}:") and repr(bad) in str(error.value)
    function(**(good | {argument: np.int64(12)}))
    if lowest == 0:
        function(**(good | {argument: 0}))


CARD_USERS = {
    "bytes_per_token": lambda config: sizes.bytes_per_token(config, 16),
    "capacity_table": lambda config: sizes.capacity_table(config, [3]),
    "max_tokens": lambda config: sizes.max_tokens(1, config, 16),
}


@pytest.mark.parametrize("use", CARD_USERS.values(), ids=CARD_USERS)
def test_a_config_without_a_key_or_with_heads_that_do_not_divide_is_refused(use):
    for key in CONFIG:
        if key == "hidden_size":
            continue
        with pytest.raises(ValueError, match=rf"config: .*got none for {key}"):
            use({k: v for k, v in CONFIG.items() if k != key})
    with pytest.raises(ValueError, match=r"num_key_value_heads: wanted a divisor of num_attention_heads = 12.*got 5"):
        use(CONFIG | {"num_key_value_heads": 5})
    with pytest.raises(ValueError, match="num_key_value_heads"):
        use(CONFIG | {"num_key_value_heads": 24})
    with pytest.raises(TypeError, match="config: wanted a dict"):
        use([32, 8, 128])


def test_unknown_names_and_things_that_are_no_lists_are_refused():
    with pytest.raises(ValueError, match="variants: wanted one of MHA, GQA, MQA, got 'MLA'"):
        sizes.capacity_table(CONFIG, [3], ["MLA"])
    with pytest.raises(TypeError, match="variants: wanted a list"):
        sizes.capacity_table(CONFIG, [3], "MHA")
    with pytest.raises(TypeError, match="variants: wanted one of"):
        sizes.capacity_table(CONFIG, [3], [1])
    with pytest.raises(TypeError, match="contexts: wanted a list, got 4096"):
        sizes.capacity_table(CONFIG, 4096)
    for bad in (4096, "123", {"a": 3}, None):
        with pytest.raises(TypeError, match="lengths: wanted a list"):
            sizes.ragged_kv_bytes(bad, 3, 5, 7, 16)
    with pytest.raises(TypeError, match="bits_per_element"):
        sizes.ragged_kv_bytes([], 3, 5, 7, "BF16")


def test_element_types_are_known_by_name():
    assert {name: sizes.dtype_bits(name) for name in ("FP32", "BF16", "FP16", "FP8", "INT8", "INT4")} == {
        "FP32": 32,
        "BF16": 16,
        "FP16": 16,
        "FP8": 8,
        "INT8": 8,
        "INT4": 4,
    }
    with pytest.raises(ValueError, match=r"dtype: wanted one of FP32, BF16.*got 'BF17'"):
        sizes.dtype_bits("BF17")
    with pytest.raises(TypeError, match="dtype"):
        sizes.dtype_bits(16)
