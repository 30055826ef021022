"""A decoder of Llama's form with random weights: real shapes, real arithmetic, nothing to download.

Its weights carry the names that `transformers` uses, so that `LlamaForCausalLM` can be given the very same ones.
Shapes: B requests, m tokens of a chunk, T stored tokens, H query heads, Hkv KV heads, dh head width, D model width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from torch.nn import functional

from kvlab import masks
from kvlab.attention import group_size
from kvlab.caches import ConcatenatedCache, GroupedCache
from kvlab.rope import angles, apply_rotary
from kvlab.sizes import AttentionConfig, whole


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder. Widths are in elements."""

    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    hidden_size: int
    ffn_size: int
    vocab_size: int

    def __post_init__(self):
        for name, value in vars(self).items():
            whole(name, value)
        group_size(self.num_heads, self.num_kv_heads)

    @property
    def attention_config(self) -> AttentionConfig:
        """The shape as `kvlab.sizes` reads it."""
        return {
            "num_hidden_layers": self.num_layers,
            "num_attention_heads": self.num_heads,
            "num_key_value_heads": self.num_kv_heads,
            "head_dim": self.head_dim,
            "hidden_size": self.hidden_size,
        }

    def matrices(self) -> dict[str, tuple[int, int]]:
        """Name and shape (out, in) of every weight matrix."""
        width, queries, rows = self.hidden_size, self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        layer = {
            "self_attn.q_proj": (queries, width),
            "self_attn.k_proj": (rows, width),
            "self_attn.v_proj": (rows, width),
            "self_attn.o_proj": (width, queries),
            "mlp.gate_proj": (self.ffn_size, width),
            "mlp.up_proj": (self.ffn_size, width),
            "mlp.down_proj": (width, self.ffn_size),
        }
        layers = {f"model.layers.{i}.{name}": size for i in range(self.num_layers) for name, size in layer.items()}
        return {"model.embed_tokens": (self.vocab_size, width), **layers, "lm_head": (self.vocab_size, width)}

    @property
    def num_params(self) -> int:
        """Parameters that a decode step multiplies by: all matrices but the embedding, of which it looks up one row."""
        return sum(rows * columns for rows, columns in list(self.matrices().values())[1:])


class Decoder:
    """The weights on a device, and one forward pass that fills caches. Gains of the norms are all 1, and left out."""

    def __init__(
        self,
        shape: Shape,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        seed: int = 0,
    ):
        self.shape, self.dtype, self.device = shape, dtype, torch.device(device)
        generator = torch.Generator(self.device).manual_seed(seed)
        made = {"dtype": dtype, "device": self.device, "generator": generator}
        self.weights = {
            f"{name}.weight": torch.randn(size, **made).div_(sqrt(size[1])) for name, size in shape.matrices().items()
        }

    @torch.no_grad()
    def forward(self, ids: torch.Tensor, caches: Sequence[GroupedCache | ConcatenatedCache]) -> torch.Tensor:
        """Logits (B, V) behind the last of the tokens `ids` (B, m), which are stored in `caches`, one a layer.

        ValueError as `GroupedCache.append`.
        """
        shape, start = self.shape, caches[0].used
        positions = torch.arange(start, start + ids.shape[1], device=self.device)
        at = angles(positions, shape.head_dim, self.dtype)
        x = functional.embedding(ids, self.weights["model.embed_tokens.weight"])
        for layer, cache in enumerate(caches):
            normed = self._norm(x)
            q = self._heads(layer, "q", normed, shape.num_heads)
            k = self._heads(layer, "k", normed, shape.num_kv_heads)
            cache.append(apply_rotary(k, *at), self._heads(layer, "v", normed, shape.num_kv_heads))
            mixed = attend(apply_rotary(q, *at), cache.keys, cache.values, start)
            x = x + self._times(layer, "self_attn.o_proj", mixed.transpose(1, 2).flatten(2))
            normed = self._norm(x)
            gate = functional.silu(self._times(layer, "mlp.gate_proj", normed))
            x = x + self._times(layer, "mlp.down_proj", gate * self._times(layer, "mlp.up_proj", normed))
        return functional.linear(self._norm(x[:, -1]), self.weights["lm_head.weight"])

    def _norm(self, x: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, x.shape[-1:], eps=1e-6)

    def _times(self, layer: int, name: str, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self.weights[f"model.layers.{layer}.{name}.weight"])

    def _heads(self, layer: int, name: str, x: torch.Tensor, heads: int) -> torch.Tensor:
        return self._times(layer, f"self_attn.{name}_proj", x).unflatten(-1, (heads, -1)).transpose(1, 2)


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, start: int) -> torch.Tensor:
    """Causal attention (B, H, m, dh) of a chunk `q` behind `start` tokens; `k` and `v` (B, Hkv, start + m, dh).

    One query may see every key: its heads become rows of their group, so that each KV head is read once. PyTorch's
    `enable_gqa` gives the same values, and on a CPU reads a KV head once for each of its readers.
    """
    attention = functional.scaled_dot_product_attention
    if q.shape[2] == 1:
        return attention(q.reshape(len(k), k.shape[1], -1, q.shape[3]), k, v).view(q.shape)
    # From PyTorch's own causal mask a fused kernel knows which keys to skip; it fits only where nothing is cached.
    mask = {"attn_mask": torch.from_numpy(masks.allowed(start, q.shape[2])).to(q.device)}
    return attention(q, k, v, **(mask if start else {"is_causal": True}), enable_gqa=True)
