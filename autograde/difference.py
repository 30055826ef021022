"""Where two plain values part, in one sentence. Long lists, dicts and arrays look alike until somebody points."""

import numpy as np

from autograde.values import Opaque, Raised, same, show


def difference(yours: object, expected: object, tolerance: float = 0.0) -> str:
    """The first difference in kind or place, or "" where "yours" beside "expected" says it all."""
    place, said = _first(yours, expected, tolerance)
    return f"At {', '.join(place)}: {said}" if place and said else said


def _first(yours: object, expected: object, tolerance: float) -> tuple[list[str], str]:
    """The way to the first difference, and what there is to say about it."""
    if isinstance(yours, Raised | Opaque) or isinstance(expected, Raised):
        return [], ""
    if type(yours) is not type(expected):
        return [], _kinds(yours, expected)
    if type(expected) is list:
        if len(yours) != len(expected):
            return [], f"Yours has {_count(yours)}; {_count(expected)} wanted."
        pairs = [(f"item {i}", mine, wanted) for i, (mine, wanted) in enumerate(zip(yours, expected, strict=True))]
    elif type(expected) is dict:
        missing, extra = ([key for key in a if key not in b] for a, b in ((expected, yours), (yours, expected)))
        if missing or extra:
            parts = [
                f"{word} {', '.join(map(show, keys))}"
                for word, keys in (("missing:", missing), ("extra:", extra))
                if keys
            ]
            return [], f"The keys differ; {'; '.join(parts)}."
        pairs = [(show(key), yours[key], wanted) for key, wanted in expected.items()]
    elif type(expected) is np.ndarray:
        return [], _arrays(yours, expected, tolerance)
    else:
        return [], ""
    for place, mine, wanted in pairs:
        if not same(mine, wanted, tolerance):
            inner, said = _first(mine, wanted, tolerance)
            return [place, *inner], said or f"yours {show(mine)}, expected {show(wanted)}."
    return [], ""


def _kinds(yours: object, expected: object) -> str:
    if type(yours) is int and type(expected) is float:
        return ""  # an integer is welcome where a float is wanted, so the value is at fault
    kind = "list or tuple" if type(expected) is list else type(expected).__name__
    wanted = "None" if expected is None else f"a value of type {kind}"
    if yours is None:
        return f"Yours is None; {wanted} was wanted. Does every path end in `return`?"
    return f"Yours is of type {type(yours).__name__}; {wanted} was wanted."


def _arrays(yours: np.ndarray, expected: np.ndarray, tolerance: float) -> str:
    if yours.shape != expected.shape:
        return f"Yours has shape {yours.shape}; {expected.shape} was wanted."
    if (yours.dtype.kind == "b") != (expected.dtype.kind == "b") or (yours.dtype.kind, expected.dtype.kind) == (
        "f",
        "i",
    ):
        return f"Yours holds {yours.dtype}; {expected.dtype} was wanted."
    differs = [
        place
        for place in np.ndindex(expected.shape)
        if not same(yours[place].item(), expected[place].item(), tolerance)
    ]
    if not differs:
        return ""
    place = differs[0]
    where = ", ".join(map(str, place))
    values = f"yours {yours[place].item()}, expected {expected[place].item()}."
    return f"{len(differs)} of {expected.size} entries differ, first [{where}]: {values}"


def _count(items: list) -> str:
    return f"{len(items)} item{'' if len(items) == 1 else 's'}"
