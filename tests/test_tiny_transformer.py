"""The tiny decoder: shapes, causality, stability, determinism, refusals, and positions strong enough to be missed."""

import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tiny_transformer import TinyDecoder, norm, softmax

MODEL = TinyDecoder()
ids_strategy = st.lists(st.integers(0, 2), min_size=1, max_size=8)


def test_parameters_have_their_documented_shapes_and_are_float64():
    model = TinyDecoder(vocab=5, context=7, width=6, hidden=11)
    shapes = {name: array.shape for name, array in model.p.items()}
    square, vector = (6, 6), (6,)
    assert shapes == {
        "E": (5, 6),
        "P": (7, 6),
        **dict.fromkeys("QKVO", square),
        "F": (6, 11),
        "G": (11, 6),
        "U": (6, 5),
        **dict.fromkeys(("g1", "b1", "g2", "b2"), vector),
    }
    assert {array.dtype for array in model.p.values()} == {np.dtype("float64")}
    assert (model.vocab, model.context, model.width) == (5, 7, 6)


@pytest.mark.parametrize(("batch", "length"), [(1, 1), (1, 8), (4, 5)])
def test_logits_have_a_row_for_each_token(batch, length):
    logits, saved = MODEL.forward(np.zeros((batch, length), dtype=int))
    assert logits.shape == (batch, length, 3)
    assert saved["k"].shape == saved["v"].shape == (batch, length, MODEL.width)


@given(ids_strategy)
def test_a_later_token_never_changes_an_earlier_logit(ids):
    before = MODEL.forward([ids])[0]
    for cut in range(1, len(ids)):
        np.testing.assert_allclose(MODEL.forward([ids[:cut]])[0][0], before[0, :cut], rtol=0, atol=1e-12)
    changed = [*ids[:-1], (ids[-1] + 1) % 3]
    np.testing.assert_array_equal(MODEL.forward([changed])[0][0, :-1], before[0, :-1])
    assert np.abs(MODEL.forward([changed])[0][0, -1] - before[0, -1]).max() > 1e-3


@given(ids_strategy, ids_strategy)
def test_requests_of_a_batch_do_not_meet(a, b):
    length = min(len(a), len(b))
    both = MODEL.forward([a[:length], b[:length]])[0]
    np.testing.assert_allclose(both[0], MODEL.forward([a[:length]])[0][0], rtol=0, atol=1e-12)


def test_it_agrees_with_torch_layer_by_layer():
    import torch
    from torch.nn import functional as F

    p = {name: torch.from_numpy(array) for name, array in MODEL.p.items()}
    ids = torch.tensor([[0, 2, 1, 1, 0, 2, 2, 0]])
    x = p["E"][ids] + p["P"][: ids.shape[1]]
    n = F.layer_norm(x, (MODEL.width,), p["g1"], p["b1"])
    heads = ((n @ p[name])[:, None] for name in "QKV")
    attended = F.scaled_dot_product_attention(*heads, is_causal=True)[:, 0]
    h = x + attended @ p["O"]
    z = h + F.relu(F.layer_norm(h, (MODEL.width,), p["g2"], p["b2"]) @ p["F"]) @ p["G"]
    np.testing.assert_allclose(MODEL.forward(ids.numpy())[0], (z @ p["U"]).numpy(), rtol=0, atol=1e-12)


@given(arrays(float, (2, 5), elements=st.floats(-1e6, 1e6)))
def test_softmax_sums_to_one_and_ignores_a_shift(x):
    np.testing.assert_allclose(softmax(x).sum(-1), 1.0)
    np.testing.assert_allclose(softmax(x), softmax(x + 4096.0), atol=1e-9)


def test_softmax_neither_overflows_nor_lets_a_hidden_score_through():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert softmax(np.array([1e4, 1e4, -np.inf])).tolist() == [0.5, 0.5, 0.0]


def test_layer_norm_gives_mean_bias_and_deviation_gain():
    x = np.random.default_rng(5).normal(3.0, 7.0, (4, 4000))
    y, (normal, scale) = norm(x, gain=2.0, bias=-1.5)
    np.testing.assert_allclose(y.mean(-1), -1.5, atol=1e-9)
    np.testing.assert_allclose(y.std(-1), 2.0, rtol=1e-5)
    np.testing.assert_allclose(normal, (x - x.mean(-1, keepdims=True)) * scale)


def test_the_same_seed_gives_the_same_bytes_in_another_process_and_another_seed_does_not():
    program = (
        "import sys, numpy as np; from tiny_transformer import TinyDecoder;"
        "sys.stdout.write(TinyDecoder().forward([[0, 1, 2, 1]])[0].tobytes().hex())"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert MODEL.forward([[0, 1, 2, 1]])[0].tobytes().hex() == other
    assert not np.array_equal(TinyDecoder(seed=9).p["E"], MODEL.p["E"])


@pytest.mark.parametrize(
    "ids",
    [
        [],
        [[]],
        [0, 1],
        [[[0]]],
        0,
        [[0.0, 1.0]],
        [[True, False]],
        [["0"]],
        [[-1]],
        [[3]],
        [[0] * 9],
        np.empty((0, 3), dtype=int),
    ],
)
def test_what_is_no_batch_of_ids_is_refused(ids):
    with pytest.raises(ValueError):
        MODEL.forward(ids)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
def test_integers_of_any_width_are_welcome(dtype):
    assert MODEL.forward(np.array([[2, 1]], dtype=dtype))[0].shape == (1, 2, 3)


@pytest.mark.parametrize("seed", range(2, 8))
def test_without_positions_the_logits_of_nearly_every_string_move_visibly(seed):
    model, blind = TinyDecoder(seed=seed), TinyDecoder(seed=seed)
    blind.p["P"] = np.zeros_like(blind.p["P"])
    strings = np.array(list(itertools.product(range(3), repeat=5)))
    moved = np.abs(model.forward(strings)[0] - blind.forward(strings)[0]).max(axis=(1, 2))
    assert (moved >= 0.1).mean() > 0.95
