"""`GroupedCache`: what is right, which mistakes are known, and what to say about them."""

import numpy as np
import torch

from autograde.answers.grouped_query_cache.shared import UNEVEN_HEADS
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.exercises.grouped_query_cache import run_grouped_cache


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
    return run_grouped_cache(_TokenByToken, case)


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


USED_ADVANCED_FIRST = Advice(
    "Is `used` advanced before you know that the chunk is accepted?",
    (
        "What does `used` say after a refused append?",
        "First refuse, then write, then count: `used` changes in the last line.",
        "end = self.used + m; check everything; write into [self.used:end]; self.used = end.",
    ),
)
TRUNCATES_ANYTHING = Advice(
    "Does `truncate` accept more tokens than are stored, or fewer than none?",
    (
        "What does truncate(6) mean when 5 tokens are stored, and what truncate(-1)?",
        "A larger `used` would show rows that were rejected or never written; a slice to −1 drops the last row.",
        "if not 0 <= n <= self.used: raise ValueError(…)",
    ),
)
VALUES_UNCHECKED = Advice(
    "Is v not compared as k is, so that v of one KV head or of one token is spread over all?",
    (
        "What does your append say to a good k with v of one KV head only?",
        "Assignment broadcasts v as silently as k. Whatever is asked about k must be asked about v.",
        "for new in (k, v): compare new.shape with (batch, num_kv_heads, k.shape[2], head_dim), dtype and device.",
    ),
)


ANSWER = Answer(
    exercise=exercise("GroupedCache"),
    expected=_cache_steps,
    misconceptions=(
        Misconception(
            "used_advanced_first",
            _AdvancedFirst,
            USED_ADVANCED_FIRST,
        ),
        Misconception(
            "advanced_before_capacity",
            _AdvancedBeforeCapacity,
            USED_ADVANCED_FIRST,
        ),
        Misconception(
            "written_behind",
            _WrittenBehind,
            Advice(
                "Is `used` advanced before the rows are written, so that they lie one chunk behind their place?",
                (
                    "Into which slots goes the first chunk of three tokens?",
                    "It belongs into slots 0 to 2, but `used` is 3 when you write.",
                    "Write into [self.used:end] first; self.used = end is the last line.",
                ),
            ),
        ),
        Misconception(
            "fills_up",
            _FillsUp,
            Advice(
                "Does a refused chunk leave behind the rows that still fitted?",
                (
                    "How many tokens are stored after a chunk was refused that was one token too long?",
                    "A chunk is stored whole or not at all. Half of it would be attended to for ever.",
                    "Compare used + m with the capacity before you write anything.",
                ),
            ),
        ),
        Misconception(
            "keys_first",
            _KeysFirst,
            Advice(
                "Are the keys stored before the values are looked at, so that a refusal leaves keys without values?",
                (
                    "What is stored when k fits and v does not?",
                    "k and v are one event: look at both, then write both.",
                    "Put every check in front of the first write.",
                ),
                source="panbanda/higgs#18: a cache was changed before its input had been validated.",
            ),
        ),
        Misconception(
            "uneven_heads",
            _AnyHeads,
            UNEVEN_HEADS,
        ),
        Misconception(
            "truncate_forgets_used",
            _ForgetsUsed,
            Advice(
                "Does `truncate` clear the rows and forget `used`?",
                (
                    "How many tokens does the cache say it holds after truncate(2)?",
                    "Rows of zeros are still rows: they would be attended to. What counts is `used`.",
                    "self.used = n is all that truncate has to do, after its check.",
                ),
            ),
        ),
        Misconception(
            "truncates_anything",
            _TruncatesAnything,
            TRUNCATES_ANYTHING,
        ),
        Misconception(
            "truncate_no_upper_bound",
            _NoUpperBound,
            TRUNCATES_ANYTHING,
        ),
        Misconception(
            "truncate_no_lower_bound",
            _NoLowerBound,
            TRUNCATES_ANYTHING,
        ),
        Misconception(
            "truncates_by_slices",
            _TruncatesBySlices,
            TRUNCATES_ANYTHING,
        ),
        Misconception(
            "values_unchecked",
            _ValuesUnchecked,
            VALUES_UNCHECKED,
        ),
        Misconception(
            "values_of_any_heads",
            _ValuesOfAnyHeads,
            VALUES_UNCHECKED,
        ),
        Misconception(
            "broadcast",
            _Broadcasts,
            Advice(
                (
                    "Does a chunk of the wrong shape pass, because PyTorch "
                    "spreads one request, head or element over all?"
                ),
                (
                    "What does storage[:, :, 0:2] = k do when k has one head and the storage three?",
                    "Assignment broadcasts an axis of length 1 without a word. Compare the shapes yourself.",
                    "Both k and v must have ndim 4, batch, KV heads and width of the cache, and equal m.",
                ),
            ),
        ),
        Misconception(
            "any_kind",
            _AnyKind,
            Advice(
                "Does a chunk of another dtype, or on another device, pass the checks?",
                (
                    "What happens to a float32 number that is assigned into a float64 tensor?",
                    "It is converted without a word, and what it had lost stays lost. Refuse it with ValueError.",
                    "for each of k, v: if each.dtype != self.k.dtype or each.device != self.k.device: raise ValueError",
                ),
            ),
        ),
        Misconception(
            "empty_chunk",
            _AnyLength,
            Advice(
                "Does an empty chunk pass?",
                (
                    "What did a caller mean that appends no token?",
                    "It is a mistake upstream, and refusing it shows where.",
                    "if k.shape[2] == 0: raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "capacity_ignored",
            _Grows,
            Advice(
                "Does the cache grow beyond its capacity?",
                (
                    "What does `capacity` promise to whoever planned the memory?",
                    "A cache that grows moves its rows, and takes memory that nobody reserved.",
                    "if self.used + k.shape[2] > self.capacity: raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "aliased",
            _Aliased,
            Advice(
                "Does the cache keep the caller's own tensors, and so follow what is done to them later?",
                (
                    "What happens to your rows when the caller sets k to 0 after the append?",
                    "A cache owns its rows: they must be copied when they come.",
                    "Copy into storage of your own: self.k[:, :, start:end] = k.",
                ),
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
)
