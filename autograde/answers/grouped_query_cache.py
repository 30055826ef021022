"""Lesson 05: what is right, and the mistakes that people make with grouped heads, rotary positions and caches.

Attention is judged by PyTorch's own `scaled_dot_product_attention` on a square, with every KV head copied to its
readers one by one; rotary positions by multiplying complex numbers; the layer with a cache by the whole sequence at
once. The oracle of the cache keeps one NumPy array for each token.
"""

import math

import numpy as np
import torch

from autograde.exercise import Answer, Case, Misconception
from autograde.exercises.grouped_query_cache import EXERCISES, _run_grouped_cache, _run_rotary_cache
from autograde.values import Raised
from kvlab.timing import one_thread

ATOL = 1e-12

# ---------------------------------------------------------------------------
# Oracles


def _readers(num_heads: int, num_kv_heads: int) -> list[int]:
    """The KV head of each query head, dealt out one group after the other; none where a group would be cut."""
    size, rest = divmod(num_heads, num_kv_heads)
    return [] if rest else [kv_head for kv_head in range(num_kv_heads) for _ in range(size)]


def _its_head(case: Case) -> object:
    query_head, *heads = case.inputs.values()
    readers = dict(enumerate(_readers(*heads)))
    return readers.get(query_head, Raised("ValueError"))


def _dealt(case: Case) -> object:
    k, num_heads = case.inputs.values()
    readers = _readers(num_heads, k.shape[1])
    return np.stack([k[:, head] for head in readers], axis=1) if readers else Raised("ValueError")


def _square(q, k, v):
    """Causal attention of a whole sequence: q (B, H, T, dh), k and v (B, Hkv, T, dh) → (B, T, H · dh)."""
    k, v = (torch.stack([each[:, i] for i in _readers(q.shape[1], each.shape[1])], 1) for each in (k, v))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return torch.cat(out.unbind(1), dim=-1)


def _attended(case: Case) -> np.ndarray:
    q, k, v, start = (torch.tensor(each) for each in case.inputs.values())
    unasked = torch.zeros(*q.shape[:2], start, q.shape[3], dtype=q.dtype)  # queries in front of the chunk
    with one_thread():
        return _square(torch.cat([unasked, q], dim=2), k, v)[:, start:].numpy()


class _TokenByToken:
    """A list with one (k, v) for each token, in NumPy."""

    def __init__(self, batch, num_heads, num_kv_heads, head_dim, capacity, dtype=torch.float64, device="cpu"):
        if num_heads % num_kv_heads:
            raise ValueError
        self.wanted = [batch, num_kv_heads, head_dim]
        self.capacity, self.dtype, self.tokens = capacity, dtype, []

    @property
    def used(self):
        return len(self.tokens)

    keys = property(lambda self: np.stack([k for k, _ in self.tokens], axis=2))
    values = property(lambda self: np.stack([v for _, v in self.tokens], axis=2))

    def append(self, k, v):
        fits = all(
            each.ndim == 4
            and [each.shape[axis] for axis in (0, 1, 3)] == self.wanted
            and each.dtype == self.dtype
            and each.device.type == "cpu"
            for each in (k, v)
        )
        if not fits or k.shape[2] != v.shape[2] or not 0 < k.shape[2] <= self.capacity - self.used:
            raise ValueError
        k, v = (each.numpy().copy() for each in (k, v))
        self.tokens += [(k[:, :, token], v[:, :, token]) for token in range(k.shape[2])]

    def truncate(self, n):
        if n not in range(self.used + 1):
            raise ValueError
        del self.tokens[n:]


def _cache_steps(case: Case) -> list[object]:
    return _run_grouped_cache(_TokenByToken, case)


def _copied(case: Case) -> list[int]:
    """As many rows as a list really has after each step."""
    tokens, row = case.inputs.values()
    lengths = range(1, tokens + 1)
    return [sum(lengths) * row, len(lengths) * row]


def _turned(case: Case) -> np.ndarray:
    return _by_complex_numbers(case.inputs["x"], case.inputs["positions"])


def _by_complex_numbers(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    half = x.shape[-1] // 2
    speeds = [10_000.0 ** (-2 * i / x.shape[-1]) for i in range(half)]
    points = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * np.outer(positions, speeds))
    return np.concatenate([points.real, points.imag], axis=-1)


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
            rows[name] = torch.from_numpy(_by_complex_numbers(rows[name].numpy(), positions))
        return (_square(*rows.values()) @ w["WO"])[:, -new:]


def _layer_steps(case: Case) -> list[object]:
    return _run_rotary_cache(_WholeSequence, case)


# ---------------------------------------------------------------------------
# Heads, right and wrong


def _kv_head(rule, shared=True):
    """`kv_head_of` from `rule(query_head, num_heads, num_kv_heads)`; without `shared` any remainder will do."""

    def kv_head_of(query_head, num_heads, num_kv_heads):
        if shared and num_heads % num_kv_heads:
            raise ValueError(f"{num_kv_heads} KV heads cannot be shared by {num_heads}")
        if not 0 <= query_head < num_heads:
            raise ValueError(f"no query head {query_head}")
        return rule(query_head, num_heads, num_kv_heads)

    return kv_head_of


def _any_query_head(query_head, num_heads, num_kv_heads):
    if num_heads % num_kv_heads:
        raise ValueError("uneven")
    return query_head // (num_heads // num_kv_heads)


def _expanded(copies, shared=True):
    """`expand_kv` from `copies(k, group)`."""

    def expand_kv(k, num_heads):
        if shared and num_heads % k.shape[1]:
            raise ValueError(f"{k.shape[1]} KV heads cannot be shared by {num_heads}")
        return copies(k, num_heads // k.shape[1])

    return expand_kv


def _by_expand(k, group):
    batch, heads, tokens, width = k.shape
    return k[:, :, None].expand(batch, heads, group, tokens, width).reshape(batch, heads * group, tokens, width)


def _by_index(k, group):
    return k[:, torch.arange(k.shape[1] * group) // group]


# ---------------------------------------------------------------------------
# Attention, right and wrong


def _repeat(k, group):
    return k.repeat_interleave(group, dim=1)


def _tile(k, group):
    return k.repeat(1, group, 1, 1)


def _beside(out):
    return out.transpose(1, 2).flatten(2)


def _seen(start, chunk, tokens):
    return torch.arange(tokens) <= start + torch.arange(chunk)[:, None]


def _attention(expand=_repeat, seen=_seen, divisor=lambda heads, width: width, join=_beside):
    """`grouped_attention` by way of expansion, with parts that may be wrong."""

    def grouped_attention(q, k, v, start):
        heads, width = q.shape[1], q.shape[3]
        k, v = (expand(each, heads // each.shape[1]) for each in (k, v))
        scores = q @ k.mT / math.sqrt(divisor(heads, width))
        scores = scores.masked_fill(~seen(start, q.shape[2], k.shape[2]), -math.inf)
        return join(scores.softmax(-1) @ v)

    return grouped_attention


def _masked_too_late(q, k, v, start):
    k, v = (_repeat(each, q.shape[1] // each.shape[1]) for each in (k, v))
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return _beside(weights * _seen(start, q.shape[2], k.shape[2]) @ v)


def _folded(seen):
    """`grouped_attention` with the group folded into rows; `seen(start, chunk, group, tokens)` masks those rows."""

    def grouped_attention(q, k, v, start):
        batch, heads, chunk, width = q.shape
        group = heads // k.shape[1]
        rows = q.reshape(batch, -1, group * chunk, width)
        scores = rows @ k.mT / math.sqrt(width)
        weights = scores.masked_fill(~seen(start, chunk, group, k.shape[2]), -math.inf).softmax(-1)
        return _beside((weights @ v).view(q.shape))

    return grouped_attention


def _without_mod(start, chunk, group, tokens):
    return _seen(start, group * chunk, tokens)


def _each_row_repeated(start, chunk, group, tokens):
    return _seen(start, chunk, tokens).repeat_interleave(group, 0)


def _by_einsum(q, k, v, start):
    """Right: the group as an axis of its own."""
    q = q.unflatten(1, (k.shape[1], -1))
    scores = torch.einsum("bhgmd,bhtd->bhgmt", q, k) / math.sqrt(q.shape[-1])
    scores.masked_fill_(~_seen(start, q.shape[3], k.shape[2]), -math.inf)
    return torch.einsum("bhgmt,bhtd->bmhgd", scores.softmax(-1), v).flatten(2)


def _head_by_head(q, k, v, start):
    """Right: each query head with the KV head that it reads, row by row, over a slice of the keys."""
    group = q.shape[1] // k.shape[1]
    out = torch.zeros(q.shape[0], q.shape[2], q.shape[1] * q.shape[3], dtype=q.dtype)
    for head in range(q.shape[1]):
        for row in range(q.shape[2]):
            keys, values = (each[:, head // group, : start + row + 1] for each in (k, v))
            scores = (keys @ q[:, head, row, :, None]).squeeze(-1) / math.sqrt(q.shape[3])
            mixed = (scores.softmax(-1)[:, None] @ values).squeeze(1)
            out[:, row, head * q.shape[3] : (head + 1) * q.shape[3]] = mixed
    return out


# ---------------------------------------------------------------------------
# The cache, right and wrong


class _Preallocated:
    """Right: two tensors made once. Wrong ones change one method."""

    def __init__(self, batch, num_heads, num_kv_heads, head_dim, capacity, dtype=torch.float64, device="cpu"):
        self.refuse_heads(num_heads, num_kv_heads)
        self.k = torch.zeros(batch, num_kv_heads, capacity, head_dim, dtype=dtype, device=device)
        self.v = torch.zeros_like(self.k)
        self.used = 0

    keys = property(lambda self: self.k[:, :, : self.used])
    values = property(lambda self: self.v[:, :, : self.used])

    def refuse_heads(self, num_heads, num_kv_heads):
        if num_heads % num_kv_heads:
            raise ValueError("uneven heads")

    def refuse_shape(self, k, v):
        if k.shape != v.shape or k.ndim != 4:
            raise ValueError("shapes")
        if k.shape[:2] != self.k.shape[:2] or k.shape[3] != self.k.shape[3]:
            raise ValueError("shape")

    def refuse_kind(self, k, v):
        for each in (k, v):
            if each.dtype != self.k.dtype or each.device != self.k.device:
                raise ValueError("dtype or device")

    def refuse_empty(self, k):
        if k.shape[2] == 0:
            raise ValueError("empty chunk")

    def refuse_overflow(self, k):
        if self.used + k.shape[2] > self.k.shape[2]:
            raise ValueError("capacity")

    def refuse(self, k, v):
        self.refuse_shape(k, v)
        self.refuse_kind(k, v)
        self.refuse_empty(k)
        self.refuse_overflow(k)

    def write(self, k, v, at):
        self.k[:, :, at : at + k.shape[2]] = k
        self.v[:, :, at : at + k.shape[2]] = v

    def append(self, k, v):
        self.refuse(k, v)
        self.write(k, v, self.used)
        self.used += k.shape[2]

    def truncate(self, n):
        if not 0 <= n <= self.used:
            raise ValueError("truncate")
        self.used = n


class _Grown(_Preallocated):
    """Right: rows are concatenated, and the capacity is only a number."""

    def __init__(self, *sizes, **kind):
        super().__init__(*sizes, **kind)
        self.k_rows, self.v_rows = self.k[:, :, :0], self.v[:, :, :0]

    keys = property(lambda self: self.k_rows)
    values = property(lambda self: self.v_rows)

    def write(self, k, v, at):
        self.k_rows, self.v_rows = torch.cat([self.k_rows, k], 2), torch.cat([self.v_rows, v], 2)

    def truncate(self, n):
        super().truncate(n)
        self.k_rows, self.v_rows = self.k_rows[:, :, :n], self.v_rows[:, :, :n]


class _OneTensor(_Preallocated):
    """Right: K and V in one storage, tokens on the first axis."""

    def __init__(self, *sizes, **kind):
        super().__init__(*sizes, **kind)
        self.both = torch.zeros(self.k.shape[2], 2, *self.k.shape[:2], self.k.shape[3], dtype=self.k.dtype)

    keys = property(lambda self: self.both[: self.used, 0].movedim(0, 2))
    values = property(lambda self: self.both[: self.used, 1].movedim(0, 2))

    def write(self, k, v, at):
        self.both[at : at + k.shape[2]] = torch.stack([k, v]).movedim(3, 0)


class _AdvancedFirst(_Preallocated):
    def append(self, k, v):
        start = self.used
        self.used += k.shape[2]
        self.refuse_shape(k, v)
        self.refuse_kind(k, v)
        self.refuse_empty(k)
        if self.used > self.k.shape[2]:
            raise ValueError("capacity")
        self.write(k, v, start)


class _AdvancedBeforeCapacity(_Preallocated):
    def append(self, k, v):
        self.refuse_shape(k, v)
        self.refuse_kind(k, v)
        self.refuse_empty(k)
        start = self.used
        self.used += k.shape[2]
        if self.used > self.k.shape[2]:
            raise ValueError("capacity")
        self.write(k, v, start)


class _WrittenBehind(_Preallocated):
    """`used` grows before the rows are written at `used`, so they lie behind their place."""

    def append(self, k, v):
        self.refuse(k, v)
        self.used += k.shape[2]
        for storage, new in ((self.k, k), (self.v, v)):
            room = storage[:, :, self.used : self.used + k.shape[2]]
            room.copy_(new[:, :, : room.shape[2]])


class _FillsUp(_Preallocated):
    """What does not fit is refused after the part that fits was stored."""

    def refuse_overflow(self, k):
        pass

    def append(self, k, v):
        self.refuse(k, v)
        room = self.k.shape[2] - self.used
        self.write(k[:, :, :room], v[:, :, :room], self.used)
        self.used = min(self.used + k.shape[2], self.k.shape[2])
        if k.shape[2] > room:
            raise ValueError("capacity")


class _KeysFirst(_Grown):
    """Keys are stored before the values are looked at."""

    def append(self, k, v):
        self.refuse(k, k)
        self.k_rows = torch.cat([self.k_rows, k], 2)
        self.refuse_shape(k, v)
        self.refuse_kind(v, v)
        self.v_rows = torch.cat([self.v_rows, v], 2)
        self.used += k.shape[2]


class _AnyHeads(_Preallocated):
    def refuse_heads(self, num_heads, num_kv_heads):
        pass


class _ForgetsUsed(_Preallocated):
    def truncate(self, n):
        if not 0 <= n <= self.used:
            raise ValueError("truncate")
        self.k[:, :, n:] = 0
        self.v[:, :, n:] = 0


class _TruncatesAnything(_Preallocated):
    def truncate(self, n):
        self.used = n


class _NoUpperBound(_Preallocated):
    def truncate(self, n):
        if n < 0:
            raise ValueError("truncate")
        self.used = n


class _NoLowerBound(_Preallocated):
    def truncate(self, n):
        if n > self.used:
            raise ValueError("truncate")
        self.used = n


class _TruncatesBySlices(_Grown):
    """A slice takes any n: beyond the end it is everything, and below 0 it counts from the end."""

    def truncate(self, n):
        self.k_rows, self.v_rows = self.k_rows[:, :, :n], self.v_rows[:, :, :n]
        self.used = self.k_rows.shape[2]


class _ValuesUnchecked(_Preallocated):
    def refuse(self, k, v):
        super().refuse(k, k)


class _ValuesOfAnyHeads(_Preallocated):
    """Everything is compared but the KV heads of v."""

    def refuse_shape(self, k, v):
        super().refuse_shape(k, k)
        if v.ndim != 4 or (len(v), *v.shape[2:]) != (len(k), *k.shape[2:]):
            raise ValueError("v")


class _Broadcasts(_Preallocated):
    def refuse_shape(self, k, v):
        pass


class _AnyKind(_Preallocated):
    def refuse_kind(self, k, v):
        pass


class _AnyLength(_Preallocated):
    def refuse_empty(self, k):
        pass


class _Grows(_Grown):
    def refuse_overflow(self, k):
        pass


class _Aliased(_Grown):
    """The caller's own tensors are kept and put together when they are read."""

    def __init__(self, *sizes, **kind):
        super().__init__(*sizes, **kind)
        self.parts = []

    keys = property(lambda self: torch.cat([k for k, _ in self.parts], 2))
    values = property(lambda self: torch.cat([v for _, v in self.parts], 2))

    def write(self, k, v, at):
        self.parts.append((k, v))

    def truncate(self, n):
        _Preallocated.truncate(self, n)
        self.parts = [(self.keys[:, :, :n].clone(), self.values[:, :, :n].clone())]


# ---------------------------------------------------------------------------
# Rotary positions, right and wrong


def _speeds(half, dtype=torch.float64):
    return 10_000.0 ** -(torch.arange(half, dtype=dtype) / half)


def _rope(speeds=_speeds, place=lambda positions: positions, turn=None):
    """`rope` with parts that may be wrong."""

    def rope(x, positions):
        angles = place(positions)[:, None] * speeds(x.shape[-1] // 2)
        first, second = x.chunk(2, dim=-1)
        return (turn or _turn)(x, first, second, angles.cos(), angles.sin())

    return rope


def _turn(x, first, second, cos, sin):
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def _neighbours(x, first, second, cos, sin):
    first, second = x[..., ::2], x[..., 1::2]
    return torch.stack([first * cos - second * sin, second * cos + first * sin], dim=-1).flatten(-2)


def _backwards(x, first, second, cos, sin):
    return _turn(x, first, second, cos, -sin)


def _no_minus(x, first, second, cos, sin):
    return torch.cat([first * cos + second * sin, second * cos + first * sin], dim=-1)


def _mixed(x, first, second, cos, sin):
    """The angles in the order of neighbouring pairs, the elements in that of halves."""
    cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


def _by_rotate_half(x, positions):
    """Right: as the released code of Llama for `transformers` writes it."""
    angles = torch.outer(positions.double(), _speeds(x.shape[-1] // 2)).repeat(1, 2)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()


def _by_matrices(x, positions):
    """Right: one dh × dh rotation for each row."""
    width = x.shape[-1]
    half = width // 2
    out = torch.empty_like(x)
    for row, position in enumerate(positions.tolist()):
        matrix = torch.zeros(width, width, dtype=x.dtype)
        for i in range(half):
            angle = position * 10_000.0 ** (-i / half)
            matrix[i, i] = matrix[i + half, i + half] = math.cos(angle)
            matrix[i, i + half], matrix[i + half, i] = math.sin(angle), -math.sin(angle)
        out[..., row, :] = x[..., row, :] @ matrix
    return out


# ---------------------------------------------------------------------------
# The layer, right and wrong


class _Layer:
    """Right: stored keys are turned already. Wrong ones change one method."""

    turn = staticmethod(_rope())
    attend = staticmethod(_attention())

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

    attend = staticmethod(_head_by_head)
    turn = staticmethod(_by_matrices)

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
    turn = staticmethod(_rope(turn=_neighbours))


class _Tiled(_Layer):
    attend = staticmethod(_attention(expand=_tile))


class _ModelWidth(_Layer):
    attend = staticmethod(_attention(divisor=lambda heads, width: heads * width))


def _top_left(start, chunk, tokens):
    return _seen(0, chunk, tokens)


class _TopLeft(_Layer):
    attend = staticmethod(_attention(seen=_top_left))


class _NoLimit(_Layer):
    def refuse(self, x):
        pass


# ---------------------------------------------------------------------------
# The answers


_TILED = (
    "Did you deal the KV heads out like cards (0, 1, 0, 1, …), where neighbouring query heads should share one?",
    (
        "Which query heads read KV head 0: the first few, or every second one?",
        "A group is a run of neighbours: with 6 query heads and 2 KV heads, heads 0, 1, 2 read KV head 0.",
        "KV head h // (H // Hkv). For copies: repeat_interleave, not repeat.",
    ),
    "ekzhang/jax-js#180",
)
_UNEVEN = (
    "Did you let a number of query heads pass that the KV heads do not divide?",
    (
        "How many query heads would read each KV head if 7 shared 3?",
        "Integer division forgets the remainder, and a head that does not exist is read, or one goes missing.",
        'if num_heads % num_kv_heads: raise ValueError("…")',
    ),
)
_WRONG_DIVISOR = (
    "Did you divide by the number of KV heads, instead of by the size of a group?",
    (
        "With 12 query heads and 4 KV heads, how many query heads share one KV head?",
        "A group has H // Hkv members, and a new group begins after that many query heads.",
        "query_head // (num_heads // num_kv_heads)",
    ),
)
_ADVANCED_FIRST = (
    "Is `used` advanced before you know that the chunk is accepted?",
    (
        "What does `used` say after a refused append?",
        "First refuse, then write, then count: `used` changes in the last line.",
        "end = self.used + m; check everything; write into [self.used:end]; self.used = end.",
    ),
)
_TRUNCATE_BOUNDS = (
    "Does `truncate` accept more tokens than are stored, or fewer than none?",
    (
        "What does truncate(6) mean when 5 tokens are stored, and what truncate(-1)?",
        "A larger `used` would show rows that were rejected or never written; a slice to −1 drops the last row.",
        "if not 0 <= n <= self.used: raise ValueError(…)",
    ),
)
_VALUES_UNCHECKED = (
    "Is v not compared as k is, so that v of one KV head or of one token is spread over all?",
    (
        "What does your append say to a good k with v of one KV head only?",
        "Assignment broadcasts v as silently as k. Whatever is asked about k must be asked about v.",
        "for new in (k, v): compare new.shape with (batch, num_kv_heads, k.shape[2], head_dim), dtype and device.",
    ),
)
_MODEL_WIDTH = (
    "Did you divide the scores by √(H · dh), the width of all heads, instead of by √dh?",
    (
        "How many products are summed in one score?",
        "A score is the dot product of one head: dh terms, whatever the model's width is.",
        "Divide by math.sqrt(q.shape[-1]).",
    ),
)
_TOP_LEFT = (
    "Did you count the chunk's queries from 0, so that the mask forgets the cached tokens?",
    (
        "At which position does the first query of the chunk stand?",
        "Behind `start` tokens, query i stands at position start + i and sees the keys up to there.",
        "torch.arange(tokens) <= start + torch.arange(chunk)[:, None] marks what may be seen.",
    ),
    "pytorch/pytorch#108108",
)
_NEIGHBOURS = (
    "Did you pair neighbours (0 with 1, 2 with 3), where this lesson pairs the two halves (0 with dh/2)?",
    (
        "Which two elements of a row of six form the first pair?",
        "Both conventions are in use, and weights trained with one are wrong with the other. Here: 0 and 3.",
        "first, second = x[..., :half], x[..., half:], and torch.cat at the end.",
    ),
)

_kv_head_of, _expand_kv, _grouped_attention, _GroupedCache, _elements_copied, _rope_exercise, _RotaryCache = EXERCISES

ANSWERS = (
    Answer(
        exercise=_kv_head_of,
        expected=_its_head,
        misconceptions=(
            Misconception("tiled", _kv_head(lambda head, heads, kv_heads: head % kv_heads), *_TILED),
            Misconception("tiled_unchecked", lambda head, heads, kv_heads: head % kv_heads, *_TILED),
            Misconception(
                "unchecked",
                lambda head, heads, kv_heads: head // (heads // kv_heads),
                "Is the formula all there is, so that heads pass that cannot be shared out, or that do not exist?",
                (
                    "What does your function say to 7 query heads and 3 KV heads, and what to query head −1?",
                    "Two questions come before the formula: does Hkv divide H, and is there such a query head?",
                    "Raise ValueError if num_heads % num_kv_heads, or if not 0 <= query_head < num_heads.",
                ),
            ),
            Misconception(
                "uneven_heads",
                _kv_head(lambda head, heads, kv_heads: head // (heads // kv_heads), shared=False),
                *_UNEVEN,
            ),
            Misconception("wrong_divisor", _kv_head(lambda head, heads, kv_heads: head // kv_heads), *_WRONG_DIVISOR),
            Misconception("wrong_divisor_unchecked", lambda head, heads, kv_heads: head // kv_heads, *_WRONG_DIVISOR),
            Misconception(
                "place_in_group",
                _kv_head(lambda head, heads, kv_heads: head % (heads // kv_heads)),
                "Did you return the place of the query head within its group, instead of the group's KV head?",
                (
                    "What do two query heads of the same group have in common in your answer?",
                    "The remainder tells the members of one group apart; all of them read the same KV head.",
                    "Use // where you use %.",
                ),
            ),
            Misconception(
                "any_query_head",
                _any_query_head,
                "Did you let a query head pass that does not exist?",
                (
                    "What does your function say to query head 12 of 12?",
                    "Heads count from 0 to H − 1. A KV head of −1 would be valid indexing, and wrong.",
                    "if not 0 <= query_head < num_heads: raise ValueError(…)",
                ),
            ),
            Misconception(
                "a_float",
                _kv_head(lambda head, heads, kv_heads: head / (heads / kv_heads)),
                "Did you divide with /, which gives a float between two heads?",
                (
                    "Which type does an index have?",
                    "5 / 3 is 1.67: no head has this number.",
                    "Use // twice.",
                ),
            ),
        ),
        alternatives=(
            _kv_head(lambda head, heads, kv_heads: head * kv_heads // heads),
            _kv_head(lambda head, heads, kv_heads: _readers(heads, kv_heads)[head]),
            _kv_head(
                lambda head, heads, kv_heads: sum(i <= head for i in range(heads // kv_heads, heads, heads // kv_heads))
            ),
        ),
        hints=(
            "Write down for 6 query heads and 2 KV heads which query head reads which KV head.",
            "A group of H // Hkv neighbouring query heads reads one KV head. Refuse what cannot be shared evenly.",
            "query_head // (num_heads // num_kv_heads), after two checks that raise ValueError.",
        ),
    ),
    Answer(
        exercise=_expand_kv,
        expected=_dealt,
        misconceptions=(
            Misconception("tiled", _expanded(_tile), *_TILED),
            Misconception("tiled_unchecked", _expanded(_tile, shared=False), *_TILED),
            Misconception("uneven_heads", _expanded(_repeat, shared=False), *_UNEVEN),
            Misconception(
                "tokens_repeated",
                _expanded(lambda k, group: k.repeat_interleave(group, dim=2)),
                "Did you repeat the tokens, instead of the heads?",
                (
                    "Which axis of (B, Hkv, T, dh) holds the heads?",
                    "The result has H heads and as many tokens as before.",
                    "k.repeat_interleave(group, dim=1)",
                ),
            ),
            Misconception(
                "kv_heads_times",
                lambda k, num_heads: _expanded(lambda k, group: _repeat(k, k.shape[1]))(k, num_heads),
                "Did you repeat each head Hkv times, instead of H // Hkv times?",
                (
                    "How many query heads read one KV head?",
                    "With 6 query heads and 2 KV heads each is written 3 times, not 2 times.",
                    "k.repeat_interleave(num_heads // k.shape[1], dim=1)",
                ),
            ),
            Misconception(
                "heads_times",
                lambda k, num_heads: _expanded(lambda k, group: _repeat(k, num_heads))(k, num_heads),
                "Did you repeat each head H times, instead of H // Hkv times?",
                (
                    "How many heads has your result, and how many are there query heads?",
                    "Hkv heads times the number of copies must give H.",
                    "k.repeat_interleave(num_heads // k.shape[1], dim=1)",
                ),
            ),
        ),
        alternatives=(_expanded(_by_expand), _expanded(_by_index)),
        hints=(
            "Query head h needs KV head h // (H // Hkv): build the heads in this order.",
            "Each KV head occurs H // Hkv times in a row. torch.Tensor.repeat_interleave does this along one axis.",
            "k.repeat_interleave(num_heads // k.shape[1], dim=1), after a check that raises ValueError.",
        ),
    ),
    Answer(
        exercise=_grouped_attention,
        expected=_attended,
        tolerance=ATOL,
        misconceptions=(
            Misconception("tiled", _attention(expand=_tile), *_TILED),
            Misconception("model_width", _attention(divisor=lambda heads, width: heads * width), *_MODEL_WIDTH),
            Misconception("top_left", _attention(seen=_top_left), *_TOP_LEFT),
            Misconception(
                "mask_without_mod",
                _folded(_without_mod),
                "Do the rows of a group count on, so that the mask takes a later head's queries for later tokens?",
                (
                    "Which row of a group is the first query of its second head, and where does that query stand?",
                    "Row r of a group belongs to query r mod m: each head's rows begin again at position start.",
                    "start + torch.arange(group * m) % m, or scores viewed as (B, Hkv, group, m, T) before the mask.",
                ),
            ),
            Misconception(
                "mask_rows_repeated",
                _folded(_each_row_repeated),
                "Did you repeat each row of the mask, where the whole mask must be repeated for each head?",
                (
                    "In which order do the rows of a group lie: head by head, or query by query?",
                    "They are m queries of the first head, then m of the second. The mask's m rows follow that order.",
                    "mask.repeat(group, 1), not repeat_interleave: row r of a group takes row r mod m of the mask.",
                ),
            ),
            Misconception(
                "no_mask",
                _attention(seen=lambda start, chunk, tokens: torch.ones(chunk, tokens, dtype=torch.bool)),
                "Did you let every query see every key, those of later tokens included?",
                (
                    "Which keys of its own chunk must the chunk's first query not see?",
                    "One token on a cache needs no mask, since all keys lie before it; a chunk does.",
                    "Set the score to -inf where torch.arange(tokens) > start + torch.arange(chunk)[:, None].",
                ),
                "Mikyx-1/TinyLLM#17",
            ),
            Misconception(
                "own_key_hidden",
                _attention(seen=lambda start, chunk, tokens: _seen(start - 1, chunk, tokens)),
                "Did you hide each token's own key from it?",
                (
                    "What can the very first token of a prompt attend to?",
                    "A token sees the keys before it and its own, which lies at the query's position.",
                    "Hide the keys with position > start + i, not >=.",
                ),
            ),
            Misconception(
                "unscaled",
                _attention(divisor=lambda heads, width: 1),
                "Did you leave out the division of the scores by √dh?",
                (
                    "What grows with the head width in a dot product?",
                    "Scores are divided by √dh, so that the softmax is as sharp for wide heads as for narrow ones.",
                    "scores / math.sqrt(q.shape[-1])",
                ),
            ),
            Misconception(
                "mask_after_softmax",
                _masked_too_late,
                "Did you apply the mask after the softmax, so that the weights no longer sum to 1?",
                (
                    "What do the weights of a row sum to in your function?",
                    "The softmax has already given weight to keys that are hidden afterwards.",
                    "masked_fill the scores with -inf first, then softmax(dim=-1).",
                ),
            ),
            Misconception(
                "heads_not_beside",
                _attention(join=lambda out: out.reshape(out.shape[0], out.shape[2], -1)),
                "Did you reshape (B, H, m, dh) to (B, m, H · dh) without swapping the axes of heads and tokens first?",
                (
                    "Which numbers lie side by side in memory: those of one token, or those of one head?",
                    "A reshape moves nothing. The heads of one token must become neighbours first.",
                    "out.transpose(1, 2).reshape(B, m, H * dh)",
                ),
            ),
        ),
        alternatives=(_attention(), _by_einsum, _head_by_head),
        hints=(
            "All queries that read one KV head can be rows of one matrix: group · m of them.",
            "q.reshape(B, Hkv, group * m, dh) @ k.mT gives scores (B, Hkv, group * m, T). The rows of a group are m "
            "queries of its first head, then m of its second.",
            "View the scores as (B, Hkv, group, m, T), mask, softmax, view back, @ v; then view as (B, H, m, dh), "
            "transpose(1, 2) and flatten(2).",
        ),
    ),
    Answer(
        exercise=_GroupedCache,
        expected=_cache_steps,
        misconceptions=(
            Misconception("used_advanced_first", _AdvancedFirst, *_ADVANCED_FIRST),
            Misconception("advanced_before_capacity", _AdvancedBeforeCapacity, *_ADVANCED_FIRST),
            Misconception(
                "written_behind",
                _WrittenBehind,
                "Is `used` advanced before the rows are written, so that they lie one chunk behind their place?",
                (
                    "Into which slots goes the first chunk of three tokens?",
                    "It belongs into slots 0 to 2, but `used` is 3 when you write.",
                    "Write into [self.used:end] first; self.used = end is the last line.",
                ),
            ),
            Misconception(
                "fills_up",
                _FillsUp,
                "Does a refused chunk leave behind the rows that still fitted?",
                (
                    "How many tokens are stored after a chunk was refused that was one token too long?",
                    "A chunk is stored whole or not at all. Half of it would be attended to for ever.",
                    "Compare used + m with the capacity before you write anything.",
                ),
            ),
            Misconception(
                "keys_first",
                _KeysFirst,
                "Are the keys stored before the values are looked at, so that a refusal leaves keys without values?",
                (
                    "What is stored when k fits and v does not?",
                    "k and v are one event: look at both, then write both.",
                    "Put every check in front of the first write.",
                ),
                "panbanda/higgs#18",
            ),
            Misconception("uneven_heads", _AnyHeads, *_UNEVEN),
            Misconception(
                "truncate_forgets_used",
                _ForgetsUsed,
                "Does `truncate` clear the rows and forget `used`?",
                (
                    "How many tokens does the cache say it holds after truncate(2)?",
                    "Rows of zeros are still rows: they would be attended to. What counts is `used`.",
                    "self.used = n is all that truncate has to do, after its check.",
                ),
            ),
            Misconception("truncates_anything", _TruncatesAnything, *_TRUNCATE_BOUNDS),
            Misconception("truncate_no_upper_bound", _NoUpperBound, *_TRUNCATE_BOUNDS),
            Misconception("truncate_no_lower_bound", _NoLowerBound, *_TRUNCATE_BOUNDS),
            Misconception("truncates_by_slices", _TruncatesBySlices, *_TRUNCATE_BOUNDS),
            Misconception("values_unchecked", _ValuesUnchecked, *_VALUES_UNCHECKED),
            Misconception("values_of_any_heads", _ValuesOfAnyHeads, *_VALUES_UNCHECKED),
            Misconception(
                "broadcast",
                _Broadcasts,
                "Does a chunk of the wrong shape pass, because PyTorch spreads one request, head or element over all?",
                (
                    "What does storage[:, :, 0:2] = k do when k has one head and the storage three?",
                    "Assignment broadcasts an axis of length 1 without a word. Compare the shapes yourself.",
                    "Both k and v must have ndim 4, batch, KV heads and width of the cache, and equal m.",
                ),
            ),
            Misconception(
                "any_kind",
                _AnyKind,
                "Does a chunk of another dtype, or on another device, pass the checks?",
                (
                    "What happens to a float32 number that is assigned into a float64 tensor?",
                    "It is converted without a word, and what it had lost stays lost. Refuse it with ValueError.",
                    "for each of k, v: if each.dtype != self.k.dtype or each.device != self.k.device: raise ValueError",
                ),
            ),
            Misconception(
                "empty_chunk",
                _AnyLength,
                "Does an empty chunk pass?",
                (
                    "What did a caller mean that appends no token?",
                    "It is a mistake upstream, and refusing it shows where.",
                    "if k.shape[2] == 0: raise ValueError(…)",
                ),
            ),
            Misconception(
                "capacity_ignored",
                _Grows,
                "Does the cache grow beyond its capacity?",
                (
                    "What does `capacity` promise to whoever planned the memory?",
                    "A cache that grows moves its rows, and takes memory that nobody reserved.",
                    "if self.used + k.shape[2] > self.capacity: raise ValueError(…)",
                ),
            ),
            Misconception(
                "aliased",
                _Aliased,
                "Does the cache keep the caller's own tensors, and so follow what is done to them later?",
                (
                    "What happens to your rows when the caller sets k to 0 after the append?",
                    "A cache owns its rows: they must be copied when they come.",
                    "Copy into storage of your own: self.k[:, :, start:end] = k.",
                ),
            ),
        ),
        alternatives=(_Preallocated, _Grown, _OneTensor),
        hints=(
            "Make the storage once, in __init__; keys and values are slices of it. What are the slots of a new chunk?",
            "append: check shapes, dtype, device, empty chunk and capacity for both k and v; write; only then count.",
            "self.k = torch.empty(batch, num_kv_heads, capacity, head_dim, dtype=dtype, device=device); "
            "self.k[:, :, self.used:end] = k; keys is self.k[:, :, :self.used].",
        ),
    ),
    Answer(
        exercise=_elements_copied,
        expected=_copied,
        misconceptions=(
            Misconception(
                "old_rows_only",
                lambda tokens, row: (tokens * (tokens - 1) // 2 * row, tokens * row),
                "Did you leave out the new row, which each concatenation writes too?",
                (
                    "How many rows does torch.cat write at the first step?",
                    "The result of step t has t rows: t − 1 old ones and the new one.",
                    "1 + 2 + … + T, which is T (T + 1) / 2.",
                ),
            ),
            Misconception(
                "last_step_only",
                lambda tokens, row: (tokens * row, row if tokens else 0),
                "Did you count the last step alone?",
                (
                    "What did the steps before the last one write?",
                    "Wanted is the sum over all steps.",
                    "Sum over t from 1 to T: t rows by concatenation, one row by preallocation.",
                ),
            ),
            Misconception(
                "square",
                lambda tokens, row: (tokens * tokens * row, tokens * row),
                "Did you take T² for 1 + 2 + … + T?",
                (
                    "How many rows does the first step write, and how many the last?",
                    "Only the last step writes T rows. On average it is about half.",
                    "T (T + 1) / 2 rows.",
                ),
            ),
            Misconception(
                "rows_not_elements",
                lambda tokens, row: (tokens * (tokens + 1) // 2, tokens),
                "Did you count rows, instead of elements?",
                (
                    "Which of the arguments does your answer not use?",
                    "A row has row_elements elements, and all of them are written.",
                    "Multiply both counts by row_elements.",
                ),
            ),
            Misconception(
                "swapped",
                lambda tokens, row: (tokens * row, tokens * (tokens + 1) // 2 * row),
                "Did you return the two counts the other way round?",
                (
                    "Which of the two ways writes old rows again?",
                    "Concatenation comes first.",
                    "return concat, prealloc",
                ),
            ),
            Misconception(
                "capacity_each_time",
                lambda tokens, row: (tokens * (tokens + 1) // 2 * row, tokens * tokens * row),
                "Did you let preallocation write all of its T slots at each step?",
                (
                    "Which slots does one append touch?",
                    "The storage is made once, and nothing moves: a step writes its own row.",
                    "T rows in all.",
                ),
            ),
            Misconception(
                "a_float",
                lambda tokens, row: (tokens * (tokens + 1) / 2 * row, tokens * row),
                "Did you divide with /, which makes a float of an exact count?",
                (
                    "Which type do your counts have?",
                    "A float holds 53 bits; beyond that it rounds without a word.",
                    "T (T + 1) is even, so // 2 is exact.",
                ),
            ),
        ),
        alternatives=(
            lambda tokens, row: (row * math.comb(tokens + 1, 2), row * tokens),
            lambda tokens, row: (sum(t * row for t in range(1, tokens + 1)), tokens * row),
        ),
        hints=(
            "Write down the length of the tensor after each of three steps.",
            "Step t of concatenation writes a tensor of t rows; preallocation writes one row.",
            "row_elements · T (T + 1) // 2, and row_elements · T.",
        ),
    ),
    Answer(
        exercise=_rope_exercise,
        expected=_turned,
        tolerance=ATOL,
        misconceptions=(
            Misconception("neighbouring_pairs", _rope(turn=_neighbours), *_NEIGHBOURS),
            Misconception(
                "backwards",
                _rope(turn=_backwards),
                "Do your pairs turn backwards, with the minus at the wrong sine?",
                (
                    "Where does the point (1, 0) go, turned by a small positive angle?",
                    "It goes to (cos, sin): both parts positive.",
                    "first · cos − second · sin, and second · cos + first · sin.",
                ),
            ),
            Misconception(
                "no_minus",
                _rope(turn=_no_minus),
                "Is there a plus in both lines, so that the pair is not turned?",
                (
                    "How long is a row before and after a rotation?",
                    "A rotation keeps lengths. One of the two sines needs a minus.",
                    "first · cos − second · sin, and second · cos + first · sin.",
                ),
            ),
            Misconception(
                "mixed_conventions",
                _rope(turn=_mixed),
                "Did you repeat each angle twice in a row, as neighbouring pairs need it, for pairs of halves?",
                (
                    "Which angle does element dh/2 get?",
                    "Elements i and i + dh/2 are one pair and share one angle.",
                    "torch.cat([angles, angles], dim=-1), not repeat_interleave.",
                ),
            ),
            Misconception(
                "positions_restarted",
                _rope(place=lambda positions: torch.arange(len(positions))),
                "Did you count the rows from 0, instead of using the positions that were given?",
                (
                    "Which of the arguments does your answer use only for its length?",
                    "The rows of a chunk stand behind what is cached: their positions are absolute.",
                    "angles = positions[:, None] * speeds",
                ),
                "skyzh/tiny-llm#46",
            ),
            Misconception(
                "single_precision",
                _rope(speeds=lambda half: _speeds(half, torch.float32)),
                "Are your angles in float32, because torch.arange(half) / half is?",
                (
                    "How many digits of the first difference are right?",
                    "A division of integers gives torch's default dtype, float32: about seven digits.",
                    "torch.arange(half, dtype=x.dtype) / half",
                ),
            ),
            Misconception(
                "half_the_exponent",
                _rope(speeds=lambda half: _speeds(2 * half)[:half]),
                "Is your exponent −i/dh, half of what it should be?",
                (
                    "How many pairs are there, and which exponent does the last of them have?",
                    "Pair i of dh/2 turns with θ^(−2i/dh), which is θ^(−i/half).",
                    "10_000.0 ** (-torch.arange(half, dtype=x.dtype) / half)",
                ),
            ),
        ),
        alternatives=(_rope(), _by_rotate_half, _by_matrices),
        hints=(
            "Elements i and i + dh/2 are a point in the plane. By which angle is it turned at position p?",
            "angles = positions[:, None] * 10_000.0 ** (-torch.arange(half, dtype=x.dtype) / half): shape (T, half).",
            "torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)",
        ),
    ),
    Answer(
        exercise=_RotaryCache,
        expected=_layer_steps,
        tolerance=ATOL,
        misconceptions=(
            Misconception(
                "position_restarted",
                _Restarted,
                "Do the positions of each chunk begin at 0 again?",
                (
                    "At which position does the first token of the second chunk stand?",
                    "It stands behind all that is stored: at `used`, read before the append.",
                    "positions = torch.arange(start, start + x.shape[1]) with start = cache.used",
                ),
                "skyzh/tiny-llm#46",
            ),
            Misconception(
                "keys_turned_again",
                _TurnedAgain,
                "Are stored keys turned again with each step?",
                (
                    "How often has the first key been turned after three steps?",
                    "A stored key has its angle already. Turn the new keys only, once, before the append.",
                    "cache.append(rope(k, positions), v), and attend to cache.keys as they are.",
                ),
            ),
            Misconception(
                "keys_turned_twice",
                _TurnedTwice,
                "Are keys that were stored turned turned once more when they are read?",
                (
                    "By which angle has the key at position 3 been turned when a query meets it?",
                    "cache.keys hold turned keys already: once more, and they seem to stand twice as far away.",
                    "Attend to cache.keys as they are, with q = rope(q, positions).",
                ),
            ),
            Misconception(
                "queries_restarted",
                _QueriesRestarted,
                "Are the queries' positions counted from 0 in each chunk, and the keys' not?",
                (
                    "At which position does the first query of the second chunk stand?",
                    "Query and key of one token stand at the same place: behind all that was stored before.",
                    "One tensor for both: positions = torch.arange(start, start + x.shape[1]).",
                ),
            ),
            Misconception(
                "inputs_kept",
                _Reprojects,
                "Does the layer keep its inputs, and project all of them again at each step?",
                (
                    "How many rows does a step of one token project in your layer?",
                    "Keys and values are stored, so that no token is projected twice. When weights change later, "
                    "stored rows stay what they were.",
                    "Project x_chunk alone, and put its k and v behind those of the cache.",
                ),
            ),
            Misconception(
                "refused_chunk_fixes_requests",
                _FixedByRefused,
                "Does a first chunk that was refused still decide how many requests there are?",
                (
                    "What does your layer hold after its very first chunk was refused?",
                    "A refusal changes nothing: the layer is as new, and the next chunk says what B is.",
                    "Make the cache in a local variable, append, and only then self.cache = cache.",
                ),
            ),
            Misconception(
                "values_turned",
                _ValuesTurned,
                "Did you turn the values too?",
                (
                    "What are positions needed for: to choose a token, or to read what it says?",
                    "Positions enter through scores, which q and k make. Values stay as they are.",
                    "Turn q and k; pass v to the cache unchanged.",
                ),
            ),
            Misconception("neighbouring_pairs", _InNeighbours, *_NEIGHBOURS),
            Misconception("tiled", _Tiled, *_TILED),
            Misconception("model_width", _ModelWidth, *_MODEL_WIDTH),
            Misconception("top_left", _TopLeft, *_TOP_LEFT),
            Misconception(
                "queries_unturned",
                _QueriesUnturned,
                "Did you turn the keys, and not the queries?",
                (
                    "Does your score depend on the distance of the two tokens, or on the key's position alone?",
                    "Both must be turned: then what is left in the product is the difference of the angles.",
                    "q = rope(q, positions) too.",
                ),
            ),
            Misconception(
                "no_positions",
                _NoPositions,
                "Is nothing turned at all?",
                (
                    "What tells two equal tokens at different positions apart?",
                    "Without rotation attention sees a set of keys, in no order.",
                    "Turn q and k by rope(…, positions) before the append.",
                ),
            ),
            Misconception(
                "position_after_append",
                _AfterTheChunk,
                "Are the queries' positions taken after the append, when `used` counts the chunk already?",
                (
                    "What is `used` after the append, and where does the chunk's first token stand?",
                    "Queries and keys of the same token stand at the same position.",
                    "Read start = cache.used in the first line, and use it for q and for k.",
                ),
            ),
            Misconception(
                "capacity_ignored",
                _NoLimit,
                "Does the layer take more tokens than its capacity?",
                (
                    "What becomes of a chunk that does not fit?",
                    "GroupedCache.append refuses it, if it is asked before anything else changes.",
                    "Store the chunk in a GroupedCache of that capacity.",
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
    ),
)
