"""Lesson 09: what is right, counted product by product or found by search, and the mistakes that people make.

A wrong answer is put together from the right parts, with one of them changed.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from autograde.exercise import Answer, Case, Misconception
from autograde.exercises.roofline import EXERCISES

TOLERANCE = 1e-12

# ---------------------------------------------------------------------------
# Oracles


def _product(rows: int, inner: int, columns: int) -> int:
    """FLOPs of a matrix product: a multiplication and an addition for each of its terms."""
    return 2 * rows * inner * columns


def _sequence(card: dict, num_params: int, context: int) -> tuple[int, int]:
    """FLOPs of one sequence's token, and the elements of K and V that it reads, head by head."""
    flops, elements = _product(1, num_params, 1), 0
    for _layer in range(card["num_hidden_layers"]):
        for _head in range(card["num_attention_heads"]):
            flops += _product(1, card["head_dim"], context) + _product(1, context, card["head_dim"])
        for _head in range(card["num_key_value_heads"]):
            for _tensor in ("K", "V"):
                elements += context * card["head_dim"]
    return flops, elements


def _counted(card: dict, num_params: int, batch: int, context: int, weight_bits: int, kv_bits: int) -> tuple[int, int]:
    """FLOPs and bits of a step."""
    flops, elements = _sequence(card, num_params, context)
    return sum([flops] * batch), num_params * weight_bits + sum([elements * kv_bits] * batch)


def _cost(case: Case) -> list[int]:
    flops, bits = _counted(**case.inputs)
    return [flops, math.ceil(Fraction(bits, 8))]


def _ratio(case: Case) -> float:
    flops, bits = _counted(**case.inputs)
    return float(Fraction(8 * flops, bits))


def _limit(case: Case) -> float:
    """One sequence more, in a batch of any size: what it adds to the FLOPs, over what it adds to the bits."""
    sizes = case.inputs
    counts = [
        _counted(sizes["card"], sizes["num_params"], batch, sizes["context"], 16, sizes["kv_bits"]) for batch in (7, 8)
    ]
    flops, bits = (many - few for few, many in zip(*counts, strict=True))
    return float(8 * Fraction(flops, bits))


def _seconds(flops: int, n_bytes: Fraction, peak_flops: int, bandwidth: int) -> Fraction:
    terms = [Fraction(flops, peak_flops), Fraction(n_bytes) / bandwidth]
    return sorted(terms)[-1]


def _bound(case: Case) -> float:
    flops, n_bytes, peak, bandwidth = case.inputs.values()
    return float(_seconds(flops, n_bytes, peak, bandwidth))


def _gain(case: Case) -> float:
    """Tokens per second of the batch, divided by those of one sequence."""
    *_, peak, bandwidth = case.inputs.values()
    rates = []
    for batch in (1, case.inputs["batch"]):
        step = {name: case.inputs[name] for name in ("card", "num_params", "context", "weight_bits", "kv_bits")}
        flops, bits = _counted(batch=batch, **step)
        rates.append(batch / _seconds(flops, Fraction(bits, 8), peak, bandwidth))
    return float(rates[1] / rates[0])


def _last(holds: Callable[[int], bool]) -> int:
    """The last of 0, 1, 2, … for which `holds`, which is true at first and false from some number on: by bisection."""
    good, bad = 0, 1
    while holds(bad):
        good, bad = bad, 2 * bad
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def _most_tokens(case: Case) -> int:
    sizes = case.inputs
    _, row = _sequence(sizes["card"], 0, 1)
    return _last(lambda tokens: tokens * row * sizes["kv_bits"] <= sizes["num_params"] * sizes["weight_bits"])


def _longest_context(case: Case) -> int | None:
    sizes = case.inputs
    work, _ = _sequence(sizes["card"], sizes["num_params"], 0)
    flops, elements = _sequence(sizes["card"], 0, 1)  # what each cached token adds
    bits = elements * sizes["kv_bits"]

    def has_it(context: int) -> bool:
        return 8 * (work + context * flops) >= sizes["target"] * context * bits

    # The ceiling falls with the context. One that holds here holds for good: the parameters have no say any more.
    return None if has_it(10**60) else _last(has_it)


# ---------------------------------------------------------------------------
# Right parts, and wrong answers with one of them changed


def _attention(card: dict) -> int:
    """FLOPs of attention with one cached token."""
    return 4 * card["num_hidden_layers"] * card["num_attention_heads"] * card["head_dim"]


def _row(card: dict) -> int:
    """Cached elements of one token."""
    return 2 * card["num_hidden_layers"] * card["num_key_value_heads"] * card["head_dim"]


def _kv_heads_everywhere(card: dict) -> dict:
    return card | {"num_attention_heads": card["num_key_value_heads"]}


def _query_heads_everywhere(card: dict) -> dict:
    return card | {"num_key_value_heads": card["num_attention_heads"]}


def _divided(card: dict) -> dict:
    return card | {"head_dim": card["hidden_size"] // card["num_attention_heads"]}


def _flops(c, n, b, s, w, k):
    return b * (2 * n + s * _attention(c))


def _bits(c, n, b, s, w, k):
    return n * w + b * s * _row(c) * k


def _up(bits):
    return -(-bits // 8)


def _step(flops=_flops, bits=_bits, to_bytes=_up):
    return lambda *step: (flops(*step), to_bytes(bits(*step)))


def _one_token_more(c, n, b, s, w, k):
    return _step()(c, n, b, s + 1, w, k)


def _flops_with(attention, per_param=2):
    return lambda c, n, b, s, w, k: b * (per_param * n + s * attention(c))


STEPS = {
    "flop_per_multiply_add": _step(_flops_with(lambda c: _attention(c) // 2, per_param=1)),
    "attention_kv_heads": _step(_flops_with(lambda c: _attention(_kv_heads_everywhere(c)))),
    "flop_per_parameter": _step(_flops_with(_attention, per_param=1)),
    "attention_by_hidden_size": _step(_flops_with(lambda c: _attention(_divided(c)))),
    "attention_dropped": _step(_flops_with(lambda c: 0)),
    "attention_of_one": _step(lambda c, n, b, s, w, k: 2 * b * n + s * _attention(c)),
    "scores_only": _step(_flops_with(lambda c: _attention(c) // 2)),
    "one_token_attention": _step(lambda c, n, b, s, w, k: b * (2 * n + _attention(c))),
    "old_tokens_again": _step(lambda c, n, b, s, w, k: b * s * (2 * n + s * _attention(c))),
    "flops_of_one": _step(lambda c, n, b, s, w, k: 2 * n + s * _attention(c)),
    "weights_per_sequence": _step(bits=lambda c, n, b, s, w, k: b * (n * w + s * _row(c) * k)),
    "rows_read_once": _step(bits=lambda c, n, b, s, w, k: n * w + s * _row(c) * k),
    "k_only": _step(bits=lambda c, n, b, s, w, k: n * w + b * s * _row(c) * k // 2),
    "query_heads": _step(bits=lambda c, *rest: _bits(_query_heads_everywhere(c), *rest)),
    "hidden_over_heads": lambda c, *rest: _step()(_divided(c), *rest),
    "one_row_only": _step(bits=lambda c, n, b, s, w, k: n * w + b * _row(c) * k),
    "weights_dropped": _step(bits=lambda c, n, b, s, w, k: b * s * _row(c) * k),
    "cache_dropped": _step(bits=lambda c, n, b, s, w, k: n * w),
    "cache_at_weight_bits": _step(bits=lambda c, n, b, s, w, k: _bits(c, n, b, s, w, w)),
    "weights_at_cache_bits": _step(bits=lambda c, n, b, s, w, k: _bits(c, n, b, s, k, k)),
    "always_two_bytes": _step(bits=lambda c, n, b, s, w, k: _bits(c, n, b, s, 16, 16)),
}

SAID: dict[str, tuple[str, tuple[str, str, str]]] = {
    "flop_per_multiply_add": (
        "Did you count a multiplication and its addition as one operation?",
        (
            "How many operations does a weight cost: it is multiplied, and then?",
            "A term of a dot product is one multiplication and one addition: 2 FLOPs. Makers count like this, too.",
            "2 FLOPs for each parameter, 4 for each query head, element and cached token.",
        ),
    ),
    "flop_per_parameter": (
        "Did you count one FLOP for each parameter?",
        (
            "How many operations does a weight cost: it is multiplied, and then?",
            "A multiplication and its addition are 2 FLOPs, with a parameter as in attention.",
            "2 · num_params for each sequence.",
        ),
    ),
    "attention_by_hidden_size": (
        "Did you count the work of attention by hidden_size?",
        (
            "Compare num_attention_heads * head_dim with hidden_size.",
            "A query has head_dim elements in each head, and a model may choose that width freely.",
            "4 · layers · query heads · head_dim · context for each sequence.",
        ),
    ),
    "attention_of_one": (
        "Did you multiply the work with the parameters by the batch, and that of attention not?",
        (
            "Which part of your FLOPs grows with the batch?",
            "Each sequence has a query of its own, which meets that sequence's tokens.",
            "batch * (2 · num_params + attention)",
        ),
    ),
    "one_token_more": (
        "Did you add the new token to the context, which counts it already?",
        (
            "What does the docstring say about the context?",
            "The new token's own row is among the context's.",
            "Use context as it is passed.",
        ),
    ),
    "attention_kv_heads": (
        "Did you count the work of attention by the KV heads?",
        (
            "With 32 query heads on 8 KV heads, how many rows of scores are computed?",
            "Shared keys are read once, but every query head computes with them.",
            "Use num_attention_heads in the FLOPs, num_key_value_heads in the bytes.",
        ),
    ),
    "attention_dropped": (
        "Did you leave out the work of attention?",
        (
            "Do your FLOPs grow with the context?",
            "Each query meets every cached token: a score with its key, and a share of its value.",
            "Add 4 · layers · query heads · head width · context for each sequence.",
        ),
    ),
    "scores_only": (
        "Did you count the scores, and not the weighted sum of the values?",
        (
            "What is done with the softmax's weights?",
            "Attention is two products: queries with keys, and weights with values. Both are as large.",
            "2 FLOPs for the score and 2 for the value: 4 · layers · query heads · head width · context.",
        ),
    ),
    "one_token_attention": (
        "Did you let the query meet one cached token alone?",
        (
            "How many keys does a query meet?",
            "Each of the context's tokens has a key and a value.",
            "Multiply the work of attention by the context.",
        ),
    ),
    "old_tokens_again": (
        "Did you send every cached token through the model again?",
        (
            "What does the cache save?",
            "A decode step computes one token of each sequence; the old ones only lend their rows.",
            "2 · num_params for a sequence, whatever its context.",
        ),
    ),
    "flops_of_one": (
        "Did you count the work of one sequence, although the step computes a token of each?",
        (
            "How do your FLOPs change with the batch?",
            "A weight is read once and used for every sequence.",
            "Multiply the FLOPs by the batch.",
        ),
    ),
    "weights_per_sequence": (
        "Did you read the weights once for every sequence?",
        (
            "What is a batch for?",
            "All sequences are multiplied by the same weight while it is there: one read for the whole batch.",
            "num_params * weight_bits, without the batch.",
        ),
    ),
    "rows_read_once": (
        "Did you read one sequence's rows for the whole batch?",
        (
            "Whose keys does the second sequence read?",
            "Sequences share weights. Their rows are their own.",
            "Multiply the cached elements by the batch.",
        ),
    ),
    "k_only": (
        "Did you read one of the two tensors that each layer keeps?",
        (
            "What does attention read after the keys?",
            "A row of K and a row of V, in every layer.",
            "2 · layers · KV heads · head width elements for each token.",
        ),
    ),
    "query_heads": (
        "Did you take the query heads for the heads that are stored?",
        (
            "Which heads leave rows behind?",
            "The FLOPs go by query heads, the bytes by KV heads.",
            "2 · layers · num_key_value_heads · head_dim elements for each token.",
        ),
    ),
    "hidden_over_heads": (
        "Did you derive the head width from hidden_size, although the card states head_dim?",
        (
            "Compare hidden_size / num_attention_heads with head_dim.",
            "A model may choose a head width of its own.",
            'Use card["head_dim"].',
        ),
    ),
    "one_row_only": (
        "Did you read one row for each sequence?",
        (
            "Which rows does a query meet?",
            "Reading one row is what a context of one token does.",
            "Multiply the cached elements by the context.",
        ),
    ),
    "weights_dropped": (
        "Did you leave out the weights?",
        (
            "What does a step read, whatever the batch?",
            "No cache on the chip holds gigabytes: each step reads all weights anew.",
            "Add num_params * weight_bits.",
        ),
    ),
    "cache_dropped": (
        "Did you leave out the cached rows?",
        (
            "Does your number change with the context?",
            "Beside the weights a step reads every cached row of each of its sequences.",
            "Add batch · context · cached elements of a token · kv_bits.",
        ),
    ),
    "cache_at_weight_bits": (
        "Did you read the cache in elements as wide as the weights?",
        (
            "Which of the arguments does your answer never use?",
            "Weights and cache are stored apart, and each has its own width.",
            "Use kv_bits for the cached elements.",
        ),
    ),
    "weights_at_cache_bits": (
        "Did you read the weights in elements as wide as the cache's?",
        (
            "Which of the arguments does your answer never use?",
            "Weights and cache are stored apart, and each has its own width.",
            "Use weight_bits for the parameters.",
        ),
    ),
    "always_two_bytes": (
        "Did you take every element for two bytes?",
        (
            "Which of the arguments does your answer never use?",
            "16 bits are two bytes, 8 are one, 4 are half of one.",
            "Multiply by the bits that are passed, and divide by eight at the end.",
        ),
    ),
    "bits_as_bytes": (
        "Did you take bits for bytes?",
        (
            "How many bytes does a 16-bit element take?",
            "There are eight bits in a byte.",
            "Divide the bits by eight.",
        ),
    ),
    "rounds_down": (
        "Did you drop the bits of an unfinished byte?",
        (
            "Nine bits: how many bytes are read?",
            "`//` rounds down; a last, partly filled byte has to be read too.",
            "-(-bits // 8) rounds up without a float.",
        ),
    ),
    "rounds_each_part": (
        "Did you round weights and cache up to whole bytes apart?",
        (
            "Your bytes are one too many. Where could it come from?",
            "The total rounds up once.",
            "Add up all bits first, then divide by eight.",
        ),
    ),
    "rounds_each_sequence": (
        "Did you round each sequence's rows up to whole bytes?",
        (
            "Your bytes are a few too many. Where could they come from?",
            "The total rounds up once.",
            "Add up all bits first, then divide by eight.",
        ),
    ),
    "float_rounding": (
        "Does a float carry your number somewhere on its way, and lose the last digits of a large one?",
        (
            "Compare the last digits of yours and of the expected number.",
            "A float holds whole numbers exactly only up to 2**53. `/` makes one.",
            "Stay with integers: `//` instead of `/`, and no float constant.",
        ),
    ),
    "swapped": (
        "Did you return the bytes first?",
        (
            "Compare the two numbers of your pair with the expected ones.",
            "The name of the pair says its order: (flops, bytes).",
            "return flops, n_bytes",
        ),
    ),
    "inverted": (
        "Did you divide the bytes by the FLOPs?",
        (
            "Which unit has your number?",
            "Intensity is FLOP/byte: how much is computed with what is read.",
            "flops / n_bytes",
        ),
    ),
    "per_element": (
        "Did you divide by elements, where bytes were wanted?",
        (
            "How many bytes does a 16-bit parameter take?",
            "2 FLOPs for each parameter of two bytes are 1 FLOP/byte, not 2.",
            "Divide by the bytes of decode_cost.",
        ),
    ),
    "per_bit": (
        "Did you divide by bits, where bytes were wanted?",
        (
            "Your number is eight times too small. Why eight?",
            "There are eight bits in a byte.",
            "Divide by the bytes of decode_cost.",
        ),
    ),
    "whole_numbers": (
        "Did you drop what lies behind the decimal point?",
        (
            "What is 3 / 2, and what is 3 // 2?",
            "An intensity is no whole number.",
            "Divide with `/`.",
        ),
    ),
    "sum": (
        "Did you add the two terms?",
        (
            "Must memory wait until the arithmetic is done?",
            "A device reads ahead while it computes. At the best the two overlap completely.",
            "The larger of the two: max.",
        ),
    ),
    "minimum": (
        "Did you take the shorter of the two terms?",
        (
            "Can a step end before its weights were read?",
            "Both terms are bounds from below, so the larger one counts.",
            "max instead of min.",
        ),
    ),
    "arithmetic_only": (
        "Did you leave out the time of reading?",
        (
            "Which of the arguments does your answer never use?",
            "Bytes take bytes / bandwidth seconds.",
            "max(flops / peak_flops, n_bytes / bandwidth)",
        ),
    ),
    "memory_only": (
        "Did you leave out the time of computing?",
        (
            "Which of the arguments does your answer never use?",
            "FLOPs take flops / peak_flops seconds.",
            "max(flops / peak_flops, n_bytes / bandwidth)",
        ),
    ),
    "milliseconds": (
        "Did you return milliseconds?",
        (
            "Your number is a thousand times too large. Which unit has it?",
            "FLOP over FLOP/s is a number of seconds.",
            "Leave out the factor of 1000.",
        ),
    ),
    "tera_and_giga": (
        "Did you take the rates for TFLOP/s and GB/s, although they come in FLOP/s and B/s?",
        (
            "Print peak_flops. How many digits has it?",
            "989 TFLOP/s is passed as 989 · 10^12.",
            "Divide by the rates as they are.",
        ),
    ),
    "inverted_terms": (
        "Did you divide the rates by the amounts?",
        (
            "Which unit has FLOP/s over FLOP?",
            "An amount over a rate is a time.",
            "flops / peak_flops and n_bytes / bandwidth",
        ),
    ),
    "rates_swapped": (
        "Did you divide FLOPs by the bandwidth, and bytes by the peak?",
        (
            "Which unit has FLOP over B/s?",
            "FLOPs go with FLOP/s, bytes with B/s.",
            "flops / peak_flops and n_bytes / bandwidth",
        ),
    ),
    "doubled_peak": (
        "Did you double the peak, as a data sheet's line with sparsity does?",
        (
            "By which factor is your time of a step short that arithmetic bounds?",
            "A peak with sparsity leaves out half of the products. A dense model has none to leave out.",
            "Divide by peak_flops as it is passed: it is the dense one.",
        ),
    ),
    "mean": (
        "Did you take the mean of the two terms?",
        (
            "Can a step be shorter than one of its two terms?",
            "Both are bounds from below, so the larger one counts.",
            "max(flops / peak_flops, n_bytes / bandwidth)",
        ),
    ),
    "ideal": (
        "Did you take for granted that a batch gains as many times as it has sequences?",
        (
            "What does a step of a larger batch read more?",
            "Weights are shared, rows are not, and the peak is a peak.",
            "batch * t(1) / t(batch), both from step_time_bound.",
        ),
    ),
    "time_ratio": (
        "Did you compare the times of two steps, and forget how many tokens each of them gives?",
        (
            "How many tokens come out of one step of a batch?",
            "Throughput is tokens over seconds: batch / t(batch) against 1 / t(1).",
            "batch * t(1) / t(batch)",
        ),
    ),
    "slowdown": (
        "Did you divide the longer time by the shorter one?",
        (
            "Is your number a gain, or by how much a step became longer?",
            "Throughput is tokens over seconds: batch / t(batch) against 1 / t(1).",
            "batch * t(1) / t(batch)",
        ),
    ),
    "gain_inverted": (
        "Did you divide the throughput of one sequence by that of the batch?",
        (
            "Your number is below 1. Does a batch lose?",
            "The gain is the batch's throughput over that of one sequence.",
            "batch * t(1) / t(batch)",
        ),
    ),
    "intensity_ratio": (
        "Did you divide two intensities, or leave out the time of computing?",
        (
            "What happens once a step's intensity is beyond the ridge?",
            "Beyond the ridge, throughput does not follow intensity any more: the peak bounds it.",
            "batch * t(1) / t(batch), both from step_time_bound.",
        ),
    ),
    "at_batch_one": (
        "Did you compute the intensity of one sequence?",
        (
            "What becomes of the weights' share when a thousand sequences use them?",
            "The ceiling is the limit for large batches: weights, read once, weigh nothing any more.",
            "FLOPs of one sequence over the bytes of its own rows.",
        ),
    ),
    "large_batch": (
        "Did you use a large batch instead of the limit?",
        (
            "Does your number still change when the batch is ten times as large?",
            "In the limit the weights' bytes are not few: they are none.",
            "FLOPs of one sequence over the bytes of its own rows, without any batch.",
        ),
    ),
    "attention_alone": (
        "Did you leave out the work with the parameters?",
        (
            "Weights weigh nothing in the limit. Does the work with them?",
            "Every sequence of the batch is multiplied by every weight.",
            "(2 · num_params + attention) over the bytes of its own rows.",
        ),
    ),
    "rounds_up": (
        "Did you round up?",
        (
            "Put your answer into the condition of the exercise. Does it hold?",
            "The last whole number for which it holds lies below the exact solution, or on it.",
            "`//` rounds down.",
        ),
    ),
    "bits_ignored": (
        "Did you leave out how wide the elements are?",
        (
            "Which two of the arguments does your answer never use?",
            "Fewer bits for the cache, and more tokens weigh as much as the weights.",
            "num_params * weight_bits // (cached elements of a token * kv_bits)",
        ),
    ),
    "whole_bytes_per_token": (
        "Did you round one token up to whole bytes?",
        (
            "How many bytes do two tokens of 12.5 bytes take?",
            "Over many tokens, half a byte of each adds up.",
            "Count a token in bits, and round nothing before the end.",
        ),
    ),
    "part_of_a_byte_dropped": (
        "Did you round one token down to whole bytes?",
        (
            "How many bytes do two tokens of 12.5 bytes take?",
            "Over many tokens, half a byte of each adds up.",
            "Count a token in bits, and round nothing before the end.",
        ),
    ),
    "twice_too_many": (
        "Are you off by a factor of 2: did you count only K, or take 2 · num_params?",
        (
            "Your number of tokens is twice too large. Which two tensors has a layer? What are 2 · num_params?",
            "The weights are num_params elements. A token has a row of K and a row of V in every layer.",
            "num_params * weight_bits // (2 · layers · KV heads · head width * kv_bits)",
        ),
    ),
    "upside_down": (
        "Did you divide the bits of a token by those of the weights?",
        (
            "How many tokens fit into the weights, or how many weights into a token?",
            "Your answer is 0 wherever a model is larger than a token.",
            "num_params * weight_bits // (cached elements of a token * kv_bits)",
        ),
    ),
    "one_more": (
        "Did you give the first number for which it holds no more?",
        (
            "Put your answer into the condition of the exercise. Does it hold?",
            "The last for which it holds was wanted.",
            "One less.",
        ),
    ),
    "one_less": (
        "Did you leave out the number for which the two sides are equal?",
        (
            "What does your function give where the division leaves no rest?",
            "Equal is allowed.",
            "`//` alone, without a step back.",
        ),
    ),
    "zero_for_none": (
        "Did you return 0 where every context has the target?",
        (
            "For which contexts does the ceiling reach a target that attention reaches alone?",
            "0 says that no context has it. Here all of them have.",
            "return None",
        ),
    ),
    "none_ignored": (
        "Did you leave out the case in which every context has the target?",
        (
            "What is your divisor where attention alone has the target? And where it has more?",
            "It is 0, or below 0: then the ceiling is above the target at any context.",
            "if target * bits of a row <= 8 * attention with one token: return None",
        ),
    ),
    "floor_in_16_bits": (
        "Did you test for None with the query heads on a KV head, whatever kv_bits says?",
        (
            "What does attention have by itself in 8 bits, and what in 32?",
            "Half as many bytes are twice as many FLOP/byte. Only in 16 bits are they the heads on a KV head.",
            "if target * bits of a row <= 8 * attention with one token: return None",
        ),
    ),
    "never_none": (
        "Did you divide by a number below 0, where every context has the target?",
        (
            "Your answer is below 0. What does the sign of the divisor say?",
            "Attention alone has 4 · query heads · … over the bytes of a row, at any context.",
            "if target * bits of a row <= 8 * attention with one token: return None",
        ),
    ),
    "none_for_zero": (
        "Did you return None where no context has the target?",
        (
            "What is the longest of no contexts?",
            "None says that every context has it. Here there is none that has.",
            "0 is what the division gives; leave it.",
        ),
    ),
    "equality_forgotten": (
        "Did you divide by 0, where attention alone has the target exactly?",
        (
            "What does your function do where the ceiling comes down to the target and never gets there?",
            "The ceiling lies above attention's own at any context.",
            "<= instead of < in the test for None.",
        ),
    ),
}

# One mistake, with values of its own for each batch.
ALIKE = {f"batch_of_a_{number}": "large_batch" for number in ("million", "billion", "trillion")}


def _mistakes(**wrongs) -> tuple[Misconception, ...]:
    return tuple(Misconception(name, wrong, *SAID[ALIKE.get(name, name)]) for name, wrong in wrongs.items())


def _of_steps(make: Callable, *names: str) -> dict[str, object]:
    """The wrong answer that `make` builds on each of these wrong steps."""
    return {name: make(STEPS[name]) for name in names}


def _ratio_of(step):
    def intensity(*arguments):
        flops, n_bytes = step(*arguments)
        return flops / n_bytes

    return intensity


def _time(flops, n_bytes, peak, bandwidth):
    return max(flops / peak, n_bytes / bandwidth)


def _gain_of(step=None, time=_time, gain=lambda b, one, many: b * one / many):
    step = step or _step()

    def batch_gain(card, num_params, batch, context, weight_bits, kv_bits, peak_flops, bandwidth):
        one, many = (
            time(*step(card, num_params, b, context, weight_bits, kv_bits), peak_flops, bandwidth) for b in (1, batch)
        )
        return gain(batch, one, many)

    return batch_gain


def _ceiling_of(flops=lambda c, n, s: 2 * n + s * _attention(c), bits=lambda c, s, k: s * _row(c) * k):
    return lambda c, n, s, k: 8 * flops(c, n, s) / bits(c, s, k)


def _at_batch(batch):
    return lambda c, n, s, k: _ratio_of(_step())(c, n, batch, s, 16, k)


def _crossing(row=_row, divide=lambda weights, token: weights // token):
    return lambda c, n, w, k: divide(n * w, row(c) * k)


def _token_bits(card: dict, kv_bits: int) -> int:
    return _row(card) * kv_bits


def _token_up(card: dict, kv_bits: int) -> int:
    """Bits of a token in whole bytes."""
    return 8 * _up(_token_bits(card, kv_bits))


def _token_down(card: dict, kv_bits: int) -> int:
    return _token_bits(card, kv_bits) // 8 * 8


def _in_16_bits(card: dict, target: int, lacking: int) -> bool:
    return target * card["num_key_value_heads"] <= card["num_attention_heads"]


def _longest(
    attention=_attention,
    bits=_token_bits,
    divide=lambda params, lacking: params // lacking,
    work=2,
    none=None,
    every=lambda card, target, lacking: lacking <= 0,
):
    """A wrong `context_for_ceiling`; `none` is what it gives where it finds that `every` context has the target."""

    def context_for_ceiling(card, num_params, kv_bits, target):
        lacking = target * bits(card, kv_bits) - 8 * attention(card)
        return none if every(card, target, lacking) else divide(8 * work * num_params, lacking)

    return context_for_ceiling


# ---------------------------------------------------------------------------
# Right answers by other algorithms


def _cost_by_layers(card, num_params, batch, context, weight_bits, kv_bits):
    flops, bits = 2 * num_params * batch, num_params * weight_bits
    for _ in range(card["num_hidden_layers"]):
        flops += batch * card["num_attention_heads"] * context * card["head_dim"] * 4
        bits += batch * card["num_key_value_heads"] * context * card["head_dim"] * 2 * kv_bits
    whole, rest = divmod(bits, 8)
    return flops, whole + (rest > 0)


def _cost_by_group(card, num_params, batch, context, weight_bits, kv_bits):
    """From the cached elements: each is met by the query heads of its group, at two FLOPs."""
    elements = batch * context * _row(card)
    group = card["num_attention_heads"] // card["num_key_value_heads"]
    n_bytes = math.ceil(Fraction(num_params * weight_bits + elements * kv_bits, 8))
    return [2 * (batch * num_params + group * elements), n_bytes]


def _intensity_by_fractions(*step):
    flops, n_bytes = _cost_by_group(*step)
    return float(Fraction(flops, n_bytes))


def _intensity_by_shares(card, num_params, batch, context, weight_bits, kv_bits):
    """A mean of the weights' intensity and of the rows', by their bits."""
    weights, rows = num_params * weight_bits, batch * context * _row(card) * kv_bits
    group = card["num_attention_heads"] / card["num_key_value_heads"]
    return (weights * 16 * batch / weight_bits + rows * 16 * group / kv_bits) / (weights + rows)


def _bound_by_ridge(flops, n_bytes, peak_flops, bandwidth):
    if flops * bandwidth > n_bytes * peak_flops:
        return flops / peak_flops
    return n_bytes / bandwidth


def _bound_by_rate(flops, n_bytes, peak_flops, bandwidth):
    """Bytes over the rate at which they can be used."""
    if not flops:
        return n_bytes / bandwidth
    return flops / min(Fraction(peak_flops), Fraction(flops, n_bytes) * bandwidth)


def _bound_as_float(*step):
    return float(_bound_by_rate(*step))


def _gain_by_rates(card, num_params, batch, context, weight_bits, kv_bits, peak_flops, bandwidth):
    """Attainable FLOP/s of each step, which throughput follows."""
    one, many = (
        min(peak_flops, bandwidth * _intensity_by_shares(card, num_params, b, context, weight_bits, kv_bits))
        for b in (1, batch)
    )
    return many / one


def _gain_by_fractions(*arguments):
    *step, peak, bandwidth = arguments
    time = {
        b: Fraction(_bound_by_ridge(*_cost_by_layers(*step[:2], b, *step[3:]), peak, bandwidth)) for b in (1, step[2])
    }
    return float(step[2] * time[1] / time[step[2]])


def _ceiling_in_two_parts(card, num_params, context, kv_bits):
    """What attention has by itself, and the parameters' work over the rows' bytes."""
    group = card["num_attention_heads"] / card["num_key_value_heads"]
    return 16 * group / kv_bits + 16 * num_params / (context * _row(card) * kv_bits)


def _ceiling_by_fractions(card, num_params, context, kv_bits):
    return float(Fraction(2 * num_params + context * _attention(card)) / (context * _row(card) * Fraction(kv_bits, 8)))


def _crossing_by_fractions(card, num_params, weight_bits, kv_bits):
    return math.floor(Fraction(num_params, _row(card)) * Fraction(weight_bits, kv_bits))


def _crossing_by_divmod(card, num_params, weight_bits, kv_bits):
    tokens, _rest = divmod(num_params * weight_bits, kv_bits * _row(card))
    return tokens


def _longest_by_fractions(card, num_params, kv_bits, target):
    row = _row(card) * Fraction(kv_bits, 8)
    missing = target - _attention(card) / row
    return math.floor(2 * num_params / row / missing) if missing > 0 else None


def _longest_by_halving(card, num_params, kv_bits, target):
    def has_it(s):
        return 8 * (2 * num_params + s * _attention(card)) >= target * s * _row(card) * kv_bits

    if target * _row(card) * kv_bits <= 8 * _attention(card):
        return None
    low, high = 0, 16 * num_params + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if has_it(middle) else (low, middle)
    return low


# ---------------------------------------------------------------------------
# The answers

_decode_cost, _intensity, _step_time_bound, _batch_gain, _intensity_ceiling, _crossover, _context = EXERCISES


def _apart(c, n, b, s, w, k):
    return _flops(c, n, b, s, w, k), _up(n * w) + _up(b * s * _row(c) * k)


def _by_sequence(c, n, b, s, w, k):
    return _flops(c, n, b, s, w, k), _up(n * w) + b * _up(s * _row(c) * k)


ANSWERS = (
    Answer(
        exercise=_decode_cost,
        expected=_cost,
        misconceptions=_mistakes(
            **STEPS,
            bits_as_bytes=_step(to_bytes=lambda bits: bits),
            rounds_down=_step(to_bytes=lambda bits: bits // 8),
            rounds_each_part=_apart,
            rounds_each_sequence=_by_sequence,
            float_rounding=_step(to_bytes=lambda bits: math.ceil(bits / 8)),
            one_token_more=_one_token_more,
            swapped=lambda *step: _step()(*step)[::-1],
        ),
        alternatives=(_cost_by_layers, _cost_by_group),
        hints=(
            "Two lists: what is computed, and what is read. Which entries grow with the batch?",
            "FLOPs: 2 a parameter and 4 · layers · query heads · head width a cached token, for each sequence.",
            "Bits: num_params * weight_bits once, and 2 · layers · KV heads · head width * kv_bits a cached token.",
        ),
    ),
    Answer(
        exercise=_intensity,
        expected=_ratio,
        misconceptions=_mistakes(
            inverted=lambda *step: 1 / _ratio_of(_step())(*step),
            per_element=lambda c, n, b, s, w, k: _flops(c, n, b, s, w, k) / (n + b * s * _row(c)),
            per_bit=_ratio_of(_step(to_bytes=lambda bits: bits)),
            whole_numbers=lambda *step: _flops(*step) // _up(_bits(*step)),
            **_of_steps(
                _ratio_of,
                "cache_dropped",
                "weights_dropped",
                "flops_of_one",
                "flop_per_multiply_add",
                "attention_kv_heads",
                "attention_dropped",
                "weights_per_sequence",
                "rows_read_once",
                "k_only",
                "always_two_bytes",
            ),
        ),
        alternatives=(_intensity_by_fractions, _intensity_by_shares),
        hints=(
            "How much is computed with each byte that is read?",
            "decode_cost gives both numbers.",
            "flops / n_bytes",
        ),
        tolerance=TOLERANCE,
    ),
    Answer(
        exercise=_step_time_bound,
        expected=_bound,
        misconceptions=_mistakes(
            sum=lambda f, m, p, w: f / p + m / w,
            minimum=lambda f, m, p, w: min(f / p, m / w),
            mean=lambda f, m, p, w: (f / p + m / w) / 2,
            arithmetic_only=lambda f, m, p, w: f / p,
            memory_only=lambda f, m, p, w: m / w,
            milliseconds=lambda f, m, p, w: 1000 * max(f / p, m / w),
            tera_and_giga=lambda f, m, p, w: max(f / (p * 10**12), m / (w * 10**9)),
            inverted_terms=lambda f, m, p, w: max(p / f if f else 0.0, w / m),
            rates_swapped=lambda f, m, p, w: max(f / w, m / p),
            doubled_peak=lambda f, m, p, w: max(f / (2 * p), m / w),
        ),
        alternatives=(_bound_by_ridge, _bound_as_float),
        hints=(
            "How long does the arithmetic take at the peak? How long does reading take at the full bandwidth?",
            "An amount over a rate is a time. The two may overlap.",
            "max(flops / peak_flops, n_bytes / bandwidth)",
        ),
        tolerance=TOLERANCE,
    ),
    Answer(
        exercise=_batch_gain,
        expected=_gain,
        misconceptions=_mistakes(
            ideal=lambda c, n, b, *rest: float(b),
            time_ratio=_gain_of(gain=lambda b, one, many: one / many),
            slowdown=_gain_of(gain=lambda b, one, many: many / one),
            gain_inverted=_gain_of(gain=lambda b, one, many: many / (b * one)),
            intensity_ratio=lambda c, n, b, *rest: (
                _ratio_of(_step())(c, n, b, *rest[:-2]) / _ratio_of(_step())(c, n, 1, *rest[:-2])
            ),
            sum=_gain_of(time=lambda f, m, p, w: f / p + m / w),
            minimum=_gain_of(time=lambda f, m, p, w: min(f / p, m / w)),
            **_of_steps(
                _gain_of,
                "weights_per_sequence",
                "rows_read_once",
                "cache_dropped",
                "k_only",
                "query_heads",
                "attention_dropped",
            ),
        ),
        alternatives=(_gain_by_rates, _gain_by_fractions),
        hints=(
            "How many tokens does a step of a batch give, and in how many seconds?",
            "Throughput is batch / t(batch). Compare it with 1 / t(1).",
            "batch * t(1) / t(batch), with t from step_time_bound of decode_cost.",
        ),
        tolerance=TOLERANCE,
    ),
    Answer(
        exercise=_intensity_ceiling,
        expected=_limit,
        misconceptions=_mistakes(
            at_batch_one=_at_batch(1),
            attention_dropped=_ceiling_of(lambda c, n, s: 2 * n),
            attention_alone=_ceiling_of(lambda c, n, s: s * _attention(c)),
            attention_kv_heads=_ceiling_of(lambda c, n, s: 2 * n + s * _attention(_kv_heads_everywhere(c))),
            one_token_attention=_ceiling_of(lambda c, n, s: 2 * n + _attention(c)),
            scores_only=_ceiling_of(lambda c, n, s: 2 * n + s * _attention(c) // 2),
            flop_per_multiply_add=_ceiling_of(lambda c, n, s: n + s * _attention(c) // 2),
            one_row_only=_ceiling_of(bits=lambda c, s, k: _row(c) * k),
            k_only=_ceiling_of(bits=lambda c, s, k: s * _row(c) * k // 2),
            query_heads=_ceiling_of(bits=lambda c, s, k: s * _row(_query_heads_everywhere(c)) * k),
            per_bit=_ceiling_of(bits=lambda c, s, k: 8 * s * _row(c) * k),
            per_element=_ceiling_of(bits=lambda c, s, k: 8 * s * _row(c)),
            always_two_bytes=_ceiling_of(bits=lambda c, s, k: s * _row(c) * 16),
            flop_per_parameter=_ceiling_of(lambda c, n, s: n + s * _attention(c)),
            whole_bytes_per_token=_ceiling_of(bits=lambda c, s, k: s * _token_up(c, k)),
            part_of_a_byte_dropped=_ceiling_of(bits=lambda c, s, k: s * _token_down(c, k)),
            batch_of_a_million=_at_batch(10**6),
            batch_of_a_billion=_at_batch(10**9),
            batch_of_a_trillion=_at_batch(10**12),
        ),
        alternatives=(_ceiling_in_two_parts, _ceiling_by_fractions),
        hints=(
            "In a batch of a million, which of the bytes can you forget?",
            "Every sequence brings its own FLOPs and its own rows. Divide one by the other.",
            "(2 · num_params + attention) / (context · cached elements of a token · kv_bits / 8)",
        ),
        # A batch of 10^15 is off by less than this in every case, one of 10^12 by more in some: no seed decides.
        tolerance=10 * TOLERANCE,
    ),
    Answer(
        exercise=_crossover,
        expected=_most_tokens,
        misconceptions=_mistakes(
            rounds_up=_crossing(divide=lambda weights, token: -(-weights // token)),
            one_more=_crossing(divide=lambda weights, token: weights // token + 1),
            one_less=_crossing(divide=lambda weights, token: (weights - 1) // token),
            bits_ignored=lambda c, n, w, k: n // _row(c),
            cache_at_weight_bits=lambda c, n, w, k: n * 16 // (_row(c) * w),
            weights_at_cache_bits=lambda c, n, w, k: n * 16 // (_row(c) * k),
            whole_bytes_per_token=lambda c, n, w, k: n * w // _token_up(c, k),
            part_of_a_byte_dropped=lambda c, n, w, k: n * w // _token_down(c, k),
            upside_down=_crossing(divide=lambda weights, token: token // weights),
            twice_too_many=_crossing(row=lambda c: _row(c) // 2),
            query_heads=_crossing(row=lambda c: _row(_query_heads_everywhere(c))),
            hidden_over_heads=_crossing(row=lambda c: _row(_divided(c))),
            float_rounding=_crossing(divide=lambda weights, token: int(weights / token)),
        ),
        alternatives=(_crossing_by_fractions, _crossing_by_divmod),
        hints=(
            "How many bits have the weights? How many has one cached token?",
            "The question is how often the second number goes into the first.",
            "num_params * weight_bits // (2 · layers · KV heads · head width * kv_bits)",
        ),
    ),
    Answer(
        exercise=_context,
        expected=_longest_context,
        misconceptions=_mistakes(
            rounds_up=_longest(divide=lambda params, lacking: -(-params // lacking)),
            one_more=_longest(divide=lambda params, lacking: params // lacking + 1),
            one_less=_longest(divide=lambda params, lacking: (params - 1) // lacking),
            zero_for_none=_longest(none=0),
            none_ignored=_longest(every=lambda card, target, lacking: False),
            floor_in_16_bits=_longest(every=_in_16_bits),
            never_none=_longest(every=lambda card, target, lacking: lacking == 0),
            none_for_zero=_longest(divide=lambda params, lacking: params // lacking or None),
            equality_forgotten=_longest(every=lambda card, target, lacking: lacking < 0),
            attention_dropped=_longest(attention=lambda c: 0),
            attention_kv_heads=_longest(attention=lambda c: _attention(_kv_heads_everywhere(c))),
            scores_only=_longest(attention=lambda c: _attention(c) // 2),
            flop_per_multiply_add=_longest(attention=lambda c: _attention(c) // 2, work=1),
            k_only=_longest(bits=lambda c, k: _token_bits(c, k) // 2),
            query_heads=_longest(bits=lambda c, k: _token_bits(_query_heads_everywhere(c), k)),
            always_two_bytes=_longest(bits=lambda c, k: _token_bits(c, 16)),
            whole_bytes_per_token=_longest(bits=_token_up),
            part_of_a_byte_dropped=_longest(bits=_token_down),
            float_rounding=_longest(divide=lambda params, lacking: int(params / lacking)),
        ),
        alternatives=(_longest_by_fractions, _longest_by_halving),
        hints=(
            "Write down that the ceiling is at least the target, and solve it for the context.",
            "2 · num_params + context · attention ≥ target · context · bytes of a row. Both sides have the context.",
            "16 * num_params // (target * bits of a row − 8 * attention with one token); None if that is 0 or less.",
        ),
    ),
)
