"""`step_time_bound`: what is right, which mistakes are known, and what to say about them."""

from fractions import Fraction

from autograde.answers.roofline.shared import MINIMUM, SUM, TOLERANCE, bound_by_ridge, step_seconds
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _bound(case: Case) -> float:
    flops, n_bytes, peak, bandwidth = case.inputs.values()
    return float(step_seconds(flops, n_bytes, peak, bandwidth))


def _bound_by_rate(flops, n_bytes, peak_flops, bandwidth):
    """Bytes over the rate at which they can be used."""
    if not flops:
        return n_bytes / bandwidth
    return flops / min(Fraction(peak_flops), Fraction(flops, n_bytes) * bandwidth)


def _bound_as_float(*step):
    return float(_bound_by_rate(*step))


ANSWER = Answer(
    exercise=exercise("step_time_bound"),
    expected=_bound,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "sum",
            lambda f, m, p, w: f / p + m / w,
            SUM,
        ),
        Misconception(
            "minimum",
            lambda f, m, p, w: min(f / p, m / w),
            MINIMUM,
        ),
        Misconception(
            "mean",
            lambda f, m, p, w: (f / p + m / w) / 2,
            Advice(
                "Did you take the mean of the two terms?",
                (
                    "Can a step be shorter than one of its two terms?",
                    "Both are bounds from below, so the larger one counts.",
                    "max(flops / peak_flops, n_bytes / bandwidth)",
                ),
            ),
        ),
        Misconception(
            "arithmetic_only",
            lambda f, m, p, w: f / p,
            Advice(
                "Did you leave out the time of reading?",
                (
                    "Which of the arguments does your answer never use?",
                    "Bytes take bytes / bandwidth seconds.",
                    "max(flops / peak_flops, n_bytes / bandwidth)",
                ),
            ),
        ),
        Misconception(
            "memory_only",
            lambda f, m, p, w: m / w,
            Advice(
                "Did you leave out the time of computing?",
                (
                    "Which of the arguments does your answer never use?",
                    "FLOPs take flops / peak_flops seconds.",
                    "max(flops / peak_flops, n_bytes / bandwidth)",
                ),
            ),
        ),
        Misconception(
            "milliseconds",
            lambda f, m, p, w: 1000 * max(f / p, m / w),
            Advice(
                "Did you return milliseconds?",
                (
                    "Your number is a thousand times too large. Which unit has it?",
                    "FLOP over FLOP/s is a number of seconds.",
                    "Leave out the factor of 1000.",
                ),
            ),
        ),
        Misconception(
            "tera_and_giga",
            lambda f, m, p, w: max(f / (p * 10**12), m / (w * 10**9)),
            Advice(
                "Did you take the rates for TFLOP/s and GB/s, although they come in FLOP/s and B/s?",
                (
                    "Print peak_flops. How many digits has it?",
                    "989 TFLOP/s is passed as 989 · 10^12.",
                    "Divide by the rates as they are.",
                ),
            ),
        ),
        Misconception(
            "inverted_terms",
            lambda f, m, p, w: max(p / f if f else 0.0, w / m),
            Advice(
                "Did you divide the rates by the amounts?",
                (
                    "Which unit has FLOP/s over FLOP?",
                    "An amount over a rate is a time.",
                    "flops / peak_flops and n_bytes / bandwidth",
                ),
            ),
        ),
        Misconception(
            "rates_swapped",
            lambda f, m, p, w: max(f / w, m / p),
            Advice(
                "Did you divide FLOPs by the bandwidth, and bytes by the peak?",
                (
                    "Which unit has FLOP over B/s?",
                    "FLOPs go with FLOP/s, bytes with B/s.",
                    "flops / peak_flops and n_bytes / bandwidth",
                ),
            ),
        ),
        Misconception(
            "doubled_peak",
            lambda f, m, p, w: max(f / (2 * p), m / w),
            Advice(
                "Did you double the peak, as a data sheet's line with sparsity does?",
                (
                    "By which factor is your time of a step short that arithmetic bounds?",
                    "A peak with sparsity leaves out half of the products. A dense model has none to leave out.",
                    "Divide by peak_flops as it is passed: it is the dense one.",
                ),
            ),
        ),
    ),
    alternatives=(bound_by_ridge, _bound_as_float),
    hints=(
        "How long does the arithmetic take at the peak? How long does reading take at the full bandwidth?",
        "An amount over a rate is a time. The two may overlap.",
        "max(flops / peak_flops, n_bytes / bandwidth)",
    ),
)
