"""Multi-head latent attention (MLA): one latent and one rotary key for each token, shared by all heads.

Shapes: H heads, T stored tokens, r rank of the latent, dn and dr the parts of a head without and with rotary position,
dv the width of a value. Scores are scaled by √(dn + dr). Source: DeepSeek-V2, arXiv 2405.04434.
"""

from collections.abc import Mapping

import numpy as np

from kvlab.configs import read_config
from kvlab.rules import RULES, decoder
from kvlab.sizes import bits_to_bytes, whole


def mla_bytes_per_token(config: Mapping[str, object], bits: int) -> int:
    """Payload of one token over all layers: rank of the latent plus rotary key, once. ValueError names the field."""
    model_type = decoder(config).get("model_type")
    model = read_config(config)
    if RULES[model_type]["layers"] != "latent":
        raise ValueError(f"model_type: wanted one with a latent, got {model_type!r}")
    return bits_to_bytes(model.elements(1) * whole("bits", bits))


def absorbed_scores(
    q_nope: np.ndarray, q_rope: np.ndarray, latent: np.ndarray, k_rope: np.ndarray, w_uk: np.ndarray
) -> np.ndarray:
    """Scores (H, T) of one query, without rebuilding a key: `w_uk` goes to the query's side.

    q_nope (H, dn), q_rope (H, dr), latent (T, r), k_rope (T, dr), w_uk (H, dn, r).
    """
    absorbed = np.einsum("hn,hnr->hr", q_nope, w_uk)
    return (absorbed @ latent.T + q_rope @ k_rope.T) / _scale(q_nope, q_rope)


def rebuilt_scores(
    q_nope: np.ndarray, q_rope: np.ndarray, latent: np.ndarray, k_rope: np.ndarray, w_uk: np.ndarray
) -> np.ndarray:
    """The same scores with the key of every head and token rebuilt first: (H, T, dn + dr) elements on the way."""
    keys = np.einsum("hnr,tr->htn", w_uk, latent)
    keys = np.concatenate([keys, np.broadcast_to(k_rope, (len(w_uk), *k_rope.shape))], axis=2)
    return np.einsum("hd,htd->ht", np.concatenate([q_nope, q_rope], axis=1), keys) / _scale(q_nope, q_rope)


def mean_pool_kv(W: np.ndarray, groups: int, num_kv_heads: int) -> np.ndarray:
    """A stacked K or V projection (num_kv_heads · dh, D) with `groups` heads: each the mean of neighbours.

    Returns (groups · dh, D). ValueError where heads or rows cannot be shared out. Source: GQA, arXiv 2305.13245.
    """
    if groups < 1 or num_kv_heads % groups:
        raise ValueError(f"groups: wanted a divisor of {num_kv_heads} heads, got {groups}")
    if len(W) % num_kv_heads:
        raise ValueError(f"W: wanted rows for {num_kv_heads} heads, got {len(W)}")
    return W.reshape(groups, num_kv_heads // groups, -1, W.shape[1]).mean(axis=1).reshape(-1, W.shape[1])


def _scale(q_nope: np.ndarray, q_rope: np.ndarray) -> float:
    return np.sqrt(q_nope.shape[1] + q_rope.shape[1])
