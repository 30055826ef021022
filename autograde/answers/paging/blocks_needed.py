"""`blocks_needed`: what is right, which mistakes are known, and what to say about them."""

import math

from autograde.answers.paging.shared import ceil_div
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _blocks(case: Case) -> int:
    tokens, block_size = case.inputs.values()
    full, rest = divmod(tokens, block_size)
    return full + (rest > 0)


def _count_up(tokens, block_size):
    count = tokens // block_size
    return count if count * block_size == tokens else count + 1


ANSWER = Answer(
    exercise=exercise("blocks_needed"),
    expected=_blocks,
    misconceptions=(
        Misconception(
            "floor_division",
            lambda tokens, block_size: tokens // block_size,
            Advice(
                "Did you round down, so that the last tokens have no block?",
                (
                    "How many blocks do 5 tokens need when a block holds 4?",
                    "`//` rounds down; a block that is filled in part is a whole block.",
                    "Round up: -(-tokens // block_size).",
                ),
            ),
        ),
        Misconception(
            "one_more",
            lambda tokens, block_size: tokens // block_size + 1,
            Advice(
                "Did you add a block even where the last one is exactly full?",
                (
                    "How many blocks do 8 tokens need when a block holds 4?",
                    "One more is right only where a remainder is left.",
                    "Round up: -(-tokens // block_size).",
                ),
                source="GeeeekExplorer/nano-vllm#30: readers expected the next block as soon as the last one is full.",
            ),
        ),
        Misconception(
            "one_token_late",
            lambda tokens, block_size: max(0, -(-(tokens - 1) // block_size)),
            Advice(
                "Does the token that opens a new block still count as part of the full one?",
                (
                    "How many blocks do 9 tokens need when a block holds 4?",
                    "Position 8 is the first of the third block.",
                    "Round tokens ÷ block_size up, not (tokens − 1) ÷ block_size.",
                ),
                source="Wenyueh/MinivLLM#75: the pool was asked for a block one token off the block's edge.",
            ),
        ),
        Misconception(
            "at_least_one",
            lambda tokens, block_size: max(1, ceil_div(tokens, block_size)),
            Advice(
                "Does a sequence without a token hold a block?",
                (
                    "What is stored for no token?",
                    "Zero is a length like any other.",
                    "-(-0 // block_size) is 0: no maximum is needed.",
                ),
            ),
        ),
        Misconception(
            "rounded",
            lambda tokens, block_size: (2 * tokens + block_size) // (2 * block_size),
            Advice(
                "Did you round to the nearest whole number, instead of up?",
                (
                    "What happens to a block that is filled to a third?",
                    "Even one token needs a block.",
                    "Round up: -(-tokens // block_size).",
                ),
            ),
        ),
        Misconception(
            "through_float",
            lambda tokens, block_size: math.ceil(tokens / block_size),
            Advice(
                "Did you divide with `/`, which is not exact for large integers?",
                (
                    "What is (2**60 + 1) / 16 in Python?",
                    "A float holds 53 bits. Stay with whole numbers.",
                    "-(-tokens // block_size), without `/`.",
                ),
            ),
        ),
        Misconception(
            "slots",
            lambda tokens, block_size: ceil_div(tokens, block_size) * block_size,
            Advice(
                "Did you return slots, where blocks were asked for?",
                (
                    "In which unit is your number?",
                    "A block holds `block_size` slots.",
                    "Leave out the factor `block_size`.",
                ),
            ),
        ),
    ),
    alternatives=(ceil_div, _count_up),
    hints=(
        "How many full blocks are there, and is a token left over?",
        "A remainder needs one more block.",
        "Round the quotient up without `/`: -(-tokens // block_size).",
    ),
)
