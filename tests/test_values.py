"""Values from a learner's code are copied into types that cannot misbehave, and compared by kind and content."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograde.values import MAX_ITEMS, Opaque, Raised, plain, same, show

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.fractions()
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
)


class AlwaysEqual:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


class IntWithOpinions(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class DictWithOpinions(dict):
    def __getitem__(self, key):
        return 0


@given(trees)
def test_a_plain_value_equals_its_copy(value):
    assert same(plain(value), plain(value))


@given(trees)
def test_copying_twice_changes_nothing(value):
    assert same(plain(plain(value)), plain(value))


@pytest.mark.parametrize("hostile", [AlwaysEqual(), IntWithOpinions(5), DictWithOpinions(), object(), print, {1, 2}])
def test_an_object_with_methods_of_its_own_equals_nothing(hostile):
    copy = plain(hostile)
    assert isinstance(copy, Opaque)
    assert not same(copy, 5)
    assert not same(5, copy)
    assert not same(copy, copy)
    assert not same(plain([hostile]), [5])


def test_the_copy_does_not_follow_later_changes():
    array, rows = np.arange(3.0), [1]
    copies = plain([array, rows])
    array[0], rows[0] = 9, 9
    assert same(copies, [np.arange(3.0), [1]])


@pytest.mark.parametrize(
    ("yours", "expected"),
    [(192.0, 192), (True, 1), (1, True), ("192", 192), (None, 0), ([1], 1), (Fraction(3), 3), (np.ones(1), 1)],
)
def test_kinds_that_look_alike_are_told_apart(yours, expected):
    assert not same(plain(yours), plain(expected))


def test_numpy_scalars_and_tuples_count_as_their_python_kin():
    assert same(plain((np.int32(7), np.float64(0.5), np.bool_(True))), [7, 0.5, True])


def test_an_integer_is_accepted_where_a_float_is_wanted():
    assert same(2, 2.0)
    assert not same(3, 2.0)


def test_an_integer_beyond_the_range_of_float_is_compared_not_overflowed():
    assert not same(10**400, 1.0, tolerance=0.1)


def test_the_tolerance_is_absolute_below_one_and_relative_above():
    assert same(1e-13, 0.0, tolerance=1e-12)
    assert same(1e6 + 1e-7, 1e6, tolerance=1e-12)
    assert not same(1e6 + 1e-5, 1e6, tolerance=1e-12)
    assert not same(math.inf, 1.0, tolerance=0.1)
    assert not same(math.nan, 1.0, tolerance=0.1)


def test_nan_is_the_same_mistake_as_nan_but_no_number():
    assert same(math.nan, math.nan)
    assert same(np.array([math.nan]), np.array([math.nan]))
    assert not same(math.nan, 0.0)


def test_arrays_need_shape_kind_and_content():
    assert same(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-13]), tolerance=1e-12)
    assert not same(np.ones((2, 1)), np.ones((1, 2)))
    assert not same(np.array([1, 0]), np.array([True, False]))
    assert not same(np.array([1.0]), np.array([1]))
    assert same(np.array([1]), np.array([1.0]))


def test_no_finite_number_is_close_to_infinity():
    infinite = np.array([np.inf, -np.inf])
    assert same(infinite, infinite, 1e-9)
    assert not same(np.array([5.0, -np.inf]), infinite, 1e-9)
    assert not same(-infinite, infinite, 1e-9)


def test_keys_are_told_apart_by_kind_too():
    assert not same(plain({True: 1}), {1: 1})
    assert not same(plain({1.0: 1}), {1: 1})


def test_a_marker_that_an_answer_returns_is_opaque():
    class Text(str):
        def __eq__(self, other):
            return True

        __hash__ = str.__hash__

    for marker in (Raised("ValueError"), Raised(Text("x")), Opaque("object")):
        assert isinstance(plain(marker), Opaque) and isinstance(plain([marker])[0], Opaque)
        assert plain(marker) != marker
    assert plain(Raised("ValueError"), ours=True) == Raised("ValueError")


def test_a_class_cannot_name_itself():
    class Meta(type):
        __name__ = property(lambda cls: 1 / 0)
        __mro__ = property(lambda cls: 1 / 0)

    class Odd(Exception, metaclass=Meta):
        pass

    assert plain(Odd()) == Opaque("Odd")
    assert Raised.from_exception(Odd()) == Raised("Exception")


def test_huge_values_are_shown_short():
    assert "digits" in show(10**5000)
    assert len(show([[["x" * 100] * 8] * 8] * 8)) < 3000


def test_object_arrays_and_endless_nesting_are_refused():
    assert isinstance(plain(np.array([object()], dtype=object)), Opaque)
    loop = []
    loop.append(loop)
    assert not same(plain(loop), plain(loop))
    assert isinstance(plain([0] * (MAX_ITEMS + 1)), Opaque)


def test_an_exception_is_known_by_its_built_in_class():
    class Mine(ValueError):
        pass

    assert Raised.from_exception(Mine()) == Raised("ValueError")


def test_large_numbers_are_shown_with_separators_and_long_lists_shortened():
    assert show(524288) == "524,288"
    assert show(192) == "192"
    assert show(list(range(20))) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 8 more]"
    assert show(Raised("ValueError")) == "raises ValueError"
    assert "float64[2]" in show(np.ones(2))
