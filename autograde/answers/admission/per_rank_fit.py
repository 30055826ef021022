"""`per_rank_fit`: what is right, which mistakes are known, and what to say about them."""

from fractions import Fraction
from math import ceil, floor

from autograde.answers.admission.shared import REFUSED, WIDTH_DIVIDED
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised


def _heads_read(heads: int, kv_heads: int, tp: int) -> list[set[int]]:
    """For each rank the KV heads that its query heads read."""
    per_rank = heads // tp
    return [{q * kv_heads // heads for q in range(r * per_rank, (r + 1) * per_rank)} for r in range(tp)]


def _shares(case: Case) -> dict | Raised:
    """From the query heads of each rank to the KV heads that they read."""
    config, params, tp, device, reserve, context, *bits = case.inputs.values()
    weight_bits, kv_bits = bits or (16, 16)
    if config["num_attention_heads"] % tp:
        return REFUSED
    if "kv_lora_rank" in config:
        heads, widths = None, [config["kv_lora_rank"], config["qk_rope_head_dim"]]
    else:
        read = _heads_read(config["num_attention_heads"], config["num_key_value_heads"], tp)
        whole = sum(map(len, read)) == config["num_key_value_heads"]
        if not whole and any(len(each) > 1 for each in read):
            return REFUSED
        heads = len(read[0])
        widths = [config["head_dim"]] * heads * 2
    per_token = sum(sum(widths) * kv_bits for _ in range(config["num_hidden_layers"])) // 8
    weights = ceil(Fraction(params * weight_bits, 8 * tp))
    room = Fraction(device - reserve - weights, context * per_token)
    requests = max(0, floor(room))
    return {"weight_bytes": weights, "kv_heads": heads, "kv_bytes_per_token": per_token, "requests": requests}


def _indivisible(stored, tp):
    if stored % tp and tp % stored:
        raise ValueError(f"{stored} KV heads cannot be shared out to {tp} ranks")


def _per_rank(
    query=True,
    heads=lambda stored, tp: max(1, stored // tp),
    indivisible=_indivisible,
    stored="num_key_value_heads",
    latent="whole",
    weights=lambda bits, tp: -(-bits // (8 * tp)),
    bits=lambda weight_bits, kv_bits: (weight_bits, kv_bits),
    width=lambda config: config["head_dim"],
    room=lambda device, reserve, weights, tp: max(0, device - reserve - weights),
    requests=lambda room, size: room // size,
    factor=2,
    bits_of=8,
):
    """The fit of a rank, right as it stands; each argument is a mistake."""

    def per_rank_fit(config, params, tp, device, reserve, context, weight_bits=16, kv_bits=16):
        if query and config["num_attention_heads"] % tp:
            raise ValueError("query heads cannot be shared out")
        weight_bits, kv_bits = bits(weight_bits, kv_bits)
        if "kv_lora_rank" in config and latent != "as heads":
            count, elements = None, config["kv_lora_rank"] + config["qk_rope_head_dim"]
            elements = {"twice": 2 * elements, "divided": elements // tp, "no key": config["kv_lora_rank"]}.get(
                latent, elements
            )
        else:
            indivisible(config[stored], tp)
            count = heads(config[stored], tp)
            elements = int(factor * count * width(config))
        per_token = config["num_hidden_layers"] * elements * kv_bits // bits_of
        mine = weights(params * weight_bits, tp)
        fit = requests(room(device, reserve, mine, tp), context * per_token)
        return {"weight_bytes": mine, "kv_heads": count, "kv_bytes_per_token": per_token, "requests": fit}

    return per_rank_fit


def _anything_goes(stored, tp):
    pass


def _no_replication(stored, tp):
    if stored % tp:
        raise ValueError


def _fit_by_fractions(config, params, tp, device, reserve, context, weight_bits=16, kv_bits=16):
    """Right: ranks per head, or heads per rank, as one fraction."""
    if Fraction(config["num_attention_heads"], tp).denominator > 1:
        raise ValueError
    if config.get("kv_lora_rank"):
        heads, elements = None, config["kv_lora_rank"] + config["qk_rope_head_dim"]
    else:
        share = Fraction(config["num_key_value_heads"], tp)
        if 1 not in (share.numerator, share.denominator):
            raise ValueError
        heads = share.numerator
        elements = heads * config["head_dim"] * 2
    token = elements * config["num_hidden_layers"] * kv_bits // 8
    weights = (params * weight_bits + 8 * tp - 1) // (8 * tp)
    fit = 0 if device < reserve + weights else (device - reserve - weights) // (token * context)
    return {"requests": fit, "kv_bytes_per_token": token, "kv_heads": heads, "weight_bytes": weights}


ANSWER = Answer(
    exercise=exercise("per_rank_fit"),
    expected=_shares,
    misconceptions=(
        Misconception(
            "weights_on_every_rank",
            _per_rank(weights=lambda bits, tp: -(-bits // 8)),
            Advice(
                "Did you put all weights on every rank?",
                (
                    "Why does anybody use several devices for one model?",
                    "Tensor parallelism splits the weights.",
                    "Divide the bits by 8 * tp, and round up.",
                ),
            ),
        ),
        Misconception(
            "weights_rounded_down",
            _per_rank(weights=lambda bits, tp: bits // (8 * tp)),
            Advice(
                "Did you round the weights of a rank down?",
                (
                    "Seven bytes on two ranks: how many must a rank have room for?",
                    "Somebody holds the rest.",
                    "-(-num_params * weight_bits // (8 * tp)).",
                ),
            ),
        ),
        Misconception(
            "kv_heads_on_every_rank",
            _per_rank(heads=lambda stored, tp: stored),
            Advice(
                "Did you keep all KV heads on every rank?",
                (
                    "Which KV heads do the query heads of one rank read?",
                    "A rank needs the KV heads of its own query heads.",
                    "max(1, num_key_value_heads // tp).",
                ),
            ),
        ),
        Misconception(
            "fraction_of_a_head",
            _per_rank(heads=lambda stored, tp: Fraction(stored, tp)),
            Advice(
                "Did you give a rank a part of a KV head?",
                (
                    "Twelve ranks, six KV heads: what does one rank store?",
                    "A query head reads whole keys, so that the head is replicated.",
                    "max(1, num_key_value_heads // tp).",
                ),
            ),
        ),
        Misconception(
            "no_head_at_all",
            _per_rank(heads=lambda stored, tp: stored // tp),
            Advice(
                "Did whole-number division leave a rank without a KV head, so that a token has 0 bytes?",
                (
                    "6 // 12 is 0. What do the query heads of that rank read?",
                    "Beyond one head per rank the heads are replicated.",
                    "max(1, num_key_value_heads // tp).",
                ),
            ),
        ),
        Misconception(
            "indivisible_kv_heads",
            _per_rank(indivisible=_anything_goes),
            Advice(
                "Did you share out KV heads that cannot be shared out evenly?",
                (
                    "Six KV heads on four ranks. What does each one hold?",
                    "Either tp divides the KV heads, or the KV heads divide tp.",
                    "if kv_heads % tp and tp % kv_heads: raise ValueError(…).",
                ),
            ),
        ),
        Misconception(
            "replication_refused",
            _per_rank(indivisible=_no_replication),
            Advice(
                "Do you refuse more ranks than there are KV heads?",
                (
                    "What can two ranks do that need the same KV head?",
                    "Both can store it: that costs memory, and it works.",
                    "Refuse only if kv_heads % tp and tp % kv_heads.",
                ),
            ),
        ),
        Misconception(
            "indivisible_query_heads",
            _per_rank(query=False),
            Advice(
                "Do you accept query heads that cannot be shared out?",
                (
                    "Twelve query heads on eight ranks. What does each one compute?",
                    "tp must divide the query heads, whatever the KV heads say.",
                    "if num_attention_heads % tp: raise ValueError(…).",
                ),
            ),
        ),
        Misconception(
            "query_heads_stored",
            _per_rank(stored="num_attention_heads"),
            Advice(
                "Did you store K and V of every query head?",
                (
                    "Which heads have keys and values?",
                    "A group of query heads shares one KV head.",
                    "Use num_key_value_heads.",
                ),
                source="hahnyuan/LLM-Viewer#12: the cache of a grouped-query model was sized by its query heads.",
            ),
        ),
        Misconception(
            "width_divided",
            _per_rank(width=lambda config: config["hidden_size"] // config["num_attention_heads"]),
            WIDTH_DIVIDED,
        ),
        Misconception(
            "latent_divided",
            _per_rank(latent="divided"),
            Advice(
                "Did you split the latent over the ranks?",
                (
                    "Which query heads read the latent?",
                    "All do, so that every rank needs it whole.",
                    "(kv_lora_rank + qk_rope_head_dim) elements per layer and token, whatever tp is.",
                ),
            ),
        ),
        Misconception(
            "latent_as_heads",
            _per_rank(latent="as heads"),
            Advice(
                "Did you count KV heads in a model that stores a latent?",
                (
                    "What does kv_lora_rank in a config say?",
                    "Keys and values are made from the latent when they are needed.",
                    'if "kv_lora_rank" in config: no heads, one latent and one rotary key.',
                ),
            ),
        ),
        Misconception(
            "latent_twice",
            _per_rank(latent="twice"),
            Advice(
                "Did you count the latent twice, for K and for V?",
                (
                    "How many latents does a token have in a layer?",
                    "Keys and values come from the same latent.",
                    "No factor 2.",
                ),
            ),
        ),
        Misconception(
            "rotary_key_forgotten",
            _per_rank(latent="no key"),
            Advice(
                "Did you leave out the rotary key beside the latent?",
                (
                    "Which part of a key knows its position?",
                    "It does not go through the latent, so that it is stored beside it.",
                    "kv_lora_rank + qk_rope_head_dim.",
                ),
            ),
        ),
        Misconception(
            "reserve_forgotten",
            _per_rank(room=lambda device, reserve, weights, tp: max(0, device - weights)),
            Advice(
                "Did you leave the reserve out?",
                (
                    "What besides weights and cache lies on a rank?",
                    "reserve_bytes is kept on each rank.",
                    "device_bytes - reserve_bytes - weights.",
                ),
            ),
        ),
        Misconception(
            "reserve_divided",
            _per_rank(room=lambda device, reserve, weights, tp: max(0, device - reserve // tp - weights)),
            Advice(
                "Did you split the reserve over the ranks?",
                (
                    "Does every device run a runtime of its own?",
                    "reserve_bytes is a number for one rank already.",
                    "device_bytes - reserve_bytes - weights.",
                ),
            ),
        ),
        Misconception(
            "negative_requests",
            _per_rank(room=lambda device, reserve, weights, tp: device - reserve - weights),
            Advice(
                "Did you return a negative number of requests?",
                (
                    "What if the weights do not fit?",
                    "Then no request does.",
                    "max(0, room) // (context * per_token).",
                ),
            ),
        ),
        Misconception(
            "one_width_of_bits",
            _per_rank(bits=lambda weight_bits, kv_bits: (weight_bits, weight_bits)),
            Advice(
                "Did you use the bits of the weights for the cache as well?",
                (
                    "Which of the two widths belongs to K and V?",
                    "Weights and cache can be stored in different types.",
                    "kv_bits for the cache, weight_bits for the weights.",
                ),
            ),
        ),
        Misconception(
            "kv_bits_ignored",
            _per_rank(bits=lambda weight_bits, kv_bits: (weight_bits, 16)),
            Advice(
                "Does your cache have 16 bits whatever kv_bits says?",
                (
                    "What changes when the cache is stored in FP8?",
                    "An element of the cache has kv_bits bits.",
                    "elements * kv_bits // 8.",
                ),
            ),
        ),
        Misconception(
            "bits_as_bytes",
            _per_rank(weights=lambda bits, tp: -(-bits // tp), bits_of=1),
            Advice(
                "Did you take bits for bytes?",
                (
                    "How many bits has a byte?",
                    "weight_bits and kv_bits count bits, and all that you return counts bytes.",
                    "Divide by 8 wherever bits become bytes.",
                ),
            ),
        ),
        Misconception(
            "cache_bits_as_bytes",
            _per_rank(bits_of=1),
            Advice(
                "Did you take the bits of the cache for bytes?",
                (
                    "How many bits has a byte?",
                    "kv_bits counts bits, and kv_bytes_per_token counts bytes.",
                    "elements * kv_bits // 8.",
                ),
            ),
        ),
        Misconception(
            "keys_without_values",
            _per_rank(factor=1),
            Advice(
                "Did you store one element where K and V are two?",
                (
                    "What is cached for each KV head and token?",
                    "A key and a value, each of head_dim elements.",
                    "2 * heads * head_dim elements per layer.",
                ),
            ),
        ),
        Misconception(
            "requests_rounded_up",
            _per_rank(requests=lambda room, size: -(-room // size)),
            Advice(
                "Did you round the requests up?",
                (
                    "Is a part of a request served?",
                    "Only whole requests fit.",
                    "room // (context * per_token).",
                ),
            ),
        ),
    ),
    alternatives=(_fit_by_fractions, _per_rank(heads=lambda stored, tp: -(-stored // tp))),
    hints=(
        "Two refusals first, then three numbers, then a floor.",
        "KV heads of a rank: num_key_value_heads // tp, but at least one; a latent is not split.",
        "Per token 2 * layers * heads * head_dim * kv_bits // 8; weights -(-num_params * weight_bits // (8 * tp)).",
    ),
)
