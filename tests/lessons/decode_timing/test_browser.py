"""Lesson 11 in JupyterLab: both explorers by keyboard, a clock that does not wait, and a sweep that is interrupted."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import ExplorerCell, cell_with, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("11_decode_timing")
ENDLESS = """import time
progress = Progress(1000)
display(progress)
row = {"way": "preallocated", "context": 8, "batch": 1, "outcome": "measured"}
rows = ((row, 9.0) for _ in iter(lambda: time.sleep(0.02), 1))  # never ends
kept = sweep.kept(rows, progress.show)
progress.done(len(kept))"""


def test_the_explorers_follow_the_keyboard_and_a_sweep_can_be_interrupted(notebook):
    times = ExplorerCell(notebook, "decode_timing.explore")
    expect(times.reading).to_contain_text("until yours is written")
    recorded = times.cell.locator(".kv-source option").nth(1).get_attribute("value")
    times.choose("kv-source", recorded, "2,048 tokens")  # which this machine has measured too
    times.press("kv-context", "ArrowLeft", "512 tokens")

    memory = ExplorerCell(notebook, "out_of_memory.explore")
    expect(memory.reading).to_contain_text("Every second one is freed")
    memory.press("kv-moment", "ArrowRight", "Half the bytes in one piece")
    memory.choose("kv-scene", "growth", "The old one is freed")

    # An interrupt ends a sweep, and keeps its rows.
    write(notebook, "Progress(len(points))", ENDLESS)
    cell = cell_with(notebook, "Progress(1000)")
    expect(cell).to_contain_text("preallocated, 8 tokens × 1, measured · at most 9 s left")
    notebook.locator("[data-command='notebook:interrupt-kernel']").first.click()
    expect(cell).to_contain_text("points are kept. The sweep was stopped early.")


def test_a_clock_that_does_not_wait_is_named_and_a_right_one_is_drawn(notebook):
    right = solutions(LESSON)["time_call"]
    hasty = right.replace("        fn()\n        synchronize()\n", "        fn()\n")
    assert hasty != right
    write(notebook, "def time_call(", hasty.replace("        synchronize()\n", ""))
    check = run(notebook, 'check("time_call")')
    expect(check).to_contain_text("warp-rnnt")
    write(notebook, "def time_call(", right)
    check = run(notebook, 'check("time_call")')
    expect(check).to_contain_text("✓ time_call · 11 cases · 4 points")
    picture = run(notebook, "import Device").locator("img")
    expect(picture).to_have_attribute(
        "alt",
        "What a device took and what was measured. trial 1: 1.314 ms, measured "
        "1.314 ms; trial 2: 1.264 ms, measured 1.264 ms; trial 3: 2.914 ms, measured "
        "2.914 ms; trial 4: 1.294 ms, measured 1.294 ms; trial 5: 1.274 ms, measured "
        "1.274 ms.",
    )
