"""Block tables: where cached tokens lie when memory is handed out in blocks of a fixed number of tokens.

This is the library's version of what lesson 07 builds by hand. A *slot* holds one token's K and V; a block has
`block_size` slots; a sequence's table lists the ids of its blocks in the order of its tokens. `BlockPool` keeps the
books only: whoever owns the storage writes into the slots that the tables name, after the copies that `append` asks
for. The design is that of PagedAttention (arXiv 2309.06180).
"""

from collections.abc import Iterable, Sequence

import numpy as np

from kvlab import masks
from kvlab.sizes import whole


def blocks_needed(tokens: int, block_size: int) -> int:
    """Blocks that hold `tokens` tokens, the last one perhaps in part. TypeError or ValueError on what is no count."""
    return -(-whole("tokens", tokens, 0) // whole("block_size", block_size))


def slot_of(table: Sequence[int], position: int, block_size: int) -> tuple[int, int]:
    """(block id, offset) of the token at `position`, from 0. IndexError where the table has no block for it."""
    row, offset = divmod(whole("position", position, 0), whole("block_size", block_size))
    return table[row], offset


def waste(lengths: Iterable[int], block_size: int) -> int:
    """Slots that are held and hold no token, over all sequences. Errors as `blocks_needed`."""
    return sum(blocks_needed(length, block_size) * block_size - length for length in lengths)


def gather(storage: np.ndarray, table: Sequence[int], length: int) -> np.ndarray:
    """The first `length` tokens (length, …) that `table` finds in `storage` (num_blocks, block_size, …), in order.

    ValueError where the table is too short.
    """
    storage = np.asarray(storage)
    block_size = storage.shape[1]
    block_ids = list(table)[: blocks_needed(length, block_size)]
    if len(block_ids) * block_size < length:
        raise ValueError(f"table: {len(block_ids)} blocks of {block_size} slots cannot hold {length} tokens")
    return storage[block_ids].reshape(-1, *storage.shape[2:])[:length]


def paged_attention(
    q: np.ndarray, storage_k: np.ndarray, storage_v: np.ndarray, table: Sequence[int], length: int
) -> np.ndarray:
    """Causal attention (m, dh) of the queries q (m, dh) of the last m of `length` tokens, read through their table.

    `storage_k` and `storage_v`: (num_blocks, block_size, dh). Errors as `gather` and `masks.masked_attention`.
    """
    k, v = (gather(storage, table, length) for storage in (storage_k, storage_v))
    return masks.masked_attention(q, k, v, length - len(q))


def can_promise(lengths: Sequence[int], max_new: int, free_blocks: int, block_size: int) -> bool:
    """Whether every sequence, of `lengths` tokens now and none shared, can surely grow by `max_new` tokens.

    Errors as `blocks_needed`.
    """
    grown = [length + whole("max_new", max_new, 0) for length in lengths]
    growth = sum(
        blocks_needed(after, block_size) - blocks_needed(now, block_size)
        for now, after in zip(lengths, grown, strict=True)
    )
    return growth <= whole("free_blocks", free_blocks, 0)


class BlockPool:
    """Hands out `num_blocks` blocks of `block_size` slots to sequences, which may share them.

    A sequence is known by an id that is given once and never again; KeyError for every other. MemoryError when the
    free blocks do not suffice. TypeError or ValueError for what is no count. A call that raises has changed nothing.
    """

    def __init__(self, num_blocks: int, block_size: int):
        self.block_size = whole("block_size", block_size)
        self._free = list(range(whole("num_blocks", num_blocks, 0)))[::-1]  # a stack: the next one is its last
        self._ref_counts = [0] * len(self._free)
        self._tables: dict[int, list[int]] = {}
        self._lengths: dict[int, int] = {}
        self._given = 0  # ids so far

    @property
    def free_blocks(self) -> int:
        """Blocks that no table names."""
        return len(self._free)

    def allocate(self, tokens: int) -> int:
        """A new sequence of `tokens` tokens: its id."""
        return self._new(self._take(blocks_needed(tokens, self.block_size)), tokens)

    def append(self, id: int, n: int = 1) -> list[tuple[int, int]]:
        """Make room for `n` more tokens. Returns the copies, (source id, target id), to make before writing.

        There is one where the sequence shares its last block and the first new token falls into it, else none.
        """
        table, length = self._tables[id], self._lengths[id]
        grown = length + whole("n", n, 0)
        shared = grown > length and length % self.block_size > 0 and self._ref_counts[table[-1]] > 1
        taken = self._take(blocks_needed(grown, self.block_size) - len(table) + shared)
        copies = []
        if shared:
            copies.append((table[-1], taken[0]))
            self._release([table.pop()])
        table += taken
        self._lengths[id] = grown
        return copies

    def fork(self, id: int) -> int:
        """A new sequence of the same tokens, in the same blocks: its id."""
        table = list(self._tables[id])
        for block_id in table:
            self._ref_counts[block_id] += 1
        return self._new(table, self._lengths[id])

    def truncate(self, id: int, n: int) -> None:
        """Keep the first `n` tokens, and only the blocks that hold one. ValueError if there are fewer than `n`."""
        table, length = self._tables[id], self._lengths[id]
        if whole("n", n, 0) > length:
            raise ValueError(f"n: wanted at most the {length} tokens of sequence {id}, got {n}")
        kept = blocks_needed(n, self.block_size)
        self._release(table[kept:])
        del table[kept:]
        self._lengths[id] = n

    def free(self, id: int) -> None:
        """Forget a sequence. Its blocks are free again where no other sequence holds them."""
        self._release(self._tables.pop(id))
        del self._lengths[id]

    def table(self, id: int) -> list[int]:
        """The ids of a sequence's blocks in the order of its tokens, as a list of the caller's own."""
        return list(self._tables[id])

    def ref(self, block_id: int) -> int:
        """How many tables name this block; 0 when it is free."""
        return self._ref_counts[block_id]

    def _new(self, table: list[int], length: int) -> int:
        id, self._given = self._given, self._given + 1
        self._tables[id], self._lengths[id] = table, length
        return id

    def _take(self, count: int) -> list[int]:
        """All the blocks that are asked for, or MemoryError and none."""
        if count > len(self._free):
            raise MemoryError(f"{count} blocks wanted, {len(self._free)} of {len(self._ref_counts)} are free")
        block_ids = [self._free.pop() for _ in range(count)]
        for block_id in block_ids:
            self._ref_counts[block_id] = 1
        return block_ids

    def _release(self, block_ids: list[int]) -> None:
        for block_id in block_ids:
            self._ref_counts[block_id] -= 1
            if self._ref_counts[block_id] == 0:
                self._free.append(block_id)
