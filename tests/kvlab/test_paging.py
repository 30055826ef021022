"""The library's block pool against a model that keeps whole sequences, and paged attention against contiguous."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from autograde.answers import answer_of
from autograde.course import lesson
from autograde.judge import trace
from kvlab import masks, paging
from tests.notebooks import solutions

LESSON = lesson("07_paging")
counts = st.integers(0, 9)


@pytest.fixture(scope="module")
def learner():
    """The functions of the solution, as a learner would have written them."""
    names = {"np": np, "masks": masks}
    for source in solutions(LESSON).values():
        exec(source, names)
    return names


class PoolMachine(RuleBasedStateMachine):
    """Random calls. The model knows each sequence's tokens and nothing of blocks; the storage is this test's own."""

    sequences = Bundle("sequences")

    @initialize(num_blocks=st.integers(0, 9), block_size=st.integers(1, 5))
    def build(self, num_blocks, block_size):
        self.pool, self.block_size = paging.BlockPool(num_blocks, block_size), block_size
        self.storage = [[None] * block_size for _ in range(num_blocks)]
        self.tokens, self.freed, self.token = {}, [], 0

    def write(self, id, tokens, n):
        table = self.pool.table(id)
        for position in range(len(tokens), len(tokens) + n):
            self.storage[table[position // self.block_size]][position % self.block_size] = self.token
            tokens.append(self.token)
            self.token += 1

    def held(self):
        return Counter(block_id for id in self.tokens for block_id in self.pool.table(id))

    def books(self):
        return {id: self.pool.table(id) for id in self.tokens}, self.pool.free_blocks

    def refused(self, wanted, call):
        """Whether so many blocks are not there; then the call raises and changes nothing."""
        if wanted <= len(self.storage) - len(self.held()):
            return False
        before = self.books()
        with pytest.raises(MemoryError, match=f"{wanted} blocks wanted"):
            call()
        assert self.books() == before
        return True

    @rule(target=sequences, tokens=st.integers(0, 12))
    def allocate(self, tokens):
        if self.refused(-(-tokens // self.block_size), lambda: self.pool.allocate(tokens)):
            return None
        id = self.pool.allocate(tokens)
        assert id not in self.tokens and id not in self.freed
        self.tokens[id] = []
        self.write(id, self.tokens[id], tokens)
        return id

    @rule(id=sequences, n=st.integers(0, 8))
    def append(self, id, n):
        if id not in self.tokens:
            return
        length, table = len(self.tokens[id]), self.pool.table(id)
        due = n > 0 and length % self.block_size > 0 and self.held()[table[-1]] > 1
        wanted = -(-(length + n) // self.block_size) - len(table) + due
        if self.refused(wanted, lambda: self.pool.append(id, n)):
            return
        copies = self.pool.append(id, n)
        assert [source for source, _ in copies] == ([table[-1]] if due else [])
        for source, target in copies:
            self.storage[target] = list(self.storage[source])
        self.write(id, self.tokens[id], n)

    @rule(target=sequences, id=sequences)
    def fork(self, id):
        if id not in self.tokens:
            return None
        new = self.pool.fork(id)
        self.tokens[new] = list(self.tokens[id])
        return new

    @rule(id=sequences, share=st.floats(0, 1))
    def truncate(self, id, share):
        if id in self.tokens:
            length = len(self.tokens[id])
            with pytest.raises(ValueError, match="at most"):
                self.pool.truncate(id, length + 1)
            self.pool.truncate(id, int(share * length))
            del self.tokens[id][int(share * length) :]

    @rule(id=consumes(sequences))
    def free(self, id):
        if id in self.tokens:
            self.pool.free(id)
            del self.tokens[id]
            self.freed.append(id)

    @rule()
    def refuse_what_is_freed(self):
        for id in self.freed[-1:]:
            for call in (self.pool.free, self.pool.fork, self.pool.table, self.pool.append):
                with pytest.raises(KeyError):
                    call(id)

    @invariant()
    def every_token_is_read_back_and_every_holder_counted(self):
        for id, tokens in self.tokens.items():
            table = self.pool.table(id)
            assert len(table) == -(-len(tokens) // self.block_size)
            assert [token for block_id in table for token in self.storage[block_id]][: len(tokens)] == tokens
            table.clear()
        held = self.held()
        assert [self.pool.ref(block_id) for block_id in range(len(self.storage))] == [
            held[block_id] for block_id in range(len(self.storage))
        ]
        assert self.pool.free_blocks == len(self.storage) - len(held)


TestPool = PoolMachine.TestCase
TestPool.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_growth_as_counted_by_hand():
    pool = paging.BlockPool(5, 4)
    a, b = pool.allocate(5), pool.allocate(3)
    slots, wasted = [], []
    for length in (5, 9, 13):
        pool.append(a, 0 if length == 5 else 4)
        slots.append(4 * (len(pool.table(a)) + len(pool.table(b))))
        wasted.append(paging.waste([length, 3], 4))
    assert slots == [12, 16, 20] and wasted == [4, 4, 4]
    assert paging.slot_of([7, 2], 4, 4) == (2, 0) and paging.waste([17], 16) == 15
    small = paging.BlockPool(3, 4)
    a, b = small.allocate(5), small.allocate(3)
    assert not paging.can_promise([5, 3], 4, small.free_blocks, 4)
    with pytest.raises(MemoryError, match="1 blocks wanted, 0 of 3 are free"):
        small.append(a, 4)


def test_the_mean_and_the_worst_tail_fall_below_four_percent_where_the_lesson_says():
    def share(tokens, empty):
        return empty / (tokens + empty)

    assert share(180, 7.5) == 0.04 == share(360, 15)
    exact = {n: paging.waste([n], 16) / (n + paging.waste([n], 16)) for n in range(1, 3000)}
    assert max(n for n, wasted in exact.items() if wasted >= 0.04) == 353
    assert abs(np.mean([paging.waste([n], 16) for n in range(1, 1601)]) - 7.5) < 1e-12


@pytest.mark.parametrize(
    ("table", "queries", "seen"), [([7, 2, 5], 2, True), ([7, 2, 5], 1, False), ([5, 2, 7], 2, False)]
)
def test_a_sorted_table_shows_only_in_a_chunk_and_only_where_another_block_comes_last(table, queries, seen):
    rng = np.random.default_rng(7)
    stores, q = rng.normal(size=(2, 9, 4, 6)), rng.normal(size=(queries, 6))
    right, ordered = (paging.paged_attention(q, *stores, each, 12) for each in (table, sorted(table)))
    assert (np.abs(right - ordered).max() > 1e-3) == seen


def test_what_a_pool_can_promise_as_the_lesson_prints_it():
    most = [max(n for n in range(99) if paging.can_promise([5, 3], n, free, 4)) for free in range(5)]
    assert most == [1, 3, 5, 7, 9]


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 12), st.data())
def test_paged_attention_is_contiguous_attention_whatever_the_blocks(seed, block_size, length, data):
    rng = np.random.default_rng(seed)
    m = data.draw(st.integers(1, length))
    q, k, v = (rng.normal(size=(n, 6)) for n in (m, length, length))
    table = rng.permutation(15)[: -(-length // block_size) + 1].tolist()  # one block is held in advance
    stores = rng.normal(scale=100, size=(2, 15, block_size, 6))
    for position in range(length):
        number, offset = paging.slot_of(table, position, block_size)
        stores[:, number, offset] = k[position], v[position]
    ours = paging.paged_attention(q, *stores, table, length)
    np.testing.assert_allclose(ours, masks.masked_attention(q, k, v, length - m), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(paging.gather(stores[0], table, length), k)


def test_gather_takes_rows_of_any_shape():
    storage = np.arange(5 * 2 * 3 * 4).reshape(5, 2, 3, 4)
    assert paging.gather(storage, [3, 1], 3).shape == (3, 3, 4)
    assert (paging.gather(storage, [3, 1], 3)[2] == storage[1, 0]).all()


@given(st.lists(counts, max_size=5), counts, st.integers(1, 5))
def test_a_promise_holds_exactly_when_the_pool_can_keep_it(lengths, max_new, block_size):
    growth = sum(-(-(n + max_new) // block_size) - -(-n // block_size) for n in lengths)
    held = sum(-(-n // block_size) for n in lengths)
    for free in range(growth + 2):
        pool = paging.BlockPool(held + free, block_size)
        ids = [pool.allocate(n) for n in lengths]
        promised = paging.can_promise(lengths, max_new, free, block_size)
        try:
            for id in ids:
                pool.append(id, max_new)
            assert promised
        except MemoryError:
            assert not promised


@given(st.lists(counts, max_size=5), counts, st.integers(1, 5))
def test_the_library_and_the_solution_count_the_same(learner, lengths, tokens, block_size):
    assert learner["blocks_needed"](tokens, block_size) == paging.blocks_needed(tokens, block_size)
    assert learner["waste"](lengths, block_size) == paging.waste(lengths, block_size)
    assert learner["slot_of"]([7, 2] * 5, tokens, block_size) == paging.slot_of([7, 2] * 5, tokens, block_size)
    for free in range(6):
        arguments = (lengths, tokens, free, block_size)
        assert learner["can_promise"](*arguments) == paging.can_promise(*arguments)


@pytest.mark.parametrize("name", list(LESSON.exercises))
def test_the_library_and_the_solution_give_the_same_on_the_checks_cases(learner, name):
    """The library refuses what is no count; on everything that is asked the two agree with the oracle."""
    answer = answer_of(name)
    for seed in range(30):
        cases = answer.exercise.cases(Random(seed))
        expected = [answer.expected(case) for case in cases]
        for candidate in (learner[name], getattr(paging, name)):
            for value, wanted in zip(trace(answer, candidate, cases), expected, strict=True):
                np.testing.assert_equal(value, wanted) if answer.tolerance == 0 else np.testing.assert_allclose(
                    value, wanted, rtol=0, atol=1e-12
                )


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: paging.blocks_needed(-1, 4), ValueError, "tokens: wanted a whole number of at least 0, got -1"),
        (lambda: paging.blocks_needed(5, 0), ValueError, "block_size: wanted a whole number of at least 1, got 0"),
        (lambda: paging.blocks_needed(5.0, 4), TypeError, "tokens: wanted a whole number"),
        (lambda: paging.slot_of([7], 4, 4), IndexError, "range"),
        (lambda: paging.slot_of([7], -1, 4), ValueError, "position: wanted"),
        (lambda: paging.gather(np.ones((3, 2, 1)), [0], 3), ValueError, "1 blocks of 2 slots cannot hold 3 tokens"),
        (lambda: paging.can_promise([3], -1, 1, 4), ValueError, "max_new: wanted"),
        (lambda: paging.can_promise([3], 1, -1, 4), ValueError, "free_blocks: wanted"),
        (lambda: paging.BlockPool(3, 0), ValueError, "block_size: wanted"),
        (lambda: paging.BlockPool(3, 4).allocate(-1), ValueError, "tokens: wanted"),
        (lambda: paging.BlockPool(3, 4).append(0), KeyError, "0"),
    ],
)
def test_what_has_no_answer_is_refused_with_a_sentence(call, error, said):
    with pytest.raises(error, match=said):
        call()
