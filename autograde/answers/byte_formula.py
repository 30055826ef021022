"""Lesson 02: what is right, counted rather than multiplied, and the mistakes that people make.

The wrong answers are written as a learner writes them, each with one thing wrong.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from autograde.exercise import Answer, Case, Misconception
from autograde.exercises.byte_formula import EXERCISES

# ---------------------------------------------------------------------------
# Oracles


def count_elements(num_layers: int, lengths: list[int], num_kv_heads: int, head_dim: int) -> int:
    """Stored elements, counted: arrays are really allocated for what fits, and every tensor adds its own."""
    token = np.empty((num_kv_heads, head_dim), np.uint8).size
    total = 0
    for length in lengths:
        fits = length * token < 10**8
        tensor = np.empty((length, num_kv_heads, head_dim), np.uint8).nbytes if fits else length * token
        for _layer in range(num_layers):
            for _tensor in ("K", "V"):
                total += tensor
    return total


def to_bytes(elements: int, bits_per_element: int) -> int:
    return math.ceil(Fraction(elements * bits_per_element, 8))


def _elements(case: Case) -> int:
    sizes = case.inputs
    lengths = [sizes["tokens"]] * sizes["batch"]
    return count_elements(sizes["num_layers"], lengths, sizes["num_kv_heads"], sizes["head_dim"])


def _bytes(case: Case) -> int:
    return to_bytes(_elements(case), case.inputs["bits_per_element"])


def _ragged(case: Case) -> int:
    sizes = case.inputs
    elements = count_elements(sizes["num_layers"], sizes["lengths"], sizes["num_kv_heads"], sizes["head_dim"])
    return to_bytes(elements, sizes["bits_per_element"])


def _units(case: Case) -> dict[str, float]:
    n = case.inputs["n_bytes"]
    decimal = {unit: float(Fraction(f"{n}e-{power}")) for unit, power in (("GB", 9), ("MB", 6))}
    binary = {unit: math.ldexp(n, -power) for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10))}
    return {unit: (decimal | binary)[unit] for unit in ("GB", "GiB", "MB", "MiB", "KiB")}


def _units_accepted(case: Case, units: object) -> bool:
    """Relative, so that a handful of bytes must be right too."""
    right = _units(case)
    if type(units) is not dict or units.keys() != right.keys():
        return False
    return all(
        type(units[unit]) in (int, float) and math.isclose(units[unit], value, rel_tol=1e-12, abs_tol=0.0)
        for unit, value in right.items()
    )


def _token_bytes(card: dict, kv_heads: int, bits: int, tokens: int = 1) -> int:
    return to_bytes(count_elements(card["num_hidden_layers"], [tokens], kv_heads, card["head_dim"]), bits)


def _per_token(case: Case) -> int:
    card = case.inputs["card"]
    return _token_bytes(card, card["num_key_value_heads"], case.inputs["bits_per_element"])


def _table(case: Case) -> list[dict]:
    card = case.inputs["card"]
    rows = []
    for variant in case.inputs.get("variants", ("MHA", "GQA", "MQA")):
        # KV heads of the variant, found by dealing the query heads out to groups.
        groups = {"MHA": card["num_attention_heads"], "GQA": card["num_key_value_heads"], "MQA": 1}[variant]
        heads = len({query * groups // card["num_attention_heads"] for query in range(card["num_attention_heads"])})
        for tokens in case.inputs["contexts"]:
            size = _token_bytes(card, heads, case.inputs.get("bits_per_element", 16), tokens)
            rows.append({"variant": variant, "tokens": tokens, "bytes": size})
    return rows


def _most_tokens(case: Case) -> int:
    """By bisection over caches that are counted, not by division."""
    card, bits = case.inputs["card"], case.inputs["bits_per_element"]
    fits, too_many = 0, 1
    while _token_bytes(card, card["num_key_value_heads"], bits, too_many) <= case.inputs["budget_bytes"]:
        fits, too_many = too_many, too_many * 2
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if _token_bytes(card, card["num_key_value_heads"], bits, middle) <= case.inputs["budget_bytes"]:
            fits = middle
        else:
            too_many = middle
    return fits


# ---------------------------------------------------------------------------
# What to say about a mistake, whichever exercise it is made in

SAID: dict[str, tuple[str, tuple[str, str, str], str]] = {
    "factor_two_dropped": (
        "Did you count only one of the two tensors that each layer keeps?",
        (
            "Name the tensors that attention reads for an old token.",
            "A layer stores one vector to compare the query with and one to mix into the output.",
            "K and V have the same shape, so count one of them and double it.",
        ),
        "",
    ),
    "layers_dropped": (
        "Did you count a single layer, although every layer keeps a cache of its own?",
        (
            "Whose keys does layer 7 read?",
            "The hidden state differs from layer to layer, so its keys and values do too.",
            "Multiply by the number of layers.",
        ),
        "",
    ),
    "batch_dropped": (
        "Did you count one request, although every request in the batch stores its own tokens?",
        (
            "Which of the arguments does your answer never use?",
            "Two requests share weights, not keys and values.",
            "Multiply by the batch size.",
        ),
        "",
    ),
    "tokens_plus_one": (
        "Did you add one for the token that is being generated, although the count was taken after the append?",
        (
            "What does your function give for an empty cache?",
            "`tokens` is the number of tokens that are stored already, the newest included.",
            "Use `tokens` as it is.",
        ),
        "",
    ),
    "float_rounding": (
        "Does a float carry your count somewhere on its way, and lose the last digits of a large one?",
        (
            "Compare the last digits of yours and of the expected number.",
            "A float holds whole numbers exactly only up to 2**53. `/` makes one.",
            "Stay with integers: `//` instead of `/`, and no float constant.",
        ),
        "",
    ),
    "int64_overflow": (
        "Did NumPy multiply in 64 bits, which wrap around without a word?",
        (
            "Look at the sign and the size of your largest answer.",
            "Python's int has no upper limit; np.int64 ends at 2**63 - 1.",
            "Multiply Python ints, with `*` or `math.prod`.",
        ),
        "",
    ),
    "bits_as_bytes": (
        "Did you multiply by bits per element where bytes were wanted?",
        (
            "How many bytes does one 16-bit element take?",
            "There are eight bits in a byte.",
            "Divide the total number of bits by eight, at the very end.",
        ),
        "",
    ),
    "always_two_bytes": (
        "Did you take every element for two bytes, whatever `bits_per_element` says?",
        (
            "Which of the arguments does your answer never use?",
            "BF16 takes 16 bits, FP8 takes 8, a 4-bit code takes 4.",
            "Multiply by `bits_per_element`, then divide by eight.",
        ),
        "",
    ),
    "rounds_each_element": (
        "Did you round one element up to whole bytes before you counted them all?",
        (
            "How many bytes do two 4-bit elements take together?",
            "Sub-byte elements are packed: two of them share a byte.",
            "Add up all bits first, and round up once, at the end.",
        ),
        "",
    ),
    "rounds_down": (
        "Did you round an unfinished byte down, so that the last bits have no place?",
        (
            "Nine bits: how many bytes hold them?",
            "`//` rounds down; a last, partly filled byte still has to be stored.",
            "-(-bits // 8) rounds up without a float.",
        ),
        "",
    ),
    "rounds_each_request": (
        "Did you round each request up to whole bytes, instead of the total once?",
        (
            "Your answer is a few bytes too large. Where could they come from?",
            "The formula counts the payload of the whole batch; a byte may be shared across a boundary.",
            "Sum the lengths first; compute bytes once.",
        ),
        "",
    ),
    "padded_total": (
        "Did you give every request the length of the longest?",
        (
            "What does a request of three tokens store?",
            "A dense padded batch holds batch × longest; the payload is what was really stored.",
            "Replace batch × tokens by the sum of the lengths.",
        ),
        "",
    ),
    "longest_only": (
        "Did you count only the longest request of the batch?",
        (
            "What happens to the others' keys and values?",
            "Every request stores its own tokens.",
            "Sum the lengths.",
        ),
        "",
    ),
    "mean_rounded": (
        "Did you work with a mean length that had been rounded to a whole number?",
        (
            "What is the mean of 3 and 4, and what is 2 × that after rounding?",
            "A rounded mean, multiplied again, is no sum.",
            "Use sum(lengths) itself.",
        ),
        "",
    ),
    "query_heads": (
        "Did you count query heads, although only the key/value heads are stored?",
        (
            "Which heads leave something behind for the next step?",
            "Queries are used once and thrown away; with grouped queries several of them read one K/V head.",
            "Use num_key_value_heads.",
        ),
        "hahnyuan/LLM-Viewer#12 sized the cache of a grouped-query model by its query heads.",
    ),
    "hidden_over_heads": (
        "Did you derive the head width from hidden_size, although the card states head_dim?",
        (
            "Compare hidden_size / num_attention_heads with head_dim.",
            "Some models choose a head width that is not hidden_size / heads.",
            "Use head_dim whenever the card has it.",
        ),
        "LMCache/LMCache#688: a cache sized by hidden_size / heads did not fit the model.",
    ),
    "hidden_size_as_row": (
        "Did you take hidden_size for the width of a stored key?",
        (
            "How many numbers does one token's K hold in one layer?",
            "A stored key is num_key_value_heads × head_dim wide, which need not be hidden_size.",
            "Replace hidden_size by num_key_value_heads * head_dim.",
        ),
        "",
    ),
    "kv_heads_dropped": (
        "Did you count a single head, although each key/value head stores its own vectors?",
        (
            "Which entry of the card does your answer never use?",
            "Each K/V head keeps one key and one value of head_dim numbers a token.",
            "Multiply by num_key_value_heads.",
        ),
        "",
    ),
    "units_swapped": (
        "Did you swap the two families: GB is a power of ten, GiB a power of two?",
        (
            "Which is larger, a GB or a GiB?",
            "The i stands for binary: 1 GiB is 2**30 bytes, 1 GB is 10**9.",
            "n / 10**9 is GB and n / 2**30 is GiB; likewise for MB and MiB.",
        ),
        "",
    ),
    "all_binary": (
        "Did you divide by powers of two for the decimal units as well?",
        (
            "How many bytes are in 1 GB? The answer ends in zeros.",
            "GB and MB are decimal: 10**9 and 10**6.",
            "Use 10**9 for GB and 10**6 for MB.",
        ),
        "",
    ),
    "all_decimal": (
        "Did you divide by powers of ten for the binary units as well?",
        (
            "How many bytes are in 1 KiB?",
            "GiB, MiB and KiB are binary: 2**30, 2**20 and 2**10.",
            "Use 2**30, 2**20 and 2**10 for the units with an i.",
        ),
        "",
    ),
    "whole_units_only": (
        "Did you drop what lies behind the decimal point?",
        (
            "How many GB are 500,000,000 bytes?",
            "`//` and `int()` throw the fraction away.",
            "Divide with `/`, or return a Fraction.",
        ),
        "",
    ),
    "rounded_units": (
        "Did you round the number, although it was to be exact?",
        (
            "Which digits are gone?",
            "Round when you print, not when you compute.",
            "Return n / 10**9 itself, without round().",
        ),
        "",
    ),
    "mha_keeps_kv_heads": (
        "Did you leave MHA with the card's grouped K/V heads?",
        (
            "In multi-head attention, how many query heads share one K/V head?",
            "MHA gives each query head its own key and value.",
            "For MHA use num_attention_heads as the number of K/V heads.",
        ),
        "",
    ),
    "group_size_for_heads": (
        "For GQA, did you take the number of query heads per group for the number of groups?",
        (
            "With 32 query heads and 8 K/V heads, how many keys are stored: 8, or 4?",
            "num_attention_heads / num_key_value_heads says how many queries share a head, not how many heads exist.",
            "Use num_key_value_heads for GQA.",
        ),
        "",
    ),
    "contexts_outermost": (
        "Are your rows right but in another order: all variants of one context first?",
        (
            "Read the first three rows of yours and of the expected list.",
            "Variants are the outer loop, contexts the inner one.",
            "for variant in variants: for tokens in contexts: append a row.",
        ),
        "",
    ),
    "fixed_variant_order": (
        "Did you list the variants in an order of your own, instead of the one that was passed?",
        (
            "What does your function do with variants=('MQA', 'MHA')?",
            "`variants` says which rows are wanted and in which order.",
            "Loop over `variants` itself.",
        ),
        "",
    ),
    "context_dropped": (
        "Did you write the bytes of one token into every row?",
        (
            "Do your bytes grow with the context?",
            "A row is about a request that stores `tokens` tokens.",
            "Multiply the bytes per token by `tokens`.",
        ),
        "",
    ),
    "ceiling": (
        "Did you round up, so that the last token no longer fits?",
        (
            "How many bytes does your answer need, and how many are there?",
            "A budget is never exceeded: a token that fits by half does not fit.",
            "Use `//`.",
        ),
        "",
    ),
    "at_least_one": (
        "Did you grant one token even where none fits?",
        (
            "What does your function return for a budget of 5 bytes?",
            "0 is an honest answer.",
            "Leave out the max(1, …).",
        ),
        "",
    ),
    "nearest": (
        "Did you round to the nearest whole number of tokens?",
        (
            "Try a budget one byte below two tokens.",
            "Nearest goes over half of the time.",
            "Use `//`, which always rounds down.",
        ),
        "",
    ),
    "bytes_not_elements": (
        "Did you already multiply by two bytes, although elements were asked for?",
        (
            "How many numbers does the toy cache hold, and how many bytes?",
            "Elements come first; their size is the next exercise.",
            "Leave out the second factor of 2.",
        ),
        "",
    ),
    "element_rounded_down": (
        "Did you divide the bits of one element by eight before multiplying, so that 4 bits became 0 bytes?",
        (
            "What is 4 // 8?",
            "A part of a byte is lost for every element.",
            "Multiply first; divide the total by eight, once.",
        ),
        "",
    ),
    "rounds_to_nearest": (
        "Did you round to the nearest byte, so that a byte filled by a quarter has no place?",
        (
            "Nine bits: how many bytes hold them?",
            "round() goes down below a half; the bits still have to be stored.",
            "-(-bits // 8) rounds up without a float.",
        ),
        "",
    ),
    "rounds_each_tensor": (
        "Did you round K and V up to whole bytes separately, instead of their total once?",
        (
            "Your answer is a byte too large at most. Where could it come from?",
            "The formula counts the payload of everything together.",
            "Put the factor 2 inside, and round up once, at the end.",
        ),
        "",
    ),
    "rounds_each_layer": (
        "Did you round every layer up to whole bytes, instead of the total once?",
        (
            "Your answer is a few bytes too large. How does that depend on the layers?",
            "The formula counts the payload of everything together.",
            "Multiply the bits by the layers first, and round up once, at the end.",
        ),
        "",
    ),
    "rounds_each_token": (
        "Did you round one token up to whole bytes before you multiplied by the tokens?",
        (
            "What does your function give for 3-bit elements?",
            "bytes_per_token has rounded already; multiplied by many tokens, the rounding adds up.",
            "Multiply the bits by the tokens first, and round up once, at the end.",
        ),
        "",
    ),
    "first_only": (
        "Did you count only the first request?",
        (
            "Is there a `return` inside your loop?",
            "A loop that returns in its first round never sees the others.",
            "Add up in the loop; return behind it.",
        ),
        "",
    ),
    "last_only": (
        "Did you keep only the last request's bytes?",
        (
            "Does your loop add, or does it replace?",
            "`total = …` forgets what was there; `total += …` adds.",
            "Start from 0 and use +=.",
        ),
        "",
    ),
    "batch_times_sum": (
        "Did you multiply by the number of requests on top of the sum of their lengths?",
        (
            "How often does each request's length appear in your answer?",
            "The sum already runs over the batch.",
            "Use sum(lengths) alone, with a batch of 1.",
        ),
        "",
    ),
    "distinct_lengths": (
        "Did you count requests of the same length only once?",
        (
            "What happens to two requests that have stored equally many tokens?",
            "A set keeps one of several equal numbers.",
            "Sum the list, not a set of it.",
        ),
        "",
    ),
    "kib_decimal": (
        "Did you divide by 1000 for KiB?",
        (
            "Which of your five values is wrong?",
            "kB would be 1000 bytes. KiB has the binary i.",
            "n_bytes / 2**10.",
        ),
        "",
    ),
    "same_for_all_variants": (
        "Did you use the card's K/V heads for all variants?",
        (
            "Compare the bytes of your MHA and MQA rows.",
            "The variants differ in nothing but the number of K/V heads.",
            "MHA: num_attention_heads. GQA: num_key_value_heads. MQA: 1.",
        ),
        "",
    ),
    "variants_ignored": (
        "Did you list all three variants, although fewer were asked for?",
        (
            "How many rows are wanted for variants=('GQA',) and one context?",
            "`variants` says which rows are wanted and in which order.",
            "Loop over `variants` itself.",
        ),
        "",
    ),
    "sorted_contexts": (
        "Did you sort the contexts, instead of keeping the order that was passed?",
        (
            "Compare the tokens of your first row with contexts[0].",
            "Whoever asks decides the order.",
            "Loop over `contexts` as it is.",
        ),
        "",
    ),
    "whole_bytes_per_token": (
        "Did you divide by bytes per token that had been rounded up already?",
        (
            "How many bytes do four tokens of three quarters of a byte take?",
            "With 3-, 5- or 7-bit elements a token need not fill whole bytes, and rounding each adds up.",
            "Compare in bits: 8 * budget_bytes // bits of one token.",
        ),
        "",
    ),
    "ceiling_of_a_float": (
        "Did you round up, so that the last token no longer fits, and divide through a float besides?",
        (
            "How many bytes does your answer need, and how many are there?",
            "A budget is never exceeded; and `/` loses the last digits of large numbers.",
            "Use `//` on integers.",
        ),
        "",
    ),
    "nearest_of_a_float": (
        "Did you round to the nearest whole number of tokens, through a float?",
        (
            "Try a budget one byte below two tokens.",
            "Nearest goes over half of the time; and `/` loses the last digits of large numbers.",
            "Use `//` on integers.",
        ),
        "",
    ),
}


def _mistakes(**wrong: Callable) -> tuple[Misconception, ...]:
    return tuple(Misconception(name, function, *SAID[name]) for name, function in wrong.items())


# ---------------------------------------------------------------------------
# Right answers by other algorithms


def _elements_by_shape(num_layers, batch, tokens, num_kv_heads, head_dim):
    return math.prod([num_layers, 2, batch, tokens, num_kv_heads, head_dim])


def _elements_by_adding(num_layers, batch, tokens, num_kv_heads, head_dim):
    one_tensor = sum(tokens * num_kv_heads for _ in range(head_dim))
    return sum(one_tensor + one_tensor for _ in range(num_layers) for _ in range(batch))


def _bytes_by_divmod(num_layers, batch, tokens, num_kv_heads, head_dim, bits_per_element):
    elements = _elements_by_adding(num_layers, batch, tokens, num_kv_heads, head_dim)
    whole, rest = divmod(elements * bits_per_element, 8)
    return whole + (rest > 0)


def _bytes_by_fraction(num_layers, batch, tokens, num_kv_heads, head_dim, bits_per_element):
    return math.ceil(2 * num_layers * batch * tokens * num_kv_heads * head_dim * Fraction(bits_per_element, 8))


def _ragged_by_request(lengths, num_layers, num_kv_heads, head_dim, bits_per_element):
    bits = 0
    for length in lengths:
        bits += 2 * num_layers * num_kv_heads * head_dim * length * bits_per_element
    return (bits + 7) // 8


def _ragged_by_sorting(lengths, num_layers, num_kv_heads, head_dim, bits_per_element):
    # Layer the batch: as many requests as are still long enough store each further stretch of tokens.
    row_bits, total, before = 2 * num_layers * num_kv_heads * head_dim * bits_per_element, 0, 0
    ordered = sorted(lengths)
    for index, length in enumerate(ordered):
        total += (len(ordered) - index) * (length - before) * row_bits
        before = length
    return -(-total // 8)


def _units_by_division(n_bytes):
    return {
        "GB": n_bytes / 10**9,
        "GiB": n_bytes / 2**30,
        "MB": n_bytes / 10**6,
        "MiB": n_bytes / 2**20,
        "KiB": n_bytes / 2**10,
    }


def _units_by_steps(n_bytes):
    kib = Fraction(n_bytes, 1024)
    kb = Fraction(n_bytes, 1000)
    return {"KiB": kib, "MiB": kib / 1024, "GiB": kib / 1024 / 1024, "MB": kb / 1000, "GB": kb / 1000 / 1000}


def _per_token_by_loop(card, bits_per_element):
    bits = 0
    for _layer in range(card["num_hidden_layers"]):
        for _head in range(card["num_key_value_heads"]):
            bits += 2 * card["head_dim"] * bits_per_element
    return math.ceil(Fraction(bits, 8))


def _per_token_by_product(card, bits_per_element):
    sizes = (card[key] for key in ("num_hidden_layers", "num_key_value_heads", "head_dim"))
    return (math.prod(sizes) * bits_per_element + 3) // 4


def _table_by_comprehension(card, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
    heads = {"MHA": card["num_attention_heads"], "GQA": card["num_key_value_heads"], "MQA": 1}
    rate = card["num_hidden_layers"] * card["head_dim"] * bits_per_element
    return [
        {"variant": variant, "tokens": tokens, "bytes": -(-tokens * rate * heads[variant] // 4)}
        for variant in variants
        for tokens in contexts
    ]


def _table_by_scaling(card, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
    one_head = 2 * card["num_hidden_layers"] * card["head_dim"] * bits_per_element  # bits of a token
    stored = {"MHA": "num_attention_heads", "GQA": "num_key_value_heads"}
    rows = []
    for variant in variants:
        heads = card[stored[variant]] if variant in stored else 1
        rows.extend({"bytes": (heads * one_head * t + 7) // 8, "tokens": t, "variant": variant} for t in contexts)
    return rows


def _tokens_by_bits(budget_bytes, card, bits_per_element):
    bits = 2 * card["num_hidden_layers"] * card["num_key_value_heads"] * card["head_dim"] * bits_per_element
    return budget_bytes * 8 // bits


def _tokens_by_fraction(budget_bytes, card, bits_per_element):
    elements = 2 * card["num_hidden_layers"] * card["num_key_value_heads"] * card["head_dim"]
    return math.floor(budget_bytes / (elements * Fraction(bits_per_element, 8)))


# ---------------------------------------------------------------------------
# The answers

_kv_elements, _kv_bytes, _ragged_kv_bytes, _as_units, _bytes_per_token, _capacity_table, _max_tokens = EXERCISES


def _rows(size):
    """A wrong table: `size(card, variant, tokens, bits)` gives the bytes of a row."""

    def table(card, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
        return [
            {"variant": variant, "tokens": tokens, "bytes": size(card, variant, tokens, bits_per_element)}
            for variant in variants
            for tokens in contexts
        ]

    return table


def _contexts_outermost(card, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
    pairs = [(variant, tokens) for tokens in contexts for variant in variants]
    return [{"variant": v, "tokens": t, "bytes": _row_bytes(card, v, t, bits_per_element)} for v, t in pairs]


def _heads(card, variant):
    return {"MHA": card["num_attention_heads"], "GQA": card["num_key_value_heads"], "MQA": 1}[variant]


def _row_bytes(card, variant, tokens, bits):
    return -(-2 * card["num_hidden_layers"] * _heads(card, variant) * card["head_dim"] * tokens * bits // 8)


def _wrong_rate(size):
    """A wrong `max_tokens` that divides as it should, by a wrong number of bits per token."""
    return lambda budget, card, bits: budget * 8 // size(card, bits)


def _right_bits(card, bits):
    return 2 * card["num_hidden_layers"] * card["num_key_value_heads"] * card["head_dim"] * bits


ANSWERS = (
    Answer(
        exercise=_kv_elements,
        expected=_elements,
        misconceptions=_mistakes(
            factor_two_dropped=lambda L, B, T, H, d: L * B * T * H * d,
            layers_dropped=lambda L, B, T, H, d: 2 * B * T * H * d,
            batch_dropped=lambda L, B, T, H, d: 2 * L * T * H * d,
            bytes_not_elements=lambda L, B, T, H, d: 4 * L * B * T * H * d,
            tokens_plus_one=lambda L, B, T, H, d: 2 * L * B * (T + 1) * H * d,
            float_rounding=lambda L, B, T, H, d: int(2.0 * L * B * T * H * d),
            int64_overflow=lambda L, B, T, H, d: int(np.prod(np.array([2, L, B, T, H, d], dtype=np.int64))),
        ),
        alternatives=(_elements_by_shape, _elements_by_adding),
        hints=(
            "Count one layer's K for one request first: it is a small block of numbers.",
            "That block is tokens × num_kv_heads × head_dim. How many such blocks are there?",
            "Two tensors per layer, num_layers layers, batch requests: multiply all of it.",
        ),
    ),
    Answer(
        exercise=_kv_bytes,
        expected=_bytes,
        misconceptions=_mistakes(
            factor_two_dropped=lambda L, B, T, H, d, bits: -(-L * B * T * H * d * bits // 8),
            layers_dropped=lambda L, B, T, H, d, bits: -(-2 * B * T * H * d * bits // 8),
            batch_dropped=lambda L, B, T, H, d, bits: -(-2 * L * T * H * d * bits // 8),
            bits_as_bytes=lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * bits,
            always_two_bytes=lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * 2,
            rounds_each_element=lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * math.ceil(bits / 8),
            rounds_down=lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * bits // 8,
            element_rounded_down=lambda L, B, T, H, d, bits: 2 * L * B * T * H * d * (bits // 8),
            rounds_to_nearest=lambda L, B, T, H, d, bits: (2 * L * B * T * H * d * bits + 4) // 8,
            rounds_each_tensor=lambda L, B, T, H, d, bits: 2 * -(-L * B * T * H * d * bits // 8),
            rounds_each_layer=lambda L, B, T, H, d, bits: L * -(-2 * B * T * H * d * bits // 8),
            float_rounding=lambda L, B, T, H, d, bits: math.ceil(2 * L * B * T * H * d * bits / 8),
        ),
        alternatives=(_bytes_by_divmod, _bytes_by_fraction),
        hints=(
            "You have counted elements already.",
            "Elements times bits per element is a number of bits. A byte has eight.",
            "-(-bits // 8) divides by eight and rounds up, in whole numbers.",
        ),
    ),
    Answer(
        exercise=_ragged_kv_bytes,
        expected=_ragged,
        misconceptions=_mistakes(
            padded_total=lambda n, L, H, d, bits: -(-2 * L * len(n) * max(n, default=0) * H * d * bits // 8),
            longest_only=lambda n, L, H, d, bits: -(-2 * L * max(n, default=0) * H * d * bits // 8),
            first_only=lambda n, L, H, d, bits: -(-2 * L * sum(n[:1]) * H * d * bits // 8),
            last_only=lambda n, L, H, d, bits: -(-2 * L * sum(n[-1:]) * H * d * bits // 8),
            batch_times_sum=lambda n, L, H, d, bits: -(-2 * L * len(n) * sum(n) * H * d * bits // 8),
            distinct_lengths=lambda n, L, H, d, bits: -(-2 * L * sum(set(n)) * H * d * bits // 8),
            mean_rounded=lambda n, L, H, d, bits: -(-2 * L * len(n) * (sum(n) // max(1, len(n))) * H * d * bits // 8),
            rounds_to_nearest=lambda n, L, H, d, bits: (2 * L * sum(n) * H * d * bits + 4) // 8,
            rounds_each_tensor=lambda n, L, H, d, bits: 2 * -(-L * sum(n) * H * d * bits // 8),
            factor_two_dropped=lambda n, L, H, d, bits: -(-L * sum(n) * H * d * bits // 8),
            layers_dropped=lambda n, L, H, d, bits: -(-2 * sum(n) * H * d * bits // 8),
            bits_as_bytes=lambda n, L, H, d, bits: 2 * L * sum(n) * H * d * bits,
            rounds_each_request=lambda n, L, H, d, bits: sum(-(-2 * L * t * H * d * bits // 8) for t in n),
            rounds_down=lambda n, L, H, d, bits: 2 * L * sum(n) * H * d * bits // 8,
            float_rounding=lambda n, L, H, d, bits: math.ceil(2 * L * sum(n) * H * d * bits / 8),
        ),
        alternatives=(_ragged_by_request, _ragged_by_sorting),
        hints=(
            "What does a request of length t store, whatever the others do?",
            "Everything in the formula stays but batch × tokens.",
            "Put sum(lengths) in the place of batch × tokens, then turn bits into bytes once.",
        ),
    ),
    Answer(
        exercise=_as_units,
        expected=_units,
        accept=_units_accepted,
        tolerance=1e-12,
        misconceptions=_mistakes(
            units_swapped=lambda n: {
                "GB": n / 2**30,
                "GiB": n / 10**9,
                "MB": n / 2**20,
                "MiB": n / 10**6,
                "KiB": n / 10**3,
            },
            all_binary=lambda n: {
                "GB": n / 2**30,
                "GiB": n / 2**30,
                "MB": n / 2**20,
                "MiB": n / 2**20,
                "KiB": n / 2**10,
            },
            all_decimal=lambda n: {
                "GB": n / 10**9,
                "GiB": n / 10**9,
                "MB": n / 10**6,
                "MiB": n / 10**6,
                "KiB": n / 10**3,
            },
            kib_decimal=lambda n: _units_by_division(n) | {"KiB": n / 1000},
            whole_units_only=lambda n: {unit: int(value) for unit, value in _units_by_steps(n).items()},
            rounded_units=lambda n: {unit: round(value, 2) for unit, value in _units_by_division(n).items()},
        ),
        alternatives=(_units_by_division, _units_by_steps),
        hints=(
            "Two families of units: one counts in thousands, the other in 1024s.",
            "GB and MB are 10**9 and 10**6 bytes; GiB, MiB and KiB are 2**30, 2**20 and 2**10.",
            'Return {"GB": n_bytes / 10**9, "GiB": n_bytes / 2**30, …} with all five keys.',
        ),
    ),
    Answer(
        exercise=_bytes_per_token,
        expected=_per_token,
        misconceptions=_mistakes(
            query_heads=lambda c, bits: (
                -(-_right_bits({**c, "num_key_value_heads": c["num_attention_heads"]}, bits) // 8)
            ),
            hidden_over_heads=lambda c, bits: (
                -(-_right_bits({**c, "head_dim": c["hidden_size"] // c["num_attention_heads"]}, bits) // 8)
            ),
            rounds_down=lambda c, bits: _right_bits(c, bits) // 8,
            rounds_each_tensor=lambda c, bits: 2 * -(-_right_bits(c, bits) // 16),
            rounds_each_layer=lambda c, bits: (
                c["num_hidden_layers"] * -(-_right_bits({**c, "num_hidden_layers": 1}, bits) // 8)
            ),
            hidden_size_as_row=lambda c, bits: -(-2 * c["num_hidden_layers"] * c["hidden_size"] * bits // 8),
            kv_heads_dropped=lambda c, bits: -(-2 * c["num_hidden_layers"] * c["head_dim"] * bits // 8),
            layers_dropped=lambda c, bits: -(-2 * c["num_key_value_heads"] * c["head_dim"] * bits // 8),
            factor_two_dropped=lambda c, bits: -(-_right_bits(c, bits) // 16),
            bits_as_bytes=lambda c, bits: _right_bits(c, bits),
            always_two_bytes=lambda c, bits: _right_bits(c, 16) // 8,
        ),
        alternatives=(_per_token_by_loop, _per_token_by_product),
        hints=(
            "This is kv_bytes for one token of one request. Which entries of the card go where?",
            "Only what is stored counts: key/value heads and their width, in every layer.",
            "2 × num_hidden_layers × num_key_value_heads × head_dim × bits, then bits to bytes.",
        ),
    ),
    Answer(
        exercise=_capacity_table,
        expected=_table,
        misconceptions=_mistakes(
            mha_keeps_kv_heads=_rows(lambda c, v, t, bits: _row_bytes(c, "GQA" if v == "MHA" else v, t, bits)),
            group_size_for_heads=_rows(
                lambda c, v, t, bits: _row_bytes(
                    {**c, "num_key_value_heads": c["num_attention_heads"] // c["num_key_value_heads"]}, v, t, bits
                )
            ),
            hidden_over_heads=_rows(
                lambda c, v, t, bits: _row_bytes(
                    {**c, "head_dim": c["hidden_size"] // c["num_attention_heads"]}, v, t, bits
                )
            ),
            same_for_all_variants=_rows(lambda c, v, t, bits: _row_bytes(c, "GQA", t, bits)),
            variants_ignored=lambda card, contexts, variants=(), bits=16: _rows(_row_bytes)(
                card, contexts, bits_per_element=bits
            ),
            sorted_contexts=lambda card, contexts, *rest: _rows(_row_bytes)(card, sorted(contexts), *rest),
            rounds_each_token=_rows(lambda c, v, t, bits: t * _row_bytes(c, v, 1, bits)),
            context_dropped=_rows(lambda c, v, t, bits: _row_bytes(c, v, 1, bits)),
            always_two_bytes=_rows(lambda c, v, t, bits: _row_bytes(c, v, t, 16)),
            contexts_outermost=_contexts_outermost,
            fixed_variant_order=lambda card, contexts, variants=("MHA", "GQA", "MQA"), bits=16: _rows(_row_bytes)(
                card, contexts, [each for each in ("MHA", "GQA", "MQA") if each in variants], bits
            ),
            factor_two_dropped=_rows(lambda c, v, t, bits: -(-_row_bytes(c, v, t, bits) // 2)),
            layers_dropped=_rows(lambda c, v, t, bits: _row_bytes({**c, "num_hidden_layers": 1}, v, t, bits)),
        ),
        alternatives=(_table_by_comprehension, _table_by_scaling),
        hints=(
            "The three variants differ in one number only.",
            "K/V heads: all query heads for MHA, the card's for GQA, one for MQA.",
            'Loop over variants, then contexts; append {"variant": …, "tokens": …, "bytes": …}.',
        ),
    ),
    Answer(
        exercise=_max_tokens,
        expected=_most_tokens,
        misconceptions=_mistakes(
            ceiling=lambda budget, c, bits: -(-budget * 8 // _right_bits(c, bits)),
            nearest=lambda budget, c, bits: (budget * 16 // _right_bits(c, bits) + 1) // 2,
            ceiling_of_a_float=lambda budget, c, bits: math.ceil(budget / (_right_bits(c, bits) / 8)),
            nearest_of_a_float=lambda budget, c, bits: round(budget / (_right_bits(c, bits) / 8)),
            whole_bytes_per_token=lambda budget, c, bits: budget // -(-_right_bits(c, bits) // 8),
            at_least_one=lambda budget, c, bits: max(1, budget * 8 // _right_bits(c, bits)),
            float_rounding=lambda budget, c, bits: int(budget / (_right_bits(c, bits) / 8)),
            query_heads=_wrong_rate(
                lambda c, bits: _right_bits({**c, "num_key_value_heads": c["num_attention_heads"]}, bits)
            ),
            hidden_over_heads=_wrong_rate(
                lambda c, bits: _right_bits({**c, "head_dim": c["hidden_size"] // c["num_attention_heads"]}, bits)
            ),
            factor_two_dropped=lambda budget, c, bits: budget * 16 // _right_bits(c, bits),
            always_two_bytes=_wrong_rate(lambda c, bits: _right_bits(c, 16)),
        ),
        alternatives=(_tokens_by_bits, _tokens_by_fraction),
        hints=(
            "How many bytes does one token take? How often does that go into the budget?",
            "A token that fits only in part does not fit.",
            "In bits, so that nothing is rounded: 8 * budget_bytes // bits of one token.",
        ),
    ),
)
