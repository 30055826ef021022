"""Lesson 07 in JupyterLab: the explorer by keyboard, a tail written in place, and a right pool that drives it."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import cell_with, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("07_paging")


def test_the_explorer_steps_forwards_and_back_and_takes_actions_of_ones_own(notebook):
    cell_with(notebook, "paging.explore")
    reading, picture = notebook.locator(".kv-reading").first, notebook.locator("img.kv-picture").first
    expect(reading).to_contain_text("Grow B 1: block 1 is shared and has room, so it is copied to block 2 first")
    expect(reading).to_contain_text("until yours is written")
    seen = [picture.get_attribute("src")]

    def press(control, key, text):
        notebook.locator(f".{control} [role=slider]").first.focus()
        notebook.keyboard.press(key)
        expect(reading).to_contain_text(text)
        expect(picture).not_to_have_attribute("src", seen[-1])
        seen.append(picture.get_attribute("src"))

    press("kv-step", "ArrowRight", "Grow A 1: no block is taken or given back")
    press("kv-step", "ArrowLeft", "it is copied to block 2 first")
    press("kv-step", "End", "Free B")
    press("kv-block", "End", "beyond 756 tokens in the mean")
    notebook.locator(".kv-scripts select").first.select_option("growth")
    expect(reading).to_contain_text("New A 5: takes block")
    field = notebook.locator(".kv-script input").first
    field.fill("new A 5, grow C 1")
    field.press("Enter")
    expect(reading).to_contain_text("there is no C at 'grow C 1'")


def test_a_shared_tail_written_in_place_is_named_and_the_right_pool_drives_the_explorer(notebook):
    write(notebook, "def blocks_needed(", solutions(LESSON)["blocks_needed"])
    right = solutions(LESSON)["BlockPool"]
    write(notebook, "class BlockPool", right.replace("> 1\n", "> 99\n"))
    check = run(notebook, 'check("BlockPool")')
    expect(check).to_contain_text("Is a last block written in place although another sequence holds it too?")
    expect(check).to_contain_text("a shared last block is copied before it is written")
    write(notebook, "class BlockPool", right)
    check = run(notebook, 'check("BlockPool")')
    expect(check).to_contain_text("✓ BlockPool · 20 cases · 6 points")
    explorer = run(notebook, "paging.explore")
    expect(explorer).to_contain_text("Tables: computed by your BlockPool")
