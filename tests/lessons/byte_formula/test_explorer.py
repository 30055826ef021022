"""The explorer of lesson 02 as plain functions and as a widget without a front end."""

from dataclasses import replace

import numpy as np
import pytest

from kvlab import sizes
from kvlab.explorers import byte_formula
from kvlab.explorers.byte_formula import HIGHEST, LOWEST, Chart, Setting, reading, static_figure
from kvlab.explorers.controls import CUSTOM, parse_count
from kvlab.explorers.learner import UNWRITTEN
from kvlab.gpus import gpus
from kvlab.models import presets
from tests.lessons.explorers import AskingTests, RefusingTests, Sample, stub

ODD = Setting(num_hidden_layers=5, num_attention_heads=12, num_key_value_heads=4, head_dim=7, dtype="INT4",
              batch=3, tokens=11, gpu="T4")  # fmt: skip


def learner(num_layers, batch, tokens, num_kv_heads, head_dim, bits_per_element):
    return -(-2 * num_layers * batch * tokens * num_kv_heads * head_dim * bits_per_element // 8)


def test_a_reading_is_the_size_of_allocated_arrays():
    now = reading(Setting(5, 12, 4, 7, "INT8", 3, 11))
    assert now.per_token == 5 * np.zeros((2, 4, 7), np.int8).nbytes
    assert now.per_request == 11 * now.per_token
    assert now.total == 3 * now.per_request
    assert now.variants == {"MHA": 3 * now.total, "GQA": now.total, "MQA": now.total // 4}
    assert now.gb * 10**9 == now.gib * 2**30 == now.total


def test_a_reading_stays_exact_at_a_quadrillion_tokens():
    assert reading(Setting(tokens=10**15, batch=3)).total == 3 * 131_072 * 10**15


def test_fitting_compares_with_nominal_memory_at_the_exact_byte():
    fits = Setting(1, 1, 1, 1, "INT8", batch=1, tokens=40 * 10**9, gpu="H100 SXM")
    assert reading(fits).fits() and not reading(Setting(1, 1, 1, 1, "INT8", 1, 40 * 10**9 + 1)).fits()


def test_the_readings_numbers_are_exact_ints():
    now = reading(ODD, learner)
    assert (now.per_token, now.per_request, now.total) == (140, 1540, 4620)
    assert all(type(n) is int for n in (now.per_token, now.per_request, now.total, *now.variants.values()))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("131072", 131072),
        ("131_072", 131072),
        (" 131,072 ", 131072),
        ("131 072", 131072),
        ("1e15", 10**15),
        ("1.5e1", 15),
        ("2.0", 2),
        ("0", 0),
        ("+7", 7),
        ("9007199254740993", 2**53 + 1),
    ],
)
def test_a_typed_number_is_read_exactly(text, number):
    assert parse_count("tokens", text, at_least=0) == number


@pytest.mark.parametrize(
    "text", ["", "many", "-1", "1.5", "1e-1", "nan", "inf", "1,31", "1__0", "0x10", "1e999", "9" * 5000]
)
def test_a_typed_thing_that_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match=r"^tokens: wanted") as error:
        parse_count("tokens", text, at_least=0)
    assert len(str(error.value)) < 150


class TestExplorer(AskingTests, RefusingTests):
    sample = Sample(
        module=byte_formula,
        right={"kv_bytes": learner},
        captions=[
            (ODD, (function,), caption)
            for function, caption in [
                (learner, "computed by your kv_bytes"),
                (lambda *a: np.int64(learner(*a)), "computed by your kv_bytes"),
                (
                    lambda *a: learner(*a) // 2,
                    "your kv_bytes gives 2,310 here, the library 4,620: showing the library's",
                ),
                (lambda *a: float(learner(*a)), "your kv_bytes gives 4620.0 here, the library 4,620…"),
                (stub, UNWRITTEN),
                (lambda *a: None, "your kv_bytes gives None here…"),
                (lambda *a: True, "your kv_bytes gives True here…"),
                (lambda a: 0, "your kv_bytes raises TypeError: …"),
                (
                    lambda L, B, T, H, d, b: learner(L, 3, T, H, d, b),
                    "your kv_bytes gives 420 kv_bytes(5, 1, 1, 4, 7, 4), the library 140…",
                ),
            ]
        ],
        changes=[
            ("num_hidden_layers", 33),
            ("num_attention_heads", 64),
            ("num_key_value_heads", 16),
            ("head_dim", 129),
            ("dtype", "FP8"),
            ("gpu", "T4"),
            ("tokens", "9000"),
            ("batch", "2"),
            ("preset", "GPT-2 XL"),
        ],
        walk=[("tokens", "1e6"), ("preset", "Falcon-7B")],
        walk_ends=Setting(32, 71, 1, 64, tokens=10**6),
        refused=[
            (replace(ODD, **bad), rf"^{name}: wanted")
            for bad in (
                {"num_key_value_heads": 5},
                {"dtype": "BF17"},
                {"gpu": "H1000"},
                {"head_dim": 64.0},
                {"batch": 0},
                {"tokens": -1},
            )
            for name in bad
        ],
        bad=[
            ("tokens", "many", "tokens: wanted a whole number"),
            ("tokens", "-3", "got -3"),
            ("tokens", "<b>", "<b>"),
            ("batch", "0", "requests: wanted"),
            ("batch", "2.5", "requests: wanted"),
            ("num_key_value_heads", 5, "KV heads: wanted a divisor of query heads = 32"),
        ],
        extremes=[Setting(tokens=tokens, gpu=gpu) for tokens in (0, 1, 8192, 10**6, 10**12, 10**29) for gpu in gpus()],
        css="layers query-heads kv-heads head-dim dtype tokens batch preset gpu",
    )

    def test_the_text_gives_exact_bytes_with_separators(self, explorer):
        assert "131,072 B" in explorer.text.value and "1,073,741,824 B" in explorer.text.value
        explorer.tokens.value = "1e15"
        assert "131,072,000,000,000,000,000 B" in explorer.text.value
        assert "Computed by your kv_bytes." in explorer.text.value

    def test_choosing_a_preset_sets_every_slider_and_draws_once(self, explorer):
        for name, each in presets(full_attention_only=True).items():
            redraws = explorer.redraws
            changed = explorer.preset.value != name
            explorer.preset.value = name
            assert explorer.redraws == redraws + changed, name
            assert {key: control.value for key, control in explorer.shape.items()} == {
                key: each.attention_config[key] for key in explorer.shape
            }
            assert f"{sizes.bytes_per_token(each.attention_config, 16):,} B" in explorer.text.value

    def test_moving_a_slider_leaves_the_preset(self, explorer):
        explorer.num_hidden_layers.value = 40
        assert explorer.preset.value == CUSTOM
        redraws = explorer.redraws
        explorer.preset.value = "Llama-3-8B"
        assert (explorer.redraws, explorer.num_hidden_layers.value) == (redraws + 1, 32)

    def test_only_full_attention_models_are_offered(self, explorer):
        assert set(explorer.preset.options) == {CUSTOM, *presets(full_attention_only=True)}

    def test_the_axis_ends_where_it_is_said_to(self, explorer):
        assert explorer.chart.axes.get_xlim() == (LOWEST, HIGHEST)


def test_the_picture_in_words():
    assert "GQA 1 GiB, fits" in static_figure(learner).alt


def test_a_total_off_the_axis_sits_at_its_end_and_says_so():
    chart = Chart()
    chart.set(reading(Setting(tokens=10**20)))
    assert chart.values[0].get_text().startswith("→ ") and chart.dots[0].get_xdata()[0] == HIGHEST
    chart.set(reading(Setting(1, 1, 1, 1, tokens=0)))
    assert chart.values[0].get_text().startswith("← 0 B") and chart.dots[0].get_xdata()[0] == LOWEST
