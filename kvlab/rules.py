"""What each `model_type` takes for a field that its config.json leaves out or sets to null: data, and two readers.

A field can be stated, *null* (in the file, with the value null) or *absent* (not in the file), and the three are
different. The rules are those of the configuration classes of `transformers` 5.24, which a test holds them to.
"""

from collections.abc import Mapping

from kvlab.reprs import short_repr

HEADS = "num_attention_heads"  # as many as the query heads
MOST = 10**9  # of any number in a configuration: what is larger was not meant
DIVIDED = "hidden_size / num_attention_heads"
REFUSE = "refuse"
MULTI_QUERY = "multi_query"  # a flag decides, not a count

# Names that GPT-2 and its descendants use, and what everybody else calls the same thing.
OTHER_NAMES = {"n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_embd": "hidden_size"}


def _rule(kv_heads, head_dim, layers, **more) -> dict:
    """`kv_heads` and `head_dim` are pairs: what stands for an absent field, and what for null.

    Where the model type reads no such field, one text says what it takes instead.
    """
    kv_heads, head_dim = (
        dict(zip(("absent", "null"), each, strict=True)) if isinstance(each, tuple) else each
        for each in (kv_heads, head_dim)
    )
    return {"num_key_value_heads": kv_heads, "head_dim": head_dim, "layers": layers, **more}


_SAME, _EITHER, _ABSENT = (HEADS, HEADS), (DIVIDED, DIVIDED), (DIVIDED, REFUSE)

# `sliding_window` is what an absent field stands for; null is always no window. `layers` says which layers keep what:
# "full" all rows, "window" the window in every layer if there is one, "late window" only where `use_sliding_window`
# is true and from layer `max_window_layers` on, "mixed" by `layer_types`, or else every `full_every`-th layer full,
# "state" attention in one layer of `attn_layer_period`, "latent" one row for all heads.
RULES = {
    "gpt2": _rule(HEADS, DIVIDED, "full"),
    "gpt_bigcode": _rule(MULTI_QUERY, DIVIDED, "full"),
    "falcon": _rule(MULTI_QUERY, DIVIDED, "full"),
    "llama": _rule(_SAME, _EITHER, "full"),
    "cohere": _rule(_SAME, _ABSENT, "full"),
    "olmo2": _rule(_SAME, _ABSENT, "full"),
    "mistral": _rule((8, REFUSE), _EITHER, "window", sliding_window=4096),
    "mixtral": _rule((8, REFUSE), _EITHER, "window", sliding_window=None),
    "phi3": _rule(_SAME, _ABSENT, "window", sliding_window=None),
    "qwen2": _rule((32, HEADS), _EITHER, "late window", sliding_window=4096),
    "qwen3": _rule((32, HEADS), (128, REFUSE), "late window", sliding_window=4096),
    "gemma2": _rule((4, REFUSE), (256, REFUSE), "mixed", sliding_window=4096, full_every=2),
    "gemma3_text": _rule((4, REFUSE), (256, REFUSE), "mixed", sliding_window=4096, full_every=6),
    "gemma3n_text": _rule((2, REFUSE), (256, REFUSE), "mixed", sliding_window=512, full_every=5),
    "gpt_oss": _rule((8, REFUSE), (64, REFUSE), "mixed", sliding_window=128, full_every=2),
    "jamba": _rule((8, REFUSE), _ABSENT, "state"),
    "deepseek_v2": _rule(None, None, "latent"),
    "deepseek_v3": _rule(None, None, "latent"),
    "kimi_k2": _rule(None, None, "latent"),
}

# Whole numbers and flags whose absence means the same wherever they are read.
DEFAULTS = {
    "multi_query": True,
    "new_decoder_architecture": False,
    "use_sliding_window": False,
    "max_window_layers": 28,
    "num_kv_shared_layers": 15,  # gemma3n_text
    "attn_layer_period": 8,
    "attn_layer_offset": 4,
    "mamba_expand": 2,
    "mamba_d_state": 16,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
}


def decoder(config: Mapping[str, object]) -> dict:
    """The part of a config.json that describes the decoder, in the usual names; other keys are carried along.

    A nested `text_config` is taken out. ValueError names a field that is no dict, or that is given under two names
    with two values.
    """
    if not isinstance(config, Mapping):
        raise ValueError(f"config: wanted the dict of a config.json, got {type(config).__name__}")
    part = config.get("text_config", config)
    if not isinstance(part, Mapping):
        raise ValueError(f"text_config: wanted a dict, got {short_repr(part)}")
    found = {name: value for name, value in part.items() if name not in OTHER_NAMES}
    for other, name in OTHER_NAMES.items():
        if other in part and found.setdefault(name, part[other]) != part[other]:
            raise ValueError(f"{other}: is {short_repr(part[other])}, but {name} is {short_repr(found[name])}")
    return found


def needed(config: Mapping[str, object], name: str, at_least: int = 1) -> int:
    """The whole number that the field `name` must state, `at_least` or more. ValueError names a field that does not."""
    value = config.get(name)
    if name not in config:
        raise ValueError(f"{name}: is absent; wanted a whole number from {at_least} to {MOST:,}")
    if type(value) is not int or not at_least <= value <= MOST:
        raise ValueError(f"{name}: wanted a whole number from {at_least} to {MOST:,}, got {short_repr(value)}")
    return value
