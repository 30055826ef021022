"""The explorer of lesson 01 as plain functions and as a widget without a front end."""

import warnings

import matplotlib.text
import numpy as np
import pytest

from kvlab.explorers.blit import Blitter
from kvlab.explorers.why_a_cache import (
    MOST,
    NOTHING,
    QUERY,
    READ,
    WRITTEN,
    Chart,
    Setting,
    describe,
    explore,
    reading,
    static_figure,
)
from tests.pngs import differ, pixels

ODD = Setting(prompt=3, steps=7, step=2)


def mine(n):
    """A learner's function that is right, and not the library's."""
    return sum(t * t for t in range(n + 1)), sum(range(n + 1))


@pytest.mark.parametrize("score_work", [None, mine])
@pytest.mark.parametrize("prompt", [1, 3, MOST])
@pytest.mark.parametrize("step", [0, 1, 5, MOST])
def test_the_counts_are_those_of_matrices_made_one_by_one(prompt, step, score_work):
    cached_rows = all_rows = prompt
    cached_scores = all_scores = np.empty((prompt, prompt)).size
    for length in range(prompt + 1, prompt + step + 1):
        cached_rows, all_rows = cached_rows + 1, all_rows + length
        cached_scores += np.empty((1, length)).size
        all_scores += np.empty((length, length)).size
    now = reading(Setting(prompt, MOST, step), score_work)
    assert (now.rows, now.scores) == ((cached_rows, all_rows), (cached_scores, all_scores))
    assert now.length == prompt + step == cached_rows
    assert now.computed_by.startswith("computed by your score_work" if score_work else "computed by the library")


def test_the_strips_show_what_a_step_makes_and_what_it_reads():
    length = 5
    cached_q, cached_kv, all_q, all_kv = (row.tolist() for row in reading(ODD).strips)
    rest = [NOTHING] * (2 * MOST - length)
    assert cached_q == [NOTHING] * 4 + [QUERY] + rest
    assert cached_kv == [READ] * 4 + [WRITTEN] + rest
    assert all_q == [QUERY] * 5 + rest and all_kv == [WRITTEN] * 5 + rest
    prefill = reading(Setting(3, 7, 0)).strips
    assert (prefill[:2] == prefill[2:]).all() and (prefill[1, :3] == WRITTEN).all()


def test_the_answers_of_the_two_questions_hold():
    ratios = {}
    for prompt in (1, MOST):
        cached, full = reading(Setting(prompt, MOST, MOST)).scores
        ratios[prompt] = full / cached
    assert ratios[MOST] > ratios[1]
    for prompt in range(1, MOST + 1):
        nows = [reading(Setting(prompt, MOST, step)) for step in range(MOST + 1)]
        assert all(now.scores[0] == now.rows[1] for now in nows) == (prompt == 1)


def unwritten(n):
    raise NotImplementedError


def noisy(n):
    print("debugging")
    warnings.warn("careful", stacklevel=1)
    return [np.int64(each) for each in mine(n)]


def raises(n):
    raise KeyError("two\nlines " + "and more " * 100)


UNWRITTEN = "computed by the library until yours is written"


@pytest.mark.parametrize(
    ("score_work", "caption"),
    [
        (mine, "computed by your score_work"),
        (noisy, "computed by your score_work"),
        (None, UNWRITTEN),
        (unwritten, UNWRITTEN),
        (raises, "your score_work raises KeyError: 'two\\nlines and more "),
        (lambda: (1, 1), "your score_work raises TypeError: "),
        (7, "your score_work raises TypeError: 'int' object is not callable"),
        (
            lambda n: mine(n)[::-1],
            "your score_work gives (10, 30) for n = 4, the library (30, 10): showing the library's",
        ),
        (lambda n: mine(n) if n > 3 else (0, 0), "your score_work gives (0, 0) for n = 3, the library (14, 6): "),
        (lambda n: tuple(map(float, mine(n))), "your score_work gives (30.0, 10.0) for n = 4, the library (30, 10): "),
        (lambda n: None, "your score_work gives None for n = 4, "),
        (lambda n: "<b>" * 99, "your score_work gives '<b><b>"),
        (lambda n: n, "your score_work gives 4 for n = 4, "),
    ],
)
def test_the_caption_says_whose_counts_are_shown(score_work, caption, capsys, recwarn):
    now = reading(Setting(4, 7, 0), score_work)
    assert now.computed_by.startswith(caption) and len(now.computed_by) < 300 and "\n" not in now.computed_by
    assert (now.rows, now.scores) == (reading(Setting(4, 7, 0)).rows, reading(Setting(4, 7, 0)).scores)
    text = explore(score_work).text.value
    assert "Traceback" not in text and "<b>" not in text
    assert capsys.readouterr() == ("", "") and not recwarn.list


@pytest.mark.parametrize(
    "setting",
    [Setting(0), Setting(MOST + 1), Setting(3, 0), Setting(3, 4, 5), Setting(3, MOST + 1), Setting(3, 4, -1),
     Setting(1.5), Setting("3"), Setting(True)],
)  # fmt: skip
def test_a_setting_without_an_answer_is_refused(setting):
    with pytest.raises((TypeError, ValueError), match="wanted"):
        reading(setting)


@pytest.mark.parametrize("score_work", [None, mine])
@pytest.mark.parametrize(("name", "value"), [("prompt", 6), ("step", 0), ("step", 5), ("steps", 3)])
def test_every_control_changes_the_picture_with_one_redraw(name, value, score_work):
    explorer = explore(score_work)
    before, redraws, words = explorer.picture.value, explorer.redraws, explorer.picture.tooltip
    getattr(explorer, name).value = value
    assert explorer.redraws == redraws + 1
    assert differ(before, explorer.picture.value) and explorer.picture.tooltip != words


def test_fewer_decode_steps_move_the_step_back_to_the_last_one():
    explorer = explore()
    explorer.step.value = 12
    explorer.steps.value = 2
    assert (explorer.step.value, explorer.step.max) == (2, 2)
    assert "step 2: length 7" in explorer.picture.tooltip.lower()
    explorer.steps.value = MOST
    assert (explorer.step.value, explorer.step.max) == (2, MOST)


def test_the_text_gives_both_ways_and_their_ratio():
    explorer = explore(mine)
    explorer.prompt.value, explorer.step.value = 1, 2
    text = explorer.text.value
    for part in ("1 new token", "2 stored tokens", "3 cached", "6 recomputed", "14 recomputed", "2.3 times"):
        assert part in text
    assert "Computed by your score_work." in text


def test_axes_never_move_and_no_text_leaves_the_picture():
    explorer = explore()
    canvas, axes = explorer._blitter.canvas, explorer._chart.counts
    place, paper = axes.get_position().bounds, canvas.figure.bbox
    for prompt in (1, MOST):
        for step in (0, 1, MOST):
            explorer.prompt.value, explorer.steps.value, explorer.step.value = prompt, MOST, step
            assert axes.get_xlim() == (1, 20_000) and axes.get_position().bounds == place
            assert max(*reading(explorer.setting()).scores) < 20_000
            for text in explorer._chart.figure.findobj(matplotlib.text.Text):
                box = text.get_window_extent(canvas.get_renderer())
                if text.get_text() and text.get_visible():
                    assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= paper.x1 and box.y1 <= paper.y1, (text, step)


def test_a_picture_after_many_moves_equals_one_drawn_afresh():
    explorer = explore()
    for name, value in (("prompt", MOST), ("step", 9), ("steps", 3), ("step", 0), ("prompt", 2), ("step", 1)):
        getattr(explorer, name).value = value
    chart = Chart()
    chart.set(reading(Setting(2, 3, 1)))
    assert not differ(explorer.picture.value, Blitter(chart.figure, chart.moving).png())


def test_the_static_figure_draws_what_the_explorer_first_shows():
    static, live = static_figure(mine), explore(mine)
    assert static.alt == live.picture.tooltip == describe(reading(Setting()))
    assert static.alt == (
        "Step 4: length 9. Rows of K that it makes: 1 with a cache, 9 recomputed; stored rows it reads: 8. So far in "
        "each layer: cached 9 rows and 55 scores, recomputed 35 rows and 255 scores."
    )
    assert static.png() == static_figure(mine).png()
    assert pixels(static.png()).size == pixels(live.picture.value).size


def test_widgets_can_be_found_by_class():
    explorer = explore()
    found = {name for control in (*explorer.children[0].children, *explorer.children) for name in control._dom_classes}
    assert {f"kv-{name}" for name in ("prompt", "steps", "step", "reading", "picture")} <= found
