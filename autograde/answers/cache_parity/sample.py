"""`sample`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from tiny_transformer import softmax


def _drawn(case: Case) -> int:
    """Walk along the unit interval, one token's share after the other, with exactly rounded sums."""
    top = max(case.inputs["logits"])
    shares = [math.exp(logit - top) for logit in case.inputs["logits"]]
    total = math.fsum(shares)
    return next(i for i in range(len(shares)) if case.inputs["u"] < math.fsum(shares[: i + 1]) / total)


def _sample_by_search(logits, u):
    return int(np.searchsorted(np.cumsum(softmax(logits)), u, side="right"))


def _sample_by_counting(logits, u):
    return int((np.cumsum(softmax(np.asarray(logits))) <= u).sum())


def _sample_sorted(logits, u):
    order = np.argsort(-logits, kind="stable")
    return int(order[_sample_by_search(logits[order], u)])


def _sample_without_shift(logits, u):
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(logits)
        return int(np.argmax(np.cumsum(e / e.sum()) > u))


ANSWER = Answer(
    exercise=exercise("sample"),
    expected=_drawn,
    misconceptions=(
        Misconception(
            "arg_max",
            lambda logits, u: int(np.argmax(logits)),
            Advice(
                "Did you return the most likely token, whatever u is?",
                (
                    "Which of the arguments does your answer never use?",
                    "Greedy decoding ignores chance; sampling gives every token its share of [0, 1).",
                    "Cumulate the probabilities and find where u falls.",
                ),
            ),
        ),
        Misconception(
            "no_softmax",
            lambda logits, u: int(np.argmax(np.cumsum(logits) > u)),
            Advice(
                "Did you cumulate the logits, instead of their probabilities?",
                (
                    "Do your shares add up to 1?",
                    "Logits become probabilities by softmax.",
                    "np.cumsum(softmax(logits)).",
                ),
            ),
        ),
        Misconception(
            "not_normalised",
            lambda logits, u: int(np.argmax(np.cumsum(np.exp(logits - logits.max())) > u)),
            Advice(
                "Did you leave the exponentials undivided by their sum?",
                (
                    "Do your shares add up to 1?",
                    "exp alone gives weights; probabilities sum to 1.",
                    "Divide by the sum, or use softmax.",
                ),
            ),
        ),
        Misconception(
            "no_shift",
            _sample_without_shift,
            Advice(
                "Does exp overflow for large logits?",
                (
                    "What is np.exp(1000.0)?",
                    "Softmax does not change when the same number is taken from all logits.",
                    "Subtract the maximum first, as `softmax` of tiny_transformer does.",
                ),
            ),
        ),
        Misconception(
            "all_equally_likely",
            lambda logits, u: int(u * len(logits)),
            Advice(
                "Did you give every token the same share, whatever its logit?",
                (
                    "Which of the arguments does your answer hardly use?",
                    "A token's share is its probability.",
                    "Cumulate softmax(logits) and find where u falls.",
                ),
            ),
        ),
        Misconception(
            "one_too_far",
            lambda logits, u: _sample_by_search(logits, u) + 1,
            Advice(
                "Do you return the number of the token counted from 1?",
                (
                    "Which index has the first token?",
                    "Tokens count from 0.",
                    "Leave out the + 1.",
                ),
            ),
        ),
        Misconception(
            "boundary_included",
            lambda logits, u: int(np.searchsorted(np.cumsum(softmax(logits)), u, side="left")),
            Advice(
                "Can a token of probability 0 be drawn, because a share includes its upper end?",
                (
                    "What do you return for u = 0 when the first token has probability 0?",
                    "Token i owns the numbers from the sum before it up to, not including, the sum with it.",
                    'The first index whose cumulated sum is > u: np.searchsorted(…, side="right").',
                ),
            ),
        ),
        Misconception(
            "sorted_first",
            _sample_sorted,
            Advice(
                "Did you sort by probability before cumulating?",
                (
                    "In which order are the shares laid along [0, 1)?",
                    "Any fixed order samples right, but two implementations that share u must share the order.",
                    "Keep the order of the ids.",
                ),
            ),
        ),
    ),
    alternatives=(_sample_by_search, _sample_by_counting),
    hints=(
        "Lay the tokens' probabilities along the line from 0 to 1, in order. In whose share does u fall?",
        "np.cumsum(softmax(logits)) gives the right ends of the shares.",
        "The first index whose cumulated probability is greater than u.",
    ),
)
