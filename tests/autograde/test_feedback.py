"""Feedback fits a screen, carries everything, and reads the same without colour."""

import pytest

from autograde.exercise import Verdict
from autograde.feedback import WIDTH, render

WRONG = Verdict(
    exercise="kv_bytes",
    status="wrong",
    points=2,
    cases=7,
    case_number=2,
    case_label="five different sizes",
    inputs=(("num_layers", "3"), ("bits_per_element", "16")),
    yours="96",
    expected="192",
    note="TypeError: no\nin your line 3:  return x",
    diagnosis="Did you count only one of the two tensors that each layer keeps, " + "word " * 30 + "?",
    source="somewhere#1",
)


def test_every_part_of_a_wrong_answer_is_shown():
    text = render(WRONG, color=False)
    for part in ("✗ kv_bytes", "case 2 of 7", "five different sizes", "96", "192", "line 3", "Did you", "somewhere#1"):
        assert part in text
    assert text.endswith('hint("kv_bytes")')


def test_names_of_inputs_are_aligned():
    lines = render(WRONG, color=False).splitlines()
    assert len({line.index("=") for line in lines if " = " in line}) == 1


def test_prose_is_wrapped():
    assert max(map(len, render(WRONG, color=False).splitlines())) <= WIDTH


@pytest.mark.parametrize("status", ["right", "not done", "borrowed", "wrong"])
def test_colour_adds_nothing_but_colour(status):
    import re
    from dataclasses import replace

    verdict = replace(WRONG, status=status)
    assert re.sub(r"\x1b\[\d+m", "", render(verdict)) == render(verdict, color=False)
    assert "\x1b[" in render(verdict) and "\x1b[" not in render(verdict, color=False)


def test_one_of_anything_is_singular():
    assert "1 case · 1 point" in render(Verdict("x", "right", 1, 1), color=False)
