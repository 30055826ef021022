"""Lesson 04, people make the same mistake in other words: the same name. An unrelated error: no name."""

import numpy as np
import pytest

from autograde.answers import answer_of
from autograde.check import examine
from tests.variants import pair_of_tests


def rows(sees):
    """A mask by two loops, from whether query i of the chunk sees key k; unlike any other here."""

    def mask(cached, chunk, *window):
        return np.array([[bool(sees(i, k, cached, *window)) for k in range(cached + chunk)] for i in range(chunk)])

    return mask


RIGHT = rows(lambda i, k, c: k - c <= i)
FROM_ZERO = rows(lambda i, k, c: k <= i)
STRICT = rows(lambda i, k, c: k < c + i)


def soft(scores):
    """A softmax that gives zeros where nothing is finite."""
    out = np.zeros(scores.shape)
    for row, values in enumerate(scores):
        keep = values > -np.inf
        if keep.any():
            e = np.exp(values[keep] - values[keep].max())
            out[row, keep] = e / e.sum()
    return out


def attention(mask=RIGHT, softmax=soft, low=-np.inf):
    def masked_attention(q, k, v, cached):
        scores = np.einsum("md,kd->mk", q, k) / q.shape[1] ** 0.5
        scores[~mask(cached, q.shape[0])] = low
        return np.einsum("mk,kd->md", softmax(scores), v)

    return masked_attention


def two_parts(q, k, v, cached):
    """Attends to cache and chunk apart, the chunk through a square mask that does not fit the scores."""
    scores = q @ k.T / q.shape[1] ** 0.5
    return soft(scores + np.triu(np.full((len(q), len(q)), -np.inf), 1)) @ v


def weights_times_mask(q, k, v, cached):
    s = q @ k.T / q.shape[1] ** 0.5
    e = np.exp(s - s.max(axis=1)[:, None])
    w = e / e.sum(axis=1)[:, None]
    w[~RIGHT(cached, len(q))] = 0
    return w @ v


def no_temperature(q, k, v, cached):
    return attention()(q * q.shape[1] ** 0.5, k, v, cached)


def plain_softmax(scores):
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - scores.max(axis=1)[:, None])
        return e / e.sum(axis=1)[:, None]


def no_mask_if_cached(q, k, v, cached):
    """As in the public issue, where the prompt also comes with a cache."""
    return plain_softmax(q @ k.T / q.shape[1] ** 0.5) @ v


def chunked(step, remember=True):
    def chunked_attention(x, widths, weights):
        ks, vs, out, before = [], [], [], 0
        for part in np.split(x, np.cumsum(widths)[:-1]):
            if not remember:
                ks, vs = [], []
            ks.append(part @ weights["WK"])
            vs.append(part @ weights["WV"])
            out.append(step(part @ weights["WQ"], np.vstack(ks), np.vstack(vs), before))
            before = len(part)
        return np.vstack(out)

    return chunked_attention


def all_before(step):
    return lambda q, k, v, before: step(q, k, v, len(k) - len(q))


def by_last_width(q, k, v, before):
    mask = np.tril(np.ones((len(q), len(k)), dtype=bool), before)
    return soft(np.where(mask, q @ k.T / q.shape[1] ** 0.5, -np.inf)) @ v


def forgets_earlier_rows(x, widths, weights):
    step = attention()
    for end in np.cumsum(widths):
        seen, new = x[:end], x[end - widths[-1] : end]
    return step(new @ weights["WQ"], seen @ weights["WK"], seen @ weights["WV"], len(seen) - len(new))


def ragged(sees):
    def ragged_allowed(cached, chunk):
        top = max(cached)
        table = [[[sees(c, top, chunk, i, k) for k in range(top + chunk)] for i in range(chunk)] for c in cached]
        return np.array(table, dtype=bool)

    return ragged_allowed


def behind_the_longest(c, top, chunk, i, k):
    return k in (*range(c), *range(top, top + i + 1))


VARIANTS = [
    ("allowed", FROM_ZERO, "top_left"),
    ("allowed", STRICT, "own_key_hidden"),
    ("allowed", rows(lambda i, k, c: True), "everything_allowed"),
    ("allowed", lambda c, m: np.tril(np.ones((m, m))) == 1, "square_mask"),
    ("allowed", rows(lambda i, k, c: k > c + i), "swapped"),
    ("allowed", rows(lambda i, k, c: c <= k <= c + i), "cache_hidden"),
    ("additive_mask", lambda a: np.where(~a, 0, -np.inf), "swapped"),
    ("additive_mask", lambda a: ~a * -1e9, "finite"),
    ("additive_mask", lambda a: (1 - a) * -np.inf, "zero_times_infinity"),
    ("additive_mask", lambda a: a.astype(float), "factors"),
    ("masked_attention", attention(FROM_ZERO), "top_left"),
    ("masked_attention", attention(STRICT), "own_key_hidden"),
    ("masked_attention", no_mask_if_cached, "everything_allowed"),
    ("masked_attention", two_parts, "square_mask"),
    ("masked_attention", attention(lambda c, m: ~RIGHT(c, m)), "swapped"),
    ("masked_attention", weights_times_mask, "mask_after_softmax"),
    ("masked_attention", attention(softmax=plain_softmax, low=0.0), "zeroed_scores"),
    ("masked_attention", attention(softmax=plain_softmax), "nan_rows"),
    ("masked_attention", attention(softmax=plain_softmax, low=-1e9), "even_rows"),
    ("masked_attention", no_temperature, "unscaled"),
    ("chunked_attention", chunked(by_last_width), "previous_offset"),
    ("chunked_attention", chunked(all_before(attention()), remember=False), "own_chunk_only"),
    ("chunked_attention", chunked(all_before(attention(FROM_ZERO))), "top_left"),
    ("chunked_attention", chunked(all_before(no_mask_if_cached)), "everything_allowed"),
    ("chunked_attention", chunked(all_before(attention(STRICT))), "own_key_hidden"),
    ("chunked_attention", chunked(all_before(weights_times_mask)), "mask_after_softmax"),
    ("chunked_attention", forgets_earlier_rows, "last_chunk"),
    ("ragged_allowed", ragged(behind_the_longest), "after_longest"),
    ("ragged_allowed", ragged(lambda c, top, chunk, i, k: k <= top + i), "all_longest"),
    ("ragged_allowed", ragged(lambda c, top, chunk, i, k: 0 <= k - (top - c) <= c + i), "right_aligned"),
    ("ragged_allowed", ragged(lambda c, top, chunk, i, k: k < c + chunk), "lengths_only"),
    ("ragged_allowed", ragged(lambda c, top, chunk, i, k: i >= k), "top_left"),
    ("ragged_allowed", ragged(lambda c, top, chunk, i, k: k - i < c), "own_key_hidden"),
    ("ragged_allowed", ragged(lambda c, top, chunk, i, k: k - i > c), "swapped"),
    ("window_allowed", rows(lambda i, k, c, w: 0 <= c + i - k <= w), "one_too_long"),
    ("window_allowed", rows(lambda i, k, c, w: 0 <= c + i - k < w - 1), "one_too_short"),
    ("window_allowed", rows(lambda i, k, c, w: c + i - k < w), "no_future_hidden"),
    ("window_allowed", rows(lambda i, k, c, w: c - w < k <= c + i), "one_start_for_all"),
    ("window_allowed", rows(lambda i, k, c, w: 0 <= i - k < w), "window_not_shifted"),
    ("window_allowed", rows(lambda i, k, c, w: not 0 <= c + i - k < w), "swapped"),
]

UNRELATED = [
    ("allowed", lambda c, m: RIGHT(c, m).astype(int)),
    ("allowed", lambda c, m: RIGHT(c, m).T),
    ("allowed", lambda c, m: RIGHT(c, m)[::-1]),
    ("additive_mask", lambda a: a),
    ("additive_mask", lambda a: np.where(a, 0.0, np.inf)),
    ("additive_mask", lambda a: np.where(a.any(axis=-1, keepdims=True), np.where(a, 0.0, -np.inf), 0.0)),
    ("masked_attention", lambda q, k, v, c: attention()(k[-len(q) :], k, v, c)),
    ("masked_attention", lambda q, k, v, c: attention()(q, v, k, c)),
    ("masked_attention", lambda q, k, v, c: np.zeros(q.shape)),
    ("chunked_attention", lambda x, widths, weights: x @ weights["WV"]),
    ("chunked_attention", lambda x, widths, weights: chunked(all_before(attention()))(x, widths, weights)[::-1]),
    ("ragged_allowed", ragged(lambda c, top, chunk, i, k: k == c + i)),
    ("ragged_allowed", lambda cached, chunk: [RIGHT(c, chunk) for c in cached]),
    ("window_allowed", rows(lambda i, k, c, w: abs(c + i - k) < w)),
    ("window_allowed", rows(lambda i, k, c, w: k <= c + i)),
]


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("allowed", RIGHT),
        ("masked_attention", attention()),
        ("chunked_attention", chunked(all_before(attention()))),
        ("ragged_allowed", ragged(lambda c, top, chunk, i, k: k <= c + i)),
        ("window_allowed", rows(lambda i, k, c, w: 0 <= c + i - k < w)),
    ],
)
def test_the_base_of_the_variants_is_right(name, right):
    assert examine(answer_of(name), 1, right, 5).right


def test_rows_of_padding_are_judged_by_what_attention_gives_for_them():
    verdict = examine(answer_of("masked_attention"), 1, attention(softmax=plain_softmax), 5)
    assert verdict.case_label == "a chunk that begins with padding" and "nan" in verdict.yours
    assert verdict.expected.startswith("[[ 0.")


def test_weights_that_are_masked_late_and_scaled_up_again_fail_where_a_forbidden_key_takes_all():
    def renormalised(q, k, v, cached):
        w = plain_softmax(q @ k.T / q.shape[1] ** 0.5) * RIGHT(cached, len(q))
        return w / np.maximum(w.sum(axis=1)[:, None], 1e-300) @ v

    for seed in range(5):
        verdict = examine(answer_of("masked_attention"), 1, renormalised, seed)
        assert verdict.case_label == "a forbidden key that matches by far the best"


test_the_same_mistake_in_other_words_gets_the_same_name, test_an_unrelated_error_is_rejected_without_a_name = (
    pair_of_tests(VARIANTS, UNRELATED)
)
