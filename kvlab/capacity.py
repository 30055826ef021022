"""From bytes to a number of requests: the room for the cache, what one rank holds, whether a claim holds.

This is the library's version of what lesson 10 builds by hand. All sizes are exact whole bytes. A `config` is an
`AttentionConfig` of `kvlab.sizes`. `tp` ranks share a model by tensor parallelism.
"""

from collections.abc import Mapping

from kvlab.sizes import AttentionConfig, bits_to_bytes, kv_bytes, weight_bytes, whole


def kv_room(usable_bytes: int, weight_bytes: int, reserves: Mapping[str, int]) -> int:
    """What a device's usable bytes leave for the cache after the weights and every reserve, name -> bytes.

    ValueError where they exceed what is usable: a negative room is no room.
    """
    taken = whole("weight_bytes", weight_bytes, 0)
    taken += sum(whole(f"reserves[{name!r}]", size, 0) for name, size in reserves.items())
    if taken > whole("usable_bytes", usable_bytes, 0):
        raise ValueError(f"usable_bytes: wanted at least {taken:,} for weights and reserves, got {usable_bytes:,}")
    return usable_bytes - taken


def max_requests(room: int, bytes_per_request: int) -> int:
    """How many requests of `bytes_per_request` bytes the room, in bytes, holds at once.

    TypeError or ValueError names an argument that is no whole number in range.
    """
    return whole("room", room, 0) // whole("bytes_per_request", bytes_per_request)


def per_rank_fit(
    config: AttentionConfig | Mapping[str, int],
    num_params: int,
    tp: int,
    device_bytes: int,
    reserve_bytes: int,
    context: int,
    weight_bits: int = 16,
    kv_bits: int = 16,
) -> dict[str, int | None]:
    """What each of `tp` ranks holds: weight_bytes, kv_heads, kv_bytes_per_token, and requests of `context` tokens.

    Beyond one head per rank, KV heads are replicated. A config with kv_lora_rank and qk_rope_head_dim is that of a
    model with a latent (MLA): every rank holds the latent whole, and `kv_heads` is None. ValueError where query or KV
    heads cannot be shared out. 0 requests where the weights do not fit. Sources: the sharding of attention heads in
    Megatron-LM and vLLM; MLA, arXiv 2405.04434.
    """
    layers, heads = (whole(key, config[key]) for key in ("num_hidden_layers", "num_attention_heads"))
    if heads % whole("tp", tp):
        raise ValueError(f"tp: wanted a divisor of the {heads} query heads, got {tp}")
    if "kv_lora_rank" in config:
        kv_heads = None
        latent = whole("kv_lora_rank", config["kv_lora_rank"]) + whole("qk_rope_head_dim", config["qk_rope_head_dim"])
        per_token = bits_to_bytes(layers * latent * whole("kv_bits", kv_bits))
    else:
        stored = whole("num_key_value_heads", config["num_key_value_heads"])
        if stored % tp and tp % stored:
            raise ValueError(f"tp: wanted a divisor or a multiple of the {stored} KV heads, got {tp}")
        kv_heads = max(1, stored // tp)
        per_token = kv_bytes(layers, 1, 1, kv_heads, config["head_dim"], kv_bits)
    weights = -(-weight_bytes(num_params, weight_bits) // tp)
    room = whole("device_bytes", device_bytes, 0) - whole("reserve_bytes", reserve_bytes, 0) - weights
    requests = max_requests(max(room, 0), whole("context", context) * per_token)
    return {"weight_bytes": weights, "kv_heads": kv_heads, "kv_bytes_per_token": per_token, "requests": requests}


def check_claim(
    claimed: int, config: AttentionConfig, num_params: int, usable_bytes: int, reserve_bytes: int, context: int
) -> dict[str, int]:
    """Whether a device holds `claimed` requests of `context` tokens, weights and cache in 16 bits.

    `requests` is how many it holds; `missing_bytes` is what the claim lacks, 0 where it holds. TypeError or ValueError
    names an argument that is no whole number in range.
    """
    weights = weight_bytes(num_params, 16)
    per_request = whole("context", context) * kv_bytes(
        config["num_hidden_layers"], 1, 1, config["num_key_value_heads"], config["head_dim"], 16
    )
    room = whole("usable_bytes", usable_bytes, 0) - weights - whole("reserve_bytes", reserve_bytes, 0)
    needed = whole("claimed", claimed, 0) * per_request
    return {"requests": max_requests(max(room, 0), per_request), "missing_bytes": max(0, needed - room)}
