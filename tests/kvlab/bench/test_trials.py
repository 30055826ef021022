"""Timing in trials against a device whose times are known, and the summary against NumPy."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.bench import clock as library

nanoseconds = st.lists(st.integers(1, 10**9), min_size=1, max_size=8)


class Log:
    """What is called, in order. The clock moves by one nanosecond a reading, and by `takes` where work is awaited."""

    def __init__(self, takes, start=0):
        self.calls, self.takes, self.now, self.pending = [], iter(takes), start, 0

    def fn(self):
        self.calls.append("fn")
        self.pending += next(self.takes)

    def synchronize(self):
        self.calls.append("wait")
        self.now, self.pending = self.now + self.pending, 0

    def clock(self):
        self.calls.append("clock")
        self.now += 1
        return self.now


@given(nanoseconds, nanoseconds, st.integers(0, 2 * 10**18))
def test_each_trial_takes_its_own_time_on_whatever_clock(warm, timed, start):
    log = Log(warm + timed, start)
    found = library.time_call(log.fn, len(warm), len(timed), log.synchronize, log.clock)
    assert found == [(each + 1) / 1e9 for each in timed]


def test_nothing_is_pending_when_the_clock_starts_and_when_it_stops():
    log = Log([5] * 4)
    library.time_call(log.fn, 2, 2, log.synchronize, log.clock)
    assert log.calls == ["fn", "fn"] + ["wait", "clock", "fn", "wait", "clock"] * 2


@pytest.mark.parametrize(("warmup", "trials"), [(0, 0), (2, 0), (3, -1), (-1, 5)])
def test_what_is_refused_is_refused_before_anything_is_called(warmup, trials):
    log = Log([])
    with pytest.raises(ValueError, match=r"(trials|warmup): wanted a whole number of at least [01]"):
        library.time_call(log.fn, warmup, trials, log.synchronize, log.clock)
    assert log.calls == []


def test_a_real_clock_sees_what_a_real_wait_takes():
    found = library.time_call(lambda: time.sleep(0.002), 0, 2, lambda: None, time.perf_counter_ns)
    assert len(found) == 2 and min(found) > 0.001


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40))
def test_a_summary_is_what_numpy_says(trials):
    summary = library.summarise(trials)
    assert list(summary) == ["trials", "median", "p10", "p90"] and summary["trials"] == len(trials)
    found = [summary[name] for name in ("p10", "median", "p90")]
    np.testing.assert_allclose(found, np.percentile(trials, [10, 50, 90]), rtol=1e-12, atol=1e-300)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=9), st.randoms())
def test_the_order_of_the_trials_says_nothing(trials, random):
    shuffled = random.sample(trials, len(trials))
    assert library.summarise(iter(shuffled)) == library.summarise(trials)


@pytest.mark.parametrize("trials", [[], [0.1, math.nan], [math.nan], [math.inf, 0.1], [0.1, -0.1], [-math.inf]])
def test_what_is_no_measurement_is_refused(trials):
    with pytest.raises(ValueError, match="trials: wanted"):
        library.summarise(trials)
