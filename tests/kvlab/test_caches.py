"""A refused chunk changes no bit, every partition gives one pass, and `transformers` has the same layer."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograde.course import lesson
from kvlab.bench.meter import metered
from kvlab.caches import ConcatenatedCache, GroupedCache, RotaryCache, elements_copied
from tests.kvlab.test_attention import close, patient
from tests.notebooks import learner_of

partitions = st.lists(st.integers(1, 4), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def learner():
    return learner_of(lesson("05_grouped_query_cache"), torch=torch, math=math)


def chunk(tokens, batch=2, heads=3, width=4, **kind):
    return torch.randn(batch, heads, tokens, width, **{"dtype": torch.float64, **kind})


def used_cache():
    cache = GroupedCache(2, 6, 3, 4, 7)
    cache.append(chunk(3), chunk(3))
    return cache


REFUSED = {
    "batch": (lambda: (chunk(2, batch=1),) * 2, "k: wanted shape"),
    "heads": (lambda: (chunk(2, heads=1),) * 2, "k: wanted shape"),
    "query heads": (lambda: (chunk(2, heads=6),) * 2, "k: wanted shape"),
    "width": (lambda: (chunk(2, width=1),) * 2, "k: wanted shape"),
    "axes": (lambda: (chunk(2)[0],) * 2, "k: wanted shape"),
    "empty": (lambda: (chunk(0),) * 2, "m ≥ 1"),
    "v": (lambda: (chunk(2), chunk(2, heads=1)), "v: wanted shape"),
    "v tokens": (lambda: (chunk(2), chunk(1)), "v: wanted as many tokens as k has, 2, got 1"),
    "dtype": (lambda: (chunk(2, dtype=torch.float32),) * 2, "torch.float64 on cpu, got torch.float32 on cpu"),
    "v dtype": (lambda: (chunk(2), chunk(2, dtype=torch.float32)), "v: wanted torch.float64"),
    "device": (lambda: (chunk(2, device="meta"),) * 2, "got torch.float64 on meta"),
    "capacity": (lambda: (chunk(5),) * 2, "capacity: wanted at most 7 tokens, got 3 and 5 more"),
}


@pytest.mark.parametrize(("new", "said"), REFUSED.values(), ids=REFUSED)
def test_a_refused_chunk_leaves_storage_and_counter_bit_identical(new, said):
    cache = used_cache()
    before = cache.storage.clone().view(torch.int64), cache.used
    with pytest.raises(ValueError, match=said):
        cache.append(*new())
    assert torch.equal(cache.storage.view(torch.int64), before[0]) and cache.used == before[1]


@pytest.mark.parametrize("n", [4, -1, 1.5])
def test_a_refused_truncation_changes_nothing(n):
    cache = used_cache()
    with pytest.raises((TypeError, ValueError), match="n: wanted"):
        cache.truncate(n)
    assert cache.used == 3


@pytest.mark.parametrize("sizes", [(2, 7, 3, 4, 5), (0, 6, 3, 4, 5), (2, 6, 3, 4, 0), (2, 6, 0, 4, 5), (2, 6, 3, 0, 5)])
def test_sizes_that_make_no_cache_are_refused(sizes):
    with pytest.raises(ValueError, match="wanted"):
        GroupedCache(*sizes)


def test_rejected_tokens_leave_and_their_slots_are_used_again():
    cache, rows = GroupedCache(2, 6, 3, 4, 7), chunk(7)
    cache.append(rows[:, :, :5], -rows[:, :, :5])
    cache.truncate(2)
    assert torch.equal(cache.keys, rows[:, :, :2])
    cache.append(rows[:, :, 5:], -rows[:, :, 5:])
    assert torch.equal(cache.keys, rows[:, :, [0, 1, 5, 6]]) and torch.equal(cache.values, -cache.keys)


def test_reading_copies_nothing_and_appending_makes_no_storage():
    cache = used_cache()
    rows = chunk(2)
    assert metered(lambda: (cache.keys, cache.values)).new_bytes == 0
    assert metered(cache.append, rows, rows).new_bytes == 0
    assert cache.keys.data_ptr() == cache.storage.data_ptr()


def test_the_cache_owns_its_rows_and_keeps_no_gradient():
    cache, rows = GroupedCache(2, 6, 3, 4, 7), chunk(2, requires_grad=True)
    cache.append(rows, rows)
    copy = rows.detach().clone()
    with torch.no_grad():
        rows.zero_()
    assert torch.equal(cache.keys, copy) and torch.equal(cache.values, copy)
    assert not cache.keys.requires_grad


def test_concatenation_stores_the_same_rows():
    cache, grown, rows = GroupedCache(2, 6, 3, 4, 7), ConcatenatedCache(), chunk(6)
    for piece in rows.split([3, 1, 2], dim=2):
        cache.append(piece, -piece)
        grown.append(piece, -piece)
    assert torch.equal(cache.keys, grown.keys) and torch.equal(cache.values, grown.values)


def layer(seed=0, inner=12, heads=4, kv_heads=2, width=6):
    generator = torch.Generator().manual_seed(seed)
    shapes = {"WQ": (inner, heads * width), "WK": (inner, kv_heads * width), "WV": (inner, kv_heads * width)}
    shapes["WO"] = (heads * width, inner)
    drawn = {name: torch.randn(s, dtype=torch.float64, generator=generator) / s[0] ** 0.5 for name, s in shapes.items()}
    return drawn | {"num_heads": heads, "num_kv_heads": kv_heads}


def inputs(tokens, batch=2, inner=12):
    return torch.randn(batch, tokens, inner, dtype=torch.float64, generator=torch.Generator().manual_seed(tokens))


@patient
@given(partitions, st.integers(0, 10**6))
def test_token_by_token_in_chunks_and_at_once_are_the_same(widths, seed):
    weights, x = layer(seed), inputs(sum(widths))
    whole = RotaryCache(weights, sum(widths)).step(x)
    for cut in (widths, [1] * sum(widths)):
        cache = RotaryCache(weights, sum(widths))
        close(torch.cat([cache.step(piece) for piece in x.split(cut, dim=1)], dim=1), whole)
        with pytest.raises(ValueError, match="capacity"):
            cache.step(x[:, :1])
        assert cache.used == sum(widths)


def test_a_refused_step_does_not_show_in_the_next():
    weights, x = layer(), inputs(5)
    cache = RotaryCache(weights, 4)
    for wrong in (x, x[:, :0], x[..., :3], x[0]):
        with pytest.raises(ValueError, match="wanted"):
            cache.step(wrong)
    first = cache.step(x[:, :2])
    for wrong in (x[:, 2:], x[:1, 2:3], x[:, :0]):
        with pytest.raises(ValueError, match="wanted"):
            cache.step(wrong)
    second = cache.step(x[:, 2:4])
    close(torch.cat([first, second], dim=1), RotaryCache(weights, 4).step(x[:, :4]))


def test_rejected_guesses_leave_no_trace():
    weights, x = layer(), inputs(8)
    cache = RotaryCache(weights, 8)
    cache.step(x[:, :3])
    cache.step(x[:, 5:8])  # guesses
    cache.cache.truncate(3)
    close(cache.step(x[:, 3:5]), RotaryCache(weights, 8).step(x[:, :5])[:, 3:])


@patient
@given(partitions, st.integers(0, 10**6))
def test_a_llama_layer_of_transformers_gives_the_same(widths, seed):
    """Its own angles are float32, so it is handed ours, in float64; everything else is its own."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaAttention

    config = LlamaConfig(
        hidden_size=12, num_attention_heads=4, num_key_value_heads=2, head_dim=6, attn_implementation="sdpa"
    )
    theirs = LlamaAttention(config, layer_idx=0).double().requires_grad_(False)
    weights, x, tokens = layer(seed), inputs(sum(widths)), sum(widths)
    for name in "QKVO":
        getattr(theirs, f"{name.lower()}_proj").weight.copy_(weights[f"W{name}"].T)
    angles = torch.outer(torch.arange(tokens), 10_000.0 ** -(torch.arange(3, dtype=torch.float64) / 3)).repeat(1, 2)
    causal = torch.full((1, 1, tokens, tokens), -math.inf, dtype=torch.float64).triu(1)
    wanted, _ = theirs(x, (angles.cos()[None], angles.sin()[None]), causal)
    cache = RotaryCache(weights, tokens)
    close(torch.cat([cache.step(piece) for piece in x.split(widths, dim=1)], dim=1), wanted)


@patient
@given(partitions)
def test_the_library_and_the_solution_give_the_same(learner, widths):
    weights, x = layer(), inputs(sum(widths))
    mine, ours = learner["RotaryCache"](weights, sum(widths)), RotaryCache(weights, sum(widths))
    for piece in x.split(widths, dim=1):
        close(mine.step(piece), ours.step(piece))
    caches = [kind(2, 6, 3, 4, sum(widths)) for kind in (learner["GroupedCache"], GroupedCache)]
    for piece in chunk(sum(widths)).split(widths, dim=2):
        for cache in caches:
            cache.append(piece, -piece)
    assert torch.equal(caches[0].keys, caches[1].keys) and torch.equal(caches[0].values, caches[1].values)
    assert learner["elements_copied"](sum(widths), 12) == elements_copied(sum(widths), 12)


def test_concatenation_writes_what_the_meter_sees():
    def fill(cache, row):
        for _ in range(9):
            cache.append(row, row)

    row = chunk(1)
    concat, prealloc = elements_copied(9, 2 * row.numel())
    # The first row is kept, not copied.
    assert metered(fill, ConcatenatedCache(), row).new_bytes == 8 * (concat - 2 * row.numel())
    assert metered(fill, GroupedCache(2, 6, 3, 4, 9), row).new_bytes == 0
    assert prealloc == 9 * 2 * row.numel() and elements_copied(0, 5) == (0, 0)
