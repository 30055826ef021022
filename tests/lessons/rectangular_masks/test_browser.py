"""Lesson 04 in JupyterLab: the explorer by keyboard, a mask that forgets the cache, and a right one that drives it."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import cell_with, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("04_rectangular_masks")


def test_the_explorer_says_which_key_is_lost_and_which_leaks(notebook):
    cell_with(notebook, "rectangular_masks.explore")
    reading, picture = notebook.locator(".kv-reading").first, notebook.locator("img.kv-picture").first
    expect(reading).to_contain_text("Top-left mask: query 3 loses keys 1 to 3 (its own included)")
    expect(reading).to_contain_text("until yours is written")
    seen = [picture.get_attribute("src")]

    def press(control, key, text):
        notebook.locator(f".{control} [role=slider]").first.focus()
        notebook.keyboard.press(key)
        expect(reading).to_contain_text(text)
        expect(picture).not_to_have_attribute("src", seen[-1])
        seen.append(picture.get_attribute("src"))

    press("kv-cached", "ArrowRight", "query 4 loses keys 1 to 4")
    press("kv-chunk", "ArrowRight", "12 cells differ in all")
    press("kv-window", "Home", "query 4 loses key 4 (its own included) and sees key 0 from beyond its window")
    press("kv-window", "End", "query 4 loses keys 1 to 4")
    notebook.locator(".kv-beside select").first.select_option("no mask")
    expect(reading).to_contain_text("No mask: query 4 sees keys 5 and 6 from its future")
    press("kv-chunk", "Home", "nothing differs")


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
