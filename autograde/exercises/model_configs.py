"""Lesson 06: which configurations to try. A refusal is told by the field that its message begins with."""

import re
from random import Random

import numpy as np

from autograde.exercise import Case, Exercise, call
from autograde.values import Raised


def _call(candidate: object, case: Case) -> object:
    """The value, or the refusal: the first word of its message is the field it names."""
    try:
        return call(candidate, case)
    except ValueError as error:
        return refusal(re.match(r"\w{0,50}", str(error), re.ASCII)[0])


def refusal(field: str) -> Raised:
    """A ValueError of which it matters what its message begins with: equal to one that begins with the same field."""
    return Raised(f"ValueError, the message beginning with {field or 'no field'}")


def _sizes(rng: Random, kv_heads: int = 0) -> dict[str, int]:
    """Layers, query heads, KV heads and hidden size, all different; hidden / heads is no power of two."""
    kv_heads = kv_heads or rng.choice([3, 5, 7])
    return {
        "num_hidden_layers": rng.choice([11, 13, 17, 19]),
        "num_attention_heads": (heads := kv_heads * rng.choice([6, 10, 12])),
        "num_key_value_heads": kv_heads,
        "hidden_size": heads * rng.choice([18, 22, 26]),
    }


def _config(rng: Random, model_type: str, without: tuple[str, ...] = (), kv_heads: int = 0, **fields) -> dict:
    """A config.json with keys that do not matter, and without those named."""
    found = {"model_type": model_type, **_sizes(rng, kv_heads), **fields}
    found |= {"vocab_size": rng.randrange(30_000, 90_000), "rms_norm_eps": 1e-05, "torch_dtype": "bfloat16"}
    return {name: value for name, value in found.items() if name not in without}


def _gpt2(rng: Random, model_type: str = "gpt2", **fields) -> dict:
    """The same in the names of GPT-2."""
    own = {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "hidden_size": "n_embd"}
    found = _config(rng, model_type, without=("num_key_value_heads", "rms_norm_eps"), **fields)
    return {own.get(name, name): value for name, value in found.items()}


def _nested(rng: Random, **fields) -> dict:
    """Gemma 3 with pictures: the decoder is inside, and the picture's own sizes are a trap."""
    text = _config(rng, "gemma3_text", **fields)
    vision = {"hidden_size": 1152, "num_attention_heads": 16, "num_hidden_layers": 27}
    return {"model_type": "gemma3", "text_config": text, "vision_config": vision, **vision}


# --- head_width and kv_heads -----------------------------------------------------------------------------------


def _head_width(rng: Random) -> list[Case]:
    def case(label: str, config: dict) -> Case:
        return Case(label, {"config": config})

    width = rng.choice([40, 72, 88, 104])
    fixed = ("gpt_oss", "qwen3", "gemma2")
    odd = _config(rng, "llama")
    return [
        case("absent: divide", _config(rng, "llama")),
        case("stated, and not hidden / heads", _config(rng, "llama", head_dim=width)),
        case("stated, in a model with experts", _config(rng, "gpt_oss", head_dim=width, num_local_experts=32)),
        case("the names of GPT-2", _gpt2(rng)),
        *(case(f"absent in {each}", _config(rng, each, kv_heads=8)) for each in fixed),
        case("null, where null says divide", _config(rng, rng.choice(["llama", "mistral", "qwen2"]), head_dim=None)),
        case("null, where null says nothing", _config(rng, rng.choice(fixed), head_dim=None)),
        case("inside text_config", _nested(rng, head_dim=width)),
        case("hidden / heads is no whole number", odd | {"hidden_size": odd["hidden_size"] + 1}),
        case("nothing to divide", _config(rng, "llama", without=("hidden_size",))),
        case("a model type that nobody knows", _config(rng, "llama_next", head_dim=width)),
        case("no model type", _config(rng, "", without=("model_type",), head_dim=width)),
        case("a latent has no heads", _config(rng, "deepseek_v3", kv_lora_rank=512, qk_rope_head_dim=64)),
    ]


def _kv_heads(rng: Random) -> list[Case]:
    def case(label: str, config: dict) -> Case:
        return Case(label, {"config": config})

    none = ("num_key_value_heads",)
    falcon = {"model_type": "falcon", "kv_heads": 5}
    uneven = _config(rng, "llama", kv_heads=5)
    return [
        case("stated", _config(rng, "llama")),
        case("stated, in a model with experts", _config(rng, "mixtral", num_local_experts=rng.choice([6, 9]))),
        case("absent in llama", _config(rng, "llama", none)),
        case("absent in mistral", _config(rng, "mistral", none, kv_heads=8)),
        case("absent in qwen2", _config(rng, "qwen2", none, kv_heads=32)),
        case("absent in gemma3_text", _config(rng, "gemma3_text", none, kv_heads=4)),
        case("no such field in gpt2", _gpt2(rng)),
        case("one for all in gpt_bigcode", _gpt2(rng, "gpt_bigcode", multi_query=True)),
        case("falcon says nothing", _config(rng, without=none, num_kv_heads=5, **falcon)),
        case("falcon without multi_query", _config(rng, without=none, multi_query=False, **falcon)),
        case(
            "falcon's new architecture counts",
            _config(rng, without=none, num_kv_heads=5, multi_query=True, new_decoder_architecture=True, **falcon),
        ),
        case(
            "falcon's new architecture, and no count",
            _config(rng, without=none, kv_heads=3, model_type="falcon", new_decoder_architecture=True),
        ),
        case(
            "falcon's count does not divide",
            _config(rng, without=none, num_kv_heads=11, new_decoder_architecture=True, **falcon),
        ),
        case(
            "gpt_bigcode has no new architecture",
            _gpt2(rng, "gpt_bigcode", multi_query=True, new_decoder_architecture=True),
        ),
        case("null, where null says heads", _config(rng, rng.choice(["llama", "qwen2"]), num_key_value_heads=None)),
        case("null, where null says nothing", _config(rng, "mistral", kv_heads=8) | {"num_key_value_heads": None}),
        case("inside text_config", _nested(rng)),
        case(
            "heads that cannot be shared out", uneven | {"num_key_value_heads": 4 * uneven["num_attention_heads"] // 5}
        ),
        case("a default at odds with the heads", _config(rng, "qwen2", none, kv_heads=3)),
        case("a model type that nobody knows", _config(rng, "llama_next")),
        case("a latent has no heads", _config(rng, "deepseek_v3", kv_lora_rank=512, qk_rope_head_dim=64)),
    ]


# --- layer_kinds -----------------------------------------------------------------------------------------------


def _layer_kinds(rng: Random) -> list[Case]:
    def case(label: str, model_type: str, layers: int, without: tuple[str, ...] = (), **fields) -> Case:
        config = _config(rng, model_type, without, **fields)
        return Case(label, {"config": config | {"num_hidden_layers": layers}})

    window = rng.choice([24, 48, 96])
    named = ["full_attention", *["sliding_attention"] * 3, "full_attention"]
    qwen = {"sliding_window": window, "max_window_layers": 4}
    nested = _nested(rng, sliding_window=window)
    nested["text_config"]["num_hidden_layers"] = 8
    offset = rng.choice([1, 2])
    return [
        case("every layer keeps everything", "llama", rng.choice([3, 4])),
        case("a window in every layer", "mistral", 3, sliding_window=window),
        case("mistral, absent", "mistral", 4),
        case("mistral, null", "mistral", 3, sliding_window=None),
        case("mixtral, absent", "mixtral", 3, num_local_experts=8),
        case("qwen2, a window that is not used", "qwen2", 6, use_sliding_window=False, **qwen),
        case("qwen2, use_sliding_window is absent", "qwen2", 6, **qwen),
        case("qwen2, a window from layer 4 on", "qwen2", 7, use_sliding_window=True, **qwen),
        case("qwen2, a window from layer 0 on", "qwen2", 5, use_sliding_window=True, **qwen | {"max_window_layers": 0}),
        case("qwen2, max_window_layers is absent", "qwen2", 30, use_sliding_window=True, sliding_window=window),
        case("qwen2, listed", "qwen2", 5, use_sliding_window=True, layer_types=named, **qwen),
        case("gemma2, by its rule", "gemma2", 5, sliding_window=window),
        case("gemma2 reads no pattern", "gemma2", 7, sliding_window=window, sliding_window_pattern=3),
        case("gpt_oss, listed", "gpt_oss", 5, sliding_window=window, layer_types=named),
        Case("gemma3, by its rule", {"config": nested}),
        case("gemma3, another pattern", "gemma3_text", 8, sliding_window=window, sliding_window_pattern=3),
        case("jamba", "jamba", 9, attn_layer_period=4, attn_layer_offset=offset),
        case("jamba, absent", "jamba", 14),
        case("deepseek_v3", "deepseek_v3", 3, kv_lora_rank=512, qk_rope_head_dim=64),
        case("gemma3n, the last layers share", "gemma3n_text", 12, sliding_window=window, num_kv_shared_layers=5),
        case("gemma3n, as many share as the class says", "gemma3n_text", 20, sliding_window=window),
        case("gemma3n, no layer shares", "gemma3n_text", 8, sliding_window=window, num_kv_shared_layers=0),
        case("a list that is too short", "gpt_oss", 6, sliding_window=window, layer_types=named),
        case("windows, and none is given", "gemma2", 4, sliding_window=None),
        case("a list with an unknown entry", "gpt_oss", 5, sliding_window=window, layer_types=[*named[:4], "chunked"]),
        case("windows listed, and the flag is absent", "qwen2", 5, layer_types=named, **qwen),
        case(
            "windows listed, and null",
            "qwen2",
            5,
            use_sliding_window=True,
            layer_types=named,
            **qwen | {"sliding_window": None},
        ),
        case("no layer is left to share from", "gemma3n_text", rng.choice([6, 15]), sliding_window=window),
        case("an offset beyond the period", "jamba", 9, attn_layer_period=4, attn_layer_offset=4),
        case("a model type that nobody knows", "llama_next", 3),
    ]


# --- bytes -----------------------------------------------------------------------------------------------------


def _cache_bytes(rng: Random) -> list[Case]:
    def case(label: str, config: dict, tokens: int, bits: int = 16) -> Case:
        return Case(label, {"config": config, "tokens": tokens, "bits_per_element": bits})

    window, width = rng.choice([24, 48, 96]), rng.choice([40, 72, 88])
    mixed = _config(rng, "gemma2", head_dim=width, sliding_window=window)
    latent = {"kv_lora_rank": rng.choice([96, 160]), "qk_rope_head_dim": 24, "qk_nope_head_dim": 40, "v_head_dim": 56}
    jamba = _config(rng, "jamba", attn_layer_period=5, attn_layer_offset=2)
    # An odd number of elements: one layer, one KV head and a latent of odd width.
    odd = _config(rng, "deepseek_v3", **latent | {"kv_lora_rank": 97, "qk_rope_head_dim": 24})
    odd["num_hidden_layers"] = 7
    return [
        case("full layers", _config(rng, "llama", head_dim=width), rng.randrange(200, 300)),
        case("full layers, no head_dim", _config(rng, "llama"), rng.randrange(200, 300)),
        case("a window, and fewer tokens", mixed, window - 7),
        case("a window, as many tokens", mixed, window),
        case("a window, one token more", mixed, window + 1),
        case("a window, many tokens", mixed, window * 9 + 5),
        case("a window in every layer", _config(rng, "mistral", sliding_window=window), window * 7 + 3),
        case("mistral, absent", _config(rng, "mistral"), 5000 + rng.randrange(50)),
        case("mistral, null", _config(rng, "mistral", sliding_window=None), 5000 + rng.randrange(50)),
        case("experts", _config(rng, "mixtral", num_local_experts=rng.choice([6, 9])), rng.randrange(200, 300)),
        case("attention in few layers", jamba, rng.randrange(200, 300)),
        case("a latent", _config(rng, "deepseek_v3", **latent), rng.randrange(200, 300)),
        case(
            "a latent, the rotary key is absent",
            _config(rng, "deepseek_v3", ("qk_rope_head_dim",), kv_lora_rank=latent["kv_lora_rank"]),
            rng.randrange(200, 300),
        ),
        case(
            "layers that share",
            _config(rng, "gemma3n_text", head_dim=width, sliding_window=window, num_kv_shared_layers=4),
            window * 5 + 1,
        ),
        case("nothing stored", mixed, 0),
        case("4 bits", mixed, window * 3 + 2, 4),
        case("bits that fill no whole byte", odd, 3, 3),
        case("a latent, and null says nothing", _config(rng, "deepseek_v3", **latent | {"kv_lora_rank": None}), 5),
        case("a model type that nobody knows", _config(rng, "llama_next"), 100),
    ]


def _state_bytes(rng: Random) -> list[Case]:
    def case(label: str, config: dict, conv_width: int) -> Case:
        return Case(label, {"config": config, "conv_width": conv_width})

    def jamba(without: tuple[str, ...] = (), **fields) -> dict:
        known = {"attn_layer_period": 5, "attn_layer_offset": rng.choice([1, 3]), "mamba_expand": 3}
        return _config(rng, "jamba", without, **known | {"mamba_d_state": 24, "mamba_d_conv": 4} | fields)

    return [
        case("three columns kept", jamba(), 3),
        case("as many as transformers keeps", jamba(), 4),
        case("another period", jamba(attn_layer_period=7), 3),
        case("expand and state absent", jamba(without=("mamba_expand", "mamba_d_state")), 3),
        case("no layer has a state", _config(rng, "llama"), 3),
        case("null says nothing", jamba(mamba_d_state=None), 3),
        case("a model type that nobody knows", jamba() | {"model_type": "jamba_next"}, 3),
    ]


def _mla(rng: Random) -> list[Case]:
    def case(label: str, bits: int, model_type: str, without: tuple[str, ...] = (), **fields) -> Case:
        known = {"kv_lora_rank": rng.choice([96, 160]), "qk_rope_head_dim": 24, "qk_nope_head_dim": 40}
        config = _config(rng, model_type, without, **known | {"v_head_dim": 56} | fields)
        return Case(label, {"config": config, "bits": bits})

    absent = ("kv_lora_rank", "qk_rope_head_dim")
    return [
        case("a latent and a rotary key", 16, "deepseek_v3"),
        case("with a layer that predicts further tokens", 16, "deepseek_v3", num_nextn_predict_layers=3),
        case("an older model", 8, "deepseek_v2"),
        case("absent", 16, "deepseek_v3", absent),
        case("bits that fill no whole byte", 3, "kimi_k2", num_hidden_layers=7, kv_lora_rank=97),
        case("a model with heads", 16, "llama", absent),
        case("null says nothing", 16, "deepseek_v3", kv_lora_rank=None),
    ]


# --- absorbed_scores and mean_pool_kv --------------------------------------------------------------------------


def _random(rng: Random, *shape: int) -> np.ndarray:
    """Numbers with two decimals, drawn one by one."""
    return np.array([round(rng.uniform(-2, 2), 2) for _ in range(int(np.prod(shape)))]).reshape(shape)


def _absorbed(rng: Random) -> list[Case]:
    def case(label: str, heads: int, tokens: int, rank: int, nope: int, rope: int) -> Case:
        shapes = {"q_nope": (heads, nope), "q_rope": (heads, rope), "latent": (tokens, rank)}
        shapes |= {"k_rope": (tokens, rope), "w_uk": (heads, nope, rank)}
        return Case(label, {name: _random(rng, *shape) for name, shape in shapes.items()})

    return [
        case("one head, one token", 1, 1, 3, 2, 2),
        case("one head, several tokens", 1, 4, 3, 5, 2),
        case("several heads", 3, 5, 4, 2, 6),
        case("a rank above the width of a head", 4, 3, 7, 5, 2),
    ]


def _mean_pool(rng: Random) -> list[Case]:
    def case(label: str, heads: int, groups: int, width: int, columns: int, rows: int = 0) -> Case:
        W = _random(rng, heads * width + rows, columns)
        return Case(label, {"W": W, "groups": groups, "num_kv_heads": heads})

    return [
        case("two heads become one", 2, 1, 3, 4),
        case("six heads become two", 6, 2, rng.choice([4, 5]), 3),
        case("twelve heads become four", 12, 4, 2, 5),
        case("as many as before", 3, 3, 2, 4),
        case("heads that cannot be shared out", 5, 2, 4, 3),
        case("no heads at all", 4, 0, 3, 5),
        case("rows that are no whole heads", 4, 2, 3, 5, rows=2),
    ]


EXERCISES = (
    Exercise("head_width", _head_width, run=_call),
    Exercise("kv_heads", _kv_heads, run=_call),
    Exercise("layer_kinds", _layer_kinds, run=_call),
    Exercise("cache_bytes", _cache_bytes, run=_call),
    Exercise("state_bytes", _state_bytes, run=_call),
    Exercise("mla_bytes_per_token", _mla, run=_call),
    Exercise("absorbed_scores", _absorbed),
    Exercise("mean_pool_kv", _mean_pool),
)
