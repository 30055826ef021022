"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

import math
from fractions import Fraction

import numpy as np

from autograde.exercise import Advice, Case


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


def expected_elements(case: Case) -> int:
    sizes = case.inputs
    lengths = [sizes["tokens"]] * sizes["batch"]
    return count_elements(sizes["num_layers"], lengths, sizes["num_kv_heads"], sizes["head_dim"])


def token_bytes(config: dict, kv_heads: int, bits: int, tokens: int = 1) -> int:
    return to_bytes(count_elements(config["num_hidden_layers"], [tokens], kv_heads, config["head_dim"]), bits)


def elements_by_adding(num_layers, batch, tokens, num_kv_heads, head_dim):
    one_tensor = sum(tokens * num_kv_heads for _ in range(head_dim))
    return sum(one_tensor + one_tensor for _ in range(num_layers) for _ in range(batch))


def bits_of_token(config, bits):
    return 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"] * bits


FACTOR_TWO_DROPPED = Advice(
    "Did you count only one of the two tensors that each layer keeps?",
    (
        "Name the tensors that attention reads for an old token.",
        "A layer stores one vector to compare the query with and one to mix into the output.",
        "K and V have the same shape, so count one of them and double it.",
    ),
)
LAYERS_DROPPED = Advice(
    "Did you count a single layer, although every layer keeps a cache of its own?",
    (
        "Whose keys does layer 7 read?",
        "The hidden state differs from layer to layer, so its keys and values do too.",
        "Multiply by the number of layers.",
    ),
)
BATCH_DROPPED = Advice(
    "Did you count one request, although every request in the batch stores its own tokens?",
    (
        "Which of the arguments does your answer never use?",
        "Two requests share weights, not keys and values.",
        "Multiply by the batch size.",
    ),
)
FLOAT_ROUNDING = Advice(
    "Does a float carry your count somewhere on its way, and lose the last digits of a large one?",
    (
        "Compare the last digits of yours and of the expected number.",
        "A float holds whole numbers exactly only up to 2**53. `/` makes one.",
        "Stay with integers: `//` instead of `/`, and no float constant.",
    ),
)
BITS_AS_BYTES = Advice(
    "Did you multiply by bits per element where bytes were wanted?",
    (
        "How many bytes does one 16-bit element take?",
        "There are eight bits in a byte.",
        "Divide the total number of bits by eight, at the very end.",
    ),
)
ALWAYS_TWO_BYTES = Advice(
    "Did you take every element for two bytes, whatever `bits_per_element` says?",
    (
        "Which of the arguments does your answer never use?",
        "BF16 takes 16 bits, FP8 takes 8, a 4-bit code takes 4.",
        "Multiply by `bits_per_element`, then divide by eight.",
    ),
)
ROUNDS_DOWN = Advice(
    "Did you round an unfinished byte down, so that the last bits have no place?",
    (
        "Nine bits: how many bytes hold them?",
        "`//` rounds down; a last, partly filled byte still has to be stored.",
        "-(-bits // 8) rounds up without a float.",
    ),
)
ROUNDS_TO_NEAREST = Advice(
    "Did you round to the nearest byte, so that a byte filled by a quarter has no place?",
    (
        "Nine bits: how many bytes hold them?",
        "round() goes down below a half; the bits still have to be stored.",
        "-(-bits // 8) rounds up without a float.",
    ),
)
ROUNDS_EACH_TENSOR = Advice(
    "Did you round K and V up to whole bytes separately, instead of their total once?",
    (
        "Your answer is a byte too large at most. Where could it come from?",
        "The formula counts the payload of everything together.",
        "Put the factor 2 inside, and round up once, at the end.",
    ),
)
ROUNDS_EACH_LAYER = Advice(
    "Did you round every layer up to whole bytes, instead of the total once?",
    (
        "Your answer is a few bytes too large. How does that depend on the layers?",
        "The formula counts the payload of everything together.",
        "Multiply the bits by the layers first, and round up once, at the end.",
    ),
)
QUERY_HEADS = Advice(
    "Did you count query heads, although only the key/value heads are stored?",
    (
        "Which heads leave something behind for the next step?",
        "Queries are used once and thrown away; with grouped queries several of them read one K/V head.",
        "Use num_key_value_heads.",
    ),
    source="hahnyuan/LLM-Viewer#12: the cache of a grouped-query model was sized by its query heads.",
)
HIDDEN_OVER_HEADS = Advice(
    "Did you derive the head width from hidden_size, although the config states head_dim?",
    (
        "Compare hidden_size / num_attention_heads with head_dim.",
        "Some models choose a head width that is not hidden_size / heads.",
        "Use head_dim whenever the config has it.",
    ),
    source="LMCache/LMCache#688: a cache sized by hidden_size / heads did not fit the model.",
)
GROUP_SIZE_FOR_HEADS = Advice(
    "For GQA, did you take the number of query heads per group for the number of groups?",
    (
        "With 32 query heads and 8 K/V heads, how many keys are stored: 8, or 4?",
        "num_attention_heads / num_key_value_heads says how many queries share a head, not how many heads exist.",
        "Use num_key_value_heads for GQA.",
    ),
)
