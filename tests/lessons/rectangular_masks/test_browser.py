"""Lesson 04 in JupyterLab: the explorer by keyboard, a mask that forgets the cache, and a right one that drives it."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import ExplorerCell, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("04_rectangular_masks")


def test_the_explorer_says_which_key_is_lost_and_which_leaks(notebook):
    explorer = ExplorerCell(notebook, "rectangular_masks.explore")
    expect(explorer.reading).to_contain_text("Top-left mask: query 3 loses keys 1 to 3 (its own included)")
    expect(explorer.reading).to_contain_text("until yours is written")
    explorer.press("kv-cached", "ArrowRight", "query 4 loses keys 1 to 4")
    explorer.press("kv-chunk", "ArrowRight", "12 cells differ in all")
    explorer.press("kv-window", "Home", "query 4 loses key 4 (its own included) and sees key 0 from beyond its window")
    explorer.press("kv-window", "End", "query 4 loses keys 1 to 4")
    explorer.choose("kv-beside", "no mask", "No mask: query 4 sees keys 5 and 6 from its future")
    explorer.press("kv-chunk", "Home", "nothing differs")


def test_a_mask_that_forgets_the_cache_is_named_and_the_right_one_drives_the_explorer(notebook):
    write(notebook, "def allowed(", "def allowed(cached, chunk):\n    return np.tri(chunk, cached + chunk, dtype=bool)")
    check = run(notebook, 'check("allowed")')
    expect(check).to_contain_text("so that the mask forgets the cached tokens (top-left alignment)?")
    expect(check).to_contain_text("one token on a cache")
    write(notebook, "def allowed(", solutions(LESSON)["allowed"])
    check = run(notebook, 'check("allowed")')
    expect(check).to_contain_text("✓ allowed · 6 cases · 2 points")
    explorer = run(notebook, "rectangular_masks.explore")
    expect(explorer).to_contain_text("Computed by your allowed")


def test_attention_follows_the_masks_that_it_calls(notebook):
    for name in ("allowed", "additive_mask", "masked_attention"):
        write(notebook, f"def {name}(", solutions(LESSON)[name])
    check = run(notebook, 'check("masked_attention")')
    expect(check).to_contain_text("✓ masked_attention · 8 cases · 3 points")
