"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

import math

import numpy as np

from autograde.exercise import Advice

ATOL = 1e-9


def row_times_matrix(row, matrix) -> list[float]:
    """A row vector times a matrix."""
    return [math.fsum(x * line[column] for x, line in zip(row, matrix, strict=True)) for column in range(len(row))]


def read_rows(q, keys, values) -> list[float]:
    scores = [math.fsum(a * b for a, b in zip(q, key, strict=True)) / math.sqrt(len(q)) for key in keys]
    top = max(scores)
    weights = [math.exp(score - top) for score in scores]
    total = math.fsum(weights)
    return [math.fsum(w * row[i] for w, row in zip(weights, values, strict=True)) / total for i in range(len(q))]


def step_by_hand(x, layers, caches) -> list[float]:
    for layer, (keys, values) in zip(layers, caches, strict=True):
        keys.append(row_times_matrix(x, layer["WK"]))
        values.append(row_times_matrix(x, layer["WV"]))
        read = read_rows(row_times_matrix(x, layer["WQ"]), keys, values)
        x = [a + b for a, b in zip(x, read, strict=True)]
    return x


def softmax(scores):
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def attend_in_numpy(q, keys, values):
    return softmax(np.array(keys) @ q / math.sqrt(len(q))) @ np.array(values)


def attend_online(q, keys, values):
    """Right: one row at a time, with a running maximum, as FlashAttention does it."""
    top, total, read = -math.inf, 0.0, np.zeros(len(values[0]))
    for key, value in zip(keys, values, strict=True):
        score = float(key @ q) / math.sqrt(len(q))
        new = max(top, score)
        shrink = math.exp(top - new)
        total = total * shrink + math.exp(score - new)
        read = read * shrink + math.exp(score - new) * value
        top = new
    return read / total


def step_in_arrays(x, layers, caches):
    """Right: attends to old rows and new row as two parts, then stores."""
    for layer, (keys, values) in zip(layers, caches, strict=True):
        q, k, v = (np.asarray(x) @ layer[name] for name in ("WQ", "WK", "WV"))
        scores = np.array([*(row @ q for row in keys), k @ q]) / np.sqrt(q.size)
        x = x + np.tensordot(softmax(scores), np.vstack([*values, v]), axes=1)
        keys += [k]
        values += [v]
    return x


OWN_TOKEN_NOT_ATTENDED = Advice(
    "Does the new token read only the older rows, and not its own?",
    (
        "What can the very first token read?",
        "A query at position t may read the rows 0 to t: its own is one of them.",
        "Keep the last row of keys and of values when you attend.",
    ),
    source="harvard-edge/cs249r_book#1953: a cached step whose new token could not attend to itself.",
)
SOFTMAX_AXIS = Advice(
    "Does your softmax run over an axis of length 1, so that every weight is 1?",
    (
        "What do your weights add up to?",
        "There is one weight for each key; they share a total of 1.",
        "Scores of shape (T,), exp, divided by the sum over all T.",
    ),
)
UNSCALED = Advice(
    "Did you leave the scores undivided by √dh?",
    (
        "What happens to a score between the dot product and the softmax?",
        "The dot product grows with the width of the head; it is divided by the width's square root.",
        "Divide keys @ q by np.sqrt(len(q)).",
    ),
)
FIRST_TOKEN_LOST = Advice(
    "Is the first token's row lost?",
    (
        "Which rows may the last query read? Count them from 0.",
        "Row 0 belongs to the prefix of every token.",
        "A slice [1:] drops the first row; leave it out.",
    ),
)
TOKENS_INTO_EVERY_LAYER = Advice(
    "Does every layer read the token's own row, instead of the output of the layer before it?",
    (
        "What is the input of layer 1?",
        "Layers are stacked: what one gives, the next one takes.",
        "Assign the layer's output to x, and project that x in the next layer.",
    ),
)
NO_RESIDUAL = Advice(
    "Did you return what attention read, without adding the layer's input?",
    (
        "What is a layer's output in this lesson's model?",
        "output = input + attention",
        "x = x + attend(...), in every layer.",
    ),
)
