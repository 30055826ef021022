"""`gather`: what is right, which mistakes are known, and what to say about them."""

import numpy as np

from autograde.answers.paging.shared import ATOL, gather_blocks, gather_flat, gather_sorted, rows_of
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _gathered(case: Case) -> np.ndarray:
    return rows_of(*case.inputs.values())


def _gather_rows(storage, table, length):
    block_size = storage.shape[1]
    return np.array([storage[table[p // block_size], p % block_size] for p in range(length)])


def _gather_adjacent(storage, table, length):
    return np.roll(storage, -table[0], axis=0).reshape(-1, storage.shape[2])[:length]


ANSWER = Answer(
    exercise=exercise("gather"),
    expected=_gathered,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "physical_order",
            gather_sorted,
            Advice(
                "Did you read the blocks in the order of their numbers?",
                (
                    "Which block of the table holds the first token?",
                    "The table is in the order of the tokens; storage is in no order.",
                    "Index with the table as it is: storage[table].",
                ),
            ),
        ),
        Misconception(
            "adjacent",
            _gather_adjacent,
            Advice(
                "Did you read on from the first block, as if the others lay behind it?",
                (
                    "Which entries of the table does your answer read?",
                    "What lies behind a block belongs to anybody.",
                    "Index with the whole table: storage[table].",
                ),
            ),
        ),
        Misconception(
            "tail_kept",
            lambda storage, table, length: gather_blocks(storage, table, None),
            Advice(
                "Did you return whole blocks, with slots that hold no token of this sequence?",
                (
                    "How many rows did you return, and how many tokens are there?",
                    "The slots behind the last token hold whatever was there before.",
                    "Cut to the first `length` rows: [:length].",
                ),
            ),
        ),
        Misconception(
            "blocks_not_joined",
            lambda storage, table, length: storage[table],
            Advice(
                "Did you leave the rows in their blocks, in an array of three dimensions?",
                (
                    "What is the shape of storage[table]?",
                    "One row per token is wanted: (length, dh).",
                    "Reshape to (-1, dh), then cut to the length.",
                ),
            ),
        ),
        Misconception(
            "offsets_first",
            lambda storage, table, length: storage[table].swapaxes(0, 1).reshape(-1, storage.shape[2])[:length],
            Advice(
                "Did you take the first slot of every block, then the second of every block?",
                (
                    "Which token comes after the one in the first slot of the first block?",
                    "A block is filled before the next one begins.",
                    "storage[table].reshape(-1, dh) has the rows in the right order.",
                ),
            ),
        ),
        Misconception(
            "last_rows",
            lambda storage, table, length: gather_blocks(storage, table, None)[-length:],
            Advice(
                "Did you keep the last rows, instead of the first?",
                (
                    "On which side of the last block are its empty slots?",
                    "A block is filled from offset 0 on.",
                    "[:length], not [-length:].",
                ),
            ),
        ),
    ),
    alternatives=(_gather_rows, gather_blocks, gather_flat),
    hints=(
        "What does storage[table] give when the table is a list?",
        "Its rows are in the right order, block after block; only the shape and the end are wrong.",
        "storage[table].reshape(-1, storage.shape[-1])[:length].",
    ),
)
