"""Presets: the attention shapes of published models, read from data/models.csv.

A preset states what a configuration says (its `source`), so that a formula can be tried on real models. The
plain byte formula covers the rows with `full_attention`; windowed, latent (MLA) and recurrent models need
more than it: `kvlab.configs` reads their `config`.
"""

import csv
import difflib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from kvlab.sizes import AttentionConfig

MODELS = Path(__file__).parent / "data" / "models.csv"


@dataclass(frozen=True)
class Preset:
    """One published model. Widths are in elements."""

    name: str
    model_type: str
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int | None  # None under MLA, which stores no KV heads
    head_dim: int
    hidden_size: int
    layer_pattern: str
    full_attention: bool  # every layer stores K and V of every token
    note: str
    source: str
    config_json: str  # the fields of config.json that decide what is cached, as published

    @property
    def config(self) -> dict[str, object]:
        """What `kvlab.configs` reads: a dict of one's own each time."""
        return json.loads(self.config_json)

    @property
    def attention_config(self) -> AttentionConfig:
        """The shape as `kvlab.sizes` reads it; exact only where `full_attention` is true."""
        return {key: getattr(self, key) for key in AttentionConfig.__annotations__}


def presets(full_attention_only: bool = False) -> dict[str, Preset]:
    """All presets by name, in the order of the file; on request only those with full attention throughout."""
    return {name: p for name, p in _presets().items() if p.full_attention or not full_attention_only}


def preset(name: str) -> Preset:
    """The preset called `name`. ValueError suggests the nearest names."""
    known = _presets()
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.4) or list(known)[:3]
        raise ValueError(f"name: wanted a preset such as {', '.join(near)}, got {name!r}")
    return known[name]


@cache
def _presets():
    with MODELS.open(encoding="utf-8", newline="") as file:
        rows = [_preset(row) for row in csv.DictReader(file)]
    return MappingProxyType({row.name: row for row in rows})


def _preset(row: dict) -> Preset:
    layers = int(row["num_hidden_layers"])
    kv_heads = row["num_key_value_heads"]
    return Preset(
        name=row["model"],
        model_type=row["model_type"],
        num_hidden_layers=layers,
        num_attention_heads=int(row["num_attention_heads"]),
        num_key_value_heads=int(kv_heads) if kv_heads else None,
        head_dim=int(row["head_dim"]),
        hidden_size=int(row["hidden_size"]),
        layer_pattern=row["layer_pattern"],
        full_attention=int(row["full_layers"]) == layers and bool(kv_heads) and row["state_bytes"] == "0",
        note=row["note"],
        source=row["source"],
        config_json=row["config"],
    )
