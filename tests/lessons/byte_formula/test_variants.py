"""Lesson 02, people make the same mistake in other words: the same name. An unrelated error: no name."""

import math
from fractions import Fraction

import numpy as np

from tests.variants import pair_of_tests


def one_tensor_per_layer(num_layers, batch, tokens, num_kv_heads, head_dim):
    count = 0
    for _layer in range(num_layers):
        keys = batch * tokens * num_kv_heads * head_dim
        count += keys
    return count


def k_and_v_of_the_last_layer(num_layers, batch, tokens, num_kv_heads, head_dim):
    for _layer in range(num_layers):
        keys = values = math.prod((batch, tokens, num_kv_heads, head_dim))
    return keys + values


def first_request_only(num_layers, batch, tokens, num_kv_heads, head_dim):
    requests = [tokens * num_kv_heads * head_dim] * batch
    return sum(2 * requests[0] for _ in range(num_layers))


def through_a_float_array(num_layers, batch, tokens, num_kv_heads, head_dim):
    return int(np.prod([2.0, num_layers, batch, tokens, num_kv_heads, head_dim]))


def counts_bits(num_layers, batch, tokens, num_kv_heads, head_dim, bits_per_element):
    per_token = num_layers * num_kv_heads * head_dim * bits_per_element
    return (per_token + per_token) * batch * tokens


def half_precision_always(num_layers, batch, tokens, num_kv_heads, head_dim, dtype):
    return num_layers * batch * tokens * num_kv_heads * head_dim << 2


def whole_bytes_per_element(num_layers, batch, tokens, num_kv_heads, head_dim, bits):
    size = bits // 8 + (bits % 8 > 0)
    return sum(2 * size * num_layers * tokens * num_kv_heads * head_dim for _ in range(batch))


def pads_with_zeros(lengths, num_layers, num_kv_heads, head_dim, bits):
    padded = [sorted(lengths)[-1] for _ in lengths] if lengths else []
    return math.ceil(Fraction(2 * num_layers * num_kv_heads * head_dim * sum(padded) * bits, 8))


def rounds_inside_the_loop(lengths, num_layers, num_kv_heads, head_dim, bits):
    total_bytes = 0
    for length in lengths:
        total_bytes += math.ceil(Fraction(num_layers * 2 * num_kv_heads * head_dim * length * bits, 8))
    return total_bytes


def binary_everywhere(n_bytes):
    kib = Fraction(n_bytes, 1024)
    return {"KiB": kib, "MB": kib / 1024, "MiB": kib / 1024, "GB": kib / 1024**2, "GiB": kib / 1024**2}


def two_decimals(n_bytes):
    units = {"GB": 10**9, "GiB": 1 << 30, "MB": 10**6, "MiB": 1 << 20, "KiB": 1 << 10}
    return {unit: float(f"{n_bytes / size:.2f}") for unit, size in units.items()}


def head_width_by_division(config, bits):
    width = int(config["hidden_size"] / config["num_attention_heads"])
    bits *= sum(2 * width * config["num_key_value_heads"] for _ in range(config["num_hidden_layers"]))
    return (bits + 7) // 8


def a_key_per_query(config, bits):
    pairs = config["num_attention_heads"] * config["head_dim"] * config["num_hidden_layers"]
    return -(-(pairs + pairs) * bits // 8)


def table_by_context(config, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
    rows = []
    for tokens in contexts:
        for variant in variants:
            heads = {"MHA": config["num_attention_heads"], "GQA": config["num_key_value_heads"]}.get(variant, 1)
            bits = 2 * tokens * heads * config["head_dim"] * config["num_hidden_layers"] * bits_per_element
            rows.append({"variant": variant, "tokens": tokens, "bytes": (bits + 7) // 8})
    return rows


def rounds_up(budget, config, bits):
    token = Fraction(config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"] * bits, 4)
    return math.ceil(budget / token)


def float_division(budget, config, bits):
    token = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"] * bits / 8
    return math.floor(budget / token)


def one_layer_at_a_time(num_layers, batch, tokens, num_kv_heads, head_dim, bits):
    total = 0
    for _ in range(num_layers):
        total += math.ceil(Fraction(2 * batch * tokens * num_kv_heads * head_dim * bits, 8))
    return total


def k_then_v(lengths, num_layers, num_kv_heads, head_dim, bits):
    keys = (sum(lengths) * num_layers * num_kv_heads * head_dim * bits + 7) // 8
    values = keys
    return keys + values


def returns_too_early(lengths, num_layers, num_kv_heads, head_dim, bits):
    total = 0
    for length in lengths:
        total += length * num_layers * num_kv_heads * head_dim * bits
        return (total + 3) // 4
    return total


def table_of_multiples(config, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
    """Builds on bytes_per_token, rounded, times the tokens."""
    heads = dict(
        zip(("MHA", "GQA", "MQA"), (config["num_attention_heads"], config["num_key_value_heads"], 1), strict=True)
    )
    rows = []
    for variant in variants:
        bits = config["num_hidden_layers"] * heads[variant] * config["head_dim"] * bits_per_element
        for tokens in contexts:
            rows.append({"variant": variant, "tokens": tokens, "bytes": (bits + 3) // 4 * tokens})
    return rows


def by_whole_tokens(budget, config, bits):
    token = math.ceil(
        Fraction(config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"] * bits, 4)
    )
    return budget // token


def rounds_half_way(budget, config, bits):
    token = config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"] * bits / 4
    return int(round(budget / token, 0))


VARIANTS = [
    ("kv_bytes", one_layer_at_a_time, "rounds_each_layer"),
    ("ragged_kv_bytes", k_then_v, "rounds_each_tensor"),
    ("ragged_kv_bytes", returns_too_early, "first_only"),
    ("capacity_table", table_of_multiples, "rounds_each_token"),
    ("max_tokens", by_whole_tokens, "whole_bytes_per_token"),
    ("max_tokens", rounds_half_way, "nearest_of_a_float"),
    ("kv_elements", one_tensor_per_layer, "factor_two_dropped"),
    ("kv_elements", k_and_v_of_the_last_layer, "layers_dropped"),
    ("kv_elements", first_request_only, "batch_dropped"),
    ("kv_elements", through_a_float_array, "float_rounding"),
    ("kv_bytes", counts_bits, "bits_as_bytes"),
    ("kv_bytes", half_precision_always, "always_two_bytes"),
    ("kv_bytes", whole_bytes_per_element, "rounds_each_element"),
    ("ragged_kv_bytes", pads_with_zeros, "padded_total"),
    ("ragged_kv_bytes", rounds_inside_the_loop, "rounds_each_request"),
    ("as_units", binary_everywhere, "all_binary"),
    ("as_units", two_decimals, "rounded_units"),
    ("bytes_per_token", head_width_by_division, "hidden_over_heads"),
    ("bytes_per_token", a_key_per_query, "query_heads"),
    ("capacity_table", table_by_context, "contexts_outermost"),
    ("max_tokens", rounds_up, "ceiling"),
    ("max_tokens", float_division, "float_rounding"),
]

UNRELATED = [
    ("kv_elements", lambda L, B, T, H, d: 2 * L * B * T * H * d + 1),
    ("kv_elements", lambda L, B, T, H, d: 3 * L * B * T * H * d),
    ("kv_elements", lambda L, B, T, H, d: L * B * T * H),
    ("kv_bytes", lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * bits // 24),
    ("kv_bytes", lambda L, B, T, H, d, bits: str(2 * L * B * T * H * d * bits // 8)),
    ("ragged_kv_bytes", lambda n, L, H, d, bits: 2 * L * (min(n) if n else 0) * len(n) * H * d * bits // 8),
    ("as_units", lambda n: {"GB": n / 10**9}),
    ("as_units", lambda n: {"GB": n / 1e9, "GiB": n / 2**30, "MB": n / 1e6, "MiB": n / 2**20, "KiB": n / 2**20}),
    ("bytes_per_token", lambda config, bits: config["head_dim"] * bits),
    ("bytes_per_token", lambda config, bits: config["num_kv_heads"]),
    ("capacity_table", lambda config, contexts, *rest: []),
    ("max_tokens", lambda budget, config, bits: max(0, budget)),
]


test_the_same_mistake_in_other_words_gets_the_same_name, test_an_unrelated_error_is_rejected_without_a_name = (
    pair_of_tests(VARIANTS, UNRELATED)
)
