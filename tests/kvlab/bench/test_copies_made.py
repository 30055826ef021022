"""Copies of a cache, read off the places where it lay."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvlab.bench.meter import copies_made


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
