"""The explorer of lesson 06 as plain functions and as a widget without a front end."""

import json
import warnings

import matplotlib.text
import pytest

from kvlab import configs
from kvlab.explorers.blit import Blitter
from kvlab.explorers.model_configs import (
    KINDS,
    LOWEST,
    MOST_TOKENS,
    PASTED,
    PLACES,
    Chart,
    Setting,
    describe,
    explore,
    parse_config,
    reading,
    static_figure,
)
from kvlab.gpus import gpus
from kvlab.models import preset, presets
from tests.pngs import differ, pixels

GEMMA = preset("Gemma-2-27B").config
WHISPER = {
    "model_type": "whisper",
    "is_encoder_decoder": True,
    "decoder_layers": 32,
    "decoder_attention_heads": 20,
    "d_model": 1280,
    "max_source_positions": 1500,
}


def mine(config, tokens, bits):
    """A learner's function that is right, and not the library's."""
    return -(-configs.read_config(config).elements(tokens) * bits // 8)


@pytest.mark.parametrize("name", presets())
def test_every_preset_has_a_reading_whose_parts_add_up(name):
    now = reading(Setting(preset(name).config, 5000), mine)
    assert now.payload == configs.cache_bytes(preset(name).config, 5000, 16) == now.steps["payload"]
    assert now.computed_by == "payload computed by your cache_bytes"
    for place, tokens in enumerate(PLACES):
        stacked = sum(now.curves[kind][place] for kind in KINDS)
        assert stacked == configs.cache_bytes(preset(name).config, tokens, 16) + now.apart
        assert now.allocated[place] >= stacked


def test_the_curve_has_a_kink_at_the_window():
    at = [reading(Setting(GEMMA, tokens)).growth for tokens in (4095, 4096, 999_999)]
    assert at == [376_832, 188_416, 188_416]


def test_the_answers_of_the_two_questions_hold():
    few, many = (reading(Setting(preset("Gemma-3-27B").config, tokens)).steps for tokens in (2001, 999_985))
    assert few["window rings"] == many["window rings"] and few["layer groups"] == many["layer groups"]
    assert few["page rounding"] == many["page rounding"] == 10 * 15 * 8192
    bare = {"model_type": "mistral", "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096}
    assert reading(Setting(bare, MOST_TOKENS)).payload == 512 * 2**20
    assert reading(Setting(bare | {"sliding_window": None}, MOST_TOKENS)).growth == 131_072


def test_state_and_cross_attention_stand_apart_from_the_payload():
    jamba = reading(Setting(preset("Jamba-v0.1").config, 1))
    assert (jamba.payload, jamba.apart) == (16_384, 16_515_072)
    whisper = reading(Setting(WHISPER, 1))
    assert (whisper.payload, whisper.apart) == (32 * 2 * 1280 * 2, 245_760_000)


def stub(*arguments):
    print("debugging")
    raise NotImplementedError


def noisy(*arguments):
    print("debugging")
    warnings.warn("careful", stacklevel=1)
    return mine(*arguments)


def broken(*arguments):
    raise KeyError("two\nlines " + "and more " * 100)


@pytest.mark.parametrize(
    ("function", "caption"),
    [
        (mine, "payload computed by your cache_bytes"),
        (noisy, "payload computed by your cache_bytes"),
        (None, "computed by the library until yours is written"),
        (stub, "computed by the library until yours is written"),
        (broken, "your cache_bytes raises KeyError: 'two\\nlines and more "),
        (lambda *rest: None, "your cache_bytes gives None here, the library 2,315,255,808: showing"),
        (lambda *rest: float(mine(*rest)), "your cache_bytes gives 2315255808.0 here, the library"),
        (lambda c, t, b: mine(c, t, 16), "your cache_bytes gives 351,360 of DeepSeek-V3, the library"),
        (lambda *rest: 10**5000, "your cache_bytes gives a very large number here"),
    ],
)
def test_the_caption_says_whose_payload_is_shown(function, caption, capsys, recwarn):
    now = reading(Setting(GEMMA), function)
    assert now.computed_by.startswith(caption) and len(now.computed_by) < 300 and "\n" not in now.computed_by
    assert now.payload == 2_315_255_808
    assert "Traceback" not in explore(function).text.value
    assert capsys.readouterr() == ("", "") and not recwarn.list


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "config.json: wanted one in the field, got nothing"),
        ("{'model_type': 'llama'}", "config.json: no JSON, line 1: Expecting property name"),
        ('{\n"model_type": \n', "config.json: no JSON, line 3"),
        ("[1, 2]", "config.json: wanted an object with fields, got a list"),
        ("[" * 100_000, "config.json: no configuration looks like that"),
        ("9" * 10_000, "config.json: "),
        ("{" + " " * 300_000 + "}", "config.json: wanted at most 200,000 characters"),
        ("{}", "model_type: wanted one of the 19 that are known, got "),
        ('{"model_type": "llama9"}', "model_type: wanted one of the 19 that are known, got "),
        ('{"model_type": "llama", "num_hidden_layers": 1000000000}', "num_hidden_layers: wanted at most 10,000"),
        ('{"model_type": "llama", "num_hidden_layers": 1' + "0" * 3000 + "}", "num_hidden_layers: wanted a whole"),
        ('{"model_type": "<script>"}', "model_type: wanted one of the 19 that are known, got "),
        (json.dumps(GEMMA | {"sliding_window": None}), "sliding_window: is null, though some layers have a window"),
    ],
)
def test_a_bad_paste_gets_the_reason_and_the_last_picture_stays(text, said):
    explorer = explore(mine)
    before, redraws = explorer.picture.value, explorer.redraws
    with explorer.together():
        explorer.preset.value = PASTED
    explorer.paste.value = text or " "
    assert said.replace("'", "&#x27;") in explorer.text.value
    assert "Still shown: the last setting" in explorer.text.value and "<script>" not in explorer.text.value
    assert (explorer.picture.value, explorer.redraws) == (before, redraws)


def test_a_good_paste_is_read_and_the_list_says_so():
    explorer = explore(mine)
    explorer.paste.value = json.dumps(WHISPER, indent=2)
    assert explorer.preset.value == PASTED
    assert "32 full" in explorer.text.value and "245,760,000 B" in explorer.text.value
    explorer.preset.value = "Jamba-v0.1"
    assert "28 state, 4 full" in explorer.text.value and explorer.paste.value


def test_where_each_number_came_from_is_told():
    explorer = explore(mine)
    explorer.paste.value = (
        '{"model_type": "mistral", "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 64}'
    )
    assert "KV heads: default: absent in mistral" in explorer.text.value
    assert "head width: derived: hidden_size / num_attention_heads" in explorer.text.value


@pytest.mark.parametrize(
    ("name", "value"), [("tokens", "100000"), ("dtype", "INT4"), ("gpu", "L4"), ("preset", "Llama-3-8B")]
)
def test_every_control_changes_the_picture_with_one_redraw(name, value):
    explorer = explore(mine)
    before, redraws = explorer.picture.value, explorer.redraws
    getattr(explorer, name).value = value
    assert explorer.redraws == redraws + 1
    assert differ(before, explorer.picture.value)


@pytest.mark.parametrize("tokens", ["0", "-1", "1.5", "many", "1000001", "1" + "0" * 40])
def test_tokens_out_of_range_are_refused_in_a_sentence(tokens):
    explorer = explore(mine)
    redraws = explorer.redraws
    explorer.tokens.value = tokens
    assert "tokens: wanted" in explorer.text.value and explorer.redraws == redraws


def extremes():
    yield from (Setting(preset(name).config, 10**6, "FP32", "T4") for name in ("Command-R v01", "DeepSeek-V3"))
    yield from (Setting(GEMMA, 1, "INT4", gpu) for gpu in gpus())
    yield from (Setting(preset(name).config, 5000) for name in presets())
    huge = {"model_type": "llama", "num_hidden_layers": 10_000, "num_attention_heads": 10**9, "head_dim": 10**9}
    yield Setting(huge, 10**6)
    yield Setting(WHISPER, 1)


def test_axes_never_move_and_no_text_leaves_the_picture_or_meets_another():
    explorer = explore()
    chart, canvas = explorer._chart, explorer._blitter.canvas
    place, paper = chart.axes.get_position().bounds, canvas.figure.bbox
    limits = chart.axes.get_xlim(), chart.axes.get_ylim()
    for setting in extremes():
        chart.set(reading(setting))
        assert (chart.axes.get_xlim(), chart.axes.get_ylim()) == limits
        assert chart.axes.get_position().bounds == place
        for text in canvas.figure.findobj(matplotlib.text.Text):
            box = text.get_window_extent(canvas.get_renderer())
            if text.get_text() and text.get_visible():
                inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= paper.x1 and box.y1 <= paper.y1
                assert inside, (text, setting)
        boxes = [each.get_window_extent(canvas.get_renderer()) for each in (chart.device_name, chart.value)]
        assert not boxes[0].overlaps(boxes[1]), setting


def test_areas_are_stacked_from_the_bottom_of_the_axis():
    chart = Chart()
    chart.set(reading(Setting(GEMMA)))
    vertices = {kind: chart.areas[kind].get_paths()[0].vertices for kind in KINDS}
    assert vertices["window"][:, 1].min() == LOWEST
    top = len(PLACES) - 1
    assert vertices["full"][top, 1] == reading(Setting(GEMMA, MOST_TOKENS)).payload


def test_the_legend_names_the_kinds_that_are_drawn_and_no_others():
    chart = Chart()
    for name, kinds in [("Gemma-2-27B", {"full", "window"}), ("Jamba-v0.1", {"full", "state"})]:
        chart.set(reading(Setting(preset(name).config)))
        shown = {text.get_text() for text in chart.legend.get_texts() if text.get_visible()}
        assert shown == {"total", "allocated"} | kinds


def test_after_an_error_the_old_values_are_dimmed():
    explorer = explore(mine)
    assert '<div class="kv-before">' not in explorer.text.value
    explorer.tokens.value = "many"
    assert '<div class="kv-before"><dl>' in explorer.text.value
    explorer.tokens.value = "5"
    assert '<div class="kv-before">' not in explorer.text.value


def test_a_picture_after_many_moves_equals_one_drawn_afresh():
    explorer = explore()
    for name, value in [("preset", "Jamba-v0.1"), ("tokens", "77"), ("gpu", "L4"), ("preset", "DeepSeek-V3")]:
        getattr(explorer, name).value = value
    chart = Chart()
    chart.set(reading(Setting(preset("DeepSeek-V3").config, 77, "BF16", "L4")))
    assert not differ(explorer.picture.value, Blitter(chart.figure, chart.moving).png())


def test_the_static_figure_draws_what_the_explorer_first_shows():
    static, live = static_figure(mine), explore(mine)
    assert static.alt == live.picture.tooltip == describe(reading(Setting(GEMMA)))
    assert static.png() == static_figure(mine).png()
    assert pixels(static.png()).size == pixels(live.picture.value).size


def test_a_paste_is_read_as_json():
    assert parse_config(' {"a": null} ') == {"a": None}


def test_widgets_can_be_found_by_class():
    explorer = explore()
    found = {name for control in (*explorer.children[0].children, *explorer.children) for name in control._dom_classes}
    names = ("preset", "tokens", "dtype", "gpu", "paste", "reading", "picture")
    assert {f"kv-{name}" for name in names} <= found
