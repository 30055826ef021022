"""Rotary positions: complex numbers and `transformers` agree, scores know distances only."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograde.course import lesson
from kvlab.rope import rope
from tests.kvlab.test_attention import close, patient
from tests.notebooks import learner_of

positions = st.lists(st.integers(0, 300), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def learner():
    return learner_of(lesson("05_grouped_query_cache"), torch=torch, math=math)


def rows(count, width, seed=0):
    return torch.randn(2, count, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@patient
@given(positions, st.integers(1, 4), st.integers(0, 10**6))
def test_a_pair_is_a_complex_number_that_is_multiplied(places, half, seed):
    x = rows(len(places), 2 * half, seed).numpy()
    angles = np.outer(places, [10_000.0 ** (-i / half) for i in range(half)])
    wanted = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)
    turned = rope(torch.from_numpy(x), places).numpy()
    np.testing.assert_allclose(turned, np.concatenate([wanted.real, wanted.imag], -1), rtol=0, atol=1e-12)


def test_transformers_turns_the_same_way():
    from transformers.models.llama.modeling_llama import rotate_half

    x, places = rows(5, 6), torch.tensor([0, 3, 7, 100, 5])
    angles = torch.outer(places.double(), 10_000.0 ** -(torch.arange(3, dtype=torch.float64) / 3)).repeat(1, 2)
    close(rope(x, places), x * angles.cos() + rotate_half(x) * angles.sin())


@patient
@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 1000))
def test_a_constant_shift_changes_no_score(at_q, at_k, shift):
    q, k = rows(1, 6, 1)[:1], rows(1, 6, 2)[:1]
    close(rope(q, [at_q]) @ rope(k, [at_k]).mT, rope(q, [at_q + shift]) @ rope(k, [at_k + shift]).mT, atol=1e-11)


def test_turned_twice_is_another_position():
    x = rows(1, 6)
    close(rope(rope(x, [4]), [4]), rope(x, [8]))
    assert torch.equal(rope(x, [0]), x)


def test_the_dtype_stays_and_far_angles_are_computed_in_double_precision():
    x = rows(1, 8)
    for dtype, atol in ((torch.float32, 1e-6), (torch.bfloat16, 0.05)):
        turned = rope(x.to(dtype), [100_000])
        assert turned.dtype == dtype
        close(turned.double(), rope(x, [100_000]), atol=atol)


@patient
@given(positions, st.integers(1, 4))
def test_the_library_and_the_solution_give_the_same(learner, places, half):
    x, places = rows(len(places), 2 * half), torch.tensor(places)
    close(learner["rope"](x, places), rope(x, places))


@pytest.mark.parametrize(
    ("shape", "places", "said"),
    [((2, 5), [0, 1], "even dh"), ((4,), [0], "even dh"), ((3, 4), [0, 1], "wanted 3"), ((1, 4), 0, "wanted 1")],
)
def test_what_cannot_be_turned_is_refused(shape, places, said):
    with pytest.raises(ValueError, match=said):
        rope(torch.ones(shape), places)
