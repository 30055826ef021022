"""Lesson 07, people make the same mistake in other words: the same name. An unrelated error: no name."""

import math
from collections import deque

import numpy as np
import pytest

from autograde.answers import answer_of
from autograde.check import examine
from tests.variants import pair_of_tests


def attention(rows, first, width=None):
    """Attention by a loop over queries: `rows` reads K or V, `first` is the position of the first query."""

    def paged_attention(q, storage_k, storage_v, table, length):
        k, v = rows(storage_k, table, length), rows(storage_v, table, length)
        out = []
        for i, query in enumerate(q):
            seen = slice(first(len(q), len(k)) + i + 1)
            scores = k[seen] @ query / math.sqrt(width or len(query))
            e = np.exp(scores - scores.max())
            out.append(e / e.sum() @ v[seen])
        return np.array(out)

    return paged_attention


def in_order(storage, table, length):
    return np.vstack([storage[b] for b in table])[:length]


def by_number(storage, table, length):
    return np.vstack([storage[b] for b in range(len(storage)) if b in table])[:length]


def whole_blocks(storage, table, length):
    return np.vstack([storage[b] for b in table])


def behind(m, keys):
    return keys - m


class Book:
    """A right pool unlike any of the answers: blocks come from the front of a queue, sequences are dicts."""

    eager = 0  # tokens for which room is made in advance

    def __init__(self, num_blocks, block):
        self.size = block
        self.queue = deque(range(num_blocks))
        self.holders = dict.fromkeys(range(num_blocks), 0)
        self.live, self.born = {}, 0

    def need(self, tokens):
        return math.ceil((tokens + self.eager) / self.size)

    def grab(self, count):
        if count > len(self.queue):
            raise MemoryError
        got = [self.queue.popleft() for _ in range(count)]
        self.holders.update(dict.fromkeys(got, 1))
        return got

    def leave(self, blocks):
        for block in blocks:
            self.holders[block] -= 1
            if not self.holders[block]:
                self.queue.append(block)

    def enter(self, blocks, tokens):
        name = f"sequence {self.born}"
        self.born += 1
        self.live[name] = {"blocks": blocks, "tokens": tokens}
        return name

    def allocate(self, tokens):
        return self.enter(self.grab(self.need(tokens)), tokens)

    def fork(self, id):
        one = self.live[id]
        for block in one["blocks"]:
            self.holders[block] += 1
        return self.enter([*one["blocks"]], one["tokens"])

    def splits(self, one, n):
        return bool(n and one["tokens"] % self.size and self.holders[one["blocks"][-1]] > 1)

    def append(self, id, n=1):
        one = self.live[id]
        split = self.splits(one, n)
        got = self.grab(max(self.need(one["tokens"] + n) - len(one["blocks"]), 0) + split)
        pairs = []
        if split:
            pairs = [(one["blocks"][-1], got[0])]
            self.leave(one["blocks"][-1:])
            del one["blocks"][-1]
        one["blocks"] += got
        one["tokens"] += n
        return pairs

    def truncate(self, id, n):
        one = self.live[id]
        if n > one["tokens"]:
            raise ValueError
        self.cut(one["blocks"][self.need(n) :])
        one["blocks"] = one["blocks"][: self.need(n)]
        one["tokens"] = n

    def cut(self, blocks):
        self.leave(blocks)

    def free(self, id):
        self.leave(self.live.pop(id)["blocks"])

    def table(self, id):
        return [*self.live[id]["blocks"]]

    def ref(self, block):
        return self.holders[block]


class Early(Book):
    eager = 1


class InPlace(Book):
    def splits(self, one, n):
        return False


class Silent(Book):
    def append(self, id, n=1):
        Book.append(self, id, n)
        return ()


class Backwards(Book):
    def append(self, id, n=1):
        return [pair[::-1] for pair in Book.append(self, id, n)]


class CopiesFull(Book):
    def splits(self, one, n):
        return n > 0 and any(self.holders[block] > 1 for block in one["blocks"][-1:])


class StillHeld(Book):
    def append(self, id, n=1):
        pairs = Book.append(self, id, n)
        for source, _ in pairs:
            self.holders[source] += 1
        return pairs


class OneIsNone(Book):
    def leave(self, blocks):
        for block in blocks:
            self.holders[block] -= 1
            if self.holders[block] in (0, 1):
                self.queue.append(block)


class NobodyAsks(Book):
    def leave(self, blocks):
        for block in blocks:
            self.holders[block] -= 1
        self.queue.extend(blocks)


class Uncounted(Book):
    def fork(self, id):
        return self.enter([*self.live[id]["blocks"]], self.live[id]["tokens"])


class SameList(Book):
    def fork(self, id):
        new = Book.fork(self, id)
        self.live[new]["blocks"] = self.live[id]["blocks"]
        return new

    def truncate(self, id, n):
        kept = self.live[id]["blocks"]
        Book.truncate(self, id, n)
        kept[:] = self.live[id]["blocks"]
        self.live[id]["blocks"] = kept


class FreshBlocks(Book):
    def fork(self, id):
        return self.allocate(self.live[id]["tokens"])


class Forgiving(Book):
    def free(self, id):
        if id in self.live:
            Book.free(self, id)


class OneByOne(Book):
    def grab(self, count):
        got = []
        while len(got) < count:
            if not self.queue:
                raise MemoryError
            got.append(self.queue.popleft())
            self.holders[got[-1]] = 1
        return got


class TokenByToken(Book):
    def append(self, id, n=1):
        pairs = []
        while n:
            pairs += Book.append(self, id, 1)
            n -= 1
        if id not in self.live:
            raise KeyError(id)
        return pairs


class Hoards(Book):
    def truncate(self, id, n):
        if self.live[id]["tokens"] < n:
            raise ValueError
        self.live[id]["tokens"] = n


class CutsAnyway(Book):
    def cut(self, blocks):
        for block in blocks:
            self.holders[block] = 0
            self.queue.append(block)


class DropsN(Book):
    def truncate(self, id, n):
        Book.truncate(self, id, max(self.live[id]["tokens"] - n, 0))


class Numbered(Book):
    def enter(self, blocks, tokens):
        self.live[len(self.live)] = {"blocks": blocks, "tokens": tokens}
        return [*self.live][-1] if len(self.live) - 1 not in self.live else len(self.live) - 1


class Recycled(Book):
    def enter(self, blocks, tokens):
        name = min(set(range(99)) - set(self.live))
        self.live[name] = {"blocks": blocks, "tokens": tokens}
        return name


class LastFreedFirst(Book):
    """Ids of freed sequences lie on a pile, and the next sequence takes the top one."""

    pile = ()

    def free(self, id):
        Book.free(self, id)
        self.pile = (*self.pile, id)

    def enter(self, blocks, tokens):
        name = Book.enter(self, blocks, tokens)
        if self.pile:
            *self.pile, old = self.pile
            self.live[old] = self.live.pop(name)
            return old
        return name


class OneAboveTheLast(Book):
    def enter(self, blocks, tokens):
        name = 1 + max([-1, *self.live])
        self.live[name] = {"blocks": blocks, "tokens": tokens}
        return name


class CopyLast(Book):
    """Right but for full pools: new blocks first, the block for the copy after them."""

    def append(self, id, n=1):
        one = self.live[id]
        split = self.splits(one, n)
        got = self.grab(self.need(one["tokens"] + n) - len(one["blocks"]))
        pairs = []
        if split:
            pairs = [(one["blocks"][-1], self.one_more())]
            self.leave(one["blocks"][-1:])
            one["blocks"][-1] = pairs[0][1]
        one["blocks"].extend(got)
        one["tokens"] += n
        return pairs

    def one_more(self):
        block = self.queue.popleft()
        self.holders[block] = 1
        return block


class CopyLastRefused(CopyLast):
    def one_more(self):
        return self.grab(1)[0]


class CopyFirst(Book):
    def append(self, id, n=1):
        one, pairs = self.live[id], []
        if self.splits(one, n):
            last = one["blocks"].pop()
            try:
                pairs = [(last, self.grab(1)[0])]
            except MemoryError:
                one["blocks"].append(last)
                raise
            one["blocks"].append(pairs[0][1])
            self.leave([last])
        one["blocks"] += self.grab(self.need(one["tokens"] + n) - len(one["blocks"]))
        one["tokens"] += n
        return pairs


class Wipes(Book):
    def free(self, id):
        blocks = self.live.pop(id)["blocks"]
        self.holders.update(dict.fromkeys(blocks, 0))
        self.queue.extend(blocks)


class ExactlyOne(Book):
    def leave(self, blocks):
        for block in blocks:
            left = self.holders[block] - 1
            self.holders[block] = left
            if left == 1:
                self.queue.append(block)


class CountsLater(Book):
    def grab(self, count):
        got = []
        while len(got) < count:
            if not self.queue:
                raise MemoryError
            got.append(self.queue.popleft())
        self.holders.update(dict.fromkeys(got, 1))
        return got


class Pops(Book):
    def grab(self, count):
        got = []
        for _ in range(count):
            got.append(self.queue.popleft())
            self.holders[got[-1]] = 1
        return got


class GrowsBlockByBlock(Book):
    def append(self, id, n=1):
        one = self.live[id]
        pairs = Book.append(self, id, 1) if self.splits(one, n) else []
        one["tokens"] -= len(pairs)
        while len(one["blocks"]) < self.need(one["tokens"] + n):
            one["blocks"] += self.grab(1)
        one["tokens"] += n
        return pairs


class OnlyTheNumber(Book):
    def truncate(self, id, n):
        if id in self.live:  # the books of tables and of lengths are one here
            self.live[id]["tokens"] = n


class Stretches(Book):
    def truncate(self, id, n):
        one = self.live[id]
        self.cut(one["blocks"][self.need(n) :])
        one["blocks"] = one["blocks"][: self.need(n)]
        one["tokens"] = n


class FirstBlockAtOnce(Book):
    def allocate(self, tokens):
        return self.enter(self.grab(self.need(tokens) or 1), tokens)


def refusing(*methods, answer):
    """A right pool whose `methods` do this with an id that is not in use."""

    def of(method):
        def wrapped(self, id, *more):
            return getattr(Book, method)(self, id, *more) if id in self.live else answer(id)

        return wrapped

    return type("Refusing", (Book,), {method: of(method) for method in methods})


def value_error(id):
    raise ValueError(id)


class Open(Book):
    def table(self, id):
        return self.live[id]["blocks"]


class Leaks(Book):
    """Unrelated: gives back one block fewer than it should."""

    def free(self, id):
        self.leave(self.live.pop(id)["blocks"][1:])


class OwnError(Book):
    def grab(self, count):
        try:
            return Book.grab(self, count)
        except MemoryError:
            raise ValueError("full") from None


EVERY = ("append", "fork", "truncate", "free", "table")

VARIANTS = [
    ("blocks_needed", lambda t, b: divmod(t, b)[0], "floor_division"),
    ("blocks_needed", lambda t, b: (t + b) // b, "one_more"),
    ("blocks_needed", lambda t, b: (t - 1 + b - 1) // b if t else 0, "one_token_late"),
    ("blocks_needed", lambda t, b: -(-t // b) or 1, "at_least_one"),
    ("blocks_needed", lambda t, b: b * -(-t // b), "slots"),
    ("blocks_needed", lambda t, b: int(np.ceil(t / b)), "through_float"),
    ("slot_of", lambda t, p, b: (sorted(t)[p // b], p % b), "physical_order"),
    ("slot_of", lambda t, p, b: divmod(t[0] * b + p, b), "adjacent"),
    ("slot_of", lambda t, p, b: (p // b, p % b), "row_for_block"),
    ("slot_of", lambda t, p, b: (p % b, t[p // b]), "swapped"),
    ("slot_of", lambda t, p, b: (t[p // b], t[p // b] * b + p % b), "slot_number"),
    ("waste", lambda n, b: len([each for each in n if each % b]), "in_blocks"),
    ("waste", lambda n, b: -(-sum(n) // b) * b - sum(n), "tails_shared"),
    ("waste", lambda n, b: sum((each // b + 1) * b - each for each in n), "full_block_wasted"),
    ("waste", lambda n, b: len(n) * b * -(-max(n) // b) - sum(n), "to_the_longest"),
    ("waste", lambda n, b: b * sum(-(-each // b) for each in n), "held_slots"),
    ("gather", by_number, "physical_order"),
    ("gather", whole_blocks, "tail_kept"),
    ("gather", lambda s, t, n: np.stack([s[b] for b in t]), "blocks_not_joined"),
    ("gather", lambda s, t, n: np.vstack([s[t, i] for i in range(s.shape[1])])[:n], "offsets_first"),
    ("gather", lambda s, t, n: whole_blocks(s, t, n)[len(t) * s.shape[1] - n :], "last_rows"),
    ("paged_attention", attention(whole_blocks, behind), "tail_attended"),
    ("paged_attention", attention(by_number, behind), "physical_order"),
    ("paged_attention", attention(in_order, lambda m, keys: 0), "top_left"),
    ("paged_attention", attention(in_order, lambda m, keys: keys), "no_mask"),
    ("paged_attention", attention(in_order, behind, 1), "unscaled"),
    ("paged_attention", lambda q, k, v, t, n: attention(in_order, behind)(q, k, k, t, n), "keys_for_values"),
    ("BlockPool", Early, "block_early"),
    ("BlockPool", InPlace, "shared_tail_in_place"),
    ("BlockPool", Silent, "copy_not_reported"),
    ("BlockPool", Backwards, "copy_backwards"),
    ("BlockPool", CopiesFull, "full_block_copied"),
    ("BlockPool", StillHeld, "copy_keeps_count"),
    ("BlockPool", OneIsNone, "freed_at_count_one"),
    ("BlockPool", NobodyAsks, "count_ignored"),
    ("BlockPool", Uncounted, "fork_not_counted"),
    ("BlockPool", SameList, "fork_same_list"),
    ("BlockPool", FreshBlocks, "fork_copies"),
    ("BlockPool", Forgiving, "second_free_unnoticed"),
    ("BlockPool", OneByOne, "partial_allocation"),
    ("BlockPool", TokenByToken, "partial_append"),
    ("BlockPool", Hoards, "truncate_keeps_blocks"),
    ("BlockPool", CutsAnyway, "truncate_ignores_count"),
    ("BlockPool", DropsN, "truncate_drops_n"),
    ("BlockPool", Recycled, "old_id_again"),
    ("BlockPool", LastFreedFirst, "old_id_again"),
    ("BlockPool", OneAboveTheLast, "highest_id_again"),
    ("BlockPool", CopyLast, "copy_taken_unasked"),
    ("BlockPool", CopyLastRefused, "copy_refused_late"),
    ("BlockPool", CopyFirst, "copied_then_refused"),
    ("BlockPool", Wipes, "free_zeroes_counts"),
    ("BlockPool", ExactlyOne, "freed_only_at_count_one"),
    ("BlockPool", CountsLater, "taken_blocks_look_free"),
    ("BlockPool", Pops, "no_look_for_room"),
    ("BlockPool", GrowsBlockByBlock, "partial_table"),
    ("BlockPool", OnlyTheNumber, "truncate_only_sets_the_length"),
    ("BlockPool", Stretches, "truncate_beyond_the_end"),
    ("BlockPool", FirstBlockAtOnce, "empty_sequence_holds_a_block"),
    ("BlockPool", refusing(*EVERY, answer=value_error), "unknown_id_other_error"),
    ("BlockPool", refusing("append", answer=lambda id: []), "unknown_id_appended"),
    ("BlockPool", refusing("fork", answer=lambda id: None), "unknown_id_forked"),
    ("BlockPool", refusing("truncate", answer=lambda id: None), "unknown_id_truncated"),
    ("BlockPool", refusing("table", answer=lambda id: ()), "unknown_id_has_a_table"),
    ("BlockPool", Open, "own_list_given_out"),
    ("can_promise", lambda n, new, free, b: len(n) * new <= free * b, "room_pooled"),
    ("can_promise", lambda n, new, free, b: sum(math.ceil(new / b) for _ in n) <= free, "tail_forgotten"),
    ("can_promise", lambda n, new, free, b: free - sum(-(-(each + new) // b) for each in n) >= 0, "all_blocks"),
    ("can_promise", lambda n, new, free, b: free >= sum((each + b - 1) // b for each in n), "present_only"),
]

UNRELATED = [
    ("can_promise", lambda n, new, free, b: True),
    ("blocks_needed", lambda t, b: t % b),
    ("blocks_needed", lambda t, b: float(-(-t // b))),
    ("slot_of", lambda t, p, b: None),
    ("slot_of", lambda t, p, b: (t[-1 - p // b], p % b)),
    ("waste", lambda n, b: sum(n)),
    ("gather", lambda s, t, n: in_order(s, t, n)[::-1]),
    ("gather", lambda s, t, n: in_order(s, t[::-1], n)),
    ("paged_attention", lambda q, k, v, t, n: np.zeros(q.shape)),
    ("paged_attention", attention(in_order, lambda m, keys: keys - m - 1 if keys > m else 0)),
    ("BlockPool", Leaks),
    ("BlockPool", OwnError),
    *(("BlockPool", refusing(method, answer=value_error)) for method in EVERY),
    ("BlockPool", refusing(*EVERY, answer=lambda id: [])),
    ("BlockPool", lambda num_blocks, block: None),
    ("can_promise", lambda n, new, free, b: False),
    ("can_promise", lambda n, new, free, b: int(sum(-(-(e + new) // b) - -(-e // b) for e in n) <= free)),
]


@pytest.mark.parametrize(
    ("name", "right"),
    [("BlockPool", Book), ("gather", in_order), ("paged_attention", attention(in_order, behind))],
)
@pytest.mark.parametrize("seed", range(20))
def test_the_base_of_the_variants_is_right(name, right, seed):
    assert examine(answer_of(name), 1, right, seed).right


def test_a_mistake_that_no_single_step_shows_is_found_by_random_calls():
    class Rare(Book):
        """Loses a block when a fork is freed after its parent was, and was cut to a single token."""

        def free(self, id):
            one = self.live[id]
            Book.free(self, id)
            if one["tokens"] == 1 and id == f"sequence {self.born - 1}" and self.born > 5:
                self.queue.pop()

    verdict = examine(answer_of("BlockPool"), 1, Rare, 5)
    assert verdict.case_label.startswith("random calls") and verdict.misconception == ""


def test_a_pool_that_shares_in_place_is_shown_the_token_that_was_overwritten():
    verdict = examine(answer_of("BlockPool"), 1, InPlace, 1)
    assert verdict.case_label == "a shared last block is copied before it is written"
    assert verdict.source.startswith("Avarok-Cybersecurity/atlas#692: ")
    assert "'A': [" in verdict.yours and "'blocks copied': 1" in verdict.expected


@pytest.mark.parametrize("answer", [value_error, lambda id: [], lambda id: -1], ids=["ValueError", "[]", "-1"])
@pytest.mark.parametrize("method", EVERY)
def test_each_method_must_itself_refuse_an_id_that_is_not_in_use(method, answer):
    verdict = examine(answer_of("BlockPool"), 1, refusing(method, answer=answer), 1)
    assert verdict.expected == "raises KeyError" and f"it.{method}(" in verdict.inputs[-1][1]
    assert verdict.yours == ("raises ValueError" if answer is value_error else "'no exception'")


@pytest.mark.parametrize("method", EVERY)
def test_an_id_that_was_never_given_must_be_refused_too(method):
    """The pool knows which ids it gave, and refuses no other."""

    def of(self, id, *more):
        return getattr(Book, method)(self, id, *more) if id in self.live or f"{id}".startswith("sequence") else None

    verdict = examine(answer_of("BlockPool"), 1, type("Trusting", (Book,), {method: of}), 1)
    assert verdict.yours == "'no exception'" and verdict.inputs[-1][1].startswith(f"it.{method}('Z'")


def test_a_block_for_no_token_shows_in_a_case_of_its_own():
    verdict = examine(answer_of("BlockPool"), 1, FirstBlockAtOnce, 1)
    assert verdict.case_label == "a sequence without a token holds no block" and len(verdict.yours) < 60


def test_a_promise_says_that_it_was_asked_once_for_each_number_of_free_blocks():
    verdict = examine(answer_of("can_promise"), 1, lambda *arguments: True, 1)
    assert "one call for each of free_blocks" in dict(verdict.inputs)


def test_no_order_of_free_blocks_is_preferred():
    """Free blocks from the front, from the back, or from anywhere: all right."""
    from random import Random

    class Anywhere(Book):
        def grab(self, count):
            shuffled = list(self.queue)
            Random(len(shuffled)).shuffle(shuffled)
            self.queue = deque(shuffled)
            return Book.grab(self, count)

    for seed in range(20):
        assert examine(answer_of("BlockPool"), 1, Anywhere, seed).right


test_the_same_mistake_in_other_words_gets_the_same_name, test_an_unrelated_error_is_rejected_without_a_name = (
    pair_of_tests(VARIANTS, UNRELATED)
)
