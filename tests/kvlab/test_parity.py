"""The library's cached decoding: the same logits as the full pass, and refusals that change nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.parity import (
    ATOL,
    CachedDecoder,
    cached_logits,
    differences,
    first_divergence,
    full_logits,
    position_zero,
    sample,
)
from tiny_transformer import TinyDecoder, softmax

SHAPE = {"vocab": 5, "context": 7, "width": 10, "hidden": 21}
seeds = st.integers(0, 10**6)
strings = st.lists(st.integers(0, SHAPE["vocab"] - 1), min_size=1, max_size=SHAPE["context"])
entries = st.one_of(st.sampled_from([0.0, 1.0, 1 + 1e-7, float("nan")]), st.floats(-2, 2))


@given(seeds, strings)
def test_cached_logits_are_those_of_the_forward_pass(seed, ids):
    model = TinyDecoder(**SHAPE, seed=seed)
    full = model.forward([ids])[0][0]
    np.testing.assert_allclose(cached_logits(model, ids), full, rtol=0, atol=ATOL)
    np.testing.assert_allclose(full_logits(model, ids), full, rtol=0, atol=ATOL)
    assert differences(model, ids).shape == full.shape and differences(model, ids).max() <= ATOL


@given(seeds, strings, st.integers(0, 7))
def test_a_prompt_then_steps_gives_the_same_as_steps_alone(seed, ids, cut):
    model, prompt = TinyDecoder(**SHAPE, seed=seed), ids[:cut]
    decoder = CachedDecoder(model)
    rows = list(decoder.prefill(prompt)) if prompt else []
    rows += [decoder.step(np.int64(token)) for token in ids[cut:]]
    np.testing.assert_array_equal(rows, cached_logits(model, ids))
    assert len(decoder) == len(ids)


def test_decoding_works_on_a_model_that_cannot_run_forward():
    class Sealed(TinyDecoder):
        def forward(self, ids):
            raise RuntimeError

    full = TinyDecoder(**SHAPE).forward([[4, 0, 3]])[0][0]
    np.testing.assert_allclose(cached_logits(Sealed(**SHAPE), [4, 0, 3]), full, rtol=0, atol=ATOL)


def test_stored_rows_are_not_computed_again():
    model = TinyDecoder(**SHAPE)
    decoder = CachedDecoder(model)
    decoder.prefill([1, 2])
    wanted = model.forward([[1, 2, 3]])[0][0, -1]
    model.p["E"][1] += np.arange(10.0)
    np.testing.assert_allclose(decoder.step(3), wanted, rtol=0, atol=ATOL)


def test_after_a_reset_a_decoder_is_like_a_new_one():
    model = TinyDecoder(**SHAPE)
    decoder = CachedDecoder(model)
    decoder.prefill([1, 2, 3, 4])
    decoder.reset()
    assert len(decoder) == 0
    np.testing.assert_array_equal(decoder.prefill([3, 0]), cached_logits(model, [3, 0]))


def test_the_callers_list_stays_as_it_was():
    prompt = [1, 2]
    decoder = CachedDecoder(TinyDecoder(**SHAPE))
    decoder.prefill(prompt)
    decoder.step(3)
    assert prompt == [1, 2]


WRONG_IDS = [-1, 5, 1.0, None, True, np.True_, np.float64(2), "2", [1]]
REFUSED = [
    *((2, "step", token, "id: wanted a whole number from 0 to 4, got ") for token in WRONG_IDS),
    *((0, "prefill", [1, 2, token], "id: wanted a whole number from 0 to 4, got ") for token in WRONG_IDS),
    (7, "step", 1, "context: wanted at most 7 tokens, got 7 stored and 1 more"),
    (0, "prefill", [1] * 8, "context: wanted at most 7 tokens, got 0 stored and 8 more"),
    (0, "prefill", [], "prefill: wanted at least one id, got none"),
    (2, "prefill", [1], "prefill: wanted an empty cache, got one of 2 tokens"),
    (2, "prefill", [], "prefill: wanted an empty cache"),
]


@pytest.mark.parametrize(("stored", "method", "argument", "message"), REFUSED)
def test_a_refusal_says_why_and_changes_nothing(stored, method, argument, message):
    model, ids = TinyDecoder(**SHAPE), [3, 1, 4, 1, 0, 2, 3]
    decoder = CachedDecoder(model)
    for token in ids[:stored]:
        decoder.step(token)
    with pytest.raises(ValueError, match=f"^{message}"):
        getattr(decoder, method)(argument)
    assert len(decoder) == stored
    rest = [decoder.step(token) for token in ids[stored:]]
    np.testing.assert_array_equal(np.reshape(rest, (-1, 5)), cached_logits(model, ids)[stored:])


def test_position_zero_agrees_at_the_first_token_only():
    model = TinyDecoder(**SHAPE)
    before = model.p["P"].copy()
    apart = differences(model, [2] * 7, lambda model: CachedDecoder(position_zero(model)))
    assert apart[0].max() <= ATOL and apart[1:].max(axis=1).min() > 1e-3
    np.testing.assert_array_equal(model.p["P"], before)
    blind = cached_logits(position_zero(model), [2] * 7)
    np.testing.assert_allclose(blind, np.repeat(blind[:1], 7, axis=0), rtol=0, atol=ATOL)  # it cannot tell them apart


def test_differences_refuses_a_decoder_of_the_wrong_shape():
    class Nested(CachedDecoder):
        def step(self, token):
            return super().step(token)[None]

    with pytest.raises(ValueError, match=r"one shape \(T, V\), got \(3, 1, 5\) and \(3, 5\)"):
        differences(TinyDecoder(**SHAPE), [0, 1, 2], Nested)


def brute_force(a, b, atol):
    for row in range(len(a)):
        for column in range(len(a[row])):
            if not abs(a[row][column] - b[row][column]) <= atol:
                return row
    return None


tables = st.lists(st.tuples(st.tuples(entries, entries, entries), st.tuples(entries, entries, entries)), max_size=6)


@given(tables, st.sampled_from([0.0, 1e-10, 1e-6, 0.5]))
def test_first_divergence_is_that_of_a_plain_loop(rows, atol):
    a = np.array([left for left, _ in rows]).reshape(-1, 3)
    b = np.array([right for _, right in rows]).reshape(-1, 3)
    assert first_divergence(a, b, atol) == brute_force(a.tolist(), b.tolist(), atol)


def test_first_divergence_has_no_relative_tolerance_and_sees_nan():
    a = np.full((4, 2), 1e6)
    b = a.copy()
    assert first_divergence(a, b, 0.0) is None
    b[2, 1] += 1e-3
    assert first_divergence(a, b, 1e-6) == 2
    b[1, 0] = np.nan
    assert first_divergence(a, b, 1e-6) == 1
    assert first_divergence(b, b, 1e-6) == 1  # not a number equals nothing, itself included
    assert type(first_divergence(a, b, 1e-6)) is int


@pytest.mark.parametrize(("a", "b"), [((3, 2), (2, 2)), ((3, 2), (3, 1)), ((3,), (3,)), ((3, 1, 2), (3, 2))])
def test_first_divergence_refuses_tables_of_other_shapes(a, b):
    with pytest.raises(ValueError, match="wanted two tables of one shape"):
        first_divergence(np.zeros(a), np.zeros(b), 1e-6)


@given(st.lists(st.one_of(st.floats(-5, 5), st.just(-np.inf)), min_size=1, max_size=6).filter(lambda x: max(x) > -9))
def test_an_even_grid_of_draws_gives_each_token_its_probability(logits):
    draws = 2000
    counts = np.bincount([sample(logits, i / draws) for i in range(draws)], minlength=len(logits))
    np.testing.assert_allclose(counts / draws, softmax(np.array(logits)), atol=2 / draws)
    assert not counts[np.isneginf(logits)].any()


@pytest.mark.parametrize("u", [0.0, 2**-60, 0.25, 0.5, 1 - 2**-53])
def test_a_token_of_probability_zero_is_never_drawn(u):
    assert np.cumsum(softmax(np.zeros(10)))[-1] < 1  # tenths, whose rounded sum leaves a gap below 1
    padded = [-np.inf, *[0.0] * 5, -np.inf, *[0.0] * 5, -np.inf]
    assert sample(padded, u) in {*range(1, 6), *range(7, 12)}
    assert sample([0.0] * 10, 1 - 2**-53) == 9


def test_shares_lie_in_the_order_of_the_ids_and_include_their_lower_end():
    logits = np.log([0.25, 0.5, 0.25]) + 1000
    drawn = [sample(logits, u) for u in (0.0, 0.2499, 0.2501, 0.7499, 0.7501, 0.9999)]
    assert drawn == [0, 0, 1, 1, 2, 2] and all(type(token) is int for token in drawn)
    assert [sample([0.0, 0.0], u) for u in (np.nextafter(0.5, 0), 0.5)] == [0, 1]


@pytest.mark.parametrize("u", [-1e-300, 1.0, 1.5, float("nan"), float("inf")])
def test_a_draw_outside_the_unit_interval_is_refused(u):
    with pytest.raises(ValueError, match=r"^u: wanted"):
        sample([0.0, 1.0], u)


@pytest.mark.parametrize("logits", [[], [[0.0, 1.0]], [-np.inf, -np.inf], [0.0, np.nan], [np.inf, 0.0]])
def test_logits_without_probabilities_are_refused(logits):
    with pytest.raises(ValueError, match=r"^logits: wanted"):
        sample(logits, 0.5)
