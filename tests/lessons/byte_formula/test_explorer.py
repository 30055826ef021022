"""The explorer of lesson 02 as plain functions and as a widget without a front end."""

from dataclasses import replace

import matplotlib.text
import numpy as np
import pytest
from PIL import ImageChops

from kvlab import sizes
from kvlab.explorers.byte_formula import (
    CUSTOM,
    HIGHEST,
    LOWEST,
    Chart,
    Setting,
    explore,
    parse_count,
    reading,
    static_figure,
)
from kvlab.gpus import gpus
from kvlab.models import presets
from tests.pngs import pixels

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


@pytest.mark.parametrize(
    ("kv_bytes", "caption"),
    [
        (learner, "computed by your kv_bytes"),
        (lambda *a: np.int64(learner(*a)), "computed by your kv_bytes"),
        (None, "computed by the library until yours is written"),
        (
            lambda *a: learner(*a) // 2,
            "your kv_bytes gives 2,310 here, the library 4,620: showing the library's",
        ),
        (lambda *a: float(learner(*a)), "your kv_bytes gives 4620.0 here, the library 4,620"),
        (lambda *a: None, "your kv_bytes gives None here"),
        (lambda *a: True, "your kv_bytes gives True here"),
        (lambda a: 0, "your kv_bytes raises TypeError: "),
        (lambda L, B, T, H, d, b: learner(L, 3, T, H, d, b), "kv_bytes(5, 1, 1, 4, 7, 4), the library 140"),
    ],
)
def test_the_caption_says_whose_numbers_are_shown(kv_bytes, caption):
    now = reading(ODD, kv_bytes)
    assert caption in now.computed_by
    assert (now.per_token, now.per_request, now.total) == (140, 1540, 4620)
    assert all(type(n) is int for n in (now.per_token, now.per_request, now.total, *now.variants.values()))


def test_an_unwritten_answer_is_no_error(capsys):
    def stub(*_):
        print("debugging")
        raise NotImplementedError

    assert reading(ODD, stub).computed_by == "computed by the library until yours is written"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "bad",
    [
        {"num_key_value_heads": 5},
        {"dtype": "BF17"},
        {"gpu": "H1000"},
        {"head_dim": 64.0},
        {"batch": 0},
        {"tokens": -1},
    ],
)
def test_a_setting_without_an_answer_is_refused_by_name(bad):
    (name,) = bad
    with pytest.raises((TypeError, ValueError), match=rf"^{name}: wanted"):
        reading(replace(ODD, **bad))


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


def test_the_widget_shows_exact_bytes_with_separators():
    explorer = explore(learner)
    assert "131,072 B" in explorer.text.value and "1,073,741,824 B" in explorer.text.value
    explorer.tokens.value = "1e15"
    assert "131,072,000,000,000,000,000 B" in explorer.text.value
    assert "Computed by your kv_bytes." in explorer.text.value


def test_every_control_changes_the_picture_with_one_redraw():
    changes = [
        ("num_hidden_layers", 33),
        ("num_attention_heads", 64),
        ("num_key_value_heads", 16),
        ("head_dim", 129),
        ("dtype", "FP8"),
        ("gpu", "T4"),
        ("tokens", "9000"),
        ("batch", "2"),
        ("preset", "GPT-2 XL"),
    ]
    for name, value in changes:
        explorer = explore()
        before, redraws = pixels(explorer.picture.value), explorer.redraws
        control = explorer.shape[name] if name in explorer.shape else getattr(explorer, name)
        control.value = value
        assert explorer.redraws == redraws + 1, name
        changed = ImageChops.difference(before, pixels(explorer.picture.value)).getbbox()
        assert changed is not None, name


def test_choosing_a_preset_sets_every_slider_and_draws_once():
    explorer = explore()
    for name, each in presets(full_attention_only=True).items():
        redraws = explorer.redraws
        changed = explorer.preset.value != name
        explorer.preset.value = name
        assert explorer.redraws == redraws + changed, name
        assert {key: control.value for key, control in explorer.shape.items()} == {
            key: each.attention_config[key] for key in explorer.shape
        }
        assert f"{sizes.bytes_per_token(each.attention_config, 16):,} B" in explorer.text.value


def test_moving_a_slider_leaves_the_preset():
    explorer = explore()
    explorer.shape["num_hidden_layers"].value = 40
    assert explorer.preset.value == CUSTOM
    redraws = explorer.redraws
    explorer.preset.value = "Llama-3-8B"
    assert (explorer.redraws, explorer.shape["num_hidden_layers"].value) == (redraws + 1, 32)


def test_only_full_attention_models_are_offered():
    assert set(explore().preset.options) == {CUSTOM, *presets(full_attention_only=True)}


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("tokens", "many", "tokens: wanted a whole number"),
        ("tokens", "-3", "got -3"),
        ("tokens", "<b>", "&lt;b&gt;"),
        ("batch", "0", "requests: wanted"),
        ("batch", "2.5", "requests: wanted"),
        ("num_key_value_heads", 5, "KV heads: wanted a divisor of query heads = 32"),
    ],
)
def test_a_bad_value_gives_a_sentence_and_keeps_the_last_picture(name, value, sentence):
    explorer = explore()
    picture, redraws = explorer.picture.value, explorer.redraws
    control = explorer.shape[name] if name in explorer.shape else getattr(explorer, name)
    good = control.value
    control.value = value
    assert sentence in explorer.text.value and "Traceback" not in explorer.text.value
    assert "1,073,741,824 B" in explorer.text.value
    assert (explorer.picture.value, explorer.redraws) == (picture, redraws)
    control.value = good
    assert sentence not in explorer.text.value
    assert explorer.picture.value == picture  # nothing of the bad value is left on the canvas


def test_axes_never_move_and_no_text_leaves_the_picture():
    explorer = explore()
    axes, canvas = explorer._chart.axes, explorer._blitter.canvas
    place = axes.get_position().bounds
    for tokens in ("0", "1", "8192", "1e6", "1e12", "1e29"):
        for gpu in gpus():
            explorer.tokens.value, explorer.gpu.value = tokens, gpu
            assert axes.get_xlim() == (LOWEST, HIGHEST) and axes.get_position().bounds == place
            for text in explorer._chart.figure.findobj(matplotlib.text.Text):
                box = text.get_window_extent(canvas.get_renderer())
                if text.get_text():
                    assert box.x0 >= 0 and box.y0 >= 0, (text, tokens, gpu)
                    assert box.x1 <= canvas.figure.bbox.x1 and box.y1 <= canvas.figure.bbox.y1, (
                        text,
                        tokens,
                        gpu,
                    )


def test_a_blitted_picture_equals_one_drawn_afresh():
    explorer = explore()
    explorer.tokens.value = "1e6"
    explorer.preset.value = "Falcon-7B"
    fresh = explore()
    fresh.preset.value = "Falcon-7B"
    fresh.tokens.value = "1e6"
    assert ImageChops.difference(pixels(explorer.picture.value), pixels(fresh.picture.value)).getbbox() is None


def test_the_static_figure_draws_what_the_explorer_first_shows():
    static, live = static_figure(learner), explore(learner)
    assert static.alt == live.picture.tooltip
    assert "GQA 1 GiB, fits" in static.alt
    assert pixels(static.png()).size == pixels(live.picture.value).size


def test_widgets_can_be_found_by_class():
    explorer = explore()
    found = {name for control in (*explorer.children[0].children, *explorer.children) for name in control._dom_classes}
    controls = "layers query-heads kv-heads head-dim dtype tokens batch preset gpu reading picture"
    assert {f"kv-{name}" for name in controls.split()} <= found


def test_a_total_off_the_axis_sits_at_its_end_and_says_so():
    chart = Chart()
    chart.set(reading(Setting(tokens=10**20)))
    assert chart.values[0].get_text().startswith("→ ") and chart.dots[0].get_xdata()[0] == HIGHEST
    chart.set(reading(Setting(1, 1, 1, 1, tokens=0)))
    assert chart.values[0].get_text().startswith("← 0 B") and chart.dots[0].get_xdata()[0] == LOWEST
