"""Grouped attention: PyTorch's own agrees, no KV head is copied, and the library is held to the learner's functions."""

import math
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograde.course import lesson
from kvlab import attention
from kvlab.bench.meter import metered
from tests.notebooks import learner_of

sizes = st.tuples(*(st.integers(1, top) for top in (2, 3, 4, 3, 5)))  # batch, KV heads, group, chunk, width
patient = settings(deadline=None)  # PyTorch starts its threads on the first call


@pytest.fixture(scope="module")
def learner():
    return learner_of(lesson("05_grouped_query_cache"), torch=torch, math=math)


def tensors(sizes, start, seed=0):
    batch, kv_heads, group, chunk, width = sizes
    generator = torch.Generator().manual_seed(seed)
    shapes = (batch, kv_heads * group, chunk, width), *[(batch, kv_heads, start + chunk, width)] * 2
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


def close(one, other, atol=1e-12):
    torch.testing.assert_close(one, other, rtol=0, atol=atol)


def test_neighbours_share_a_kv_head():
    assert [attention.kv_head_of(head, 6, 2) for head in range(6)] == [0, 0, 0, 1, 1, 1]
    k = torch.arange(2.0).reshape(1, 2, 1, 1)
    assert attention.repeat_kv(k, 6).flatten().tolist() == [0, 0, 0, 1, 1, 1]


@patient
@given(sizes, st.integers(0, 4), st.integers(0, 10**6))
def test_pytorchs_own_grouped_attention_agrees(sizes, start, seed):
    q, k, v = tensors(sizes, start, seed)
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(start)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    for attend in (attention.grouped_attention, attention.expanded_attention):
        close(attend(q, k, v, start), wanted.transpose(1, 2).flatten(2))


def test_keys_and_values_are_read_where_they_lie():
    q, k, v = tensors((1, 4, 8, 2, 64), 510)
    storage = torch.zeros(1, 4, 1024, 64, dtype=torch.float64)
    storage[:, :, :512] = k
    grouped = metered(attention.grouped_attention, q, storage[:, :, :512], v, 510)
    expanded = metered(attention.expanded_attention, q, k, v, 510)
    assert grouped.peak_bytes < k.nbytes
    assert expanded.peak_bytes > 8 * (k.nbytes + v.nbytes)


def test_arguments_are_left_as_they_were():
    arguments = tensors((2, 3, 2, 3, 4), 2)
    copies = [each.clone() for each in arguments]
    attention.grouped_attention(*arguments, 2)
    attention.expanded_attention(*arguments, 2)
    assert all(map(torch.equal, arguments, copies))


@patient
@given(sizes, st.integers(0, 4), st.integers(0, 10**6))
def test_the_library_and_the_solution_give_the_same(learner, sizes, start, seed):
    q, k, v = tensors(sizes, start, seed)
    close(learner["grouped_attention"](q, k, v, start), attention.grouped_attention(q, k, v, start))
    assert torch.equal(learner["expand_kv"](k, q.shape[1]), attention.repeat_kv(k, q.shape[1]))
    heads = [(head, q.shape[1], k.shape[1]) for head in range(q.shape[1])]
    assert [learner["kv_head_of"](*each) for each in heads] == [attention.kv_head_of(*each) for each in heads]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: attention.kv_head_of(0, 7, 3), "heads: wanted a number of query heads that 3 divides, got 7"),
        (lambda: attention.kv_head_of(6, 6, 3), "query_head: wanted a head from 0 to 5, got 6"),
        (lambda: attention.kv_head_of(-1, 6, 3), "query_head: wanted"),
        (lambda: attention.kv_head_of(0.5, 6, 3), "query_head: wanted"),
        (lambda: attention.repeat_kv(torch.ones(1, 3, 2, 2), 4), "that 3 divides, got 4"),
        (lambda: attention.grouped_attention(*tensors((1, 2, 2, 3, 4), 2), 3), "wanted 3 \\+ 3 keys, .* got 5"),
        (lambda: attention.expanded_attention(*tensors((1, 2, 2, 3, 4), 2), 1), "wanted 1 \\+ 3 keys, .* got 5"),
    ],
)
def test_what_has_no_answer_is_refused_with_a_sentence(call, said):
    with pytest.raises((TypeError, ValueError), match=said):
        call()


def test_neither_kvlab_nor_check_nor_the_lessons_cases_import_torch():
    program = (
        "import sys, kvlab, autograde.check, autograde.exercises.grouped_query_cache as lesson;"
        "from random import Random;"
        "[each.cases(Random(1)) for each in lesson.EXERCISES]; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
