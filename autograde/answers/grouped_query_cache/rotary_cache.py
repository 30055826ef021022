"""`RotaryCache`: what is right, which mistakes are known, and what to say about them."""

import numpy as np
import torch

from autograde.answers.grouped_query_cache.shared import (
    ATOL,
    MODEL_WIDTH,
    NEIGHBOURING_PAIRS,
    TILED,
    TOP_LEFT,
    attention_head_by_head,
    attention_with,
    causal_upper_left,
    rotary_by_complex_numbers,
    rotary_by_matrices,
    rotary_with,
    square_attention,
    tile_kv,
    turn_neighbours,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.exercises.grouped_query_cache import run_rotary_cache


class _WholeSequence:
    """Keeps each chunk of inputs with the weights of its time, and computes the whole layer again at each step."""

    def __init__(self, weights, capacity):
        self.weights, self.capacity, self.chunks = weights, capacity, []

    def step(self, x):
        w, new = self.weights, x.shape[1]
        tokens = sum(old.shape[1] for old, _ in self.chunks) + new
        if tokens > self.capacity:
            raise ValueError
        self.chunks.append((x, {name: w[f"W{name}"].clone() for name in "QKV"}))
        positions = np.arange(tokens)
        heads = {"Q": w["num_heads"], "K": w["num_kv_heads"], "V": w["num_kv_heads"]}
        projected = {name: torch.cat([x @ then[name] for x, then in self.chunks], dim=1) for name in heads}
        rows = {name: torch.stack(projected[name].chunk(n, dim=-1), dim=1) for name, n in heads.items()}
        for name in "QK":
            rows[name] = torch.from_numpy(rotary_by_complex_numbers(rows[name].numpy(), positions))
        return (square_attention(*rows.values()) @ w["WO"])[:, -new:]


def _layer_steps(case: Case) -> list[object]:
    return run_rotary_cache(_WholeSequence, case)


class _Layer:
    """Right: stored keys are turned already. Wrong ones change one method."""

    turn = staticmethod(rotary_with())
    attend = staticmethod(attention_with())

    def __init__(self, weights, capacity):
        self.w, self.capacity = weights, capacity
        self.k = self.v = None

    @property
    def used(self):
        return 0 if self.k is None else self.k.shape[2]

    def heads(self, x, name, count):
        return (x @ self.w[name]).unflatten(-1, (count, -1)).transpose(1, 2)

    def projected(self, x):
        kv_heads = self.w["num_kv_heads"]
        q = self.heads(x, "WQ", self.w["num_heads"])
        return q, self.heads(x, "WK", kv_heads), self.heads(x, "WV", kv_heads)

    def refuse(self, x):
        if self.used + x.shape[1] > self.capacity:
            raise ValueError("capacity")

    def positions(self, x):
        return torch.arange(self.used, self.used + x.shape[1])

    def turned(self, x):
        q, k, v = self.projected(x)
        positions = self.positions(x)
        return self.turn(q, positions), self.turn(k, positions), v

    def step(self, x):
        self.refuse(x)
        start = self.used
        q, k, v = self.turned(x)
        self.k, self.v = (new if old is None else torch.cat([old, new], 2) for old, new in ((self.k, k), (self.v, v)))
        return self.attend(q, self.k, self.v, start) @ self.w["WO"]


class _TurnedWhenRead(_Layer):
    """Right: keys are stored as they come, and a turned copy is made at each step."""

    def step(self, x):
        self.refuse(x)
        start = self.used
        positions = self.positions(x)
        q, k, v = self.projected(x)
        self.k, self.v = (new if old is None else torch.cat([old, new], 2) for old, new in ((self.k, k), (self.v, v)))
        keys = self.turn(self.k, torch.arange(self.used))
        return self.attend(self.turn(q, positions), keys, self.v, start) @ self.w["WO"]


class _OneByOne(_Layer):
    """Right: a chunk is its tokens, one after the other."""

    attend = staticmethod(attention_head_by_head)
    turn = staticmethod(rotary_by_matrices)

    def step(self, x):
        self.refuse(x)
        return torch.cat([super(_OneByOne, self).step(token) for token in x.split(1, dim=1)], dim=1)


class _Restarted(_Layer):
    def positions(self, x):
        return torch.arange(x.shape[1])


class _AfterTheChunk(_Layer):
    """The chunk is counted already when its positions are taken."""

    def turned(self, x):
        q, k, v = self.projected(x)
        positions = self.positions(x)
        return self.turn(q, positions + x.shape[1]), self.turn(k, positions), v


class _TurnedAgain(_Layer):
    """The stored keys, turned already, are turned once more with each step."""

    def step(self, x):
        self.refuse(x)
        start = self.used
        q, k, v = self.projected(x)
        q = self.turn(q, self.positions(x))
        self.k, self.v = (new if old is None else torch.cat([old, new], 2) for old, new in ((self.k, k), (self.v, v)))
        self.k = self.turn(self.k, torch.arange(self.used))
        return self.attend(q, self.k, self.v, start) @ self.w["WO"]


class _TurnedTwice(_Layer):
    """Keys are stored turned, and what is read is turned once more."""

    def step(self, x):
        self.refuse(x)
        start = self.used
        q, k, v = self.turned(x)
        self.k, self.v = (new if old is None else torch.cat([old, new], 2) for old, new in ((self.k, k), (self.v, v)))
        return self.attend(q, self.turn(self.k, torch.arange(self.used)), self.v, start) @ self.w["WO"]


class _QueriesRestarted(_Layer):
    def turned(self, x):
        return self.turn(self.projected(x)[0], torch.arange(x.shape[1])), *super().turned(x)[1:]


class _Reprojects(_Layer):
    """Keeps inputs, and makes all rows again at each step."""

    x = None

    def step(self, x):
        self.refuse(x)
        start = self.used
        self.x = x if self.x is None else torch.cat([self.x, x], dim=1)
        self.k = self.v = None  # positions from 0, for all tokens
        q, self.k, self.v = self.turned(self.x)
        return self.attend(q[:, :, start:], self.k, self.v, start) @ self.w["WO"]


class _FixedByRefused(_Layer):
    """What holds the rows is made for the requests of the first chunk, accepted or not."""

    requests = None

    def refuse(self, x):
        self.requests = self.requests or len(x)
        if len(x) != self.requests:
            raise ValueError("requests")
        super().refuse(x)


class _ValuesTurned(_Layer):
    def turned(self, x):
        q, k, v = super().turned(x)
        return q, k, self.turn(v, self.positions(x))


class _QueriesUnturned(_Layer):
    def turned(self, x):
        return self.projected(x)[0], *super().turned(x)[1:]


class _NoPositions(_Layer):
    def turned(self, x):
        return self.projected(x)


class _InNeighbours(_Layer):
    turn = staticmethod(rotary_with(turn=turn_neighbours))


class _Tiled(_Layer):
    attend = staticmethod(attention_with(expand=tile_kv))


class _ModelWidth(_Layer):
    attend = staticmethod(attention_with(divisor=lambda heads, width: heads * width))


class _TopLeft(_Layer):
    attend = staticmethod(attention_with(seen=causal_upper_left))


class _NoLimit(_Layer):
    def refuse(self, x):
        pass


ANSWER = Answer(
    exercise=exercise("RotaryCache"),
    expected=_layer_steps,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "position_restarted",
            _Restarted,
            Advice(
                "Do the positions of each chunk begin at 0 again?",
                (
                    "At which position does the first token of the second chunk stand?",
                    "It stands behind all that is stored: at `used`, read before the append.",
                    "positions = torch.arange(start, start + x.shape[1]) with start = cache.used",
                ),
                source="skyzh/tiny-llm#46: positions started at 0 again with each chunk.",
            ),
        ),
        Misconception(
            "keys_turned_again",
            _TurnedAgain,
            Advice(
                "Are stored keys turned again with each step?",
                (
                    "How often has the first key been turned after three steps?",
                    "A stored key has its angle already. Turn the new keys only, once, before the append.",
                    "cache.append(rope(k, positions), v), and attend to cache.keys as they are.",
                ),
            ),
        ),
        Misconception(
            "keys_turned_twice",
            _TurnedTwice,
            Advice(
                "Are keys that were stored turned turned once more when they are read?",
                (
                    "By which angle has the key at position 3 been turned when a query meets it?",
                    "cache.keys hold turned keys already: once more, and they seem to stand twice as far away.",
                    "Attend to cache.keys as they are, with q = rope(q, positions).",
                ),
            ),
        ),
        Misconception(
            "queries_restarted",
            _QueriesRestarted,
            Advice(
                "Are the queries' positions counted from 0 in each chunk, and the keys' not?",
                (
                    "At which position does the first query of the second chunk stand?",
                    "Query and key of one token stand at the same place: behind all that was stored before.",
                    "One tensor for both: positions = torch.arange(start, start + x.shape[1]).",
                ),
            ),
        ),
        Misconception(
            "inputs_kept",
            _Reprojects,
            Advice(
                "Does the layer keep its inputs, and project all of them again at each step?",
                (
                    "How many rows does a step of one token project in your layer?",
                    (
                        "Keys and values are stored, so that no token is projected twice. "
                        "When weights change later, stored rows stay what they were."
                    ),
                    "Project x_chunk alone, and put its k and v behind those of the cache.",
                ),
            ),
        ),
        Misconception(
            "refused_chunk_fixes_requests",
            _FixedByRefused,
            Advice(
                "Does a first chunk that was refused still decide how many requests there are?",
                (
                    "What does your layer hold after its very first chunk was refused?",
                    "A refusal changes nothing: the layer is as new, and the next chunk says what B is.",
                    "Make the cache in a local variable, append, and only then self.cache = cache.",
                ),
            ),
        ),
        Misconception(
            "values_turned",
            _ValuesTurned,
            Advice(
                "Did you turn the values too?",
                (
                    "What are positions needed for: to choose a token, or to read what it says?",
                    "Positions enter through scores, which q and k make. Values stay as they are.",
                    "Turn q and k; pass v to the cache unchanged.",
                ),
            ),
        ),
        Misconception(
            "neighbouring_pairs",
            _InNeighbours,
            NEIGHBOURING_PAIRS,
        ),
        Misconception(
            "tiled",
            _Tiled,
            TILED,
        ),
        Misconception(
            "model_width",
            _ModelWidth,
            MODEL_WIDTH,
        ),
        Misconception(
            "top_left",
            _TopLeft,
            TOP_LEFT,
        ),
        Misconception(
            "queries_unturned",
            _QueriesUnturned,
            Advice(
                "Did you turn the keys, and not the queries?",
                (
                    "Does your score depend on the distance of the two tokens, or on the key's position alone?",
                    "Both must be turned: then what is left in the product is the difference of the angles.",
                    "q = rope(q, positions) too.",
                ),
            ),
        ),
        Misconception(
            "no_positions",
            _NoPositions,
            Advice(
                "Is nothing turned at all?",
                (
                    "What tells two equal tokens at different positions apart?",
                    "Without rotation attention sees a set of keys, in no order.",
                    "Turn q and k by rope(…, positions) before the append.",
                ),
            ),
        ),
        Misconception(
            "position_after_append",
            _AfterTheChunk,
            Advice(
                "Are the queries' positions taken after the append, when `used` counts the chunk already?",
                (
                    "What is `used` after the append, and where does the chunk's first token stand?",
                    "Queries and keys of the same token stand at the same position.",
                    "Read start = cache.used in the first line, and use it for q and for k.",
                ),
            ),
        ),
        Misconception(
            "capacity_ignored",
            _NoLimit,
            Advice(
                "Does the layer take more tokens than its capacity?",
                (
                    "What becomes of a chunk that does not fit?",
                    "GroupedCache.append refuses it, if it is asked before anything else changes.",
                    "Store the chunk in a GroupedCache of that capacity.",
                ),
            ),
        ),
    ),
    alternatives=(_Layer, _TurnedWhenRead, _OneByOne),
    hints=(
        "Four steps: project, turn, store, attend. Which of them needs to know how many tokens are stored?",
        "start = cache.used; positions from start; q and k turned; cache.append(k, v); grouped_attention over "
        "cache.keys and cache.values.",
        '(x @ W).unflatten(-1, (heads, -1)).transpose(1, 2) gives (B, heads, m, dh); @ weights["WO"] at the end.',
    ),
)
