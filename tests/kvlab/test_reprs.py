"""Values in few characters."""

import numpy as np
import pytest

from kvlab.reprs import short_repr


@pytest.mark.parametrize(
    "value, most, shown",
    [
        (7, 60, "7"),
        ("a  b", 60, "'a  b'"),
        ("abcdef", 8, "'abcdef'"),
        ("abcdef", 7, "'abcde…"),
        (np.array([[1, 2], [3, 4]]), 60, "array([[1, 2], [3, 4]])"),
        (10**10_000, 60, "a very large number"),
        (-(2**200), 60, "a very large number"),
    ],
    ids=["as it is", "its own spaces", "just short enough", "one too long", "on one line", "no repr", "negative"],
)
def test_a_value_is_shown_on_one_line_and_not_longer_than_asked(value, most, shown):
    assert short_repr(value, most) == shown
