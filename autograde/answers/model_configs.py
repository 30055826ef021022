"""Lesson 06: what is right, and the mistakes that people make with a config.json.

The oracle asks, model type by model type, how many rows each layer keeps, allocates them and adds up; it shares no
table with the library. Its rules are held to `transformers` by a test. Most mistakes are switches of one other reading,
each with one thing wrong.
"""

import math
from fractions import Fraction

import numpy as np

from autograde.exercise import Answer, Case, Misconception
from autograde.exercises.model_configs import EXERCISES, refusal
from autograde.values import Raised

ATOL = 1e-12

# ---------------------------------------------------------------------------
# Oracles: None is no answer

LATENT = ("deepseek_v2", "deepseek_v3", "kimi_k2")
HEADED = (
    "gpt2", "gpt_bigcode", "falcon", "llama", "cohere", "olmo2", "mistral", "mixtral", "phi3", "qwen2", "qwen3",
    "gemma2", "gemma3_text", "gemma3n_text", "gpt_oss", "jamba",
)  # fmt: skip


class Refused(Exception):
    """The name of a field at fault."""


def _refusing(oracle):
    def told(case: Case) -> object:
        try:
            return oracle(*case.inputs.values())
        except Refused as field:
            return refusal(str(field))

    return told


def _inner(config: dict) -> dict:
    found = dict(config.get("text_config") or config)
    for short, name in (("n_layer", "num_hidden_layers"), ("n_head", "num_attention_heads"), ("n_embd", "hidden_size")):
        if short in found:
            found[name] = found.pop(short)
    if found.get("model_type") not in LATENT + HEADED:
        raise Refused("model_type")
    return found


def _headed(config: dict) -> dict:
    found = _inner(config)
    if found["model_type"] in LATENT:
        raise Refused("kv_lora_rank")
    return found


def _stated(config: dict, name: str) -> int:
    if config.get(name) is None:
        raise Refused(name)
    return config[name]


def _width(config: dict) -> int:
    config = _headed(config)
    kind = config["model_type"]
    if kind not in ("gpt2", "gpt_bigcode", "falcon"):
        fixed = {"qwen3": 128, "gpt_oss": 64, "gemma2": 256, "gemma3_text": 256, "gemma3n_text": 256}
        if "head_dim" in config:
            null_divides = ("llama", "mistral", "mixtral", "qwen2")
            if config["head_dim"] is not None or kind not in null_divides:
                return _stated(config, "head_dim")
        elif kind in fixed:
            return fixed[kind]
    width, rest = divmod(_stated(config, "hidden_size"), _stated(config, "num_attention_heads"))
    if rest:
        raise Refused("hidden_size")
    return width


def _heads(config: dict) -> int:
    config = _headed(config)
    kind, heads = config["model_type"], _stated(config, "num_attention_heads")
    if kind in ("gpt2", "gpt_bigcode", "falcon"):
        if kind == "falcon" and config.get("new_decoder_architecture"):
            found = config.get("num_kv_heads") or heads
        else:
            found = 1 if kind != "gpt2" and config.get("multi_query", True) else heads
    elif "num_key_value_heads" in config:
        found = config["num_key_value_heads"]
        if found is None and kind in ("llama", "cohere", "olmo2", "phi3", "qwen2", "qwen3"):
            found = heads
        if found is None:
            raise Refused("num_key_value_heads")
    else:
        eight = dict.fromkeys(("mistral", "mixtral", "jamba", "gpt_oss"), 8)
        others = {"qwen2": 32, "qwen3": 32, "gemma2": 4, "gemma3_text": 4, "gemma3n_text": 2}
        found = (eight | others).get(kind, heads)
    # Readers are dealt out in equal groups, and nobody may be left over.
    if len(range(0, heads, found)) * found != heads:
        raise Refused("num_kv_heads" if kind == "falcon" else "num_key_value_heads")
    return found


def _windows(config: dict) -> list[int | None]:
    """Of each layer: how many rows it keeps, None for all; -1 a latent, -2 a state, 0 another layer's rows."""
    config = _inner(config)
    kind, count = config["model_type"], _stated(config, "num_hidden_layers")
    if kind in LATENT:
        return [-1] * count
    if kind in ("mistral", "mixtral", "phi3"):
        return [config.get("sliding_window", 4096 if kind == "mistral" else None)] * count
    if kind == "jamba":
        period, offset = config.get("attn_layer_period", 8), config.get("attn_layer_offset", 4)
        if offset >= period:
            raise Refused("attn_layer_offset")
        attention = set(range(offset, count, period))
        return [None if layer in attention else -2 for layer in range(count)]
    width = {"gpt_oss": 128, "gemma3n_text": 512}.get(kind, 4096)
    width = config.get("sliding_window", width)
    if kind in ("qwen2", "qwen3"):
        used = config.get("use_sliding_window")
        if config.get("layer_types"):
            kept = _listed_rows(config, count, width)
            if kept.count(None) < count and not used:
                raise Refused("layer_types")
            return kept
        first = config.get("max_window_layers", 28) if used else count
        return ([None] * first + [width] * count)[:count]
    if kind not in ("gemma2", "gemma3_text", "gemma3n_text", "gpt_oss"):
        return [None] * count
    if width is None:
        raise Refused("sliding_window")
    period = 5 if kind == "gemma3n_text" else 2
    if kind == "gemma3_text":
        period = config.get("sliding_window_pattern", 6)
    kept = (([width] * (period - 1) + [None]) * count)[:count]
    if config.get("layer_types"):
        kept = _listed_rows(config, count, width)
    if kind == "gemma3n_text":
        own = count - config.get("num_kv_shared_layers", 15)
        if own < 1:
            raise Refused("num_kv_shared_layers")
        kept[own:] = [0] * (count - own)
    return kept


def _listed_rows(config: dict, count: int, width: int | None) -> list[int | None]:
    """The rows of each layer of `layer_types`."""
    rows, listed = {"full_attention": None, "sliding_attention": width}, config["layer_types"]
    if len(listed) != count or set(listed) - set(rows):
        raise Refused("layer_types")
    if width is None and "sliding_attention" in listed:
        raise Refused("sliding_window")
    return [rows[each] for each in listed]


def _kinds(config: dict) -> list[str]:
    names = {None: "full", -1: "latent", -2: "state", 0: "shared"}
    return [names.get(kept, "window") for kept in _windows(config)]


def _payload(config: dict, tokens: int, bits: int) -> int:
    """Every layer's rows, really allocated where that is little memory."""
    total = 0
    for kept in _windows(config):
        if kept == -1:
            total += np.empty((tokens, _latent_row(_inner(config))), np.uint8).nbytes
        elif kept != -2:
            rows = len(range(tokens)[slice(None) if kept is None else slice(max(0, tokens - kept), None)])
            total += sum(np.empty((_heads(config), rows, _width(config)), np.uint8).nbytes for _ in "KV")
    return math.ceil(Fraction(total * bits, 8))


def _latent_row(config: dict) -> int:
    row = 0
    for name, absent in (("kv_lora_rank", 512), ("qk_rope_head_dim", 64)):
        row += _stated(config, name) if name in config else absent
    return row


def _state(config: dict, conv_width: int) -> int:
    layers = _kinds(config).count("state")
    if not layers:
        return 0
    config = _inner(config)
    inner = config.get("mamba_expand", 2) * config["hidden_size"]
    states = _stated(config, "mamba_d_state") if "mamba_d_state" in config else 16
    conv, ssm = np.empty((inner, conv_width), np.float16), np.empty((inner, states), np.float32)
    return sum(conv.nbytes + ssm.nbytes for _ in range(layers))


def _per_token(config: dict, bits: int) -> int:
    config = _inner(config)
    if config["model_type"] not in LATENT:
        raise Refused("model_type")
    row = _latent_row(config)
    return math.ceil(Fraction(sum(row for _ in range(config["num_hidden_layers"])) * bits, 8))


def _rebuilt(case: Case) -> np.ndarray:
    """Every key of every head rebuilt, then one dot product each."""
    q_nope, q_rope, latent, k_rope, w_uk = case.inputs.values()
    scores = np.empty((len(q_nope), len(latent)))
    for head in range(len(q_nope)):
        query = np.concatenate([q_nope[head], q_rope[head]])
        for token in range(len(latent)):
            key = np.concatenate([w_uk[head] @ latent[token], k_rope[token]])
            scores[head, token] = query @ key / math.sqrt(len(query))
    return scores


def _pooled(case: Case) -> object:
    W, groups, heads = case.inputs.values()
    if groups == 0 or heads % groups or len(W) % heads:
        return Raised("ValueError")
    width, size = len(W) // heads, heads // groups
    out = np.zeros((groups * width, W.shape[1]))
    for head in range(heads):
        for row in range(width):
            out[head // size * width + row] += W[head * width + row] / size
    return out


# ---------------------------------------------------------------------------
# One reading with switches: what it is told to get wrong, it gets wrong

_ABSENT = {
    "mistral": 8, "mixtral": 8, "jamba": 8, "gpt_oss": 8, "qwen2": 32, "qwen3": 32, "gemma2": 4, "gemma3_text": 4,
    "gemma3n_text": 2,
}  # fmt: skip
_WIDTHS = {"qwen3": 128, "gpt_oss": 64, "gemma2": 256, "gemma3_text": 256, "gemma3n_text": 256}
_STRICT = ("mistral", "mixtral", "jamba", "gpt_oss", "gemma2", "gemma3_text", "gemma3n_text")
_OLD = {"n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_embd": "hidden_size"}


class Reading:
    """A learner's functions as methods. `wrong` names the mistakes that they make."""

    def __init__(self, *wrong: str):
        self.wrong = set(wrong)

    def part(self, config):
        if "text_config overlooked" not in self.wrong:
            config = config.get("text_config", config)
        config = {_OLD.get(name, name): value for name, value in config.items()}
        kind = config.get("model_type")
        if kind not in HEADED + LATENT:
            if "unknown as llama" in self.wrong:
                return config | {"model_type": "llama"}
            raise ValueError(f"model_type: {kind}")
        return config

    def number(self, config, name):
        if "KeyError" in self.wrong:
            return config[name]
        if config.get(name) is None:
            raise ValueError(f"{name}: missing")
        return config[name]

    def headed(self, config):
        config = self.part(config)
        if config["model_type"] in LATENT and "heads of a latent" not in self.wrong:
            raise ValueError("kv_lora_rank: no heads")
        return config

    def head_width(self, config):
        config = self.headed(config)
        kind = config["model_type"]
        default = None if "absent is divided" in self.wrong else _WIDTHS.get(kind)
        value = config.get("head_dim", default)
        if "head_dim" in config and config["head_dim"] is None and kind in _WIDTHS:
            if "null is absent" in self.wrong:
                value = default
            elif "null is divided" not in self.wrong:
                raise ValueError("head_dim: null")
        if value is not None and "hidden / heads" not in self.wrong:
            return value
        heads = self.number(config, "num_attention_heads")
        if "KV heads divide" in self.wrong:
            heads = config.get("num_key_value_heads", heads)
        hidden = self.number(config, "hidden_size")
        if "float" in self.wrong:
            return hidden / heads
        if hidden % heads and "rounds down" not in self.wrong:
            raise ValueError("hidden_size: no multiple")
        return hidden // heads

    def kv_heads(self, config):
        config = self.headed(config)
        kind, heads = config["model_type"], self.number(config, "num_attention_heads")
        if "query heads" in self.wrong:
            return heads
        if kind in ("falcon", "gpt_bigcode"):
            return self.multi_query(config, heads)
        found = config.get(
            "num_key_value_heads", heads if "absent is heads" in self.wrong else _ABSENT.get(kind, heads)
        )
        if found is None:
            found = _ABSENT.get(kind, heads) if "null is absent" in self.wrong else heads
            if kind in _STRICT and not {"null is absent", "null is heads"} & self.wrong:
                raise ValueError("num_key_value_heads: null")
        if "experts" in self.wrong:
            found *= config.get("num_local_experts", 1)
        if heads % found and "divisor unchecked" not in self.wrong:
            raise ValueError("num_key_value_heads: no divisor")
        return found

    def multi_query(self, config, heads):
        counted = config.get("new_decoder_architecture", False)
        if config["model_type"] != "falcon" and "new architecture everywhere" not in self.wrong:
            counted = False
        if "new architecture overlooked" in self.wrong:
            counted = False
        flag = config.get("multi_query", "absent flag is false" not in self.wrong)
        if flag and not counted and "multi_query overlooked" not in self.wrong:
            return 1
        found = config.get("num_kv_heads", 8 if "absent count is eight" in self.wrong else heads)
        if heads % found and not {"divisor unchecked", "falcon unchecked"} & self.wrong:
            raise ValueError("num_kv_heads: no divisor")
        return found

    def window(self, config):
        absent = {"mistral": 4096, "gpt_oss": 128, "gemma3n_text": 512, "mixtral": None, "phi3": None}
        default = absent.get(config["model_type"], 4096)
        if "absent is no window" in self.wrong:
            default = None
        if "absent is 4096" in self.wrong:
            default = 4096
        if "null is absent" in self.wrong and config.get("sliding_window") is None:
            return default
        return config.get("sliding_window", default)

    def layer_kinds(self, config):
        config = self.part(config)
        kind, count = config["model_type"], self.number(config, "num_hidden_layers")
        if kind in LATENT:
            return ["full" if "latent is full" in self.wrong else "latent"] * count
        if kind == "jamba":
            return self.jamba(config, count)
        if kind in ("mistral", "mixtral", "phi3"):
            made = ["full" if self.window(config) is None else "window"] * count
        elif kind in ("qwen2", "qwen3"):
            used = config.get("use_sliding_window", "absent flag is true" in self.wrong)
            used = used or "flag ignored" in self.wrong
            first = config.get("max_window_layers", 28)
            if "zero is absent" in self.wrong:
                first = first or 28
            late = [layer >= first for layer in range(count)]
            if "first layers" in self.wrong:
                late = [not each for each in late]
            if "every layer" in self.wrong:
                late = [True] * count
            made = ["window" if used and each and self.window(config) else "full" for each in late]
            if used or "flag before the list" not in self.wrong:
                made = self.listed(config, count) or made
            if "window" in made and not used and "contradiction" not in self.wrong:
                raise ValueError("layer_types: windows, and the flag is not true")
            if "window" in made and config.get("sliding_window", 1) is None and "null window" not in self.wrong:
                raise ValueError("sliding_window: null")
        elif kind in ("gemma2", "gemma3_text", "gemma3n_text", "gpt_oss"):
            made = self.mixed(config, count)
        else:
            made = ["full"] * count
        return ["full" if each == "window" else each for each in made] if "windows ignored" in self.wrong else made

    def mixed(self, config, count):
        every = {"gemma3_text": 6, "gemma3n_text": 5}.get(config["model_type"], 2)
        reads = config["model_type"] == "gemma3_text" or "pattern everywhere" in self.wrong
        if reads and "pattern ignored" not in self.wrong:
            every = config.get("sliding_window_pattern", every)
        shift = 0 if "one layer early" in self.wrong else 1
        made = ["window" if (layer + shift) % every else "full" for layer in range(count)]
        made = self.listed(config, count) or made
        if config.get("sliding_window", 1) is None and "null window" not in self.wrong:
            raise ValueError("sliding_window: null")
        if config["model_type"] == "gemma3n_text" and "sharing ignored" not in self.wrong:
            shared = config.get("num_kv_shared_layers", 15)
            if "first layers share" in self.wrong:
                return ["shared"] * shared + made[shared:]
            if shared >= count and "sharing unchecked" not in self.wrong:
                raise ValueError("num_kv_shared_layers: too many")
            end = -shared if "zero from the end" in self.wrong else max(0, count - shared)
            made = made[:end] + ["shared"] * min(shared, count)
        return made

    def listed(self, config, count):
        """The kinds that the file lists, or none."""
        listed = config.get("layer_types") or []
        if "list ignored" in self.wrong:
            return []
        if listed and len(listed) != count and "length unchecked" not in self.wrong:
            raise ValueError("layer_types: too short")
        known = {"sliding_attention": "window", "full_attention": "full"}
        if set(listed) - set(known) and "entries unchecked" not in self.wrong:
            raise ValueError("layer_types: unknown")
        return [known.get(each, "full") for each in listed]

    def jamba(self, config, count):
        period, offset = config.get("attn_layer_period", 8), config.get("attn_layer_offset", 4)
        if offset >= period and "offset unchecked" not in self.wrong:
            raise ValueError("attn_layer_offset: too large")
        if "all layers of Jamba" in self.wrong:
            return ["full"] * count
        if "offset ignored" in self.wrong:
            offset = 0
        return ["full" if layer % period == offset else "state" for layer in range(count)]

    def row(self, config):
        """Elements of a latent row."""
        if "heads of a latent" in self.wrong:
            heads = config["num_attention_heads"]
            return heads * sum(config.get(f, 0) for f in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
        rank, rope = config.get("kv_lora_rank", 512), config.get("qk_rope_head_dim", 64)
        if rank is None:
            raise ValueError("kv_lora_rank: null")
        if "no default" in self.wrong:
            rope = self.number(config, "qk_rope_head_dim")
        if "no rotary key" in self.wrong:
            rope = 0
        if "rotary key per head" in self.wrong:
            rope *= config["num_attention_heads"]
        row = rank + rope
        if "factor two" in self.wrong:
            row *= 2
        if "latent per KV head" in self.wrong:
            row *= config["num_key_value_heads"]
        return row

    def cache_bytes(self, config, tokens, bits):
        kinds, part = self.layer_kinds(config), self.part(config)
        headed = {"full", "window"} & set(kinds)
        row = 2 * self.kv_heads(config) * self.head_width(config) if headed else 0
        rows = []
        for kind in kinds:
            if kind == "latent":
                rows.append(tokens * self.row(part))
            elif kind in headed:
                kept = tokens if kind == "full" else min(tokens, self.window(part) - ("one row short" in self.wrong))
                if "windows dropped" in self.wrong and kind == "window" and tokens > kept:
                    kept = 0
                rows.append(kept * row)
        if "rounds each layer" in self.wrong:
            return sum(-(-each * bits // 8) for each in rows)
        if "rounds down" in self.wrong:
            return sum(rows) * bits // 8
        if "always two bytes" in self.wrong:
            bits = 16
        return -(-sum(rows) * bits // 8)

    def state_bytes(self, config, conv_width):
        kinds, config = self.layer_kinds(config), self.part(config)
        layers = kinds.count("state")
        if "all layers" in self.wrong:
            layers = len(kinds)
        if "attention layers" in self.wrong:
            layers = kinds.count("full")
        if not kinds.count("state") and not layers:
            return 0
        expand, states = config.get("mamba_expand", 2), config.get("mamba_d_state", 16)
        if states is None:
            raise ValueError("mamba_d_state: null")
        if "not expanded" in self.wrong:
            expand = 1
        if "width from the file" in self.wrong:
            conv_width = config.get("mamba_d_conv", 4)
        conv, ssm = (4, 4) if "all FP32" in self.wrong else (2, 2) if "all BF16" in self.wrong else (2, 4)
        if "no convolution" in self.wrong:
            conv = 0
        inner = expand * config["hidden_size"]
        return layers * inner * (conv_width * conv + states * ssm)

    def mla_bytes_per_token(self, config, bits):
        config = self.part(config)
        if config["model_type"] not in LATENT and "any model" not in self.wrong:
            raise ValueError("model_type: no latent")
        layers = config["num_hidden_layers"]
        if "predicting layers" in self.wrong:
            layers += config.get("num_nextn_predict_layers", 0)
        if "layers dropped" in self.wrong:
            layers = 1
        total = layers * self.row(config) * bits
        return total // 8 if "rounds down" in self.wrong else (total + 7) // 8


# ---------------------------------------------------------------------------
# Other right answers


def _width_by_match(config):
    config = config.get("text_config", config)
    match config:
        case {"model_type": "gpt2" | "gpt_bigcode", "n_embd": hidden, "n_head": heads}:
            stated = None
        case {"model_type": kind} if kind in LATENT:
            raise ValueError("kv_lora_rank has no heads")
        case {"model_type": "qwen3" | "gpt_oss" | "gemma2" | "gemma3_text" | "gemma3n_text" as kind}:
            width = {"gpt_oss": 64, "qwen3": 128}.get(kind, 256) if "head_dim" not in config else config["head_dim"]
            if width is None:
                raise ValueError("head_dim is null")
            return width
        case {"model_type": kind} if kind in HEADED:
            stated = config.get("head_dim")
            hidden, heads = config.get("hidden_size"), config.get("num_attention_heads")
        case _:
            raise ValueError("model_type is unknown")
    if stated is not None:
        return stated
    if hidden is None or hidden % heads:
        raise ValueError("hidden_size cannot be divided")
    return hidden // heads


def _kv_by_groups(config):
    """By the number of readers of each KV head."""
    config = config.get("text_config", config)
    kind = config.get("model_type")
    if kind in LATENT:
        raise ValueError("kv_lora_rank: no heads")
    if kind not in HEADED:
        raise ValueError(f"model_type {kind}")
    heads = config.get("num_attention_heads", config.get("n_head"))
    group, name = 1, "num_kv_heads" if kind == "falcon" else "num_key_value_heads"
    if kind == "gpt_bigcode":
        group = heads if config.get("multi_query", True) else 1
    elif kind == "falcon":
        new = config.get("new_decoder_architecture", False)
        group = (
            heads / (config.get("num_kv_heads") or heads) if new else heads if config.get("multi_query", True) else 1
        )
    elif kind != "gpt2":
        try:
            stored = config["num_key_value_heads"]
        except KeyError:
            stored = _ABSENT.get(kind, heads)
        if stored is None and kind in _STRICT:
            raise ValueError("num_key_value_heads")
        group = Fraction(heads, stored or heads)
    if group != int(group) or group < 1:
        raise ValueError(name)
    return heads // int(group)


class _Switched(Reading):
    """The reading without a mistake, in another order: windows are found first, layer by layer."""

    def layer_kinds(self, config):
        names = {None: "full", -1: "latent", -2: "state", 0: "shared"}
        try:
            return [names.get(kept, "window") for kept in _windows(config)]
        except Refused as field:
            raise ValueError(f"{field}: refused") from None

    def cache_bytes(self, config, tokens, bits):
        """Token by token: who still keeps it?"""
        try:
            layers, part = _windows(config), _inner(config)
            if -1 in layers:
                row = _latent_row(part) * len(layers)
                return (row * tokens * bits + 7) // 8
            kept = sum(1 for age in range(tokens) for each in layers if each is None or 0 <= age < each)
            return (2 * kept * _heads(config) * _width(config) * bits + 7) // 8
        except Refused as field:
            raise ValueError(f"{field}: refused") from None


def _state_by_layers(config, conv_width):
    """Bytes of one channel first, then channels, then layers."""
    layers = Reading().layer_kinds(config)
    if "state" not in layers:
        return 0
    states = config.get("mamba_d_state", 16)
    if not isinstance(states, int):
        raise ValueError("mamba_d_state says nothing")
    channel = sum([2] * conv_width) + sum([4] * states)
    channels = config["hidden_size"] * config.get("mamba_expand", 2)
    return sum(channel * channels for each in layers if each == "state")


def _state_by_bits(config, conv_width):
    layers = Reading().layer_kinds(config).count("state")
    found = {"mamba_expand": 2, "mamba_d_state": 16} | config
    if layers and found["mamba_d_state"] is None:
        raise ValueError("mamba_d_state")
    return (
        layers
        and (16 * conv_width + 32 * found["mamba_d_state"]) * found["mamba_expand"] * found["hidden_size"] * layers // 8
    )


def _mla_by_fields(config, bits):
    if config["model_type"] not in LATENT:
        raise ValueError("model_type has no latent")
    fields = {"kv_lora_rank": 512, "qk_rope_head_dim": 64} | config
    if fields["kv_lora_rank"] is None:
        raise ValueError("kv_lora_rank is null")
    elements = (
        fields["num_hidden_layers"] * fields["kv_lora_rank"] + fields["num_hidden_layers"] * fields["qk_rope_head_dim"]
    )
    return math.ceil(Fraction(elements * bits, 8))


def _mla_as_difference(config, bits):
    """What the seventeenth token adds, in bits."""
    reading = Reading()
    if "latent" not in reading.layer_kinds(config):
        raise ValueError("model_type")
    one, two = (reading.cache_bytes(config, tokens, 8) for tokens in (16, 17))
    return -((one - two) * bits // 8)


def _absorbed_by_heads(q_nope, q_rope, latent, k_rope, w_uk):
    wide = [np.concatenate([q @ w, r]) for q, w, r in zip(q_nope, w_uk, q_rope, strict=True)]
    return np.array(wide) @ np.hstack([latent, k_rope]).T * (q_nope.shape[1] + q_rope.shape[1]) ** -0.5


def _absorbed_by_einsum(q_nope, q_rope, latent, k_rope, w_uk):
    scores = np.einsum("hn,hnr,tr->ht", q_nope, w_uk, latent, optimize=True)
    return (scores + np.einsum("hr,tr->ht", q_rope, k_rope)) / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])


def _pool_by_matrix(W, groups, num_kv_heads):
    if not groups or num_kv_heads % groups or W.shape[0] % num_kv_heads:
        raise ValueError("cannot be shared out")
    size = num_kv_heads // groups
    mean = np.kron(np.kron(np.eye(groups), np.ones((1, size)) / size), np.eye(len(W) // num_kv_heads))
    return mean @ W


def _pool_by_slices(W, groups, num_kv_heads):
    if not groups or num_kv_heads % groups or W.shape[0] % num_kv_heads:
        raise ValueError("cannot be shared out")
    heads = np.split(W, num_kv_heads)
    size = num_kv_heads // groups
    return np.vstack([sum(heads[g * size : (g + 1) * size]) / size for g in range(groups)])


# ---------------------------------------------------------------------------
# Wrong answers on arrays


def _scores(scale=lambda dn, dr, r: dn + dr, rope=True, first=False):
    def absorbed_scores(q_nope, q_rope, latent, k_rope, w_uk):
        if first:
            w_uk = np.broadcast_to(w_uk[:1], w_uk.shape)
        scores = np.einsum("hn,hnr->hr", q_nope, w_uk) @ latent.T
        if rope:
            scores = scores + q_rope @ k_rope.T
        return scores / math.sqrt(scale(q_nope.shape[1], q_rope.shape[1], latent.shape[1]))

    return absorbed_scores


def _pool(combine, check=True):
    def mean_pool_kv(W, groups, num_kv_heads):
        if check and (groups < 1 or num_kv_heads % groups or len(W) % num_kv_heads):
            raise ValueError("cannot be shared out")
        return combine(W, groups, num_kv_heads, len(W) // num_kv_heads)

    return mean_pool_kv


def _dealt(W, groups, heads, width):
    return W.reshape(heads // groups, groups, width, -1).mean(axis=0).reshape(groups * width, -1)


def _neighbours(W, groups, heads, width):
    return W.reshape(groups, heads // groups, width, -1)


def _cut(W, groups, heads, width):
    """Leaves out what does not fill a group or a head."""
    size = heads // groups
    blocks = W[: groups * size * width].reshape(groups, size, width, -1)
    return blocks.mean(axis=1).reshape(groups * width, -1)


def _adjacent_rows(W, groups, heads, width):
    return W.reshape(groups * width, heads // groups, -1).mean(axis=1)


# ---------------------------------------------------------------------------
# What to say about a mistake, whichever exercise it is made in

SAID: dict[str, tuple[str, tuple[str, str, str], str]] = {
    "text_config overlooked": (
        "Did you look for the decoder's fields outside `text_config`?",
        (
            "Print the keys of the configuration that failed.",
            "A model that also sees pictures keeps the decoder's fields one level deeper.",
            'Begin with `config = decoder(config)`, or `config.get("text_config", config)`.',
        ),
        "",
    ),
    "unknown as llama": (
        "Do you treat a model type that you do not know as if it were Llama's?",
        (
            "What would your function say to a model of next year?",
            "A number that is guessed looks like one that is known.",
            'If the model type is not in RULES: raise ValueError("model_type: …").',
        ),
        "",
    ),
    "KeyError": (
        "Does a missing field end in a KeyError, where a ValueError that names it was asked for?",
        (
            "What does `config[name]` raise when the field is missing?",
            "Whoever reads the message should learn which field of the file to look at.",
            "`needed(config, name)` returns the number or raises the right ValueError.",
        ),
        "",
    ),
    "heads of a latent": (
        "Do you believe the head counts of a model that stores a latent instead of heads?",
        (
            "What does DeepSeek-V3 keep of an old token?",
            "`num_key_value_heads` is in the file, but the keys of those heads are not in the cache.",
            'Where the rule says "latent", there are no heads and no head width: one row of rank + rotary key.',
        ),
        "",
    ),
    "null is absent": (
        "Do you treat null as if the field were absent?",
        (
            "What does `config.get(name)` give for null, and for a field that is not there?",
            "Null was written by somebody, and means something of its own.",
            "Ask `name in config` first; then look at the value.",
        ),
        "",
    ),
    "windows ignored": (
        "Do layers with a window keep everything in yours?",
        (
            "Which token does a layer with a window of 4096 no longer read?",
            "A row that no later query reads need not be kept.",
            "A window layer is a kind of its own, and keeps min(tokens, window) rows.",
        ),
        "",
    ),
    "absent is no window": (
        "Do you take an absent `sliding_window` for no window?",
        (
            "Look up the model type's default.",
            "Mistral's class sets 4096 when the field is absent. Null is the way to say none.",
            'config.get("sliding_window", RULES[model_type]["sliding_window"])',
        ),
        "",
    ),
    "flag ignored": (
        "Does a `sliding_window` count in yours although `use_sliding_window` is not true?",
        (
            "Which fields does Qwen2 have besides the width?",
            "Its files carry a window that is switched off.",
            "No window unless use_sliding_window is true; absent means false.",
        ),
        "",
    ),
    "all layers of Jamba": (
        "Did you count every layer of Jamba as attention?",
        (
            "How many of its layers have keys at all?",
            "One layer in `attn_layer_period` attends; the others keep a state of fixed size.",
            "Layer i attends if i % attn_layer_period == attn_layer_offset.",
        ),
        "",
    ),
    "sharing ignored": (
        "Did you count layers that read another layer's rows?",
        (
            "What does `num_kv_shared_layers` say?",
            "A layer that shares owns no cache.",
            'The last num_kv_shared_layers layers are "shared", and store nothing.',
        ),
        "",
    ),
    "experts": (
        "Did you multiply by the number of experts?",
        (
            "Which part of a layer do experts replace?",
            "Experts are several MLPs. There is still one attention in each layer.",
            "Leave num_local_experts out.",
        ),
        "",
    ),
    "factor two": (
        "Did you count the latent twice, as if it were a K and a V?",
        (
            "From what are the values made in MLA?",
            "Key and value are both made from the same latent.",
            "kv_lora_rank + qk_rope_head_dim, without the factor 2.",
        ),
        "",
    ),
    "rounds down": (
        "Did you round an unfinished byte down?",
        (
            "Nine bits: how many bytes hold them?",
            "`//` rounds down; a last, partly filled byte has to be stored too.",
            "-(-bits // 8) rounds up.",
        ),
        "",
    ),
    "hidden / heads": (
        "Did you divide hidden size by heads although `head_dim` is stated?",
        (
            "Look for a field of the configuration that already holds the answer.",
            "Qwen3-32B has 5120 and 64 heads of width 128, not 80.",
            "A stated head_dim wins; divide only where the rule says so.",
        ),
        "LMCache/LMCache#688",
    ),
    "no rotary key": (
        "Did you leave out the rotary key?",
        (
            "Which part of a key cannot be made from the latent?",
            "The part with rotary position is cached beside the latent, once for all heads.",
            "kv_lora_rank + qk_rope_head_dim.",
        ),
        "",
    ),
    "latent per KV head": (
        "Did you multiply the latent by `num_key_value_heads`?",
        (
            "How many latents does a layer keep for one token?",
            "All heads share one latent; that is the point of it.",
            "The number of heads plays no part.",
        ),
        "",
    ),
}


def _mistake(method: str, switch: str, diagnosis: str = "", hints=(), source: str = "") -> Misconception:
    """A mistake that `Reading` makes when it is told to; what to say is in SAID unless it is given."""
    if not diagnosis:
        diagnosis, hints, source = SAID[switch]
    name = switch.lower().replace(" / ", "_over_").replace(" ", "_")
    return Misconception(name, getattr(Reading(switch), method), diagnosis, hints, source)


_WIDTH, _KV, _KINDS, _CACHE, _STATE, _MLA, _ABSORB, _POOL = EXERCISES

ANSWERS = (
    Answer(
        _WIDTH,
        _refusing(_width),
        (
            _mistake("head_width", "hidden / heads"),
            _mistake(
                "head_width",
                "absent is divided",
                "Do you divide hidden size by heads wherever `head_dim` is absent?",
                (
                    "Which model types have a width of their own?",
                    "Gemma 2 takes 256 when the field is absent, gpt-oss 64, Qwen3 128.",
                    'Look up RULES[model_type]["head_dim"]["absent"] before you divide.',
                ),
            ),
            _mistake("head_width", "null is absent"),
            _mistake(
                "head_width",
                "null is divided",
                "Do you divide where `head_dim` is null, also in a model type that refuses null?",
                (
                    "Look up what null means in this model type.",
                    "In Llama null says divide; in Gemma 2, gpt-oss and Qwen3 it says nothing.",
                    'Where RULES says "refuse": raise ValueError("head_dim: …").',
                ),
            ),
            _mistake("head_width", "text_config overlooked"),
            _mistake("head_width", "unknown as llama"),
            _mistake("head_width", "KeyError"),
            _mistake("head_width", "heads of a latent"),
            _mistake(
                "head_width",
                "KV heads divide",
                "Did you divide the hidden size by the KV heads?",
                (
                    "Which heads together are as wide as the hidden state?",
                    "The query heads are.",
                    "hidden_size // num_attention_heads.",
                ),
            ),
            _mistake(
                "head_width",
                "float",
                "Did you divide with `/`, which gives a float?",
                (
                    "What is type(96 / 12)?",
                    "A width is a whole number, and so should its type be.",
                    "Use // after you have seen that nothing remains.",
                ),
            ),
            _mistake(
                "head_width",
                "rounds down",
                "Do you round a width down that is no whole number?",
                (
                    "What is 97 // 12, and what is lost?",
                    "If the division does not come out even, the two fields contradict each other.",
                    'If hidden_size % num_attention_heads: raise ValueError("hidden_size: …").',
                ),
            ),
        ),
        alternatives=(_width_by_match, Reading().head_width),
        hints=(
            "Three things can be true of a field: stated, null, absent. Which of them is it here?",
            'RULES[model_type]["head_dim"] says what stands for absent and for null.',
            "decoder(config), look up the rule, take the stated value or what stands for it, and divide only if told.",
        ),
    ),
    Answer(
        _KV,
        _refusing(_heads),
        (
            _mistake(
                "kv_heads",
                "absent is heads",
                "Do you take as many KV heads as query heads wherever the field is absent?",
                (
                    "What does Mistral's class take when the field is absent?",
                    "In llama and cohere absent means heads; in mistral 8, in qwen2 32, in gemma3_text 4.",
                    'Look up RULES[model_type]["num_key_value_heads"]["absent"].',
                ),
            ),
            _mistake("kv_heads", "null is absent"),
            _mistake(
                "kv_heads",
                "null is heads",
                "Does null mean as many as query heads in every model type of yours?",
                (
                    "Look up what null means in this model type.",
                    "In qwen2 null says heads; mistral refuses it.",
                    'Where RULES says "refuse": raise ValueError("num_key_value_heads: …").',
                ),
            ),
            _mistake(
                "kv_heads",
                "query heads",
                "Did you return the query heads?",
                (
                    "Whose rows stay in the cache?",
                    "Queries are used once; keys and values are stored.",
                    "Read num_key_value_heads where it is stated.",
                ),
                "hahnyuan/LLM-Viewer#12",
            ),
            _mistake(
                "kv_heads",
                "multi_query overlooked",
                "Did you overlook `multi_query`?",
                (
                    "Which fields of Falcon's file speak of heads?",
                    "The count's default says 71 for Falcon-7B, the flag says one for all.",
                    "Old Falcon and GPT-BigCode: 1 if multi_query is true.",
                ),
            ),
            _mistake(
                "kv_heads",
                "absent flag is false",
                "Is an absent `multi_query` false in yours?",
                (
                    "Look up the flag's default.",
                    "Both Falcon and GPT-BigCode take true when the flag is absent.",
                    'config.get("multi_query", True)',
                ),
            ),
            _mistake(
                "kv_heads",
                "new architecture overlooked",
                "Does `multi_query` win over `new_decoder_architecture` in yours?",
                (
                    "Falcon-40B has multi_query true and 8 KV heads. Which field says so?",
                    "The new architecture ignores the flag and counts.",
                    "If new_decoder_architecture is true: num_kv_heads.",
                ),
            ),
            _mistake(
                "kv_heads",
                "new architecture everywhere",
                "Does `new_decoder_architecture` count in yours for a model type that has no such field?",
                (
                    "What is the model type of the configuration that failed?",
                    "The second flag is Falcon's; GPT-BigCode's class never reads it.",
                    'Ask model_type == "falcon" before the second flag.',
                ),
            ),
            _mistake(
                "kv_heads",
                "absent count is eight",
                "Do you take 8 for Falcon's absent `num_kv_heads`?",
                (
                    "What does the exercise say stands for an absent `num_kv_heads`?",
                    "Falcon-40B states 8. It is no default.",
                    'config.get("num_kv_heads") or num_attention_heads',
                ),
            ),
            _mistake(
                "kv_heads",
                "falcon unchecked",
                "Do you return Falcon's `num_kv_heads` without a look at the query heads?",
                (
                    "Do the two numbers of this configuration fit together?",
                    "What holds for num_key_value_heads holds for Falcon's count too.",
                    'If num_attention_heads % num_kv_heads: raise ValueError("num_kv_heads: …").',
                ),
            ),
            _mistake("kv_heads", "experts"),
            _mistake("kv_heads", "text_config overlooked"),
            _mistake("kv_heads", "unknown as llama"),
            _mistake("kv_heads", "heads of a latent"),
            _mistake(
                "kv_heads",
                "divisor unchecked",
                "Do you accept KV heads that cannot be shared out evenly?",
                (
                    "Do the two numbers of this configuration fit together?",
                    "Every KV head serves equally many query heads, so the one divides the other. A default can break "
                    "that too.",
                    'If num_attention_heads % found: raise ValueError("num_key_value_heads: …").',
                ),
            ),
        ),
        alternatives=(_kv_by_groups, Reading().kv_heads),
        hints=(
            "Stated, null, absent: which is it, and what does this model type take for it?",
            'RULES[model_type]["num_key_value_heads"] says so, except for the two that have the flag multi_query.',
            "Find the number, then check that it divides the query heads.",
        ),
    ),
    Answer(
        _KINDS,
        _refusing(_kinds),
        (
            _mistake("layer_kinds", "windows ignored"),
            _mistake("layer_kinds", "absent is no window"),
            _mistake(
                "layer_kinds",
                "absent is 4096",
                "Is an absent `sliding_window` 4096 in every model type of yours?",
                (
                    "Look up the default of mixtral.",
                    "Mistral takes 4096, Mixtral none.",
                    'RULES[model_type]["sliding_window"]',
                ),
            ),
            _mistake("layer_kinds", "null is absent"),
            _mistake("layer_kinds", "flag ignored"),
            _mistake(
                "layer_kinds",
                "absent flag is true",
                "Is an absent `use_sliding_window` true in yours?",
                (
                    "Look up the flag's default.",
                    "Qwen2 has no window unless the file asks for it.",
                    'config.get("use_sliding_window", False)',
                ),
            ),
            _mistake(
                "layer_kinds",
                "first layers",
                "Do the first `max_window_layers` layers have the window in yours?",
                (
                    "Which layers does the class give a window?",
                    "The name misleads: the layers below max_window_layers see everything.",
                    "Layer i has the window if i >= max_window_layers.",
                ),
            ),
            _mistake(
                "layer_kinds",
                "every layer",
                "Do all layers of Qwen2 have the window in yours?",
                (
                    "What is max_window_layers for?",
                    "The first layers see everything.",
                    "Layer i has the window if i >= max_window_layers.",
                ),
            ),
            _mistake(
                "layer_kinds",
                "one layer early",
                "Does your pattern begin with a full layer?",
                (
                    "Which kind is layer 0 of Gemma 2?",
                    "The full layer comes last in each round: layer 1 of 2, layer 5 of 6.",
                    "Layer i is full if (i + 1) % every == 0.",
                ),
            ),
            _mistake(
                "layer_kinds",
                "list ignored",
                "Did you follow the rule although `layer_types` lists the layers?",
                (
                    "Which field of this file names every layer?",
                    "A list that is stated wins over the rule.",
                    'If config.get("layer_types"): translate it.',
                ),
            ),
            _mistake(
                "layer_kinds",
                "pattern ignored",
                "Did you overlook `sliding_window_pattern`?",
                (
                    "Which fields of this file begin with sliding_window?",
                    "The file may say how long a round is.",
                    'In gemma3_text: config.get("sliding_window_pattern", RULES[model_type]["full_every"])',
                ),
            ),
            _mistake(
                "layer_kinds",
                "pattern everywhere",
                "Do you read `sliding_window_pattern` in every mixed model?",
                (
                    "What is the model type of the configuration that failed?",
                    "A class reads its own fields: Gemma 2 has no pattern, and ignores one.",
                    "Only gemma3_text reads it; elsewhere full_every counts.",
                ),
            ),
            _mistake(
                "layer_kinds",
                "zero is absent",
                "Do you treat `max_window_layers` of 0 as if the field were absent?",
                (
                    "What is `0 or 28`?",
                    "Zero is stated: every layer from layer 0 on has the window.",
                    'config.get("max_window_layers", 28), without `or`.',
                ),
            ),
            _mistake(
                "layer_kinds",
                "flag before the list",
                "Do you look at `layer_types` only where `use_sliding_window` is true?",
                (
                    "What does this file list, and what does its flag say?",
                    "A list that is stated wins over the rule; a list and a flag that disagree are refused.",
                    'If the list has windows and the flag is not true: raise ValueError("layer_types: …").',
                ),
            ),
            _mistake(
                "layer_kinds",
                "contradiction",
                "Do you give windows to a model that says it uses none?",
                (
                    "What does `use_sliding_window` say in this file?",
                    "Two fields that contradict each other are refused.",
                    'If the list has windows and the flag is not true: raise ValueError("layer_types: …").',
                ),
            ),
            _mistake(
                "layer_kinds",
                "entries unchecked",
                "Do you take every entry of `layer_types` that you do not know for a full layer?",
                (
                    "Which words does the list of this configuration hold?",
                    "What an unknown kind of layer keeps cannot be known.",
                    'If an entry is neither of the two: raise ValueError("layer_types: …").',
                ),
            ),
            _mistake("layer_kinds", "all layers of Jamba"),
            _mistake(
                "layer_kinds",
                "offset ignored",
                "Is the first layer of each period the attention layer in yours?",
                (
                    "Which layer of Jamba attends first?",
                    "attn_layer_offset says which one of a period it is.",
                    "i % attn_layer_period == attn_layer_offset",
                ),
            ),
            _mistake("layer_kinds", "sharing ignored"),
            _mistake(
                "layer_kinds",
                "first layers share",
                "Do the first layers share in yours?",
                (
                    "Whose rows could the first layer read?",
                    "A layer can only read what an earlier one has stored.",
                    "The last num_kv_shared_layers layers share.",
                ),
            ),
            _mistake(
                "layer_kinds",
                "zero from the end",
                "What is left of your list when no layer shares?",
                (
                    "Try kinds[:-shared] with shared = 0.",
                    "-0 is 0, so kinds[:-0] is the empty list.",
                    "kinds[: layers - shared]",
                ),
            ),
            _mistake(
                "layer_kinds",
                "sharing unchecked",
                "Do you let every layer read the rows of another?",
                (
                    "Which layers of this configuration store anything?",
                    "An absent num_kv_shared_layers is 15, even in a model of six layers.",
                    'If shared >= layers: raise ValueError("num_kv_shared_layers: …").',
                ),
            ),
            _mistake(
                "layer_kinds",
                "latent is full",
                'Did you call the layers of DeepSeek "full"?',
                (
                    "What does such a layer keep of a token?",
                    "It keeps a row of every token, but no heads: that is a kind of its own.",
                    'Where the rule says "latent": ["latent"] * layers.',
                ),
            ),
            _mistake(
                "layer_kinds",
                "length unchecked",
                "Do you accept a list that has not one entry for each layer?",
                (
                    "How long is the list, and how many layers are there?",
                    "Two fields that contradict each other are refused.",
                    'If len(layer_types) != num_hidden_layers: raise ValueError("layer_types: …").',
                ),
            ),
            _mistake(
                "layer_kinds",
                "null window",
                "Do you make layers with a window when `sliding_window` is null?",
                (
                    "How wide would that window be?",
                    "Gemma 2 has local layers; without a width nobody knows what they keep.",
                    'If there is a window layer and no width: raise ValueError("sliding_window: …").',
                ),
            ),
            _mistake(
                "layer_kinds",
                "offset unchecked",
                "Do you accept an `attn_layer_offset` that no layer has?",
                (
                    "How many layers attend in this configuration?",
                    "Remainders are smaller than the period.",
                    'If offset >= period: raise ValueError("attn_layer_offset: …").',
                ),
            ),
            _mistake("layer_kinds", "unknown as llama"),
        ),
        alternatives=(_Switched().layer_kinds, Reading().layer_kinds),
        hints=(
            'RULES[model_type]["layers"] has six values. Handle one after the other.',
            "Write down layers 0 to 5 of Gemma 2, of Gemma 3 and of Jamba before you write the loops.",
            "layer_types wins over the pattern; the last num_kv_shared_layers layers of gemma3n_text are shared.",
        ),
    ),
    Answer(
        _CACHE,
        _refusing(_payload),
        (
            _mistake("cache_bytes", "windows ignored"),
            _mistake(
                "cache_bytes",
                "one row short",
                "Does a window keep one row fewer than it is wide in yours?",
                (
                    "How many rows does a query in a window of 4 read, its own included?",
                    "transformers keeps W − 1, because the next token brings its own. The payload counts the window.",
                    "min(tokens, window)",
                ),
            ),
            _mistake(
                "cache_bytes",
                "windows dropped",
                "Do layers with a window hold nothing any more in yours, once they are full?",
                (
                    "Beyond the window, what do such layers still hold?",
                    "They stop growing; they do not become empty.",
                    "Each window layer holds min(tokens, window) rows.",
                ),
            ),
            _mistake("cache_bytes", "absent is no window"),
            _mistake("cache_bytes", "null is absent"),
            _mistake("cache_bytes", "hidden / heads"),
            _mistake(
                "cache_bytes",
                "query heads",
                "Did you count the query heads?",
                (
                    "Whose rows stay in the cache?",
                    "Queries are used once; keys and values are stored.",
                    "Use your kv_heads.",
                ),
                "hahnyuan/LLM-Viewer#12",
            ),
            _mistake("cache_bytes", "experts"),
            _mistake("cache_bytes", "all layers of Jamba"),
            _mistake("cache_bytes", "factor two"),
            _mistake("cache_bytes", "heads of a latent"),
            _mistake("cache_bytes", "no rotary key"),
            _mistake(
                "cache_bytes",
                "no default",
                "Do you refuse a latent model whose `qk_rope_head_dim` is absent?",
                (
                    "What stands for an absent `qk_rope_head_dim`?",
                    "Both parts of a latent row have a default.",
                    "(DEFAULTS | decoder(config)) has both fields.",
                ),
            ),
            _mistake("cache_bytes", "sharing ignored"),
            _mistake("cache_bytes", "rounds down"),
            _mistake(
                "cache_bytes",
                "rounds each layer",
                "Did you round each layer up to whole bytes?",
                (
                    "Your answer is a few bytes too large. Where could they come from?",
                    "The payload is rounded once.",
                    "Add up all bits first.",
                ),
            ),
            _mistake(
                "cache_bytes",
                "always two bytes",
                "Did you take every element for two bytes?",
                (
                    "Which of the arguments does your answer never use?",
                    "`bits_per_element` is 16 for BF16, 8 for FP8.",
                    "Multiply by bits_per_element, then divide by eight.",
                ),
            ),
            _mistake("cache_bytes", "unknown as llama"),
        ),
        alternatives=(_Switched().cache_bytes, Reading().cache_bytes),
        hints=(
            "Go through the layers: how many rows does each keep, and how many elements has a row?",
            "full: tokens rows; window: min(tokens, window); latent: tokens rows of rank + rotary; others: none.",
            "Add elements of all layers, multiply by the bits, round up once.",
        ),
    ),
    Answer(
        _STATE,
        _refusing(_state),
        (
            _mistake(
                "state_bytes",
                "all layers",
                "Did you count a state in every layer, attention layers included?",
                (
                    "Which layers of Jamba have a state?",
                    "One layer in a period attends and has none.",
                    'layer_kinds(config).count("state")',
                ),
            ),
            _mistake(
                "state_bytes",
                "attention layers",
                "Did you count the attention layers?",
                (
                    "Which layers of Jamba have a state?",
                    "The attention layers have keys and values; the others have the state.",
                    'layer_kinds(config).count("state")',
                ),
            ),
            _mistake(
                "state_bytes",
                "all BF16",
                "Did you take two bytes for every element of the state?",
                (
                    "Which of the two parts adds up small numbers over thousands of tokens?",
                    "The state proper is kept in FP32, the inputs of the convolution in BF16.",
                    "2 bytes × conv_width + 4 bytes × mamba_d_state, for each channel.",
                ),
            ),
            _mistake(
                "state_bytes",
                "all FP32",
                "Did you take four bytes for every element of the state?",
                (
                    "Which of the two parts is a copy of recent inputs?",
                    "The inputs of the convolution are kept in BF16.",
                    "2 bytes × conv_width + 4 bytes × mamba_d_state, for each channel.",
                ),
            ),
            _mistake(
                "state_bytes",
                "width from the file",
                "Did you read the width of the convolution from the file, although it is an argument?",
                (
                    "Which of the arguments does your answer never use?",
                    "A step needs the last mamba_d_conv − 1 inputs; an implementation may keep one more.",
                    "Use conv_width.",
                ),
            ),
            _mistake(
                "state_bytes",
                "not expanded",
                "Did you forget that the state is `mamba_expand` times as wide as the hidden state?",
                (
                    "How many channels has a Mamba layer?",
                    "It widens its input before it mixes.",
                    "mamba_expand * hidden_size channels.",
                ),
            ),
            _mistake(
                "state_bytes",
                "no convolution",
                "Did you leave out the inputs of the convolution?",
                (
                    "A Mamba layer keeps two things. Which?",
                    "Beside the state proper it keeps its last few inputs.",
                    "Add 2 bytes × conv_width for each channel.",
                ),
            ),
            _mistake("state_bytes", "unknown as llama"),
        ),
        alternatives=(_state_by_layers, _state_by_bits),
        hints=(
            "How many layers have a state, how many channels has each, how many bytes has a channel?",
            "Channels: mamba_expand × hidden_size. Absent fields have defaults in DEFAULTS.",
            "layers × channels × (2 × conv_width + 4 × mamba_d_state)",
        ),
    ),
    Answer(
        _MLA,
        _refusing(_per_token),
        (
            _mistake("mla_bytes_per_token", "factor two"),
            _mistake("mla_bytes_per_token", "no rotary key"),
            _mistake(
                "mla_bytes_per_token",
                "rotary key per head",
                "Did you count a rotary key for every head?",
                (
                    "How many rotary keys does a layer keep for one token?",
                    "All query heads meet the same rotary key.",
                    "kv_lora_rank + qk_rope_head_dim, once.",
                ),
            ),
            _mistake("mla_bytes_per_token", "latent per KV head"),
            _mistake("mla_bytes_per_token", "heads of a latent"),
            _mistake(
                "mla_bytes_per_token",
                "layers dropped",
                "Did you count a single layer?",
                (
                    "Whose latent does layer 7 read?",
                    "Every layer keeps a latent of its own.",
                    "Multiply by num_hidden_layers.",
                ),
            ),
            _mistake(
                "mla_bytes_per_token",
                "predicting layers",
                "Did you count the layers that only predict further tokens?",
                (
                    "Which field adds layers to yours?",
                    "num_nextn_predict_layers is an extra head, used only when a server asks for it.",
                    "num_hidden_layers alone.",
                ),
            ),
            _mistake(
                "mla_bytes_per_token",
                "any model",
                "Do you give a latent to a model that has none?",
                (
                    "What is the model type of the configuration that failed?",
                    "A default of 512 is DeepSeek's, not everybody's.",
                    'Where RULES does not say "latent": raise ValueError("model_type: …").',
                ),
            ),
            _mistake("mla_bytes_per_token", "rounds down"),
        ),
        alternatives=(_mla_by_fields, _mla_as_difference),
        hints=(
            "What does one layer keep of one token, whatever the number of heads?",
            "One latent of kv_lora_rank elements, and one rotary key of qk_rope_head_dim.",
            "(rank + rotary) × layers × bits, divided by eight and rounded up.",
        ),
    ),
    Answer(
        _ABSORB,
        _rebuilt,
        (
            Misconception(
                "no_rotary_part",
                _scores(rope=False),
                "Did you leave out the rotary part of the scores?",
                (
                    "Which two of the arguments does your answer not use?",
                    "A score is the sum of two dot products: without position, and with it.",
                    "Add q_rope @ k_rope.T before you scale.",
                ),
            ),
            Misconception(
                "scaled_by_nope",
                _scores(lambda dn, dr, r: dn),
                "Did you scale by the width without the rotary part?",
                (
                    "How wide is a whole query?",
                    "Query and key have dn + dr elements each.",
                    "Divide by √(dn + dr).",
                ),
            ),
            Misconception(
                "scaled_by_rank",
                _scores(lambda dn, dr, r: r + dr),
                "Did you scale by the width of the absorbed query?",
                (
                    "Absorbing is only another order of the same products. What must not change?",
                    "The scale belongs to the width that the model was trained with.",
                    "Divide by √(dn + dr), not by √(r + dr).",
                ),
            ),
            Misconception(
                "unscaled",
                _scores(lambda dn, dr, r: 1),
                "Did you forget to scale?",
                (
                    "By what are scores divided before the softmax?",
                    "By the square root of the width of a query.",
                    "Divide by √(dn + dr).",
                ),
            ),
            Misconception(
                "first_heads_matrix",
                _scores(first=True),
                "Do all heads use the matrix of head 0 in yours?",
                (
                    "What is the first axis of w_uk?",
                    "Heads share the latent, not the matrix.",
                    'np.einsum("hn,hnr->hr", q_nope, w_uk)',
                ),
            ),
        ),
        alternatives=(_absorbed_by_heads, _absorbed_by_einsum),
        hints=(
            "q · (W c) is a number. Where else can the brackets stand?",
            "q · (W c) = (q W) · c: multiply the query by w_uk first; then every stored latent is a key.",
            "(q_nope · w_uk) @ latent.T + q_rope @ k_rope.T, divided by √(dn + dr).",
        ),
        tolerance=ATOL,
    ),
    Answer(
        _POOL,
        _pooled,
        (
            Misconception(
                "dealt_out",
                _pool(_dealt),
                "Did you pool every other head, as if heads were dealt out like cards?",
                (
                    "Which KV heads would query heads 0 and 1 read before and after?",
                    "Heads that are replaced by one are neighbours.",
                    "reshape(groups, num_kv_heads // groups, dh, D), then the mean over axis 1.",
                ),
            ),
            Misconception(
                "first_of_each",
                _pool(lambda *a: _neighbours(*a)[:, 0].reshape(a[1] * a[3], -1)),
                "Did you keep the first head of each group?",
                (
                    "What becomes of what the other heads have learnt?",
                    "The paper found the mean better than one head picked out.",
                    "Take the mean over the heads of a group.",
                ),
            ),
            Misconception(
                "summed",
                _pool(lambda *a: _neighbours(*a).sum(axis=1).reshape(a[1] * a[3], -1)),
                "Did you add the heads up without dividing?",
                (
                    "Pool two equal heads. What should come out?",
                    "The mean of two equal heads is that head.",
                    "Divide by the number of heads in a group.",
                ),
            ),
            Misconception(
                "rows_averaged",
                _pool(_adjacent_rows),
                "Did you average neighbouring rows instead of neighbouring heads?",
                (
                    "Which rows of W belong to head 0?",
                    "A head is a block of dh rows. Row 0 of one head meets row 0 of the next.",
                    "reshape(groups, num_kv_heads // groups, dh, D), then the mean over axis 1.",
                ),
            ),
            Misconception(
                "divisor_unchecked",
                _pool(_cut, check=False),
                "Do you drop what does not fill a group?",
                (
                    "How many of five heads become two?",
                    "Heads or rows that are left over are a contradiction in the arguments.",
                    "If num_kv_heads % groups or len(W) % num_kv_heads: raise ValueError.",
                ),
            ),
        ),
        alternatives=(_pool_by_matrix, _pool_by_slices),
        hints=(
            "How many rows does one head have?",
            "len(W) // num_kv_heads rows each; num_kv_heads // groups neighbours become one.",
            "Reshape to four axes (groups, members, dh, D), take the mean over the members, reshape back.",
        ),
        tolerance=ATOL,
    ),
)
