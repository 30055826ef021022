"""`can_promise`: what is right, which mistakes are known, and what to say about them."""

from autograde.answers.paging.shared import ceil_div
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _promises(case: Case) -> list[bool]:
    """Grow every sequence token by token, and count the new blocks."""
    lengths, max_new, free, block_size = case.inputs.values()
    new = sum(position % block_size == 0 for length in lengths for position in range(length, length + max_new))
    return [new <= each for each in free]


def _growth(lengths, max_new, block_size):
    return sum(ceil_div(length + max_new, block_size) - ceil_div(length, block_size) for length in lengths)


def _promise_by_room(lengths, max_new, free_blocks, block_size):
    """Right: what the last block's room does not take needs new blocks."""
    return sum(ceil_div(max(0, max_new - -length % block_size), block_size) for length in lengths) <= free_blocks


def _promise_in_turn(lengths, max_new, free_blocks, block_size):
    for length in lengths:
        free_blocks -= ceil_div(length + max_new, block_size) - ceil_div(length, block_size)
    return free_blocks >= 0


def _promise(needed):
    """A promise from the number of blocks that it is thought to need."""
    return lambda lengths, max_new, free, block_size: needed(lengths, max_new, block_size) <= free


ANSWER = Answer(
    exercise=exercise("can_promise"),
    expected=_promises,
    misconceptions=(
        Misconception(
            "floor_division",
            _promise(lambda lengths, new, block_size: sum((n + new) // block_size - n // block_size for n in lengths)),
            Advice(
                "Did you round down, so that the token that opens a block costs none?",
                (
                    "A block is full. How many blocks does one more token need?",
                    "Count the blocks of the grown sequence and those it has, both rounded up.",
                    "blocks_needed(length + max_new, block_size) - blocks_needed(length, block_size).",
                ),
            ),
        ),
        Misconception(
            "room_pooled",
            _promise(lambda lengths, new, block_size: ceil_div(new * len(lengths), block_size)),
            Advice(
                "Did you add all new tokens up, as if they could share their last blocks?",
                (
                    "Two sequences grow by one token each. Into which block do they go?",
                    "Each sequence rounds up by itself.",
                    "Sum the new blocks, not the new tokens.",
                ),
            ),
        ),
        Misconception(
            "tail_forgotten",
            _promise(lambda lengths, new, block_size: ceil_div(new, block_size) * len(lengths)),
            Advice(
                "Did you forget the room that is left in each last block?",
                (
                    "A block holds 4, three slots are in use. What does one more token need?",
                    "The first tokens of the growth may fall into a block that is already held.",
                    "Subtract the blocks that each sequence has from those it will need.",
                ),
            ),
        ),
        Misconception(
            "all_blocks",
            _promise(lambda lengths, new, block_size: sum(ceil_div(n + new, block_size) for n in lengths)),
            Advice(
                "Did you count the blocks that the sequences already hold?",
                (
                    "What do the free blocks have to pay for?",
                    "Only for the growth.",
                    "Subtract blocks_needed(length, block_size) of each.",
                ),
            ),
        ),
        Misconception(
            "strictly_fewer",
            lambda lengths, new, free, block_size: _growth(lengths, new, block_size) < free,
            Advice(
                "Did you refuse a promise that takes exactly the blocks that are free?",
                (
                    "Three blocks are needed, three are free.",
                    "The last block may be used, too.",
                    "Compare with <=.",
                ),
            ),
        ),
        Misconception(
            "hungriest_only",
            _promise(lambda lengths, new, block_size: max(_growth([n], new, block_size) for n in lengths)),
            Advice(
                "Did you ask for the sequence that grows most, instead of for all together?",
                (
                    "May two sequences take the same free block?",
                    "In the worst case all of them grow.",
                    "Sum over the sequences.",
                ),
            ),
        ),
        Misconception(
            "present_only",
            _promise(lambda lengths, new, block_size: sum(ceil_div(n, block_size) for n in lengths)),
            Advice(
                "Did you ask whether the pool holds what is there now?",
                (
                    "Which of the arguments does your answer use?",
                    "That the present fits says nothing about the growth.",
                    "Compare the blocks of the growth with free_blocks.",
                ),
            ),
        ),
    ),
    alternatives=(_promise_by_room, _promise_in_turn),
    hints=(
        "How many more blocks does one sequence need for max_new more tokens?",
        "blocks_needed after, minus blocks_needed now; and all sequences draw from one pool.",
        "sum(blocks_needed(n + max_new, block_size) - blocks_needed(n, block_size) for n in lengths) <= free_blocks.",
    ),
)
