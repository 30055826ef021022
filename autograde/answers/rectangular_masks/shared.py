"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

import math

import numpy as np

from autograde.exercise import Advice

ATOL = 1e-9


def mask_rows(cached: int, chunk: int, width: int, sees) -> np.ndarray:
    """A mask from the question whether the query at one position sees the key at another."""
    rows = [[sees(query, key) for key in range(width)] for query in range(cached, cached + chunk)]
    return np.array(rows, dtype=bool).reshape(chunk, width)


def square_attention(q, k, v) -> np.ndarray:
    """Causal attention of a whole sequence at once."""
    import torch  # here: it takes a second, and a mask needs none of it

    q, k, v = (torch.tensor(each, dtype=torch.float64) for each in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).numpy()


def mask_where(cached, chunk):
    """Positions of the queries, as a column, and of the keys."""
    return np.arange(cached, cached + chunk)[:, None], np.arange(cached + chunk)


def allowed_by_grid(cached, chunk):
    queries, keys = mask_where(cached, chunk)
    return keys <= queries


def causal_upper_left(cached, chunk):
    return np.tri(chunk, cached + chunk, dtype=bool)


def own_key_hidden(cached, chunk):
    return np.tri(chunk, cached + chunk, cached - 1, dtype=bool)


def everything_allowed(cached, chunk):
    return np.ones((chunk, cached + chunk), dtype=bool)


def square_mask(cached, chunk):
    return np.tri(chunk, dtype=bool)


def swapped_mask(cached, chunk):
    return ~allowed_by_grid(cached, chunk)


def scaled_scores(q, k):
    return q @ k.T / np.sqrt(q.shape[-1])


def plain_softmax(scores):
    """Over the last axis; zeros where no score is finite."""
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True, initial=-1e300))
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-300)


def attention_with(mask_of, softmax=plain_softmax, fill=-np.inf, scores_of=scaled_scores):
    """`masked_attention` with parts that may be wrong."""

    def masked_attention(q, k, v, cached):
        with np.errstate(all="ignore"):
            return softmax(np.where(mask_of(cached, len(q)), scores_of(q, k), fill)) @ v

    return masked_attention


def nan_softmax(scores):
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention_row_by_row(q, k, v, cached):
    """Right: each query on its own, over a slice of the keys, without a mask."""
    rows = np.zeros((len(q), v.shape[1]))
    for i, query in enumerate(q):
        if cached + i >= 0:
            keys = k[: cached + i + 1]
            rows[i] = nan_softmax(keys @ query / math.sqrt(len(query))) @ v[: cached + i + 1]
    return rows


def mask_after_softmax(q, k, v, cached):
    return plain_softmax(scaled_scores(q, k)) * allowed_by_grid(cached, len(q)) @ v


TOP_LEFT = Advice(
    "Did you count the chunk's queries from 0, so that the mask forgets the cached tokens (top-left alignment)?",
    (
        "At which position does the first token of the chunk stand?",
        "Behind c cached tokens, query i of the chunk stands at position c + i, not i.",
        "Allow key k for query i where k <= cached + i.",
    ),
    source="pytorch/pytorch#108108: is_causal=True aligns unequal lengths to the upper left.",
)
OWN_KEY_HIDDEN = Advice(
    "Did you hide each token's own key from it?",
    (
        "What can the very first token of a prompt attend to?",
        "A token sees the keys before it and its own: the chunk's keys are appended before it attends.",
        "Use <=, not <: key k is allowed where k <= the query's position.",
    ),
)
EVERYTHING_ALLOWED = Advice(
    "Did you allow every key because a cache exists?",
    (
        "Which keys of its own chunk must the chunk's first token not see?",
        "One token on a cache needs no mask, since all keys lie before it; a chunk does.",
        "Keys behind a query's position are forbidden, cache or no cache.",
    ),
    source="Mikyx-1/TinyLLM#17: a chunk on a cache attended to everything, later tokens included.",
)
SQUARE_MASK = Advice(
    "Did you make a square mask of the chunk alone, although the keys include the cached ones?",
    (
        "How many keys does a query meet: those of the chunk, or those of cache and chunk?",
        "The mask has one column for each key: cached + chunk of them.",
        "Put `cached` columns of True in front of the chunk's triangle, or compare positions directly.",
    ),
    source="meta-llama/llama#899: a square mask met a chunk behind cached tokens.",
)
SWAPPED = Advice(
    "Did you swap True and False, so that True marks what is hidden?",
    (
        "Which way round does this course, and torch's bool `attn_mask`, read a mask?",
        "True means: this query may see this key.",
        "Turn the comparison round, or put ~ in front of it.",
    ),
)
MASK_AFTER_SOFTMAX = Advice(
    "Did you apply the mask after the softmax, so that the weights no longer sum to 1?",
    (
        "What do the weights of a row sum to in your function?",
        "A softmax over all keys has already given weight to the forbidden ones; it is missing afterwards.",
        "Add the mask to the scores first, then take the softmax.",
    ),
)
