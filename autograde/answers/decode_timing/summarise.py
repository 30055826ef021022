"""`summarise`: what is right, which mistakes are known, and what to say about them."""

import math
import statistics

import numpy as np

from autograde.answers.decode_timing.shared import REFUSED, TOLERANCE
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised


def _summary(case: Case) -> dict | Raised:
    trials = np.array(case.inputs["trials"])
    if trials.size == 0 or not np.isfinite(trials).all() or trials.min() < 0:
        return REFUSED
    p10, median, p90 = map(float, np.percentile(trials, [10, 50, 90]))
    return {"trials": int(trials.size), "median": median, "p10": p10, "p90": p90}


def _finite(trials):
    if not trials or not all(0 <= each < math.inf for each in trials):
        raise ValueError("trials: wanted finite seconds from 0 on")


def _between(ordered, q):
    rank = q * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] * (1 - (rank - below)) + ordered[above] * (rank - below)


def _nearest(ordered, q):
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]


def _with_n(ordered, q):
    """Interpolated, but at a rank that would lie behind the last trial for q = 1."""
    rank = q * len(ordered)
    below = min(int(rank), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - int(rank)) * (ordered[above] - ordered[below])


def _exclusive(ordered, q):
    if len(ordered) == 1:
        return ordered[0]
    return statistics.quantiles(ordered, n=10)[0 if q < 0.5 else -1]


def _summarised(median=lambda ordered: _between(ordered, 0.5), at=_between, taken=list, order=sorted, refuse=_finite):
    """A summary, right as it stands; each argument is a mistake."""

    def summarise(trials):
        refuse(trials)
        ordered = order(taken(trials))
        low, high = (at(ordered, q) if ordered else math.nan for q in (0.1, 0.9))
        middle = median(ordered) if ordered else math.nan
        return {"trials": len(ordered), "median": middle, "p10": low, "p90": high}

    return summarise


def _summarised_by_numpy(trials):
    values = np.asarray(trials, dtype=float)
    if values.size == 0 or np.isnan(values).any() or np.isinf(values).any() or (values < 0).any():
        raise ValueError
    p10, p90 = np.quantile(values, [0.1, 0.9])
    return {"trials": len(values), "median": np.median(values), "p10": p10, "p90": p90}


def _summarised_by_statistics(trials):
    if not trials or any(math.isnan(each) or math.isinf(each) or each < 0 for each in trials):
        raise ValueError
    if len(trials) == 1:
        return {"trials": 1} | dict.fromkeys(("median", "p10", "p90"), trials[0])
    tenths = statistics.quantiles(trials, n=10, method="inclusive")
    return {"trials": len(trials), "median": statistics.median(trials), "p10": tenths[0], "p90": tenths[-1]}


def _first_dropped(trials):
    _finite(trials)
    return _summarised()(trials[1:]) if len(trials) > 1 else {"trials": 0} | dict.fromkeys(("median", "p10", "p90"))


def _no_infinity_no_negative(trials):
    if not trials or any(each < 0 or each == math.inf for each in trials):
        raise ValueError


def _no_nan_no_negative(trials):
    if not trials or any(each < 0 or each != each for each in trials):
        raise ValueError


def _no_nan_no_infinity(trials):
    if not trials or not all(map(math.isfinite, trials)):
        raise ValueError


def _no_nothing(trials):
    if not trials:
        raise ValueError


ANSWER = Answer(
    exercise=exercise("summarise"),
    expected=_summary,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "mean",
            _summarised(median=statistics.fmean),
            Advice(
                "Did you give the mean for the median?",
                (
                    "What happens to your number if one trial takes ten times as long?",
                    "The median is the time in the middle: as many trials are shorter as are longer.",
                    "Sort, and take the middle one, or half-way between the two in the middle.",
                ),
            ),
        ),
        Misconception(
            "not_sorted",
            _summarised(order=list),
            Advice(
                "Did you take the middle of the trials in the order in which they were made?",
                (
                    "Which trial is in the middle of your list, and how many are shorter?",
                    "Ranks are places in the sorted list.",
                    "ordered = sorted(trials)",
                ),
            ),
        ),
        Misconception(
            "upper_middle",
            _summarised(median=lambda ordered: ordered[len(ordered) // 2]),
            Advice(
                "With an even number of trials, did you take the upper of the two in the middle?",
                (
                    "What is the median of 1 and 3?",
                    "With an even number of trials there are two in the middle; the median lies half-way between them.",
                    "The rank is (n - 1) / 2, and between two ranks you interpolate.",
                ),
            ),
        ),
        Misconception(
            "lower_middle",
            _summarised(median=lambda ordered: ordered[(len(ordered) - 1) // 2]),
            Advice(
                "With an even number of trials, did you take the lower of the two in the middle?",
                (
                    "What is the median of 1 and 3?",
                    "With an even number of trials there are two in the middle; the median lies half-way between them.",
                    "The rank is (n - 1) / 2, and between two ranks you interpolate.",
                ),
            ),
        ),
        Misconception(
            "first_dropped",
            _first_dropped,
            Advice(
                "Did you drop the first trial?",
                (
                    "How many trials do you say there were?",
                    "The warm-up was left out when the trials were made. All of these count.",
                    "Use `trials`, not trials[1:].",
                ),
            ),
        ),
        Misconception(
            "best",
            _summarised(median=min),
            Advice(
                "Did you give the shortest trial for the median?",
                (
                    "How many of the trials are shorter than yours?",
                    "The shortest time says what can happen; the median says what usually does.",
                    "Sort, and take the middle.",
                ),
            ),
        ),
        Misconception(
            "extremes",
            _summarised(at=lambda ordered, q: ordered[0 if q < 0.5 else -1]),
            Advice(
                "Did you give the shortest and the longest trial for the two percentiles?",
                (
                    "How many of 100 trials are longer than your p90?",
                    "A tenth of the trials lies below p10 and a tenth above p90.",
                    "The rank of p10 among n sorted trials is 0.1 × (n - 1), that of p90 0.9 × (n - 1).",
                ),
            ),
        ),
        Misconception(
            "nearest_rank",
            _summarised(at=_nearest),
            Advice(
                "Did you take a trial for each percentile, instead of interpolating between two?",
                (
                    "What is the rank of p10 among 8 trials?",
                    "0.1 × (n - 1) is mostly no whole number; the percentile lies as far between its two neighbours.",
                    "With below = int(rank): t[below] + (rank - below) × (t[below + 1] - t[below]).",
                ),
            ),
        ),
        Misconception(
            "rank_with_n",
            _summarised(at=_with_n),
            Advice(
                "Did you count ranks with n, although they run from 0 to n - 1?",
                (
                    "Which rank do you give the percentile 100, and is there a trial of that rank?",
                    "Among n trials, numbered from 0, the last one has rank n - 1.",
                    "rank = q / 100 × (n - 1)",
                ),
            ),
        ),
        Misconception(
            "exclusive_quantiles",
            _summarised(at=_exclusive),
            Advice(
                "Did you take the percentiles from statistics.quantiles in its usual method, the exclusive one?",
                (
                    "For few trials, does your p10 lie below the shortest of them?",
                    (
                        "The exclusive method supposes that a longer and a shorter "
                        "trial exist somewhere; ours are all there are."
                    ),
                    "method='inclusive' counts ranks from 0 to n - 1; it wants two trials at least.",
                ),
            ),
        ),
        Misconception(
            "nan_summarised",
            _summarised(refuse=_no_infinity_no_negative),
            Advice(
                "Did a trial that is no number get past your test?",
                (
                    "What is nan < 0, and what is nan > 0?",
                    "Every comparison with NaN is false. Ask for what is wanted, not for what is not.",
                    "if not all(0 <= t < math.inf for t in trials): raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "infinity_summarised",
            _summarised(refuse=_no_nan_no_negative),
            Advice(
                "Did an infinite trial get past your test?",
                (
                    "What does your function give for [0.1, inf]?",
                    "No measurement took for ever; somebody divided by zero.",
                    "if not all(0 <= t < math.inf for t in trials): raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "negative_summarised",
            _summarised(refuse=_no_nan_no_infinity),
            Advice(
                "Did a negative trial get past your test?",
                (
                    "What does your function give for [0.1, -0.1]?",
                    "Time does not run backwards; two readings were swapped.",
                    "if not all(0 <= t < math.inf for t in trials): raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "only_nothing_refused",
            _summarised(refuse=_no_nothing),
            Advice(
                "Do you refuse an empty list only?",
                (
                    "What does your function give for [0.1, -0.1]?",
                    "A time that is negative, infinite or no number is no measurement.",
                    "if not all(0 <= t < math.inf for t in trials): raise ValueError(…)",
                ),
            ),
        ),
    ),
    alternatives=(_summarised_by_numpy, _summarised_by_statistics),
    hints=(
        "Refuse first, then sort. What is the rank of the middle among n sorted trials that are numbered from 0?",
        "The rank of a percentile q is q / 100 × (n - 1); it may lie between two trials.",
        "With below = int(rank): t[below] + (rank - below) × (t[below + 1] - t[below]), if there is one above.",
    ),
)
