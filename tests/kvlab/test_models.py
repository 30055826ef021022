"""Presets and devices against the figures recorded beside them."""

import csv

import pytest

from kvlab import sizes
from kvlab.gpus import gpus
from kvlab.models import MODELS, preset, presets


def rows():
    with MODELS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


FULL = presets(full_attention_only=True)


@pytest.mark.parametrize("row", [row for row in rows() if row["model"] in FULL], ids=lambda row: row["model"])
def test_recorded_bytes_of_a_full_attention_model_follow_from_its_config(row):
    config = FULL[row["model"]].attention_config
    per_token = sizes.bytes_per_token(config, 16)
    assert per_token == int(row["bf16_bytes_per_token_within_window"])
    assert per_token == int(row["bf16_bytes_per_token_beyond_window"])
    assert 8192 * per_token == int(row["bf16_payload_bytes_at_8192"])


def test_windowed_latent_and_recurrent_models_are_not_full_attention():
    others = set(presets()) - set(FULL)
    assert others == {
        "Mistral-7B-v0.1", "Gemma-2-2B", "Gemma-2-9B", "Gemma-2-27B", "Gemma-3-1B", "Gemma-3-27B",
        "Phi-3-mini-4k-instruct", "DeepSeek-V2", "DeepSeek-V3", "Jamba-v0.1", "gpt-oss-20b",
    }  # fmt: skip
    assert len(presets()) == len(rows()) and len(FULL) == len(rows()) - len(others)


def test_a_config_has_the_keys_that_the_formulas_read():
    assert preset("Qwen3-32B").attention_config == {
        "num_hidden_layers": 64,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "hidden_size": 5120,
    }


def test_every_preset_names_its_source():
    assert all(each.source for each in presets().values())
    assert all(each.source for each in gpus().values())


def test_changing_what_presets_returns_changes_nothing_for_the_next_caller():
    presets().clear()
    gpus().clear()
    preset("GPT-2 XL").attention_config.clear()
    assert "GPT-2 XL" in presets() and gpus() and preset("GPT-2 XL").attention_config


def test_an_unknown_preset_is_refused_with_near_names():
    with pytest.raises(ValueError, match=r"wanted a preset such as Llama-3-8B.*got 'LLama-3-8b'"):
        preset("LLama-3-8b")
    with pytest.raises(ValueError, match="got None"):
        preset(None)


def test_nominal_memory_counts_a_printed_gigabyte_as_a_power_of_ten():
    assert gpus()["H100 SXM"].memory_bytes == 80_000_000_000
    assert all(each.peak_bandwidth_gb_s > 0 and each.dense_bf16_tflops > 0 for each in gpus().values())
