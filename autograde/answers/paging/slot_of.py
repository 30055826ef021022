"""`slot_of`: what is right, which mistakes are known, and what to say about them."""

import numpy as np

from autograde.answers.paging.shared import walk_blocks
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _slot(case: Case) -> list[int]:
    table, position, block_size = case.inputs.values()
    return list(walk_blocks(table, block_size)[position])


def _find_slot(table, position, block_size):
    """Right: step over whole blocks."""
    for each in table:
        if position < block_size:
            return each, position
        position -= block_size
    raise IndexError


def _slot_by_divmod(table, position, block_size):
    row, offset = divmod(position, block_size)
    return table[row], offset


def _slot_by_array(table, position, block_size):
    slots = np.add.outer(np.array(table) * block_size, np.arange(block_size)).reshape(-1)
    return divmod(int(slots[position]), block_size)


ANSWER = Answer(
    exercise=exercise("slot_of"),
    expected=_slot,
    misconceptions=(
        Misconception(
            "physical_order",
            lambda table, position, block_size: _find_slot(sorted(table), position, block_size),
            Advice(
                "Did you put the blocks into the order of their numbers?",
                (
                    "Which block of the table [7, 2] holds the first token?",
                    "A block's number says where it lies; the order of tokens is the order of the table.",
                    "Take table[row] and sort nothing.",
                ),
            ),
        ),
        Misconception(
            "adjacent",
            lambda table, position, block_size: (table[0] + position // block_size, position % block_size),
            Advice(
                "Did you count on from the first block, as if the blocks lay side by side?",
                (
                    "Which entries of the table does your answer read?",
                    "Block 7 is followed by whatever the pool had free.",
                    "The row is position // block_size; look it up: table[row].",
                ),
            ),
        ),
        Misconception(
            "row_for_block",
            lambda table, position, block_size: divmod(position, block_size),
            Advice(
                "Did you return the row of the table, instead of the block that stands there?",
                (
                    "Did you use the table at all?",
                    "position // block_size says where to look in the table.",
                    "Return table[position // block_size].",
                ),
            ),
        ),
        Misconception(
            "from_one",
            lambda table, position, block_size: _find_slot(table, max(0, position - 1), block_size),
            Advice(
                "Did you count positions from 1?",
                (
                    "Where does the token at position 0 lie?",
                    "Positions count from 0, so a new block begins at position `block_size`.",
                    "Use position // block_size and position % block_size as they are.",
                ),
            ),
        ),
        Misconception(
            "swapped",
            lambda table, position, block_size: _find_slot(table, position, block_size)[::-1],
            Advice(
                "Did you return the offset before the block?",
                (
                    "Which of your two numbers stands in the table?",
                    "The block comes first, then the offset in it.",
                    "return table[…], position % block_size.",
                ),
            ),
        ),
        Misconception(
            "quotient_and_remainder_exchanged",
            lambda table, position, block_size: (table[position % block_size % len(table)], position // block_size),
            Advice(
                "Did you exchange quotient and remainder?",
                (
                    "Do neighbouring tokens of yours lie in different blocks?",
                    "The quotient counts blocks, the remainder the place inside one.",
                    "table[position // block_size], position % block_size.",
                ),
            ),
        ),
        Misconception(
            "slot_number",
            lambda table, position, block_size: (
                (table[position // block_size], table[position // block_size] * block_size)
                if position % block_size == 0
                else (table[position // block_size], table[position // block_size] * block_size + position % block_size)
            ),
            Advice(
                "Is your second number a place in the whole storage, instead of in the block?",
                (
                    "How large may an offset be?",
                    "Offsets run from 0 to block_size - 1.",
                    "The offset is position % block_size alone.",
                ),
            ),
        ),
    ),
    alternatives=(_find_slot, _slot_by_array, _slot_by_divmod),
    hints=(
        "How many whole blocks lie before this position?",
        "The quotient finds the row of the table, the remainder the place inside the block.",
        "return table[position // block_size], position % block_size.",
    ),
)
