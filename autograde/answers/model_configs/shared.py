"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

from autograde.exercise import Advice, Case
from autograde.exercises.model_configs import refusal

ATOL = 1e-12


LATENT = ("deepseek_v2", "deepseek_v3", "kimi_k2")


HEADED = (
    "gpt2", "gpt_bigcode", "falcon", "llama", "cohere", "olmo2", "mistral", "mixtral", "phi3", "qwen2", "qwen3",
    "gemma2", "gemma3_text", "gemma3n_text", "gpt_oss", "jamba",
)  # fmt: skip


class Refused(Exception):
    """The name of a field at fault."""


def refusing(oracle):
    def told(case: Case) -> object:
        try:
            return oracle(*case.inputs.values())
        except Refused as field:
            return refusal(str(field))

    return told


def inner_config(config: dict) -> dict:
    found = dict(config.get("text_config") or config)
    for short, name in (("n_layer", "num_hidden_layers"), ("n_head", "num_attention_heads"), ("n_embd", "hidden_size")):
        if short in found:
            found[name] = found.pop(short)
    if found.get("model_type") not in LATENT + HEADED:
        raise Refused("model_type")
    return found


def oracle_headed(config: dict) -> dict:
    found = inner_config(config)
    if found["model_type"] in LATENT:
        raise Refused("kv_lora_rank")
    return found


def stated(config: dict, name: str) -> int:
    if config.get(name) is None:
        raise Refused(name)
    return config[name]


def oracle_width(config: dict) -> int:
    config = oracle_headed(config)
    kind = config["model_type"]
    if kind not in ("gpt2", "gpt_bigcode", "falcon"):
        fixed = {"qwen3": 128, "gpt_oss": 64, "gemma2": 256, "gemma3_text": 256, "gemma3n_text": 256}
        if "head_dim" in config:
            null_divides = ("llama", "mistral", "mixtral", "qwen2")
            if config["head_dim"] is not None or kind not in null_divides:
                return stated(config, "head_dim")
        elif kind in fixed:
            return fixed[kind]
    width, rest = divmod(stated(config, "hidden_size"), stated(config, "num_attention_heads"))
    if rest:
        raise Refused("hidden_size")
    return width


def oracle_kv_heads(config: dict) -> int:
    config = oracle_headed(config)
    kind, heads = config["model_type"], stated(config, "num_attention_heads")
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


def oracle_windows(config: dict) -> list[int | None]:
    """Of each layer: how many rows it keeps, None for all; -1 a latent, -2 a state, 0 another layer's rows."""
    config = inner_config(config)
    kind, count = config["model_type"], stated(config, "num_hidden_layers")
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
            kept = listed_rows(config, count, width)
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
        kept = listed_rows(config, count, width)
    if kind == "gemma3n_text":
        own = count - config.get("num_kv_shared_layers", 15)
        if own < 1:
            raise Refused("num_kv_shared_layers")
        kept[own:] = [0] * (count - own)
    return kept


def listed_rows(config: dict, count: int, width: int | None) -> list[int | None]:
    """The rows of each layer of `layer_types`."""
    rows, listed = {"full_attention": None, "sliding_attention": width}, config["layer_types"]
    if len(listed) != count or set(listed) - set(rows):
        raise Refused("layer_types")
    if width is None and "sliding_attention" in listed:
        raise Refused("sliding_window")
    return [rows[each] for each in listed]


def oracle_kinds(config: dict) -> list[str]:
    names = {None: "full", -1: "latent", -2: "state", 0: "shared"}
    return [names.get(kept, "window") for kept in oracle_windows(config)]


def latent_row(config: dict) -> int:
    row = 0
    for name, absent in (("kv_lora_rank", 512), ("qk_rope_head_dim", 64)):
        row += stated(config, name) if name in config else absent
    return row


ABSENT_KV_HEADS = {
    "mistral": 8, "mixtral": 8, "jamba": 8, "gpt_oss": 8, "qwen2": 32, "qwen3": 32, "gemma2": 4, "gemma3_text": 4,
    "gemma3n_text": 2,
}  # fmt: skip


ABSENT_HEAD_DIM = {"qwen3": 128, "gpt_oss": 64, "gemma2": 256, "gemma3_text": 256, "gemma3n_text": 256}


NULL_REFUSED = ("mistral", "mixtral", "jamba", "gpt_oss", "gemma2", "gemma3_text", "gemma3n_text")


OLD_NAMES = {"n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_embd": "hidden_size"}


class Reading:
    """A learner's functions as methods. `wrong` names the mistakes that they make."""

    def __init__(self, *wrong: str):
        self.wrong = set(wrong)

    def part(self, config):
        if "text_config overlooked" not in self.wrong:
            config = config.get("text_config", config)
        config = {OLD_NAMES.get(name, name): value for name, value in config.items()}
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
        default = None if "absent is divided" in self.wrong else ABSENT_HEAD_DIM.get(kind)
        value = config.get("head_dim", default)
        if "head_dim" in config and config["head_dim"] is None and kind in ABSENT_HEAD_DIM:
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
            "num_key_value_heads", heads if "absent is heads" in self.wrong else ABSENT_KV_HEADS.get(kind, heads)
        )
        if found is None:
            found = ABSENT_KV_HEADS.get(kind, heads) if "null is absent" in self.wrong else heads
            if kind in NULL_REFUSED and not {"null is absent", "null is heads"} & self.wrong:
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


class LayerKindsBySwitch(Reading):
    """The reading without a mistake, in another order: windows are found first, layer by layer."""

    def layer_kinds(self, config):
        names = {None: "full", -1: "latent", -2: "state", 0: "shared"}
        try:
            return [names.get(kept, "window") for kept in oracle_windows(config)]
        except Refused as field:
            raise ValueError(f"{field}: refused") from None

    def cache_bytes(self, config, tokens, bits):
        """Token by token: who still keeps it?"""
        try:
            layers, part = oracle_windows(config), inner_config(config)
            if -1 in layers:
                row = latent_row(part) * len(layers)
                return (row * tokens * bits + 7) // 8
            kept = sum(1 for age in range(tokens) for each in layers if each is None or 0 <= age < each)
            return (2 * kept * oracle_kv_heads(config) * oracle_width(config) * bits + 7) // 8
        except Refused as field:
            raise ValueError(f"{field}: refused") from None


HIDDEN_OVER_HEADS = Advice(
    "Did you divide hidden size by heads although `head_dim` is stated?",
    (
        "Look for a field of the configuration that already holds the answer.",
        "Qwen3-32B has 5120 and 64 heads of width 128, not 80.",
        "A stated head_dim wins; divide only where the rule says so.",
    ),
    source="LMCache/LMCache#688: a cache sized by hidden_size / heads did not fit the model.",
)
NULL_IS_ABSENT = Advice(
    "Do you treat null as if the field were absent?",
    (
        "What does `config.get(name)` give for null, and for a field that is not there?",
        "Null was written by somebody, and means something of its own.",
        "Ask `name in config` first; then look at the value.",
    ),
)
TEXT_CONFIG_OVERLOOKED = Advice(
    "Did you look for the decoder's fields outside `text_config`?",
    (
        "Print the keys of the configuration that failed.",
        "A model that also sees pictures keeps the decoder's fields one level deeper.",
        'Begin with `config = decoder(config)`, or `config.get("text_config", config)`.',
    ),
)
UNKNOWN_AS_LLAMA = Advice(
    "Do you treat a model type that you do not know as if it were Llama's?",
    (
        "What would your function say to a model of next year?",
        "A number that is guessed looks like one that is known.",
        'If the model type is not in RULES: raise ValueError("model_type: …").',
    ),
)
HEADS_OF_A_LATENT = Advice(
    "Do you believe the head counts of a model that stores a latent instead of heads?",
    (
        "What does DeepSeek-V3 keep of an old token?",
        "`num_key_value_heads` is in the file, but the keys of those heads are not in the cache.",
        'Where the rule says "latent", there are no heads and no head width: one row of rank + rotary key.',
    ),
)
EXPERTS = Advice(
    "Did you multiply by the number of experts?",
    (
        "Which part of a layer do experts replace?",
        "Experts are several MLPs. There is still one attention in each layer.",
        "Leave num_local_experts out.",
    ),
)
WINDOWS_IGNORED = Advice(
    "Do layers with a window keep everything in yours?",
    (
        "Which token does a layer with a window of 4096 no longer read?",
        "A row that no later query reads need not be kept.",
        "A window layer is a kind of its own, and keeps min(tokens, window) rows.",
    ),
)
ABSENT_IS_NO_WINDOW = Advice(
    "Do you take an absent `sliding_window` for no window?",
    (
        "Look up the model type's default.",
        "Mistral's class sets 4096 when the field is absent. Null is the way to say none.",
        'config.get("sliding_window", RULES[model_type]["sliding_window"])',
    ),
)
ALL_LAYERS_OF_JAMBA = Advice(
    "Did you count every layer of Jamba as attention?",
    (
        "How many of its layers have keys at all?",
        "One layer in `attn_layer_period` attends; the others keep a state of fixed size.",
        "Layer i attends if i % attn_layer_period == attn_layer_offset.",
    ),
)
SHARING_IGNORED = Advice(
    "Did you count layers that read another layer's rows?",
    (
        "What does `num_kv_shared_layers` say?",
        "A layer that shares owns no cache.",
        'The last num_kv_shared_layers layers are "shared", and store nothing.',
    ),
)
FACTOR_TWO = Advice(
    "Did you count the latent twice, as if it were a K and a V?",
    (
        "From what are the values made in MLA?",
        "Key and value are both made from the same latent.",
        "kv_lora_rank + qk_rope_head_dim, without the factor 2.",
    ),
)
NO_ROTARY_KEY = Advice(
    "Did you leave out the rotary key?",
    (
        "Which part of a key cannot be made from the latent?",
        "The part with rotary position is cached beside the latent, once for all heads.",
        "kv_lora_rank + qk_rope_head_dim.",
    ),
)
ROUNDS_DOWN = Advice(
    "Did you round an unfinished byte down?",
    (
        "Nine bits: how many bytes hold them?",
        "`//` rounds down; a last, partly filled byte has to be stored too.",
        "-(-bits // 8) rounds up.",
    ),
)
