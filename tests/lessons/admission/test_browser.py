"""Lesson 10 in JupyterLab: the explorers by keyboard, mistakes named, and right answers that drive the explorer."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import cell_with, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("10_admission")


def test_both_explorers_follow_the_keyboard(notebook):
    cell_with(notebook, "admission.explore")
    queue, line = notebook.locator(".kv-reading").nth(0), notebook.locator(".kv-reading").nth(1)
    expect(queue).to_contain_text("A lie: by the prompt and by the average")
    expect(queue).to_contain_text("until yours is written")

    def press(control, key, reading, text):
        before = reading.inner_text()
        notebook.locator(f".{control} [role=slider]").first.focus()
        notebook.keyboard.press(key)
        expect(reading).to_contain_text(text)
        expect(reading).not_to_have_text(before)

    press("kv-tail", "Home", queue, "A lie: by the prompt; the worst case takes")
    press("kv-pool", "End", queue, "the scheduler")
    expect(line).to_contain_text("Through the proxy the first token comes 0.18 s later")
    press("kv-held", "Home", line, "The proxy passes every token on at once; both see the same")
    press("kv-tokens", "Home", line, "mean ITL none")


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
