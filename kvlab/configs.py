"""From the dict of a config.json to what each layer caches, and where each number came from. It never guesses.

A `model_type` that is not known, a field that is missing, null where null says nothing, or at odds with another one:
ValueError, whose message begins with the name of the field. Sizes are elements, bytes are payload.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kvlab.reprs import short_repr
from kvlab.rules import DEFAULTS, DIVIDED, HEADS, MULTI_QUERY, REFUSE, RULES, decoder, needed
from kvlab.sizes import bits_to_bytes, whole

KINDS = ("full", "window", "latent", "state", "shared")
_NAMED = {"full_attention": "full", "sliding_attention": "window"}
# Fields that change what is cached. In a model type that is not known to have them, they are no extra keys.
_TELLING = {
    "num_kv_shared_layers": ("gemma3n_text",),
    "kv_lora_rank": ("deepseek_v2", "deepseek_v3", "kimi_k2"),
    "attn_layer_period": ("jamba",),
    "layer_types": ("qwen2", "qwen3", "gemma2", "gemma3_text", "gemma3n_text", "gpt_oss"),
    "cross_attention_layers": (),
    "add_cross_attention": (),
    "is_encoder_decoder": ("whisper",),
    "use_bidirectional_attention": (),
    "layers_block_type": (),
    "hybrid_override_pattern": (),
    "attention_chunk_size": (),
    "index_head_dim": (),
}
MOST_LAYERS = 10_000
STATE_BITS, SSM_BITS = 16, 32  # of the convolution's inputs, and of the recurrent state proper


@dataclass(frozen=True)
class Layer:
    """What one layer keeps. `rows(tokens)` rows of `row_elements` elements each."""

    kind: str  # one of KINDS
    num_kv_heads: int = 0  # 0 where no head is stored
    width: int = 0  # of one head; of the whole row in a latent layer
    window: int | None = None

    @property
    def row_elements(self) -> int:
        """Elements of one token: K and V of every KV head, or the latent with its rotary key, once."""
        return self.width if self.kind == "latent" else 2 * self.num_kv_heads * self.width

    def rows(self, tokens: int) -> int:
        """Rows that are kept of `tokens`."""
        return tokens if self.window is None else min(tokens, self.window)


@dataclass(frozen=True)
class ModelConfig:
    """What a config.json says about the cache. `origins` tells of each number whether it is a field, a documented
    default, or derived. `cross_tokens` rows of every layer are those of an encoder, whatever the decoder does."""

    model_type: str
    num_attention_heads: int
    layers: tuple[Layer, ...]
    origins: dict[str, str] = field(default_factory=dict)
    cross_tokens: int = 0
    conv_elements: int = 0  # of one state layer, for each unit of the convolution's width
    ssm_elements: int = 0  # of one state layer

    @property
    def kinds(self) -> list[str]:
        """The kind of each layer, the first layer first."""
        return [layer.kind for layer in self.layers]

    def elements(self, tokens: int, kind: str | None = None) -> int:
        """Elements that grow with the tokens, over all layers or over those of one kind."""
        return sum(each.rows(tokens) * each.row_elements for each in self.layers if kind in (None, each.kind))

    def cross_bytes(self, bits_per_element: int) -> int:
        """Payload of cross-attention: K and V of every encoder token, in each decoder layer."""
        return bits_to_bytes(self.cross_tokens * sum(each.row_elements for each in self.layers) * bits_per_element)

    def state_bytes(self, conv_width: int) -> int:
        """Recurrent state, whatever the tokens: `conv_width` columns of BF16, and the state proper in FP32."""
        bits = conv_width * self.conv_elements * STATE_BITS + self.ssm_elements * SSM_BITS
        return self.kinds.count("state") * bits // 8


def read_config(config: Mapping[str, object]) -> ModelConfig:
    """The `ModelConfig` of a config.json's dict, extra keys and all. ValueError names the field at fault."""
    config = decoder(config)
    if config.get("model_type") != "whisper":
        _known(config)
    _refuse_surprises(config)
    if config["model_type"] == "whisper":
        return _whisper(config)
    model_type, origins = config["model_type"], {}
    count = _layers(config)
    if RULES[model_type]["layers"] == "latent":
        latent = sum(_default(config, name, origins) for name in ("kv_lora_rank", "qk_rope_head_dim"))
        layers = (Layer("latent", width=latent),) * count
        return ModelConfig(model_type, needed(config, HEADS), layers, origins | {"layers": "all latent"})
    shape = {"num_kv_heads": _kv_heads(config, origins), "width": _head_width(config, origins)}
    kinds = _kinds(config, origins)
    window = _window(config, origins) if "window" in kinds else None
    made = {
        "full": Layer("full", **shape),
        "window": Layer("window", **shape, window=window),
        "state": Layer("state"),
        "shared": Layer("shared"),
    }
    state = {}
    if "state" in kinds:
        inner = _default(config, "mamba_expand", origins) * needed(config, "hidden_size")
        state = {"conv_elements": inner, "ssm_elements": inner * _default(config, "mamba_d_state", origins)}
    return ModelConfig(model_type, needed(config, HEADS), tuple(made[kind] for kind in kinds), origins, **state)


def head_width(config: Mapping[str, object]) -> int:
    """Elements of one KV head. ValueError names the field; a latent has no heads."""
    config = decoder(config)
    _refuse_latent(config)
    return _head_width(config, {})


def kv_heads(config: Mapping[str, object]) -> int:
    """KV heads that one layer stores. ValueError names the field; a latent has no heads."""
    config = decoder(config)
    _refuse_latent(config)
    return _kv_heads(config, {})


def layer_kinds(config: Mapping[str, object]) -> list[str]:
    """One of KINDS for each layer, the first layer first. ValueError names the field."""
    return read_config(config).kinds


def cache_bytes(config: Mapping[str, object], tokens: int, bits_per_element: int) -> int:
    """Payload of one request that has stored `tokens` tokens. Recurrent state and cross-attention are counted apart.

    A window keeps at most as many rows as it is wide. Rounded up once. ValueError names the field.
    """
    tokens, bits = whole("tokens", tokens, at_least=0), whole("bits_per_element", bits_per_element)
    return bits_to_bytes(read_config(config).elements(tokens) * bits)


def state_bytes(config: Mapping[str, object], conv_width: int) -> int:
    """Recurrent state of one request; 0 where no layer has any. ValueError names the field."""
    return read_config(config).state_bytes(whole("conv_width", conv_width))


def _layers(config: Mapping[str, object], name: str = "num_hidden_layers") -> int:
    count = needed(config, name)
    if count > MOST_LAYERS:
        raise ValueError(f"{name}: wanted at most {MOST_LAYERS:,}, got {count:,}")
    return count


def _known(config: Mapping[str, object]) -> str:
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or model_type not in RULES:
        raise ValueError(f"model_type: wanted one of the {len(RULES)} that are known, got {short_repr(model_type)}")
    return model_type


def _refuse_surprises(config: Mapping[str, object]) -> None:
    for name, known in _TELLING.items():
        value = config.get(name)
        if value and config.get("model_type") not in known:
            if name == "layer_types" and value == ["full_attention"] * _layers(config):
                continue
            model_type = config.get("model_type")
            raise ValueError(f"{name}: changes what is cached, and nothing is known of it in {short_repr(model_type)}")


def _refuse_latent(config: Mapping[str, object]) -> None:
    if RULES[_known(config)]["layers"] == "latent":
        raise ValueError(f"kv_lora_rank: a latent of {config['model_type']} is stored, which has no heads")


def _default(config: Mapping[str, object], name: str, origins: dict[str, str], at_least: int = 1) -> int:
    """The field, or what its absence means. Null is refused."""
    origins[name] = "field" if name in config else f"default {DEFAULTS[name]}"
    return needed({name: config.get(name, DEFAULTS[name])}, name, at_least)


def _flag(config: Mapping[str, object], name: str) -> bool:
    value = config.get(name, DEFAULTS[name])
    if type(value) is not bool:
        raise ValueError(f"{name}: wanted true or false, got {short_repr(value)}")
    return value


def _stands_for(config: Mapping[str, object], name: str) -> object:
    """What the field states, or what stands for an absent field or for null in this model type."""
    rule = RULES[_known(config)][name]
    if isinstance(rule, Mapping) and config.get(name) is not None:
        return needed(config, name)
    meaning = rule["null" if name in config else "absent"] if isinstance(rule, Mapping) else rule
    if meaning == REFUSE:
        raise ValueError(f"{name}: is null, which says nothing in {config['model_type']!r}")
    return meaning


def _origin(config: Mapping[str, object], name: str) -> str:
    if config.get(name) is not None:
        return "field"
    return f"default: {'null' if name in config else 'absent'} in {config['model_type']}"


def _head_width(config: Mapping[str, object], origins: dict[str, str]) -> int:
    width = _stands_for(config, "head_dim")
    origins["head_dim"] = _origin(config, "head_dim")
    if width != DIVIDED:
        return width
    origins["head_dim"] = f"derived: {DIVIDED}"
    hidden, heads = needed(config, "hidden_size"), needed(config, HEADS)
    if hidden % heads:
        raise ValueError(f"hidden_size: wanted a multiple of {heads} heads where no head_dim is stated, got {hidden}")
    return hidden // heads


def _kv_heads(config: Mapping[str, object], origins: dict[str, str]) -> int:
    name, heads = "num_key_value_heads", needed(config, HEADS)
    found = _stands_for(config, name)
    origins[name] = _origin(config, name)
    if found == MULTI_QUERY:
        name, found = "num_kv_heads", _multi_query(config, origins)
    if found == HEADS:
        found = heads
    if heads % found:
        raise ValueError(
            f"{name}: wanted a divisor of {HEADS} = {heads}, got {found} ({origins['num_key_value_heads']})"
        )
    return found


def _multi_query(config: Mapping[str, object], origins: dict[str, str]) -> object:
    """Falcon's and GPT-BigCode's flag: one KV head if true, unless Falcon's new architecture counts them."""
    falcon = config["model_type"] == "falcon"
    counted = falcon and _flag(config, "new_decoder_architecture")
    if not counted and _flag(config, "multi_query"):
        origins["num_key_value_heads"] = (
            f"derived: multi_query ({'field' if 'multi_query' in config else 'absent: true'})"
        )
        return 1
    stated = config.get("num_kv_heads") is not None and falcon
    origins["num_key_value_heads"] = "field num_kv_heads" if stated else f"derived: {HEADS}"
    return needed(config, "num_kv_heads") if stated else HEADS


def _kinds(config: Mapping[str, object], origins: dict[str, str]) -> list[str]:
    rule, count = RULES[config["model_type"]], _layers(config)
    origins["layers"] = f"rule of {config['model_type']}"
    if rule["layers"] == "full":
        return ["full"] * count
    if rule["layers"] == "window":
        return ["full" if _window(config, {}) is None else "window"] * count
    if rule["layers"] == "state":
        period = _default(config, "attn_layer_period", origins)
        offset = _default(config, "attn_layer_offset", origins, at_least=0)
        if offset >= period:
            raise ValueError(f"attn_layer_offset: wanted less than attn_layer_period = {period}, got {offset}")
        return ["full" if layer % period == offset else "state" for layer in range(count)]
    kinds = _listed(config, count)
    if kinds:
        origins["layers"] = "field layer_types"
    elif rule["layers"] == "late window":
        used = _flag(config, "use_sliding_window") and _window(config, {}) is not None
        first = _default(config, "max_window_layers", origins, at_least=0) if used else count
        kinds = ["window" if layer >= first else "full" for layer in range(count)]
    else:
        every = rule["full_every"]
        if config["model_type"] == "gemma3_text" and "sliding_window_pattern" in config:  # the others do not read it
            every = needed(config, "sliding_window_pattern")
        kinds = ["window" if (layer + 1) % every else "full" for layer in range(count)]
    if "window" in kinds and rule["layers"] == "late window" and not _flag(config, "use_sliding_window"):
        raise ValueError("layer_types: has windows, but use_sliding_window is not true")
    if config["model_type"] == "gemma3n_text":
        shared = _default(config, "num_kv_shared_layers", origins, at_least=0)
        if shared >= count:
            raise ValueError(f"num_kv_shared_layers: wanted fewer than num_hidden_layers = {count}, got {shared}")
        kinds[count - shared :] = ["shared"] * shared
    if "window" in kinds and _window(config, {}) is None:
        raise ValueError("sliding_window: is null, though some layers have a window")
    return kinds


def _listed(config: Mapping[str, object], count: int) -> list[str]:
    """The kinds that `layer_types` lists; none where it is absent or null."""
    listed = config.get("layer_types")
    if listed is None:
        return []
    if not isinstance(listed, list) or len(listed) != count or not all(each in tuple(_NAMED) for each in listed):
        raise ValueError(f"layer_types: wanted {count} of {', '.join(_NAMED)}, got {short_repr(listed)}")
    return [_NAMED[each] for each in listed]


def _window(config: Mapping[str, object], origins: dict[str, str]) -> int | None:
    origins["sliding_window"] = _origin(config, "sliding_window")
    width = config.get("sliding_window", RULES[config["model_type"]]["sliding_window"])
    return None if width is None else needed({"sliding_window": width}, "sliding_window")


def _whisper(config: Mapping[str, object]) -> ModelConfig:
    """The decoder of Whisper: attention over its own tokens, and over the encoder's in every layer."""
    count, heads = _layers(config, "decoder_layers"), needed(config, "decoder_attention_heads")
    width = needed(config, "d_model")
    if width % heads:
        raise ValueError(f"d_model: wanted a multiple of decoder_attention_heads = {heads}, got {width}")
    layers = (Layer("full", heads, width // heads),) * count
    origins = {
        "num_key_value_heads": "field decoder_attention_heads",
        "head_dim": "derived: d_model / decoder_attention_heads",
    }
    return ModelConfig("whisper", heads, layers, origins, cross_tokens=needed(config, "max_source_positions"))
