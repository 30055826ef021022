"""The meter sees every new tensor, and what lives at one time; a view and a change in place are not new."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvlab.meter import copies_made, metered


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


class Growing:
    """A cache that grows at two places in turn, and counts its own copies."""

    def __init__(self):
        self.place, self.stored, self.copies, self.copied, self.trace = 0, 0, 0, 0, []

    def append(self, n, moves):
        if moves and self.trace:
            self.copies, self.copied = self.copies + 1, self.copied + self.stored
            self.place = 1 - self.place  # the place before the last one is free again
        self.stored += n
        self.trace.append((self.place, self.stored))


@given(st.lists(st.tuples(st.integers(0, 99), st.booleans())))
def test_copies_are_read_off_the_places_as_a_cache_counts_them_itself(steps):
    cache = Growing()
    for step in steps:
        cache.append(*step)
    assert copies_made(cache.trace) == copies_made(iter(cache.trace)) == (cache.copies, cache.copied)


def test_copies_of_tensors_that_grow_by_concatenation_and_in_place():
    rows, grown, trace, in_place = torch.ones(7, 4), torch.empty(0, 4), [], []
    keep = []  # so that no address comes again
    for n in range(1, 8):
        grown = torch.cat([grown, rows[:1]])
        keep.append(grown)
        trace.append((grown.data_ptr(), grown.nbytes))
        in_place.append((rows.data_ptr(), rows[:n].nbytes))
    assert copies_made(trace) == (6, 16 * (1 + 2 + 3 + 4 + 5 + 6))
    assert copies_made(in_place) == (0, 0)


def test_a_trace_with_less_than_nothing_stored_is_refused():
    with pytest.raises(ValueError, match="stored bytes: wanted a whole number of at least 0"):
        copies_made([(64, 16), (64, -1)])
