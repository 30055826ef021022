"""Lesson 04: what is right, by loops over positions and by PyTorch, and the mistakes that people make with masks.

Attention is judged by `scaled_dot_product_attention` with `is_causal=True` on a square: the whole sequence at once,
with queries in front of the chunk that nobody asked for. On a square there is only one way to align a mask.
"""

import math

import numpy as np

from autograde.exercise import Answer, Case, Misconception
from autograde.exercises.rectangular_masks import EXERCISES

ATOL = 1e-9

# ---------------------------------------------------------------------------
# Oracles. PyTorch is imported where it is used: it takes a second, and a mask needs none of it.


def _rows(cached: int, chunk: int, width: int, sees) -> np.ndarray:
    """A mask from the question whether the query at one position sees the key at another."""
    rows = [[sees(query, key) for key in range(width)] for query in range(cached, cached + chunk)]
    return np.array(rows, dtype=bool).reshape(chunk, width)


def _allowed_rows(case: Case) -> np.ndarray:
    cached, chunk = case.inputs["cached"], case.inputs["chunk"]
    return _rows(cached, chunk, cached + chunk, lambda query, key: key in range(query + 1))


def _additive(case: Case) -> np.ndarray:
    def number(entry):
        return [number(each) for each in entry] if type(entry) is list else 0.0 if entry else -math.inf

    return np.array(number(case.inputs["allowed"]))


def _square(q, k, v) -> np.ndarray:
    """Causal attention of a whole sequence at once."""
    import torch

    q, k, v = (torch.tensor(each, dtype=torch.float64) for each in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).numpy()


def _attended(case: Case) -> np.ndarray:
    q, k, v, cached = case.inputs.values()
    width = len(q[0])
    if cached < 0:
        return np.concatenate([np.zeros((-cached, width)), _square(q[-cached:], k, v)])
    return _square([[0.0] * width] * cached + q, k, v)[cached:]


def _one_shot(case: Case) -> np.ndarray:
    x, weights = np.array(case.inputs["x"]), case.inputs["weights"]
    return _square(*(x @ np.array(weights[name]) for name in ("WQ", "WK", "WV")))


def _ragged_rows(case: Case) -> np.ndarray:
    cached, chunk = case.inputs["cached"], case.inputs["chunk"]
    width = max(cached) + chunk
    return np.stack([_rows(each, chunk, width, lambda query, key: key in range(query + 1)) for each in cached])


def _window_rows(case: Case) -> np.ndarray:
    cached, chunk, window = case.inputs.values()
    return _rows(cached, chunk, cached + chunk, lambda query, key: key in range(query + 1)[-window:])


# ---------------------------------------------------------------------------
# Masks, right and wrong


def _grid(cached, chunk):
    """Positions of the queries, as a column, and of the keys."""
    return np.arange(cached, cached + chunk)[:, None], np.arange(cached + chunk)


def _right(cached, chunk):
    queries, keys = _grid(cached, chunk)
    return keys <= queries


def _by_tri(cached, chunk):
    return np.tri(chunk, cached + chunk, cached, dtype=bool)


def _last_rows_of_a_square(cached, chunk):
    square = np.tril(np.ones((max(cached, 0) + chunk, cached + chunk), dtype=bool), min(cached, 0))
    return square[-chunk:]


def _top_left(cached, chunk):
    return np.tri(chunk, cached + chunk, dtype=bool)


def _own_key_hidden(cached, chunk):
    return np.tri(chunk, cached + chunk, cached - 1, dtype=bool)


def _everything(cached, chunk):
    return np.ones((chunk, cached + chunk), dtype=bool)


def _square_mask(cached, chunk):
    return np.tri(chunk, dtype=bool)


def _cache_hidden(cached, chunk):
    queries, keys = _grid(cached, chunk)
    return (keys <= queries) & (keys >= cached)


def _swapped(cached, chunk):
    return ~_right(cached, chunk)


def _log_of_ones(allowed):
    """Right: the logarithm of 1 is 0, that of 0 is minus infinity."""
    with np.errstate(divide="ignore"):
        return np.log(allowed.astype(float))


def _number_by_number(allowed):
    numbers = [0.0 if each else -math.inf for each in allowed.flat]
    return np.array(numbers).reshape(allowed.shape)


# ---------------------------------------------------------------------------
# Attention, right and wrong


def _scores(q, k):
    return q @ k.T / np.sqrt(q.shape[-1])


def _softmax(scores):
    """Over the last axis; zeros where no score is finite."""
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True, initial=-1e300))
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-300)


def _attention(mask_of, softmax=_softmax, fill=-np.inf, scores_of=_scores):
    """`masked_attention` with parts that may be wrong."""

    def masked_attention(q, k, v, cached):
        with np.errstate(all="ignore"):
            return softmax(np.where(mask_of(cached, len(q)), scores_of(q, k), fill)) @ v

    return masked_attention


def _nan_softmax(scores):
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _unshifted(scores):
    e = np.exp(scores)
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def _row_by_row(q, k, v, cached):
    """Right: each query on its own, over a slice of the keys, without a mask."""
    rows = np.zeros((len(q), v.shape[1]))
    for i, query in enumerate(q):
        if cached + i >= 0:
            keys = k[: cached + i + 1]
            rows[i] = _nan_softmax(keys @ query / math.sqrt(len(query))) @ v[: cached + i + 1]
    return rows


def _streaming(q, k, v, cached):
    """Right: one key after the other, with a running maximum and a running sum."""
    rows, total = np.zeros((len(q), v.shape[1])), np.zeros((len(q), 1))
    largest = np.full((len(q), 1), -np.inf)
    for key in range(len(k)):
        new = np.where(_right(cached, len(q))[:, [key]], _scores(q, k[[key]]), -np.inf)
        top = np.maximum(largest, new)
        safe = np.where(np.isneginf(top), 0, top)
        old, weight = np.exp(largest - safe), np.exp(new - safe)
        rows, total, largest = rows * old + weight * v[key], total * old + weight, top
    return rows / np.where(total == 0, 1, total)


def _mask_after_softmax(q, k, v, cached):
    return _softmax(_scores(q, k)) * _right(cached, len(q)) @ v


def _zeroed_scores(q, k, v, cached):
    return _softmax(_scores(q, k) * _right(cached, len(q))) @ v


def _chunks(attend_of, keep=True):
    """`chunked_attention`: `attend_of(q, k, v, cached, previous)` sees one chunk, `previous` is the last width."""

    def chunked_attention(x, widths, weights):
        start = previous = 0
        rows = []
        for width in widths:
            first = 0 if keep else start
            seen, new = x[first : start + width], x[start : start + width]
            q, k, v = new @ weights["WQ"], seen @ weights["WK"], seen @ weights["WV"]
            rows.append(attend_of(q, k, v, start, previous))
            start, previous = start + width, width
        return np.concatenate(rows)

    return chunked_attention


def _masked_by(mask_of):
    attention = _attention(mask_of)
    return lambda q, k, v, cached, previous: attention(q, k, v, cached)


def _previous_offset(q, k, v, cached, previous):
    mask = np.arange(len(k)) <= previous + np.arange(len(q))[:, None]
    return _softmax(np.where(mask, _scores(q, k), -np.inf)) @ v


def _own_chunk_only(q, k, v, cached, previous):
    return _attention(_right)(q, k, v, 0)


def _one_shot_numpy(x, widths, weights):
    q, k, v = (x @ weights[name] for name in ("WQ", "WK", "WV"))
    return _attention(_right)(q, k, v, 0)


def _token_by_token(x, widths, weights):
    return _chunks(lambda q, k, v, cached, previous: _row_by_row(q, k, v, cached))(x, [1] * len(x), weights)


# ---------------------------------------------------------------------------
# Ragged batches and windows, right and wrong


def _ragged(row_of):
    """`ragged_allowed` from `row_of(own, longest, queries, keys)`, one request's mask; queries count from 0."""

    def ragged_allowed(cached, chunk):
        queries, keys = np.arange(chunk)[:, None], np.arange(max(cached) + chunk)
        return np.array([row_of(own, max(cached), queries, keys) for own in cached])

    return ragged_allowed


def _ragged_by_tri(cached, chunk):
    return np.array([np.tri(chunk, max(cached) + chunk, own, dtype=bool) for own in cached])


def _ragged_padded(cached, chunk):
    """Right: each request's own mask, and columns of False behind it."""
    batch = []
    for own in cached:
        batch.append(np.pad(_right(own, chunk), ((0, 0), (0, max(cached) - own))))
    return np.stack(batch)


def _after_longest(own, longest, queries, keys):
    return (keys < own) | ((keys >= longest) & (keys <= longest + queries))


def _right_aligned(own, longest, queries, keys):
    return (keys >= longest - own) & (keys <= longest + queries)


def _windowed(sees):
    """`window_allowed` from `sees(queries, keys, window, cached)`."""

    def window_allowed(cached, chunk, window):
        return sees(*_grid(cached, chunk), window, cached)

    return window_allowed


def _window_of_two_triangles(cached, chunk, window):
    """Right: the triangle up to the own key, without the triangle that ends in front of the window."""
    size = (chunk, cached + chunk)
    return np.tri(*size, cached, dtype=bool) & ~np.tri(*size, cached - window, dtype=bool)


def _window_by_slices(cached, chunk, window):
    mask = np.zeros((chunk, cached + chunk), dtype=bool)
    for row, query in enumerate(range(cached, cached + chunk)):
        mask[row, max(0, query - window + 1) : query + 1] = True
    return mask


# ---------------------------------------------------------------------------
# The answers


_TOP_LEFT = (
    "Did you count the chunk's queries from 0, so that the mask forgets the cached tokens (top-left alignment)?",
    (
        "At which position does the first token of the chunk stand?",
        "Behind c cached tokens, query i of the chunk stands at position c + i, not i.",
        "Allow key k for query i where k <= cached + i.",
    ),
    "pytorch/pytorch#108108",
)
_OWN_KEY = (
    "Did you hide each token's own key from it?",
    (
        "What can the very first token of a prompt attend to?",
        "A token sees the keys before it and its own: the chunk's keys are appended before it attends.",
        "Use <=, not <: key k is allowed where k <= the query's position.",
    ),
)
_EVERYTHING = (
    "Did you allow every key because a cache exists?",
    (
        "Which keys of its own chunk must the chunk's first token not see?",
        "One token on a cache needs no mask, since all keys lie before it; a chunk does.",
        "Keys behind a query's position are forbidden, cache or no cache.",
    ),
    "Mikyx-1/TinyLLM#17",
)
_SQUARE = (
    "Did you make a square mask of the chunk alone, although the keys include the cached ones?",
    (
        "How many keys does a query meet: those of the chunk, or those of cache and chunk?",
        "The mask has one column for each key: cached + chunk of them.",
        "Put `cached` columns of True in front of the chunk's triangle, or compare positions directly.",
    ),
    "meta-llama/llama#899",
)
_SWAPPED = (
    "Did you swap True and False, so that True marks what is hidden?",
    (
        "Which way round does this course, and torch's bool `attn_mask`, read a mask?",
        "True means: this query may see this key.",
        "Turn the comparison round, or put ~ in front of it.",
    ),
)
_AFTER_SOFTMAX = (
    "Did you apply the mask after the softmax, so that the weights no longer sum to 1?",
    (
        "What do the weights of a row sum to in your function?",
        "A softmax over all keys has already given weight to the forbidden ones; it is missing afterwards.",
        "Add the mask to the scores first, then take the softmax.",
    ),
)

_allowed, _additive_mask, _masked_attention, _chunked_attention, _ragged_allowed, _window_allowed = EXERCISES

ANSWERS = (
    Answer(
        exercise=_allowed,
        expected=_allowed_rows,
        misconceptions=(
            Misconception("top_left", _top_left, *_TOP_LEFT),
            Misconception("own_key_hidden", _own_key_hidden, *_OWN_KEY),
            Misconception("everything_allowed", _everything, *_EVERYTHING),
            Misconception("square_mask", _square_mask, *_SQUARE),
            Misconception("swapped", _swapped, *_SWAPPED),
            Misconception(
                "cache_hidden",
                _cache_hidden,
                "Did you forbid the cached keys?",
                (
                    "What was the cache kept for?",
                    "Every cached key lies before the chunk, so every query of the chunk may see it.",
                    "There is no lower bound: key k is allowed where k <= cached + i.",
                ),
            ),
        ),
        alternatives=(_by_tri, _last_rows_of_a_square),
        hints=(
            "Write down the position of each query and of each key, then compare the two.",
            "Queries stand at cached, cached + 1, …; keys at 0, 1, …, cached + chunk - 1.",
            "np.arange(cached + chunk) <= cached + np.arange(chunk)[:, None]",
        ),
    ),
    Answer(
        exercise=_additive_mask,
        expected=_additive,
        misconceptions=(
            Misconception(
                "swapped",
                lambda allowed: np.where(allowed, -np.inf, 0.0),
                "Did you swap True and False, so that the allowed keys are the ones that get −∞?",
                (
                    "What must be added to the score of a key that may be seen?",
                    "True means allowed. An allowed score stays as it is; adding 0 does that.",
                    "np.where(allowed, 0.0, -np.inf)",
                ),
            ),
            Misconception(
                "finite",
                lambda allowed: np.where(allowed, 0.0, -1e9),
                "Did you take a large negative number for −∞?",
                (
                    "What does softmax make of a row in which every score is −1,000,000,000?",
                    "Where nothing is allowed, equal scores, however low, share the weight evenly over forbidden keys.",
                    "Use -np.inf; what a row without any allowed key gives is for the softmax to decide.",
                ),
            ),
            Misconception(
                "zero_times_infinity",
                lambda allowed: np.where(allowed, np.nan, -np.inf),
                "Did you multiply a 0 by infinity, which is not a number?",
                (
                    "What does Python say to 0 * -np.inf?",
                    "(1 - allowed) * -np.inf gives NaN wherever a key is allowed.",
                    "Choose instead of multiplying: np.where(allowed, 0.0, -np.inf).",
                ),
            ),
            Misconception(
                "factors",
                lambda allowed: np.where(allowed, 1.0, 0.0),
                "Did you return factors, 1 and 0, where summands are wanted?",
                (
                    "What happens to a score that is multiplied by 0? Does its key then get no weight?",
                    "exp(0) is 1: a score of 0 is an ordinary score. This mask will be added.",
                    "Adding 0 changes nothing, adding −∞ gives weight exp(−∞) = 0.",
                ),
            ),
        ),
        alternatives=(
            _log_of_ones,
            _number_by_number,
        ),
        hints=(
            "Two numbers: one that leaves a score as it is when added, one that makes its exp 0.",
            "0.0 where allowed, minus infinity elsewhere, in an array of the same shape.",
            "np.where(condition, value where true, value elsewhere)",
        ),
    ),
    Answer(
        exercise=_masked_attention,
        expected=_attended,
        misconceptions=(
            Misconception("top_left", _attention(_top_left), *_TOP_LEFT),
            Misconception("own_key_hidden", _attention(_own_key_hidden), *_OWN_KEY),
            Misconception("everything_allowed", _attention(_everything), *_EVERYTHING),
            Misconception("square_mask", _attention(_square_mask), *_SQUARE),
            Misconception("swapped", _attention(_swapped), *_SWAPPED),
            Misconception("mask_after_softmax", _mask_after_softmax, *_AFTER_SOFTMAX),
            Misconception(
                "zeroed_scores",
                _zeroed_scores,
                "Did you multiply the scores by the mask, so that a forbidden key has score 0 and still gets weight?",
                (
                    "What is exp(0)?",
                    "A score of 0 is an ordinary score; to get no weight it must be −∞.",
                    "Add additive_mask(…) to the scores.",
                ),
            ),
            Misconception(
                "no_shift",
                _attention(_right, _unshifted),
                "Did you take exp of the scores as they are, so that large ones overflow and very small ones vanish?",
                (
                    "What are np.exp(1500.0) and np.exp(-1500.0)?",
                    "Softmax does not change when one number is subtracted from all scores of a row.",
                    "Subtract each row's largest score first; 0 where that is −∞.",
                ),
            ),
            Misconception(
                "nan_rows",
                _attention(_right, _nan_softmax),
                "Does a row that allows nothing give not-a-number, as −∞ − (−∞) or as 0 ÷ 0?",
                (
                    "What is the largest score of a row in which all are −∞, and what is −∞ minus −∞?",
                    "Such a row has no weights to share out. Its output is zeros.",
                    "Subtract 0 instead of a maximum of −∞, and divide by 1 where the sum is 0.",
                ),
                "pytorch/pytorch#108108",
            ),
            Misconception(
                "even_rows",
                _attention(_right, fill=-1e9),
                "Does a row that allows nothing average over all values in your function?",
                (
                    "Look at the rows of padding. Which keys may they see?",
                    "If every score is the same low number, softmax shares the weight evenly.",
                    "Use −∞, and give zeros where the sum of the exponentials is 0.",
                ),
                "pytorch/pytorch#108108",
            ),
            Misconception(
                "unscaled",
                _attention(_right, scores_of=lambda q, k: q @ k.T),
                "Did you leave the scores undivided by the square root of the head width?",
                (
                    "What is q · k divided by before the softmax?",
                    "The head width dh is the number of columns of q.",
                    "scores = q @ k.T / np.sqrt(q.shape[-1])",
                ),
            ),
        ),
        alternatives=(_row_by_row, _streaming),
        hints=(
            "Scores of shape (chunk, cached + chunk), then the mask, then a softmax over the keys, then v.",
            "q @ k.T / np.sqrt(dh) + additive_mask(allowed(cached, chunk)); chunk is the number of rows of q.",
            "Where a row's sum of exponentials is 0, divide by 1 instead: the output is then zeros.",
        ),
        tolerance=ATOL,
    ),
    Answer(
        exercise=_chunked_attention,
        expected=_one_shot,
        misconceptions=(
            Misconception(
                "previous_offset",
                _chunks(_previous_offset),
                "Did you take the width of the previous chunk for the number of cached tokens?",
                (
                    "Two chunks are right, the third is not. What does its first token stand behind?",
                    "Every chunk so far is in the cache, not only the last one.",
                    "cached is the number of stored keys before this chunk: sum the widths, or ask len(keys).",
                ),
            ),
            Misconception(
                "own_chunk_only",
                _chunks(_own_chunk_only, keep=False),
                "Does each chunk attend to itself alone, without the keys of earlier chunks?",
                (
                    "Which keys are there when the second chunk comes?",
                    "Keys and values of every chunk are kept; the queries are not.",
                    "Append the chunk's K and V to those stored, and attend over all of them.",
                ),
            ),
            Misconception("top_left", _chunks(_masked_by(_top_left)), *_TOP_LEFT),
            Misconception("everything_allowed", _chunks(_masked_by(_everything)), *_EVERYTHING),
            Misconception("own_key_hidden", _chunks(_masked_by(_own_key_hidden)), *_OWN_KEY),
            Misconception(
                "mask_after_softmax",
                _chunks(lambda q, k, v, cached, previous: _mask_after_softmax(q, k, v, cached)),
                *_AFTER_SOFTMAX,
            ),
            Misconception(
                "last_chunk",
                lambda x, widths, weights: _one_shot_numpy(x, widths, weights)[-widths[-1] :],
                "Did you return the rows of the last chunk only?",
                (
                    "How many rows does x have, and how many has your result?",
                    "Every chunk gives as many rows as it has tokens.",
                    "Collect the rows of each chunk, and np.concatenate them at the end.",
                ),
            ),
        ),
        alternatives=(_one_shot_numpy, _token_by_token),
        hints=(
            "Keep K and V of all chunks so far. What does a chunk add, and what does it attend to?",
            "For each chunk: read how many keys are stored, append its K and V, then masked_attention over all.",
            "rows.append(masked_attention(new @ weights['WQ'], keys, values, cached)), then np.concatenate(rows)",
        ),
        tolerance=ATOL,
    ),
    Answer(
        exercise=_ragged_allowed,
        expected=_ragged_rows,
        misconceptions=(
            Misconception(
                "after_longest",
                _ragged(_after_longest),
                "Did you put every chunk behind the longest prefix, instead of behind its own?",
                (
                    "In which column does the first new key of the shortest request lie?",
                    "Keys are aligned left: there is no gap between a request's prefix and its chunk.",
                    "Query i of request b sees the keys up to cached[b] + i.",
                ),
            ),
            Misconception(
                "all_longest",
                _ragged(lambda own, longest, queries, keys: keys <= longest + queries),
                "Did you mask every request as though it had the longest prefix?",
                (
                    "What lies in a short request's row of the cache behind its own tokens?",
                    "Each request needs its own length; the memory behind it holds nothing of its own.",
                    "Use cached[b] in the mask of request b; max(cached) only sets the number of columns.",
                ),
            ),
            Misconception(
                "right_aligned",
                _ragged(_right_aligned),
                "Did you align the keys at the right, with the padding in front?",
                (
                    "In which column does the first token of every request lie?",
                    "Left-aligned: key 0 of each request is in column 0, unused columns come last.",
                    "np.arange(columns) <= cached[b] + np.arange(chunk)[:, None]",
                ),
            ),
            Misconception(
                "lengths_only",
                _ragged(lambda own, longest, queries, keys: (keys < own + len(queries)) & (queries >= 0)),
                "Did you mask by length alone, so that a chunk's first token sees the rest of its chunk?",
                (
                    "Which keys of its own chunk must the first new token not see?",
                    "A length mask hides what lies behind a request; the order within a chunk is still needed.",
                    "Row i ends at cached[b] + i, not at cached[b] + chunk - 1.",
                ),
                "Mikyx-1/TinyLLM#17",
            ),
            Misconception("top_left", _ragged(lambda own, longest, queries, keys: keys <= queries), *_TOP_LEFT),
            Misconception(
                "own_key_hidden",
                _ragged(lambda own, longest, queries, keys: keys < own + queries),
                *_OWN_KEY,
            ),
            Misconception("swapped", _ragged(lambda own, longest, queries, keys: keys > own + queries), *_SWAPPED),
        ),
        alternatives=(_ragged_by_tri, _ragged_padded),
        hints=(
            "One mask for each request, all of them as wide as the longest needs.",
            "The mask of request b is that of exercise 1, with cached[b], and with columns of False behind it.",
            "keys <= cached[b] + i, for keys = np.arange(max(cached) + chunk) and every i of the chunk.",
        ),
    ),
    Answer(
        exercise=_window_allowed,
        expected=_window_rows,
        misconceptions=(
            Misconception(
                "one_too_long",
                _windowed(lambda p, k, window, cached: (k <= p) & (k >= p - window)),
                "Is your window one key too long, because the own key is not counted in it?",
                (
                    "With a window of 1, which keys may a token see?",
                    "A window of W holds W keys, and the query's own is one of them.",
                    "Hide every key k with k <= p - window.",
                ),
            ),
            Misconception(
                "one_too_short",
                _windowed(lambda p, k, window, cached: (k <= p) & (k > p - window + 1)),
                "Is your window one key too short?",
                (
                    "With a window of 1, which keys may a token see?",
                    "A window of W holds W keys: the own one and W - 1 before it.",
                    "Hide only keys k with k <= p - window; the key at p - window + 1 stays.",
                ),
            ),
            Misconception(
                "no_future_hidden",
                _windowed(lambda p, k, window, cached: k > p - window),
                "Did you bound the window on the left only, so that a token sees what comes after it?",
                (
                    "Look at the first row of a chunk. Which keys come after its token?",
                    "A window is taken away from the causal mask; it does not replace it.",
                    "Both must hold: k <= p, and k > p - window.",
                ),
            ),
            Misconception(
                "one_start_for_all",
                _windowed(lambda p, k, window, cached: (k <= p) & (k > cached - window)),
                "Did you place the window once for the whole chunk, at its first token?",
                (
                    "Does the window of the chunk's last token begin where that of its first does?",
                    "The window slides: each query has its own left end.",
                    "Measure from the query's position, cached + i, not from cached.",
                ),
            ),
            Misconception(
                "window_not_shifted",
                _windowed(lambda p, k, window, cached: (k <= p - cached) & (k > p - cached - window)),
                "Did you count the chunk's queries from 0, so that mask and window forget the cached tokens?",
                (
                    "At which position does the first token of the chunk stand?",
                    "Both ends of the window are measured from the query's position.",
                    "p = cached + i for query i; then k <= p and k > p - window.",
                ),
                "pytorch/pytorch#108108",
            ),
            Misconception(
                "swapped",
                _windowed(lambda p, k, window, cached: (k > p) | (k <= p - window)),
                *_SWAPPED,
            ),
        ),
        alternatives=(_window_of_two_triangles, _window_by_slices),
        hints=(
            "Start from the mask of exercise 1. Which of its cells does a window take away?",
            "The query at position p sees at most W keys: p, p - 1, …, p - W + 1.",
            "Allow key k where k <= p and k > p - window, for p = cached + i.",
        ),
    ),
)
