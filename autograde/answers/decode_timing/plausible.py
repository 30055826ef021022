"""`plausible`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

from autograde.answers.decode_timing.shared import REFUSED
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised


def _believable(case: Case) -> list[bool] | Raised:
    """By sorting each bandwidth between nothing and the limit, in exact numbers."""
    bandwidths, ceiling, *slack = case.inputs.values()
    if not math.isfinite(ceiling) or ceiling <= 0:
        return REFUSED
    limit = Fraction(ceiling) + Fraction(ceiling) * Fraction(*(slack or [0.1]))
    return [math.isfinite(each) and max(Fraction(0), min(Fraction(each), limit)) == each != 0 for each in bandwidths]


def _believes(
    within=lambda bandwidth, ceiling, slack: bandwidth <= ceiling * (1 + slack),
    positive=lambda bandwidth: 0 < bandwidth < math.inf,
    refuse=lambda ceiling: not 0 < ceiling < math.inf,
):
    """A judgement on a bandwidth, right as it stands; each argument is a mistake."""

    def plausible(bandwidth, ceiling, slack=0.1):
        if refuse(ceiling):
            raise ValueError
        return positive(bandwidth) and within(bandwidth, ceiling, slack)

    return plausible


def _believes_by_share(bandwidth, ceiling, slack=0.1):
    if not (math.isfinite(ceiling) and ceiling > 0):
        raise ValueError
    if not math.isfinite(bandwidth):
        return False
    return 0 < bandwidth / ceiling <= 1 + slack


def _believes_by_doubts(bandwidth, ceiling, slack=0.1):
    if math.isnan(ceiling) or math.isinf(ceiling) or ceiling <= 0:
        raise ValueError
    doubts = [math.isnan(bandwidth), math.isinf(bandwidth), bandwidth <= 0, bandwidth - ceiling > ceiling * slack]
    return not any(doubts)


def _nan_believed(bandwidth, ceiling, slack=0.1):
    if not 0 < ceiling < math.inf:
        raise ValueError
    return not (bandwidth <= 0 or bandwidth > ceiling * (1 + slack))


ANSWER = Answer(
    exercise=exercise("plausible"),
    expected=_believable,
    misconceptions=(
        Misconception(
            "nan_believed",
            _nan_believed,
            Advice(
                "Does a bandwidth that is no number pass?",
                (
                    "What is nan > ceiling, and what is nan <= 0?",
                    (
                        "Every comparison with NaN is false, so it passes whoever "
                        "only rejects what is too large or too small."
                    ),
                    "return 0 < bandwidth <= ceiling * (1 + slack)",
                ),
            ),
        ),
        Misconception(
            "zero_believed",
            _believes(positive=lambda bandwidth: 0 <= bandwidth < math.inf),
            Advice(
                "Does a bandwidth of zero pass?",
                (
                    "Which run moves no byte?",
                    "Zero bytes per second means that nothing was measured.",
                    "0 < bandwidth, and not 0 <= bandwidth.",
                ),
            ),
        ),
        Misconception(
            "negative_believed",
            _believes(positive=math.isfinite),
            Advice(
                "Do you look at the upper end only, so that zero and negative bandwidths pass?",
                (
                    "What does your function say of -1?",
                    "A bandwidth has two limits. The lower one is zero.",
                    "0 < bandwidth <= ceiling * (1 + slack)",
                ),
            ),
        ),
        Misconception(
            "slack_added",
            _believes(lambda bandwidth, ceiling, slack: bandwidth <= ceiling + slack),
            Advice(
                "Did you add the slack to the ceiling as bytes per second?",
                (
                    "How many bytes per second does a slack of 0.1 allow beyond 2e12?",
                    "The slack is a share of the ceiling.",
                    "ceiling * (1 + slack)",
                ),
            ),
        ),
        Misconception(
            "slack_forgotten",
            _believes(lambda bandwidth, ceiling, slack: bandwidth <= ceiling),
            Advice(
                "Did you forget the slack?",
                (
                    "Which of the arguments does your answer never use?",
                    "The ceiling was measured too, and a run may come out a little above it.",
                    "ceiling * (1 + slack)",
                ),
            ),
        ),
        Misconception(
            "slack_fixed",
            _believes(lambda bandwidth, ceiling, slack: bandwidth <= ceiling * 1.1),
            Advice(
                "Did you allow ten percent, whatever `slack` says?",
                (
                    "Which of the arguments does your answer never use?",
                    "0.1 is what `slack` is if nobody says anything else.",
                    "ceiling * (1 + slack)",
                ),
            ),
        ),
        Misconception(
            "slack_subtracted",
            _believes(lambda bandwidth, ceiling, slack: bandwidth <= ceiling * (1 - slack)),
            Advice(
                "Did you ask for more room below the ceiling, instead of allowing some above it?",
                (
                    "Does a bandwidth of exactly the ceiling pass?",
                    "The slack forgives a measurement that comes out too high.",
                    "ceiling * (1 + slack), with a plus.",
                ),
            ),
        ),
        Misconception(
            "wrong_way_round",
            _believes(lambda bandwidth, ceiling, slack: bandwidth >= ceiling * (1 + slack)),
            Advice(
                "Did you compare the wrong way round, so that only impossible bandwidths pass?",
                (
                    "What does your function say of a tenth of the ceiling?",
                    "Slow is possible. Faster than the device is not.",
                    "bandwidth <= ceiling * (1 + slack)",
                ),
            ),
        ),
        Misconception(
            "limit_excluded",
            _believes(lambda bandwidth, ceiling, slack: bandwidth < ceiling * (1 + slack)),
            Advice(
                "Does a bandwidth of exactly the limit fail?",
                (
                    "What does your function say where bandwidth == ceiling * (1 + slack)?",
                    "Not above the limit includes the limit.",
                    "<= in place of <.",
                ),
            ),
        ),
        Misconception(
            "infinity_believed",
            lambda bandwidth, ceiling, slack=0.1: (
                _believes(positive=lambda each: each > 0)(bandwidth, ceiling, slack) or bandwidth == math.inf
            ),
            Advice(
                "Does an infinite bandwidth pass, or anything that is merely positive?",
                (
                    "What does your function say of float('inf')?",
                    "Infinitely many bytes per second come from a time of zero.",
                    "0 < bandwidth <= ceiling * (1 + slack)",
                ),
            ),
        ),
        Misconception(
            "any_ceiling",
            _believes(refuse=lambda ceiling: False),
            Advice(
                "Did you take the ceiling without a look at it?",
                (
                    "What does your function do with a ceiling of zero?",
                    "Against a ceiling that is zero, negative, infinite or no number, nothing can be judged.",
                    "if not 0 < ceiling < math.inf: raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "positive_ceiling_only",
            _believes(refuse=lambda ceiling: ceiling <= 0),
            Advice(
                "Do you refuse a ceiling that is too small, and take one that is infinite or no number?",
                (
                    "What is nan <= 0, and what is inf <= 0?",
                    "Every comparison with NaN is false, and infinity is positive.",
                    "if not 0 < ceiling < math.inf: raise ValueError(…)",
                ),
            ),
        ),
    ),
    alternatives=(_believes_by_share, _believes_by_doubts),
    hints=(
        "Which bandwidths can no device have at all, whatever its ceiling is? There are three kinds.",
        "The limit is the ceiling and `slack` times the ceiling. NaN must fail, and it fails every comparison.",
        "Refuse the ceiling first; then 0 < bandwidth <= ceiling * (1 + slack) says it all.",
    ),
)
