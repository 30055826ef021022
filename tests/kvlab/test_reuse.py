"""The library's small causal model: a cached step equals a full pass, and rows survive as the rule says."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograde.answers import answer_of
from autograde.judge import accepted, trace
from kvlab import reuse
from kvlab.reuse import (
    ATOL,
    attend,
    both_ways,
    causal,
    decode_step,
    embed,
    empty_caches,
    metered,
    prefill,
    recompute,
    reusable_rows,
    rows_per_prefix,
    rows_per_step,
    score_work,
    survivors,
    toy_layers,
    window,
)

tokens = st.lists(st.integers(0, 3), min_size=1, max_size=7)
depths = st.integers(1, 4)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=ATOL)


@given(tokens, depths, st.integers(0, 99))
def test_stepping_prefilling_and_recomputing_give_the_same_rows(ids, depth, seed):
    layers, xs = toy_layers(depth, width=3, seed=seed), embed(ids, width=3)
    caches = empty_caches(depth)
    stepped = np.array([decode_step(x, layers, caches) for x in xs])
    whole, rows = prefill(xs, layers)
    close(stepped, whole)
    close(recompute(xs, layers), whole)
    for pair, stored in zip(rows, caches, strict=True):
        for made, kept in zip(pair, stored, strict=True):
            close(np.array(kept), made)


@pytest.mark.parametrize("name", ["attend", "decode_step", "recompute", "score_work", "reusable_rows"])
def test_what_the_library_gives_is_what_a_learner_must_give(name):
    answer, function = answer_of(name), getattr(reuse, name)
    for seed in range(5):
        cases = answer.exercise.cases(Random(seed))
        for case, value in zip(cases, trace(answer, function, cases), strict=True):
            assert accepted(answer, case, value, answer.expected(case)), case.label


def test_attention_of_one_row_returns_it_and_of_like_keys_the_mean():
    close(attend([3.0, -4.0], [[1.0, 7.0]], [[5.0, 6.0]]), [5, 6])
    close(attend([1.0, 2.0], [[3.0, 4.0]] * 4, np.eye(4)), [0.25] * 4)
    close(attend([2000.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [[5.0, 6.0], [7.0, 8.0]]), [5, 6])


def test_scores_are_divided_by_the_root_of_the_key_width():
    weights = attend([1.0, 1.0, 1.0, 1.0], [[1.0, 1.0, 1.0, 1.0], [0.0] * 4], np.eye(2))
    close(weights[0] / weights[1], np.exp(4 / 2))


@pytest.mark.parametrize(
    ("q", "keys", "values"),
    [([1.0], [], []), ([1.0], [[1.0, 2.0]], [[1.0]]), ([1.0], [[1.0]], [[1.0], [2.0]]), ([[1.0]], [[1.0]], [[1.0]])],
)
def test_attention_refuses_what_does_not_fit_together(q, keys, values):
    with pytest.raises(ValueError, match=r"^attend: wanted q \(dh,\)"):
        attend(q, keys, values)


def test_a_step_follows_what_is_stored():
    layers, caches = toy_layers(2), empty_caches(2)
    for x in embed([1, 2, 3]):
        decode_step(x, layers, caches)
    keys, values = np.array(caches[0][0]), np.array(caches[0][1])
    values[1] += 10
    caches[0][1][1] = values[1]
    x = embed([7])[0]
    inner = x + attend(x @ layers[0]["WQ"], [*keys, x @ layers[0]["WK"]], [*values, x @ layers[0]["WV"]])
    wanted = decode_step(inner, layers[1:], [tuple(map(list, caches[1]))])
    close(decode_step(x, layers, caches), wanted)
    assert [len(rows) for pair in caches for rows in pair] == [4] * 4


def test_a_cache_that_is_missing_is_refused_before_anything_is_stored():
    caches = empty_caches(1)
    with pytest.raises(ValueError, match="a cache for each layer, got 1 for 2"):
        decode_step(embed([1])[0], toy_layers(2), caches)
    assert caches == [([], [])]


def test_masks_say_who_may_read_whom():
    assert causal(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert window(3, 2).tolist() == [[True, False, False], [True, True, False], [False, True, True]]
    assert both_ways(2).all() and (window(4, 4) == causal(4)).all() and (window(3, 1) == np.eye(3)).all()


@given(tokens, tokens, depths)
def test_the_row_rule_is_what_a_run_of_the_model_finds(old, new, depth):
    layers = toy_layers(depth)
    found = survivors(prefill(embed(old), layers)[1], prefill(embed(new), layers)[1])
    assert [sum(keys) for keys, _ in found] == [sum(values) for _, values in found] == reusable_rows(old, new, depth)


def test_changed_weights_positions_and_masks_leave_what_was_made_without_them():
    layers, xs = toy_layers(3), embed([5, 3, 8, 1, 9, 4])
    before = prefill(xs, layers)[1]

    def kept(*changed):
        return [(sum(keys), sum(values)) for keys, values in survivors(before, prefill(*changed)[1])]

    other = [layers[0], layers[1] | {"WK": layers[1]["WK"] + 1}, layers[2]]
    assert kept(xs, other) == [(6, 6), (0, 6), (1, 1)]  # row 0 reads only itself, whatever its key
    assert kept(embed([5, 3, 8, 1, 9, 4], first=1), layers) == [(0, 0)] * 3
    assert kept(xs, layers, both_ways(6)) == [(6, 6), (1, 1), (0, 0)]  # the last row has always read everything
    assert kept(xs, layers, window(6, 2)) == [(6, 6), (2, 2), (2, 2)]


def test_the_score_work_is_the_sum_of_the_steps():
    works = [score_work(n) for n in range(40)]
    assert works[0] == (0, 0) and works[3] == (14, 6)
    for t, (before, after) in enumerate(pairwise(works), start=1):
        assert (after[0] - before[0], after[1] - before[1]) == (t * t, t)
    assert score_work(10**15)[1] == 500000000000000500000000000000
    assert all(type(each) is int for each in score_work(np.int64(10**9)))


@pytest.mark.parametrize("n", [-1, 1.5, None, "3", True])
def test_the_score_work_of_no_length_is_refused(n):
    with pytest.raises((TypeError, ValueError), match=r"^n: wanted a whole number"):
        score_work(n)


def test_a_metered_weight_computes_the_same_and_counts_rows():
    layers, xs = toy_layers(2), embed([1, 2, 3])
    counted = metered(layers)
    close(prefill(xs, counted)[0], prefill(xs, layers)[0])
    xs[0] @ counted[0]["WK"]
    counted[0]["WK"] @ xs[0]  # from the other side it is no projection of rows
    assert [layer["WK"].rows for layer in counted] == [4, 3]
    assert type(xs @ counted[0]["WK"]) is np.ndarray


def test_a_cached_step_makes_one_row_per_layer_and_a_prefix_all_of_them():
    layers, xs = toy_layers(3), embed([1, 2, 3, 4])
    assert rows_per_step(layers, xs) == [3, 3, 3, 3]
    assert rows_per_prefix(layers, xs) == [3, 6, 9, 12]

    def projects_again(x, layers, caches):
        seen = caches[0][0]
        seen.append(x)
        return recompute(np.array(seen), layers)[-1]

    assert rows_per_step(layers, xs, projects_again) == [3, 9, 18, 30]


def test_the_same_seed_gives_the_same_layers_and_positions_tell_tokens_apart():
    assert all((a[name] == b[name]).all() for a, b in zip(toy_layers(), toy_layers(), strict=True) for name in a)
    rows = embed([4, 4])
    assert not np.allclose(rows[0], rows[1]) and (embed([4], first=1)[0] == rows[1]).all()
