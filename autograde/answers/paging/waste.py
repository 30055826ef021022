"""`waste`: what is right, which mistakes are known, and what to say about them."""

from autograde.answers.paging.shared import ceil_div
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _wasted(case: Case) -> int:
    lengths, block_size = case.inputs.values()
    return sum(-length % block_size for length in lengths)


ANSWER = Answer(
    exercise=exercise("waste"),
    expected=_wasted,
    misconceptions=(
        Misconception(
            "in_blocks",
            lambda lengths, block_size: sum(length % block_size > 0 for length in lengths),
            Advice(
                "Did you count blocks that are not full, instead of empty slots?",
                (
                    "In which unit is your number?",
                    "A block with one empty slot wastes less than one with ten.",
                    "Count slots: held minus stored, for each sequence.",
                ),
            ),
        ),
        Misconception(
            "tails_shared",
            lambda lengths, block_size: -sum(lengths) % block_size,
            Advice(
                "Did you add the lengths first, as if the sequences shared their last blocks?",
                (
                    "May two sequences write into one block?",
                    "Each sequence rounds up for itself.",
                    "Sum over the sequences: blocks × block_size − length.",
                ),
            ),
        ),
        Misconception(
            "full_block_wasted",
            lambda lengths, block_size: sum(block_size - length % block_size for length in lengths),
            Advice(
                "Does a full last block count as empty?",
                (
                    "What is block_size - length % block_size where the length is a multiple?",
                    "A remainder of 0 means that nothing is wasted.",
                    "Round up and subtract, or take -length % block_size.",
                ),
            ),
        ),
        Misconception(
            "to_the_longest",
            lambda lengths, block_size: sum(
                ceil_div(max(lengths), block_size) * block_size - length for length in lengths
            ),
            Advice(
                "Did you give every sequence as many blocks as the longest one needs?",
                (
                    "How many blocks does the shortest sequence hold?",
                    "That is what a padded batch does; a table is as long as its own sequence.",
                    "Round each length up by itself.",
                ),
            ),
        ),
        Misconception(
            "held_slots",
            lambda lengths, block_size: sum(ceil_div(length, block_size) * block_size for length in lengths),
            Advice(
                "Did you return the slots that are held, without taking away those in use?",
                (
                    "What does your answer give for full blocks?",
                    "Waste is what is held and not used.",
                    "Subtract the length of each sequence.",
                ),
            ),
        ),
        Misconception(
            "rest_of_the_tail",
            lambda lengths, block_size: sum(length % block_size for length in lengths),
            Advice(
                "Did you count the tokens in the last block, instead of its empty slots?",
                (
                    "Seventeen tokens in blocks of 16: how many slots of the second block are empty?",
                    "length % block_size slots of the last block are in use.",
                    "-length % block_size is what is missing to the next multiple.",
                ),
            ),
        ),
    ),
    alternatives=(
        lambda lengths, block_size: sum(ceil_div(length, block_size) * block_size - length for length in lengths),
        lambda lengths, block_size: sum(-length % block_size for length in lengths),
    ),
    hints=(
        "How many slots does one sequence hold, and how many of them does it use?",
        "Use your blocks_needed for each sequence by itself.",
        "The sum of blocks_needed(length, block_size) * block_size - length.",
    ),
)
