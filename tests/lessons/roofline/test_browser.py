"""Lesson 09 in JupyterLab: the explorer by keyboard, a sum in place of the larger term, and a count that drives it."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import cell_with, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("09_roofline")


def test_the_explorer_moves_by_keyboard_and_says_when_no_batch_helps(notebook):
    cell_with(notebook, "roofline.explore")
    reading, picture = notebook.locator(".kv-reading").first, notebook.locator("img.kv-picture").first
    expect(reading).to_contain_text("below 18.96 FLOP/byte")
    expect(reading).to_contain_text("no batch reaches it")
    expect(reading).to_contain_text("until yours is written")
    seen = [picture.get_attribute("src")]

    def press(control, key, text):
        notebook.locator(f".{control} [role=slider]").first.focus()
        notebook.keyboard.press(key)
        expect(reading).to_contain_text(text)
        expect(picture).not_to_have_attribute("src", seen[-1])
        seen.append(picture.get_attribute("src"))

    press("kv-batch", "ArrowRight", "16.97 FLOP/byte")
    press("kv-batch", "Home", "1.19 FLOP/byte")
    press("kv-context", "Home", "a large enough batch reaches it")
    press("kv-batch", "End", "arithmetic bounds this step")
    notebook.locator(".kv-variant select").first.select_option("MLA")
    expect(reading).to_contain_text("DeepSeek-V3")


def test_a_sum_of_the_terms_is_named_and_right_counts_drive_the_explorer(notebook):
    right = solutions(LESSON)
    write(notebook, "def decode_cost(", right["decode_cost"])
    added = right["step_time_bound"].replace("max(flops / peak_flops,", "sum((flops / peak_flops,")
    write(notebook, "def step_time_bound(", added.replace("/ bandwidth)", "/ bandwidth))"))
    check = run(notebook, 'check("step_time_bound")')
    expect(check).to_contain_text("Did you add the two terms?")
    write(notebook, "def step_time_bound(", right["step_time_bound"])
    check = run(notebook, 'check("step_time_bound")')
    expect(check).to_contain_text("✓ step_time_bound · 7 cases · 2 points")
    write(notebook, "def intensity_ceiling(", right["intensity_ceiling"])
    explorer = run(notebook, "roofline.explore")
    expect(explorer).to_contain_text(
        "Decode: computed by your decode_cost; ceiling: computed by your intensity_ceiling"
    )
