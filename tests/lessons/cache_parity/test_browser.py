"""Lesson 03 in JupyterLab: the explorer with its negative controls, and a class exercise step by step."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import ExplorerCell, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("03_cache_parity")


def test_the_explorer_shows_what_each_negative_control_hides(notebook):
    explorer = ExplorerCell(notebook, "cache_parity.explore")
    expect(explorer.reading).to_contain_text("8 of 8 steps agree")
    explorer.press("kv-position-zero", "Space", "Step 1 is the first to differ")
    explorer.choose("kv-strings", "one token repeated", "Step 1 is the first to differ")
    explorer.press("kv-argmax-only", "Space", "Arg-max differs first at step 1")


def test_a_bad_id_is_answered_with_a_sentence_and_the_picture_stays(notebook):
    run(notebook, "cache_parity.explore")
    explorer = ExplorerCell(notebook, "cache_parity.explore")
    explorer.fill("kv-ids", "0 1 7", "Still shown", kept=True)
    expect(explorer.cell.locator(".kv-problem")).to_contain_text("7")


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
