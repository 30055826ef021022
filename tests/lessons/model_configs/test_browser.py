"""Lesson 06 in JupyterLab: the explorer by keyboard, good and bad pastes, a null taken for an absent field."""

import pytest
from playwright.sync_api import expect

from autograde.course import lesson
from tests.jupyterlab import ExplorerCell, run, write
from tests.notebooks import solutions

pytestmark = pytest.mark.browser

LESSON = lesson("06_model_configs")


def test_the_explorer_reads_presets_and_pastes_and_refuses_in_a_sentence(notebook):
    explorer = ExplorerCell(notebook, "model_configs.explore")
    expect(explorer.reading).to_contain_text("2.15625 GiB (2,315,255,808 B)")
    expect(explorer.reading).to_contain_text("until yours is written")
    explorer.fill("kv-tokens", "4095", "376,832 B")

    def paste(text, said, kept=False):
        explorer.fill("kv-paste", text, said, leave_by="Tab", kept=kept)

    unknown = "model_type: wanted one of the 19 that are known, got 'llama9'"
    paste('{"model_type": "llama9"}', unknown, kept=True)
    expect(explorer.reading).to_contain_text("Still shown: the last setting")
    bare = '"num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096'
    paste(f'{{"model_type": "mistral", {bare}}}', "32 window of 4,096")
    expect(explorer.reading).to_contain_text("KV heads: default: absent in mistral")
    paste(f'{{"model_type": "mistral", {bare}, "sliding_window": null}}', "32 full")
    assert explorer.cell.locator(".kv-preset select").input_value()  # still a list to go back to


def test_null_taken_for_absent_is_named_and_the_right_one_passes(notebook):
    source = solutions(LESSON)["kv_heads"]
    same = source.replace('null = "null" if name in config else "absent"', 'null = "absent"')
    assert same != source
    write(notebook, "def kv_heads(", same)
    check = run(notebook, 'check("kv_heads")')
    expect(check).to_contain_text("Do you treat null as if the field were absent?")
    write(notebook, "def kv_heads(", source)
    check = run(notebook, 'check("kv_heads")')
    expect(check).to_contain_text("✓ kv_heads · 21 cases · 3 points")


def test_right_answers_drive_the_explorer(notebook):
    for name in ("head_width", "kv_heads", "layer_kinds", "cache_bytes"):
        write(notebook, f"def {name}(", solutions(LESSON)[name])
    explorer = run(notebook, "model_configs.explore")
    expect(explorer).to_contain_text("Payload computed by your cache_bytes")
