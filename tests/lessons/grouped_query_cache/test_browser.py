"""Lesson 05 in JupyterLab: the explorer by keyboard, heads dealt out like cards, a cache that refuses too late."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import ExplorerCell, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("05_grouped_query_cache")


def test_the_explorer_counts_the_heads_that_read_a_wrong_head(notebook):
    explorer = ExplorerCell(notebook, "grouped_query_cache.explore")
    expect(explorer.reading).to_contain_text("4 of 8 query heads read a wrong KV head")
    expect(explorer.reading).to_contain_text("until yours is written")
    refusal = "wanted a number of query heads that 3 divides, got 8. Still shown"
    explorer.press("kv-kv-heads", "ArrowRight", refusal, kept=True)
    explorer.press("kv-heads", "ArrowRight", "6 of 9 query heads read a wrong KV head")
    explorer.press("kv-kv-heads", "Home", "every query head reads its own KV head")
    explorer.choose("kv-tokens", "131,072", "576 MiB (603,979,776 B)", kept=True)


def test_heads_dealt_out_like_cards_are_named_and_right_ones_drive_the_explorer(notebook):
    tiled = "def kv_head_of(query_head, num_heads, num_kv_heads):\n    return query_head % num_kv_heads"
    write(notebook, "def kv_head_of(", tiled)
    explorer = run(notebook, "grouped_query_cache.explore")
    expect(explorer).to_contain_text("Your kv_head_of(1, 8, 2) gives 1: showing the library's")
    check = run(notebook, 'check("kv_head_of")')
    expect(check).to_contain_text("Did you deal the KV heads out like cards (0, 1, 0, 1, …)")
    write(notebook, "def kv_head_of(", solutions(LESSON)["kv_head_of"])
    check = run(notebook, 'check("kv_head_of")')
    expect(check).to_contain_text("✓ kv_head_of · 9 cases · 1 point")
    explorer = run(notebook, "grouped_query_cache.explore")
    expect(explorer).to_contain_text("Computed by your kv_head_of")


def test_a_cache_that_clears_and_does_not_count_is_named(notebook):
    source = solutions(LESSON)["GroupedCache"]
    clears = "self.k[:, :, n:] = 0\n        self.v[:, :, n:] = 0\n"
    write(notebook, "class GroupedCache", source.replace("self.used = n\n", clears))
    check = run(notebook, 'check("GroupedCache")')
    expect(check).to_contain_text("Does `truncate` clear the rows and forget `used`?")
    expect(check).to_contain_text("rejected tokens leave")
    write(notebook, "class GroupedCache", source)
    check = run(notebook, 'check("GroupedCache")')
    expect(check).to_contain_text("✓ GroupedCache · 10 cases · 5 points")
