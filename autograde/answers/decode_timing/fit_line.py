"""`fit_line`: what is right, which mistakes are known, and what to say about them."""

import math
import statistics
from fractions import Fraction
from itertools import pairwise

import numpy as np

from autograde.answers.decode_timing.shared import REFUSED, TOLERANCE
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised


def _line(case: Case) -> list[float] | Raised:
    """Cramer's rule on the normal equations, in fractions."""
    contexts, seconds = case.inputs.values()
    if len(contexts) != len(seconds) or len(set(contexts)) < 2:
        return REFUSED
    xs, ys = list(map(Fraction, contexts)), list(map(Fraction, seconds))
    n, sx, sy = len(xs), sum(xs), sum(ys)
    sxx, sxy = sum(x * x for x in xs), sum(x * y for x, y in zip(xs, ys, strict=True))
    determinant = n * sxx - sx * sx
    return [float((n * sxy - sx * sy) / determinant), float((sxx * sy - sx * sxy) / determinant)]


def _pairs(contexts, seconds):
    if len(contexts) != len(seconds) or len(set(contexts)) < 2:
        raise ValueError
    return list(zip(contexts, seconds, strict=True))


def _fit(pairs):
    x, y = (math.fsum(values) / len(pairs) for values in zip(*pairs, strict=True))
    slope = sum((c - x) * (s - y) for c, s in pairs) / sum((c - x) ** 2 for c, _ in pairs)
    return slope, y - slope * x


def _fitted(of):
    """A wrong line of pairs (context, seconds); what is to be refused is refused."""
    return lambda contexts, seconds: of(_pairs(contexts, seconds))


def _through(ends):
    def fit_line(contexts, seconds):
        (c0, s0), (c1, s1) = ends(_pairs(contexts, seconds))
        slope = (s1 - s0) / (c1 - c0)
        return slope, s0 - slope * c0

    return fit_line


def _through_origin(pairs):
    return sum(c * s for c, s in pairs) / sum(c * c for c, _ in pairs), 0.0


def _through_middle(slope_of):
    """The slope is another; the line still passes through the means."""

    def fit_line(contexts, seconds):
        pairs = _pairs(contexts, seconds)
        slope = slope_of(pairs)
        return slope, math.fsum(seconds) / len(seconds) - slope * math.fsum(contexts) / len(contexts)

    return fit_line


def _mean_ratio(pairs):
    return math.fsum(s / c for c, s in pairs) / len(pairs)


def _mean_of_slopes(pairs):
    ordered = sorted(dict(pairs).items())
    return statistics.fmean((s1 - s0) / (c1 - c0) for (c0, s0), (c1, s1) in pairwise(ordered))


def _contexts_merged(pairs):
    """One point for each context, the mean of its times."""
    times = {context: [s for c, s in pairs if c == context] for context, _ in pairs}
    return _fit([(context, statistics.fmean(several)) for context, several in times.items()])


def _freedom(factor):
    return lambda pairs: _fit(pairs)[0] * factor(len(pairs))


def _points_counted(contexts, seconds):
    if len(contexts) != len(seconds) or len(contexts) < 2:
        raise ValueError
    return _fit(list(zip(contexts, seconds, strict=True)))


def _nothing_compared(contexts, seconds):
    if len(set(contexts)) < 2:
        raise ValueError
    return _fit(list(zip(contexts, seconds, strict=False)))


def _fit_by_numpy(contexts, seconds):
    if len(contexts) != len(seconds) or len(set(contexts)) < 2:
        raise ValueError
    return tuple(np.polyfit(contexts, seconds, 1))


def _fit_by_sums(contexts, seconds):
    if len(contexts) != len(seconds) or max(contexts, default=0) == min(contexts, default=0):
        raise ValueError
    n, sc, ss = len(contexts), sum(contexts), math.fsum(seconds)
    scc, scs = sum(c * c for c in contexts), math.fsum(c * s for c, s in zip(contexts, seconds, strict=True))
    slope = (n * scs - sc * ss) / (n * scc - sc**2)
    return [slope, (ss - slope * sc) / n]


def _fit_by_statistics(contexts, seconds):
    if len(contexts) != len(seconds) or len(set(contexts)) < 2:
        raise ValueError
    return statistics.linear_regression(contexts, seconds)[:]


ANSWER = Answer(
    exercise=exercise("fit_line"),
    expected=_line,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "through_origin",
            _fitted(_through_origin),
            Advice(
                "Did you draw the line through the origin?",
                (
                    "What would a step at no context take, by your line?",
                    "The weights are read whatever the context: a step costs something before the first token.",
                    "Subtract the means of both before you multiply; the intercept is mean(s) - slope × mean(c).",
                ),
            ),
        ),
        Misconception(
            "first_and_last",
            _through(lambda pairs: (pairs[0], pairs[-1])),
            Advice(
                "Did you use the first and the last point only?",
                (
                    "What becomes of your line if a point in the middle moves?",
                    "One trial that was disturbed at an end would turn the whole line.",
                    "The slope is Σ(c - c̄)(s - s̄) / Σ(c - c̄)², over all points.",
                ),
            ),
        ),
        Misconception(
            "smallest_and_largest",
            _through(lambda pairs: (min(pairs), max(pairs))),
            Advice(
                "Did you use the smallest and the largest context only?",
                (
                    "What becomes of your line if a point in the middle moves?",
                    "One trial that was disturbed at an end would turn the whole line.",
                    "The slope is Σ(c - c̄)(s - s̄) / Σ(c - c̄)², over all points.",
                ),
            ),
        ),
        Misconception(
            "results_swapped",
            lambda contexts, seconds: _fit(_pairs(contexts, seconds))[::-1],
            Advice(
                "Are your two results in the wrong order?",
                (
                    "Which of your two numbers is in seconds per token?",
                    "Seconds per token come first, then the seconds at no token.",
                    "return slope, intercept",
                ),
            ),
        ),
        Misconception(
            "axes_swapped",
            _fitted(lambda pairs: _fit([(s, c) for c, s in pairs])),
            Advice(
                "Did you fit contexts over seconds?",
                (
                    "What is the unit of your first number?",
                    "Seconds are what depends; contexts are what was chosen.",
                    "Divide by the spread of the contexts: Σ(c - c̄)².",
                ),
            ),
        ),
        Misconception(
            "mean_ratio",
            _through_middle(_mean_ratio),
            Advice(
                "Did you take the mean of seconds / context for the slope?",
                (
                    "What does that ratio hold besides the cost of a token?",
                    "The fixed part of a step is spread over the tokens too, and most of all over few of them.",
                    "The slope is Σ(c - c̄)(s - s̄) / Σ(c - c̄)².",
                ),
            ),
        ),
        Misconception(
            "mean_of_slopes",
            _through_middle(_mean_of_slopes),
            Advice(
                "Did you take the mean of the slopes from each context to the next?",
                (
                    "How much does a slope between two contexts that lie close together say?",
                    "All but the ends cancel or weigh too much.",
                    "The slope is Σ(c - c̄)(s - s̄) / Σ(c - c̄)², over all points.",
                ),
            ),
        ),
        Misconception(
            "one_less_above",
            _through_middle(_freedom(lambda n: n / (n - 1))),
            Advice(
                "Did you divide one sum by n - 1 and the other by n, so that the slope is too steep?",
                (
                    "What does your function give for points that lie on a line?",
                    "np.cov divides by n - 1 and np.var by n, unless you say otherwise.",
                    "Leave both divisions out: they cancel.",
                ),
            ),
        ),
        Misconception(
            "one_less_below",
            _through_middle(_freedom(lambda n: (n - 1) / n)),
            Advice(
                "Did you divide one sum by n and the other by n - 1, so that the slope is too flat?",
                (
                    "What does your function give for points that lie on a line?",
                    "statistics.variance divides by n - 1 and a mean by n.",
                    "Leave both divisions out: they cancel.",
                ),
            ),
        ),
        Misconception(
            "contexts_merged",
            _fitted(_contexts_merged),
            Advice(
                "Did you average the times of each context first, and fit one point for each of them?",
                (
                    "A context was measured three times, another once. How much should each weigh?",
                    "Every measurement counts; a mean of three is worth three points.",
                    "Sum over all pairs of zip(contexts, seconds).",
                ),
            ),
        ),
        Misconception(
            "repeated_dropped",
            _fitted(lambda pairs: _fit(list(dict(pairs).items()))),
            Advice(
                "Did you keep one point for each context, although some were measured more than once?",
                (
                    "How many points are left when you put them into a dict?",
                    "Each measurement counts, at whatever context.",
                    "zip(contexts, seconds), and no dict.",
                ),
            ),
        ),
        Misconception(
            "points_counted",
            _points_counted,
            Advice(
                "Did you count points, although two points at the same context make no line?",
                (
                    "What does your function do with three times the same context?",
                    "Through points above one another there are many lines, or none.",
                    "if len(set(contexts)) < 2: raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "lengths_not_compared",
            _nothing_compared,
            Advice(
                "Did you drop the contexts, or the seconds, that have no partner?",
                (
                    "What does zip do with lists of unequal lengths?",
                    "Somebody lost a measurement: which one, nobody knows.",
                    "if len(contexts) != len(seconds): raise ValueError(…)",
                ),
            ),
        ),
    ),
    alternatives=(_fit_by_numpy, _fit_by_sums, _fit_by_statistics),
    hints=(
        "Refuse first. Then find the means of both: the best line passes through them.",
        "How much longer do steps take where contexts are longer than the mean? Weigh each point by that.",
        "slope = Σ(c - c̄)(s - s̄) / Σ(c - c̄)², and the intercept is s̄ - slope × c̄.",
    ),
)
