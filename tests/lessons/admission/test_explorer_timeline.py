"""The time-line explorer of lesson 10 as plain functions and as a widget without a front end."""

import itertools

import pytest

from kvlab.explorers import timeline
from kvlab.explorers.timeline import (
    MOST_FIRST,
    MOST_GAP,
    MOST_HELD,
    MOST_STALL,
    MOST_TOKENS,
    SHOWN,
    Setting,
    passed_on,
    reading,
    sent,
)
from kvlab.scheduling import latency_report
from tests.lessons.explorers import AskingTests, Sample


def test_a_proxy_lets_no_token_pass_early_and_passes_the_last_on_at_once():
    for tokens in range(1, 17):
        stamps = sent(Setting(tokens=tokens))
        for held in range(1, 11):
            came = passed_on(stamps, held)
            assert all(after >= before for before, after in zip(stamps, came, strict=True))
            assert came[-1] == stamps[-1] and len(set(came)) == -(-tokens // held)
        assert passed_on(stamps, 1) == stamps


def test_the_stall_is_the_largest_gap_of_the_server():
    report = reading(Setting(stall=250)).reports["server"]
    assert report["max_itl"] == pytest.approx(0.31) and report["ttft"] == 0.2
    assert reading(Setting(tokens=1)).reports["server"]["max_itl"] is None


def test_the_answer_to_the_question_of_the_lesson():
    """The mean gap gets better with each token that the proxy holds; the largest only where it hides in the TTFT."""
    reports = [reading(Setting(held=held)).reports["client"] for held in range(1, 11)]
    for before, after in itertools.pairwise(reports):
        assert after["mean_itl"] < before["mean_itl"] and after["ttft"] > before["ttft"]
        assert after["end_to_end"] == before["end_to_end"]
    assert [f"{reports[held - 1]['mean_itl']:.3f}" for held in (1, 4)] == ["0.083", "0.066"]
    largest = [each["max_itl"] for each in reports]
    assert largest[:6] == sorted(largest[:6]) and max(largest[6:]) < largest[0]
    assert [f"{each:.2f}" for each in (largest[0], largest[5], largest[6])] == ["0.31", "0.61", "0.30"]
    assert reports[6]["ttft"] - reports[5]["ttft"] == pytest.approx(largest[0])


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (Setting(), "through the proxy the first token comes 0.18 s later; the largest gap goes from 0.31 to 0.49 s"),
        (Setting(held=1), "the proxy passes every token on at once; both see the same"),
        (Setting(tokens=1), "the proxy passes every token on at once; both see the same"),
    ],
)
def test_the_sentence_says_what_the_proxy_does(setting, said):
    now = reading(setting)
    assert now.verdict == said
    assert now.describe().startswith(f"{said[:1].upper()}{said[1:]}. ")


def without_arrival(arrival, stamps):
    return latency_report(0.0, stamps)


def wrong_mean(arrival, stamps):
    return latency_report(arrival, stamps) | {"mean_itl": 0.5}


OF_SERVER = "your latency_report of the server gives"
LARGEST = Setting(MOST_TOKENS, MOST_FIRST, MOST_GAP, MOST_STALL, MOST_HELD)


class TestExplorer(AskingTests):
    sample = Sample(
        module=timeline,
        right={"latency_report": latency_report},
        captions=[
            (Setting(), (function,), caption)
            for function, caption in [
                (latency_report, "computed by your latency_report"),
                (wrong_mean, f"{OF_SERVER} {{…"),
                (without_arrival, f"{OF_SERVER} {{…"),
                (lambda arrival, stamps: 7, f"{OF_SERVER} 7: showing the library's"),
                (lambda arrival, stamps: {}, f"{OF_SERVER} {{}}: showing the library's"),
                (lambda arrival, stamps: dict.fromkeys(latency_report(0, [1]), "x"), f"{OF_SERVER} {{…"),
                (lambda arrival, stamps: 1 / 0, "your latency_report raises ZeroDivisionError…"),
            ]
        ],
        changes=[("tokens", 5), ("first", 290), ("gap", 20), ("stall", 0), ("held", 1), ("tokens", 1)],
        walk=[("tokens", 1), ("held", 9), ("tokens", 16), ("stall", 0), ("gap", 33), ("first", 50)],
        walk_ends=Setting(16, 50, 33, 0, 9),
        refused=[
            (setting, "wanted")
            for setting in (Setting(tokens=0), Setting(tokens=99), Setting(held=0), Setting(stall=-1))
        ],
        extremes=[
            Setting(MOST_TOKENS),
            Setting(MOST_TOKENS, MOST_FIRST),
            Setting(MOST_TOKENS, MOST_FIRST, MOST_GAP),
            Setting(MOST_TOKENS, MOST_FIRST, MOST_GAP, MOST_STALL),
            LARGEST,
        ],
        css="tokens first gap stall held",
    )

    def test_the_last_token_has_its_place_on_the_axis(self, explorer):
        assert reading(LARGEST).stamps["client"][-1] <= SHOWN == explorer.chart.figure.axes[0].get_xlim()[1]
