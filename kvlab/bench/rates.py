"""What a decode step must read, how fast it was read, and whether that can be true.

Bytes are exact whole numbers; seconds and bytes per second are floats, and a bandwidth has no other unit here.
"""

import math
from collections.abc import Sequence

from kvlab import sizes


def step_bytes(
    config: sizes.AttentionConfig, num_params: int, batch: int, context: int, weight_bits: int, kv_bits: int
) -> tuple[int, int]:
    """(weight bytes, cache bytes) that one decode step of `batch` sequences must read, exactly.

    The weights are read once for all sequences, at `weight_bits` bits each; each sequence reads K and V of its own
    `context` tokens, at `kv_bits` bits an element. Each of the two rounds up to a byte once. `config` is read, and
    everything refused, as `kvlab.sizes` does.
    """
    sizes.bytes_per_token(config, kv_bits)  # refuses a config that cannot be read
    layers, kv_heads, head_dim = (config[key] for key in ("num_hidden_layers", "num_key_value_heads", "head_dim"))
    cache = sizes.kv_bytes(layers, batch, context, kv_heads, head_dim, kv_bits)
    return sizes.weight_bytes(num_params, weight_bits), cache


def effective_bandwidth(num_bytes: int, seconds: float) -> float:
    """Bytes per second. ValueError for seconds that are not positive and finite."""
    return sizes.whole("num_bytes", num_bytes, at_least=0) / _positive("seconds", seconds)


def plausible(bandwidth: float, ceiling: float, slack: float = 0.1) -> bool:
    """Whether a bandwidth can be true on a device that moves at most `ceiling` bytes per second.

    It must be positive, finite and no larger than ceiling * (1 + slack): the ceiling was measured too. ValueError for
    a ceiling that is not positive and finite, and for a slack that is negative or not finite.
    """
    limit = _positive("ceiling", ceiling)
    if not 0 <= slack < math.inf:
        raise ValueError(f"slack: wanted a share from 0 on, got {slack!r}")
    return bool(0 < bandwidth < math.inf and bandwidth <= limit * (1 + slack))


def fit_line(contexts: Sequence[int], seconds: Sequence[float]) -> tuple[float, float]:
    """(seconds per token, seconds at no token) of the line with the least squared error, in any order of contexts.

    ValueError for lists of unequal lengths and for fewer than two different contexts, through which many lines go.
    """
    if len(contexts) != len(seconds):
        raise ValueError(f"wanted seconds for each context, got {len(contexts)} contexts and {len(seconds)} seconds")
    if len(set(contexts)) < 2:
        raise ValueError(f"contexts: wanted two different ones at least, got {list(contexts)!r}")
    # Counted from the means: sums of squares of large contexts would leave few digits for their difference.
    middle, mean = sum(contexts) / len(contexts), math.fsum(seconds) / len(seconds)
    away = [context - middle for context in contexts]
    slope = math.fsum(a * (each - mean) for a, each in zip(away, seconds, strict=True)) / math.fsum(a * a for a in away)
    return slope, mean - slope * middle


def _positive(name: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise ValueError(f"{name}: wanted a positive, finite number, got {value!r}")
    return value
