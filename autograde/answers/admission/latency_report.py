"""`latency_report`: what is right, which mistakes are known, and what to say about them."""

from itertools import pairwise
from statistics import median

from autograde.answers.admission.shared import REFUSED
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised

ATOL = 1e-9


def _report(case: Case) -> dict | Raised:
    """In whole microseconds."""
    arrival, stamps = case.inputs["arrival"], case.inputs["stamps"]
    if not stamps:
        return REFUSED
    times = [round(each * 10**6) for each in (arrival, *stamps)]
    waits = [after - before for before, after in pairwise(times)]
    first, gaps = waits[0], waits[1:]
    return {
        "ttft": first / 10**6,
        "mean_itl": sum(gaps) / len(gaps) / 10**6 if gaps else None,
        "max_itl": sorted(gaps)[-1] / 10**6 if gaps else None,
        "end_to_end": sum(waits) / 10**6,
    }


def _gaps(stamps):
    return [stamps[i] - stamps[i - 1] for i in range(1, len(stamps))]


def _latency(
    ttft=lambda arrival, stamps: stamps[0] - arrival,
    gaps=lambda arrival, stamps: _gaps(stamps),
    mean=lambda gaps, stamps: sum(gaps) / len(gaps) if gaps else None,
    top=lambda gaps: max(gaps) if gaps else None,
    end=lambda arrival, stamps: stamps[-1] - arrival,
    empty=None,
):
    """The report, right as it stands; each argument is a mistake."""

    def latency_report(arrival, stamps):
        if not stamps:
            if empty is None:
                raise ValueError("no token came")
            return empty
        found = gaps(arrival, stamps)
        return {
            "ttft": ttft(arrival, stamps),
            "mean_itl": mean(found, stamps),
            "max_itl": top(found),
            "end_to_end": end(arrival, stamps),
        }

    return latency_report


def _latency_by_ends(arrival, stamps):
    """Right: the mean gap from the first and the last stamp alone, as the protected program has it."""
    first, *rest = stamps if stamps else _raise(ValueError)
    report = {"ttft": first - arrival, "mean_itl": None, "max_itl": None, "end_to_end": stamps[-1] - arrival}
    if rest:
        report["mean_itl"] = (rest[-1] - first) / len(rest)
        report["max_itl"] = max(b - a for a, b in zip(stamps, rest, strict=False))
    return report


def _raise(error):
    raise error


NOTHING = {"ttft": None, "mean_itl": None, "max_itl": None, "end_to_end": None}


ANSWER = Answer(
    exercise=exercise("latency_report"),
    expected=_report,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "arrival_ignored",
            _latency(ttft=lambda arrival, stamps: stamps[0]),
            Advice(
                "Is your TTFT a time of day, instead of a wait?",
                (
                    "When did the request arrive?",
                    "A wait is a difference.",
                    "stamps[0] - arrival.",
                ),
            ),
        ),
        Misconception(
            "ttft_from_the_first_gap",
            _latency(ttft=lambda arrival, stamps: stamps[1] - stamps[0] if stamps[1:] else stamps[0] - arrival),
            Advice(
                "Did you take the first gap between tokens for the TTFT?",
                (
                    "What does the user wait for first?",
                    "For the first token, from the arrival on.",
                    "stamps[0] - arrival.",
                ),
            ),
        ),
        Misconception(
            "mean_over_all_tokens",
            _latency(mean=lambda gaps, stamps: sum(gaps) / len(stamps) if gaps else None),
            Advice(
                "Did you divide the gaps by the number of tokens?",
                (
                    "Four tokens: how many gaps lie between them?",
                    "One fewer than tokens.",
                    "Divide by len(stamps) - 1.",
                ),
            ),
        ),
        Misconception(
            "ttft_among_the_gaps",
            _latency(gaps=lambda arrival, stamps: _gaps([arrival, *stamps])),
            Advice(
                "Did you count the wait for the first token among the gaps?",
                (
                    "Between which two tokens does the TTFT lie?",
                    "Gaps begin at the first token. The TTFT is a number of its own.",
                    "stamps[1] - stamps[0], stamps[2] - stamps[1], …",
                ),
            ),
        ),
        Misconception(
            "no_gap_as_zero",
            _latency(
                mean=lambda gaps, stamps: sum(gaps) / max(1, len(gaps)) if gaps else 0.0,
                top=lambda g: max(g, default=0.0),
            ),
            Advice(
                "Did you call the gap of a single token 0?",
                (
                    "Between which tokens would that gap lie?",
                    "There is none, and 0 would say that it was perfect.",
                    "None for both where there is one token.",
                ),
            ),
        ),
        Misconception(
            "median_gap",
            _latency(mean=lambda gaps, stamps: median(gaps) if gaps else None),
            Advice(
                "Did you take the median of the gaps?",
                (
                    "One token stalls. Does your number move?",
                    "The mean was asked for; the largest gap is another entry.",
                    "sum(gaps) / len(gaps).",
                ),
            ),
        ),
        Misconception(
            "end_to_end_from_the_first_token",
            _latency(end=lambda arrival, stamps: stamps[-1] - stamps[0]),
            Advice(
                "Does your end-to-end time begin at the first token?",
                (
                    "When did the user begin to wait?",
                    "At the arrival.",
                    "stamps[-1] - arrival.",
                ),
            ),
        ),
        Misconception(
            "nothing_for_no_token",
            _latency(empty=NOTHING),
            Advice(
                "Did you report on a request without a token?",
                (
                    "When did its first token come?",
                    "There is nothing to report, and silence would be counted as success.",
                    "raise ValueError where stamps is empty.",
                ),
            ),
        ),
        Misconception(
            "zeros_for_no_token",
            _latency(empty=dict.fromkeys(NOTHING, 0.0)),
            Advice(
                "Did you report zeros for a request without a token?",
                (
                    "Is that the fastest request of all?",
                    "There is nothing to report.",
                    "raise ValueError where stamps is empty.",
                ),
            ),
        ),
    ),
    alternatives=(_latency_by_ends, _latency()),
    hints=(
        "Two differences from the arrival, and the gaps between neighbours.",
        "One token has no gap: None. No token: ValueError.",
        "gaps = [b - a for a, b in zip(stamps, stamps[1:])].",
    ),
)
