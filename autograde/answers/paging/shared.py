"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

import numpy as np

ATOL = 1e-12


def walk_blocks(table: list[int], block: int) -> list[tuple[int, int]]:
    """All slots of a sequence in the order of its positions."""
    return [(each, offset) for each in table for offset in range(block)]


def rows_of(storage: list, table: list[int], length: int) -> np.ndarray:
    return np.array([storage[block][offset] for block, offset in walk_blocks(table, len(storage[0]))[:length]])


def ceil_div(tokens, block):
    return (tokens + block - 1) // block


def gather_blocks(storage, table, length):
    return np.concatenate([storage[each] for each in table])[:length]


def gather_flat(storage, table, length):
    block, width = storage.shape[1:]
    slots = (np.array(table)[:, None] * block + np.arange(block)).reshape(-1)
    return storage.reshape(-1, width)[slots[:length]]


def gather_sorted(storage, table, length):
    return gather_blocks(storage, sorted(table), length)
