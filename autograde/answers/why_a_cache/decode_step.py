"""`decode_step`: what is right, which mistakes are known, and what to say about them."""

import numpy as np

from autograde.answers.why_a_cache.shared import (
    ATOL,
    FIRST_TOKEN_LOST,
    NO_RESIDUAL,
    TOKENS_INTO_EVERY_LAYER,
    attend_in_numpy,
    attend_online,
    step_by_hand,
    step_in_arrays,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _stepped(case: Case) -> dict[str, object]:
    xs = case.inputs["xs"]
    caches = [tuple(list(map(list, rows)) for rows in pair) for pair in case.inputs["caches"]]
    outputs: dict[str, object] = {}
    for number, x in enumerate(xs):
        outputs[f"y{number}"] = np.array(step_by_hand(x, case.inputs["layers"], caches))
        if number == 0 and "after_step_0" in case.inputs:
            layer, name, row, values = case.inputs["after_step_0"]
            caches[layer]["KV".index(name)][row] = values
    for number, (keys, _) in enumerate(case.inputs["caches"]):
        outputs[f"rows of layer {number}"] = [len(keys) + len(xs)] * 2
    return outputs | {"xs": np.array(xs)}


def _step(read=attend_in_numpy, residual=True, feed=True, cache=lambda caches, number: caches[number], store=True):
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
        x += attend_in_numpy(x @ layer["WQ"], keys, values)
    return x


def _step_by_new_lists(x, layers, caches):
    """Right: leaves new lists in `caches`, recursing over the layers."""

    def run(x, number):
        if number == len(layers):
            return x
        layer = layers[number]
        caches[number] = ([*caches[number][0], x @ layer["WK"]], [*caches[number][1], x @ layer["WV"]])
        return run(x + attend_online(x @ layer["WQ"], *caches[number]), number + 1)

    return run(x, 0)


def _without_own(q, keys, values):
    return attend_in_numpy(q, keys[:-1], values[:-1]) if len(keys) > 1 else np.zeros(len(q))


def _step_attending_first(x, layers, caches):
    for layer, (keys, values) in zip(layers, caches, strict=True):
        y = attend_in_numpy(x @ layer["WQ"], keys, values)
        keys.append(x @ layer["WK"])
        values.append(x @ layer["WV"])
        x = x + y
    return x


def _without_first(q, keys, values):
    return attend_in_numpy(q, keys[1:], values[1:]) if len(keys) > 1 else attend_in_numpy(q, keys, values)


def _new_row_alone(q, keys, values):
    return attend_in_numpy(q, keys[-1:], values[-1:])


def _step_values_missing(x, layers, caches):
    """Appends k and forgets v, so that keys and values no longer pair up."""
    for layer, (keys, values) in zip(layers, caches, strict=True):
        keys.append(x @ layer["WK"])
        x = x + attend_in_numpy(x @ layer["WQ"], keys, values)
    return x


def _step_keys_missing(x, layers, caches):
    for layer, (keys, values) in zip(layers, caches, strict=True):
        values.append(x @ layer["WV"])
        x = x + attend_in_numpy(x @ layer["WQ"], keys, values)
    return x


def _step_caches_inputs(x, layers, caches):
    """Stores input rows and projects all of them again at each step."""
    for layer, (keys, values) in zip(layers, caches, strict=True):
        keys.append(x)
        values.append(x)
        x = x + attend_in_numpy(x @ layer["WQ"], np.array(keys) @ layer["WK"], np.array(values) @ layer["WV"])
    return x


ATTENDS_BEFORE_APPEND = Advice(
    "Do you attend before the new k and v are appended, so that the token cannot read itself?",
    (
        "With an empty cache, how many rows are there to read?",
        "A step has an order: project, append, attend.",
        "keys.append(k) and values.append(v) come before attend(q, keys, values).",
    ),
    source="harvard-edge/cs249r_book#1953: a cached step whose new token could not attend to itself.",
)


ANSWER = Answer(
    exercise=exercise("decode_step"),
    expected=_stepped,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "attends_before_append",
            _step(read=_without_own),
            ATTENDS_BEFORE_APPEND,
        ),
        Misconception(
            "attends_before_append_raises",
            _step_attending_first,
            ATTENDS_BEFORE_APPEND,
        ),
        Misconception(
            "x_changed_in_place",
            _step_in_place,
            Advice(
                "Did you change the caller's row, with `x += …`?",
                (
                    "What does the caller find in x afterwards?",
                    "`x += y` writes into the array that was passed; `x = x + y` makes a new one.",
                    "Write x = x + attend(…).",
                ),
            ),
        ),
        Misconception(
            "new_row_not_stored",
            _step(store=False),
            Advice(
                "Is the new row read in this step, but not kept for the next?",
                (
                    "How long is each list after your step?",
                    "keys + [k] makes a new list; the cache that was handed in stays as it was.",
                    "Append to the lists in caches[l], or put the longer lists back there.",
                ),
            ),
        ),
        Misconception(
            "values_not_appended",
            _step_values_missing,
            Advice(
                "Did you append the new key, but not the new value?",
                (
                    "How many keys and how many values are there after a step?",
                    "A weight that finds no value has nothing to weigh.",
                    "values.append(x @ layer['WV'])",
                ),
            ),
        ),
        Misconception(
            "keys_not_appended",
            _step_keys_missing,
            Advice(
                "Did you append the new value, but not the new key?",
                (
                    "How many keys and how many values are there after a step?",
                    "A value that no key leads to is never read.",
                    "keys.append(x @ layer['WK'])",
                ),
            ),
        ),
        Misconception(
            "one_cache_for_all",
            _step(cache=lambda caches, number: caches[0]),
            Advice(
                "Do all layers share one cache?",
                (
                    "Which weights made the rows that layer 1 reads?",
                    "Layer 1 projects other inputs with other weights: its K and V are its own.",
                    "Use caches[l] in layer l.",
                ),
            ),
        ),
        Misconception(
            "tokens_into_every_layer",
            _step(feed=False),
            TOKENS_INTO_EVERY_LAYER,
        ),
        Misconception(
            "no_residual",
            _step(residual=False),
            NO_RESIDUAL,
        ),
        Misconception(
            "first_token_lost",
            _step(read=_without_first),
            FIRST_TOKEN_LOST,
        ),
        Misconception(
            "history_not_read",
            _step(read=_new_row_alone),
            Advice(
                "Does the token read only its own new row?",
                (
                    "What did the older tokens leave behind, and for whom?",
                    "The new query reads all stored rows.",
                    "Attend to the whole lists, not to k and v alone.",
                ),
            ),
        ),
        Misconception(
            "caches_inputs",
            _step_caches_inputs,
            Advice(
                "Do you store input rows and project all of them again at each step?",
                (
                    "How many rows does one of your steps multiply with WK?",
                    "A cache keeps the projected rows, so that no old row is projected twice.",
                    "Append x @ WK and x @ WV, and attend to the lists as they are.",
                ),
            ),
        ),
    ),
    alternatives=(step_in_arrays, _step_by_new_lists),
    hints=(
        "One layer first: which three rows do you make, which two do you store, what do you read?",
        "keys, values = caches[l]; append x @ WK and x @ WV; attend with x @ WQ; add x.",
        "Loop over zip(layers, caches), and let x be the output of the layer before.",
    ),
)
