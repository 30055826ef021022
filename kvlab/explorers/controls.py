"""The controls of an explorer: each with its label, the class that finds it on the page, and a value."""

import re
from collections.abc import Iterable
from decimal import Decimal

import ipywidgets as widgets

from kvlab.reprs import short_repr
from kvlab.sizes import whole

CUSTOM = "custom"  # the choice that a list of ready settings shows when none of them is set
MOST_DIGITS = 30  # of a number typed in: beyond any cache, and still readable


def slider(label: str, value: int, lowest: int, highest: int, css: str) -> widgets.IntSlider:
    """A slider over the whole numbers from `lowest` to `highest`."""
    return _control(widgets.IntSlider, label, css, value=value, min=lowest, max=highest)


def ladder(label: str, values: Iterable[int], value: int, css: str) -> widgets.SelectionSlider:
    """A slider over numbers that are not evenly apart, such as powers of two."""
    return _control(widgets.SelectionSlider, label, css, options=with_commas(values), value=value)


def dropdown(label: str, options: list, value: object, css: str) -> widgets.Dropdown:
    """A list to choose one of `options` from; each is a value, or a pair of its words and its value."""
    return _control(widgets.Dropdown, label, css, options=options, value=value)


def text_field(label: str, value: int | str, css: str) -> widgets.Text:
    """Room for a text of one line, `value` at first."""
    # Text, because a browser's number field rounds beyond 2^53; read on Enter or on leaving the field.
    return _control(widgets.Text, label, css, value=str(value), continuous_update=False)


def text_area(label: str, placeholder: str, css: str) -> widgets.Textarea:
    """Room for a text of many lines, read on leaving the field."""
    return _control(widgets.Textarea, label, css, value="", placeholder=placeholder, rows=4, continuous_update=False)


def switch(label: str, css: str) -> widgets.Checkbox:
    """A box to tick, empty at first."""
    return _control(widgets.Checkbox, label, css, value=False)


def with_commas(numbers: Iterable[int]) -> list[tuple[str, int]]:
    """Options of a list or a ladder: each number under its own words, such as "131,072"."""
    return [(f"{each:,}", each) for each in numbers]


def _control(kind, label: str, css: str, **options):
    control = kind(description=label, style={"description_width": "86px"}, layout={"width": "auto"}, **options)
    control.add_class(css)
    return control


def parse_count(name: str, text: str, at_least: int = 1) -> int:
    """A whole number typed by a person, exactly: "131072", "131,072", "131_072" or "1e15".

    ValueError says what came and what was wanted.
    """
    wanted = f"{name}: wanted a whole number of at least {at_least}, such as 131,072 or 1e15, got {short_repr(text)}"
    plain = text.strip()
    if re.fullmatch(r"[+-]?\d{1,3}([,_ ]\d{3})+", plain):
        plain = re.sub(r"[,_ ]", "", plain)
    if not re.fullmatch(r"[+-]?\d+(\.\d+)?([eE]\+?\d{1,3})?", plain):
        raise ValueError(wanted)
    value = Decimal(plain)
    if abs(value) >= 10**MOST_DIGITS:
        raise ValueError(f"{name}: wanted at most {MOST_DIGITS} digits, got {short_repr(text)}")
    if value != int(value):
        raise ValueError(wanted)
    return whole(name, int(value), at_least)


def between(name: str, value: int, least: int, most: int) -> int:
    """`value` as an int from `least` to `most`. TypeError or ValueError says what came and what was wanted."""
    number = whole(name, value, least)
    if number > most:
        raise ValueError(f"{name}: wanted at most {most:,}, got {number:,}")
    return number
