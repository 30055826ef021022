"""Lesson 09, people make the same mistake in other words: the same name. An unrelated error: no name."""

import math

from tests.variants import pair_of_tests


def shape(config):
    names = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")
    return [config[name] for name in names]


def mac_is_one_flop(config, n, batch, s, weight_bits, kv_bits):
    layers, heads, kv_heads, width = shape(config)
    work = n + layers * heads * width * s + layers * heads * s * width
    bits = weight_bits * n + batch * s * kv_bits * 2 * layers * kv_heads * width
    return batch * work, math.ceil(bits / 8)


def work_by_stored_heads(config, n, batch, s, weight_bits, kv_bits):
    layers, _, kv_heads, width = shape(config)
    elements = 2 * layers * kv_heads * width * s
    return batch * 2 * (n + elements), -(-(weight_bits * n + batch * kv_bits * elements) // 8)


def each_sequence_apart(config, n, batch, s, weight_bits, kv_bits):
    layers, heads, kv_heads, width = shape(config)
    flops, bits = 0, 0
    for _ in range(batch):
        flops += 2 * n + 4 * s * layers * heads * width
        bits += n * weight_bits + 2 * s * layers * kv_heads * width * kv_bits
    return flops, (bits + 7) // 8


def cache_of_the_first(config, n, batch, s, weight_bits, kv_bits):
    layers, heads, kv_heads, width = shape(config)
    work = sum(2 * n + 4 * layers * heads * s * width for _ in range(batch))
    cache = [2 * layers * kv_heads * width * s * kv_bits] * batch
    return work, (n * weight_bits + cache[0] + 7) // 8


def two_ceilings(config, n, batch, s, weight_bits, kv_bits):
    layers, heads, kv_heads, width = shape(config)
    weights = -(n * weight_bits // -8)
    cache = -(batch * 2 * layers * kv_heads * width * s * kv_bits // -8)
    return batch * (2 * n + 4 * s * heads * layers * width), weights + cache


def ceiled_by_float(config, n, batch, s, weight_bits, kv_bits):
    layers, heads, kv_heads, width = shape(config)
    elements = batch * 2 * layers * kv_heads * width * s
    return batch * (2 * n + 4 * s * heads * layers * width), math.ceil((n * weight_bits + elements * kv_bits) / 8)


def written(n_flops):
    """The right bytes beside FLOPs that somebody counted otherwise."""

    def decode_cost(config, n, batch, s, weight_bits, kv_bits):
        layers, _, kv_heads, width = shape(config)
        bits = n * weight_bits + 2 * layers * kv_heads * width * s * batch * kv_bits
        return n_flops(config, n, batch, s), -(-bits // 8)

    return decode_cost


def product_once(config, n, batch, s):
    layers, heads, _, width = shape(config)
    return 2 * batch * n + 2 * layers * heads * width * s + 2 * layers * heads * s * width


def n_once(config, n, batch, s):
    layers, heads, _, width = shape(config)
    return sum(n + 4 * layers * heads * width * s for _ in range(batch))


def wide_queries(config, n, batch, s):
    return batch * (2 * n + 2 * 2 * config["num_hidden_layers"] * config["hidden_size"] * s)


def and_the_new_one(config, n, batch, s, weight_bits, kv_bits):
    return right_cost(config, n, batch, s + 1, weight_bits, kv_bits)


def right_cost(config, n, batch, s, weight_bits, kv_bits):
    layers, heads, kv_heads, width = shape(config)
    bits = n * weight_bits + batch * s * 2 * layers * kv_heads * width * kv_bits
    return batch * (2 * n + 4 * s * layers * heads * width), (bits + 7) // 8


def keys_alone(config, n, batch, s, weight_bits, kv_bits):
    layers, heads, kv_heads, width = shape(config)
    keys = [layers * kv_heads * width * s] * batch
    return batch * (2 * n + 4 * layers * s * heads * width), (n * weight_bits + sum(keys) * kv_bits + 7) // 8


def flop_per_parameter(config, n, batch, s, weight_bits, kv_bits):
    layers, heads, kv_heads, width = shape(config)
    return batch * (2 * n + 4 * layers * heads * width * s) / (n + batch * 2 * layers * kv_heads * width * s)


def weights_are_all(config, n, batch, s, weight_bits, kv_bits):
    layers, heads, _, width = shape(config)
    return batch * (2 * n + 4 * layers * heads * width * s) / (n * weight_bits / 8)


def one_after_the_other(flops, n_bytes, peak, bandwidth):
    seconds = flops / peak
    seconds += n_bytes / bandwidth
    return seconds


def optimist(flops, n_bytes, peak, bandwidth):
    compute, memory = flops / peak, n_bytes / bandwidth
    return compute if compute < memory else memory


def in_ms(flops, n_bytes, peak, bandwidth):
    return max(flops / peak * 1e3, n_bytes / bandwidth * 1e3)


def printed_peak(flops, n_bytes, peak, bandwidth):
    return max(flops / peak / 2, n_bytes / bandwidth)


def times(config, n, batch, s, weight_bits, kv_bits, peak, bandwidth):
    layers, heads, kv_heads, width = shape(config)
    for b in (1, batch):
        flops = b * (2 * n + 4 * layers * heads * width * s)
        n_bytes = (n * weight_bits + b * 2 * layers * kv_heads * width * s * kv_bits) / 8
        yield max(flops / peak, n_bytes / bandwidth)


def tokens_forgotten(*arguments):
    one, many = times(*arguments)
    return one / many


def the_batch(config, n, batch, *rest):
    return batch * 1.0


def longer_by(*arguments):
    one, many = times(*arguments)
    return many / one


def by_bytes_alone(config, n, batch, s, weight_bits, kv_bits, peak, bandwidth):
    layers, _, kv_heads, width = shape(config)
    one, many = (n * weight_bits + b * 2 * layers * kv_heads * width * s * kv_bits for b in (1, batch))
    return batch * one / many


def at_a_batch_of(batch):
    def intensity_ceiling(config, n, s, kv_bits):
        flops, n_bytes = right_cost(config, n, batch, s, 16, kv_bits)
        return flops / n_bytes

    return intensity_ceiling


def over_bytes(to_bytes):
    """The ceiling from a token's bytes, made whole by `to_bytes`."""

    def intensity_ceiling(config, n, s, kv_bits):
        layers, heads, kv_heads, width = shape(config)
        token = to_bytes(2 * layers * kv_heads * width * kv_bits)
        return (2 * n + 4 * layers * heads * width * s) / (s * token)

    return intensity_ceiling


def one_sequence(config, n, s, kv_bits):
    layers, heads, kv_heads, width = shape(config)
    return (2 * n + 4 * layers * heads * width * s) / (2 * n + 2 * layers * kv_heads * width * s * kv_bits / 8)


def weights_work_alone(config, n, s, kv_bits):
    layers, _, kv_heads, width = shape(config)
    return n / (layers * kv_heads * width * s * kv_bits / 8)


def up(config, n, weight_bits, kv_bits):
    layers, _, kv_heads, width = shape(config)
    token = 2 * layers * kv_heads * width * kv_bits
    return (n * weight_bits + token - 1) // token


def by_elements(config, n, weight_bits, kv_bits):
    layers, _, kv_heads, width = shape(config)
    return n // (2 * layers * kv_heads * width)


def by_whole_bytes(config, n, weight_bits, kv_bits):
    layers, _, kv_heads, width = shape(config)
    return n * weight_bits // ((2 * layers * kv_heads * width * kv_bits // 8) * 8)


def by_floats(config, n, weight_bits, kv_bits):
    layers, _, kv_heads, width = shape(config)
    return math.floor(n * weight_bits / (2 * layers * kv_heads * width * kv_bits))


def no_attention(config, n, kv_bits, target):
    layers, _, kv_heads, width = shape(config)
    return 8 * n // (target * layers * kv_heads * width * kv_bits)


def solved(config, n, kv_bits, target):
    """(16 N, what is lacking)"""
    layers, heads, kv_heads, width = shape(config)
    return 16 * n, 2 * layers * width * (target * kv_heads * kv_bits - 16 * heads)


def solved_and_ceiled(*arguments):
    work, lacking = solved(*arguments)
    return -(-work // lacking) if lacking > 0 else None


def nothing_is_zero(*arguments):
    work, lacking = solved(*arguments)
    return max(0, work // lacking) if lacking > 0 else 0


def unguarded(*arguments):
    work, lacking = solved(*arguments)
    return work // lacking


def guarded_by_the_group(config, n, kv_bits, target):
    if target <= config["num_attention_heads"] // config["num_key_value_heads"]:
        return None
    return unguarded(config, n, kv_bits, target)


def with_a_token_of(to_bytes):
    def context_for_ceiling(config, n, kv_bits, target):
        layers, heads, kv_heads, width = shape(config)
        lacking = target * to_bytes(2 * layers * kv_heads * width * kv_bits) - 4 * layers * heads * width
        return 2 * n // lacking if lacking > 0 else None

    return context_for_ceiling


def unguarded_zero(*arguments):
    work, lacking = solved(*arguments)
    if lacking < 0:
        return None
    return work // lacking


VARIANTS = [
    ("decode_cost", work_by_stored_heads, "attention_kv_heads"),
    ("decode_cost", each_sequence_apart, "weights_per_sequence"),
    ("decode_cost", cache_of_the_first, "rows_read_once"),
    ("decode_cost", two_ceilings, "rounds_each_part"),
    ("decode_cost", keys_alone, "k_only"),
    ("decode_cost", ceiled_by_float, "float_rounding"),
    ("decode_cost", written(product_once), "attention_of_one"),
    ("decode_cost", written(n_once), "flop_per_parameter"),
    ("decode_cost", written(wide_queries), "attention_by_hidden_size"),
    ("decode_cost", and_the_new_one, "one_token_more"),
    ("intensity", flop_per_parameter, "per_element"),
    ("intensity", weights_are_all, "cache_dropped"),
    ("step_time_bound", one_after_the_other, "sum"),
    ("step_time_bound", optimist, "minimum"),
    ("step_time_bound", in_ms, "milliseconds"),
    ("step_time_bound", printed_peak, "doubled_peak"),
    ("batch_gain", tokens_forgotten, "time_ratio"),
    ("batch_gain", the_batch, "ideal"),
    ("batch_gain", longer_by, "slowdown"),
    ("batch_gain", by_bytes_alone, "intensity_ratio"),
    ("intensity_ceiling", one_sequence, "at_batch_one"),
    ("intensity_ceiling", weights_work_alone, "attention_dropped"),
    ("intensity_ceiling", over_bytes(lambda bits: -(-bits // 8)), "whole_bytes_per_token"),
    ("intensity_ceiling", over_bytes(lambda bits: bits // 8), "part_of_a_byte_dropped"),
    ("intensity_ceiling", at_a_batch_of(10**6), "batch_of_a_million"),
    ("intensity_ceiling", at_a_batch_of(10**9), "batch_of_a_billion"),
    ("intensity_ceiling", at_a_batch_of(10**12), "batch_of_a_trillion"),
    ("crossover_tokens", up, "rounds_up"),
    ("crossover_tokens", by_whole_bytes, "part_of_a_byte_dropped"),
    ("crossover_tokens", by_elements, "bits_ignored"),
    ("crossover_tokens", by_floats, "float_rounding"),
    ("context_for_ceiling", no_attention, "attention_dropped"),
    ("context_for_ceiling", solved_and_ceiled, "rounds_up"),
    ("context_for_ceiling", nothing_is_zero, "zero_for_none"),
    ("context_for_ceiling", unguarded_zero, "equality_forgotten"),
    ("context_for_ceiling", unguarded, "none_ignored"),
    ("context_for_ceiling", guarded_by_the_group, "floor_in_16_bits"),
    ("context_for_ceiling", with_a_token_of(lambda bits: math.ceil(bits / 8)), "whole_bytes_per_token"),
    ("context_for_ceiling", with_a_token_of(lambda bits: bits // 8), "part_of_a_byte_dropped"),
]

UNRELATED = [
    ("decode_cost", mac_is_one_flop),  # with a float besides: two mistakes at once
    ("decode_cost", lambda *step: each_sequence_apart(*step)[0]),
    ("decode_cost", lambda config, n, b, s, w, k: (3 * n * b, n * w // 8)),
    ("intensity", lambda *step: 1.0),
    ("intensity", lambda *step: str(flop_per_parameter(*step))),
    ("step_time_bound", lambda f, m, p, w: max(f / p, m / w) * 1.1),
    ("step_time_bound", lambda f, m, p, w: f * m / p / w),
    ("batch_gain", lambda config, n, b, *rest: math.log2(b)),
    ("intensity_ceiling", lambda config, n, s, k: n / s),
    ("intensity_ceiling", at_a_batch_of(12_345)),
    ("crossover_tokens", lambda config, n, w, k: n),
    ("crossover_tokens", lambda config, n, w, k: float(by_elements(config, n, w, k))),
    ("context_for_ceiling", lambda config, n, k, target: n // target),
    ("context_for_ceiling", lambda config, n, k, target: None),
]


test_the_same_mistake_in_other_words_gets_the_same_name, test_an_unrelated_error_is_rejected_without_a_name = (
    pair_of_tests(VARIANTS, UNRELATED)
)
