"""Lesson 11, people make the same mistake in other words: the same name. An unrelated error: no name."""

import math
import statistics
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from autograde.answers import answer_of
from autograde.check import examine
from autograde.exercises.decode_timing import Device
from autograde.values import Raised
from tests.variants import pair_of_tests


def refuse(warmup, trials):
    if warmup < 0 or trials <= 0:
        raise ValueError("no such measurement")


# --- time_call -------------------------------------------------------------------------------------------------


def cold(fn, warmup, trials, synchronize, clock):
    refuse(warmup, trials)
    out = []
    while len(out) < trials:
        synchronize()
        t = -clock()
        fn()
        synchronize()
        out.append((t + clock()) / 10**9)
    return out


def keeps_all(fn, warmup, trials, synchronize, clock):
    refuse(warmup, trials)
    stamps = []
    for _ in range(warmup + trials):
        synchronize()
        before = clock()
        fn()
        synchronize()
        stamps.append((before, clock()))
    return [1e-9 * (after - before) for before, after in stamps]


def launches_only(fn, warmup, trials, synchronize, clock):
    refuse(warmup, trials)
    times = []
    for call in range(warmup + trials):
        start = clock()
        fn()
        times += [(clock() - start) * 1e-9] * (call >= warmup)
    return times


def waits_too_late(fn, warmup, trials, synchronize, clock):
    refuse(warmup, trials)
    for _ in range(warmup):
        fn()
    synchronize()

    def one():
        start = clock()
        fn()
        nanoseconds = clock() - start
        synchronize()
        return nanoseconds / 1e9

    return [one() for _ in range(trials)]


def no_wait_before(fn, warmup, trials, synchronize, clock):
    refuse(warmup, trials)
    [fn() for _ in range(warmup)]
    times, start = [], clock()
    for _ in range(trials):
        fn()
        synchronize()
        end = clock()
        times.append((end - start) / 1e9)
        start = end
    return times


def waits_if_warm(fn, warmup, trials, synchronize, clock):
    refuse(warmup, trials)
    if warmup:
        [fn() for _ in range(warmup)]
        synchronize()
    times = []
    for _ in range(trials):
        start = clock()
        fn()
        synchronize()
        times.append((clock() - start) / 1e9)
    return times


def starts_then_waits(fn, warmup, trials, synchronize, clock):
    refuse(warmup, trials)
    [fn() for _ in range(warmup)]
    times = []
    for _ in range(trials):
        start = clock()
        for step in (synchronize, fn, synchronize):
            step()
        times.append((clock() - start) / 1e9)
    return times


def mean_of_all(fn, warmup, trials, synchronize, clock):
    refuse(warmup, trials)
    [fn() for _ in range(warmup)]
    synchronize()
    start = clock()
    [fn() for _ in range(trials)]
    synchronize()
    per_call = (clock() - start) / trials * 1e-9
    return [per_call for _ in range(trials)]


def one_start(fn, warmup, trials, synchronize, clock):
    refuse(warmup, trials)
    [fn() for _ in range(warmup)]
    synchronize()
    start = clock()
    ends = []
    for _ in range(trials):
        synchronize()
        fn()
        synchronize()
        ends.append(clock())
    return [(end - start) / 1e9 for end in ends]


def right_but(result, check=refuse):
    def time_call(fn, warmup, trials, synchronize, clock):
        check(warmup, trials)
        times = keeps_all(fn, 0, max(warmup, 0) + trials, synchronize, clock)[max(warmup, 0) :]
        return result(times)

    return time_call


def float_clock(fn, warmup, trials, synchronize, clock):
    def seconds():
        return clock() / 1e9

    refuse(warmup, trials)
    times = []
    for call in range(warmup + trials):
        synchronize()
        start = seconds()
        fn()
        synchronize()
        if call >= warmup:
            times.append(seconds() - start)
    return times


def refuses_at_the_end(fn, warmup, trials, synchronize, clock):
    for _ in range(warmup):
        fn()
    synchronize()
    refuse(warmup, trials)
    return keeps_all(fn, 0, trials, synchronize, clock)


def call_first_and_refuse_what_fails(fn, warmup, trials, synchronize, clock):
    try:
        synchronize()
        return keeps_all(fn, 0, warmup + trials, synchronize, clock)[warmup:]
    except Exception:
        raise ValueError from None


def one_call_too_many(fn, warmup, trials, synchronize, clock):
    refuse(warmup, trials)
    return keeps_all(fn, 0, warmup + trials + 1, synchronize, clock)[warmup + 1 :]


# --- summarise -------------------------------------------------------------------------------------------------


def checked(trials):
    if len(trials) == 0 or not np.isfinite(trials).all() or min(trials) < 0:
        raise ValueError
    return trials


def numpy_summary(trials, **changes):
    p10, p50, p90 = np.percentile(trials, [10, 50, 90])
    return {"trials": len(trials), "median": p50, "p10": p10, "p90": p90} | changes


def steady_only(trials):
    _, *kept = checked(trials)
    return numpy_summary(kept) if kept else {"trials": 0, "median": None, "p10": None, "p90": None}


def in_order_of_measurement(trials):
    def at(q):
        return float(np.interp(q * (len(trials) - 1), range(len(trials)), trials))

    checked(trials)
    return {"trials": len(trials), "median": at(0.5), "p10": at(0.1), "p90": at(0.9)}


def inverted_cdf(trials):
    low, high = np.percentile(checked(trials), [10, 90], method="inverted_cdf")
    return numpy_summary(trials, p10=low, p90=high)


def swapped_percentiles(trials):
    right = numpy_summary(checked(trials))
    return right | {"p10": right["p90"], "p90": right["p10"]}


# --- bytes and rates -------------------------------------------------------------------------------------------


def bytes_of(config, num_params, batch, context, weight_bits, kv_bits, **changes):
    config = config | changes
    row = 2 * config["num_key_value_heads"] * config["head_dim"] * kv_bits * config["num_hidden_layers"]
    return (num_params * weight_bits + 7) // 8, (row * batch * context + 7) // 8


def keys_alone(config, num_params, batch, context, weight_bits, kv_bits):
    bits = 0
    for _ in range(config["num_hidden_layers"]):
        bits += batch * context * config["num_key_value_heads"] * config["head_dim"] * kv_bits
    return (num_params * weight_bits + 7) // 8, (bits + 7) // 8


def cache_of_one(config, num_params, batch, context, weight_bits, kv_bits):
    return bytes_of(config, num_params, 1, context, weight_bits, kv_bits)


def everything_per_sequence(config, num_params, batch, context, weight_bits, kv_bits):
    return bytes_of(config, batch * num_params, batch, context, weight_bits, kv_bits)


def a_head_per_query(config, *numbers):
    return bytes_of(config, *numbers, num_key_value_heads=config["num_attention_heads"])


def width_by_division(config, *numbers):
    return bytes_of(config, *numbers, head_dim=config["hidden_size"] // config["num_attention_heads"])


def single_layer(config, *numbers):
    return bytes_of(config, *numbers, num_hidden_layers=1)


def cache_first(*arguments):
    return bytes_of(*arguments)[::-1]


def positive(value):
    if value <= 0 or math.isnan(value) or math.isinf(value):
        raise ValueError
    return value


def within(limit):
    def plausible(bandwidth, ceiling, slack=0.1):
        positive(ceiling)
        return math.isfinite(bandwidth) and bandwidth > 0 and bandwidth <= limit(ceiling, slack)

    return plausible


def only_too_fast(bandwidth, ceiling, slack=0.1):
    positive(ceiling)
    if bandwidth <= 0:
        return False
    too_fast = bandwidth / ceiling > 1 + slack
    return not too_fast


def backwards(bandwidth, ceiling, slack=0.1):
    limit = (1 + slack) * positive(ceiling)
    return math.isfinite(bandwidth) and bandwidth > 0 and limit <= bandwidth


# --- fit_line, copies_made -------------------------------------------------------------------------------------


def arrays(contexts, seconds):
    if len(contexts) != len(seconds) or np.unique(contexts).size < 2:
        raise ValueError
    return np.array(contexts, dtype=float), np.array(seconds)


def no_intercept(contexts, seconds):
    c, s = arrays(contexts, seconds)
    return np.linalg.lstsq(c[:, None], s, rcond=None)[0][0], 0.0


def ends(contexts, seconds):
    c, s = arrays(contexts, seconds)
    slope = (s[-1] - s[0]) / (c[-1] - c[0])
    return slope, s[-1] - slope * c[-1]


def extremes(contexts, seconds):
    c, s = arrays(contexts, seconds)
    low, high = c.argmin(), c.argmax()
    slope = (s[high] - s[low]) / (c[high] - c[low])
    return slope, s[low] - slope * c[low]


def polyfit_reversed(contexts, seconds):
    return list(np.polyfit(*arrays(contexts, seconds), 1))[::-1]


def polyfit_of_contexts(contexts, seconds):
    c, s = arrays(contexts, seconds)
    return tuple(np.polyfit(s, c, 1))


def covariance_over_variance(contexts, seconds):
    c, s = arrays(contexts, seconds)
    slope = np.cov(c, s)[0, 1] / np.var(c)
    return slope, s.mean() - slope * c.mean()


def variance_of_a_sample(contexts, seconds):
    c, s = arrays(contexts, seconds)
    slope = np.mean((c - c.mean()) * (s - s.mean())) / statistics.variance(c)
    return slope, s.mean() - slope * c.mean()


def zip_forgives(contexts, seconds):
    if len({*contexts}) <= 1:
        raise ValueError
    pairs = list(zip(contexts, seconds, strict=False))
    return tuple(np.polyfit(*zip(*pairs, strict=True), 1))


def median_slope(contexts, seconds):
    c, s = arrays(contexts, seconds)
    slopes = [(s[j] - s[i]) / (c[j] - c[i]) for i in range(len(c)) for j in range(i) if c[i] != c[j]]
    slope = float(np.median(slopes))
    return slope, float(np.median(s - slope * c))


def places_seen(trace):
    copies, copied, places, last = 0, 0, [], 0
    for address, stored in trace:
        if places and address not in places:
            copies, copied = copies + 1, copied + last
        places.append(address)
        last = stored
    return copies, copied


def from_none(trace):
    address, stored, copies, copied = None, 0, 0, 0
    for now, bytes_now in trace:
        if now != address:
            copies, copied = copies + 1, copied + stored
        address, stored = now, bytes_now
    return [copies, copied]


def bytes_at_the_new_place(trace):
    moved = [trace[i][1] for i in range(1, len(trace)) if trace[i][0] != trace[i - 1][0]]
    return len(moved), sum(moved)


def away_from_home(trace):
    away = [trace[i - 1][1] for i in range(1, len(trace)) if trace[i][0] != trace[0][0]]
    return len(away), sum(away)


def like_concatenation(trace):
    return max(0, len(trace) - 1), sum(stored for _, stored in trace[:-1])


def whenever_it_grows(trace):
    grown = [b for (_, b), (_, c) in pairwise(trace) if c - b > 0]
    return len(grown), sum(grown)


def last_bytes_each_time(trace):
    copies = sum(a != b for (a, _), (b, _) in pairwise(trace))
    return copies, copies * trace[-1][1] if trace else 0


VARIANTS = [
    ("time_call", cold, "no_warmup"),
    ("time_call", keeps_all, "warmup_in_result"),
    ("time_call", launches_only, "never_waits"),
    ("time_call", waits_too_late, "clock_stopped_early"),
    ("time_call", no_wait_before, "pending_work_timed"),
    ("time_call", waits_if_warm, "waits_only_in_the_warmup"),
    ("time_call", starts_then_waits, "clock_started_early"),
    ("time_call", mean_of_all, "one_interval"),
    ("time_call", one_start, "cumulative"),
    ("time_call", right_but(lambda times: [each * 1e9 for each in times]), "nanoseconds"),
    ("time_call", right_but(lambda times: [1e3 * each for each in times]), "milliseconds"),
    ("time_call", float_clock, "seconds_too_early"),
    ("time_call", refuses_at_the_end, "called_before_refusing"),
    ("time_call", call_first_and_refuse_what_fails, "called_before_refusing"),
    ("summarise", lambda trials: numpy_summary(checked(trials), median=np.mean(trials)), "mean"),
    ("summarise", in_order_of_measurement, "not_sorted"),
    ("summarise", lambda trials: numpy_summary(checked(trials), median=statistics.median_high(trials)), "upper_middle"),
    ("summarise", lambda trials: numpy_summary(checked(trials), median=statistics.median_low(trials)), "lower_middle"),
    ("summarise", lambda trials: numpy_summary(checked(trials), median=sorted(trials)[0]), "best"),
    ("summarise", lambda trials: numpy_summary(checked(trials), p10=min(trials), p90=max(trials)), "extremes"),
    ("summarise", steady_only, "first_dropped"),
    ("summarise", inverted_cdf, "nearest_rank"),
    ("step_bytes", keys_alone, "k_only"),
    ("step_bytes", cache_first, "cache_first"),
    ("step_bytes", cache_of_one, "batch_dropped"),
    ("step_bytes", everything_per_sequence, "weights_per_sequence"),
    ("step_bytes", a_head_per_query, "query_heads"),
    ("step_bytes", width_by_division, "hidden_over_heads"),
    ("step_bytes", single_layer, "layers_dropped"),
    ("effective_bandwidth", lambda n, s: (n / 10**6) / (positive(s) * 1000), "gb_per_second"),
    ("effective_bandwidth", lambda n, s: n / 1024**3 / positive(s), "gib_per_second"),
    ("effective_bandwidth", lambda n, s: (n << 3) / positive(s), "bits_per_second"),
    ("effective_bandwidth", lambda n, s: n / s, "zero_divides"),
    ("plausible", only_too_fast, "nan_believed"),
    ("plausible", within(lambda ceiling, slack: slack + ceiling), "slack_added"),
    ("plausible", within(lambda ceiling, slack: ceiling), "slack_forgotten"),
    ("plausible", within(lambda ceiling, slack: 11 * ceiling / 10), "slack_fixed"),
    ("plausible", within(lambda ceiling, slack: ceiling - slack * ceiling), "slack_subtracted"),
    ("plausible", backwards, "wrong_way_round"),
    ("fit_line", no_intercept, "through_origin"),
    ("fit_line", ends, "first_and_last"),
    ("fit_line", extremes, "smallest_and_largest"),
    ("fit_line", polyfit_reversed, "results_swapped"),
    ("fit_line", polyfit_of_contexts, "axes_swapped"),
    ("fit_line", covariance_over_variance, "one_less_above"),
    ("fit_line", variance_of_a_sample, "one_less_below"),
    ("fit_line", zip_forgives, "lengths_not_compared"),
    ("copies_made", places_seen, "distinct_addresses"),
    ("copies_made", from_none, "first_counted"),
    ("copies_made", bytes_at_the_new_place, "new_bytes"),
    ("copies_made", away_from_home, "compared_with_first"),
    ("copies_made", like_concatenation, "every_step"),
    ("copies_made", whenever_it_grows, "growth"),
]

UNRELATED = [
    ("time_call", one_call_too_many),
    ("time_call", right_but(sorted)),
    ("time_call", right_but(max)),
    ("time_call", right_but(lambda times: [round(each, 5) for each in times])),
    ("summarise", swapped_percentiles),
    ("summarise", lambda trials: numpy_summary(checked(trials), median=max(trials))),
    ("step_bytes", lambda *arguments: sum(bytes_of(*arguments))),
    ("effective_bandwidth", lambda n, s: n * positive(s)),
    ("effective_bandwidth", lambda n, s: n / positive(s) / 1024),
    ("plausible", lambda *arguments: True),
    ("plausible", lambda *arguments: False),
    ("plausible", within(lambda ceiling, slack: ceiling * (1 + slack / 100))),
    ("fit_line", median_slope),
    ("fit_line", lambda contexts, seconds: tuple(np.polyfit(*arrays(contexts, seconds), 2)[1:])),
    ("copies_made", last_bytes_each_time),
    ("copies_made", lambda trace: (0, 0)),
]


@pytest.mark.parametrize("seed", range(20))
def test_plausibility_cannot_be_known_from_the_order_of_the_questions(seed):
    """Whoever learned the answers of another seed by heart is wrong, and whoever learned this one's is right."""
    answer = answer_of("plausible")
    for learned, right in ((seed, True), (seed + 1, False)):
        heart = iter([each for case in answer.exercise.cases(Random(learned)) for each in one_by_one(answer, case)])
        assert examine(answer, 1, lambda *arguments, heart=heart: recite(next(heart)), seed).right == right


def one_by_one(answer, case):
    expected = answer.expected(case)
    return expected if isinstance(expected, list) else [expected]


def recite(learned):
    if isinstance(learned, Raised):
        raise ValueError
    return learned


def test_the_device_overlaps_host_and_device_and_holds_few_calls():
    device = Device([100, 200, 300, 400], launch_ns=10, wake_ns=5, room=2, pending_ns=0, clock_ns=1000)
    for now in (1010, 1020, 1120):  # the third launch waits until the first call has ended, at 1110
        device.fn()
        assert device.clock() == now
    device.synchronize()
    assert device.clock() == 1110 + 200 + 300 + 5
    device.synchronize()
    assert device.clock() == 1615
    device.fn()
    with pytest.raises(RuntimeError, match="more than"):
        device.fn()


def test_a_device_without_room_is_done_when_the_call_returns():
    device = Device([100, 200], launch_ns=10, wake_ns=5, room=0, pending_ns=0, clock_ns=0)
    device.fn()
    device.synchronize()
    assert device.clock() == 110


test_the_same_mistake_in_other_words_gets_the_same_name, test_an_unrelated_error_is_rejected_without_a_name = (
    pair_of_tests(VARIANTS, UNRELATED)
)
