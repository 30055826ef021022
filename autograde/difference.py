"""Where two plain values part, in one sentence. Long lists and dicts look alike until somebody points."""

from autograde.values import Opaque, Raised, same, show


def difference(yours: object, expected: object, tolerance: float = 0.0) -> str:
    """The first difference in kind or place, or "" where "yours" beside "expected" says it all."""
    if isinstance(yours, Raised | Opaque) or isinstance(expected, Raised):
        return ""
    if yours is None and expected is not None:
        return "Your function returned None. Does every path end in `return`?"
    if type(yours) is not type(expected):
        # An integer is welcome where a float is wanted, so there the value is at fault.
        likely = type(yours) is int and type(expected) is float
        return "" if likely else f"Yours is of type {type(yours).__name__}; {type(expected).__name__} was wanted."
    if type(expected) is list:
        return _in_lists(yours, expected, tolerance)
    if type(expected) is dict:
        return _in_dicts(yours, expected, tolerance)
    return ""


def _in_lists(yours: list, expected: list, tolerance: float) -> str:
    if len(yours) != len(expected):
        return f"Yours has {len(yours)} items; {len(expected)} were wanted."
    for place, (mine, wanted) in enumerate(zip(yours, expected, strict=True)):
        if not same(mine, wanted, tolerance):
            return f"At item {place}: {difference(mine, wanted, tolerance) or _beside(mine, wanted)}"
    return ""


def _in_dicts(yours: dict, expected: dict, tolerance: float) -> str:
    missing, extra = ([key for key in a if key not in b] for a, b in ((expected, yours), (yours, expected)))
    if missing or extra:
        said = [
            f"{word} {', '.join(map(show, keys))}"
            for word, keys in (("missing:", missing), ("not wanted:", extra))
            if keys
        ]
        return f"The keys differ; {'; '.join(said)}."
    for key, wanted in expected.items():
        if not same(yours[key], wanted, tolerance):
            return f"At {show(key)}: {difference(yours[key], wanted, tolerance) or _beside(yours[key], wanted)}"
    return ""


def _beside(mine: object, wanted: object) -> str:
    return f"yours {show(mine)}, expected {show(wanted)}."
