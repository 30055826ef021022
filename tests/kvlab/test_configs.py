"""Configurations against models that `transformers` builds from them, and refusals that name the field."""

import csv
import math
from random import Random

import numpy as np
import pytest

from autograde.answers import answer_of
from autograde.course import lesson
from autograde.judge import accepted, trace
from kvlab import configs, latent, rules
from kvlab.allocation import STEPS, allocation, unused_slots
from kvlab.bench.transformers_cache import cache_nbytes
from kvlab.configs import cache_bytes, head_width, kv_heads, layer_kinds, read_config, state_bytes
from kvlab.models import MODELS, preset, presets
from tests.notebooks import learner_of

TOKENS, WINDOW = 11, 5
SMALL = {
    "vocab_size": 32,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 6,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
WINDOWED = {"sliding_window": WINDOW}
WIDE = {"head_dim": 10}
GPT2 = {"n_layer": 4, "n_head": 6, "n_embd": 48, "n_positions": 64, "vocab_size": 32, "bos_token_id": 1}
GPT2 |= {"eos_token_id": 2}
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}
LATENT = {
    "num_key_value_heads": 6, "kv_lora_rank": 16, "q_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8,
    "v_head_dim": 10, "n_routed_experts": 4, "moe_intermediate_size": 16, "n_group": 1, "topk_group": 1,
    "num_experts_per_tok": 2, "n_shared_experts": 1, "first_k_dense_replace": 1, "head_dim": 4,
}  # fmt: skip
THREE_N = {"vocab_size_per_layer_input": 32, "hidden_size_per_layer_input": 8, "laurel_rank": 4}
LATE = {"use_sliding_window": True, "max_window_layers": 2}
JAMBA = {"attn_layer_period": 3, "attn_layer_offset": 1, "num_experts": 2, "num_experts_per_tok": 1}

# Each is a model type with the fields that its config.json would have.
BUILT = {
    "gpt2": ("gpt2", GPT2),
    "gpt_bigcode": ("gpt_bigcode", GPT2),
    "gpt_bigcode, a KV head each": ("gpt_bigcode", GPT2 | {"multi_query": False}),
    "falcon": ("falcon", SMALL),
    "falcon, a KV head each": ("falcon", SMALL | {"multi_query": False}),
    "llama": ("llama", SMALL),
    "llama, wide": ("llama", SMALL | WIDE),
    "cohere": ("cohere", SMALL),
    "olmo2": ("olmo2", SMALL),
    "mistral": ("mistral", SMALL | WINDOWED),
    "mistral, no window": ("mistral", SMALL | {"sliding_window": None}),
    "mistral, default window": ("mistral", SMALL),
    "mixtral": ("mixtral", SMALL | EXPERTS),
    "mixtral, a window": ("mixtral", SMALL | EXPERTS | WINDOWED),
    "phi3": ("phi3", SMALL | WINDOWED),
    "qwen2, window unused": ("qwen2", SMALL | WINDOWED | {"use_sliding_window": False}),
    "qwen2, late windows": ("qwen2", SMALL | WINDOWED | LATE),
    "qwen3": ("qwen3", SMALL | WIDE),
    "qwen3, late windows": ("qwen3", SMALL | WINDOWED | LATE),
    "gemma2": ("gemma2", SMALL | WINDOWED | WIDE),
    "gemma3_text": ("gemma3_text", SMALL | WINDOWED | WIDE | {"sliding_window_pattern": 3}),
    "gemma3_text, default pattern": ("gemma3_text", SMALL | WINDOWED | WIDE),
    "gemma3n_text": ("gemma3n_text", SMALL | WINDOWED | WIDE | THREE_N | {"num_kv_shared_layers": 1}),
    "gemma2, no pattern is read": ("gemma2", SMALL | WINDOWED | WIDE | {"sliding_window_pattern": 3}),
    "gemma3n_text, no pattern is read": (
        "gemma3n_text",
        SMALL | WINDOWED | WIDE | THREE_N | {"num_kv_shared_layers": 0, "sliding_window_pattern": 3},
    ),
    "gpt_oss": ("gpt_oss", SMALL | WINDOWED | WIDE | EXPERTS),
    "gpt_oss, no pattern is read": ("gpt_oss", SMALL | WINDOWED | WIDE | EXPERTS | {"sliding_window_pattern": 3}),
    "jamba": ("jamba", SMALL | JAMBA),
    "deepseek_v2": ("deepseek_v2", SMALL | LATENT),
    "deepseek_v3": ("deepseek_v3", SMALL | LATENT),
}


@pytest.mark.parametrize("name", BUILT)
def test_a_real_cache_holds_the_bytes_that_its_configuration_says(name):
    model_type, fields = BUILT[name]
    config = fields | {"model_type": model_type}
    model = read_config(config | {"an_extra_key": [1, 2]})
    expected = []
    for layer in model.layers:
        if layer.kind == "window" and layer.window <= TOKENS:
            expected.append((layer.window - 1) * layer.row_elements * 2)  # the row of the next token comes later
        elif layer.kind == "state":
            expected.append(state_bytes(config, 4) // model.kinds.count("state"))
        else:
            expected.append(TOKENS * layer.row_elements * 2)  # 0 in a layer that reads another one's rows
    assert cache_nbytes(config, TOKENS) == expected


def test_every_model_type_of_the_rules_is_built():
    assert {model_type for model_type, _ in BUILT.values()} == set(rules.RULES) - {"kimi_k2"}  # code of its own


def test_falcons_new_architecture_stores_a_copy_of_each_kv_head_for_each_reader():
    """The payload has 2 KV heads; `transformers` writes 6, which is no property of the configuration."""
    config = SMALL | {"model_type": "falcon", "num_kv_heads": 2, "new_decoder_architecture": True}
    assert 3 * cache_bytes(config, TOKENS, 16) == sum(cache_nbytes(config, TOKENS))


def test_whisper_keeps_the_encoders_rows_apart_from_its_own():
    import torch
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    fields = {"d_model": 48, "encoder_layers": 1, "decoder_layers": 3, "decoder_attention_heads": 6}
    fields |= {"max_source_positions": 20, "max_target_positions": 30}
    small = {"encoder_attention_heads": 6, "num_mel_bins": 8, "vocab_size": 64, "pad_token_id": 0, "bos_token_id": 1}
    small |= {"eos_token_id": 2, "decoder_start_token_id": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
    model = WhisperForConditionalGeneration(WhisperConfig(**fields, **small)).to(torch.bfloat16)
    audio = torch.zeros(1, 8, 40, dtype=torch.bfloat16)
    cache = model(input_features=audio, decoder_input_ids=torch.arange(7)[None] + 3, use_cache=True).past_key_values
    config = fields | {"model_type": "whisper", "is_encoder_decoder": True}
    assert cache_bytes(config, 7, 16) == _held(cache.self_attention_cache)
    assert read_config(config).cross_bytes(16) == _held(cache.cross_attention_cache)


def _held(cache) -> int:
    return sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)


@pytest.mark.parametrize("model_type", [each for each in rules.RULES if each != "kimi_k2"])
def test_absent_and_null_stand_for_what_the_configuration_class_takes(model_type):
    """Each field alone, absent and null, through the configuration class; a refusal there is a refusal here."""
    import transformers

    transformers.logging.set_verbosity_error()
    kind = transformers.CONFIG_MAPPING[model_type]
    rule = rules.RULES[model_type]
    if isinstance(rule["num_key_value_heads"], dict):
        shape = {"num_attention_heads": 64, "hidden_size": 6400, "model_type": model_type}
        assert kv_heads(shape) in (kind(**shape).num_key_value_heads, 64)
        own = {key: value for key, value in shape.items() if key != "model_type"}
        assert _value(lambda: kv_heads(shape | {"num_key_value_heads": None})) == _value(
            lambda: kind(**own, num_key_value_heads=None).num_key_value_heads
        )
    if "sliding_window" in rule and rule["layers"] in ("window", "mixed"):
        assert rule["sliding_window"] == kind().sliding_window
    if isinstance(rule["head_dim"], dict) and type(rule["head_dim"]["absent"]) is int:
        assert rule["head_dim"]["absent"] == kind().head_dim
        with pytest.raises(Exception, match="head_dim"):
            kind(head_dim=None)
    for name in ("attn_layer_period", "attn_layer_offset", "mamba_expand", "mamba_d_state", "kv_lora_rank"):
        if hasattr(kind(), name):
            assert rules.DEFAULTS[name] == getattr(kind(), name)


def _value(function):
    try:
        return function()
    except Exception:
        return "refused"


def rows():
    with MODELS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["model"])
def test_every_preset_gives_the_recorded_bytes(row):
    config = preset(row["model"]).config
    kinds = layer_kinds(config)
    assert kinds.count("window") == int(row["window_layers"])
    assert kinds.count("full") + kinds.count("latent") == int(row["full_layers"])
    assert cache_bytes(config, 1, 16) == int(row["bf16_bytes_per_token_within_window"])
    beyond = cache_bytes(config, 10**6 + 1, 16) - cache_bytes(config, 10**6, 16)
    assert beyond == int(row["bf16_bytes_per_token_beyond_window"])
    assert cache_bytes(config, 8192, 16) == int(row["bf16_payload_bytes_at_8192"])
    assert state_bytes(config, 3) == int(row["state_bytes"])
    if "latent" not in kinds:
        assert kv_heads(config) == int(row["num_key_value_heads"])
        assert head_width(config) == int(row["head_dim"])


def test_the_figures_that_everybody_gets_wrong():
    def at(name, tokens, **changed):
        return cache_bytes(preset(name).config | changed, tokens, 16)

    assert at("Gemma-2-27B", 4096) == 4096 * 376_832
    assert at("Gemma-2-27B", 8192) == 2_315_255_808
    assert at("Mistral-7B-v0.1", 32_768) == 512 * 2**20
    assert at("Mistral-7B-v0.1", 32_768, sliding_window=None) == 4 * 2**30
    absent = {key: value for key, value in preset("Mistral-7B-v0.1").config.items() if key != "sliding_window"}
    assert cache_bytes(absent, 32_768, 16) == 512 * 2**20
    assert at("Jamba-v0.1", 262_144) == 4 * 2**30
    assert state_bytes(preset("Jamba-v0.1").config, 4) == 16_515_072
    assert at("DeepSeek-V3", 1) == 70_272
    assert at("Llama-3.1-405B (current)", 1) == 516_096
    assert at("Falcon-7B", 1) == 8192
    assert at("Qwen3-32B", 1) == 262_144


def test_where_each_number_came_from():
    falcon = read_config(preset("Falcon-7B").config).origins
    assert falcon["num_key_value_heads"] == "derived: multi_query (field)"
    assert falcon["head_dim"] == "derived: hidden_size / num_attention_heads"
    bare = {"model_type": "mistral", "num_hidden_layers": 3, "num_attention_heads": 16, "hidden_size": 96}
    assert read_config(bare).origins == {
        "num_key_value_heads": "default: absent in mistral",
        "head_dim": "derived: hidden_size / num_attention_heads",
        "layers": "rule of mistral",
        "sliding_window": "default: absent in mistral",
    }


LLAMA = {"model_type": "llama", "num_hidden_layers": 3, "num_attention_heads": 12, "hidden_size": 96}
GEMMA2 = LLAMA | {"model_type": "gemma2"}
MISTRAL = LLAMA | {"model_type": "mistral", "num_key_value_heads": 4}
QWEN2 = LLAMA | {"model_type": "qwen2", "num_key_value_heads": 4}
JAMBA_BARE = LLAMA | {"model_type": "jamba", "num_key_value_heads": 4}
NESTED = {"model_type": "gemma3", "text_config": GEMMA2 | {"model_type": "gemma3_text"}}


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ([1, 2], "config"),
        ({}, "model_type"),
        (LLAMA | {"model_type": None}, "model_type"),
        (LLAMA | {"model_type": ["llama"]}, "model_type"),
        (LLAMA | {"model_type": "llama9"}, "model_type"),
        (NESTED | {"text_config": None}, "text_config"),
        (NESTED | {"text_config": LLAMA | {"model_type": "gemma3"}}, "model_type"),
        ({key: value for key, value in LLAMA.items() if key != "num_hidden_layers"}, "num_hidden_layers"),
        ({key: value for key, value in LLAMA.items() if key != "hidden_size"}, "hidden_size"),
        (LLAMA | {"num_attention_heads": None}, "num_attention_heads"),
        (LLAMA | {"num_attention_heads": "12"}, "num_attention_heads"),
        (LLAMA | {"num_hidden_layers": True}, "num_hidden_layers"),
        (LLAMA | {"num_hidden_layers": 0}, "num_hidden_layers"),
        (LLAMA | {"hidden_size": 97}, "hidden_size"),
        (LLAMA | {"num_key_value_heads": 5}, "num_key_value_heads"),
        (LLAMA | {"num_key_value_heads": 24}, "num_key_value_heads"),
        (LLAMA | {"head_dim": 0}, "head_dim"),
        (LLAMA | {"n_layer": 4}, "n_layer"),
        (LLAMA | {"num_kv_shared_layers": 1}, "num_kv_shared_layers"),
        (LLAMA | {"kv_lora_rank": 512}, "kv_lora_rank"),
        (LLAMA | {"cross_attention_layers": [3]}, "cross_attention_layers"),
        (LLAMA | {"layer_types": ["sliding_attention"] * 3}, "layer_types"),
        (LLAMA | {"is_encoder_decoder": True}, "is_encoder_decoder"),
        (GEMMA2 | {"head_dim": None}, "head_dim"),
        (GEMMA2 | {"sliding_window": None}, "sliding_window"),
        (GEMMA2 | {"sliding_window": 0}, "sliding_window"),
        (GEMMA2 | {"layer_types": ["full_attention"] * 2}, "layer_types"),
        (GEMMA2 | {"layer_types": ["full_attention", "chunked_attention", "full_attention"]}, "layer_types"),
        (GEMMA2 | {"layer_types": [["full_attention"]] * 3}, "layer_types"),
        (GEMMA2 | {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        (MISTRAL | {"num_key_value_heads": None}, "num_key_value_heads"),
        (QWEN2 | {"use_sliding_window": "yes"}, "use_sliding_window"),
        (QWEN2 | {"layer_types": ["full_attention", "sliding_attention", "sliding_attention"]}, "layer_types"),
        (JAMBA_BARE | {"attn_layer_offset": 8}, "attn_layer_offset"),
        (JAMBA_BARE | {"attn_layer_period": None}, "attn_layer_period"),
        (LLAMA | {"model_type": "deepseek_v3", "kv_lora_rank": None}, "kv_lora_rank"),
        (LLAMA | {"model_type": "falcon", "multi_query": None}, "multi_query"),
        (LLAMA | {"model_type": "falcon", "new_decoder_architecture": True, "num_kv_heads": 5}, "num_kv_heads"),
        ({"model_type": "whisper", "decoder_layers": 4}, "decoder_attention_heads"),
    ],
)
def test_a_refusal_begins_with_the_name_of_the_field(config, named):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        read_config(config)


def test_a_field_that_is_absent_is_said_to_be_absent():
    with pytest.raises(ValueError, match=r"^num_hidden_layers: is absent; wanted a whole number from 1 to "):
        read_config({"model_type": "llama", "num_attention_heads": 12, "hidden_size": 96})


def test_a_latent_has_no_heads():
    for function in (head_width, kv_heads):
        with pytest.raises(ValueError, match=r"^kv_lora_rank: "):
            function(preset("DeepSeek-V3").config)


def test_a_list_of_full_layers_changes_nothing():
    assert layer_kinds(LLAMA | {"layer_types": ["full_attention"] * 3}) == ["full"] * 3


def test_allocation_adds_up_and_is_never_below_the_payload():
    for name, each in presets().items():
        model = read_config(each.config)
        for tokens in (1, 15, 16, 17, 4095, 4096, 4097, 131_073):
            steps = allocation(model, tokens, 16)
            assert list(steps) == list(STEPS) and min(steps.values()) >= 0, name
            assert steps["payload"] == cache_bytes(each.config, tokens, 16)


def test_groups_of_a_model_with_52_windows_and_10_full_layers_have_70_slots():
    model = read_config(preset("Gemma-3-27B").config)
    assert unused_slots(model) == {"window": 8, "full": 0}
    assert len(model.layers) + 8 == 7 * 10


def test_a_block_of_one_token_rounds_nothing_in_a_full_model():
    steps = allocation(read_config(preset("Llama-3-8B").config), 8193, 16, block_size=1)
    assert sum(steps.values()) == steps["payload"]
    assert allocation(read_config(preset("Llama-3-8B").config), 8193, 16)["page rounding"] == 15 * 131_072


LESSON = lesson("06_model_configs")


@pytest.fixture(scope="module")
def learner():
    return learner_of(LESSON, np=np, math=math, **vars(rules))


@pytest.mark.parametrize("name", LESSON.exercises)
def test_the_library_and_the_solution_give_the_same(learner, name):
    """Also where they refuse: the message begins with the same field."""
    answer = answer_of(name)
    library = getattr(configs, name, None) or getattr(latent, name)
    for seed in range(20):
        cases = answer.exercise.cases(Random(seed))
        for candidate in (library, learner[name]):
            for case, value in zip(cases, trace(answer, candidate, cases), strict=True):
                assert accepted(answer, case, value, answer.expected(case)), (case.label, value)


@pytest.mark.parametrize("name", presets())
def test_the_solution_reads_every_preset(learner, name):
    config = preset(name).config
    assert learner["layer_kinds"](config) == layer_kinds(config)
    for tokens in (1, 4097, 10**6):
        assert learner["cache_bytes"](config, tokens, 16) == cache_bytes(config, tokens, 16)
    assert learner["state_bytes"](config, 3) == state_bytes(config, 3)


def test_absorbed_and_rebuilt_attention_agree_on_a_toy():
    rng = np.random.default_rng(1)
    shapes = (5, 6), (5, 4), (9, 7), (9, 4), (5, 6, 7)
    inputs = [rng.normal(size=shape) for shape in shapes]
    assert np.abs(latent.absorbed_scores(*inputs) - latent.rebuilt_scores(*inputs)).max() < 1e-12


def real(model_type, layers, heads, kv, hidden, **fields):
    """A published config.json of a model that is no preset, with some of the keys that do not matter."""
    known = {
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "hidden_size": hidden,
    }
    extra = {"architectures": ["AnyForCausalLM"], "rope_theta": 1e6, "torch_dtype": "bfloat16", "use_cache": True}
    return {"model_type": model_type, **extra, **known, **fields}


def starcoder(**fields):
    return {"model_type": "gpt_bigcode", "n_layer": 40, "n_head": 48, "n_embd": 6144, "n_positions": 8192, **fields}


FIVES = (["sliding_attention"] * 4 + ["full_attention"]) * 7
E4B = real("gemma3n_text", 35, 8, 2, 2048, head_dim=256, sliding_window=512, layer_types=FIVES, num_kv_shared_layers=15)
SCOUT = real("llama4_text", 48, 40, 8, 5120, head_dim=128, attention_chunk_size=8192, num_local_experts=16)
VISION = real("mllama_text_model", 40, 32, 8, 4096, cross_attention_layers=[3, 8, 13, 18, 23, 28, 33, 38])


# Bytes of the first token in BF16, counted by hand beside each.
@pytest.mark.parametrize(
    ("config", "per_token"),
    [
        (real("mistral", 40, 32, 8, 5120, head_dim=128, sliding_window=None), 40 * 2 * 8 * 128 * 2),  # Mistral-Nemo
        (real("mixtral", 56, 48, 8, 6144, sliding_window=None, num_local_experts=8), 56 * 2 * 8 * 128 * 2),  # 8x22B
        (
            real("qwen2", 24, 14, 2, 896, sliding_window=131_072, use_sliding_window=False, max_window_layers=24),
            24 * 2 * 2 * 64 * 2,
        ),  # Qwen2-0.5B
        (
            real("qwen3", 36, 32, 8, 2560, head_dim=128, sliding_window=None, use_sliding_window=False),
            36 * 2 * 8 * 128 * 2,
        ),  # Qwen3-4B, where hidden / heads is 80
        (real("falcon", 60, 128, 128, 8192, num_kv_heads=8, new_decoder_architecture=True), 60 * 2 * 8 * 64 * 2),  # 40B
        (real("kimi_k2", 61, 64, 64, 7168, kv_lora_rank=512, qk_rope_head_dim=64), 61 * 576 * 2),  # Kimi-K2
        ({"model_type": "gemma3n", "text_config": E4B, "hidden_size": 2048}, 20 * 2 * 2 * 256 * 2),  # 15 of 35 share
        (real("jamba", 72, 64, 8, 8192, attn_layer_period=8, attn_layer_offset=4), 9 * 2 * 8 * 128 * 2),  # 1.5 Large
        (starcoder(multi_query=True), 40 * 2 * 1 * 128 * 2),  # StarCoder
        (real("phi3", 40, 40, 10, 5120, sliding_window=2047), 40 * 2 * 10 * 128 * 2),  # Phi-3-medium-4k
        (real("cohere", 64, 96, 8, 12_288), 64 * 2 * 8 * 128 * 2),  # Command R+
        (
            {"model_type": "whisper", "is_encoder_decoder": True, "decoder_layers": 32, "decoder_attention_heads": 20}
            | {"d_model": 1280, "max_source_positions": 1500, "num_hidden_layers": 32},
            32 * 2 * 1280 * 2,
        ),  # Whisper large-v3
    ],
)
def test_published_configurations_give_the_value_counted_by_hand(config, per_token):
    assert cache_bytes(config, 1, 16) == per_token


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"model_type": "llama4", "text_config": SCOUT}, "model_type"),  # chunks of 8192
        ({"model_type": "mllama", "text_config": VISION}, "model_type"),  # rows of an image in eight layers
        (real("step3p7", 45, 64, 8, 4096, head_dim=128, sliding_window=512), "model_type"),
        (real("gpt_neox", 36, 40, 40, 5120), "model_type"),  # Pythia-12B
        (real("mamba", 64, 1, 1, 2560, state_size=16), "model_type"),
        (real("deepseek_v3", 61, 128, 128, 7168, index_head_dim=128), "index_head_dim"),  # a second cache of keys
        (real("llama", 32, 32, 8, 4096, layer_types=["full_attention", "chunked_attention"] * 16), "layer_types"),
    ],
)
def test_published_configurations_of_other_kinds_are_refused_by_the_field(config, named):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        cache_bytes(config, 1, 16)
