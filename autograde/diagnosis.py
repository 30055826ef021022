"""Which known mistakes explain a learner's values. It works on plain values alone, and part by part.

A value has parts: a dict its keys, a short list its items, the log of a class exercise its first step that differs.
Where a mistake would not show, nothing speaks against it; what is wrong there may have another reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from autograde.values import Opaque, Raised, same

MAX_ITEMS = 12  # of a list that is taken apart; a longer one is one part
Path = tuple[object, ...]  # keys and places on the way to a part; () is the whole value


class _Elsewhere:
    """What a mistake gives for a part that its value does not have. It equals nothing."""


@dataclass(frozen=True)
class Part:
    """One part of the value of one case: what was expected, what came, and what a known mistake gives."""

    expected: object
    yours: object
    mistaken: object
    tolerance: float

    @property
    def wrong(self) -> bool:
        return not same(self.yours, self.expected, self.tolerance)

    @property
    def shows(self) -> bool:
        """Whether the mistake makes a difference here."""
        return not same(self.mistaken, self.expected, self.tolerance)

    @property
    def explained(self) -> bool:
        return self.wrong and same(self.yours, self.mistaken, self.tolerance)

    @property
    def refused(self) -> bool:
        """An exception where a value was wanted may have any reason."""
        return _holds_refusal(self.yours) and not _holds_refusal(self.expected)


def diagnose(
    expected: Sequence[object],
    yours: Sequence[object],
    mistakes: Sequence[Sequence[object]],
    tolerance: float,
    steps: bool,
) -> list[int]:
    """Numbers of the `mistakes` to ask about, none where nothing fits; each of them is its values on all cases.

    One that explains all that is wrong is enough, and all that do so are named; else two that do so together.
    `steps`: the value of a case is the list of the values of a class exercise's steps.
    """
    telling = {number: mistake for number, mistake in enumerate(mistakes) if _is_telling(mistake)}
    if alike := [n for n, mistake in telling.items() if all(map(same, yours, mistake, [tolerance] * len(yours)))]:
        return alike
    found: dict[int, set[tuple[int, Path]]] = {}
    for number, mistake in telling.items():
        cases = [_parts(*case, tolerance, steps) for case in zip(expected, yours, mistake, strict=True)]
        if _fits([list(case.values()) for case in cases]):
            found[number] = {(i, path) for i, case in enumerate(cases) for path, part in case.items() if part.explained}
    wrong = _wrong(expected, yours, tolerance, steps)
    if whole := [number for number, explained in found.items() if explained >= wrong]:
        return whole
    return next((list(two) for two in combinations(found, 2) if found[two[0]] | found[two[1]] >= wrong), [])


def _fits(cases: list[list[Part]]) -> bool:
    """Whether somebody who makes the mistake, and perhaps another one, can have these values.

    They may get some parts right by a special case of their own; most they get wrong. Evidence are values, not
    exceptions, in two cases or more, and not the same one everywhere.
    """
    parts = [part for case in cases for part in case]
    explained = [part for part in parts if part.explained]
    avoided = [part for part in parts if part.shows and not part.wrong]
    if any(part.shows and part.wrong and not part.explained and not part.refused for part in parts):
        return False
    evidence = [
        [
            part.mistaken
            for part in case
            if part.explained and not (_holds_refusal(part.mistaken) or isinstance(part.mistaken, Opaque))
        ]
        for case in cases
    ]
    values = [value for case in evidence for value in case]
    return (
        sum(map(bool, evidence)) > 1
        and not all(same(value, values[0]) for value in values)
        and len(avoided) <= len(explained)
    )


def _is_telling(mistake: Sequence[object]) -> bool:
    """One exception or one number for all cases is what many mistakes give."""
    first, *others = [leaf for value in mistake for leaf in _scalars(value)] or [None]
    return len(mistake) == 1 or not all(same(each, first) for each in others)


def _scalars(value: object) -> list[object]:
    """All that a value is made of."""
    if type(value) not in (list, dict):
        return [value]
    return [leaf for part in (value.values() if type(value) is dict else value) for leaf in _scalars(part)]


def _wrong(expected: Sequence[object], yours: Sequence[object], tolerance: float, steps: bool) -> set[tuple[int, Path]]:
    """What has to be explained: all wrong parts but exceptions, unless there is nothing else."""
    parts = {
        (number, path): part
        for number, (wanted, mine) in enumerate(zip(expected, yours, strict=True))
        for path, part in _parts(wanted, mine, wanted, tolerance, steps).items()
        if part.wrong
    }
    values = {place for place, part in parts.items() if not part.refused}
    return values or set(parts)


def _parts(expected: object, yours: object, mistaken: object, tolerance: float, steps: bool) -> dict[Path, Part]:
    if steps:
        return _first_step(expected, yours, mistaken, tolerance)
    if _holds_refusal(yours) and not _holds_refusal(expected):  # what else stands there follows from it
        return {(): Part(expected, yours, mistaken, tolerance)}
    return {
        path: Part(wanted, mine, _at(mistaken, expected, path), tolerance)
        for path, wanted, mine in _leaves(expected, yours)
    }


def _holds_refusal(value: object) -> bool:
    inside = value.values() if type(value) is dict else value if type(value) is list else ()
    return isinstance(value, Raised) or any(isinstance(part, Raised) for part in inside)


def _leaves(expected: object, yours: object, path: Path = ()) -> Iterator[tuple[Path, object, object]]:
    """Every part, down to where the two have another form."""
    if _same_form(yours, expected):
        places = expected if type(expected) is dict else range(len(expected))
        for place in places:
            yield from _leaves(expected[place], yours[place], (*path, place))
    else:
        yield path, expected, yours


def _same_form(value: object, expected: object) -> bool:
    """Whether both are dicts of the same keys, or short lists of one length, and hold anything."""
    if type(value) is not type(expected) or not expected if type(expected) in (dict, list) else True:
        return False
    if type(expected) is dict:
        return value.keys() == expected.keys()
    return len(value) == len(expected) <= MAX_ITEMS


def _at(value: object, expected: object, path: Path) -> object:
    """The part of a mistake's value, which may lack it."""
    for key in path:
        if not _same_form(value, expected):
            return _Elsewhere()
        value, expected = value[key], expected[key]
    return value


def _first_step(expected: object, yours: object, mistaken: object, tolerance: float) -> dict[Path, Part]:
    """A class is in another state after its first wrong step, so only that one is compared."""
    if not all(type(each) is list and len(each) == len(expected) for each in (yours, mistaken)):
        return {(): Part(expected, yours, mistaken, tolerance)}
    for values in zip(expected, yours, mistaken, strict=True):
        part = Part(*values, tolerance)
        if part.wrong or part.shows:
            return {(): part}
    return {}
