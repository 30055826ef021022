"""Lesson 02 in JupyterLab: the map, the explorer by keyboard, a wrong answer, a right one, the Validate button."""

import json
import re

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from kvlab.sizes import kv_bytes
from tests.jupyterlab import TOKEN, ExplorerCell, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("02_byte_formula")


def test_the_lab_opens_on_the_course_map_without_questions(page, jupyterlab):
    page.goto(f"{jupyterlab}/lab?token={TOKEN}")
    course_map = page.locator(".jp-MarkdownViewer")
    expect(course_map).to_contain_text(LESSON.title)
    expect(course_map).to_contain_text(str(LESSON.minutes))
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    expect(page.locator(".jp-toast, .Toastify__toast")).to_have_count(0)


def test_without_the_token_nothing_is_shown(page, jupyterlab):
    page.goto(f"{jupyterlab}/lab")
    expect(page.locator("#password_input")).to_be_visible()
    expect(page.locator(".jp-MarkdownViewer")).to_have_count(0)


def test_the_explorer_follows_keyboard_heads_and_dtype(notebook):
    explorer = ExplorerCell(notebook, "byte_formula.explore")
    expect(explorer.reading).to_contain_text("1,073,741,824 B")
    expect(explorer.reading).to_contain_text("until yours is written")

    def total(layers, kv_heads, bits):
        return f"{kv_bytes(layers, 1, 8192, kv_heads, 128, bits):,} B"

    explorer.press("kv-layers", "ArrowRight", total(33, 8, 16))
    for refused in range(9, 16):  # 32 query heads are not divisible by it
        explorer.press("kv-kv-heads", "ArrowRight", f"got {refused}. Still shown", kept=True)
    explorer.press("kv-kv-heads", "ArrowRight", total(33, 16, 16))
    explorer.choose("kv-dtype", "FP8", total(33, 16, 8))
    assert len(set(explorer.seen)) == 4


def test_a_bad_value_in_the_explorer_is_answered_with_a_sentence(notebook):
    run(notebook, "byte_formula.explore")
    explorer = ExplorerCell(notebook, "byte_formula.explore")
    explorer.fill("kv-tokens", "many", "whole number", kept=True)
    expect(explorer.cell.locator(".kv-problem")).to_contain_text("whole number")
    expect(explorer.reading).not_to_contain_text("Traceback")
    explorer.fill("kv-tokens", "1e15", f"{kv_bytes(32, 1, 10**15, 8, 128, 16):,} B")


def test_the_validate_button_says_what_is_missing(notebook):
    notebook.get_by_role("button", name=re.compile("Validate")).first.click()
    dialog = notebook.locator(".jp-Dialog")
    expect(dialog).to_contain_text("not done yet")
    dialog.get_by_role("button").click()
    expect(dialog).to_have_count(0)


def test_a_wrong_answer_is_named_and_the_right_one_counts(notebook, course):
    write(notebook, "def kv_elements(", "def kv_elements(n, b, t, h, d):\n    return n * b * t * h * d")
    check = run(notebook, 'check("kv_elements")')
    expect(check).to_contain_text("Did you count only one of the two tensors that each layer keeps?")
    expect(check).to_contain_text("expected")
    expect(check).not_to_contain_text("Traceback")
    write(notebook, "def kv_elements(", "def kv_elements(n, b, t, h, d):\n    return 2 * n * b * t * h * d")
    check = run(notebook, 'check("kv_elements")')
    expect(check).to_contain_text("✓ kv_elements · 5 cases · 2 points")
    progress = json.loads((course / "work" / ".progress.json").read_text(encoding="utf-8"))
    assert "kv_elements" in json.dumps(progress)
    assert "1 of 7" in (course / "work" / "course_map.md").read_text(encoding="utf-8")


def test_the_explorer_is_driven_by_the_learners_function_once_it_is_right(notebook):
    for name in ("kv_elements", "kv_bytes"):
        write(notebook, f"def {name}(", solutions(LESSON)[name])
    cell = run(notebook, "byte_formula.explore")
    expect(cell).to_contain_text("Computed by your kv_bytes")
