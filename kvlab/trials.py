"""Timing a call in trials, and telling many trials in few numbers.

A file of its own, and not beside the clock: grading takes away what stands in a file with answers, and other lessons
need the clock. Everybody else finds both functions in `kvlab.timing`.
"""

import math
from collections.abc import Callable, Iterable

from kvlab.sizes import whole


def time_call(
    fn: Callable[[], object],
    warmup: int,
    trials: int,
    synchronize: Callable[[], object],
    clock: Callable[[], int],
) -> list[float]:
    """Seconds of each of `trials` calls of `fn`, in order, after `warmup` calls that are not counted.

    `fn()` starts work and may return before it is done; `synchronize()` returns when all started work is done;
    `clock()` gives whole nanoseconds. No trial starts while earlier work is pending. ValueError, before anything is
    called, for fewer than one trial or a negative warm-up.
    """
    trials, warmup = whole("trials", trials), whole("warmup", warmup, at_least=0)
    for _ in range(warmup):
        fn()
    seconds = []
    for _ in range(trials):
        synchronize()
        start = clock()
        fn()
        synchronize()
        # Whole numbers are subtracted first: a float has no room for the nanoseconds of a clock that counts from 1970.
        seconds.append((clock() - start) / 1e9)
    return seconds


def summarise(trials: Iterable[float]) -> dict[str, int | float]:
    """A dict of "trials" (how many), "median", "p10" and "p90" of some seconds, in any order.

    A percentile between two ranks is interpolated on a straight line, as `numpy.percentile` does. ValueError for no
    trial and for one that is negative or not finite.
    """
    ordered = sorted(map(_seconds, trials))
    if not ordered:
        raise ValueError("trials: wanted the seconds of one trial at least, got none")

    def percentile(q: float) -> float:
        rank = q / 100 * (len(ordered) - 1)
        below = math.floor(rank)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (rank - below) * (ordered[above] - ordered[below])

    return {"trials": len(ordered), "median": percentile(50), "p10": percentile(10), "p90": percentile(90)}


def _seconds(value) -> float:
    if not 0 <= value < math.inf:
        raise ValueError(f"trials: wanted seconds from 0 on, got {value!r}")
    return float(value)
