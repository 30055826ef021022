"""The sentence names the first place where two values part, and keeps silent where the values speak."""

import numpy as np
import pytest

from autograde.difference import difference
from autograde.values import Opaque, Raised


@pytest.mark.parametrize(
    ("yours", "expected", "said"),
    [
        (96, 192, ""),
        (3, 4.0, ""),
        (Raised("TypeError"), 3, ""),
        (3, Raised("ValueError"), ""),
        (Opaque("generator"), [3], ""),
        (None, 3, "Yours is None; a value of type int was wanted. Does every path end in `return`?"),
        (192.0, 192, "Yours is of type float; a value of type int was wanted."),
        ("192", 192, "Yours is of type str; a value of type int was wanted."),
        ([1], [1, 2], "Yours has 1 item; 2 items wanted."),
        ([1, 5], [1, 2], "At item 1: yours 5, expected 2."),
        ([1, 2.0], [1, 2], "At item 1: Yours is of type float; a value of type int was wanted."),
        ({"gb": 1}, {"GB": 1}, "The keys differ; missing: 'GB'; extra: 'gb'."),
        ({"GB": 1.5}, {"GB": 1.25}, "At 'GB': yours 1.5, expected 1.25."),
        (
            [{"tokens": 3, "bytes": 7}],
            [{"tokens": 3, "bytes": 8}],
            "At item 0, 'bytes': yours 7, expected 8.",
        ),
        ({"GB": 1.0 + 1e-15}, {"GB": 1.0}, ""),
        (3, None, "Yours is of type int; None was wanted."),
        (3, [1, 2], "Yours is of type int; a value of type list or tuple was wanted."),
        (np.ones(2), np.ones((2, 1)), "Yours has shape (2,); (2, 1) was wanted."),
        (np.ones(2), np.ones(2, bool), "Yours holds float64; bool was wanted."),
        (
            np.array([[1.0, 2.5]]),
            np.array([[1.0, 2.0]]),
            "1 of 2 entries differ, first [0, 1]: yours 2.5, expected 2.0.",
        ),
        (np.ones(2), np.ones(2), ""),
    ],
)
def test_the_first_difference_is_named(yours, expected, said):
    assert difference(yours, expected, 1e-12) == said
