"""Bytes, bandwidths and lines against counting, against exact fractions and against NumPy."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autograde.answers import answer_of
from autograde.course import lesson
from autograde.judge import accepted, trace
from kvlab.bench import clock, meter, rates

CONFIG = {"num_hidden_layers": 5, "num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 7, "hidden_size": 99}
LIBRARY = {"time_call": clock, "summarise": clock, "copies_made": meter}
small = st.integers(1, 9)
positive = st.floats(1e-9, 1e15)
no_quantity = [0, -1.5, math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("name", list(lesson("11_decode_timing").exercises))
def test_the_library_agrees_with_the_oracle_on_the_checks_cases(name):
    answer, function = answer_of(name), getattr(LIBRARY.get(name, rates), name)
    for seed in range(30):
        cases = answer.exercise.cases(Random(seed))
        for case, value in zip(cases, trace(answer, function, cases), strict=True):
            assert accepted(answer, case, value, answer.expected(case)), (case, value)


@given(small, st.integers(0, 9), st.integers(1, 40), st.integers(1, 40), st.integers(1, 10**9))
def test_step_bytes_count_each_bit_once(batch, context, weight_bits, kv_bits, num_params):
    bits = 0
    for _layer in range(5):
        for _k_or_v in range(2):
            bits += sum(4 * 7 * kv_bits for _sequence in range(batch) for _token in range(context))
    wanted = math.ceil(Fraction(num_params * weight_bits, 8)), math.ceil(Fraction(bits, 8))
    assert rates.step_bytes(CONFIG, num_params, batch, context, weight_bits, kv_bits) == wanted


def test_a_real_model_reads_what_the_byte_formula_says():
    llama = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128}
    weights, cache = rates.step_bytes(llama, 8_030_261_248, 1, 4096, 16, 16)
    assert (weights, cache) == (2 * 8_030_261_248, 512 * 2**20)
    assert rates.step_bytes(llama, 8_030_261_248, 32, 4096, 16, 16) == (weights, 32 * cache)


@given(st.integers(0, 10**15), positive)
def test_bandwidth_times_seconds_is_bytes(num_bytes, seconds):
    bandwidth = rates.effective_bandwidth(num_bytes, seconds)
    assert type(bandwidth) is float
    assert math.isclose(Fraction(bandwidth) * Fraction(seconds), num_bytes, rel_tol=1e-15)


@given(positive, st.floats(0, 9), st.floats(0.01, 20))
def test_plausible_is_a_band_that_begins_above_zero(ceiling, slack, share):
    limit = ceiling * (1 + slack)
    assert rates.plausible(limit, ceiling, slack) is True
    assert rates.plausible(math.nextafter(limit, math.inf), ceiling, slack) is False
    assume(not math.isclose(share, 1 + slack))
    assert rates.plausible(share * ceiling, ceiling, slack) == (share < 1 + slack)
    assert rates.plausible(math.ulp(0), ceiling, slack) is True
    assert not any(rates.plausible(each, ceiling, slack) for each in no_quantity)


def test_plausible_answers_a_bool_for_numpy_numbers_too():
    assert rates.plausible(np.float64(109), 100) is True and rates.plausible(np.float32(111), 100) is False


@given(st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 10)), min_size=2, max_size=12))
def test_no_line_has_a_smaller_squared_error(points):
    contexts, seconds = map(list, zip(*points, strict=True))
    assume(len(set(contexts)) > 1)
    slope, start = rates.fit_line(contexts, seconds)
    rest = [each - start - slope * context for context, each in points]
    # At the least squares the rests sum to nothing, alone and weighed by the contexts.
    scale = max(contexts)
    assert abs(math.fsum(rest)) < 1e-8
    assert abs(math.fsum(context / scale * each for context, each in zip(contexts, rest, strict=True))) < 1e-8


@given(st.permutations([100, 350, 4000, 8192, 16_000]), st.floats(0, 1e-3), st.floats(0, 10))
def test_points_on_a_line_give_the_line_in_any_order(contexts, slope, start):
    found = rates.fit_line(contexts, [start + slope * context for context in contexts])
    assert found == pytest.approx((slope, start), abs=1e-12, rel=1e-9)


def test_fit_line_agrees_with_polyfit_on_long_contexts_close_to_one_another():
    rng = np.random.default_rng(3)
    contexts, seconds = rng.permutation(np.arange(131_000, 131_072, 9)), rng.uniform(0.3, 0.4, 8)
    middle = contexts.mean()
    slope, at_the_middle = np.polyfit(contexts - middle, seconds, 1)
    assert rates.fit_line(contexts.tolist(), seconds.tolist()) == pytest.approx((slope, at_the_middle - slope * middle))


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: rates.step_bytes({}, 1, 1, 1, 16, 16), ValueError, "config: wanted the keys"),
        (lambda: rates.step_bytes(CONFIG, 1, 0, 1, 16, 16), ValueError, "batch: wanted a whole number"),
        (lambda: rates.step_bytes(CONFIG, 1, 1, -1, 16, 16), ValueError, "tokens: wanted a whole number"),
        (lambda: rates.step_bytes(CONFIG, 1.5, 1, 1, 16, 16), TypeError, "num_params: wanted a whole number"),
        (lambda: rates.step_bytes(CONFIG, 1, 1, 1, 16, 0), ValueError, "bits_per_element: wanted a whole number"),
        (lambda: rates.effective_bandwidth(-1, 1), ValueError, "num_bytes: wanted a whole number"),
        *((lambda s=s: rates.effective_bandwidth(1, s), ValueError, "seconds: wanted a positive") for s in no_quantity),
        *((lambda c=c: rates.plausible(1, c), ValueError, "ceiling: wanted a positive") for c in no_quantity),
        *((lambda s=s: rates.plausible(1, 1, s), ValueError, "slack: wanted a share") for s in no_quantity[1:]),
        (lambda: rates.fit_line([1, 2], [0.1]), ValueError, "2 contexts and 1 seconds"),
        (lambda: rates.fit_line([3, 3], [0.1, 0.2]), ValueError, "two different ones"),
        (lambda: rates.fit_line([], []), ValueError, "two different ones"),
    ],
)
def test_what_has_no_answer_is_refused_with_a_sentence(call, error, said):
    with pytest.raises(error, match=said):
        call()
