"""Lesson 01: what is right, number by number, and the mistakes that people make with their first cache.

The oracles compute with plain Python numbers, one at a time; the row rule is found by running a model of symbols, in
which a row is the tuple of everything that it was made from.
"""

import math

import numpy as np

from autograde.exercise import Answer, Case, Misconception
from autograde.exercises.why_a_cache import EXERCISES, HAND

ATOL = 1e-9

# ---------------------------------------------------------------------------
# Oracles


def _times(row, matrix) -> list[float]:
    """A row vector times a matrix."""
    return [math.fsum(x * line[column] for x, line in zip(row, matrix, strict=True)) for column in range(len(row))]


def _read(q, keys, values) -> list[float]:
    scores = [math.fsum(a * b for a, b in zip(q, key, strict=True)) / math.sqrt(len(q)) for key in keys]
    top = max(scores)
    weights = [math.exp(score - top) for score in scores]
    total = math.fsum(weights)
    return [math.fsum(w * row[i] for w, row in zip(weights, values, strict=True)) / total for i in range(len(q))]


def _one_row(x, layers, caches) -> list[float]:
    for layer, (keys, values) in zip(layers, caches, strict=True):
        keys.append(_times(x, layer["WK"]))
        values.append(_times(x, layer["WV"]))
        read = _read(_times(x, layer["WQ"]), keys, values)
        x = [a + b for a, b in zip(x, read, strict=True)]
    return x


def _on_paper(_case: Case) -> dict[str, list[float]]:
    found = {}
    for i in (0, 1):
        found[f"k{i}"] = _times(HAND[f"x{i}"], HAND["WK"])
        found[f"v{i}"] = _times(HAND[f"x{i}"], HAND["WV"])
        keys, values = ([found[f"{name}{j}"] for j in range(i + 1)] for name in "kv")
        found[f"y{i}"] = _read(_times(HAND[f"x{i}"], HAND["WQ"]), keys, values)
    return found


def _attended(case: Case) -> np.ndarray:
    return np.array(_read(*case.inputs.values()))


def _stepped(case: Case) -> list[np.ndarray]:
    caches = [tuple(list(map(list, rows)) for rows in pair) for pair in case.inputs["caches"]]
    outputs = []
    for x in case.inputs["xs"]:
        outputs.append(np.array(_one_row(x, case.inputs["layers"], caches)))
        if len(outputs) == 1 and "after_step_0" in case.inputs:
            layer, name, row, values = case.inputs["after_step_0"]
            caches[layer]["KV".index(name)][row] = values
    return [*outputs, np.array(case.inputs["xs"])]


def _row_by_row(case: Case) -> np.ndarray:
    caches = [([], []) for _ in case.inputs["layers"]]
    return np.array([_one_row(x, case.inputs["layers"], caches) for x in case.inputs["xs"]])


def _counted(case: Case) -> list[int]:
    n = case.inputs["n"]
    pairs = math.comb(n + 1, 2)
    return [pairs + 2 * math.comb(n + 1, 3), pairs]  # t² is t, and t (t - 1) more


def _symbolic_rows(case: Case) -> list[int]:
    """Run both token lists through layers of symbols, and compare what each layer projects its K and V from."""
    runs = [list(enumerate(case.inputs[name])) for name in ("old_tokens", "new_tokens")]
    kept = []
    for _ in range(case.inputs["num_layers"]):
        kept.append(sum(old == new for old, new in zip(*runs, strict=False)))
        runs = [[tuple(rows[: i + 1]) for i in range(len(rows))] for rows in runs]
    return kept


# ---------------------------------------------------------------------------
# Right answers by other algorithms, and the wrong ones


def _soft(scores):
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _look(q, keys, values):
    return _soft(np.array(keys) @ q / math.sqrt(len(q))) @ np.array(values)


def _paper(project=lambda x, w: x @ w, read=None, key="WK", value="WV"):
    """`hand_two_steps` with one thing changed. `read` gets q, the rows of K and V so far."""
    read = read or _look

    def hand_two_steps():
        weights = {name: np.array(HAND[name]) for name in ("WQ", "WK", "WV")}
        keys, values, found = [], [], {}
        for i in (0, 1):
            x = np.array(HAND[f"x{i}"])
            keys.append(project(x, weights[key]))
            values.append(project(x, weights[value]))
            found |= {f"k{i}": keys[i], f"v{i}": values[i]}
            found[f"y{i}"] = read(project(x, weights["WQ"]), np.array(keys), np.array(values))
        return {name: np.asarray(row, dtype=float).tolist() for name, row in found.items()}

    return hand_two_steps


def _paper_in_one_pass():
    xs = np.array([HAND["x0"], HAND["x1"]], dtype=float)
    q, k, v = (np.einsum("ti,ij->tj", xs, HAND[name]) for name in ("WQ", "WK", "WV"))
    weight = 1 / (1 + math.exp((q[1] @ k[0] - q[1] @ k[1]) / math.sqrt(2)))  # of token 1, for token 1
    return {"k0": k[0], "v0": v[0], "y0": v[0], "k1": k[1], "v1": v[1], "y1": (1 - weight) * v[0] + weight * v[1]}


def _paper_own_lost():
    """Each query reads the older rows only; for the first one nothing is left, so it keeps its own value."""
    found = _paper()()
    return found | {"y1": found["v0"]}


def _weights_not_normalised(q, keys, values):
    return np.exp(keys @ q / math.sqrt(len(q))) @ values


def _attend_online(q, keys, values):
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


def _attend_by_logs(q, keys, values):
    scores = np.einsum("td,d->t", keys, q) / len(q) ** 0.5
    return np.exp(scores - np.logaddexp.reduce(scores)) @ values


def _overflowing(q, keys, values):
    with np.errstate(all="ignore"):
        weights = np.exp(keys @ q / math.sqrt(len(q)))
        return (weights / weights.sum()) @ values


def _step(read=_look, residual=True, feed=True, cache=lambda caches, number: caches[number], store=True):
    """`decode_step` with one thing changed. `read` gets q and the rows, the new one included."""

    def decode_step(x, layers, caches):
        token = x
        for number, layer in enumerate(layers):
            keys, values = cache(caches, number)
            source = x if feed else token
            keys, values = (keys, values) if store else (list(keys), list(values))
            keys.append(source @ layer["WK"])
            values.append(source @ layer["WV"])
            y = read(source @ layer["WQ"], keys, values)
            x = source + y if residual else y
        return x

    return decode_step


def _step_in_place(x, layers, caches):
    for layer, (keys, values) in zip(layers, caches, strict=True):
        keys.append(x @ layer["WK"])
        values.append(x @ layer["WV"])
        x += _look(x @ layer["WQ"], keys, values)
    return x


def _step_in_arrays(x, layers, caches):
    """Right: attends to old rows and new row as two parts, then stores."""
    for layer, (keys, values) in zip(layers, caches, strict=True):
        q, k, v = (np.asarray(x) @ layer[name] for name in ("WQ", "WK", "WV"))
        scores = np.array([*(row @ q for row in keys), k @ q]) / np.sqrt(q.size)
        x = x + np.tensordot(_soft(scores), np.vstack([*values, v]), axes=1)
        keys += [k]
        values += [v]
    return x


def _step_by_new_lists(x, layers, caches):
    """Right: leaves new lists in `caches`, recursing over the layers."""

    def run(x, number):
        if number == len(layers):
            return x
        layer = layers[number]
        caches[number] = ([*caches[number][0], x @ layer["WK"]], [*caches[number][1], x @ layer["WV"]])
        return run(x + _attend_online(x @ layer["WQ"], *caches[number]), number + 1)

    return run(x, 0)


def _without_own(q, keys, values):
    return _look(q, keys[:-1], values[:-1]) if len(keys) > 1 else np.zeros(len(q))


def _without_own_raising(q, keys, values):
    return _look(q, keys[:-1], values[:-1])


def _without_first(q, keys, values):
    return _look(q, keys[1:], values[1:]) if len(keys) > 1 else _look(q, keys, values)


def _new_row_alone(q, keys, values):
    return _look(q, keys[-1:], values[-1:])


def _step_values_missing(x, layers, caches):
    """Appends k and forgets v, so that keys and values no longer pair up."""
    for layer, (keys, values) in zip(layers, caches, strict=True):
        keys.append(x @ layer["WK"])
        x = x + _look(x @ layer["WQ"], keys, values)
    return x


def _step_caches_inputs(x, layers, caches):
    """Stores input rows and projects all of them again at each step."""
    for layer, (keys, values) in zip(layers, caches, strict=True):
        keys.append(x)
        values.append(x)
        x = x + _look(x @ layer["WQ"], np.array(keys) @ layer["WK"], np.array(values) @ layer["WV"])
    return x


def _whole(xs, layers, allowed, residual=True, feed=True):
    """The output rows of one pass; `allowed` (T, T) says which row may read which."""
    tokens = xs
    for layer in layers:
        source = xs if feed else tokens
        q, k, v = (source @ layer[name] for name in ("WQ", "WK", "WV"))
        scores = np.where(allowed, q @ k.T / math.sqrt(xs.shape[1]), -1e300)
        read = _soft(scores) * allowed @ v  # a row that may read nothing reads zeros
        xs = source + read if residual else read
    return xs


def _pass(mask=np.tri, **changed):
    """`recompute` as one masked pass over everything."""
    return lambda xs, layers: _whole(xs, layers, mask(len(xs)).astype(bool), **changed)


def _recompute_by_steps(xs, layers):
    caches = [([], []) for _ in layers]
    return np.array([_step_in_arrays(x, layers, caches) for x in xs])


def _recompute_layer_by_layer(xs, layers):
    """Right: within a layer each row looks back by itself."""
    for layer in layers:
        keys, values = xs @ layer["WK"], xs @ layer["WV"]
        reads = [_attend_online(x @ layer["WQ"], keys[: i + 1], values[: i + 1]) for i, x in enumerate(xs)]
        xs = xs + np.array(reads)
    return xs


def _recompute_unmasked(xs, layers):
    """Each prefix alone, but within it every row reads every row."""
    return np.array([_whole(xs[: t + 1], layers, np.ones((t + 1, t + 1), bool))[-1] for t in range(len(xs))])


def _recompute_first_lost(xs, layers):
    prefixes = [xs[1 : t + 1] if t else xs[:1] for t in range(len(xs))]
    return np.array([_whole(each, layers, np.tri(len(each), dtype=bool))[-1] for each in prefixes])


def _squares(n):
    return n * (n + 1) * (2 * n + 1) // 6


def _count(full, cached):
    return lambda n: (full(n), cached(n))


def _sum(n):
    return n * (n + 1) // 2


def _loop(n):
    full = cached = 0
    for t in range(1, n + 1):
        full, cached = full + t * t, cached + t
    return full, cached


def _by_numpy(n):
    lengths = np.arange(n + 1, dtype=np.int64)  # the sum of squares is below 2^63 up to 3,000,000
    return int(lengths @ lengths), int(lengths.sum())


def _prefix(old, new):
    """Equal tokens from the start."""
    count = 0
    while count < min(len(old), len(new)) and old[count] == new[count]:
        count += 1
    return count


def _same_places(old, new):
    return sum(a == b for a, b in zip(old, new, strict=False))


def _rows(first, deeper):
    """`reusable_rows` from the rule of layer 0 and the rule of the others."""

    def reusable_rows(old_tokens, new_tokens, num_layers):
        return [(deeper if layer else first)(old_tokens, new_tokens) for layer in range(num_layers)]

    return reusable_rows


def _all_or_nothing(old, new):
    return len(old) if new[: len(old)] == old else 0


def _append_only(old, new):
    return len(old) if old == new else 0


def _longest_common(old, new):
    """Length of the longest common subsequence: rows as a text editor would match lines."""
    best = [0] * (len(new) + 1)
    for a in old:
        diagonal = 0
        for j, b in enumerate(new, start=1):
            diagonal, best[j] = best[j], diagonal + 1 if a == b else max(best[j], best[j - 1])
    return best[-1]


def _known_tokens(old, new):
    return sum(token in old for token in new)


def _rows_by_dependence(old_tokens, new_tokens, num_layers):
    """Right: spread changed rows down one layer at a time."""
    shared = min(len(old_tokens), len(new_tokens))
    changed = [old_tokens[i] != new_tokens[i] for i in range(shared)]
    kept = []
    for _ in range(num_layers):
        kept.append(changed.count(False))
        changed = [any(changed[: i + 1]) for i in range(shared)]
    return kept


# ---------------------------------------------------------------------------
# The answers


_OWN_SOURCE = "harvard-edge/cs249r_book#1953: a cached step whose new token could not attend to itself."

_OWN = (
    "Does the new token read only the older rows, and not its own?",
    (
        "What can the very first token read?",
        "A query at position t may read the rows 0 to t: its own is one of them.",
        "Keep the last row of keys and of values when you attend.",
    ),
)
_BEFORE_APPEND = (
    "Do you attend before the new k and v are appended, so that the token cannot read itself?",
    (
        "With an empty cache, how many rows are there to read?",
        "A step has an order: project, append, attend.",
        "keys.append(k) and values.append(v) come before attend(q, keys, values).",
    ),
)
_FIRST_LOST = (
    "Is the first token's row lost?",
    (
        "Which rows may the last query read? Count them from 0.",
        "Row 0 belongs to the prefix of every token.",
        "A slice [1:] drops the first row; leave it out.",
    ),
)
_AXIS = (
    "Does your softmax run over an axis of length 1, so that every weight is 1?",
    (
        "What do your weights add up to?",
        "There is one weight for each key; they share a total of 1.",
        "Scores of shape (T,), exp, divided by the sum over all T.",
    ),
)
_UNSCALED = (
    "Did you leave the scores undivided by √dh?",
    (
        "What happens to a score between the dot product and the softmax?",
        "The dot product grows with the width of the head; it is divided by the width's square root.",
        "Divide keys @ q by np.sqrt(len(q)).",
    ),
)
_RESIDUAL = (
    "Did you return what attention read, without adding the layer's input?",
    (
        "What is a layer's output in this lesson's model?",
        "output = input + attention",
        "x = x + attend(...), in every layer.",
    ),
)
_FEED = (
    "Does every layer read the token's own row, instead of the output of the layer before it?",
    (
        "What is the input of layer 1?",
        "Layers are stacked: what one gives, the next one takes.",
        "Assign the layer's output to x, and project that x in the next layer.",
    ),
)

_hand, _attend, _decode_step, _recompute, _score_work, _reusable_rows = EXERCISES

ANSWERS = (
    Answer(
        exercise=_hand,
        expected=_on_paper,
        tolerance=ATOL,
        misconceptions=(
            Misconception("own_token_not_attended", _paper_own_lost, *_OWN, _OWN_SOURCE),
            Misconception("softmax_axis", _paper(read=lambda q, keys, values: values.sum(axis=0)), *_AXIS),
            Misconception(
                "values_from_wk",
                _paper(value="WK"),
                "Did you make v with WK?",
                (
                    "Compare your k0 and v0.",
                    "Each token has three projections, each with its own weights.",
                    "v0 is x0 @ WV.",
                ),
            ),
            Misconception("unscaled", _paper(read=lambda q, keys, values: _soft(keys @ q) @ values), *_UNSCALED),
            Misconception(
                "transposed",
                _paper(project=lambda x, w: w @ x),
                "Did you multiply the weights with the token from the left, W @ x?",
                (
                    "In the table, which numbers does the first entry of k add up?",
                    "A token is a row here: it stands to the left of its weights.",
                    "k0 is x0 @ WK, so its first entry is 1·1 + 2·0.",
                ),
            ),
            Misconception(
                "query_from_wk",
                _paper(read=lambda q, keys, values: _look(keys[-1], keys, values)),
                "Did you use the key of the token as its query?",
                (
                    "What does token 1 ask with?",
                    "The query has weights of its own, WQ.",
                    "q1 is x1 @ WQ; its scores are q1 · k0 and q1 · k1.",
                ),
            ),
        ),
        alternatives=(_paper(), _paper_in_one_pass),
        hints=(
            "Six rows of two numbers. Four of them are a row times a matrix.",
            "Token 0 can read only itself: its weight is 1, whatever the score, so y0 is v0.",
            "y1 = (e^a · v0 + e^b · v1) / (e^a + e^b), with a = q1 · k0 / √2 and b = q1 · k1 / √2.",
        ),
    ),
    Answer(
        exercise=_attend,
        expected=_attended,
        tolerance=ATOL,
        misconceptions=(
            Misconception("unscaled", lambda q, keys, values: _soft(keys @ q) @ values, *_UNSCALED),
            Misconception(
                "scaled_by_tokens",
                lambda q, keys, values: _soft(keys @ q / math.sqrt(len(keys))) @ values,
                "Did you divide by the square root of the number of tokens?",
                (
                    "Should a longer history make a score smaller?",
                    "The scale belongs to the width of the head, not to the length of the sequence.",
                    "np.sqrt(len(q)), not np.sqrt(len(keys)).",
                ),
            ),
            Misconception(
                "scaled_by_width",
                lambda q, keys, values: _soft(keys @ q / len(q)) @ values,
                "Did you divide by dh instead of its square root?",
                (
                    "Look at the scale once more.",
                    "A sum of dh random products grows like √dh.",
                    "Divide by np.sqrt(len(q)).",
                ),
            ),
            Misconception("softmax_axis", lambda q, keys, values: values.sum(axis=0), *_AXIS),
            Misconception(
                "not_normalised",
                _weights_not_normalised,
                "Did you leave the exponentials undivided by their sum?",
                (
                    "What do your weights add up to?",
                    "exp alone gives weights that add up to anything.",
                    "weights / weights.sum()",
                ),
            ),
            Misconception(
                "own_token_not_attended", lambda q, keys, values: _look(q, keys[:-1], values[:-1]), *_OWN, _OWN_SOURCE
            ),
            Misconception("first_token_lost", lambda q, keys, values: _look(q, keys[1:], values[1:]), *_FIRST_LOST),
            Misconception(
                "overflow",
                _overflowing,
                "Does exp overflow for large scores?",
                (
                    "What is np.exp(1000.0)?",
                    "Softmax stays the same when one number is taken off all scores.",
                    "np.exp(scores - scores.max())",
                ),
            ),
            Misconception(
                "keys_for_values",
                lambda q, keys, values: _look(q, keys, keys),
                "Did you mix the keys, instead of the values?",
                (
                    "Which argument does your answer never use?",
                    "Keys decide how much, values say what.",
                    "weights @ values",
                ),
            ),
        ),
        alternatives=(_attend_online, _attend_by_logs),
        hints=(
            "One score for each key, one weight for each score, one sum of values.",
            "scores = keys @ q / np.sqrt(len(q)) has shape (T,); its softmax has too.",
            "weights = np.exp(scores - scores.max()); then weights / weights.sum() @ values, in the right order.",
        ),
    ),
    Answer(
        exercise=_decode_step,
        expected=_stepped,
        tolerance=ATOL,
        misconceptions=(
            Misconception("attends_before_append", _step(read=_without_own), *_BEFORE_APPEND, _OWN_SOURCE),
            Misconception(
                "attends_before_append_raises", _step(read=_without_own_raising), *_BEFORE_APPEND, _OWN_SOURCE
            ),
            Misconception(
                "x_changed_in_place",
                _step_in_place,
                "Did you change the caller's row, with `x += …`?",
                (
                    "What does the caller find in x afterwards?",
                    "`x += y` writes into the array that was passed; `x = x + y` makes a new one.",
                    "Write x = x + attend(…).",
                ),
            ),
            Misconception(
                "new_row_not_stored",
                _step(store=False),
                "Is the new row read in this step, but not kept for the next?",
                (
                    "How long is each list after your step?",
                    "keys + [k] makes a new list; the cache that was handed in stays as it was.",
                    "Append to the lists in caches[l], or put the longer lists back there.",
                ),
            ),
            Misconception(
                "values_not_appended",
                _step_values_missing,
                "Did you append the new key, but not the new value?",
                (
                    "How many keys and how many values are there after a step?",
                    "A weight that finds no value has nothing to weigh.",
                    "values.append(x @ layer['WV'])",
                ),
            ),
            Misconception(
                "one_cache_for_all",
                _step(cache=lambda caches, number: caches[0]),
                "Do all layers share one cache?",
                (
                    "Which weights made the rows that layer 1 reads?",
                    "Layer 1 projects other inputs with other weights: its K and V are its own.",
                    "Use caches[l] in layer l.",
                ),
            ),
            Misconception("tokens_into_every_layer", _step(feed=False), *_FEED),
            Misconception("no_residual", _step(residual=False), *_RESIDUAL),
            Misconception("first_token_lost", _step(read=_without_first), *_FIRST_LOST),
            Misconception(
                "history_not_read",
                _step(read=_new_row_alone),
                "Does the token read only its own new row?",
                (
                    "What did the older tokens leave behind, and for whom?",
                    "The new query reads all stored rows.",
                    "Attend to the whole lists, not to k and v alone.",
                ),
            ),
            Misconception(
                "caches_inputs",
                _step_caches_inputs,
                "Do you store input rows and project all of them again at each step?",
                (
                    "How many rows does one of your steps multiply with WK?",
                    "A cache keeps the projected rows, so that no old row is projected twice.",
                    "Append x @ WK and x @ WV, and attend to the lists as they are.",
                ),
            ),
        ),
        alternatives=(_step_in_arrays, _step_by_new_lists),
        hints=(
            "One layer first: which three rows do you make, which two do you store, what do you read?",
            "keys, values = caches[l]; append x @ WK and x @ WV; attend with x @ WQ; add x.",
            "Loop over zip(layers, caches), and let x be the output of the layer before.",
        ),
    ),
    Answer(
        exercise=_recompute,
        expected=_row_by_row,
        tolerance=ATOL,
        misconceptions=(
            Misconception(
                "future_attended",
                _pass(lambda tokens: np.ones((tokens, tokens))),
                "Can a row read tokens that come after it?",
                (
                    "Change the last token. Which of your rows change?",
                    "Row t comes from the prefix xs[: t + 1], and from nothing else.",
                    "Compute each row from its own prefix.",
                ),
            ),
            Misconception(
                "prefix_unmasked",
                _recompute_unmasked,
                "Within a prefix, do old rows read newer ones?",
                (
                    "With one layer you are right. What does layer 1 read from the rows of layer 0?",
                    "Layer 0's row for an old token must not know what came later, in a prefix too.",
                    "In every layer row i attends to rows 0 to i: attend(x @ WQ, keys[: i + 1], values[: i + 1]).",
                ),
            ),
            Misconception(
                "own_token_not_attended",
                _pass(lambda tokens: np.tri(tokens, k=-1)),
                *_OWN,
                _OWN_SOURCE,
            ),
            Misconception("first_token_lost", _recompute_first_lost, *_FIRST_LOST),
            Misconception("no_residual", _pass(residual=False), *_RESIDUAL),
            Misconception("tokens_into_every_layer", _pass(feed=False), *_FEED),
            Misconception(
                "last_layer_forgotten",
                lambda xs, layers: _pass()(xs, layers[:-1]),
                "Did you leave out the last layer?",
                (
                    "What do you return when there is one layer?",
                    "The output is that of the last layer, not its input.",
                    "Let the loop run over all of layers.",
                ),
            ),
        ),
        alternatives=(_pass(), _recompute_by_steps, _recompute_layer_by_layer),
        hints=(
            "For each t, take the prefix xs[: t + 1] and run it through all layers; its last row is row t.",
            "In a layer, row i reads the rows 0 to i of that layer's K and V.",
            "Inside a prefix: xs = xs + the attend of every row over keys[: i + 1]; layer after layer; then [-1].",
        ),
    ),
    Answer(
        exercise=_score_work,
        expected=_counted,
        misconceptions=(
            Misconception(
                "last_step_only",
                _count(lambda n: n * n, lambda n: n),
                "Did you count the last step alone?",
                (
                    "How many steps does it take to reach length n?",
                    "Each length from 1 to n is one step, with work of its own.",
                    "Sum t × t, and t, over t from 1 to n.",
                ),
            ),
            Misconception(
                "square_for_sum_of_squares",
                _count(lambda n: n * n, _sum),
                "Did you count n × n for the full steps, instead of the sum of all t × t?",
                (
                    "The step at length 3 makes 9 scores. What did the steps before it make?",
                    "Each shorter length was a full step too.",
                    "sum(t * t for t in range(1, n + 1))",
                ),
            ),
            Misconception(
                "sum_for_squares",
                _count(_sum, _sum),
                "Did you count one row of scores for a step that recomputes everything?",
                (
                    "Without a cache, how many queries does a step at length t have?",
                    "t queries meet t keys.",
                    "The full step makes t * t scores, the cached one t.",
                ),
            ),
            Misconception(
                "square_for_sum",
                _count(_squares, lambda n: n * n),
                "Did you count the cached steps as though each met all n keys?",
                (
                    "How many rows are stored when token 3 comes?",
                    "The history grows: 1, 2, 3, … keys.",
                    "The cached total is the sum of t from 1 to n.",
                ),
            ),
            Misconception(
                "flat_steps",
                _count(_squares, lambda n: n),
                "Did you count one score for each cached step?",
                (
                    "What does the one query of a cached step meet?",
                    "A cache saves the old queries, not the old keys: they are consulted again.",
                    "A cached step at length t makes t scores.",
                ),
            ),
            Misconception(
                "cube",
                _count(lambda n: n**3, lambda n: n * n),
                "Did you charge every step with the final length?",
                (
                    "How long is the sequence at the first step?",
                    "The step at length t costs t × t or t, not n × n or n.",
                    "Sum over t, with t in the term.",
                ),
            ),
            Misconception(
                "last_length_missing",
                _count(lambda n: _squares(n - 1) if n else 0, lambda n: _sum(n - 1) if n else 0),
                "Is the last length missing?",
                (
                    "What should one token cost?",
                    "range(n) ends at n - 1.",
                    "range(1, n + 1)",
                ),
            ),
            Misconception(
                "swapped",
                _count(_sum, _squares),
                "Did you return the two numbers in the other order?",
                (
                    "Which of your two numbers is larger?",
                    "First the work of recomputing everything, then the work with a cache.",
                    "return full, cached",
                ),
            ),
            Misconception(
                "causal_half",
                _count(lambda n: n * (n + 1) * (n + 2) // 6, _sum),
                "Did you count only the scores that the causal mask lets through?",
                (
                    "How many numbers has the score matrix of a full step at length 3?",
                    "Masked scores are made and then thrown away; here they count.",
                    "A full step at length t makes t * t scores.",
                ),
            ),
            Misconception(
                "float_rounding",
                _count(lambda n: int(n * (n + 1) * (2 * n + 1) / 6), _sum),
                "Does a float come between, and round a large sum?",
                (
                    "Which operator in your formula gives a float?",
                    "Beyond 2^53 a float cannot hold every whole number.",
                    "Use // instead of /, or sum integers.",
                ),
            ),
        ),
        alternatives=(_count(_squares, _sum), _loop, _by_numpy),
        hints=(
            "Write down both counts for n = 1, 2 and 3.",
            "Full: 1 + 4 + 9 + … Cached: 1 + 2 + 3 + …",
            "Two sums over t in range(1, n + 1), of t * t and of t.",
        ),
    ),
    Answer(
        exercise=_reusable_rows,
        expected=_symbolic_rows,
        misconceptions=(
            Misconception(
                "all_invalid_after_an_edit",
                _rows(_all_or_nothing, _all_or_nothing),
                "Do you throw every row away as soon as one token is edited?",
                (
                    "Token 3 is edited. What did row 1 of any layer depend on?",
                    "A row depends on the tokens up to its own, so rows before the edit stay as they are.",
                    "Count rows: equal places in layer 0, the common prefix in deeper layers.",
                ),
            ),
            Misconception(
                "suffix_invalidates",
                _rows(_append_only, _append_only),
                "Does a longer suffix make your old rows invalid?",
                (
                    "What does row 0 know of a token that comes later?",
                    "Every decode step makes the sequence longer, and keeps all rows.",
                    "Compare tokens place by place, not the two lists as a whole.",
                ),
            ),
            Misconception(
                "prefix_in_layer_0",
                _rows(_prefix, _prefix),
                "Does layer 0 lose rows behind an edit that it could keep?",
                (
                    "From what does layer 0 make row 5 of K?",
                    "Layer 0 projects each token by itself; attention comes after the projection.",
                    "In layer 0 count all places that hold the same token, also behind an edit.",
                ),
            ),
            Misconception(
                "same_places_everywhere",
                _rows(_same_places, _same_places),
                "Do deeper layers keep rows behind an edit, although those rows have read the edited one?",
                (
                    "What is the input of layer 1 at a place behind the edit?",
                    "It is an output of layer 0, which attended to the edited row.",
                    "From layer 1 on only the common prefix survives.",
                ),
            ),
            Misconception(
                "edited_row_kept",
                _rows(_same_places, lambda old, new: min(_prefix(old, new) + 1, len(old), len(new))),
                "Do deeper layers keep the edited row itself?",
                (
                    "Token 3 is edited: how many rows come before row 3?",
                    "Rows 0, 1 and 2 survive; that is three.",
                    "The length of the common prefix, without + 1.",
                ),
            ),
            Misconception(
                "length_only",
                _rows(lambda old, new: min(len(old), len(new)), lambda old, new: min(len(old), len(new))),
                "Do you compare lengths, and not tokens?",
                (
                    "What do you return when one token of the middle is edited?",
                    "A row is valid for the tokens it was made from.",
                    "Compare old_tokens[i] with new_tokens[i].",
                ),
            ),
            Misconception(
                "matched_anywhere",
                _rows(_longest_common, _prefix),
                "Do you match tokens that have moved to another place?",
                (
                    "A token is put in before them. At which positions do the later tokens stand now?",
                    "Row i is made at position i; a token elsewhere is another row.",
                    "Compare equal places only: old_tokens[i] with new_tokens[i].",
                ),
            ),
            Misconception(
                "known_tokens",
                _rows(_known_tokens, _prefix),
                "Do you keep a row for every token that occurred before, wherever it stood?",
                (
                    "Is the same token at another position the same row?",
                    "Row i is made at position i.",
                    "Compare old_tokens[i] with new_tokens[i].",
                ),
            ),
            Misconception(
                "swapped_layers",
                _rows(_prefix, _same_places),
                "Did you swap the rule of layer 0 and that of the deeper layers?",
                (
                    "Which layer reads what attention has mixed?",
                    "Layer 0 projects tokens one by one; deeper layers read mixed rows.",
                    "Layer 0: equal places. Deeper: common prefix.",
                ),
            ),
        ),
        alternatives=(_rows(_same_places, _prefix), _rows_by_dependence),
        hints=(
            "Layer 0 and the deeper layers follow two rules. From what does each make row i of its K?",
            "Layer 0: from token i. Deeper: from the tokens 0 to i.",
            "Layer 0 counts equal places; every deeper layer counts the common prefix.",
        ),
    ),
)
