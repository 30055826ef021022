"""Lesson 07 in JupyterLab: the explorer by keyboard, a tail written in place, and a right pool that drives it."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import ExplorerCell, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("07_paging")


def test_the_explorer_steps_forwards_and_back_and_takes_actions_of_ones_own(notebook):
    explorer = ExplorerCell(notebook, "paging.explore")
    expect(explorer.reading).to_contain_text(
        "Grow B 1: block 1 is shared and has room, so it is copied to block 2 first"
    )
    expect(explorer.reading).to_contain_text("until yours is written")
    explorer.press("kv-step", "ArrowRight", "Grow A 1: no block is taken or given back")
    explorer.press("kv-step", "ArrowLeft", "it is copied to block 2 first")
    explorer.press("kv-step", "End", "Free B")
    explorer.press("kv-block", "End", "beyond 756 tokens in the mean")
    explorer.choose("kv-scripts", "growth", "New A 5: takes block")
    explorer.fill("kv-script", "new A 5, grow C 1", "there is no C at 'grow C 1'", kept=True)


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
