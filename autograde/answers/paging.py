"""Lesson 07: what is right, by walking from slot to slot, and the mistakes that people make with block tables.

The oracle of the pool keeps no free list and no counts: a block is free when no table names it, and its count is the
number of tables that do.
"""

import math

import numpy as np

from autograde.exercise import Answer, Case, Misconception
from autograde.exercises.paging import EXERCISES, _run_pool

ATOL = 1e-12

# ---------------------------------------------------------------------------
# Oracles


def _blocks(case: Case) -> int:
    tokens, block = case.inputs.values()
    full, rest = divmod(tokens, block)
    return full + (rest > 0)


def _walk(table: list[int], block: int) -> list[tuple[int, int]]:
    """All slots of a sequence in the order of its positions."""
    return [(each, offset) for each in table for offset in range(block)]


def _slot(case: Case) -> list[int]:
    table, position, block = case.inputs.values()
    return list(_walk(table, block)[position])


def _wasted(case: Case) -> int:
    lengths, block = case.inputs.values()
    return sum(-length % block for length in lengths)


def _rows(storage: list, table: list[int], length: int) -> np.ndarray:
    return np.array([storage[block][offset] for block, offset in _walk(table, len(storage[0]))[:length]])


def _gathered(case: Case) -> np.ndarray:
    return _rows(*case.inputs.values())


def _attended(case: Case) -> np.ndarray:
    """One query after the other, each over the keys up to its own, with exactly rounded sums."""
    q, storage_k, storage_v, table, length = case.inputs.values()
    keys, values = _rows(storage_k, table, length), _rows(storage_v, table, length)
    out = []
    for row, query in enumerate(q):
        seen = length - len(q) + row + 1
        scores = [math.fsum(a * b for a, b in zip(query, key, strict=True)) for key in keys[:seen]]
        weights = [math.exp((score - max(scores)) / math.sqrt(len(query))) for score in scores]
        mixed = zip(*values[:seen], strict=True)
        out.append(
            [math.fsum(w * v for w, v in zip(weights, each, strict=True)) / math.fsum(weights) for each in mixed]
        )
    return np.array(out)


class _ByTables:
    """A pool without books: everything is read off the tables."""

    def __init__(self, num_blocks, block):
        self.num_blocks, self.block = num_blocks, block
        self.tables, self.lengths, self.given = {}, {}, 0

    def ref(self, block):
        return sum(table.count(block) for table in self.tables.values())

    def table(self, id):
        return self.tables[id][:]

    def unused(self, count):
        held = set().union(*self.tables.values())
        free = [block for block in range(self.num_blocks) if block not in held]
        if count > len(free):
            raise MemoryError
        return free[:count]

    def add(self, table, length):
        id, self.given = self.given, self.given + 1
        self.tables[id], self.lengths[id] = table, length
        return id

    def allocate(self, tokens):
        return self.add(self.unused(math.ceil(tokens / self.block)), tokens)

    def fork(self, id):
        return self.add(self.tables[id][:], self.lengths[id])

    def free(self, id):
        del self.tables[id], self.lengths[id]

    def truncate(self, id, n):
        if not 0 <= n <= self.lengths[id]:
            raise ValueError
        self.tables[id], self.lengths[id] = self.tables[id][: math.ceil(n / self.block)], n

    def append(self, id, n=1):
        table, length = self.tables[id], self.lengths[id]
        keep = table[: length // self.block]  # the full blocks
        tail = table[len(keep) :]
        copy = bool(n and tail and self.ref(tail[0]) > 1)
        new = self.unused(math.ceil((length + n) / self.block) - len(table) + copy)
        self.tables[id], self.lengths[id] = (keep if copy else table) + new, length + n
        return [(tail[0], new[0])] if copy else []


def _pool_values(case: Case) -> object:
    return _run_pool(_ByTables, case)


def _promises(case: Case) -> list[bool]:
    """Grow every sequence token by token, and count the new blocks."""
    lengths, max_new, free, block = case.inputs.values()
    new = sum(position % block == 0 for length in lengths for position in range(length, length + max_new))
    return [new <= each for each in free]


# ---------------------------------------------------------------------------
# Functions, right and wrong


def _ceil(tokens, block):
    return (tokens + block - 1) // block


def _count_up(tokens, block):
    count = tokens // block
    return count if count * block == tokens else count + 1


def _find_slot(table, position, block):
    """Right: step over whole blocks."""
    for each in table:
        if position < block:
            return each, position
        position -= block
    raise IndexError


def _slot_by_divmod(table, position, block):
    row, offset = divmod(position, block)
    return table[row], offset


def _slot_by_array(table, position, block):
    slots = np.add.outer(np.array(table) * block, np.arange(block)).reshape(-1)
    return divmod(int(slots[position]), block)


def _gather_rows(storage, table, length):
    block = storage.shape[1]
    return np.array([storage[table[p // block], p % block] for p in range(length)])


def _gather_blocks(storage, table, length):
    return np.concatenate([storage[each] for each in table])[:length]


def _gather_flat(storage, table, length):
    block, width = storage.shape[1:]
    slots = (np.array(table)[:, None] * block + np.arange(block)).reshape(-1)
    return storage.reshape(-1, width)[slots[:length]]


def _gather_sorted(storage, table, length):
    return _gather_blocks(storage, sorted(table), length)


def _gather_adjacent(storage, table, length):
    return np.roll(storage, -table[0], axis=0).reshape(-1, storage.shape[2])[:length]


def _attention(gather=_gather_flat, mask="causal", scale=True, values_of="v", tail=False):
    """Attention over gathered rows, right as it stands; each argument is a mistake."""

    def paged_attention(q, storage_k, storage_v, table, length):
        held = len(table) * storage_k.shape[1] if tail else length
        k = gather(storage_k, table, held)
        v = gather(storage_v if values_of == "v" else storage_k, table, held)
        scores = q @ k.T / (np.sqrt(q.shape[1]) if scale else 1)
        queries = np.arange(len(q))[:, None] + {"causal": held - len(q), "top left": 0, "none": held}[mask]
        scores = np.where(np.arange(held) <= queries, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights @ v / weights.sum(axis=1, keepdims=True)

    return paged_attention


def _attention_block_by_block(q, storage_k, storage_v, table, length):
    """Right: running maximum and sum over blocks, and nothing is gathered."""
    block, width = storage_k.shape[1:]
    positions = np.arange(length - len(q), length)[:, None]
    top, total, mixed = np.full((len(q), 1), -np.inf), np.zeros((len(q), 1)), np.zeros((len(q), width))
    for row, each in enumerate(table):
        keys = row * block + np.arange(block)
        scores = np.where(keys <= positions, q @ storage_k[each].T / np.sqrt(width), -np.inf)
        new = np.maximum(top, scores.max(axis=1, keepdims=True))
        weights, fade = np.exp(scores - new), np.exp(top - new)
        total, mixed = total * fade + weights.sum(axis=1, keepdims=True), mixed * fade + weights @ storage_v[each]
        top = new
    return mixed / total


def _growth(lengths, max_new, block):
    return sum(_ceil(length + max_new, block) - _ceil(length, block) for length in lengths)


def _promise_by_room(lengths, max_new, free_blocks, block):
    """Right: what the last block's room does not take needs new blocks."""
    return sum(_ceil(max(0, max_new - -length % block), block) for length in lengths) <= free_blocks


def _promise_in_turn(lengths, max_new, free_blocks, block):
    for length in lengths:
        free_blocks -= _ceil(length + max_new, block) - _ceil(length, block)
    return free_blocks >= 0


def _promise(needed):
    """A promise from the number of blocks that it is thought to need."""
    return lambda lengths, max_new, free, block: needed(lengths, max_new, block) <= free


# ---------------------------------------------------------------------------
# Pools: two right ones, and the base that wrong ones change in one place


class _Stack:
    """Right: a stack of free blocks and a list of counts."""

    def __init__(self, num_blocks, block):
        self.block = block
        self.unused = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.tables, self.lengths, self.given = {}, {}, 0

    def needed(self, tokens):
        return _ceil(tokens, self.block)

    def take(self, count):
        if count > len(self.unused):
            raise MemoryError(f"{count} blocks wanted, {len(self.unused)} free")
        return [self.take_one() for _ in range(count)]

    def take_one(self):
        if not self.unused:
            raise MemoryError("no free block")
        block = self.unused.pop()
        self.counts[block] = 1
        return block

    def release(self, block):
        self.counts[block] -= 1
        if self.counts[block] == 0:
            self.unused.append(block)

    def new_id(self):
        self.given += 1
        return self.given

    def add(self, table, length):
        id = self.new_id()
        self.tables[id], self.lengths[id] = table, length
        return id

    def allocate(self, tokens):
        return self.add(self.take(self.needed(tokens)), tokens)

    def must_copy(self, id, n):
        table = self.tables[id]
        return n > 0 and self.lengths[id] % self.block > 0 and self.counts[table[-1]] > 1

    def append(self, id, n=1):
        table, length = self.tables[id], self.lengths[id]
        copy = self.must_copy(id, n)
        new = self.take(max(0, self.needed(length + n) - len(table)) + copy)
        self.lengths[id] = length + n
        copies = []
        if copy:
            copies = [(table[-1], new[0])]
            self.leave(table.pop())
        table += new
        return copies

    def leave(self, block):
        """What becomes of a block that was copied."""
        self.release(block)

    def fork(self, id):
        for block in self.tables[id]:
            self.counts[block] += 1
        return self.add(list(self.tables[id]), self.lengths[id])

    def truncate(self, id, n):
        if n > self.lengths[id]:
            raise ValueError(f"there are only {self.lengths[id]} tokens")
        table = self.tables[id]
        while len(table) > self.needed(n):
            self.drop(table.pop())
        self.lengths[id] = n

    def drop(self, block):
        """What becomes of a block that truncation leaves empty."""
        self.release(block)

    def free(self, id):
        for block in self.tables.pop(id):
            self.release(block)
        del self.lengths[id]

    def table(self, id):
        return list(self.tables[id])

    def ref(self, block):
        return self.counts[block]


class _Queue:
    """Right: blocks are handed out in a round, and each knows the sequences that hold it."""

    def __init__(self, num_blocks, block):
        self.size, self.sequences, self.ids, self.next = block, {}, iter(range(7, 10**9)), 0
        self.holders = [set() for _ in range(num_blocks)]

    def _find(self, count):
        around = [(self.next + i) % len(self.holders) for i in range(len(self.holders))]
        free = [block for block in around if not self.holders[block]]
        if len(free) < count:
            raise MemoryError
        if count:
            self.next = free[count - 1] + 1
        return free[:count]

    def _hold(self, id, blocks):
        for block in blocks:
            self.holders[block].add(id)

    def _start(self, blocks, length):
        id = next(self.ids)
        self._hold(id, blocks)
        self.sequences[id] = [blocks, length]
        return id

    def allocate(self, tokens):
        return self._start(self._find(-(-tokens // self.size)), tokens)

    def append(self, id, n=1):
        blocks, length = self.sequences[id]
        room = len(blocks) * self.size - length
        copy = n > 0 < room and len(self.holders[blocks[-1]]) > 1
        found = self._find(max(0, -(-(n - room) // self.size)) + copy)
        self._hold(id, found)
        self.sequences[id][1] += n
        if not copy:
            blocks.extend(found)
            return []
        shared = blocks[-1]
        self.holders[shared].remove(id)
        blocks[-1:] = found
        return [(shared, found[0])]

    def fork(self, id):
        blocks, length = self.sequences[id]
        return self._start(blocks.copy(), length)

    def truncate(self, id, n):
        blocks, length = self.sequences[id]
        if n > length:
            raise ValueError
        keep = -(-n // self.size)
        for block in blocks[keep:]:
            self.holders[block].remove(id)
        self.sequences[id] = [blocks[:keep], n]

    def free(self, id):
        for block in self.sequences.pop(id)[0]:
            self.holders[block].remove(id)

    def table(self, id):
        return tuple(self.sequences[id][0])

    def ref(self, block):
        return len(self.holders[block])


class _BlockEarly(_Stack):
    def needed(self, tokens):
        return tokens // self.block + 1


class _BlockLate(_Stack):
    """`append` looks for a new block only when the table is a token too short already."""

    def append(self, id, n=1):
        copies = super().append(id, 0)
        copy = self.must_copy(id, n)
        table, length = self.tables[id], self.lengths[id]
        new = self.take(max(0, self.needed(length + n - 1) - len(table)) + copy)
        if copy:
            copies = [(table[-1], new[0])]
            self.leave(table.pop())
        table += new
        self.lengths[id] = length + n
        return copies


class _SharedTail(_Stack):
    def must_copy(self, id, n):
        return False


class _NotReported(_Stack):
    def append(self, id, n=1):
        super().append(id, n)
        return []


class _CopyBackwards(_Stack):
    def append(self, id, n=1):
        return [(target, source) for source, target in super().append(id, n)]


class _CopiesFullBlocks(_Stack):
    def must_copy(self, id, n):
        table = self.tables[id]
        return n > 0 < len(table) and self.counts[table[-1]] > 1


class _CopiesForNothing(_Stack):
    """Copies although no token comes."""

    def must_copy(self, id, n):
        table = self.tables[id]
        return self.lengths[id] % self.block > 0 and self.counts[table[-1]] > 1


class _OnceSharedAlwaysCopied(_Stack):
    def __init__(self, num_blocks, block):
        super().__init__(num_blocks, block)
        self.forked = set()

    def fork(self, id):
        new = super().fork(id)
        self.forked |= {id, new}
        return new

    def must_copy(self, id, n):
        copy = n > 0 and self.lengths[id] % self.block > 0 and id in self.forked
        if copy:
            self.forked.remove(id)
        return copy


class _CopyKeepsCount(_Stack):
    def leave(self, block):
        pass


class _CopyNotCounted(_Stack):
    def take(self, count):
        if count > len(self.unused):
            raise MemoryError
        return [self.unused.pop() for _ in range(count)]

    def append(self, id, n=1):
        table, length, copies = self.tables[id], self.lengths[id], []
        copy = self.must_copy(id, n)
        new = self.take(self.needed(length + n) - len(table))
        if copy:
            target = self.unused.pop()
            self.counts[target] = 1
            copies = [(table[-1], target)]
            self.release(table[-1])
            table[-1] = target
        for block in new:
            self.counts[block] = 1
        table += new
        self.lengths[id] = length + n
        return copies

    def allocate(self, tokens):
        table = self.take(self.needed(tokens))
        for block in table:
            self.counts[block] = 1
        return self.add(table, tokens)


class _CopyTakenAfter(_Stack):
    """Blocks are counted as they are taken, and nothing is left for the copy."""

    def append(self, id, n=1):
        table, length, copies = self.tables[id], self.lengths[id], []
        copy = self.must_copy(id, n)
        new = self.take(self.needed(length + n) - len(table))
        if copy:
            target = self.take_copy()
            copies = [(table[-1], target)]
            self.release(table[-1])
            table[-1] = target
        table += new
        self.lengths[id] = length + n
        return copies

    def take_copy(self):
        block = self.unused.pop()
        self.counts[block] = 1
        return block


class _CopyRefusedLate(_CopyTakenAfter):
    def take_copy(self):
        return self.take_one()


class _CopiedThenRefused(_Stack):
    """The copy is made before anybody asks whether the blocks for the new tokens are there."""

    def append(self, id, n=1):
        table, length, copies = self.tables[id], self.lengths[id], []
        if self.must_copy(id, n):
            target = self.take_one()
            copies = [(table[-1], target)]
            self.release(table[-1])
            table[-1] = target
        table += self.take(self.needed(length + n) - len(table))
        self.lengths[id] = length + n
        return copies


class _FreedAtCountOne(_Stack):
    def release(self, block):
        self.counts[block] -= 1
        if self.counts[block] <= 1:
            self.unused.append(block)


class _FreedOnlyAtCountOne(_Stack):
    def release(self, block):
        self.counts[block] -= 1
        if self.counts[block] == 1:
            self.unused.append(block)


class _FreeZeroesCounts(_Stack):
    def free(self, id):
        for block in self.tables.pop(id):
            self.counts[block] = 0
            self.unused.append(block)
        del self.lengths[id]


class _FreedWhateverTheCount(_Stack):
    def release(self, block):
        self.counts[block] -= 1
        self.unused.append(block)


class _ForkCountsNothing(_Stack):
    def fork(self, id):
        return self.add(list(self.tables[id]), self.lengths[id])


class _ForkCopies(_Stack):
    """Blocks of its own from the start, which nobody filled."""

    def fork(self, id):
        return self.allocate(self.lengths[id])


class _ForkIsTheSameList(_Stack):
    def fork(self, id):
        for block in self.tables[id]:
            self.counts[block] += 1
        return self.add(self.tables[id], self.lengths[id])


class _DoubleFree(_Stack):
    """The table stays, so that a second call frees the blocks again."""

    def free(self, id):
        for block in self.tables[id]:
            self.counts[block] = max(0, self.counts[block] - 1)
            if self.counts[block] == 0:
                self.unused.append(block)


class _FreeTwiceUnnoticed(_Stack):
    def free(self, id):
        if id in self.tables:
            super().free(id)


class _PartialAllocation(_Stack):
    """Block by block, until there is none; those taken so far are lost."""

    def take(self, count):
        return [self.take_one() for _ in range(count)]


class _TakenUncounted(_Stack):
    """Block by block too; the counts follow when all are there, so that those lost look free."""

    def take(self, count):
        blocks = []
        for _ in range(count):
            if not self.unused:
                raise MemoryError
            blocks.append(self.unused.pop())
        for block in blocks:
            self.counts[block] = 1
        return blocks


class _NobodyAsksForRoom(_Stack):
    def take_one(self):
        block = self.unused.pop()
        self.counts[block] = 1
        return block

    def take(self, count):
        return [self.take_one() for _ in range(count)]


class _PartialTable(_Stack):
    """`append` lengthens the table block by block, until there is none."""

    def append(self, id, n=1):
        table, length, copies = self.tables[id], self.lengths[id], []
        if self.must_copy(id, n):
            copies = [(table[-1], self.take_one())]
            self.release(table[-1])
            table[-1] = copies[0][1]
        while len(table) < self.needed(length + n):
            table.append(self.take_one())
        self.lengths[id] = length + n
        return copies


class _PartialAppend(_Stack):
    """Token by token, until there is no block; the tokens before that stay."""

    def append(self, id, n=1):
        return [copy for _ in range(n) for copy in super(_PartialAppend, self).append(id, 1)]


class _TruncateKeepsBlocks(_Stack):
    def truncate(self, id, n):
        if n > self.lengths[id]:
            raise ValueError
        self.lengths[id] = n


class _TruncateChangesTheLength(_Stack):
    def truncate(self, id, n):
        self.lengths[id] = n


class _TruncateBeyondTheEnd(_Stack):
    def truncate(self, id, n):
        self.lengths[id] = max(n, self.lengths[id])
        super().truncate(id, n)


class _TruncateIgnoresCount(_Stack):
    def drop(self, block):
        self.counts[block] = 0
        self.unused.append(block)


class _TruncateDropsN(_Stack):
    """Takes n for the number of tokens to drop."""

    def truncate(self, id, n):
        super().truncate(id, max(0, self.lengths[id] - n))


class _IdIsCount(_Stack):
    def new_id(self):
        return len(self.tables)


class _OldIdAgain(_Stack):
    def new_id(self):
        return next(id for id in range(len(self.tables) + 1) if id not in self.tables)


class _HighestIdAgain(_Stack):
    def new_id(self):
        return max(self.tables, default=-1) + 1


class _EmptyHoldsBlock(_Stack):
    def allocate(self, tokens):
        return self.add(self.take(max(1, self.needed(tokens))), tokens)


class _OtherError(_Stack):
    """Refuses an id that is not in use, but not as was agreed."""

    def known(self, id):
        if id not in self.tables:
            raise ValueError(f"no sequence {id}")

    def append(self, id, n=1):
        self.known(id)
        return super().append(id, n)

    def fork(self, id):
        self.known(id)
        return super().fork(id)

    def truncate(self, id, n):
        self.known(id)
        super().truncate(id, n)

    def free(self, id):
        self.known(id)
        super().free(id)

    def table(self, id):
        self.known(id)
        return super().table(id)


class _AppendToNobody(_Stack):
    def append(self, id, n=1):
        return super().append(id, n) if id in self.tables else []


class _ForkOfNobody(_Stack):
    def fork(self, id):
        return super().fork(id) if id in self.tables else -1


class _TruncateNobody(_Stack):
    def truncate(self, id, n):
        if id in self.tables:
            super().truncate(id, n)


class _TableOfNobody(_Stack):
    def table(self, id):
        return list(self.tables.get(id, []))


class _OwnList(_Stack):
    def table(self, id):
        return self.tables[id]


# ---------------------------------------------------------------------------

_blocks_needed, _slot_of, _waste, _gather, _paged_attention, _pool, _can_promise = EXERCISES

ANSWERS = (
    Answer(
        exercise=_blocks_needed,
        expected=_blocks,
        misconceptions=(
            Misconception(
                "floor_division",
                lambda tokens, block: tokens // block,
                "Did you round down, so that the last tokens have no block?",
                (
                    "How many blocks do 5 tokens need when a block holds 4?",
                    "`//` rounds down; a block that is filled in part is a whole block.",
                    "Round up: -(-tokens // block).",
                ),
            ),
            Misconception(
                "one_more",
                lambda tokens, block: tokens // block + 1,
                "Did you add a block even where the last one is exactly full?",
                (
                    "How many blocks do 8 tokens need when a block holds 4?",
                    "One more is right only where a remainder is left.",
                    "Round up: -(-tokens // block).",
                ),
                "https://github.com/GeeeekExplorer/nano-vllm/issues/30",
            ),
            Misconception(
                "one_token_late",
                lambda tokens, block: max(0, -(-(tokens - 1) // block)),
                "Does the token that opens a new block still count as part of the full one?",
                (
                    "How many blocks do 9 tokens need when a block holds 4?",
                    "Position 8 is the first of the third block.",
                    "Round tokens ÷ block up, not (tokens − 1) ÷ block.",
                ),
                "https://github.com/Wenyueh/MinivLLM/issues/75",
            ),
            Misconception(
                "at_least_one",
                lambda tokens, block: max(1, _ceil(tokens, block)),
                "Does a sequence without a token hold a block?",
                (
                    "What is stored for no token?",
                    "Zero is a length like any other.",
                    "-(-0 // block) is 0: no maximum is needed.",
                ),
            ),
            Misconception(
                "rounded",
                lambda tokens, block: (2 * tokens + block) // (2 * block),
                "Did you round to the nearest whole number, instead of up?",
                (
                    "What happens to a block that is filled to a third?",
                    "Even one token needs a block.",
                    "Round up: -(-tokens // block).",
                ),
            ),
            Misconception(
                "through_float",
                lambda tokens, block: math.ceil(tokens / block),
                "Did you divide with `/`, which is not exact for large integers?",
                (
                    "What is (2**60 + 1) / 16 in Python?",
                    "A float holds 53 bits. Stay with whole numbers.",
                    "-(-tokens // block), without `/`.",
                ),
            ),
            Misconception(
                "slots",
                lambda tokens, block: _ceil(tokens, block) * block,
                "Did you return slots, where blocks were asked for?",
                (
                    "In which unit is your number?",
                    "A block holds `block` slots.",
                    "Leave out the factor `block`.",
                ),
            ),
        ),
        alternatives=(_ceil, _count_up),
        hints=(
            "How many full blocks are there, and is a token left over?",
            "A remainder needs one more block.",
            "Round the quotient up without `/`: -(-tokens // block).",
        ),
    ),
    Answer(
        exercise=_slot_of,
        expected=_slot,
        misconceptions=(
            Misconception(
                "physical_order",
                lambda table, position, block: _find_slot(sorted(table), position, block),
                "Did you put the blocks into the order of their numbers?",
                (
                    "Which block of the table [7, 2] holds the first token?",
                    "A block's number says where it lies; the order of tokens is the order of the table.",
                    "Take table[row] and sort nothing.",
                ),
            ),
            Misconception(
                "adjacent",
                lambda table, position, block: (table[0] + position // block, position % block),
                "Did you count on from the first block, as if the blocks lay side by side?",
                (
                    "Which entries of the table does your answer read?",
                    "Block 7 is followed by whatever the pool had free.",
                    "The row is position // block; look it up: table[row].",
                ),
            ),
            Misconception(
                "row_for_block",
                lambda table, position, block: divmod(position, block),
                "Did you return the row of the table, instead of the block that stands there?",
                (
                    "Did you use the table at all?",
                    "position // block says where to look in the table.",
                    "Return table[position // block].",
                ),
            ),
            Misconception(
                "from_one",
                lambda table, position, block: _find_slot(table, max(0, position - 1), block),
                "Did you count positions from 1?",
                (
                    "Where does the token at position 0 lie?",
                    "Positions count from 0, so a new block begins at position `block`.",
                    "Use position // block and position % block as they are.",
                ),
            ),
            Misconception(
                "swapped",
                lambda table, position, block: _find_slot(table, position, block)[::-1],
                "Did you return the offset before the block?",
                (
                    "Which of your two numbers stands in the table?",
                    "The block comes first, then the offset in it.",
                    "return table[…], position % block.",
                ),
            ),
            Misconception(
                "quotient_and_remainder_exchanged",
                lambda table, position, block: (table[position % block % len(table)], position // block),
                "Did you exchange quotient and remainder?",
                (
                    "Do neighbouring tokens of yours lie in different blocks?",
                    "The quotient counts blocks, the remainder the place inside one.",
                    "table[position // block], position % block.",
                ),
            ),
            Misconception(
                "slot_number",
                lambda table, position, block: (
                    (table[position // block], table[position // block] * block)
                    if position % block == 0
                    else (table[position // block], table[position // block] * block + position % block)
                ),
                "Is your second number a place in the whole storage, instead of in the block?",
                (
                    "How large may an offset be?",
                    "Offsets run from 0 to block - 1.",
                    "The offset is position % block alone.",
                ),
            ),
        ),
        alternatives=(_find_slot, _slot_by_array, _slot_by_divmod),
        hints=(
            "How many whole blocks lie before this position?",
            "The quotient finds the row of the table, the remainder the place inside the block.",
            "return table[position // block], position % block.",
        ),
    ),
    Answer(
        exercise=_waste,
        expected=_wasted,
        misconceptions=(
            Misconception(
                "in_blocks",
                lambda lengths, block: sum(length % block > 0 for length in lengths),
                "Did you count blocks that are not full, instead of empty slots?",
                (
                    "In which unit is your number?",
                    "A block with one empty slot wastes less than one with ten.",
                    "Count slots: held minus stored, for each sequence.",
                ),
            ),
            Misconception(
                "tails_shared",
                lambda lengths, block: -sum(lengths) % block,
                "Did you add the lengths first, as if the sequences shared their last blocks?",
                (
                    "May two sequences write into one block?",
                    "Each sequence rounds up for itself.",
                    "Sum over the sequences: blocks × block − length.",
                ),
            ),
            Misconception(
                "full_block_wasted",
                lambda lengths, block: sum(block - length % block for length in lengths),
                "Does a full last block count as empty?",
                (
                    "What is block - length % block where the length is a multiple?",
                    "A remainder of 0 means that nothing is wasted.",
                    "Round up and subtract, or take -length % block.",
                ),
            ),
            Misconception(
                "to_the_longest",
                lambda lengths, block: sum(_ceil(max(lengths), block) * block - length for length in lengths),
                "Did you give every sequence as many blocks as the longest one needs?",
                (
                    "How many blocks does the shortest sequence hold?",
                    "That is what a padded batch does; a table is as long as its own sequence.",
                    "Round each length up by itself.",
                ),
            ),
            Misconception(
                "held_slots",
                lambda lengths, block: sum(_ceil(length, block) * block for length in lengths),
                "Did you return the slots that are held, without taking away those in use?",
                (
                    "What does your answer give for full blocks?",
                    "Waste is what is held and not used.",
                    "Subtract the length of each sequence.",
                ),
            ),
            Misconception(
                "rest_of_the_tail",
                lambda lengths, block: sum(length % block for length in lengths),
                "Did you count the tokens in the last block, instead of its empty slots?",
                (
                    "Seventeen tokens in blocks of 16: how many slots of the second block are empty?",
                    "length % block slots of the last block are in use.",
                    "-length % block is what is missing to the next multiple.",
                ),
            ),
        ),
        alternatives=(
            lambda lengths, block: sum(_ceil(length, block) * block - length for length in lengths),
            lambda lengths, block: sum(-length % block for length in lengths),
        ),
        hints=(
            "How many slots does one sequence hold, and how many of them does it use?",
            "Use your blocks_needed for each sequence by itself.",
            "The sum of blocks_needed(length, block) * block - length.",
        ),
    ),
    Answer(
        exercise=_gather,
        expected=_gathered,
        misconceptions=(
            Misconception(
                "physical_order",
                _gather_sorted,
                "Did you read the blocks in the order of their numbers?",
                (
                    "Which block of the table holds the first token?",
                    "The table is in the order of the tokens; storage is in no order.",
                    "Index with the table as it is: storage[table].",
                ),
            ),
            Misconception(
                "adjacent",
                _gather_adjacent,
                "Did you read on from the first block, as if the others lay behind it?",
                (
                    "Which entries of the table does your answer read?",
                    "What lies behind a block belongs to anybody.",
                    "Index with the whole table: storage[table].",
                ),
            ),
            Misconception(
                "tail_kept",
                lambda storage, table, length: _gather_blocks(storage, table, None),
                "Did you return whole blocks, with slots that hold no token of this sequence?",
                (
                    "How many rows did you return, and how many tokens are there?",
                    "The slots behind the last token hold whatever was there before.",
                    "Cut to the first `length` rows: [:length].",
                ),
            ),
            Misconception(
                "blocks_not_joined",
                lambda storage, table, length: storage[table],
                "Did you leave the rows in their blocks, in an array of three dimensions?",
                (
                    "What is the shape of storage[table]?",
                    "One row per token is wanted: (length, dh).",
                    "Reshape to (-1, dh), then cut to the length.",
                ),
            ),
            Misconception(
                "offsets_first",
                lambda storage, table, length: storage[table].swapaxes(0, 1).reshape(-1, storage.shape[2])[:length],
                "Did you take the first slot of every block, then the second of every block?",
                (
                    "Which token comes after the one in the first slot of the first block?",
                    "A block is filled before the next one begins.",
                    "storage[table].reshape(-1, dh) has the rows in the right order.",
                ),
            ),
            Misconception(
                "last_rows",
                lambda storage, table, length: _gather_blocks(storage, table, None)[-length:],
                "Did you keep the last rows, instead of the first?",
                (
                    "On which side of the last block are its empty slots?",
                    "A block is filled from offset 0 on.",
                    "[:length], not [-length:].",
                ),
            ),
        ),
        alternatives=(_gather_rows, _gather_blocks, _gather_flat),
        hints=(
            "What does storage[table] give when the table is a list?",
            "Its rows are in the right order, block after block; only the shape and the end are wrong.",
            "storage[table].reshape(-1, storage.shape[-1])[:length].",
        ),
        tolerance=ATOL,
    ),
    Answer(
        exercise=_paged_attention,
        expected=_attended,
        misconceptions=(
            Misconception(
                "tail_attended",
                _attention(tail=True),
                "Do your queries see the empty slots behind the last token?",
                (
                    "How many keys does the newest token see?",
                    "A whole block was read, but not all of it belongs to this sequence.",
                    "Gather `length` rows, no more.",
                ),
            ),
            Misconception(
                "physical_order",
                _attention(_gather_sorted),
                "Did you read the blocks in the order of their numbers?",
                (
                    "Which tokens may the first query of a chunk see?",
                    "One query and full blocks hide this mistake: no order matters there. A mask needs positions.",
                    "Use the table as it is.",
                ),
            ),
            Misconception(
                "top_left",
                _attention(mask="top left"),
                "Did you forget, in the mask, the tokens that are stored before the chunk?",
                (
                    "At which position stands the first of m queries, when `length` tokens are stored?",
                    "Lesson 04: behind c cached tokens the queries stand at c to c + m − 1.",
                    "c is length − m.",
                ),
            ),
            Misconception(
                "no_mask",
                _attention(mask="none"),
                "Can a query of the chunk see the tokens after it?",
                (
                    "Which keys may the first of two queries see?",
                    "All but the last: that token came after it.",
                    "Mask as in lesson 04, with length − len(q) cached tokens.",
                ),
            ),
            Misconception(
                "unscaled",
                _attention(scale=False),
                "Did you leave the scores undivided by √dh?",
                (
                    "What stands between q·k and the softmax?",
                    "Scores are divided by the square root of the head width.",
                    "q @ k.T / np.sqrt(q.shape[-1]).",
                ),
            ),
            Misconception(
                "keys_for_values",
                _attention(values_of="k"),
                "Did you read the values out of the storage of the keys?",
                (
                    "How often does storage_v occur in your answer?",
                    "One table serves two storages.",
                    "v = gather(storage_v, table, length).",
                ),
            ),
        ),
        alternatives=(_attention(), _attention_block_by_block),
        hints=(
            "Where are the rows of K and V, and in which order do you need them?",
            "Gather both with your gather; then it is lesson 04's attention on a cache.",
            "masks.masked_attention(q, gather(storage_k, table, length), gather(storage_v, …), length - len(q)).",
        ),
        tolerance=ATOL,
    ),
    Answer(
        exercise=_pool,
        expected=_pool_values,
        misconceptions=(
            Misconception(
                "block_early",
                _BlockEarly,
                "Does a sequence get its next block while the last one is exactly full?",
                (
                    "How many blocks does a sequence of exactly one block hold?",
                    "A block is needed by the token that goes into it, not by the one before.",
                    "A table always has blocks_needed(length, block) entries.",
                ),
                "https://github.com/GeeeekExplorer/nano-vllm/issues/30",
            ),
            Misconception(
                "block_late",
                _BlockLate,
                "Does a sequence get a new block one token too late?",
                (
                    "Where does the first token behind a full block go?",
                    "That token itself needs the block.",
                    "After append the table has blocks_needed(length + n, block) entries.",
                ),
                "https://github.com/Wenyueh/MinivLLM/issues/75",
            ),
            Misconception(
                "shared_tail_in_place",
                _SharedTail,
                "Is a last block written in place although another sequence holds it too?",
                (
                    "After a fork, whose are the empty slots of the last block?",
                    "Both would write their next token into the same slot.",
                    "If the last block has room and ref > 1, take a new block, and return the copy to make.",
                ),
                "https://github.com/Avarok-Cybersecurity/atlas/issues/692",
            ),
            Misconception(
                "copy_not_reported",
                _NotReported,
                "Does the table change to a new block without a word to the owner of the storage?",
                (
                    "How does whoever writes tokens learn that a block must be copied first?",
                    "The new block is empty; the pool does not hold the tokens.",
                    "Return [(source, target)] from append.",
                ),
            ),
            Misconception(
                "copy_backwards",
                _CopyBackwards,
                "Did you return (target, source), so that the shared block is overwritten?",
                (
                    "Which of the two blocks holds tokens?",
                    "The source is the shared block, the target the new one.",
                    "Return [(old, new)].",
                ),
            ),
            Misconception(
                "full_block_copied",
                _CopiesFullBlocks,
                "Did you copy a shared block that is full?",
                (
                    "Is anything written into a full block?",
                    "A full block never changes, so it can be shared for good.",
                    "Copy only where length % block is not 0.",
                ),
            ),
            Misconception(
                "copied_for_nothing",
                _CopiesForNothing,
                "Is a block copied although no token comes?",
                (
                    "What has to be written when n is 0?",
                    "A copy is made for a write.",
                    "Ask for n > 0 before you copy.",
                ),
            ),
            Misconception(
                "copied_by_last_holder",
                _OnceSharedAlwaysCopied,
                "Is a block copied although nobody else holds it any more?",
                (
                    "Who holds the block after the other sequence was freed?",
                    "That a block was shared once does not matter. How many hold it now?",
                    "Copy where ref(block) > 1, and nowhere else.",
                ),
            ),
            Misconception(
                "copy_keeps_count",
                _CopyKeepsCount,
                "After a copy, does the shared block still count the sequence that left it?",
                (
                    "Which table names the shared block after the copy?",
                    "The writer has a block of its own now.",
                    "Lower the count of the source by one.",
                ),
            ),
            Misconception(
                "copy_not_counted",
                _CopyNotCounted,
                "Did you forget the block for the copy when you asked whether enough are free?",
                (
                    "How many blocks does a write into a shared last block take?",
                    "The copy needs one, besides those for new tokens.",
                    "Ask for new blocks plus one where there is a copy, before anything changes.",
                ),
            ),
            Misconception(
                "copy_taken_unasked",
                _CopyTakenAfter,
                "Is a block for the copy taken without a look whether one is free?",
                (
                    "How many blocks does a write into a shared last block take?",
                    "The copy needs one, besides those for new tokens.",
                    "Ask for new blocks plus one where there is a copy, before anything changes.",
                ),
            ),
            Misconception(
                "copy_refused_late",
                _CopyRefusedLate,
                "When the copy finds no free block, are those for the new tokens taken already?",
                (
                    "How many blocks does a write into a shared last block take?",
                    "The copy needs one, besides those for new tokens.",
                    "Ask for new blocks plus one where there is a copy, before anything changes.",
                ),
            ),
            Misconception(
                "copied_then_refused",
                _CopiedThenRefused,
                "When an append is refused, was its last block exchanged for a copy already?",
                (
                    "After a MemoryError, which block stands last in the table?",
                    "Nobody makes a copy that append could not return.",
                    "Ask for new blocks plus one where there is a copy, before anything changes.",
                ),
            ),
            Misconception(
                "freed_at_count_one",
                _FreedAtCountOne,
                "Is a block given away while one sequence still holds it?",
                (
                    "Two hold a block, one is freed. Who may still read it?",
                    "A count of 1 means one holder.",
                    "Free the block when its count reaches 0.",
                ),
            ),
            Misconception(
                "freed_only_at_count_one",
                _FreedOnlyAtCountOne,
                "Is a block given away when one holder is left, and kept when none is?",
                (
                    "Which number is left when the only holder lets go?",
                    "1 − 1 is 0, and 0 means that nobody holds it.",
                    "Free the block when its count reaches 0.",
                ),
            ),
            Misconception(
                "free_zeroes_counts",
                _FreeZeroesCounts,
                "Does free set the counts to 0, although others hold the blocks too?",
                (
                    "Two hold a block, one is freed. What must ref give?",
                    "A sequence takes its own 1 away, no more.",
                    "Lower each count by one. Free the block when its count reaches 0.",
                ),
            ),
            Misconception(
                "count_ignored",
                _FreedWhateverTheCount,
                "Does free give back all blocks, whoever else holds them?",
                (
                    "What are the reference counts for?",
                    "Each holder takes its own 1 away; only the last one frees the block.",
                    "Free the block when its count reaches 0.",
                ),
            ),
            Misconception(
                "fork_not_counted",
                _ForkCountsNothing,
                "Does fork share the blocks without counting the new holder?",
                (
                    "What does ref give for a block that two tables name?",
                    "A count that nobody raises cannot protect anything.",
                    "In fork, add 1 to the count of each block of the table.",
                ),
            ),
            Misconception(
                "fork_copies",
                _ForkCopies,
                "Does fork take new blocks, instead of sharing?",
                (
                    "How many free blocks does a fork need?",
                    "Nothing tells the storage to fill those blocks, and the same tokens would lie there twice.",
                    "Copy the table, not the blocks, and raise the counts.",
                ),
            ),
            Misconception(
                "fork_same_list",
                _ForkIsTheSameList,
                "Do both sequences have one and the same list as their table?",
                (
                    "What happens to a when you write b = a and b.append(1)?",
                    "The fork grows on its own, so it needs a table of its own.",
                    "list(table) makes one.",
                ),
            ),
            Misconception(
                "double_free",
                _DoubleFree,
                "Can a sequence be freed twice, so that its blocks are free twice?",
                (
                    "What does your pool still know of a sequence after free?",
                    "Two sequences would get the same block.",
                    "Remove the id from your tables: tables.pop(id) raises KeyError the second time.",
                ),
            ),
            Misconception(
                "second_free_unnoticed",
                _FreeTwiceUnnoticed,
                "Is a second free passed over in silence?",
                (
                    "Whoever frees twice has lost track. Who tells them?",
                    "An id that is not in use is refused by every method.",
                    "Let KeyError out.",
                ),
            ),
            Misconception(
                "partial_allocation",
                _PartialAllocation,
                "When blocks run out half-way, are those taken so far lost?",
                (
                    "After a MemoryError, how many blocks are free?",
                    "Count first, then take.",
                    "Compare the number wanted with the number free before you take the first.",
                ),
            ),
            Misconception(
                "taken_blocks_look_free",
                _TakenUncounted,
                "When blocks run out half-way, are those taken so far lost, although their count is 0?",
                (
                    "After a MemoryError, how many blocks are free?",
                    "Count first, then take.",
                    "Compare the number wanted with the number free before you take the first.",
                ),
            ),
            Misconception(
                "no_look_for_room",
                _NobodyAsksForRoom,
                "Did you take blocks without asking whether there are enough?",
                (
                    "Which exception does [].pop() raise?",
                    "Count first, then take.",
                    "Compare the number wanted with the number free before you take the first.",
                ),
            ),
            Misconception(
                "partial_table",
                _PartialTable,
                "When blocks run out half-way, does the table keep those that append got so far?",
                (
                    "After a MemoryError in append, how many entries has the table?",
                    "Count first, then take.",
                    "Compare the number wanted with the number free before you take the first.",
                ),
            ),
            Misconception(
                "partial_append",
                _PartialAppend,
                "When blocks run out half-way, does append keep the tokens that still fitted?",
                (
                    "After a MemoryError in append, how long is the sequence?",
                    "All n tokens, or none.",
                    "Compute the blocks for all n tokens before you change anything.",
                ),
            ),
            Misconception(
                "truncate_keeps_blocks",
                _TruncateKeepsBlocks,
                "Does truncate shorten the sequence and keep its blocks?",
                (
                    "How many entries has the table afterwards?",
                    "A block without a token of the sequence is waste.",
                    "Release table[blocks_needed(n, block):] and cut the table.",
                ),
            ),
            Misconception(
                "truncate_only_sets_the_length",
                _TruncateChangesTheLength,
                "Does truncate write down the new length, and do nothing else?",
                (
                    "How many entries has the table afterwards, and what if n is too large?",
                    "The blocks behind the last token go back, and a larger n or an unknown id is refused.",
                    "Raise ValueError if n > length; release table[blocks_needed(n, block):] and cut the table.",
                ),
            ),
            Misconception(
                "truncate_beyond_the_end",
                _TruncateBeyondTheEnd,
                "Can truncate make a sequence longer?",
                (
                    "What does truncate do when n is larger than the length?",
                    "Keeping more tokens than there are is no truncation.",
                    "if n > length: raise ValueError.",
                ),
            ),
            Misconception(
                "truncate_ignores_count",
                _TruncateIgnoresCount,
                "Does truncate give away blocks that another sequence still holds?",
                (
                    "May a fork be shortened without harm to its parent?",
                    "Truncation releases a block as free does: through its count.",
                    "Use one helper that lowers the count, in both methods.",
                ),
            ),
            Misconception(
                "truncate_drops_n",
                _TruncateDropsN,
                "Did you take n for the number of tokens to drop, instead of to keep?",
                (
                    "How long is a sequence after truncate(id, 0)?",
                    "n is the new length.",
                    "Keep the first n tokens.",
                ),
            ),
            Misconception(
                "id_is_number_of_sequences",
                _IdIsCount,
                "Is a new id the number of sequences, which may be in use already?",
                (
                    "Sequences 0 and 1 exist, 0 is freed. Which id comes next?",
                    "It would be 1, and that is taken.",
                    "Count ids up, and never down.",
                ),
            ),
            Misconception(
                "old_id_again",
                _OldIdAgain,
                "Is the id of a freed sequence given to a new one?",
                (
                    "What does a second free of the old sequence do then?",
                    "Whoever kept the old id would now reach somebody else's tokens.",
                    "Count ids up, and never down.",
                ),
            ),
            Misconception(
                "highest_id_again",
                _HighestIdAgain,
                "Is a new id one more than the highest in use, which may have been freed?",
                (
                    "Sequences 0 and 1 exist, 1 is freed. Which id comes next?",
                    "It would be 1, and somebody may still remember the old one.",
                    "Count ids up, and never down.",
                ),
            ),
            Misconception(
                "unknown_id_other_error",
                _OtherError,
                "Is an id that is not in use refused with another exception than KeyError?",
                (
                    "Which exception does the text ask for?",
                    "Whoever calls can only catch what was agreed.",
                    "raise KeyError(id), or let self.tables[id] do it.",
                ),
            ),
            Misconception(
                "unknown_id_appended",
                _AppendToNobody,
                "Does append pass over an id that is not in use?",
                (
                    "Where would the token go?",
                    "An id that is not in use is refused by every method.",
                    "Look the id up first: self.tables[id] raises KeyError by itself.",
                ),
            ),
            Misconception(
                "unknown_id_forked",
                _ForkOfNobody,
                "Does fork return something for an id that is not in use?",
                (
                    "Whose tokens would the fork have?",
                    "An id that is not in use is refused by every method.",
                    "Look the id up first: self.tables[id] raises KeyError by itself.",
                ),
            ),
            Misconception(
                "unknown_id_truncated",
                _TruncateNobody,
                "Does truncate pass over an id that is not in use?",
                (
                    "Whoever truncates a freed sequence has lost track. Who tells them?",
                    "An id that is not in use is refused by every method.",
                    "Look the id up first: self.tables[id] raises KeyError by itself.",
                ),
            ),
            Misconception(
                "unknown_id_has_a_table",
                _TableOfNobody,
                "Does table return a list for an id that is not in use?",
                (
                    "How does the caller tell that from a sequence without a token?",
                    "An id that is not in use is refused by every method.",
                    "self.tables[id], not self.tables.get(id, []).",
                ),
            ),
            Misconception(
                "empty_sequence_holds_a_block",
                _EmptyHoldsBlock,
                "Does a sequence without a token get a block?",
                (
                    "How many entries has the table of a sequence of length 0?",
                    "A table has blocks_needed(length, block) entries at all times.",
                    "Take blocks_needed(tokens, block) blocks, without a minimum of 1.",
                ),
            ),
            Misconception(
                "own_list_given_out",
                _OwnList,
                "Does table give out the pool's own list, which the caller may change?",
                (
                    "What happens to your pool when somebody clears the list they got?",
                    "A copy of a table is short, and safe.",
                    "return list(self.tables[id]).",
                ),
            ),
        ),
        alternatives=(_Stack, _Queue),
        hints=(
            "Keep four things: free blocks, a count for each block, and for each id its table and its length.",
            "Two private helpers carry the load: take n blocks or none, and release a block through its count.",
            "append: new = blocks_needed(length + n) - len(table), plus 1 for a copy; take; then change the table.",
        ),
    ),
    Answer(
        exercise=_can_promise,
        expected=_promises,
        misconceptions=(
            Misconception(
                "floor_division",
                _promise(lambda lengths, new, block: sum((n + new) // block - n // block for n in lengths)),
                "Did you round down, so that the token that opens a block costs none?",
                (
                    "A block is full. How many blocks does one more token need?",
                    "Count the blocks of the grown sequence and those it has, both rounded up.",
                    "blocks_needed(length + max_new, block) - blocks_needed(length, block).",
                ),
            ),
            Misconception(
                "room_pooled",
                _promise(lambda lengths, new, block: _ceil(new * len(lengths), block)),
                "Did you add all new tokens up, as if they could share their last blocks?",
                (
                    "Two sequences grow by one token each. Into which block do they go?",
                    "Each sequence rounds up by itself.",
                    "Sum the new blocks, not the new tokens.",
                ),
            ),
            Misconception(
                "tail_forgotten",
                _promise(lambda lengths, new, block: _ceil(new, block) * len(lengths)),
                "Did you forget the room that is left in each last block?",
                (
                    "A block holds 4, three slots are in use. What does one more token need?",
                    "The first tokens of the growth may fall into a block that is already held.",
                    "Subtract the blocks that each sequence has from those it will need.",
                ),
            ),
            Misconception(
                "all_blocks",
                _promise(lambda lengths, new, block: sum(_ceil(n + new, block) for n in lengths)),
                "Did you count the blocks that the sequences already hold?",
                (
                    "What do the free blocks have to pay for?",
                    "Only for the growth.",
                    "Subtract blocks_needed(length, block) of each.",
                ),
            ),
            Misconception(
                "strictly_fewer",
                lambda lengths, new, free, block: _growth(lengths, new, block) < free,
                "Did you refuse a promise that takes exactly the blocks that are free?",
                (
                    "Three blocks are needed, three are free.",
                    "The last block may be used, too.",
                    "Compare with <=.",
                ),
            ),
            Misconception(
                "hungriest_only",
                _promise(lambda lengths, new, block: max(_growth([n], new, block) for n in lengths)),
                "Did you ask for the sequence that grows most, instead of for all together?",
                (
                    "May two sequences take the same free block?",
                    "In the worst case all of them grow.",
                    "Sum over the sequences.",
                ),
            ),
            Misconception(
                "present_only",
                lambda lengths, new, free, block: free >= 0,
                "Did you ask whether the pool holds what is there now?",
                (
                    "Which of the arguments does your answer use?",
                    "That the present fits says nothing about the growth.",
                    "Compare the blocks of the growth with free_blocks.",
                ),
            ),
        ),
        alternatives=(_promise_by_room, _promise_in_turn),
        hints=(
            "How many more blocks does one sequence need for max_new more tokens?",
            "blocks_needed after, minus blocks_needed now; and all sequences draw from one pool.",
            "sum(blocks_needed(n + max_new, block) - blocks_needed(n, block) for n in lengths) <= free_blocks.",
        ),
    ),
)
