"""What bounds a decode step: the larger of two times, one for arithmetic and one for reading memory.

A step of a dense model does 2 FLOPs with every parameter for every sequence, reads each weight once for the whole
batch, and each cached row once for its own sequence. That is all: writes, activations, launches and communication
come on top, so every time here is a lower bound. A `config` is an `AttentionConfig` of `kvlab.sizes`. Intensities are
in FLOP/byte, peaks in FLOP/s, bandwidths in B/s. Sources: Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009;
Pope et al., arXiv 2211.05102.
"""

from fractions import Fraction

from kvlab.sizes import AttentionConfig, bits_to_bytes, bytes_per_token, kv_elements, whole


def decode_cost(
    config: AttentionConfig, num_params: int, batch: int, context: int, weight_bits: int, kv_bits: int
) -> tuple[int, int]:
    """(FLOPs, bytes read) of one decode step of `batch` sequences that each read `context` cached tokens.

    The token's own row is among them; writing it is left out. A total of bits that fills no whole number of bytes
    rounds up once, at the end. TypeError or ValueError names an argument that is no whole number in range.
    """
    batch, context = whole("batch", batch), whole("context", context)
    flops = batch * (2 * whole("num_params", num_params) + context * attention_flops(config))
    bits = num_params * whole("weight_bits", weight_bits) + batch * context * _bits_per_token(config, kv_bits)
    return flops, bits_to_bytes(bits)


def intensity(
    config: AttentionConfig, num_params: int, batch: int, context: int, weight_bits: int, kv_bits: int
) -> float:
    """FLOP/byte of that step. Errors as `decode_cost`."""
    flops, n_bytes = decode_cost(config, num_params, batch, context, weight_bits, kv_bits)
    return flops / n_bytes


def intensity_ceiling(config: AttentionConfig, num_params: int, context: int, kv_bits: int) -> float:
    """FLOP/byte that the intensity approaches as the batch grows, and never reaches: weights are free, rows are not.

    Errors as `decode_cost`.
    """
    flops = 2 * whole("num_params", num_params) + whole("context", context) * attention_flops(config)
    return float(Fraction(8 * flops, context * _bits_per_token(config, kv_bits)))


def step_time_bound(flops: int, n_bytes: int, peak_flops: int | float, bandwidth: int | float) -> float:
    """Seconds that a step takes at the least: the two overlap at best, so the longer one counts.

    `peak_flops` in FLOP/s, `bandwidth` in B/s. ZeroDivisionError where one of them is 0.
    """
    return float(max(Fraction(flops) / Fraction(peak_flops), Fraction(n_bytes) / Fraction(bandwidth)))


def batch_gain(
    config: AttentionConfig,
    num_params: int,
    batch: int,
    context: int,
    weight_bits: int,
    kv_bits: int,
    peak_flops: int | float,
    bandwidth: int | float,
) -> float:
    """Tokens per second of a batch over those of one sequence, both steps at their bound.

    Errors as `decode_cost` and `step_time_bound`.
    """
    one, many = (
        step_time_bound(*decode_cost(config, num_params, each, context, weight_bits, kv_bits), peak_flops, bandwidth)
        for each in (1, batch)
    )
    return batch * one / many


def crossover_tokens(config: AttentionConfig, num_params: int, weight_bits: int, kv_bits: int) -> int:
    """The most cached tokens, over the whole batch, that take no more bits than the weights. Beyond, rows lead.

    Errors as `decode_cost`.
    """
    return whole("num_params", num_params) * whole("weight_bits", weight_bits) // _bits_per_token(config, kv_bits)


def context_for_ceiling(config: AttentionConfig, num_params: int, kv_bits: int, target: int) -> int | None:
    """The longest context whose ceiling is at least `target` FLOP/byte, a whole number; None where every one's is.

    0 where not even a context of one token has it. Errors as `decode_cost`.
    """
    lacking = whole("target", target) * _bits_per_token(config, kv_bits) - 8 * attention_flops(config)
    return 16 * whole("num_params", num_params) // lacking if lacking > 0 else None


def prefill_cost(
    config: AttentionConfig, num_params: int, tokens: int, weight_bits: int, kv_bits: int
) -> tuple[int, int]:
    """(FLOPs, bytes) of one prompt that goes through the model at once, each token attending to those up to itself.

    Its keys and values cross once. With one token it is a decode step that reads its own row. Errors as `decode_cost`.
    """
    tokens = whole("tokens", tokens)
    pairs = tokens * (tokens + 1) // 2
    flops = 2 * whole("num_params", num_params) * tokens + pairs * attention_flops(config)
    bits = num_params * whole("weight_bits", weight_bits) + tokens * _bits_per_token(config, kv_bits)
    return flops, bits_to_bytes(bits)


def latent_decode_cost(
    layers: int,
    heads: int,
    rank: int,
    rope: int,
    num_params: int,
    batch: int,
    context: int,
    weight_bits: int,
    kv_bits: int,
) -> tuple[int, int]:
    """`decode_cost` of absorbed latent attention (MLA): every head reads a token's one latent, as key and as value.

    `rank` and `rope` are the widths of the latent and of the rotary key. Source: DeepSeek-V2, arXiv 2405.04434.
    """
    flops = batch * (2 * num_params + context * layers * latent_flops(heads, rank, rope))
    bits = num_params * weight_bits + batch * context * layers * (rank + rope) * kv_bits
    return flops, bits_to_bytes(bits)


def latent_flops(heads: int, rank: int, rope: int) -> int:
    """FLOPs of absorbed attention with one cached token in one layer: a score over rank + rope, a value of rank."""
    return 2 * heads * (rank + rope) + 2 * heads * rank


def attention_flops(config: AttentionConfig) -> int:
    """FLOPs of all query heads and layers with one cached token: a score and a weighted value, 2 FLOPs an element.

    Errors as `kvlab.sizes.bytes_per_token`.
    """
    bytes_per_token(config, 8)  # checks the config as a whole
    return 2 * kv_elements(config["num_hidden_layers"], 1, 1, config["num_attention_heads"], config["head_dim"])


def _bits_per_token(config: AttentionConfig, kv_bits: int) -> int:
    return bytes_per_token(config, 8) * whole("kv_bits", kv_bits)  # at 8 bits an element is a byte
