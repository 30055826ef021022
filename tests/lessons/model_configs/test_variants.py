"""Lesson 06, people make the same mistake in other words: the same name. An unrelated error: no name."""

import math
from itertools import cycle, islice

import numpy as np

from tests.variants import pair_of_tests

EIGHTS = ("mistral", "mixtral", "jamba", "gpt_oss")
FOURS = ("gemma2", "gemma3_text")
FLAT = ("gpt2", "gpt_bigcode", "llama", "cohere", "olmo2", "falcon")
WIDE = {"qwen3": 128, "gpt_oss": 64, "gemma2": 256, "gemma3_text": 256, "gemma3n_text": 256}
HEADED = (*FLAT, *EIGHTS, *FOURS, "phi3", "qwen2", "qwen3", "gemma3n_text")
LATENT = ("deepseek_v2", "deepseek_v3", "kimi_k2")


def refuse(field):
    raise ValueError(f"{field} cannot be read")


def field(config, *names):
    """The first of the names that is stated."""
    return next((config[name] for name in names if config.get(name) is not None), None)


def width(divide_always=False, default_divides=False, null_divides=False, checked=True, latent=True, nested=True):
    def head_width(config):
        if nested and "text_config" in config:
            config = config["text_config"]
        kind = config.get("model_type")
        if kind not in HEADED and not (kind in LATENT and not latent):
            refuse("kv_lora_rank" if kind in LATENT else "model_type")
        if not divide_always:
            if field(config, "head_dim"):
                return config["head_dim"]
            if kind in WIDE and not (default_divides and "head_dim" not in config):
                if "head_dim" in config and not null_divides:
                    refuse("head_dim")
                if "head_dim" not in config:
                    return WIDE[kind]
        elif kind in WIDE and "head_dim" in config and config["head_dim"] is None:
            refuse("head_dim")
        hidden, heads = field(config, "hidden_size", "n_embd"), field(config, "num_attention_heads", "n_head")
        if hidden is None or (checked and hidden % heads):
            refuse("hidden_size")
        return int(hidden / heads)

    return head_width


def heads(
    absent=None,
    null=True,
    flag=True,
    experts=False,
    checked=True,
    new=("falcon",),
    flag_absent=True,
    falcon=lambda readers: readers,
    falcon_checked=True,
    field_at_fault="num_key_value_heads",
):
    def kv_heads(config):
        config = config.get("text_config", config)
        kind = config.get("model_type")
        if kind not in HEADED:
            refuse("kv_lora_rank" if kind in LATENT else "model_type")
        readers = field(config, "num_attention_heads", "n_head")
        if kind in ("falcon", "gpt_bigcode"):
            shared = config.get("multi_query", flag_absent)
            if config.get("new_decoder_architecture") and kind in new:
                shared = False
            if flag and shared:
                return 1
            stored = field(config, "num_kv_heads") or falcon(readers)
            if checked and falcon_checked and readers // stored * stored < readers:
                refuse("num_kv_heads")
            return stored
        default = 8 if kind in EIGHTS else 4 if kind in FOURS else 32 if kind in ("qwen2", "qwen3") else readers
        if "num_key_value_heads" not in config:
            stored = absent(readers) if absent else default
        elif config["num_key_value_heads"] is None:
            if null and kind in EIGHTS + FOURS:
                refuse(field_at_fault)
            stored = readers
        else:
            stored = config["num_key_value_heads"]
        stored *= config.get("num_local_experts", 1) if experts else 1
        if checked and readers / stored != readers // stored:
            refuse("num_key_value_heads")
        return stored

    return kv_heads


def kinds(
    window="window",
    sharing=True,
    flag=True,
    jamba=None,
    last=True,
    listed=True,
    absent=True,
    latent="latent",
    null=True,
    patterned=("gemma3_text",),
    zero=True,
    list_needs_flag=False,
    agree=True,
    kept=lambda own: slice(max(own, 0)),
    some_own=True,
    strange=True,
):
    """`layer_kinds` with rounds that are repeated rather than remainders."""

    def repeated(once, layers):
        return list(islice(cycle(once), layers))

    def found(config):
        config = config.get("text_config", config)
        kind, layers = config.get("model_type"), field(config, "num_hidden_layers", "n_layer")
        if kind in LATENT:
            return [latent for _ in range(layers)]
        if kind not in HEADED:
            refuse("model_type")
        if kind == "jamba":
            period, offset = config.get("attn_layer_period", 8), config.get("attn_layer_offset", 4)
            if not offset < period:
                refuse("attn_layer_offset")
            if jamba:
                return jamba(layers, period)
            return repeated(["state"] * offset + ["full"] + ["state"] * (period - offset - 1), layers)
        width = config.get("sliding_window", 4096)
        if kind in ("mixtral", "phi3", "mistral"):
            if "sliding_window" not in config and (kind != "mistral" or not absent):
                width = None
            return ["window" if width else "full"] * layers
        if kind in ("qwen2", "qwen3"):
            used = config.get("use_sliding_window", False) or not flag
            late = config.get("max_window_layers", 28)
            late = late if zero or late else 28
            first = min(layers, late) if used and width else layers
            made = ["full"] * first + ["window"] * (layers - first)
            if used or not list_needs_flag:
                made = translated(config, layers) or made
            if "window" in made and not used and agree:
                refuse("layer_types")
            if null and width is None and "window" in made:
                refuse("sliding_window")
            return made
        if kind in FLAT:
            return ["full"] * layers
        every = {"gemma3_text": 6, "gemma3n_text": 5}.get(kind, 2)
        if kind in patterned:
            every = config.get("sliding_window_pattern", every)
        once = ["window"] * (every - 1) + ["full"]
        made = repeated(once if last else once[::-1], layers)
        made = translated(config, layers) or made
        if null and width is None:
            refuse("sliding_window")
        if kind == "gemma3n_text" and sharing:
            own = layers - config.get("num_kv_shared_layers", 15)
            if own <= 0 and some_own:
                refuse("num_kv_shared_layers")
            made = made[kept(own - layers if kept is from_the_end else own)] + ["shared"] * (layers - max(own, 0))
        return made

    def translated(config, layers):
        words = config.get("layer_types", []) if listed else []
        if words and len(words) < layers:
            refuse("layer_types")
        if strange and not {"full_attention", "sliding_attention"}.issuperset(words):
            refuse("layer_types")
        return ["window" if each.startswith("sliding") else "full" for each in words]

    def layer_kinds(config):
        return [window if each == "window" else each for each in found(config)]

    return layer_kinds


def from_the_end(shared):
    return slice(None, shared)


def total(
    row_factor=1,
    window=lambda tokens, width: min(tokens, width),
    rope=True,
    floor=False,
    layers=None,
    default=True,
    **more,
):
    """`cache_bytes` by a list of layers, each with its bits."""

    def cache_bytes(config, tokens, bits):
        each_kind = (layers or kinds())(config)
        absent = {"gpt_oss": 128, "gemma3n_text": 512}.get(config["model_type"], 4096)
        wide = config.get("sliding_window", absent)
        found = 0
        for kind in each_kind:
            if kind == "latent":
                rank, turned = config["kv_lora_rank"], config.get("qk_rope_head_dim", 64 if default else None)
                if rank is None or turned is None:
                    refuse("kv_lora_rank" if rank is None else "qk_rope_head_dim")
                found += tokens * row_factor * (rank + (turned if rope else 0))
            elif kind in ("full", "window"):
                row = heads(**more)(config) * width()(config) * 2
                found += row * (tokens if kind == "full" else window(tokens, wide))
        return math.floor(found * bits / 8) if floor else math.ceil(found * bits / 8)

    return cache_bytes


def state(ssm=4, conv=2, expand=True, every=False, width=None):
    def state_bytes(config, conv_width):
        each = kinds()(config)
        layers = len(each) if every else each.count("state")
        if config.get("mamba_d_state", 16) is None:
            refuse("mamba_d_state")
        channels = config["hidden_size"]
        if expand:
            channels *= config.get("mamba_expand", 2)
        columns = conv_width if width is None else config.get("mamba_d_conv", width)
        per_layer = np.zeros(channels).size * (columns * conv + config.get("mamba_d_state", 16) * ssm)
        return sum([per_layer] * layers)

    return state_bytes


def mla(elements):
    def mla_bytes_per_token(config, bits):
        if config["model_type"] not in LATENT:
            refuse("model_type")
        rank, rope = config.get("kv_lora_rank", 512), config.get("qk_rope_head_dim", 64)
        if rank is None:
            refuse("kv_lora_rank")
        each = [elements(config, rank, rope)] * config["num_hidden_layers"]
        return -(-sum(each) * bits // 8)

    return mla_bytes_per_token


def scored(scale, rope=1.0, matrix=lambda w, h: w[h]):
    """`absorbed_scores` head by head, rebuilding the keys."""

    def absorbed_scores(q_nope, q_rope, latent, k_rope, w_uk):
        rows = []
        for h, (q, p) in enumerate(zip(q_nope, q_rope, strict=True)):
            keys = latent @ matrix(w_uk, h).T
            rows.append((keys @ q + rope * (k_rope @ p)) / scale(len(q), len(p), latent.shape[1]) ** 0.5)
        return np.stack(rows)

    return absorbed_scores


def pooled(members, combine=np.mean, checked=True):
    """`mean_pool_kv` with a list of the heads that each group takes."""

    def mean_pool_kv(W, groups, num_kv_heads):
        if checked and (not groups or num_kv_heads % groups or len(W) % num_kv_heads):
            refuse("groups")
        dh = len(W) // num_kv_heads
        blocks = [W[h * dh : (h + 1) * dh] for h in range(num_kv_heads)]
        size = num_kv_heads // groups
        return np.concatenate([combine([blocks[h] for h in members(g, groups, size)], axis=0) for g in range(groups)])

    return mean_pool_kv


def neighbours(g, groups, size):
    return range(g * size, g * size + size)


VARIANTS = [
    ("head_width", width(divide_always=True), "hidden_over_heads"),
    ("head_width", width(default_divides=True), "absent_is_divided"),
    ("head_width", width(null_divides=True), "null_is_divided"),
    ("head_width", width(checked=False), "rounds_down"),
    ("head_width", width(latent=False), "heads_of_a_latent"),
    ("head_width", width(nested=False), "text_config_overlooked"),
    ("kv_heads", heads(absent=lambda readers: readers), "absent_is_heads"),
    ("kv_heads", heads(null=False), "null_is_heads"),
    ("kv_heads", heads(flag=False), "multi_query_overlooked"),
    ("kv_heads", heads(flag_absent=False), "absent_flag_is_false"),
    ("kv_heads", heads(new=()), "new_architecture_overlooked"),
    ("kv_heads", heads(new=("falcon", "gpt_bigcode")), "new_architecture_everywhere"),
    ("kv_heads", heads(falcon=lambda readers: 8), "absent_count_is_eight"),
    ("kv_heads", heads(falcon_checked=False), "falcon_unchecked"),
    ("kv_heads", heads(experts=True), "experts"),
    ("kv_heads", heads(checked=False), "divisor_unchecked"),
    ("layer_kinds", kinds(window="full"), "windows_ignored"),
    ("layer_kinds", kinds(sharing=False), "sharing_ignored"),
    ("layer_kinds", kinds(flag=False), "flag_ignored"),
    ("layer_kinds", kinds(jamba=lambda layers, period: ["full"] * layers), "all_layers_of_jamba"),
    (
        "layer_kinds",
        kinds(jamba=lambda layers, period: ["state" if i % period else "full" for i in range(layers)]),
        "offset_ignored",
    ),
    ("layer_kinds", kinds(last=False), "one_layer_early"),
    ("layer_kinds", kinds(listed=False), "list_ignored"),
    ("layer_kinds", kinds(patterned=("gemma2", "gemma3_text", "gemma3n_text", "gpt_oss")), "pattern_everywhere"),
    ("layer_kinds", kinds(patterned=()), "pattern_ignored"),
    ("layer_kinds", kinds(zero=False), "zero_is_absent"),
    ("layer_kinds", kinds(list_needs_flag=True), "flag_before_the_list"),
    ("layer_kinds", kinds(agree=False), "contradiction"),
    ("layer_kinds", kinds(kept=from_the_end), "zero_from_the_end"),
    ("layer_kinds", kinds(some_own=False), "sharing_unchecked"),
    ("layer_kinds", kinds(strange=False), "entries_unchecked"),
    ("layer_kinds", kinds(latent="full"), "latent_is_full"),
    ("layer_kinds", kinds(null=False), "null_window"),
    ("cache_bytes", total(row_factor=2), "factor_two"),
    ("cache_bytes", total(window=lambda tokens, width: min(tokens, width - 1)), "one_row_short"),
    ("cache_bytes", total(window=lambda tokens, width: tokens if tokens <= width else 0), "windows_dropped"),
    ("cache_bytes", total(layers=kinds(window="full")), "windows_ignored"),
    ("cache_bytes", total(layers=kinds(sharing=False)), "sharing_ignored"),
    ("cache_bytes", total(rope=False), "no_rotary_key"),
    ("cache_bytes", total(default=False), "no_default"),
    ("cache_bytes", total(floor=True), "rounds_down"),
    ("state_bytes", state(ssm=2), "all_bf16"),
    ("state_bytes", state(conv=4), "all_fp32"),
    ("state_bytes", state(expand=False), "not_expanded"),
    ("state_bytes", state(conv=0), "no_convolution"),
    ("state_bytes", state(width=4), "width_from_the_file"),
    ("mla_bytes_per_token", mla(lambda config, rank, rope: rank + rank + rope + rope), "factor_two"),
    ("mla_bytes_per_token", mla(lambda config, rank, rope: rank), "no_rotary_key"),
    (
        "mla_bytes_per_token",
        mla(lambda config, rank, rope: rank + sum([rope] * config["num_attention_heads"])),
        "rotary_key_per_head",
    ),
    ("absorbed_scores", scored(lambda dn, dr, r: dn), "scaled_by_nope"),
    ("absorbed_scores", scored(lambda dn, dr, r: r + dr), "scaled_by_rank"),
    ("absorbed_scores", scored(lambda dn, dr, r: 1), "unscaled"),
    ("absorbed_scores", scored(lambda dn, dr, r: dn + dr, rope=0.0), "no_rotary_part"),
    ("absorbed_scores", scored(lambda dn, dr, r: dn + dr, matrix=lambda w, h: w[0]), "first_heads_matrix"),
    ("mean_pool_kv", pooled(lambda g, groups, size: range(g, groups * size, groups)), "dealt_out"),
    ("mean_pool_kv", pooled(lambda g, groups, size: [g * size]), "first_of_each"),
    ("mean_pool_kv", pooled(neighbours, np.sum), "summed"),
    ("mean_pool_kv", pooled(neighbours, checked=False), "divisor_unchecked"),
]

UNRELATED = [
    ("head_width", lambda config: 128),
    ("head_width", lambda config: config.get("head_dim", 64)),
    ("kv_heads", lambda config: 8),
    ("kv_heads", lambda config: [config.get("num_key_value_heads")]),
    ("layer_kinds", lambda config: ["full"]),
    ("layer_kinds", lambda config: "full"),
    ("cache_bytes", lambda config, tokens, bits: tokens * bits),
    ("cache_bytes", total(row_factor=3)),
    ("state_bytes", lambda config, conv_width: 0),
    ("state_bytes", state(ssm=8)),
    ("mla_bytes_per_token", mla(lambda config, rank, rope: 2 * rank + rope)),
    ("absorbed_scores", scored(lambda dn, dr, r: dn + dr, rope=-1.0)),
    ("mean_pool_kv", lambda W, groups, num_kv_heads: W[:groups]),
    ("mean_pool_kv", pooled(neighbours, np.max)),
]


def test_a_refusal_is_shown_in_full_and_without_a_word_on_types():
    from autograde.answers import answer_of
    from autograde.judge import Trial
    from autograde.run import collect

    answer = answer_of("kv_heads")
    trial = Trial(answer, 3, 0)

    def shown(candidate):
        found = trial.judge(collect(answer.exercise, candidate, trial.cases))
        return found.yours, found.expected, found.note

    wanted = "raises ValueError, the message beginning with num_key_value_heads"
    assert shown(heads(null=False))[1:] == (wanted, "")
    assert shown(heads(field_at_fault="`num_key_value_heads`"))[:2] == (
        "raises ValueError, the message beginning with no field",
        wanted,
    )


test_the_same_mistake_in_other_words_gets_the_same_name, test_an_unrelated_error_is_rejected_without_a_name = (
    pair_of_tests(VARIANTS, UNRELATED)
)
