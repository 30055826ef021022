"""What a sandboxed process reports is read back exactly, and nothing else is read at all."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograde.grading.sandbox.wire import MAX_BITS, MAX_KEYS, Malformed, decode, encode
from autograde.values import Opaque, Raised, plain, same

KEYS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text()
ARRAYS = hnp.arrays(
    st.sampled_from(["?", "i1", "<i8", ">i4", "u2", "<f4", "<f8", "f2"]), hnp.array_shapes(min_dims=0, min_side=0)
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**53, max_value=2**200)
    | st.floats()
    | st.text()
    | st.fractions()
    | ARRAYS
    | st.sampled_from([Raised("ValueError"), Opaque("Liar")]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def identical(one: object, other: object) -> bool:
    """Equal in kind, order and bits; NaN is NaN and an opaque object is itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if type(one) is list:
        return len(one) == len(other) and all(map(identical, one, other))
    if type(one) is dict:
        return identical(list(one), list(other)) and identical(list(one.values()), list(other.values()))
    return one == other or (type(one) is float and one != one and other != other)


@given(VALUES)
def test_every_plain_value_comes_back_as_it_was(value):
    assert identical(decode(json.loads(json.dumps(encode(value)))), value)


@given(VALUES)
def test_what_comes_back_is_plain_and_judged_the_same(value):
    came = plain(decode(json.loads(json.dumps(encode(value)))), ours=True)
    assert same(came, plain(value, ours=True)) == same(value, value)


def test_an_integer_that_would_keep_the_judge_busy_is_not_sent():
    assert decode(encode(1 << (MAX_BITS - 1))) == 1 << (MAX_BITS - 1)
    assert decode(encode(1 << MAX_BITS)) == Opaque("int")


@pytest.mark.parametrize(
    "forged",
    [
        {},
        {"int": "0x1", "float": "nan"},
        {"int": 5},
        {"int": "0x" + "f" * MAX_BITS},
        {"int": "eight"},
        {"float": "1e5"},
        {"fraction": [1, 0]},
        {"fraction": [0.5, 1]},
        {"fraction": [1]},
        {"dict": [[[1], 2]]},
        {"dict": [1]},
        {"dict": [[{"int": hex(2**61 - 1)}, 0]]},
        {"dict": [[0.5, 0]]},
        {"dict": [[key, 0] for key in range(MAX_KEYS + 1)]},
        {"array": ["O", [1], "AAAAAAAAAAA="]},
        {"array": ["<f8", [-1], ""]},
        {"array": ["<f8", [2], "AAAAAAAAAAA="]},
        {"array": ["<f8", [1], "AAAA"]},
        {"array": ["V8", [1], "AAAAAAAAAAA="]},
        {"array": ["no dtype", [1], ""]},
        {"raised": 5},
        {"opaque": None},
        {"pickle": "gASV"},
        {"eval": "1"},
    ],
)
def test_anything_else_is_malformed(forged):
    with pytest.raises(Malformed):
        decode(forged)
    with pytest.raises(Malformed):
        decode([forged])


def test_a_fraction_is_no_pair_of_numbers():
    assert decode(encode(Fraction(6, 4))) == Fraction(3, 2)
    assert type(decode(encode(Fraction(4, 2)))) is Fraction
