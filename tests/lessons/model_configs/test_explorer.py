"""The explorer of lesson 06 as plain functions and as a widget without a front end."""

import json

import pytest

from kvlab import configs
from kvlab.explorers import model_configs
from kvlab.explorers.model_configs import (
    KINDS,
    LOWEST,
    MOST_TOKENS,
    PASTED,
    PLACES,
    Chart,
    Setting,
    parse_config,
    reading,
    static_figure,
)
from kvlab.gpus import gpus
from kvlab.models import preset, presets
from tests.lessons.explorers import AskingTests, RefusingTests, Sample

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


BAD_PASTES = [
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
]


def extremes():
    yield from (Setting(preset(name).config, 10**6, "FP32", "T4") for name in ("Command-R v01", "DeepSeek-V3"))
    yield from (Setting(GEMMA, 1, "INT4", gpu) for gpu in gpus())
    yield from (Setting(preset(name).config, 5000) for name in presets())
    huge = {"model_type": "llama", "num_hidden_layers": 10_000, "num_attention_heads": 10**9, "head_dim": 10**9}
    yield Setting(huge, 10**6)
    yield Setting(WHISPER, 1)


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


class TestExplorer(AskingTests, RefusingTests):
    sample = Sample(
        module=model_configs,
        right={"cache_bytes": mine},
        captions=[
            (Setting(GEMMA), (function,), caption)
            for function, caption in [
                (mine, "payload computed by your cache_bytes"),
                (lambda *rest: None, "your cache_bytes gives None here, the library 2,315,255,808: showing…"),
                (lambda *rest: float(mine(*rest)), "your cache_bytes gives 2315255808.0 here, the library…"),
                (lambda c, t, b: mine(c, t, 16), "your cache_bytes gives 351,360 of DeepSeek-V3, the library…"),
                (lambda *rest: 10**5000, "your cache_bytes gives a very large number here…"),
            ]
        ],
        changes=[("tokens", "100000"), ("dtype", "INT4"), ("gpu", "L4"), ("preset", "Llama-3-8B")],
        walk=[("preset", "Jamba-v0.1"), ("tokens", "77"), ("gpu", "L4"), ("preset", "DeepSeek-V3")],
        walk_ends=Setting(preset("DeepSeek-V3").config, 77, "BF16", "L4"),
        refused=[
            (Setting(tokens=0), "^tokens: wanted"),
            (Setting(tokens=10**6 + 1), "^tokens: wanted at most 1,000,000"),
        ],
        bad=[
            ("preset", PASTED, "config.json: wanted one in the field, got nothing"),
            *(("paste", text, said) for text, said in BAD_PASTES),
            *(("tokens", n, "tokens: wanted") for n in ("0", "-1", "1.5", "many", "1000001", "1" + "0" * 40)),
        ],
        extremes=list(extremes()),
        touching=("1,000,000",),  # the end of the axis: beside it stands a total too small for the axis
        css="preset tokens dtype gpu paste",
    )

    def test_a_good_paste_is_read_and_the_list_says_so(self, explorer):
        explorer.paste.value = json.dumps(WHISPER, indent=2)
        assert explorer.preset.value == PASTED
        assert "32 full" in explorer.text.value and "245,760,000 B" in explorer.text.value
        explorer.preset.value = "Jamba-v0.1"
        assert "28 state, 4 full" in explorer.text.value and explorer.paste.value

    def test_where_each_number_came_from_is_told(self, explorer):
        explorer.paste.value = (
            '{"model_type": "mistral", "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 64}'
        )
        assert "KV heads: default: absent in mistral" in explorer.text.value
        assert "head width: derived: hidden_size / num_attention_heads" in explorer.text.value

    def test_after_an_error_the_old_values_are_dimmed(self, explorer):
        assert '<div class="kv-before">' not in explorer.text.value
        explorer.tokens.value = "many"
        assert '<div class="kv-before"><dl>' in explorer.text.value
        explorer.tokens.value = "5"
        assert '<div class="kv-before">' not in explorer.text.value


def test_the_first_setting_is_a_model_with_a_window():
    assert static_figure(mine).alt == reading(Setting(GEMMA)).describe()


def test_a_paste_is_read_as_json():
    assert parse_config(' {"a": null} ') == {"a": None}
