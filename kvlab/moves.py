"""How often a growing cache was copied, read off the places where its storage lay.

A file of its own, and not part of the meter: grading takes away what stands in a file with answers, and another
lesson needs the meter.
"""

from collections.abc import Iterable
from itertools import pairwise

from kvlab.sizes import whole


def copies_made(trace: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """(copies, bytes copied) of a cache that was watched while it grew.

    trace: (address, stored bytes) after each append, in order. A storage that lies elsewhere than just before holds a
    copy of all bytes that were stored then. Other bytes at the same address are no copy: they were written in place,
    or cut off. An address may come again, because an allocator hands out again what was given back. No entry is (0, 0).
    ValueError for a negative number of bytes.
    """
    places = [(address, whole("stored bytes", stored, at_least=0)) for address, stored in trace]
    copied = [stored for (address, stored), (moved_to, _) in pairwise(places) if moved_to != address]
    return len(copied), sum(copied)
