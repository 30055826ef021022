"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

import numpy as np

ATOL = 1e-12


def walk_blocks(table: list[int], block_size: int) -> list[tuple[int, int]]:
    """All slots of a sequence in the order of its positions."""
    return [(each, offset) for each in table for offset in range(block_size)]


def rows_of(storage: list, table: list[int], length: int) -> np.ndarray:
    return np.array([storage[block_id][offset] for block_id, offset in walk_blocks(table, len(storage[0]))[:length]])


def ceil_div(tokens, block_size):
    return (tokens + block_size - 1) // block_size


def gather_blocks(storage, table, length):
    return np.concatenate([storage[each] for each in table])[:length]


def gather_flat(storage, table, length):
    block_size, width = storage.shape[1:]
    slots = (np.array(table)[:, None] * block_size + np.arange(block_size)).reshape(-1)
    return storage.reshape(-1, width)[slots[:length]]


def gather_sorted(storage, table, length):
    return gather_blocks(storage, sorted(table), length)
