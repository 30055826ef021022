"""Lesson 01, people make the same mistake in other words: the same name. An unrelated error: no name."""

import numpy as np
import pytest

from autograde.answers import answer_of
from autograde.check import examine
from tests.variants import pair_of_tests
from tiny_transformer import softmax

X = np.array([[1.0, 2.0], [3.0, 1.0]])
WQ, WK, WV = np.array([[[1, 0], [-1, 1]], [[1, -1], [0, 1]], [[2, 1], [0, 3]]])


# --- hand_two_steps --------------------------------------------------------------------------------------------


def on_paper(q=X @ WQ, k=X @ WK, v=X @ WV, scale=2**0.5, mix=softmax):
    """Right as it stands: both tokens in one masked table."""
    scores = np.where(np.tri(2), q @ k.T / scale, -np.inf)
    y = mix(scores) @ v
    return dict(zip(("k0", "k1", "v0", "v1", "y0", "y1"), [*k, *v, *y], strict=True))


def reads_the_other_only():
    return on_paper() | {"y1": [2, 7]}


def adds_up():
    v = X @ WV
    return on_paper() | {"y1": list(v[0] + v[1])}


def one_matrix_for_both():
    return on_paper(v=X @ WK)


def no_root():
    return on_paper(scale=1)


def columns():
    return on_paper(q=(WQ @ X.T).T, k=(WK @ X.T).T, v=(WV @ X.T).T)


# --- attend ----------------------------------------------------------------------------------------------------


def over_last_axis(q, keys, values):
    return (softmax(keys @ q[:, None] / np.sqrt(len(q))) * values).sum(axis=0)


def no_division(q, keys, values):
    return softmax((keys * q).sum(axis=1)) @ values


def root_of_length(q, keys, values):
    return softmax(keys @ q * keys.shape[0] ** -0.5) @ values


def naive_exp(q, keys, values):
    e = np.exp(keys.dot(q) / keys.shape[1] ** 0.5)
    return e @ values / e.sum()


def history_only(q, keys, values):
    n = len(keys) - 1
    return softmax(keys[:n] @ q / np.sqrt(q.size)) @ values[:n]


def skips_row_zero(q, keys, values):
    s = [float(keys[i] @ q) / q.size**0.5 for i in range(1, len(keys))]
    return sum(w * values[i + 1] for i, w in enumerate(softmax(np.array(s))))


def reads_keys(q, keys, values):
    w = softmax(np.array([k @ q for k in keys]) / np.sqrt(q.size))
    return w @ keys


# --- decode_step -----------------------------------------------------------------------------------------------


def mix(q, rows_k, rows_v):
    return np.einsum("t,td->d", softmax(np.stack(rows_k) @ q / q.size**0.5), np.stack(rows_v))


def decode(x, layers, caches):
    """Right, by index."""
    for n in range(len(layers)):
        q, k, v = (x @ layers[n][w] for w in ("WQ", "WK", "WV"))
        for rows, row in zip(caches[n], (k, v), strict=True):
            rows.append(row)
        x = mix(q, *caches[n]) + x
    return x


def looks_then_stores(x, layers, caches):
    for layer, (rows_k, rows_v) in zip(layers, caches, strict=True):
        read = mix(x @ layer["WQ"], rows_k, rows_v) if rows_k else 0 * x
        rows_k.append(x @ layer["WK"])
        rows_v.append(x @ layer["WV"])
        x = x + read
    return x


def looks_then_stores_and_fails_when_empty(x, layers, caches):
    for layer, (rows_k, rows_v) in zip(layers, caches, strict=True):
        read = softmax(np.array(rows_k) @ (x @ layer["WQ"]) / x.size**0.5) @ np.array(rows_v)
        rows_k.append(x @ layer["WK"])
        rows_v.append(x @ layer["WV"])
        x = x + read
    return x


def longer_lists_thrown_away(x, layers, caches):
    for layer, (rows_k, rows_v) in zip(layers, caches, strict=True):
        rows_k = [*rows_k, x @ layer["WK"]]
        rows_v = [*rows_v, x @ layer["WV"]]
        x = x + mix(x @ layer["WQ"], rows_k, rows_v)
    return x


def always_cache_zero(x, layers, caches):
    return decode(x, layers, [caches[0]] * len(layers))


def parallel_layers(x, layers, caches):
    for layer, pair in zip(layers, caches, strict=True):
        y = decode(x, [layer], [pair])
    return y


def forgets_x(x, layers, caches):
    for layer, pair in zip(layers, caches, strict=True):
        x = decode(x, [layer], [pair]) - x
    return x


def remembers_tokens(x, layers, caches):
    for layer, (a, b) in zip(layers, caches, strict=True):
        for rows in (a, b):
            rows.append(x)
        x = x + mix(x @ layer["WQ"], [row @ layer["WK"] for row in a], [row @ layer["WV"] for row in b])
    return x


# --- recompute -------------------------------------------------------------------------------------------------


def rows_by_rows(xs, layers, reach=lambda i, last: i + 1):
    """Right as it stands: `reach` says how many rows row i may read in a prefix whose last row is `last`."""
    out = []
    for last in range(len(xs)):
        h = xs[: last + 1]
        for w in layers:
            k, v = h @ w["WK"], h @ w["WV"]
            h = np.stack(
                [h[i] + mix(h[i] @ w["WQ"], k[: reach(i, last)], v[: reach(i, last)]) for i in range(last + 1)]
            )
        out.append(h[-1])
    return np.stack(out)


def everything_at_once(xs, layers):
    for w in layers:
        xs = xs + softmax(xs @ w["WQ"] @ (xs @ w["WK"]).T / xs.shape[1] ** 0.5) @ (xs @ w["WV"])
    return xs


def no_mask_inside(xs, layers):
    return np.stack([everything_at_once(xs[: t + 1], layers)[-1] for t in range(len(xs))])


def all_but_the_last(xs, layers):
    return rows_by_rows(xs, layers[: len(layers) - 1])


def read_alone(xs, layers):
    for w in layers:
        xs = rows_by_rows(xs, [w]) - xs
    return xs


# --- score_work ------------------------------------------------------------------------------------------------


def totals(full, cached, n):
    return sum(full(t) for t in range(1, n + 1)), sum(cached(t) for t in range(1, n + 1))


# --- reusable_rows ---------------------------------------------------------------------------------------------


def first_difference(a, b):
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))


def equal_places(a, b):
    return len([1 for x, y in zip(a, b, strict=False) if x == y])


def start_over(old, new, num_layers):
    return [len(old) if old == new[: len(old)] else 0 for _ in range(num_layers)]


def only_if_identical(old, new, num_layers):
    return [len(old) * (old == new)] * num_layers


VARIANTS = [
    ("hand_two_steps", reads_the_other_only, "own_token_not_attended"),
    ("hand_two_steps", adds_up, "softmax_axis"),
    ("hand_two_steps", one_matrix_for_both, "values_from_wk"),
    ("hand_two_steps", no_root, "unscaled"),
    ("hand_two_steps", columns, "transposed"),
    ("hand_two_steps", lambda: on_paper(q=X @ WK), "query_from_wk"),
    ("attend", over_last_axis, "softmax_axis"),
    ("attend", no_division, "unscaled"),
    ("attend", root_of_length, "scaled_by_tokens"),
    ("attend", naive_exp, "overflow"),
    ("attend", history_only, "own_token_not_attended"),
    ("attend", skips_row_zero, "first_token_lost"),
    ("attend", reads_keys, "keys_for_values"),
    ("decode_step", looks_then_stores, "attends_before_append"),
    ("decode_step", looks_then_stores_and_fails_when_empty, "attends_before_append_raises"),
    ("decode_step", longer_lists_thrown_away, "new_row_not_stored"),
    ("decode_step", always_cache_zero, "one_cache_for_all"),
    ("decode_step", parallel_layers, "tokens_into_every_layer"),
    ("decode_step", forgets_x, "no_residual"),
    ("decode_step", remembers_tokens, "caches_inputs"),
    ("recompute", everything_at_once, "future_attended"),
    ("recompute", no_mask_inside, "prefix_unmasked"),
    ("recompute", lambda xs, layers: rows_by_rows(xs, layers, lambda i, last: last + 1), "prefix_unmasked"),
    ("recompute", all_but_the_last, "last_layer_forgotten"),
    ("recompute", read_alone, "no_residual"),
    ("score_work", lambda n: totals(lambda t: t, lambda t: t, n), "sum_for_squares"),
    ("score_work", lambda n: (n**2, sum(range(n + 1))), "square_for_sum_of_squares"),
    ("score_work", lambda n: totals(lambda t: t * t, lambda t: n, n), "square_for_sum"),
    ("score_work", lambda n: totals(lambda t: t * t, lambda t: 1, n), "flat_steps"),
    ("score_work", lambda n: (sum(t * t for t in range(n)), sum(range(n))), "last_length_missing"),
    ("score_work", lambda n: totals(lambda t: t * (t + 1) // 2, lambda t: t, n), "causal_half"),
    ("score_work", lambda n: totals(lambda t: t * t, lambda t: t, n)[::-1], "swapped"),
    ("reusable_rows", start_over, "all_invalid_after_an_edit"),
    ("reusable_rows", only_if_identical, "suffix_invalidates"),
    ("reusable_rows", lambda a, b, n: [first_difference(a, b)] * n, "prefix_in_layer_0"),
    ("reusable_rows", lambda a, b, n: n * [equal_places(a, b)], "same_places_everywhere"),
    ("reusable_rows", lambda a, b, n: [min(map(len, (a, b))) for _ in range(n)], "length_only"),
]

UNRELATED = [
    ("hand_two_steps", dict),
    ("hand_two_steps", lambda: on_paper() | {"k1": [3, 2]}),
    ("attend", lambda q, keys, values: values[-1]),
    ("attend", lambda q, keys, values: values.mean(axis=0)),
    ("attend", lambda q, keys, values: None),
    ("decode_step", lambda x, layers, caches: x),
    ("decode_step", lambda x, layers, caches: 2 * decode(x, layers, caches)),
    ("decode_step", lambda x, layers, caches: decode(x, layers[::-1], caches)),
    ("recompute", lambda xs, layers: xs),
    ("recompute", lambda xs, layers: rows_by_rows(xs, layers)[::-1]),
    ("score_work", lambda n: (n + 1, n)),
    ("score_work", lambda n: [n**4, n**3]),
    ("reusable_rows", lambda a, b, n: [0] * n),
    ("reusable_rows", lambda a, b, n: [True] * n),
]


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("hand_two_steps", on_paper),
        ("decode_step", decode),
        ("recompute", rows_by_rows),
        ("score_work", lambda n: totals(lambda t: t * t, lambda t: t, n)),
        ("reusable_rows", lambda a, b, n: [equal_places(a, b), *[first_difference(a, b)] * (n - 1)]),
    ],
)
def test_the_base_of_the_variants_is_right(name, right):
    assert examine(answer_of(name), 1, right, 5).right


test_the_same_mistake_in_other_words_gets_the_same_name, test_an_unrelated_error_is_rejected_without_a_name = (
    pair_of_tests(VARIANTS, UNRELATED)
)


def test_a_decoder_that_remembers_tokens_outside_the_cache_does_not_follow_what_is_stored():
    history = []

    def own_memory(x, layers, caches):
        if not len(caches[0][0]):
            history.clear()
        history.append(x)
        caches[0][0].append(x)  # so that the cache looks as long as it should
        return rows_by_rows(np.array(history), layers)[-1]

    assert examine(answer_of("decode_step"), 1, own_memory, 5).status == "wrong"
