"""Values from a learner's code are copied into types that cannot misbehave, and compared by kind and content."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import torch
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
    assert same(plain(value), value)


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
    assert show([840818, {"n": 524288}]) == "[840_818, {'n': 524_288}]"  # a comma already stands between items
    assert show(list(range(20))) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 8 more]"
    assert show(Raised("ValueError")) == "raises ValueError"
    assert "float64[2]" in show(np.ones(2))


class TensorWithOpinions(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return np.ones(2)

    def numpy(self, **options):
        return np.ones(2)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (torch.float64, "float64"),
        (torch.float32, "float32"),
        (torch.bfloat16, "float32"),
        (torch.float16, "float32"),
        (torch.float8_e4m3fn, "float32"),
        (torch.int64, "int64"),
        (torch.uint8, "uint8"),
        (torch.bool, "bool"),
    ],
)
def test_a_tensor_becomes_an_array_of_its_kind(dtype, kind):
    copy = plain(torch.tensor([[0, 1, 1]]).to(dtype))
    assert type(copy) is np.ndarray and copy.dtype == kind
    assert copy.tolist() == [[0, 1, 1]]


def test_a_tensor_is_copied_whatever_its_strides_and_its_gradient():
    tensor = torch.arange(6.0, requires_grad=True).reshape(2, 3)
    copies = plain((tensor.T, torch.ones(1).expand(2, 2), torch.tensor(3.0)))
    with torch.no_grad():
        tensor += 9
    assert same(copies, [np.arange(6.0).reshape(2, 3).T, np.ones((2, 2)), np.array(3.0)])
    assert not same(copies[2], 3.0)  # as an array without axes


@pytest.mark.parametrize(
    ("tensor", "said"),
    [
        (torch.ones(2, device="meta"), "Tensor on the device meta"),
        (torch.ones(2).to_sparse(), "Tensor, torch.sparse_coo, torch.float32"),
        (torch.ones(2, dtype=torch.complex64), "Tensor, torch.strided, torch.complex64"),
        (torch.zeros(1).expand(MAX_ITEMS + 1), "Tensor"),
        (TensorWithOpinions(torch.zeros(2)), "TensorWithOpinions"),
        (torch.nn.Parameter(torch.ones(2)), "Parameter"),
    ],
)
def test_a_tensor_without_plain_numbers_says_what_it_is_and_equals_nothing(tensor, said):
    assert plain([tensor]) == [Opaque(said)]
    assert not same(plain(tensor), np.ones(2)) and not same(plain(tensor), plain(tensor))


def test_a_traced_tensor_is_opaque():
    seen = []
    torch.func.vmap(lambda row: seen.append(plain(row)) or row)(torch.ones(2, 3))
    assert seen == [Opaque("Tensor, torch.float32")]


def test_attributes_that_a_tensor_carries_are_not_called():
    tensor = torch.zeros(2)
    for name in ("numpy", "detach", "numel", "to", "__array__"):
        setattr(tensor, name, lambda *arguments, **options: np.ones(2))
    assert same(plain(tensor), np.zeros(2))


def test_copying_a_value_imports_no_torch_and_believes_no_stand_in():
    program = (
        "import sys; from types import SimpleNamespace; import autograde.values as values;"
        "values.plain([1, object()]); assert 'torch' not in sys.modules;"
        "sys.modules['torch'] = SimpleNamespace(); print(values.plain(object()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "Opaque(type_name='object')\n"), done.stderr
