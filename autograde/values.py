"""Plain values: what an answer may return, how two of them are compared, how one is shown.

An answer is code that we did not write, so nothing that it returns is trusted to compare, print or pickle
itself. `plain` copies a value into types that cannot misbehave; every later step sees only the copy.
"""

import builtins
import math
import sys
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from kvlab.reprs import short_repr

MAX_DEPTH = 12
MAX_ITEMS = 200_000
MAX_SHOWN = 2_000  # characters of one value that a learner reads

# By identity: a class may bring a metaclass whose ==, hash or __name__ do anything.
_BUILT_IN = {id(each): name for name, each in vars(builtins).items() if isinstance(each, type)}


def type_name(kind: type) -> str:
    """The name of a class, asked in a way that the class cannot answer itself."""
    return str.__str__(type.__dict__["__name__"].__get__(kind))


@dataclass(frozen=True)
class Raised:
    """An exception, known by the built-in class it is or derives from. Two of the same class are equal.

    An exercise that also asks what the message says puts that after the class: it is compared and shown with it.
    `note` is what a learner is told about this one, such as the line that raised it; it is never compared.
    """

    name: str
    note: str = field(default="", compare=False)

    @classmethod
    def from_exception(cls, error: BaseException, note: str = "") -> "Raised":
        bases = type.__dict__["__mro__"].__get__(type(error))
        return cls(next(_BUILT_IN[id(base)] for base in bases if id(base) in _BUILT_IN), note)


@dataclass(frozen=True)
class Opaque:
    """Something that is no plain value, such as an object with its own `__eq__`. It equals no expectation."""

    type_name: str


@dataclass(frozen=True, eq=False)
class Changed:
    """What a call returned that changed its caller's arguments, which `names` lists. It equals no expectation."""

    names: tuple[str, ...]
    value: object


def plain(value: object, depth: int = 0, ours: bool = False) -> object:
    """A copy of `value` made of None, bool, int, float, str, Fraction, list, dict and numeric arrays.

    Tuples become lists, NumPy scalars Python numbers and PyTorch tensors arrays. Anything else, a subclass of a plain
    type included, becomes Opaque, because its methods could be anything. `ours` keeps Raised, Opaque and Changed:
    only what was seen may stand for an exception or a change, not what an answer returned.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if ours and kind in (Raised, Opaque, Changed):
        return value
    if kind is Fraction and type(value._numerator) is int and type(value._denominator) is int:
        return Fraction(value._numerator, value._denominator) if value._denominator else Opaque("Fraction")
    if depth < MAX_DEPTH:
        if kind in (list, tuple) and len(value) <= MAX_ITEMS:
            return [plain(item, depth + 1, ours) for item in value]
        if kind is dict and len(value) <= MAX_ITEMS:
            return {_key(key): plain(item, depth + 1, ours) for key, item in value.items()}
    if isinstance(value, np.generic) and kind.__module__ == "numpy" and value.dtype.kind in "biufU":
        item = value.item()
        return item if type(item) in (bool, int, float, str) else Opaque(type_name(kind))
    if kind is np.ndarray and value.dtype.kind in "biuf" and value.size <= MAX_ITEMS:
        return np.array(value)
    # Never imported for this: where nobody has imported torch there is no tensor.
    torch = sys.modules.get("torch")
    if torch is not None and kind is getattr(torch, "Tensor", None):
        return _array(torch, value)
    return Opaque(type_name(kind))


def _array(torch, tensor) -> np.ndarray | Opaque:
    """The numbers of a `torch.Tensor` as an array of the same kind; Opaque says why there are none.

    Half-width floats become float32, because NumPy has no bfloat16. Methods are taken from the class: a tensor
    carries attributes of its own, and one of them may be called `numpy`.
    """
    device, dtype, layout = tensor.device.type, tensor.dtype, tensor.layout
    if device != "cpu":
        return Opaque(f"Tensor on the device {device}")
    if layout is not torch.strided or dtype.is_complex:
        return Opaque(f"Tensor, {layout}, {dtype}")
    if torch.Tensor.numel(tensor) > MAX_ITEMS:
        return Opaque("Tensor")
    try:
        tensor = torch.Tensor.detach(tensor)
        if dtype.is_floating_point and dtype not in (torch.float32, torch.float64):
            tensor = torch.Tensor.to(tensor, torch.float32)
        array = torch.Tensor.numpy(tensor, force=True)
    except (RuntimeError, TypeError):  # such as a tensor that a transform of functions is tracing
        return Opaque(f"Tensor, {dtype}")
    return plain(array) if type(array) is np.ndarray else Opaque("Tensor")


def _key(key: object) -> object:
    copy = plain(key)
    return copy if type(copy) in (bool, int, float, str, type(None)) else Opaque(type_name(type(key)))


def same(yours: object, expected: object, tolerance: float = 0.0) -> bool:
    """Whether two plain values are the same kind of thing and equal.

    Integers and fractions are compared exactly, and an integer is never equal to a float that only looks like it:
    192.0 is not 192. Floats may differ by `tolerance`, absolute below 1 and relative above; an integer is accepted
    where a float is expected. NaN equals NaN, so that two mistakes that both yield NaN are known to be the same.
    """
    if isinstance(expected, np.ndarray) or isinstance(yours, np.ndarray):
        return _same_arrays(yours, expected, tolerance)
    if type(expected) is float and type(yours) in (int, float):
        return _same_floats(yours, expected, tolerance)
    if type(yours) is not type(expected) or isinstance(yours, Opaque):
        return False
    if type(expected) is Changed:
        return yours.names == expected.names and same(yours.value, expected.value, tolerance)
    if type(expected) is list:
        return len(yours) == len(expected) and all(map(same, yours, expected, [tolerance] * len(expected)))
    if type(expected) is dict:
        keys = [{(type(key), key) for key in each} for each in (yours, expected)]  # True is no 1
        return keys[0] == keys[1] and all(same(yours[key], value, tolerance) for key, value in expected.items())
    return yours == expected


def _same_floats(yours: int | float, expected: float, tolerance: float) -> bool:
    if yours == expected:  # most often, and in a tenth of the time
        return True
    if math.isnan(expected) or math.isinf(expected) or not math.isfinite(yours if type(yours) is float else 0.0):
        return yours != yours and expected != expected
    # Fractions, so that an integer beyond the range of float is compared rather than overflowing.
    difference = abs(Fraction(yours) - Fraction(expected))
    return difference <= Fraction(tolerance) * max(Fraction(1), abs(Fraction(expected)))


def _same_arrays(yours: object, expected: object, tolerance: float) -> bool:
    if type(yours) is not np.ndarray or type(expected) is not np.ndarray or yours.shape != expected.shape:
        return False
    if (yours.dtype.kind == "b") != (expected.dtype.kind == "b"):
        return False
    if expected.dtype.kind == "f":
        if np.array_equal(yours, expected):  # most often, and in a third of the time
            return True
        scale = np.maximum(1.0, np.abs(expected))
        with np.errstate(all="ignore"):
            close = np.abs(yours - expected) <= tolerance * scale
        finite = np.isfinite(yours) & np.isfinite(expected)  # an infinite expectation has no neighbourhood
        alike = np.where(finite, close, yours == expected) | (np.isnan(yours) & np.isnan(expected))
        return bool(np.all(alike))
    return yours.dtype.kind != "f" and bool(np.array_equal(yours, expected))


def show(value: object, separator: str = ",") -> str:
    """`value` as a learner reads it: integers from five digits on with separators, long lists and texts shortened.

    With "_" as the separator, which lists and dicts always have, the numbers can be copied into Python.
    """
    text = _show(value, separator)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} …"


def _show(value: object, separator: str) -> str:
    if isinstance(value, Raised):
        return f"raises {value.name}"
    if isinstance(value, Opaque):
        return f"an object of type {value.type_name}"
    if isinstance(value, Changed):
        return _show(value.value, separator)
    if type(value) is int:
        return _show_int(value, separator)
    if type(value) is Fraction:
        return f"Fraction({_show_int(value.numerator, separator)}, {_show_int(value.denominator, separator)})"
    if type(value) is list:
        # Rows of a table, one under the other.
        between = ",\n " if len(value) > 1 and type(value[0]) in (dict, list) else ", "
        shown = between.join(_show(item, "_") for item in value[:12])  # between items a comma already stands
        return f"[{shown}{f', … {len(value) - 12} more' if len(value) > 12 else ''}]"
    if type(value) is dict:
        items = list(value.items())[:12]
        return "{" + ", ".join(f"{short_repr(key)}: {_show(item, '_')}" for key, item in items) + "}"
    if isinstance(value, np.ndarray):
        digits = value.astype(int) if value.dtype.kind == "b" else value  # a mask of 0 and 1 is easier to compare
        body = np.array2string(digits, threshold=200, edgeitems=3, precision=6, suppress_small=True)
        return f"{body}  {value.dtype}{list(value.shape)}"
    return short_repr(value)


def _show_int(value: int, separator: str) -> str:
    if value.bit_length() > 1000:  # Python refuses to write out very long integers
        return f"an integer of about {int(value.bit_length() * math.log10(2)) + 1:,} digits"
    return f"{value:{separator}}" if abs(value) >= 10_000 else str(value)
