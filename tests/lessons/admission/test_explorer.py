"""The queue explorer of lesson 10 as plain functions and as a widget without a front end."""

import numpy as np

from kvlab import scheduling
from kvlab.explorers import admission
from kvlab.explorers.admission import (
    BLOCK_SIZE,
    LIMIT,
    MOST_DRAWS,
    MOST_POOL,
    REQUESTS,
    Chart,
    Setting,
    draw_queue,
    reading,
    static_figure,
)
from kvlab.explorers.learner import UNWRITTEN
from kvlab.paging import blocks_needed
from tests.lessons.explorers import AskingTests, Sample, stub


class Mine(scheduling.Scheduler):
    """A learner's class that is right."""


def test_the_worst_case_and_the_scheduler_never_pass_the_pool_and_all_get_through():
    for tail in (0, 5, 10):
        for draw in (1, 13, MOST_DRAWS):
            now = reading(Setting(30, tail, draw))
            assert now.promises["worst"].lie is None and now.promises["worst"].blocks.max() <= 30
            assert now.played.blocks.max() <= 30 and now.played.blocks[-1] == 0
            assert len(now.queue) == REQUESTS and max(answer for _, answer in now.queue) <= LIMIT


def test_blocks_in_use_add_up_to_what_every_request_holds_over_its_life():
    for promise in reading(Setting()).promises.values():
        queue = draw_queue(Setting.tail, Setting.draw)
        lives = sum(blocks_needed(prompt + done, BLOCK_SIZE) for prompt, answer in queue for done in range(answer))
        last = sum(blocks_needed(prompt + answer - 1, BLOCK_SIZE) for prompt, answer in queue if answer == 1)
        assert lives - promise.blocks.sum() >= last
        assert promise.blocks.min() >= 1


def test_without_a_tail_the_average_is_the_truth_and_with_one_it_lies_more_often():
    lies = [
        sum(reading(Setting(tail=tail, draw=draw)).promises["average"].lie is not None for draw in range(1, 11))
        for tail in (0, 6, 10)
    ]
    assert lies[0] == 0 < lies[1] <= lies[2]


def test_the_answer_to_the_question_of_the_lesson():
    found = [reading(Setting(tail=tail)) for tail in range(11)]
    assert all(now.promises["prompt"].lie for now in found)
    assert [now.promises["average"].lie is not None for now in found] == [False] * 6 + [True] * 5
    ratios = [len(now.promises["worst"].blocks) / len(now.played.blocks) for now in found]
    assert 2.2 < min(ratios) < 2.4 and 4.1 < max(ratios) < 4.3
    assert found[8].verdict == (
        "a lie: by the prompt and by the average; the worst case takes 423 steps, the scheduler 149"
    )


def test_a_large_pool_makes_no_promise_a_lie():
    now = reading(Setting(MOST_POOL, 0, 30))
    assert {promise.lie for promise in now.promises.values()} == {None}
    assert now.verdict.startswith("no promise was a lie") and "never more than the pool" in now.describe()


class OldestPreempted(scheduling.Scheduler):
    def _preempt(self):
        self.running.reverse()
        event = super()._preempt()
        self.running.reverse()
        return event


def test_marks_stand_where_a_line_first_passes_the_pool():
    chart, now = Chart(), reading(Setting())
    chart.set(now)
    for name, promise in now.promises.items():
        step = list(chart.lies[name].get_xdata())
        assert step == ([] if promise.lie is None else [promise.lie])
        line = np.array(chart.lines[name].get_ydata())
        assert not step or (line[step[0] - 1] > now.setting.pool and line[: step[0] - 1].max() <= now.setting.pool)
        assert not step or chart.lies[name].get_ydata()[0] >= line[step[0] - 1] + 9  # nor does it hide the line


def test_what_goes_on_beyond_the_axis_is_said():
    chart = Chart()
    for setting, said in ((Setting(), "last step: worst case 423 →"), (Setting(tail=0), "")):
        chart.set(reading(setting))
        assert chart.beyond.get_text() == said


class TestExplorer(AskingTests):
    sample = Sample(
        module=admission,
        right={"admit": scheduling.admit, "Scheduler": Mine},
        captions=[
            *(
                (Setting(), (admit, None), f"worst case: {caption}; scheduler: {UNWRITTEN}")
                for admit, caption in [
                    (scheduling.admit, "computed by your admit"),
                    (None, UNWRITTEN),
                    (
                        lambda queue, free, block: [],
                        "your admit lets in [] of 24 with 48 free blocks: showing the library's",
                    ),
                    (
                        lambda queue, free, block: 1 / 0,
                        "your admit raises ZeroDivisionError: division by zero: showing the library's",
                    ),
                ]
            ),
            *(
                (Setting(), (None, scheduler), f"worst case: {UNWRITTEN}; scheduler: {caption}")
                for scheduler, caption in [
                    (Mine, "computed by your Scheduler"),
                    (OldestPreempted, "your Scheduler differs in step 6: showing the library's"),
                    (lambda *sizes: None, "your Scheduler raises AttributeError…"),
                    (stub, UNWRITTEN),
                ]
            ),
        ],
        changes=[("pool", 30), ("tail", 2), ("draw", 3), ("budget", 16)],
        walk=[("pool", 24), ("tail", 10), ("draw", 4), ("budget", 200), ("pool", 60)],
        walk_ends=Setting(60, 10, 4, 200),
        refused=[
            (setting, "wanted")
            for setting in (Setting(pool=8), Setting(pool=10**6), Setting(tail=-1), Setting(draw=99))
        ],
        extremes=[
            Setting(pool, tail, budget=budget)
            for pool, tail, budget in ((24, 0, 64), (24, 10, 16), (96, 10, 64), (128, 10, 64))
        ],
        css="pool tail draw budget",
    )

    def test_the_first_setting_is_the_one_of_the_question(self, explorer):
        now = reading(explorer.setting())
        assert now.promises["worst"].at_once == (0, 1) and len(now.played.blocks) == 149


def test_the_picture_in_words():
    assert static_figure().alt.startswith("A lie: by the prompt and by the average")
