"""The decoder: any chunking gives the logits of one pass, and those of `transformers` with the same weights."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.attention import expanded_attention
from kvlab.bench.clock import one_thread
from kvlab.bench.model import Decoder, Shape, attend
from kvlab.bench.sweep import empty_caches, llama
from kvlab.caches import ConcatenatedCache

SHAPE = Shape(num_layers=2, num_heads=6, num_kv_heads=2, head_dim=8, hidden_size=48, ffn_size=56, vocab_size=50)


@pytest.fixture(scope="module")
def decoder():
    return Decoder(SHAPE, torch.float64)


def ids(batch, tokens):
    return torch.randint(SHAPE.vocab_size, (batch, tokens), generator=torch.Generator().manual_seed(tokens))


@settings(max_examples=20)
@given(widths=st.lists(st.integers(1, 4), min_size=1, max_size=5), batch=st.integers(1, 3))
def test_any_chunking_and_either_cache_give_the_logits_of_one_pass(decoder, widths, batch):
    tokens = ids(batch, sum(widths))
    with one_thread():
        wanted = decoder.forward(tokens, empty_caches(decoder, batch, sum(widths)))
        for caches in (empty_caches(decoder, batch, sum(widths)), [ConcatenatedCache() for _ in range(2)]):
            for piece in tokens.split(widths, dim=1):
                logits = decoder.forward(piece, caches)
            assert [cache.used for cache in caches] == [sum(widths)] * 2
            assert (logits - wanted).abs().max() < 1e-12


def test_transformers_gives_the_same_logits_with_the_same_tensors(decoder):
    model, tokens = llama(decoder), ids(3, 11)
    with torch.no_grad():
        theirs = model(tokens).logits[:, -1]
    ours = decoder.forward(tokens, empty_caches(decoder, 3, 11))
    assert (ours - theirs).abs().max() < 1e-5 < ours.abs().max()  # their angles are in float32
    shared = model.state_dict()
    assert all(shared[name].data_ptr() == weight.data_ptr() for name, weight in decoder.weights.items())


def test_the_parameters_of_a_step_are_those_of_the_model_without_embedding_and_gains(decoder):
    sizes = {name: weight.numel() for name, weight in llama(decoder).state_dict().items()}
    counted = sum(n for name, n in sizes.items() if "norm" not in name and "embed_tokens" not in name)
    assert SHAPE.num_params == counted


@pytest.mark.parametrize(("start", "chunk"), [(0, 1), (0, 5), (4, 1), (4, 3)])
def test_attention_is_that_of_expanded_heads(start, chunk):
    generator = torch.Generator().manual_seed(7)
    q = torch.randn(2, 6, chunk, 4, dtype=torch.float64, generator=generator)
    k, v = torch.randn(2, 2, 3, start + chunk, 4, dtype=torch.float64, generator=generator)
    mine = attend(q, k, v, start).transpose(1, 2).flatten(2)
    assert (mine - expanded_attention(q, k, v, start)).abs().max() < 1e-12


@pytest.mark.parametrize(("change", "named"), [({"num_heads": 5}, "2 divides"), ({"ffn_size": 0}, "ffn_size")])
def test_a_shape_that_makes_no_model_is_refused(change, named):
    with pytest.raises(ValueError, match=named):
        Shape(**(vars(SHAPE) | change))
