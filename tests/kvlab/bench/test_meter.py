"""The meter sees every new tensor, and what lives at one time; a view and a change in place are not new."""

import pytest
import torch

from kvlab.bench.meter import metered


@pytest.mark.parametrize(
    ("function", "new_bytes"),
    [
        (lambda x: x + 1, 800),
        (lambda x: x.view(10, 10).T, 0),
        (lambda x: x.add_(1), 0),
        (lambda x: x[::2], 0),
        (lambda x: x.reshape(20, 5), 0),
        (lambda x: x.view(10, 10).T.reshape(100), 800),
        (lambda x: torch.zeros(3, dtype=torch.bool), 3),
        (lambda x: x.expand(4, 100).contiguous(), 3200),
        (lambda x: x.split(50), 0),
        (lambda x: None, 0),
    ],
)
def test_new_storage_is_counted_and_nothing_else(function, new_bytes):
    assert metered(function, torch.arange(100, dtype=torch.float64)).new_bytes == new_bytes


def test_a_copy_that_a_product_makes_quietly_is_seen():
    shared, queries = torch.ones(2, 1, 50, 5), torch.ones(2, 4, 5, 1)
    told = metered(lambda: shared.expand(2, 4, 50, 5) @ queries)
    assert told.largest[0] == ("clone", 4 * shared.nbytes)


def test_the_peak_is_what_lives_at_the_same_time():
    def two_after_another(x):
        for _ in range(5):
            x = x + 1
        return x

    told = metered(two_after_another, torch.zeros(100, dtype=torch.float64))
    assert (told.new_bytes, told.peak_bytes) == (5 * 800, 2 * 800)
    assert told.largest == (("add", 800),) * 5
    assert told.value.tolist() == [5.0] * 100


def test_an_error_passes_through_and_leaves_no_meter_behind():
    with pytest.raises(RuntimeError):
        metered(lambda: torch.zeros(2) + torch.zeros(3))
    assert metered(torch.zeros, 2).new_bytes == 8
