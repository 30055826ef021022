"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

import math
from collections.abc import Callable
from fractions import Fraction

from autograde.exercise import Advice
from kvlab.sizes import bits_to_bytes

TOLERANCE = 1e-12


def product_flops(rows: int, inner: int, columns: int) -> int:
    """FLOPs of a matrix product: a multiplication and an addition for each of its terms."""
    return 2 * rows * inner * columns


def sequence_counts(config: dict, num_params: int, context: int) -> tuple[int, int]:
    """FLOPs of one sequence's token, and the elements of K and V that it reads, head by head."""
    flops, elements = product_flops(1, num_params, 1), 0
    for _layer in range(config["num_hidden_layers"]):
        for _head in range(config["num_attention_heads"]):
            flops += product_flops(1, config["head_dim"], context) + product_flops(1, context, config["head_dim"])
        for _head in range(config["num_key_value_heads"]):
            for _tensor in ("K", "V"):
                elements += context * config["head_dim"]
    return flops, elements


def counted_step(
    config: dict, num_params: int, batch: int, context: int, weight_bits: int, kv_bits: int
) -> tuple[int, int]:
    """FLOPs and bits of a step."""
    flops, elements = sequence_counts(config, num_params, context)
    return sum([flops] * batch), num_params * weight_bits + sum([elements * kv_bits] * batch)


def step_seconds(flops: int, n_bytes: Fraction, peak_flops: int, bandwidth: int) -> Fraction:
    terms = [Fraction(flops, peak_flops), Fraction(n_bytes) / bandwidth]
    return sorted(terms)[-1]


def last_that_holds(holds: Callable[[int], bool]) -> int:
    """The last of 0, 1, 2, … for which `holds`, which is true at first and false from some number on: by bisection."""
    good, bad = 0, 1
    while holds(bad):
        good, bad = bad, 2 * bad
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def attention_flops(config: dict) -> int:
    """FLOPs of attention with one cached token."""
    return 4 * config["num_hidden_layers"] * config["num_attention_heads"] * config["head_dim"]


def row_elements(config: dict) -> int:
    """Cached elements of one token."""
    return 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"]


def kv_heads_everywhere(config: dict) -> dict:
    return config | {"num_attention_heads": config["num_key_value_heads"]}


def query_heads_everywhere(config: dict) -> dict:
    return config | {"num_key_value_heads": config["num_attention_heads"]}


def head_dim_divided(config: dict) -> dict:
    return config | {"head_dim": config["hidden_size"] // config["num_attention_heads"]}


def step_flops(c, n, b, s, w, k):
    return b * (2 * n + s * attention_flops(c))


def step_bits(c, n, b, s, w, k):
    return n * w + b * s * row_elements(c) * k


def step_with(flops=step_flops, bits=step_bits, to_bytes=bits_to_bytes):
    return lambda *step: (flops(*step), to_bytes(bits(*step)))


def flops_with(attention, per_param=2):
    return lambda c, n, b, s, w, k: b * (per_param * n + s * attention(c))


STEPS = {
    "flop_per_multiply_add": step_with(flops_with(lambda c: attention_flops(c) // 2, per_param=1)),
    "attention_kv_heads": step_with(flops_with(lambda c: attention_flops(kv_heads_everywhere(c)))),
    "flop_per_parameter": step_with(flops_with(attention_flops, per_param=1)),
    "attention_by_hidden_size": step_with(flops_with(lambda c: attention_flops(head_dim_divided(c)))),
    "attention_dropped": step_with(flops_with(lambda c: 0)),
    "attention_of_one": step_with(lambda c, n, b, s, w, k: 2 * b * n + s * attention_flops(c)),
    "scores_only": step_with(flops_with(lambda c: attention_flops(c) // 2)),
    "one_token_attention": step_with(lambda c, n, b, s, w, k: b * (2 * n + attention_flops(c))),
    "old_tokens_again": step_with(lambda c, n, b, s, w, k: b * s * (2 * n + s * attention_flops(c))),
    "flops_of_one": step_with(lambda c, n, b, s, w, k: 2 * n + s * attention_flops(c)),
    "weights_per_sequence": step_with(bits=lambda c, n, b, s, w, k: b * (n * w + s * row_elements(c) * k)),
    "rows_read_once": step_with(bits=lambda c, n, b, s, w, k: n * w + s * row_elements(c) * k),
    "k_only": step_with(bits=lambda c, n, b, s, w, k: n * w + b * s * row_elements(c) * k // 2),
    "query_heads": step_with(bits=lambda c, *rest: step_bits(query_heads_everywhere(c), *rest)),
    "hidden_over_heads": lambda c, *rest: step_with()(head_dim_divided(c), *rest),
    "one_row_only": step_with(bits=lambda c, n, b, s, w, k: n * w + b * row_elements(c) * k),
    "weights_dropped": step_with(bits=lambda c, n, b, s, w, k: b * s * row_elements(c) * k),
    "cache_dropped": step_with(bits=lambda c, n, b, s, w, k: n * w),
    "cache_at_weight_bits": step_with(bits=lambda c, n, b, s, w, k: step_bits(c, n, b, s, w, w)),
    "weights_at_cache_bits": step_with(bits=lambda c, n, b, s, w, k: step_bits(c, n, b, s, k, k)),
    "always_two_bytes": step_with(bits=lambda c, n, b, s, w, k: step_bits(c, n, b, s, 16, 16)),
}


def ratio_of(step):
    def intensity(*arguments):
        flops, n_bytes = step(*arguments)
        return flops / n_bytes

    return intensity


def token_bits(config: dict, kv_bits: int) -> int:
    return row_elements(config) * kv_bits


def token_bytes_up(config: dict, kv_bits: int) -> int:
    """Bits of a token in whole bytes."""
    return 8 * bits_to_bytes(token_bits(config, kv_bits))


def token_bytes_down(config: dict, kv_bits: int) -> int:
    return token_bits(config, kv_bits) // 8 * 8


def cost_by_layers(config, num_params, batch, context, weight_bits, kv_bits):
    flops, bits = 2 * num_params * batch, num_params * weight_bits
    for _ in range(config["num_hidden_layers"]):
        flops += batch * config["num_attention_heads"] * context * config["head_dim"] * 4
        bits += batch * config["num_key_value_heads"] * context * config["head_dim"] * 2 * kv_bits
    whole, rest = divmod(bits, 8)
    return flops, whole + (rest > 0)


def cost_by_group(config, num_params, batch, context, weight_bits, kv_bits):
    """From the cached elements: each is met by the query heads of its group, at two FLOPs."""
    elements = batch * context * row_elements(config)
    group = config["num_attention_heads"] // config["num_key_value_heads"]
    n_bytes = math.ceil(Fraction(num_params * weight_bits + elements * kv_bits, 8))
    return [2 * (batch * num_params + group * elements), n_bytes]


def intensity_by_shares(config, num_params, batch, context, weight_bits, kv_bits):
    """A mean of the weights' intensity and of the rows', by their bits."""
    weights, rows = num_params * weight_bits, batch * context * row_elements(config) * kv_bits
    group = config["num_attention_heads"] / config["num_key_value_heads"]
    return (weights * 16 * batch / weight_bits + rows * 16 * group / kv_bits) / (weights + rows)


def bound_by_ridge(flops, n_bytes, peak_flops, bandwidth):
    if flops * bandwidth > n_bytes * peak_flops:
        return flops / peak_flops
    return n_bytes / bandwidth


FLOP_PER_MULTIPLY_ADD = Advice(
    "Did you count a multiplication and its addition as one operation?",
    (
        "How many operations does a weight cost: it is multiplied, and then?",
        "A term of a dot product is one multiplication and one addition: 2 FLOPs. Makers count like this, too.",
        "2 FLOPs for each parameter, 4 for each query head, element and cached token.",
    ),
)
ATTENTION_KV_HEADS = Advice(
    "Did you count the work of attention by the KV heads?",
    (
        "With 32 query heads on 8 KV heads, how many rows of scores are computed?",
        "Shared keys are read once, but every query head computes with them.",
        "Use num_attention_heads in the FLOPs, num_key_value_heads in the bytes.",
    ),
)
FLOP_PER_PARAMETER = Advice(
    "Did you count one FLOP for each parameter?",
    (
        "How many operations does a weight cost: it is multiplied, and then?",
        "A multiplication and its addition are 2 FLOPs, with a parameter as in attention.",
        "2 · num_params for each sequence.",
    ),
)
ATTENTION_DROPPED = Advice(
    "Did you leave out the work of attention?",
    (
        "Do your FLOPs grow with the context?",
        "Each query meets every cached token: a score with its key, and a share of its value.",
        "Add 4 · layers · query heads · head width · context for each sequence.",
    ),
)
SCORES_ONLY = Advice(
    "Did you count the scores, and not the weighted sum of the values?",
    (
        "What is done with the softmax's weights?",
        "Attention is two products: queries with keys, and weights with values. Both are as large.",
        "2 FLOPs for the score and 2 for the value: 4 · layers · query heads · head width · context.",
    ),
)
ONE_TOKEN_ATTENTION = Advice(
    "Did you let the query meet one cached token alone?",
    (
        "How many keys does a query meet?",
        "Each of the context's tokens has a key and a value.",
        "Multiply the work of attention by the context.",
    ),
)
FLOPS_OF_ONE = Advice(
    "Did you count the work of one sequence, although the step computes a token of each?",
    (
        "How do your FLOPs change with the batch?",
        "A weight is read once and used for every sequence.",
        "Multiply the FLOPs by the batch.",
    ),
)
WEIGHTS_PER_SEQUENCE = Advice(
    "Did you read the weights once for every sequence?",
    (
        "What is a batch for?",
        "All sequences are multiplied by the same weight while it is there: one read for the whole batch.",
        "num_params * weight_bits, without the batch.",
    ),
)
ROWS_READ_ONCE = Advice(
    "Did you read one sequence's rows for the whole batch?",
    (
        "Whose keys does the second sequence read?",
        "Sequences share weights. Their rows are their own.",
        "Multiply the cached elements by the batch.",
    ),
)
K_ONLY = Advice(
    "Did you read one of the two tensors that each layer keeps?",
    (
        "What does attention read after the keys?",
        "A row of K and a row of V, in every layer.",
        "2 · layers · KV heads · head width elements for each token.",
    ),
)
QUERY_HEADS = Advice(
    "Did you take the query heads for the heads that are stored?",
    (
        "Which heads leave rows behind?",
        "The FLOPs go by query heads, the bytes by KV heads.",
        "2 · layers · num_key_value_heads · head_dim elements for each token.",
    ),
)
HIDDEN_OVER_HEADS = Advice(
    "Did you derive the head width from hidden_size, although the config states head_dim?",
    (
        "Compare hidden_size / num_attention_heads with head_dim.",
        "A model may choose a head width of its own.",
        'Use config["head_dim"].',
    ),
)
ONE_ROW_ONLY = Advice(
    "Did you read one row for each sequence?",
    (
        "Which rows does a query meet?",
        "Reading one row is what a context of one token does.",
        "Multiply the cached elements by the context.",
    ),
)
WEIGHTS_DROPPED = Advice(
    "Did you leave out the weights?",
    (
        "What does a step read, whatever the batch?",
        "No cache on the chip holds gigabytes: each step reads all weights anew.",
        "Add num_params * weight_bits.",
    ),
)
CACHE_DROPPED = Advice(
    "Did you leave out the cached rows?",
    (
        "Does your number change with the context?",
        "Beside the weights a step reads every cached row of each of its sequences.",
        "Add batch · context · cached elements of a token · kv_bits.",
    ),
)
CACHE_AT_WEIGHT_BITS = Advice(
    "Did you read the cache in elements as wide as the weights?",
    (
        "Which of the arguments does your answer never use?",
        "Weights and cache are stored apart, and each has its own width.",
        "Use kv_bits for the cached elements.",
    ),
)
WEIGHTS_AT_CACHE_BITS = Advice(
    "Did you read the weights in elements as wide as the cache's?",
    (
        "Which of the arguments does your answer never use?",
        "Weights and cache are stored apart, and each has its own width.",
        "Use weight_bits for the parameters.",
    ),
)
ALWAYS_TWO_BYTES = Advice(
    "Did you take every element for two bytes?",
    (
        "Which of the arguments does your answer never use?",
        "16 bits are two bytes, 8 are one, 4 are half of one.",
        "Multiply by the bits that are passed, and divide by eight at the end.",
    ),
)
FLOAT_ROUNDING = Advice(
    "Does a float carry your number somewhere on its way, and lose the last digits of a large one?",
    (
        "Compare the last digits of yours and of the expected number.",
        "A float holds whole numbers exactly only up to 2**53. `/` makes one.",
        "Stay with integers: `//` instead of `/`, and no float constant.",
    ),
)
PER_ELEMENT = Advice(
    "Did you divide by elements, where bytes were wanted?",
    (
        "How many bytes does a 16-bit parameter take?",
        "2 FLOPs for each parameter of two bytes are 1 FLOP/byte, not 2.",
        "Divide by the bytes of decode_cost.",
    ),
)
PER_BIT = Advice(
    "Did you divide by bits, where bytes were wanted?",
    (
        "Your number is eight times too small. Why eight?",
        "There are eight bits in a byte.",
        "Divide by the bytes of decode_cost.",
    ),
)
SUM = Advice(
    "Did you add the two terms?",
    (
        "Must memory wait until the arithmetic is done?",
        "A device reads ahead while it computes. At the best the two overlap completely.",
        "The larger of the two: max.",
    ),
)
MINIMUM = Advice(
    "Did you take the shorter of the two terms?",
    (
        "Can a step end before its weights were read?",
        "Both terms are bounds from below, so the larger one counts.",
        "max instead of min.",
    ),
)
WHOLE_BYTES_PER_TOKEN = Advice(
    "Did you round one token up to whole bytes?",
    (
        "How many bytes do two tokens of 12.5 bytes take?",
        "Over many tokens, half a byte of each adds up.",
        "Count a token in bits, and round nothing before the end.",
    ),
)
PART_OF_A_BYTE_DROPPED = Advice(
    "Did you round one token down to whole bytes?",
    (
        "How many bytes do two tokens of 12.5 bytes take?",
        "Over many tokens, half a byte of each adds up.",
        "Count a token in bits, and round nothing before the end.",
    ),
)
ROUNDS_UP = Advice(
    "Did you round up?",
    (
        "Put your answer into the condition of the exercise. Does it hold?",
        "The last whole number for which it holds lies below the exact solution, or on it.",
        "`//` rounds down.",
    ),
)
ONE_MORE = Advice(
    "Did you give the first number for which it holds no more?",
    (
        "Put your answer into the condition of the exercise. Does it hold?",
        "The last for which it holds was wanted.",
        "One less.",
    ),
)
ONE_LESS = Advice(
    "Did you leave out the number for which the two sides are equal?",
    (
        "What does your function give where the division leaves no rest?",
        "Equal is allowed.",
        "`//` alone, without a step back.",
    ),
)
