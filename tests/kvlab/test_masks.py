"""The library's masks: every partition of a sequence gives one-shot attention, and PyTorch agrees."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.nn.attention.bias import causal_lower_right

from autograde.course import lesson
from kvlab import masks
from tests.notebooks import solutions

chunks = st.integers(1, 7)
lengths = st.integers(0, 9)
partitions = st.lists(st.integers(1, 5), min_size=1, max_size=5)
seeds = st.integers(0, 10**6)
patient = settings(deadline=None)  # PyTorch starts its threads on the first call


@pytest.fixture(scope="module")
def learner():
    """The functions of the solution, as a learner would have written them."""
    names = {"np": np}
    for source in solutions(lesson("04_rectangular_masks")).values():
        exec(source, names)
    return names


def tensors(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def sdpa(q, k, v, **how):
    q, k, v = (torch.tensor(each) for each in (q, k, v))
    how = {name: torch.tensor(value) if isinstance(value, np.ndarray) else value for name, value in how.items()}
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, **how).numpy()


def test_three_cached_and_two_new():
    assert masks.allowed(3, 2).tolist() == [[True, True, True, True, False], [True] * 5]
    assert masks.causal_upper_left(3, 2).astype(int).tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]
    assert masks.allowed(-2, 3).astype(int).tolist() == [[0], [0], [1]]


@given(lengths, chunks)
def test_a_chunk_has_the_last_rows_of_the_square(cached, chunk):
    keys = cached + chunk
    np.testing.assert_array_equal(masks.allowed(cached, chunk), np.tri(keys, dtype=bool)[cached:])
    np.testing.assert_array_equal(masks.causal_upper_left(cached, chunk), np.tri(keys, dtype=bool)[:chunk])


@patient
@given(seeds, partitions)
def test_every_partition_gives_the_attention_of_one_pass(seed, widths):
    total = sum(widths)
    x, wq, wk, wv = tensors(seed, (total, 6), (6, 4), (6, 4), (6, 4))
    chunked = masks.chunked_attention(x, widths, {"WQ": wq, "WK": wk, "WV": wv})
    np.testing.assert_allclose(chunked, sdpa(x @ wq, x @ wk, x @ wv, is_causal=True), rtol=0, atol=1e-12)


@patient
@given(seeds, lengths, chunks)
def test_torch_agrees_with_the_explicit_mask_and_its_lower_right_bias(seed, cached, chunk):
    keys = cached + chunk
    q, k, v = tensors(seed, (chunk, 4), (keys, 4), (keys, 4))
    ours = masks.masked_attention(q, k, v, cached)
    np.testing.assert_allclose(ours, sdpa(q, k, v, attn_mask=masks.allowed(cached, chunk)), rtol=0, atol=1e-12)
    lower_right = sdpa(q, k, v, attn_mask=causal_lower_right(chunk, keys))
    np.testing.assert_allclose(ours, lower_right, rtol=0, atol=1e-12)


@patient
@given(seeds, lengths, chunks)
def test_is_causal_of_torch_is_causal_upper_left(seed, cached, chunk):
    keys = cached + chunk
    q, k, v = tensors(seed, (chunk, 4), (keys, 4), (keys, 4))
    ours = masks.attend(q, k, v, masks.causal_upper_left(cached, chunk))
    np.testing.assert_allclose(ours, sdpa(q, k, v, is_causal=True), rtol=0, atol=1e-12)


@given(seeds, st.lists(st.integers(-3, 6), min_size=1, max_size=4))
def test_a_ragged_batch_gives_each_request_what_it_gets_alone(seed, cached):
    assume(max(cached) >= -2)
    batch, longest = len(cached), max(cached) + 3
    q, k, v = tensors(seed, (batch, 3, 4), (batch, longest, 4), (batch, longest, 4))
    outputs = masks.attend(q, k, v, masks.ragged_allowed(cached, 3))
    for b, own in enumerate(cached):
        keys = slice(own + 3)
        alone = masks.masked_attention(q[b], k[b, keys], v[b, keys], own) if own > -3 else np.zeros((3, 4))
        np.testing.assert_allclose(outputs[b], alone, rtol=0, atol=1e-12)


@given(lengths, chunks, st.integers(1, 12))
def test_a_window_leaves_each_query_its_last_keys(cached, chunk, window):
    mask = masks.window_allowed(cached, chunk, window)
    for row, query in enumerate(range(cached, cached + chunk)):
        assert np.flatnonzero(mask[row]).tolist() == list(range(query + 1))[-window:]


def test_a_row_that_allows_nothing_gives_zeros_and_no_warning(recwarn):
    q, k, v = tensors(1, (4, 3), (2, 3), (2, 3))
    outputs = masks.masked_attention(q, k, v, -2)
    assert not outputs[:2].any() and not recwarn.list
    np.testing.assert_allclose(outputs[2:], sdpa(q[2:], k, v, is_causal=True), rtol=0, atol=1e-12)
    assert not masks.attend(q, k, v, np.zeros((4, 2), dtype=bool)).any()


def test_a_forbidden_key_weighs_nothing_however_well_it_matches():
    q, k, v = tensors(2, (1, 3), (2, 3), (2, 3))
    k[1] = 1e4 * q[0]
    np.testing.assert_array_equal(masks.attend(q, k, v, np.array([[True, False]])), v[:1])


@given(seeds, lengths, chunks, st.integers(1, 12), partitions)
def test_the_library_and_the_solution_give_the_same(learner, seed, cached, chunk, window, widths):
    for name, sizes in (("allowed", (cached, chunk)), ("window_allowed", (cached, chunk, window))):
        np.testing.assert_array_equal(learner[name](*sizes), getattr(masks, name)(*sizes))
    ragged = [cached, 0, window, -chunk]
    mask = masks.ragged_allowed(ragged, chunk)
    np.testing.assert_array_equal(learner["ragged_allowed"](ragged, chunk), mask)
    np.testing.assert_array_equal(learner["additive_mask"](mask), masks.additive_mask(mask))
    for offset in (cached, 1 - chunk):
        shapes = (chunk, 4), (offset + chunk, 4), (offset + chunk, 4)
        arguments = (*tensors(seed, *shapes), offset)
        np.testing.assert_array_equal(learner["masked_attention"](*arguments), masks.masked_attention(*arguments))
    x, *weights = tensors(seed, (sum(widths), 6), *[(6, 4)] * 3)
    weights = dict(zip(("WQ", "WK", "WV"), weights, strict=True))
    ours = masks.chunked_attention(x, widths, weights)
    np.testing.assert_array_equal(learner["chunked_attention"](x, widths, weights), ours)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: masks.allowed(3, 0), "chunk: wanted a whole number of at least 1, got 0"),
        (lambda: masks.allowed(-2, 2), "cached: wanted a whole number of at least -1, got -2"),
        (lambda: masks.allowed(1.5, 2), "cached: wanted a whole number"),
        (lambda: masks.window_allowed(3, 2, 0), "window: wanted a whole number of at least 1, got 0"),
        (lambda: masks.ragged_allowed([], 2), "at least one request"),
        (lambda: masks.ragged_allowed([3, -3], 2), "cached: wanted a whole number of at least -2, got -3"),
        (lambda: masks.ragged_allowed([-2, -2], 2), "cached: wanted a whole number of at least -1, got -2"),
        (lambda: masks.additive_mask(np.ones(3)), "allowed: wanted an array of bool, got float64"),
        (lambda: masks.attend(np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 3)), np.tri(2, dtype=bool)), r"\(2, 4\)"),
        (lambda: masks.masked_attention(np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 3)), 3), r"mask: wanted shape"),
        (lambda: masks.chunked_attention(np.ones((4, 2)), [2, 1], {}), "sum to 4, got"),
        (lambda: masks.chunked_attention(np.ones((4, 2)), [4, 0], {}), "width: wanted"),
        (lambda: masks.chunked_attention(np.ones((0, 2)), [], {}), "widths: wanted"),
    ],
)
def test_what_has_no_answer_is_refused_with_a_sentence(call, said):
    with pytest.raises((TypeError, ValueError), match=said):
        call()


def test_masks_and_the_lessons_modules_do_not_import_torch():
    program = (
        "import sys, kvlab.masks, autograde.exercises.rectangular_masks, autograde.answers.rectangular_masks;"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
