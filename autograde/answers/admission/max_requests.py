"""`max_requests`: what is right, which mistakes are known, and what to say about them."""

from fractions import Fraction
from math import floor

from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _fitting(case: Case) -> int:
    room, size = case.inputs.values()
    return floor(Fraction(room, size))


def _fit_by_divmod(room, size):
    count, _ = divmod(room, size)
    return count


def _fit_by_doubling(room, size):
    """Right: find the bits of the count from the highest down."""
    count = 0
    for bit in reversed(range(70)):
        if (count + (1 << bit)) * size <= room:
            count += 1 << bit
    return count


ANSWER = Answer(
    exercise=exercise("max_requests"),
    expected=_fitting,
    misconceptions=(
        Misconception(
            "rounded_up",
            lambda room, size: -(-room // size),
            Advice(
                "Did you round up, and promise a request that does not fit?",
                (
                    "There is room for three and a half. How many can come?",
                    "Half a cache serves nobody.",
                    "room // bytes_per_request.",
                ),
            ),
        ),
        Misconception(
            "rounded_to_nearest",
            lambda room, size: round(room / size),
            Advice(
                "Did you round to the nearest number?",
                (
                    "There is room for three and three quarters. How many can come?",
                    "Almost a cache serves nobody.",
                    "room // bytes_per_request.",
                ),
            ),
        ),
        Misconception(
            "through_a_float",
            lambda room, size: int(room / size),
            Advice(
                "Did a division with / make a float of your count?",
                (
                    "How many digits does a float keep?",
                    "Above 2^53 a float skips whole numbers.",
                    "Use //, which stays with whole numbers.",
                ),
            ),
        ),
        Misconception(
            "one_kept_back",
            lambda room, size: max(0, (room - 1) // size),
            Advice(
                "Do you refuse the last request although it fits exactly?",
                (
                    "Ten bytes of room, five for each. How many?",
                    "A full room is allowed.",
                    "room // bytes_per_request.",
                ),
            ),
        ),
    ),
    alternatives=(_fit_by_divmod, _fit_by_doubling),
    hints=("A part of a request does not count.", "Stay with whole numbers.", "room // bytes_per_request."),
)
