"""Plain values as JSON and back. What comes back was written by a process that a student's code could take over.

So nothing is unpickled, imported or called here, and whatever is not exactly as `encode` writes it is refused.
"""

import base64
import math
from fractions import Fraction

import numpy as np

from autograde.values import Changed, Opaque, Raised

MAX_BITS = 65_536  # of one integer: arithmetic on longer ones could keep the judge busy for hours
EXACT = 2**53  # JSON readers agree on integers up to here
MAX_KEYS = 1_000  # of one dict
MAX_NOTE = 4_000  # characters of what is told about an exception
ITEM_SIZES = (1, 2, 4, 8, 16)


class Malformed(ValueError):
    """The text is nothing that `encode` writes."""


def encode(value: object) -> object:
    """`value`, as `autograde.values.plain` makes it, in types that JSON knows."""
    kind = type(value)
    if value is None or kind in (bool, str) or (kind is int and abs(value) < EXACT):
        return value
    if kind is int:
        return {"int": hex(value)} if value.bit_length() <= MAX_BITS else encode(Opaque("int"))
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is list:
        return [encode(item) for item in value]
    if kind is dict:
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if kind is Fraction:
        return {"fraction": [encode(value.numerator), encode(value.denominator)]}
    if kind is np.ndarray:
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": [value.dtype.str, list(value.shape), data]}
    if kind is Changed:
        return {"changed": [list(value.names), encode(value.value)]}
    return {"raised": [value.name, value.note[:MAX_NOTE]]} if kind is Raised else {"opaque": value.type_name}


def decode(value: object) -> object:
    """The plain value that `encode` made `value` of. Malformed for anything else."""
    kind = type(value)
    if value is None or kind in (bool, str, int, float):
        return value
    if kind is list:
        return [decode(item) for item in value]
    if kind is not dict or len(value) != 1:
        raise Malformed(f"{kind.__name__} instead of a value")
    ((tag, content),) = value.items()
    try:
        return _DECODERS[tag](content)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise Malformed(f"a bad value of kind {tag[:20]!r}") from error


def _text(content: object) -> str:
    if type(content) is not str:
        raise Malformed("not a text")
    return content


def _name(content: object) -> str:
    """Of a type. Anything can be one; it is shown to people."""
    return "".join(each if each.isprintable() else "?" for each in _text(content)[:100])


def _raised(content: object) -> Raised:
    name, note = content
    return Raised(_name(name), _note(note))


def _changed(content: object) -> Changed:
    names, value = content
    if type(names) is not list or not 0 < len(names) <= MAX_KEYS:
        raise Malformed("not names")
    return Changed(tuple(map(_name, names)), decode(value))


def _note(content: object) -> str:
    """A student's own line. It may have several, and holds no other control character."""
    text = _text(content)[:MAX_NOTE]
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in text)


def _int(content: object) -> int:
    if len(_text(content)) > MAX_BITS // 4 + 3:
        raise Malformed("too long an integer")
    return int(content, 16)


def _float(content: object) -> float:
    if content not in ("nan", "inf", "-inf"):
        raise Malformed("not a float")
    return float(content)


def _dict(content: object) -> dict:
    if len(content) > MAX_KEYS:
        raise Malformed("too large a dict")
    return {_key(key): decode(item) for key, item in content}


def _key(key: object) -> object:
    """Only keys that nobody can choose so that all of them hash alike: a dict of those takes hours to build."""
    if key is None or type(key) in (bool, str) or (type(key) is int and abs(key) < EXACT):
        return key
    raise Malformed("not a key")


def _fraction(content: object) -> Fraction:
    numerator, denominator = map(decode, content)
    if type(numerator) is not int or type(denominator) is not int:
        raise Malformed("not a fraction of integers")
    return Fraction(numerator, denominator)


def _array(content: object) -> np.ndarray:
    code, shape, data = content
    dtype = np.dtype(_text(code))
    if dtype.kind not in "biuf" or dtype.itemsize not in ITEM_SIZES:
        raise Malformed("not a numeric array")
    if any(type(size) is not int or size < 0 for size in shape):
        raise Malformed("not a shape")
    return np.frombuffer(base64.b64decode(_text(data), validate=True), dtype).reshape(shape).copy()


_DECODERS = {
    "int": _int,
    "float": _float,
    "dict": _dict,
    "fraction": _fraction,
    "array": _array,
    "raised": _raised,
    "changed": _changed,
    "opaque": lambda content: Opaque(_name(content)),
}
