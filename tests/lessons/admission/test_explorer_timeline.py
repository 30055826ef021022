"""The time-line explorer of lesson 10 as plain functions and as a widget without a front end."""

import itertools

import matplotlib.text
import pytest

from kvlab.explorers.blit import Blitter
from kvlab.explorers.timeline import Chart, Setting, describe, explore, passed_on, reading, sent, static_figure
from kvlab.scheduling import latency_report
from tests.pngs import differ, pixels


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
    assert describe(now).startswith(f"{said[:1].upper()}{said[1:]}. ")


def stub(*arguments):
    raise NotImplementedError


def without_arrival(arrival, stamps):
    return latency_report(0.0, stamps)


def wrong_mean(arrival, stamps):
    return latency_report(arrival, stamps) | {"mean_itl": 0.5}


@pytest.mark.parametrize(
    ("function", "caption"),
    [
        (latency_report, "computed by your latency_report"),
        (None, "computed by the library until yours is written"),
        (stub, "computed by the library until yours is written"),
        (wrong_mean, "your latency_report of the server gives {"),
        (without_arrival, "your latency_report of the server gives {"),
        (lambda arrival, stamps: 7, "your latency_report of the server gives 7: showing the library's"),
        (lambda arrival, stamps: {}, "your latency_report of the server gives {}"),
        (lambda arrival, stamps: dict.fromkeys(latency_report(0, [1]), "x"), "your latency_report of the server gives"),
        (lambda arrival, stamps: 1 / 0, "your latency_report raises ZeroDivisionError"),
    ],
)
def test_the_caption_says_whose_numbers_are_shown(function, caption):
    assert reading(Setting(), function).computed_by.startswith(caption)
    assert "Traceback" not in explore(function).text.value


@pytest.mark.parametrize("setting", [Setting(tokens=0), Setting(tokens=99), Setting(held=0), Setting(stall=-1)])
def test_a_setting_without_an_answer_is_refused(setting):
    with pytest.raises(ValueError, match="wanted"):
        reading(setting)


@pytest.mark.parametrize(
    ("name", "value"), [("tokens", 5), ("first", 290), ("gap", 20), ("stall", 0), ("held", 1), ("tokens", 1)]
)
def test_every_control_changes_the_picture_with_one_redraw(name, value):
    explorer = explore(latency_report)
    before, redraws, words = explorer.picture.value, explorer.redraws, explorer.picture.tooltip
    getattr(explorer, name).value = value
    assert explorer.redraws == redraws + 1
    assert differ(before, explorer.picture.value)
    assert explorer.picture.tooltip != words


def test_axes_never_move_and_nothing_leaves_the_picture():
    explorer = explore()
    chart, canvas = explorer._chart, explorer._blitter.canvas
    places, paper = [ax.get_position().bounds for ax in chart.figure.axes], canvas.figure.bbox
    for name in ("tokens", "first", "gap", "stall", "held"):
        control = getattr(explorer, name)
        control.value = control.max
        assert [ax.get_position().bounds for ax in chart.figure.axes] == places
        for text in canvas.figure.findobj(matplotlib.text.Text):
            box = text.get_window_extent(canvas.get_renderer())
            if text.get_text() and text.get_visible():
                assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= paper.x1 and box.y1 <= paper.y1, (text, name)
    assert reading(explorer.setting()).stamps["client"][-1] <= chart.figure.axes[0].get_xlim()[1]


def test_a_picture_after_many_moves_equals_one_drawn_afresh():
    explorer = explore()
    for name, value in [("tokens", 1), ("held", 9), ("tokens", 16), ("stall", 0), ("gap", 33), ("first", 50)]:
        getattr(explorer, name).value = value
    chart = Chart()
    chart.set(reading(Setting(16, 50, 33, 0, 9)))
    assert not differ(explorer.picture.value, Blitter(chart.figure, chart.moving).png())


def test_the_static_figure_draws_what_the_explorer_first_shows():
    static, live = static_figure(), explore()
    assert static.alt == live.picture.tooltip
    assert static.png() == static_figure().png()
    assert pixels(static.png()).size == pixels(live.picture.value).size


def test_widgets_can_be_found_by_class():
    explorer = explore()
    found = {name for control in (*explorer.children[0].children, *explorer.children) for name in control._dom_classes}
    assert {f"kv-{name}" for name in ("tokens", "first", "gap", "stall", "held", "reading", "picture")} <= found
