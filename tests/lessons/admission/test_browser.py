"""Lesson 10 in JupyterLab: the explorers by keyboard, mistakes named, and right answers that drive the explorer."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import ExplorerCell, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("10_admission")


def test_both_explorers_follow_the_keyboard(notebook):
    queue = ExplorerCell(notebook, "admission.explore")
    expect(queue.reading).to_contain_text("A lie: by the prompt and by the average")
    expect(queue.reading).to_contain_text("until yours is written")
    queue.press("kv-tail", "Home", "A lie: by the prompt; the worst case takes")
    queue.press("kv-pool", "End", "the scheduler")

    line = ExplorerCell(notebook, "timeline.explore")
    expect(line.reading).to_contain_text("Through the proxy the first token comes 0.18 s later")
    line.press("kv-held", "Home", "The proxy passes every token on at once; both see the same")
    line.press("kv-tokens", "Home", "mean ITL none")


def test_a_lost_block_is_named_and_right_answers_drive_the_explorer(notebook):
    answers = solutions(LESSON)
    write(notebook, "def admit(", answers["admit"])
    right = answers["Scheduler"]
    write(notebook, "class Scheduler", right.replace('            self.pool.free(request["seq"])\n', ""))
    check = run(notebook, 'check("Scheduler")')
    expect(check).to_contain_text("the head of the queue waits for blocks, and nobody overtakes")
    write(notebook, "class Scheduler", right.replace("waiting.insert(0, youngest)", "waiting.append(youngest)"))
    check = run(notebook, 'check("Scheduler")')
    expect(check).to_contain_text("Does a preempted request go to the end of the queue?")
    write(notebook, "class Scheduler", right)
    check = run(notebook, 'check("Scheduler")')
    expect(check).to_contain_text("✓ Scheduler · 14 cases · 6 points")
    explorer = run(notebook, "admission.explore")
    expect(explorer).to_contain_text("Worst case: computed by your admit; scheduler: computed by your Scheduler")
