"""Lesson 01 in JupyterLab: stepping by keyboard, and a cache that is wrong, then right."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from kvlab.reuse import score_work
from tests.jupyterlab import ExplorerCell, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("01_why_a_cache")


def test_the_steps_are_walked_by_keyboard_and_counted(notebook):
    explorer = ExplorerCell(notebook, "why_a_cache.explore")
    expect(explorer.reading).to_contain_text("until yours is written")

    def cached_scores(prompt, step):
        made = prompt**2 + score_work(prompt + step)[1] - score_work(prompt)[1]
        return f"{made} cached"

    explorer.press("kv-step", "ArrowRight", cached_scores(5, 5))
    explorer.press("kv-step", "ArrowRight", cached_scores(5, 6))
    explorer.press("kv-prompt", "ArrowRight", cached_scores(6, 6))
    explorer.press("kv-step", "Home", cached_scores(6, 0))
    assert len(set(explorer.seen)) == 5


def test_a_step_that_attends_too_early_is_named_and_the_right_one_counts(notebook):
    right = solutions(LESSON)
    write(notebook, "def attend(", right["attend"])
    early = """def decode_step(x, layers, caches):
    for layer, (keys, values) in zip(layers, caches):
        y = attend(x @ layer["WQ"], np.array(keys), np.array(values)) if keys else 0 * x
        keys.append(x @ layer["WK"])
        values.append(x @ layer["WV"])
        x = x + y
    return x"""
    write(notebook, "def decode_step(", early)
    check = run(notebook, 'check("decode_step")')
    expect(check).to_contain_text("Do you attend before the new k and v are appended")
    expect(check).not_to_contain_text("Traceback")
    write(notebook, "def decode_step(", right["decode_step"])
    check = run(notebook, 'check("decode_step")')
    expect(check).to_contain_text("✓ decode_step · 6 cases · 4 points")


def test_the_explorer_is_driven_by_the_learners_function_once_it_is_right(notebook):
    write(notebook, "def score_work(", solutions(LESSON)["score_work"])
    cell = run(notebook, "why_a_cache.explore")
    expect(cell).to_contain_text("Computed by your score_work")
