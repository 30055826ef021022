"""`additive_mask`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _additive(case: Case) -> np.ndarray:
    def number(entry):
        return [number(each) for each in entry] if type(entry) is list else 0.0 if entry else -math.inf

    return np.array(number(case.inputs["allowed"]))


def _log_of_ones(allowed):
    """Right: the logarithm of 1 is 0, that of 0 is minus infinity."""
    with np.errstate(divide="ignore"):
        return np.log(allowed.astype(float))


def _number_by_number(allowed):
    numbers = [0.0 if each else -math.inf for each in allowed.flat]
    return np.array(numbers).reshape(allowed.shape)


ANSWER = Answer(
    exercise=exercise("additive_mask"),
    expected=_additive,
    misconceptions=(
        Misconception(
            "swapped",
            lambda allowed: np.where(allowed, -np.inf, 0.0),
            Advice(
                "Did you swap True and False, so that the allowed keys are the ones that get −∞?",
                (
                    "What must be added to the score of a key that may be seen?",
                    "True means allowed. An allowed score stays as it is; adding 0 does that.",
                    "np.where(allowed, 0.0, -np.inf)",
                ),
            ),
        ),
        Misconception(
            "finite",
            lambda allowed: np.where(allowed, 0.0, -1e9),
            Advice(
                "Did you take a large negative number for −∞?",
                (
                    "What does softmax make of a row in which every score is −1,000,000,000?",
                    "Where nothing is allowed, equal scores, however low, share the weight evenly over forbidden keys.",
                    "Use -np.inf; what a row without any allowed key gives is for the softmax to decide.",
                ),
            ),
        ),
        Misconception(
            "zero_times_infinity",
            lambda allowed: np.where(allowed, np.nan, -np.inf),
            Advice(
                "Did you multiply a 0 by infinity, which is not a number?",
                (
                    "What does Python say to 0 * -np.inf?",
                    "(1 - allowed) * -np.inf gives NaN wherever a key is allowed.",
                    "Choose instead of multiplying: np.where(allowed, 0.0, -np.inf).",
                ),
            ),
        ),
        Misconception(
            "factors",
            lambda allowed: np.where(allowed, 1.0, 0.0),
            Advice(
                "Did you return factors, 1 and 0, where summands are wanted?",
                (
                    "What happens to a score that is multiplied by 0? Does its key then get no weight?",
                    "exp(0) is 1: a score of 0 is an ordinary score. This mask will be added.",
                    "Adding 0 changes nothing, adding −∞ gives weight exp(−∞) = 0.",
                ),
            ),
        ),
    ),
    alternatives=(
        _log_of_ones,
        _number_by_number,
    ),
    hints=(
        "Two numbers: one that leaves a score as it is when added, one that makes its exp 0.",
        "0.0 where allowed, minus infinity elsewhere, in an array of the same shape.",
        "np.where(condition, value where true, value elsewhere)",
    ),
)
