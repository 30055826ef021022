"""Lesson 09 in JupyterLab: the explorer by keyboard, a sum in place of the larger term, and a count that drives it."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import ExplorerCell, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("09_roofline")


def test_the_explorer_moves_by_keyboard_and_says_when_no_batch_helps(notebook):
    explorer = ExplorerCell(notebook, "roofline.explore")
    expect(explorer.reading).to_contain_text("below 18.96 FLOP/byte")
    expect(explorer.reading).to_contain_text("no batch reaches it")
    expect(explorer.reading).to_contain_text("until yours is written")
    explorer.press("kv-batch", "ArrowRight", "16.97 FLOP/byte")
    explorer.press("kv-batch", "Home", "1.19 FLOP/byte")
    explorer.press("kv-context", "Home", "a large enough batch reaches it")
    explorer.press("kv-batch", "End", "arithmetic bounds this step")
    explorer.choose("kv-variant", "MLA", "DeepSeek-V3")


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
