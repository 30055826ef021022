"""`elements_copied`: what is right, which mistakes are known, and what to say about them."""

import math

from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _copied(case: Case) -> list[int]:
    """As many rows as a list really has after each step."""
    tokens, row = case.inputs.values()
    lengths = range(1, tokens + 1)
    return [sum(lengths) * row, len(lengths) * row]


ANSWER = Answer(
    exercise=exercise("elements_copied"),
    expected=_copied,
    misconceptions=(
        Misconception(
            "old_rows_only",
            lambda tokens, row: (tokens * (tokens - 1) // 2 * row, tokens * row),
            Advice(
                "Did you leave out the new row, which each concatenation writes too?",
                (
                    "How many rows does torch.cat write at the first step?",
                    "The result of step t has t rows: t − 1 old ones and the new one.",
                    "1 + 2 + … + T, which is T (T + 1) / 2.",
                ),
            ),
        ),
        Misconception(
            "last_step_only",
            lambda tokens, row: (tokens * row, row if tokens else 0),
            Advice(
                "Did you count the last step alone?",
                (
                    "What did the steps before the last one write?",
                    "Wanted is the sum over all steps.",
                    "Sum over t from 1 to T: t rows by concatenation, one row by preallocation.",
                ),
            ),
        ),
        Misconception(
            "square",
            lambda tokens, row: (tokens * tokens * row, tokens * row),
            Advice(
                "Did you take T² for 1 + 2 + … + T?",
                (
                    "How many rows does the first step write, and how many the last?",
                    "Only the last step writes T rows. On average it is about half.",
                    "T (T + 1) / 2 rows.",
                ),
            ),
        ),
        Misconception(
            "rows_not_elements",
            lambda tokens, row: (tokens * (tokens + 1) // 2, tokens),
            Advice(
                "Did you count rows, instead of elements?",
                (
                    "Which of the arguments does your answer not use?",
                    "A row has row_elements elements, and all of them are written.",
                    "Multiply both counts by row_elements.",
                ),
            ),
        ),
        Misconception(
            "swapped",
            lambda tokens, row: (tokens * row, tokens * (tokens + 1) // 2 * row),
            Advice(
                "Did you return the two counts the other way round?",
                (
                    "Which of the two ways writes old rows again?",
                    "Concatenation comes first.",
                    "return concat, prealloc",
                ),
            ),
        ),
        Misconception(
            "capacity_each_time",
            lambda tokens, row: (tokens * (tokens + 1) // 2 * row, tokens * tokens * row),
            Advice(
                "Did you let preallocation write all of its T slots at each step?",
                (
                    "Which slots does one append touch?",
                    "The storage is made once, and nothing moves: a step writes its own row.",
                    "T rows in all.",
                ),
            ),
        ),
        Misconception(
            "a_float",
            lambda tokens, row: (tokens * (tokens + 1) / 2 * row, tokens * row),
            Advice(
                "Did you divide with /, which makes a float of an exact count?",
                (
                    "Which type do your counts have?",
                    "A float holds 53 bits; beyond that it rounds without a word.",
                    "T (T + 1) is even, so // 2 is exact.",
                ),
            ),
        ),
    ),
    alternatives=(
        lambda tokens, row: (row * math.comb(tokens + 1, 2), row * tokens),
        lambda tokens, row: (sum(t * row for t in range(1, tokens + 1)), tokens * row),
    ),
    hints=(
        "Write down the length of the tensor after each of three steps.",
        "Step t of concatenation writes a tensor of t rows; preallocation writes one row.",
        "row_elements · T (T + 1) // 2, and row_elements · T.",
    ),
)
