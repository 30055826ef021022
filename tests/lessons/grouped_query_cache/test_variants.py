"""Lesson 05, people make the same mistake in other words: the same name. An unrelated error: no name."""

import torch

from tests.variants import pair_of_tests


def heads(rule, check=True, exists=True):
    """`kv_head_of` by a table of readers."""

    def kv_head_of(h, n, m):
        if check and n % m != 0:
            raise ValueError("no")
        if exists and h not in range(n):
            raise ValueError("no")
        return rule(h, n, m)

    return kv_head_of


def cut(h, n, m):
    """Counts the groups that end before h, whatever remains."""
    size, found = int(n / m), 0
    while h >= size * (found + 1):
        found += 1
    return found


def stacked(order, check=True):
    """`expand_kv` by stacking the heads that `order(n, m)` lists."""

    def expand_kv(k, n):
        if check and n % k.size(1):
            raise ValueError("no")
        return torch.stack([k[:, i] for i in order(n, k.size(1))], dim=1)

    return expand_kv


def tokens_stretched(k, n):
    if n % k.size(1):
        raise ValueError("no")
    index = torch.arange(k.size(2)).repeat_interleave(n // k.size(1))
    return k[:, :, index]


def attend(reader=lambda h, n, m: h // (n // m), first=None, scale=None, hide=True, order=(0, 2, 1, 3)):
    """`grouped_attention` head by head, the mask by loops."""

    def grouped_attention(q, k, v, start):
        b, n, c, d = q.shape
        out = torch.zeros_like(q)
        for h in range(n):
            i = reader(h, n, k.size(1))
            scores = torch.einsum("bmd,btd->bmt", q[:, h], k[:, i]) * (scale(n, d) if scale else d**-0.5)
            for row in range(c):
                position = row + (start if first is None else first)
                if hide:
                    scores[:, row, position + 1 :] = float("-inf")
            out[:, h] = torch.softmax(scores, dim=2) @ v[:, i]
        return out.permute(order).contiguous().view(b, c, n * d)

    return grouped_attention


def flat(mask_of):
    """`grouped_attention` of one matrix for each KV head, with the mask `mask_of(start, m, group)` of its rows."""

    def grouped_attention(q, k, v, start):
        b, n, m, d = q.shape
        h, t = k.shape[1], k.shape[2]
        s = torch.einsum("bhrd,bhtd->bhrt", q.reshape(b, h, n // h * m, d), k) / d**0.5
        s = s + torch.zeros(n // h * m, t, dtype=s.dtype).masked_fill(mask_of(start, m, n // h, t), float("-inf"))
        return torch.einsum("bhrt,bhtd->bhrd", s.softmax(3), v).reshape(b, n, m, d).permute(0, 2, 1, 3).flatten(2)

    return grouped_attention


def later(places, t):
    return torch.tensor([[column > place for column in range(t)] for place in places])


class Listed:
    """A cache that keeps chunks in lists, put together when they are read."""

    def __init__(self, batch, num_heads, num_kv_heads, head_dim, capacity, dtype=torch.float64, device="cpu"):
        self.check_heads(num_heads, num_kv_heads)
        self.sizes, self.room, self.kind = (batch, num_kv_heads, head_dim), capacity, (dtype, torch.device(device))
        self.ks, self.vs, self.count = [], [], 0

    @property
    def used(self):
        return self.count

    @property
    def keys(self):
        return torch.cat(self.ks, dim=2)

    @property
    def values(self):
        return torch.cat(self.vs, dim=2)

    def check_heads(self, n, m):
        if n / m != n // m:
            raise ValueError("heads")

    def check(self, t):
        if t.dim() != 4 or (t.size(0), t.size(1), t.size(3)) != self.sizes:
            raise ValueError("shape")
        self.check_kind(t)
        self.check_length(t)

    def check_kind(self, t):
        if (t.dtype, t.device) != self.kind:
            raise ValueError("kind")

    def check_length(self, t):
        if t.size(2) < 1:
            raise ValueError("empty")

    def check_room(self, t):
        if t.size(2) > self.room - self.count:
            raise ValueError("full")

    def check_both(self, k, v):
        self.check(k)
        self.check(v)
        if k.size(2) != v.size(2):
            raise ValueError("lengths")
        self.check_room(k)

    def append(self, k, v):
        self.check_both(k, v)
        self.keep(k, v)
        self.count += k.size(2)

    def keep(self, k, v):
        self.ks.append(k.clone())
        self.vs.append(v.clone())

    def truncate(self, n):
        self.check_n(n)
        self.ks, self.vs = ([torch.cat(each, dim=2)[:, :, :n]] for each in (self.ks, self.vs))
        self.count = n

    def check_n(self, n):
        if n < 0 or n > self.count:
            raise ValueError("n")


class LooksAtValuesLate(Listed):
    """Takes k in, then finds that v does not fit."""

    def append(self, k, v):
        self.check(k)
        self.check_room(k)
        self.ks.append(k.clone())
        self.check(v)
        if k.size(2) != v.size(2):
            raise ValueError("lengths")
        self.vs.append(v.clone())
        self.count += k.size(2)


class HalfStored(Listed):
    def append(self, k, v):
        try:
            super().append(k, v)
        except ValueError as error:
            if str(error) == "full":
                free = self.room - self.count
                super().append(k[:, :, :free], v[:, :, :free])
            raise


class AnyGroup(Listed):
    def check_heads(self, n, m):
        pass


class AnyType(Listed):
    def check_kind(self, t):
        pass

    def keep(self, k, v):
        if k.device.type == "meta":
            raise RuntimeError("no data")
        self.ks.append(k.to(self.kind[0]).clone())
        self.vs.append(v.to(self.kind[0]).clone())


class AnySize(Listed):
    def check_length(self, t):
        pass


class NoBound(Listed):
    def check_room(self, t):
        pass


class Keeps(Listed):
    def keep(self, k, v):
        self.ks += [k]
        self.vs += [v]


class AnyN(Listed):
    """Slots, and `used` is what it is told."""

    def __init__(self, batch, num_heads, num_kv_heads, head_dim, capacity, *kind):
        super().__init__(batch, num_heads, num_kv_heads, head_dim, capacity, *kind)
        self.k, self.v = torch.zeros(2, batch, num_kv_heads, capacity, head_dim, dtype=self.kind[0])

    keys = property(lambda self: self.k[:, :, : self.count])
    values = property(lambda self: self.v[:, :, : self.count])

    def keep(self, k, v):
        for slots, new in ((self.k, k), (self.v, v)):
            slots[:, :, self.count : self.count + new.size(2)] = new

    def truncate(self, n):
        self.count = n


class AnyLargeN(AnyN):
    def truncate(self, n):
        if n < 0:
            raise ValueError("n")
        self.count = n


class AnySmallN(AnyN):
    def truncate(self, n):
        if self.count < n:
            raise ValueError("n")
        self.count = n


class CutsLists(Listed):
    def truncate(self, n):
        self.ks, self.vs = ([torch.cat(each, dim=2)[:, :, :n]] for each in (self.ks, self.vs))
        self.count = self.ks[0].size(2)


class LooksAtKeysOnly(AnyN):
    def check_both(self, k, v):
        self.check(k)
        self.check_room(k)

    def keep(self, k, v):
        until = self.count + k.size(2)
        self.k[:, :, self.count : until], self.v[:, :, self.count : until] = k, v

    def truncate(self, n):
        self.check_n(n)
        self.count = n


class LooksAtHeadsOfKeysOnly(LooksAtKeysOnly):
    def check_both(self, k, v):
        super().check_both(k, v)
        self.check(v if v.dim() != 4 or v.size(1) != 1 else v.expand(-1, k.size(1), -1, -1))
        if k.size(2) != v.size(2):
            raise ValueError("lengths")


class CountsTooEarly(AnyN):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.k, self.v = torch.empty_like(self.k), torch.empty_like(self.v)

    def append(self, k, v):
        before = self.count
        self.count += k.size(2)
        self.check_both(k, v)
        for slots, new in ((self.k, k), (self.v, v)):
            slots[:, :, before : self.count] = new

    def check_room(self, t):
        if self.count > self.room:
            raise ValueError("full")

    def truncate(self, n):
        self.check_n(n)
        self.count = n


class CountsBeforeItsLastCheck(CountsTooEarly):
    def append(self, k, v):
        self.check(k)
        self.check(v)
        if k.size(2) != v.size(2):
            raise ValueError("lengths")
        super().append(k, v)


class OnlyClears(AnyN):
    def truncate(self, n):
        self.check_n(n)
        for slot in range(n, self.room):
            self.k[:, :, slot] = self.v[:, :, slot] = 0


class TruncatesOneMore(Listed):
    def truncate(self, n):
        super().truncate(n)
        self.ks, self.vs, self.count = [self.keys[:, :, : n - 1]], [self.values[:, :, : n - 1]], n - 1


class ValuesAreKeys(Listed):
    @property
    def values(self):
        return self.keys


def turned(pairs, angle=lambda p, i, d: p / 10_000 ** (2 * i / d), minus=-1, plus=1):
    """`rope` pair by pair: `pairs(i, d)` gives its two elements."""

    def rope(x, positions):
        d, out = x.size(-1), torch.empty_like(x)
        for i in range(d // 2):
            a = torch.stack([torch.as_tensor(angle(p, i, d), dtype=x.dtype) for p in positions.double()])
            c, s = torch.cos(a), torch.sin(a)
            m, n = pairs(i, d)
            out[..., m] = x[..., m] * c + minus * x[..., n] * s
            out[..., n] = x[..., n] * c + plus * x[..., m] * s
        return out

    return rope


def halves(i, d):
    return i, i + d // 2


def beside(i, d):
    return 2 * i, 2 * i + 1


def from_zero(x, positions):
    return turned(halves)(x, positions - positions[0] if len(positions) == 1 else torch.arange(len(positions)))


def in_float32(x, positions):
    half = x.size(-1) // 2
    speed = torch.pow(10_000.0, -torch.arange(0, 2 * half, 2) / (2 * half))
    a = torch.einsum("t,i->ti", positions.float(), speed)
    z = torch.complex(x[..., :half], x[..., half:]) * torch.complex(a.cos(), a.sin())
    return torch.cat([z.real, z.imag], dim=-1)


class Whole:
    """A layer that remembers inputs, or what it made of them, and attends with loops."""

    turn = staticmethod(turned(halves))
    attend = staticmethod(attend())

    def __init__(self, weights, capacity):
        self.w, self.room, self.k, self.v, self.n = weights, capacity, [], [], 0

    def split(self, x, name, count):
        y = x @ self.w[name]
        return y.view(*y.shape[:2], count, -1).permute(0, 2, 1, 3)

    def where(self, n):
        return torch.arange(self.n, self.n + n)

    def limit(self, n):
        if self.n + n > self.room:
            raise ValueError("full")

    def turned(self, q, k, v, positions):
        return self.turn(q, positions), self.turn(k, positions), v

    def stored(self, k):
        self.k.append(k)
        return torch.cat(self.k, dim=2)

    def step(self, x):
        n = x.size(1)
        self.limit(n)
        m = self.w["num_kv_heads"]
        q, k, v = self.split(x, "WQ", self.w["num_heads"]), self.split(x, "WK", m), self.split(x, "WV", m)
        q, k, v = self.turned(q, k, v, self.where(n))
        self.v.append(v)
        y = self.attend(q, self.stored(k), torch.cat(self.v, dim=2), self.n)
        self.n += n
        return y @ self.w["WO"]


class Restarts(Whole):
    def where(self, n):
        return torch.tensor(list(range(n)))


class Respins(Whole):
    """All that is stored goes through rope at each step, and stays so."""

    def turned(self, q, k, v, positions):
        return self.turn(q, positions), k, v

    def stored(self, k):
        self.k = [self.turn(torch.cat([*self.k, k], dim=2), torch.arange(self.n + k.size(2)))]
        return self.k[0]


class SpinsWhatItReads(Whole):
    def stored(self, k):
        keys = super().stored(k)
        return self.turn(keys, torch.arange(keys.size(2)))


class QueriesFromZero(Whole):
    def turned(self, q, k, v, positions):
        return self.turn(q, positions - self.n), self.turn(k, positions), v


class Remembers(Whole):
    """Everything from the inputs at each step, as one prompt."""

    seen = ()

    def step(self, x):
        self.limit(x.size(1))
        self.seen = [*self.seen, x]
        prompt = torch.cat(self.seen, dim=1)
        self.n += x.size(1)
        return Whole(self.w, self.n).step(prompt)[:, -x.size(1) :]


class Reserves(Whole):
    """Rows go into slots that the first chunk makes, before anybody knows whether it fits."""

    slots = None

    def step(self, x):
        if self.slots is None:
            self.slots = torch.zeros(x.size(0), self.room, 1)
        if x.size(0) != self.slots.size(0):
            raise ValueError("another B")
        return super().step(x)


class SpinsAll(Whole):
    def turned(self, q, k, v, positions):
        return tuple(self.turn(each, positions) for each in (q, k, v))


class KeysOnly(Whole):
    def turned(self, q, k, v, positions):
        return q, self.turn(k, positions), v


class SpinsNothing(Whole):
    def turned(self, q, k, v, positions):
        return q, k, v


class Late(Whole):
    def turned(self, q, k, v, positions):
        return self.turn(q, positions + len(positions)), self.turn(k, positions), v


class Neighbours(Whole):
    turn = staticmethod(turned(beside))


class Dealt(Whole):
    attend = staticmethod(attend(lambda h, n, m: h % m))


class WideScale(Whole):
    attend = staticmethod(attend(scale=lambda n, d: (n * d) ** -0.5))


class Forgetful(Whole):
    attend = staticmethod(attend(first=0))


class Endless(Whole):
    def limit(self, n):
        pass


class NoOutput(Whole):
    def step(self, x):
        return super().step(x) @ torch.linalg.pinv(self.w["WO"])


class OneBehind(Whole):
    def where(self, n):
        return super().where(n) * 2


def loop(rows_of):
    def elements_copied(tokens, row):
        sums = [0, 0]
        for t in range(1, tokens + 1):
            for way, rows in enumerate(rows_of(t, tokens)):
                sums[way] += rows * row
        return tuple(sums)

    return elements_copied


VARIANTS = [
    ("kv_head_of", heads(lambda h, n, m: list(range(m))[h - h // m * m]), "tiled"),
    ("kv_head_of", heads(lambda h, n, m: h - h // m * m, check=False, exists=False), "tiled_unchecked"),
    ("kv_head_of", lambda h, n, m: divmod(h, n // m)[0], "unchecked"),
    ("kv_head_of", heads(cut, check=False), "uneven_heads"),
    ("kv_head_of", heads(lambda h, n, m: divmod(h, m)[0]), "wrong_divisor"),
    ("kv_head_of", lambda h, n, m: (h - h % m) // m, "wrong_divisor_unchecked"),
    ("kv_head_of", heads(lambda h, n, m: divmod(h, n // m)[1]), "place_in_group"),
    ("kv_head_of", heads(lambda h, n, m: divmod(h, n // m)[0], exists=False), "any_query_head"),
    ("kv_head_of", heads(lambda h, n, m: h * m / n), "a_float"),
    ("expand_kv", stacked(lambda n, m: [h % m for h in range(n)]), "tiled"),
    ("expand_kv", lambda k, n: torch.cat([k] * (n // k.size(1)), dim=1), "tiled_unchecked"),
    ("expand_kv", stacked(lambda n, m: [i for i in range(m) for _ in range(n // m)], check=False), "uneven_heads"),
    ("expand_kv", tokens_stretched, "tokens_repeated"),
    ("expand_kv", stacked(lambda n, m: [i for i in range(m) for _ in range(m)]), "kv_heads_times"),
    ("expand_kv", stacked(lambda n, m: [h // n for h in range(n * m)]), "heads_times"),
    ("grouped_attention", attend(lambda h, n, m: h % m), "tiled"),
    ("grouped_attention", attend(scale=lambda n, d: (n * d) ** -0.5), "model_width"),
    ("grouped_attention", attend(first=0), "top_left"),
    (
        "grouped_attention",
        flat(lambda start, m, g, t: later(range(start, start + g * m), t)),
        "mask_without_mod",
    ),
    (
        "grouped_attention",
        flat(lambda start, m, g, t: later([start + r // g for r in range(g * m)], t)),
        "mask_rows_repeated",
    ),
    ("grouped_attention", attend(hide=False), "no_mask"),
    ("grouped_attention", attend(scale=lambda n, d: 1.0), "unscaled"),
    ("grouped_attention", attend(order=(0, 1, 2, 3)), "heads_not_beside"),
    ("GroupedCache", CountsTooEarly, "used_advanced_first"),
    ("GroupedCache", CountsBeforeItsLastCheck, "advanced_before_capacity"),
    ("GroupedCache", LooksAtValuesLate, "keys_first"),
    ("GroupedCache", LooksAtKeysOnly, "values_unchecked"),
    ("GroupedCache", LooksAtHeadsOfKeysOnly, "values_of_any_heads"),
    ("GroupedCache", AnyLargeN, "truncate_no_upper_bound"),
    ("GroupedCache", AnySmallN, "truncate_no_lower_bound"),
    ("GroupedCache", CutsLists, "truncates_by_slices"),
    ("GroupedCache", HalfStored, "fills_up"),
    ("GroupedCache", AnyGroup, "uneven_heads"),
    ("GroupedCache", OnlyClears, "truncate_forgets_used"),
    ("GroupedCache", AnyN, "truncates_anything"),
    ("GroupedCache", AnyType, "any_kind"),
    ("GroupedCache", AnySize, "empty_chunk"),
    ("GroupedCache", NoBound, "capacity_ignored"),
    ("GroupedCache", Keeps, "aliased"),
    ("elements_copied", loop(lambda t, n: (t - 1, 1)), "old_rows_only"),
    ("elements_copied", lambda n, row: (n * row, row * min(n, 1)), "last_step_only"),
    ("elements_copied", loop(lambda t, n: (n, 1)), "square"),
    ("elements_copied", lambda n, row: (sum(range(n + 1)), n), "rows_not_elements"),
    ("elements_copied", loop(lambda t, n: (1, t)), "swapped"),
    ("elements_copied", loop(lambda t, n: (t, n)), "capacity_each_time"),
    ("elements_copied", lambda n, row: (row * (n * (n + 1) / 2), row * n), "a_float"),
    ("rope", turned(beside), "neighbouring_pairs"),
    ("rope", turned(halves, minus=1, plus=-1), "backwards"),
    ("rope", turned(halves, minus=1), "no_minus"),
    ("rope", lambda x, positions: turned(halves)(x, torch.tensor(range(len(positions)))), "positions_restarted"),
    ("rope", in_float32, "single_precision"),
    ("rope", turned(halves, angle=lambda p, i, d: p / 100 ** (2 * i / d)), "half_the_exponent"),
    ("RotaryCache", Restarts, "position_restarted"),
    ("RotaryCache", Respins, "keys_turned_again"),
    ("RotaryCache", SpinsWhatItReads, "keys_turned_twice"),
    ("RotaryCache", QueriesFromZero, "queries_restarted"),
    ("RotaryCache", Remembers, "inputs_kept"),
    ("RotaryCache", Reserves, "refused_chunk_fixes_requests"),
    ("RotaryCache", SpinsAll, "values_turned"),
    ("RotaryCache", KeysOnly, "queries_unturned"),
    ("RotaryCache", SpinsNothing, "no_positions"),
    ("RotaryCache", Late, "position_after_append"),
    ("RotaryCache", Neighbours, "neighbouring_pairs"),
    ("RotaryCache", Dealt, "tiled"),
    ("RotaryCache", WideScale, "model_width"),
    ("RotaryCache", Forgetful, "top_left"),
    ("RotaryCache", Endless, "capacity_ignored"),
]

UNRELATED = [
    ("kv_head_of", heads(lambda h, n, m: m - 1 - h * m // n)),
    ("kv_head_of", heads(lambda h, n, m: None)),
    ("expand_kv", lambda k, n: k),
    ("expand_kv", stacked(lambda n, m: [m - 1 - h * m // n for h in range(n)])),
    ("grouped_attention", attend(scale=lambda n, d: 1 / d)),
    ("grouped_attention", lambda q, k, v, start: attend()(q, k, v, start).flatten()),
    ("grouped_attention", attend(lambda h, n, m: m - 1)),
    ("GroupedCache", TruncatesOneMore),
    ("GroupedCache", ValuesAreKeys),
    ("elements_copied", lambda n, row: (2 * n * row, n * row)),
    ("elements_copied", lambda n, row: [n * (n + 1) * row, n * row]),
    ("rope", turned(halves, angle=lambda p, i, d: p / 500_000 ** (2 * i / d))),
    ("rope", lambda x, positions: x),
    ("RotaryCache", NoOutput),
    ("RotaryCache", OneBehind),
]

test_the_same_mistake_in_other_words_gets_its_name, test_an_unrelated_error_gets_no_name = pair_of_tests(
    VARIANTS, UNRELATED
)
