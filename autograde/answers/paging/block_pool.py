"""`BlockPool`: what is right, which mistakes are known, and what to say about them."""

import math

from autograde.answers.paging.shared import ceil_div
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.exercises.paging import run_pool


class _ByTables:
    """A pool without books: everything is read off the tables."""

    def __init__(self, num_blocks, block_size):
        self.num_blocks, self.block_size = num_blocks, block_size
        self.tables, self.lengths, self.given = {}, {}, 0

    def ref(self, block_id):
        return sum(table.count(block_id) for table in self.tables.values())

    def table(self, id):
        return self.tables[id][:]

    def unused(self, count):
        held = set().union(*self.tables.values())
        free = [block_id for block_id in range(self.num_blocks) if block_id not in held]
        if count > len(free):
            raise MemoryError
        return free[:count]

    def add(self, table, length):
        id, self.given = self.given, self.given + 1
        self.tables[id], self.lengths[id] = table, length
        return id

    def allocate(self, tokens):
        return self.add(self.unused(math.ceil(tokens / self.block_size)), tokens)

    def fork(self, id):
        return self.add(self.tables[id][:], self.lengths[id])

    def free(self, id):
        del self.tables[id], self.lengths[id]

    def truncate(self, id, n):
        if not 0 <= n <= self.lengths[id]:
            raise ValueError
        self.tables[id], self.lengths[id] = self.tables[id][: math.ceil(n / self.block_size)], n

    def append(self, id, n=1):
        table, length = self.tables[id], self.lengths[id]
        keep = table[: length // self.block_size]  # the full blocks
        tail = table[len(keep) :]
        copy = bool(n and tail and self.ref(tail[0]) > 1)
        new = self.unused(math.ceil((length + n) / self.block_size) - len(table) + copy)
        self.tables[id], self.lengths[id] = (keep if copy else table) + new, length + n
        return [(tail[0], new[0])] if copy else []


def _pool_values(case: Case) -> object:
    return run_pool(_ByTables, case)


class _Stack:
    """Right: a stack of free blocks and a list of counts."""

    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.unused = list(range(num_blocks))
        self.ref_counts = [0] * num_blocks
        self.tables, self.lengths, self.given = {}, {}, 0

    def needed(self, tokens):
        return ceil_div(tokens, self.block_size)

    def take(self, count):
        if count > len(self.unused):
            raise MemoryError(f"{count} blocks wanted, {len(self.unused)} free")
        return [self.take_one() for _ in range(count)]

    def take_one(self):
        if not self.unused:
            raise MemoryError("no free block")
        block_id = self.unused.pop()
        self.ref_counts[block_id] = 1
        return block_id

    def release(self, block_id):
        self.ref_counts[block_id] -= 1
        if self.ref_counts[block_id] == 0:
            self.unused.append(block_id)

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
        return n > 0 and self.lengths[id] % self.block_size > 0 and self.ref_counts[table[-1]] > 1

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

    def leave(self, block_id):
        """What becomes of a block that was copied."""
        self.release(block_id)

    def fork(self, id):
        for block_id in self.tables[id]:
            self.ref_counts[block_id] += 1
        return self.add(list(self.tables[id]), self.lengths[id])

    def truncate(self, id, n):
        if n > self.lengths[id]:
            raise ValueError(f"there are only {self.lengths[id]} tokens")
        table = self.tables[id]
        while len(table) > self.needed(n):
            self.drop(table.pop())
        self.lengths[id] = n

    def drop(self, block_id):
        """What becomes of a block that truncation leaves empty."""
        self.release(block_id)

    def free(self, id):
        for block_id in self.tables.pop(id):
            self.release(block_id)
        del self.lengths[id]

    def table(self, id):
        return list(self.tables[id])

    def ref(self, block_id):
        return self.ref_counts[block_id]


class _Queue:
    """Right: blocks are handed out in a round, and each knows the sequences that hold it."""

    def __init__(self, num_blocks, block_size):
        self.size, self.sequences, self.ids, self.next = block_size, {}, iter(range(7, 10**9)), 0
        self.holders = [set() for _ in range(num_blocks)]

    def _find(self, count):
        around = [(self.next + i) % len(self.holders) for i in range(len(self.holders))]
        free = [block_id for block_id in around if not self.holders[block_id]]
        if len(free) < count:
            raise MemoryError
        if count:
            self.next = free[count - 1] + 1
        return free[:count]

    def _hold(self, id, blocks):
        for block_id in blocks:
            self.holders[block_id].add(id)

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
        for block_id in blocks[keep:]:
            self.holders[block_id].remove(id)
        self.sequences[id] = [blocks[:keep], n]

    def free(self, id):
        for block_id in self.sequences.pop(id)[0]:
            self.holders[block_id].remove(id)

    def table(self, id):
        return tuple(self.sequences[id][0])

    def ref(self, block_id):
        return len(self.holders[block_id])


class _BlockEarly(_Stack):
    def needed(self, tokens):
        return tokens // self.block_size + 1


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
        return n > 0 < len(table) and self.ref_counts[table[-1]] > 1


class _CopiesForNothing(_Stack):
    """Copies although no token comes."""

    def must_copy(self, id, n):
        table = self.tables[id]
        return self.lengths[id] % self.block_size > 0 and self.ref_counts[table[-1]] > 1


class _OnceSharedAlwaysCopied(_Stack):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size)
        self.forked = set()

    def fork(self, id):
        new = super().fork(id)
        self.forked |= {id, new}
        return new

    def must_copy(self, id, n):
        copy = n > 0 and self.lengths[id] % self.block_size > 0 and id in self.forked
        if copy:
            self.forked.remove(id)
        return copy


class _CopyKeepsCount(_Stack):
    def leave(self, block_id):
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
            self.ref_counts[target] = 1
            copies = [(table[-1], target)]
            self.release(table[-1])
            table[-1] = target
        for block_id in new:
            self.ref_counts[block_id] = 1
        table += new
        self.lengths[id] = length + n
        return copies

    def allocate(self, tokens):
        table = self.take(self.needed(tokens))
        for block_id in table:
            self.ref_counts[block_id] = 1
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
        block_id = self.unused.pop()
        self.ref_counts[block_id] = 1
        return block_id


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
    def release(self, block_id):
        self.ref_counts[block_id] -= 1
        if self.ref_counts[block_id] <= 1:
            self.unused.append(block_id)


class _FreedOnlyAtCountOne(_Stack):
    def release(self, block_id):
        self.ref_counts[block_id] -= 1
        if self.ref_counts[block_id] == 1:
            self.unused.append(block_id)


class _FreeZeroesCounts(_Stack):
    def free(self, id):
        for block_id in self.tables.pop(id):
            self.ref_counts[block_id] = 0
            self.unused.append(block_id)
        del self.lengths[id]


class _FreedWhateverTheCount(_Stack):
    def release(self, block_id):
        self.ref_counts[block_id] -= 1
        self.unused.append(block_id)


class _ForkCountsNothing(_Stack):
    def fork(self, id):
        return self.add(list(self.tables[id]), self.lengths[id])


class _ForkCopies(_Stack):
    """Blocks of its own from the start, which nobody filled."""

    def fork(self, id):
        return self.allocate(self.lengths[id])


class _ForkIsTheSameList(_Stack):
    def fork(self, id):
        for block_id in self.tables[id]:
            self.ref_counts[block_id] += 1
        return self.add(self.tables[id], self.lengths[id])


class _DoubleFree(_Stack):
    """The table stays, so that a second call frees the blocks again."""

    def free(self, id):
        for block_id in self.tables[id]:
            self.ref_counts[block_id] = max(0, self.ref_counts[block_id] - 1)
            if self.ref_counts[block_id] == 0:
                self.unused.append(block_id)


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
        for block_id in blocks:
            self.ref_counts[block_id] = 1
        return blocks


class _NobodyAsksForRoom(_Stack):
    def take_one(self):
        block_id = self.unused.pop()
        self.ref_counts[block_id] = 1
        return block_id

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
    def drop(self, block_id):
        self.ref_counts[block_id] = 0
        self.unused.append(block_id)


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


ANSWER = Answer(
    exercise=exercise("BlockPool"),
    expected=_pool_values,
    misconceptions=(
        Misconception(
            "block_early",
            _BlockEarly,
            Advice(
                "Does a sequence get its next block while the last one is exactly full?",
                (
                    "How many blocks does a sequence of exactly one block hold?",
                    "A block is needed by the token that goes into it, not by the one before.",
                    "A table always has blocks_needed(length, block_size) entries.",
                ),
                source="GeeeekExplorer/nano-vllm#30: readers expected the next block as soon as the last one is full.",
            ),
        ),
        Misconception(
            "block_late",
            _BlockLate,
            Advice(
                "Does a sequence get a new block one token too late?",
                (
                    "Where does the first token behind a full block go?",
                    "That token itself needs the block.",
                    "After append the table has blocks_needed(length + n, block_size) entries.",
                ),
                source="Wenyueh/MinivLLM#75: the pool was asked for a block one token off the block's edge.",
            ),
        ),
        Misconception(
            "shared_tail_in_place",
            _SharedTail,
            Advice(
                "Is a last block written in place although another sequence holds it too?",
                (
                    "After a fork, whose are the empty slots of the last block?",
                    "Both would write their next token into the same slot.",
                    "If the last block has room and ref > 1, take a new block, and return the copy to make.",
                ),
                source="Avarok-Cybersecurity/atlas#692: a shared last block was written in place.",
            ),
        ),
        Misconception(
            "copy_not_reported",
            _NotReported,
            Advice(
                "Does the table change to a new block without a word to the owner of the storage?",
                (
                    "How does whoever writes tokens learn that a block must be copied first?",
                    "The new block is empty; the pool does not hold the tokens.",
                    "Return [(source, target)] from append.",
                ),
            ),
        ),
        Misconception(
            "copy_backwards",
            _CopyBackwards,
            Advice(
                "Did you return (target, source), so that the shared block is overwritten?",
                (
                    "Which of the two blocks holds tokens?",
                    "The source is the shared block, the target the new one.",
                    "Return [(old, new)].",
                ),
            ),
        ),
        Misconception(
            "full_block_copied",
            _CopiesFullBlocks,
            Advice(
                "Did you copy a shared block that is full?",
                (
                    "Is anything written into a full block?",
                    "A full block never changes, so it can be shared for good.",
                    "Copy only where length % block_size is not 0.",
                ),
            ),
        ),
        Misconception(
            "copied_for_nothing",
            _CopiesForNothing,
            Advice(
                "Is a block copied although no token comes?",
                (
                    "What has to be written when n is 0?",
                    "A copy is made for a write.",
                    "Ask for n > 0 before you copy.",
                ),
            ),
        ),
        Misconception(
            "copied_by_last_holder",
            _OnceSharedAlwaysCopied,
            Advice(
                "Is a block copied although nobody else holds it any more?",
                (
                    "Who holds the block after the other sequence was freed?",
                    "That a block was shared once does not matter. How many hold it now?",
                    "Copy where ref(block) > 1, and nowhere else.",
                ),
            ),
        ),
        Misconception(
            "copy_keeps_count",
            _CopyKeepsCount,
            Advice(
                "After a copy, does the shared block still count the sequence that left it?",
                (
                    "Which table names the shared block after the copy?",
                    "The writer has a block of its own now.",
                    "Lower the count of the source by one.",
                ),
            ),
        ),
        Misconception(
            "copy_not_counted",
            _CopyNotCounted,
            Advice(
                "Did you forget the block for the copy when you asked whether enough are free?",
                (
                    "How many blocks does a write into a shared last block take?",
                    "The copy needs one, besides those for new tokens.",
                    "Ask for new blocks plus one where there is a copy, before anything changes.",
                ),
            ),
        ),
        Misconception(
            "copy_taken_unasked",
            _CopyTakenAfter,
            Advice(
                "Is a block for the copy taken without a look whether one is free?",
                (
                    "How many blocks does a write into a shared last block take?",
                    "The copy needs one, besides those for new tokens.",
                    "Ask for new blocks plus one where there is a copy, before anything changes.",
                ),
            ),
        ),
        Misconception(
            "copy_refused_late",
            _CopyRefusedLate,
            Advice(
                "When the copy finds no free block, are those for the new tokens taken already?",
                (
                    "How many blocks does a write into a shared last block take?",
                    "The copy needs one, besides those for new tokens.",
                    "Ask for new blocks plus one where there is a copy, before anything changes.",
                ),
            ),
        ),
        Misconception(
            "copied_then_refused",
            _CopiedThenRefused,
            Advice(
                "When an append is refused, was its last block exchanged for a copy already?",
                (
                    "After a MemoryError, which block stands last in the table?",
                    "Nobody makes a copy that append could not return.",
                    "Ask for new blocks plus one where there is a copy, before anything changes.",
                ),
            ),
        ),
        Misconception(
            "freed_at_count_one",
            _FreedAtCountOne,
            Advice(
                "Is a block given away while one sequence still holds it?",
                (
                    "Two hold a block, one is freed. Who may still read it?",
                    "A count of 1 means one holder.",
                    "Free the block when its count reaches 0.",
                ),
            ),
        ),
        Misconception(
            "freed_only_at_count_one",
            _FreedOnlyAtCountOne,
            Advice(
                "Is a block given away when one holder is left, and kept when none is?",
                (
                    "Which number is left when the only holder lets go?",
                    "1 − 1 is 0, and 0 means that nobody holds it.",
                    "Free the block when its count reaches 0.",
                ),
            ),
        ),
        Misconception(
            "free_zeroes_counts",
            _FreeZeroesCounts,
            Advice(
                "Does free set the counts to 0, although others hold the blocks too?",
                (
                    "Two hold a block, one is freed. What must ref give?",
                    "A sequence takes its own 1 away, no more.",
                    "Lower each count by one. Free the block when its count reaches 0.",
                ),
            ),
        ),
        Misconception(
            "count_ignored",
            _FreedWhateverTheCount,
            Advice(
                "Does free give back all blocks, whoever else holds them?",
                (
                    "What are the reference counts for?",
                    "Each holder takes its own 1 away; only the last one frees the block.",
                    "Free the block when its count reaches 0.",
                ),
            ),
        ),
        Misconception(
            "fork_not_counted",
            _ForkCountsNothing,
            Advice(
                "Does fork share the blocks without counting the new holder?",
                (
                    "What does ref give for a block that two tables name?",
                    "A count that nobody raises cannot protect anything.",
                    "In fork, add 1 to the count of each block of the table.",
                ),
            ),
        ),
        Misconception(
            "fork_copies",
            _ForkCopies,
            Advice(
                "Does fork take new blocks, instead of sharing?",
                (
                    "How many free blocks does a fork need?",
                    "Nothing tells the storage to fill those blocks, and the same tokens would lie there twice.",
                    "Copy the table, not the blocks, and raise the counts.",
                ),
            ),
        ),
        Misconception(
            "fork_same_list",
            _ForkIsTheSameList,
            Advice(
                "Do both sequences have one and the same list as their table?",
                (
                    "What happens to a when you write b = a and b.append(1)?",
                    "The fork grows on its own, so it needs a table of its own.",
                    "list(table) makes one.",
                ),
            ),
        ),
        Misconception(
            "double_free",
            _DoubleFree,
            Advice(
                "Can a sequence be freed twice, so that its blocks are free twice?",
                (
                    "What does your pool still know of a sequence after free?",
                    "Two sequences would get the same block.",
                    "Remove the id from your tables: tables.pop(id) raises KeyError the second time.",
                ),
            ),
        ),
        Misconception(
            "second_free_unnoticed",
            _FreeTwiceUnnoticed,
            Advice(
                "Is a second free passed over in silence?",
                (
                    "Whoever frees twice has lost track. Who tells them?",
                    "An id that is not in use is refused by every method.",
                    "Let KeyError out.",
                ),
            ),
        ),
        Misconception(
            "partial_allocation",
            _PartialAllocation,
            Advice(
                "When blocks run out half-way, are those taken so far lost?",
                (
                    "After a MemoryError, how many blocks are free?",
                    "Count first, then take.",
                    "Compare the number wanted with the number free before you take the first.",
                ),
            ),
        ),
        Misconception(
            "taken_blocks_look_free",
            _TakenUncounted,
            Advice(
                "When blocks run out half-way, are those taken so far lost, although their count is 0?",
                (
                    "After a MemoryError, how many blocks are free?",
                    "Count first, then take.",
                    "Compare the number wanted with the number free before you take the first.",
                ),
            ),
        ),
        Misconception(
            "no_look_for_room",
            _NobodyAsksForRoom,
            Advice(
                "Did you take blocks without asking whether there are enough?",
                (
                    "Which exception does [].pop() raise?",
                    "Count first, then take.",
                    "Compare the number wanted with the number free before you take the first.",
                ),
            ),
        ),
        Misconception(
            "partial_table",
            _PartialTable,
            Advice(
                "When blocks run out half-way, does the table keep those that append got so far?",
                (
                    "After a MemoryError in append, how many entries has the table?",
                    "Count first, then take.",
                    "Compare the number wanted with the number free before you take the first.",
                ),
            ),
        ),
        Misconception(
            "partial_append",
            _PartialAppend,
            Advice(
                "When blocks run out half-way, does append keep the tokens that still fitted?",
                (
                    "After a MemoryError in append, how long is the sequence?",
                    "All n tokens, or none.",
                    "Compute the blocks for all n tokens before you change anything.",
                ),
            ),
        ),
        Misconception(
            "truncate_keeps_blocks",
            _TruncateKeepsBlocks,
            Advice(
                "Does truncate shorten the sequence and keep its blocks?",
                (
                    "How many entries has the table afterwards?",
                    "A block without a token of the sequence is waste.",
                    "Release table[blocks_needed(n, block_size):] and cut the table.",
                ),
            ),
        ),
        Misconception(
            "truncate_only_sets_the_length",
            _TruncateChangesTheLength,
            Advice(
                "Does truncate write down the new length, and do nothing else?",
                (
                    "How many entries has the table afterwards, and what if n is too large?",
                    "The blocks behind the last token go back, and a larger n or an unknown id is refused.",
                    "Raise ValueError if n > length; release table[blocks_needed(n, block_size):] and cut the table.",
                ),
            ),
        ),
        Misconception(
            "truncate_beyond_the_end",
            _TruncateBeyondTheEnd,
            Advice(
                "Can truncate make a sequence longer?",
                (
                    "What does truncate do when n is larger than the length?",
                    "Keeping more tokens than there are is no truncation.",
                    "if n > length: raise ValueError.",
                ),
            ),
        ),
        Misconception(
            "truncate_ignores_count",
            _TruncateIgnoresCount,
            Advice(
                "Does truncate give away blocks that another sequence still holds?",
                (
                    "May a fork be shortened without harm to its parent?",
                    "Truncation releases a block as free does: through its count.",
                    "Use one helper that lowers the count, in both methods.",
                ),
            ),
        ),
        Misconception(
            "truncate_drops_n",
            _TruncateDropsN,
            Advice(
                "Did you take n for the number of tokens to drop, instead of to keep?",
                (
                    "How long is a sequence after truncate(id, 0)?",
                    "n is the new length.",
                    "Keep the first n tokens.",
                ),
            ),
        ),
        Misconception(
            "id_is_number_of_sequences",
            _IdIsCount,
            Advice(
                "Is a new id the number of sequences, which may be in use already?",
                (
                    "Sequences 0 and 1 exist, 0 is freed. Which id comes next?",
                    "It would be 1, and that is taken.",
                    "Count ids up, and never down.",
                ),
            ),
        ),
        Misconception(
            "old_id_again",
            _OldIdAgain,
            Advice(
                "Is the id of a freed sequence given to a new one?",
                (
                    "What does a second free of the old sequence do then?",
                    "Whoever kept the old id would now reach somebody else's tokens.",
                    "Count ids up, and never down.",
                ),
            ),
        ),
        Misconception(
            "highest_id_again",
            _HighestIdAgain,
            Advice(
                "Is a new id one more than the highest in use, which may have been freed?",
                (
                    "Sequences 0 and 1 exist, 1 is freed. Which id comes next?",
                    "It would be 1, and somebody may still remember the old one.",
                    "Count ids up, and never down.",
                ),
            ),
        ),
        Misconception(
            "unknown_id_other_error",
            _OtherError,
            Advice(
                "Is an id that is not in use refused with another exception than KeyError?",
                (
                    "Which exception does the text ask for?",
                    "Whoever calls can only catch what was agreed.",
                    "raise KeyError(id), or let self.tables[id] do it.",
                ),
            ),
        ),
        Misconception(
            "unknown_id_appended",
            _AppendToNobody,
            Advice(
                "Does append pass over an id that is not in use?",
                (
                    "Where would the token go?",
                    "An id that is not in use is refused by every method.",
                    "Look the id up first: self.tables[id] raises KeyError by itself.",
                ),
            ),
        ),
        Misconception(
            "unknown_id_forked",
            _ForkOfNobody,
            Advice(
                "Does fork return something for an id that is not in use?",
                (
                    "Whose tokens would the fork have?",
                    "An id that is not in use is refused by every method.",
                    "Look the id up first: self.tables[id] raises KeyError by itself.",
                ),
            ),
        ),
        Misconception(
            "unknown_id_truncated",
            _TruncateNobody,
            Advice(
                "Does truncate pass over an id that is not in use?",
                (
                    "Whoever truncates a freed sequence has lost track. Who tells them?",
                    "An id that is not in use is refused by every method.",
                    "Look the id up first: self.tables[id] raises KeyError by itself.",
                ),
            ),
        ),
        Misconception(
            "unknown_id_has_a_table",
            _TableOfNobody,
            Advice(
                "Does table return a list for an id that is not in use?",
                (
                    "How does the caller tell that from a sequence without a token?",
                    "An id that is not in use is refused by every method.",
                    "self.tables[id], not self.tables.get(id, []).",
                ),
            ),
        ),
        Misconception(
            "empty_sequence_holds_a_block",
            _EmptyHoldsBlock,
            Advice(
                "Does a sequence without a token get a block?",
                (
                    "How many entries has the table of a sequence of length 0?",
                    "A table has blocks_needed(length, block_size) entries at all times.",
                    "Take blocks_needed(tokens, block_size) blocks, without a minimum of 1.",
                ),
            ),
        ),
        Misconception(
            "own_list_given_out",
            _OwnList,
            Advice(
                "Does table give out the pool's own list, which the caller may change?",
                (
                    "What happens to your pool when somebody clears the list they got?",
                    "A copy of a table is short, and safe.",
                    "return list(self.tables[id]).",
                ),
            ),
        ),
    ),
    alternatives=(_Stack, _Queue),
    hints=(
        "Keep four things: free blocks, a count for each block, and for each id its table and its length.",
        "Two private helpers carry the load: take n blocks or none, and release a block through its count.",
        "append: new = blocks_needed(length + n) - len(table), plus 1 for a copy; take; then change the table.",
    ),
)
