"""The cache that `transformers` really makes: a small model built from a config.json's dict, one forward pass, bytes.

Nothing is downloaded: the weights are random. PyTorch is imported here only when a cache is measured.
"""

from collections.abc import Mapping

_SHAPE = {
    "vocab_size": 64,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 6,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_EXPERTS = {"num_experts": 2, "num_experts_per_tok": 1}
# Small configurations, with real field names; a layer in each takes a few hundred bytes.
SMALL = {
    "llama": {"model_type": "llama", **_SHAPE},
    "gemma2": {"model_type": "gemma2", **_SHAPE, "head_dim": 10, "sliding_window": 8},
    "jamba": {"model_type": "jamba", **_SHAPE, **_EXPERTS, "attn_layer_period": 3, "attn_layer_offset": 1},
    "deepseek_v3": {
        "model_type": "deepseek_v3",
        **_SHAPE,
        "num_key_value_heads": 6,
        "kv_lora_rank": 16,
        "q_lora_rank": 8,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 4,
        "v_head_dim": 10,
        "n_routed_experts": 2,
        "n_shared_experts": 1,
        "num_experts_per_tok": 1,
        "moe_intermediate_size": 16,
        "n_group": 1,
        "topk_group": 1,
    },
    "falcon": {"model_type": "falcon", **_SHAPE, "num_kv_heads": 2, "new_decoder_architecture": True},
}


def cache_nbytes(config: Mapping[str, object], tokens: int) -> list[int]:
    """Bytes of every tensor in the cache, layer by layer, in BF16, after a forward pass over `tokens` tokens."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    fields = {name: value for name, value in config.items() if name != "model_type"}
    torch.manual_seed(0)
    made = transformers.CONFIG_MAPPING[config["model_type"]](**fields)
    model = transformers.AutoModelForCausalLM.from_config(made, dtype=torch.bfloat16).eval()
    ids = torch.arange(tokens)[None] % 16 + 3
    with torch.no_grad():
        cache = model(ids, use_cache=True).past_key_values
    return [_nbytes(layer) for layer in cache.layers]


def _nbytes(layer) -> int:
    """A layer has keys and values, or the two states of a recurrent layer, or, where it shares, nothing."""
    if hasattr(layer, "conv_states"):
        return sum(each.nbytes for states in (layer.conv_states, layer.recurrent_states) for each in states.values())
    return layer.keys.nbytes + layer.values.nbytes if layer.keys is not None else 0
