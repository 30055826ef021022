"""The explorer of lesson 01 as plain functions and as a widget without a front end."""

import numpy as np
import pytest

from kvlab.explorers import why_a_cache
from kvlab.explorers.why_a_cache import MOST, NOTHING, QUERY, READ, WRITTEN, Setting, reading, static_figure
from tests.lessons.explorers import AskingTests, Sample

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


class TestExplorer(AskingTests):
    sample = Sample(
        module=why_a_cache,
        right={"score_work": mine},
        captions=[
            (Setting(4, 7, 0), (function,), caption)
            for function, caption in [
                (mine, "computed by your score_work"),
                (lambda n: [np.int64(each) for each in mine(n)], "computed by your score_work"),
                (lambda: (1, 1), "your score_work raises TypeError: …"),
                (
                    lambda n: mine(n)[::-1],
                    "your score_work gives (10, 30) for n = 4, the library (30, 10): showing the library's",
                ),
                (
                    lambda n: mine(n) if n > 3 else (0, 0),
                    "your score_work gives (0, 0) for n = 3, the library (14, 6): …",
                ),
                (
                    lambda n: tuple(map(float, mine(n))),
                    "your score_work gives (30.0, 10.0) for n = 4, the library (30, 10): …",
                ),
                (lambda n: None, "your score_work gives None for n = 4, …"),
                (lambda n: "<b>" * 99, "your score_work gives '<b><b>…"),
                (lambda n: n, "your score_work gives 4 for n = 4, …"),
            ]
        ],
        changes=[("prompt", 6), ("step", 0), ("step", 5), ("steps", 3)],
        walk=[("prompt", MOST), ("step", 9), ("steps", 3), ("step", 0), ("prompt", 2), ("step", 1)],
        walk_ends=Setting(2, 3, 1),
        refused=[
            (setting, "wanted")
            for setting in [
                *(Setting(0), Setting(MOST + 1), Setting(3, 0), Setting(3, 4, 5), Setting(3, MOST + 1)),
                *(Setting(3, 4, -1), Setting(1.5), Setting("3"), Setting(True)),
            ]
        ],
        extremes=[Setting(prompt, MOST, step) for prompt in (1, MOST) for step in (0, 1, MOST)],
        css="prompt steps step",
    )

    def test_fewer_decode_steps_move_the_step_back_to_the_last_one(self, explorer):
        explorer.step.value = 12
        explorer.steps.value = 2
        assert (explorer.step.value, explorer.step.max) == (2, 2)
        assert "step 2: length 7" in explorer.picture.tooltip.lower()
        explorer.steps.value = MOST
        assert (explorer.step.value, explorer.step.max) == (2, MOST)

    def test_the_text_gives_both_ways_and_their_ratio(self, explorer):
        explorer.prompt.value, explorer.step.value = 1, 2
        text = explorer.text.value
        for part in ("1 new token", "2 stored tokens", "3 cached", "6 recomputed", "14 recomputed", "2.3 times"):
            assert part in text
        assert "Computed by your score_work." in text

    def test_every_count_has_its_place_on_the_axis(self, explorer):
        assert explorer.chart.counts.get_xlim() == (1, 20_000)
        assert all(max(reading(setting).scores) < 20_000 for setting in self.sample.extremes)


def test_the_picture_in_words():
    assert static_figure(mine).alt == (
        "Step 4: length 9. Rows of K that it makes: 1 with a cache, 9 recomputed; stored rows it reads: 8. So far in "
        "each layer: cached 9 rows and 55 scores, recomputed 35 rows and 255 scores."
    )
