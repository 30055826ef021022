"""Lesson 03 in JupyterLab: the explorer with its negative controls, and a class exercise step by step."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import cell_with, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("03_cache_parity")


def test_the_explorer_shows_what_each_negative_control_hides(notebook):
    cell_with(notebook, "cache_parity.explore")
    reading, picture = notebook.locator(".kv-reading").first, notebook.locator("img.kv-picture").first
    expect(reading).to_contain_text("8 of 8 steps agree")
    seen = [picture.get_attribute("src")]

    def expect_change(text):
        expect(reading).to_contain_text(text)
        expect(picture).not_to_have_attribute("src", seen[-1])
        seen.append(picture.get_attribute("src"))

    notebook.locator(".kv-position-zero input").first.focus()
    notebook.keyboard.press("Space")
    expect_change("Step 1 is the first to differ")
    notebook.locator(".kv-strings select").first.select_option("one token repeated")
    expect_change("Step 1 is the first to differ")
    notebook.locator(".kv-argmax-only input").first.focus()
    notebook.keyboard.press("Space")
    expect_change("Arg-max differs first at step 1")


def test_a_bad_id_is_answered_with_a_sentence_and_the_picture_stays(notebook):
    cell_with(notebook, "cache_parity.explore")
    picture = notebook.locator("img.kv-picture").first
    before = picture.get_attribute("src")
    field = notebook.locator(".kv-ids input").first
    field.fill("0 1 7")
    field.press("Enter")
    expect(notebook.locator(".kv-problem").first).to_contain_text("7")
    assert picture.get_attribute("src") == before


def test_a_class_is_checked_step_by_step_and_the_explorer_follows_it(notebook):
    right = solutions(LESSON)["CachedDecoder"]
    careless = right.replace("not 0 <= token <", "not token <")
    assert careless != right
    write(notebook, "class CachedDecoder", careless)
    check = run(notebook, 'check("CachedDecoder")')
    expect(check).to_contain_text("it = CachedDecoder(model)")
    expect(check).to_contain_text("Did you let an id below 0 pass")
    write(notebook, "class CachedDecoder", right)
    check = run(notebook, 'check("CachedDecoder")')
    expect(check).to_contain_text("✓ CachedDecoder · 10 cases · 5 points")
    explorer = run(notebook, "cache_parity.explore")
    expect(explorer).to_contain_text("Computed by your CachedDecoder")
