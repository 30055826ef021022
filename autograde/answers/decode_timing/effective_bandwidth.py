"""`effective_bandwidth`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

import numpy as np

from autograde.answers.decode_timing.shared import REFUSED, TOLERANCE
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised


def _rate(case: Case) -> float | Raised:
    num_bytes, seconds = case.inputs.values()
    if not math.isfinite(seconds) or seconds <= 0:
        return REFUSED
    return float(num_bytes / Fraction(seconds))


def _per_second(rate, refuse=lambda seconds: not 0 < seconds < math.inf):
    def effective_bandwidth(num_bytes, seconds):
        if refuse(seconds):
            raise ValueError
        return rate(num_bytes, seconds)

    return effective_bandwidth


def _rate_by_frequency(num_bytes, seconds):
    if seconds > 0 and math.isfinite(seconds):
        return (1 / seconds) * num_bytes
    raise ValueError


def _rate_by_numpy(num_bytes, seconds):
    if not np.isfinite(seconds) or np.sign(seconds) != 1:
        raise ValueError
    return np.true_divide(num_bytes, seconds)


ANSWER = Answer(
    exercise=exercise("effective_bandwidth"),
    expected=_rate,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "inverted",
            _per_second(lambda n, s: s / n if n else math.inf),
            Advice(
                "Did you divide seconds by bytes?",
                (
                    "What is the unit of your result?",
                    "Twice as many bytes in the same time is twice the bandwidth.",
                    "num_bytes / seconds",
                ),
            ),
        ),
        Misconception(
            "gb_per_second",
            _per_second(lambda n, s: n / s / 1e9),
            Advice(
                "Did you return GB per second, although bytes per second were asked for?",
                (
                    "How many times too small is your result?",
                    "Divide by 10**9 where you print, not where you compute.",
                    "num_bytes / seconds",
                ),
            ),
        ),
        Misconception(
            "gib_per_second",
            _per_second(lambda n, s: n / s / 2**30),
            Advice(
                "Did you return GiB per second, although bytes per second were asked for?",
                (
                    "How many times too small is your result?",
                    "Divide by 2**30 where you print, not where you compute.",
                    "num_bytes / seconds",
                ),
            ),
        ),
        Misconception(
            "bits_per_second",
            _per_second(lambda n, s: 8 * n / s),
            Advice(
                "Did you return bits per second, although bytes per second were asked for?",
                (
                    "How many times too large is your result?",
                    "Networks are told in bits, memories in bytes.",
                    "num_bytes / seconds",
                ),
            ),
        ),
        Misconception(
            "whole_rate",
            _per_second(lambda n, s: n // s),
            Advice(
                "Did you drop what lies behind the decimal point?",
                (
                    "Try 29 bytes in a quarter of a second.",
                    "`//` and int() throw the fraction away.",
                    "Divide with `/`.",
                ),
            ),
        ),
        Misconception(
            "zero_only_refused",
            _per_second(lambda n, s: n / s, refuse=lambda s: s == 0),
            Advice(
                "Do you refuse zero seconds only?",
                (
                    "What does your function give for -1 seconds?",
                    "A time that is negative, infinite or no number is no measurement.",
                    "if not 0 < seconds < math.inf: raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "only_positive_wanted",
            _per_second(lambda n, s: n / s, refuse=lambda s: s <= 0),
            Advice(
                "Did you refuse seconds of 0 and less, and let through those that are not finite?",
                (
                    "What does your function do with NaN, and with infinitely many seconds?",
                    "Every comparison with NaN is false, and no measurement takes for ever.",
                    "if not 0 < seconds < math.inf: raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "rate_of_nan",
            _per_second(lambda n, s: n / s, refuse=lambda s: s <= 0 or s == math.inf),
            Advice(
                "Did seconds that are no number get past your test?",
                (
                    "What is nan <= 0?",
                    "Every comparison with NaN is false. Ask for what is wanted, not for what is not.",
                    "if not 0 < seconds < math.inf: raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "zero_divides",
            _per_second(lambda n, s: n / s, refuse=lambda s: False),
            Advice(
                "Did Python refuse the division by zero in your place, with an error of its own?",
                (
                    "Which exception comes for 0 seconds, and which was asked for?",
                    "Nothing was refused on purpose: a negative time gives a negative bandwidth.",
                    "if not 0 < seconds < math.inf: raise ValueError(…)",
                ),
            ),
        ),
    ),
    alternatives=(_rate_by_frequency, _rate_by_numpy),
    hints=(
        "The unit of the result says what to divide by what.",
        "Before that: which seconds cannot be the time of anything? One of them is no number at all.",
        "if not 0 < seconds < math.inf: raise ValueError(…); then bytes over seconds.",
    ),
)
