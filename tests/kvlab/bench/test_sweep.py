"""Steps that can be timed again and again, and a sweep that keeps what it has when memory, time or patience ends."""

from itertools import count

import pytest
import torch

from kvlab.bench import sweep
from kvlab.bench.clock import one_thread
from kvlab.bench.kernels import attention_kernels
from kvlab.bench.model import Decoder, Shape

SHAPE = Shape(num_layers=2, num_heads=4, num_kv_heads=2, head_dim=8, hidden_size=32, ffn_size=48, vocab_size=40)


@pytest.fixture(scope="module")
def decoder():
    return Decoder(SHAPE, torch.float32)


@pytest.fixture(autouse=True)
def steady():
    with one_thread():
        yield


@pytest.mark.parametrize("way", sweep.WAYS)
def test_a_step_leaves_the_cache_as_it_was(decoder, way):
    step = sweep.WAYS[way](decoder, 3, 9)
    first, again = step().clone(), step()
    assert torch.equal(first, again) and first.shape[0] == 3


def test_the_three_ways_give_the_same_logits_on_the_same_rows(decoder, monkeypatch):
    def ones(shape, **options):
        return torch.full(shape, 0.5, **options)

    monkeypatch.setattr(sweep.torch, "randn", ones)
    monkeypatch.setattr(torch.Tensor, "normal_", lambda tensor, *_, **__: tensor.fill_(0.5))
    logits = [way(decoder, 2, 7)().flatten(0, -2) for way in sweep.WAYS.values()]
    for each in logits[1:]:
        assert (each - logits[0]).abs().max() < 1e-5 < logits[0].abs().max()


def test_a_row_has_every_trial_and_the_copies_around_them(decoder):
    copy = sweep.Copy(1000)
    row = sweep.step_row(decoder, copy, 4, "concatenated", 16, 2)
    assert copy.moved_bytes == 2000
    assert len(row["seconds"]) == 4 and len(row["copy_seconds"]) == 4
    assert min(row["seconds"] + row["copy_seconds"]) > 0
    lean = sweep.step_row(decoder, copy, 4, "preallocated", 16, 2)
    cache = 2 * 2 * 2 * 16 * 2 * 8 * 4  # layers, K and V, requests, tokens, KV heads, width, bytes
    assert row["new_bytes"] - lean["new_bytes"] == cache


def test_the_kernel_of_a_step_is_named(decoder):
    assert attention_kernels(sweep.preallocated(decoder, 1, 8)) == ["_scaled_dot_product_flash_attention_for_cpu"]
    assert attention_kernels(lambda: torch.ones(2) + 1) == []


# --- the sweep -------------------------------------------------------------------------------------------------


def cache_bytes(context, batch):
    return context * batch


POINTS = [("a", context, batch) for context in (30, 10, 20) for batch in (4, 1)]


def swept(measure, budget=1000.0, points=POINTS, tick=1.0):
    clock = count(step=tick)
    return [row for row, _ in sweep.sweep(points, measure, cache_bytes, budget, lambda: next(clock))]


def outcomes(rows):
    return [(row["context"], row["batch"], row["outcome"]) for row in rows]


def test_small_caches_come_first_and_every_point_has_a_row():
    rows = swept(lambda *point: {"seconds": [1.0], "point": point})
    assert [row["cache_bytes"] for row in rows] == sorted(cache_bytes(c, b) for _, c, b in POINTS)
    assert {row["point"] for row in rows} == set(POINTS) and {row["outcome"] for row in rows} == {"measured"}


def test_out_of_memory_is_noted_and_the_sweep_goes_on_smaller():
    def measure(way, context, batch):
        if context * batch > 50:
            raise torch.OutOfMemoryError("CUDA out of memory.\nMuch advice")
        return {"seconds": [1.0]}

    rows = swept(measure)
    assert outcomes(rows) == [
        (10, 1, "measured"),
        (20, 1, "measured"),
        (30, 1, "measured"),
        (10, 4, "measured"),
        (20, 4, "out of memory"),
        (20, 2, "measured"),
        (30, 4, "larger than what did not fit"),
    ]
    assert rows[4]["error"] == "CUDA out of memory." and "seconds" not in rows[4]


def test_another_way_is_tried_where_one_did_not_fit():
    def measure(way, context, batch):
        if way == "a":
            raise MemoryError("too much")
        return {"seconds": [1.0]}

    rows = swept(measure, points=[("a", 10, 1), ("b", 10, 1), ("b", 20, 1), ("a", 20, 1)])
    assert [(row["way"], row["outcome"]) for row in rows] == [
        ("a", "out of memory"),
        ("b", "measured"),
        ("a", "larger than what did not fit"),
        ("b", "measured"),
    ]


def test_a_cpu_that_has_no_memory_left_is_out_of_memory_too():
    (row,) = swept(lambda *_: torch.empty(2**60), points=[("a", 10, 1)])
    assert row["outcome"] == "out of memory" and "allocate" in row["error"]


def test_any_other_error_ends_the_sweep():
    def measure(*point):
        raise RuntimeError("a shape is wrong")

    with pytest.raises(RuntimeError, match="a shape is wrong"):
        swept(measure)


def test_a_point_that_would_end_too_late_is_not_begun():
    tried = []
    rows = swept(lambda *point: tried.append(point) or {"seconds": [1.0]}, budget=40.0, tick=3.0)
    assert [row["outcome"] for row in rows[:2]] == ["measured", "measured"]
    assert rows[-1]["outcome"] == "no time left" and len(tried) < len(POINTS)


def test_a_sweep_that_is_interrupted_keeps_its_rows():
    def interrupted():
        yield {"n": 1}, 5.0
        yield {"n": 2}, 1.0
        raise KeyboardInterrupt

    seen = []
    assert sweep.kept(interrupted(), lambda row, left: seen.append((row["n"], left))) == [{"n": 1}, {"n": 2}]
    assert seen == [(1, 5.0), (2, 1.0)]


# --- whole answers ---------------------------------------------------------------------------------------------


def test_answers_are_those_of_transformers_and_every_token_has_its_stamp(decoder):
    prompts = torch.arange(10).reshape(2, 5)
    clock = count()
    answers, stamps = sweep.generate(decoder, prompts, 6, lambda: next(clock))
    assert stamps == list(range(6))
    assert torch.equal(answers, sweep.generate_by_transformers(sweep.llama(decoder), prompts, 6))


def test_answers_follow_recomputation_from_scratch(decoder):
    prompts = torch.arange(10).reshape(2, 5)
    tokens = prompts
    for _ in range(4):
        logits = decoder.forward(tokens, sweep.empty_caches(decoder, 2, tokens.shape[1]))
        tokens = torch.cat([tokens, logits.argmax(-1, keepdim=True)], dim=1)
    assert torch.equal(sweep.generate(decoder, prompts, 4)[0], tokens[:, 5:])


def test_prefill_is_timed_at_every_length(decoder):
    rows = sweep.prefill_seconds(decoder, (3, 8), trials=2)
    assert [row["tokens"] for row in rows] == [3, 8] and all(len(row["seconds"]) == 2 for row in rows)
