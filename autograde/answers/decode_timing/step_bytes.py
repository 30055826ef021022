"""`step_bytes`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

from autograde.answers.byte_formula.shared import count_elements, to_bytes
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from kvlab.sizes import bits_to_bytes


def _read(case: Case) -> list[int]:
    """Counted tensor by tensor, as in lesson 02."""
    config, num_params, batch, context, weight_bits, kv_bits = case.inputs.values()
    shape = config["num_key_value_heads"], config["head_dim"]
    return [
        to_bytes(num_params, weight_bits),
        to_bytes(count_elements(config["num_hidden_layers"], [context] * batch, *shape), kv_bits),
    ]


def _bits(config, batch, context, kv_bits):
    row = config["num_key_value_heads"] * config["head_dim"]
    return 2 * config["num_hidden_layers"] * row * batch * context * kv_bits


def _bytes_with(
    cache=_bits, weights=lambda num_params, batch, bits: num_params * bits, to=bits_to_bytes, to_weights=None
):
    """Bytes of a step, right as it stands; each argument is a mistake."""

    def step_bytes(config, num_params, batch, context, weight_bits, kv_bits):
        weight_total = weights(num_params, batch, weight_bits)
        return (to_weights or to)(weight_total), to(cache(config, batch, context, kv_bits))

    return step_bytes


def _config_with(**keys):
    """The bits of a cache, read off the wrong entries of a config."""
    return lambda config, batch, context, bits: _bits(
        config | {key: wrong(config) for key, wrong in keys.items()}, batch, context, bits
    )


def _bytes_by_loop(config, num_params, batch, context, weight_bits, kv_bits):
    bits = 0
    for _layer in range(config["num_hidden_layers"]):
        for _sequence in range(batch):
            for _k_or_v in range(2):
                bits += context * config["num_key_value_heads"] * config["head_dim"] * kv_bits
    return math.ceil(Fraction(num_params * weight_bits, 8)), math.ceil(Fraction(bits, 8))


def _bytes_by_divmod(config, num_params, batch, context, weight_bits, kv_bits):
    sizes = (config[key] for key in ("num_hidden_layers", "num_key_value_heads", "head_dim"))
    totals = num_params * weight_bits, math.prod(sizes) * batch * context * kv_bits * 2
    return tuple(whole + bool(rest) for whole, rest in (divmod(total, 8) for total in totals))


ANSWER = Answer(
    exercise=exercise("step_bytes"),
    expected=_read,
    misconceptions=(
        Misconception(
            "k_only",
            _bytes_with(cache=lambda *sizes: _bits(*sizes) // 2),
            Advice(
                "Did you count the bytes of K only?",
                (
                    "What does a query need from an old token besides its key?",
                    "Each layer reads K for the scores and V for the mix.",
                    "Double the bytes of the cache.",
                ),
            ),
        ),
        Misconception(
            "batch_dropped",
            _bytes_with(cache=lambda config, batch, context, bits: _bits(config, 1, context, bits)),
            Advice(
                "Did you read the cache of one sequence, whatever the batch?",
                (
                    "Which of the arguments does your answer never use?",
                    "Sequences share the weights. Each one has a cache of its own.",
                    "Multiply the bits of the cache by `batch`.",
                ),
            ),
        ),
        Misconception(
            "weights_per_sequence",
            _bytes_with(weights=lambda num_params, batch, bits: num_params * batch * bits),
            Advice(
                "Did you read the weights once for each sequence?",
                (
                    "Why does a batch pay at all?",
                    "A row of weights that has been read is used for all sequences of the step.",
                    "Multiply the cache by `batch`, and leave the weights alone.",
                ),
            ),
        ),
        Misconception(
            "query_heads",
            _bytes_with(cache=_config_with(num_key_value_heads=lambda config: config["num_attention_heads"])),
            Advice(
                "Did you count query heads, although only K/V heads are stored?",
                (
                    "Which heads leave something behind for the next step?",
                    "Several query heads read one K/V head.",
                    "Use num_key_value_heads.",
                ),
                source="hahnyuan/LLM-Viewer#12: the cache of a grouped-query model was sized by its query heads.",
            ),
        ),
        Misconception(
            "layers_dropped",
            _bytes_with(cache=_config_with(num_hidden_layers=lambda config: 1)),
            Advice(
                "Did you read the cache of one layer only?",
                (
                    "Whose keys does layer 7 read?",
                    "Every layer has a cache of its own.",
                    "Multiply by num_hidden_layers.",
                ),
            ),
        ),
        Misconception(
            "bits_as_bytes",
            _bytes_with(to=lambda bits: bits),
            Advice(
                "Did you give bits where bytes were wanted?",
                (
                    "How many bytes does one 16-bit weight take?",
                    "There are eight bits in a byte.",
                    "Divide each of the two totals by eight, at the very end.",
                ),
            ),
        ),
        Misconception(
            "hidden_over_heads",
            _bytes_with(
                cache=_config_with(head_dim=lambda config: config["hidden_size"] // config["num_attention_heads"])
            ),
            Advice(
                "Did you derive the head width from hidden_size, although the config states head_dim?",
                (
                    "Compare hidden_size / num_attention_heads with head_dim.",
                    "Some models choose a head width that is not hidden_size / heads.",
                    "Use head_dim.",
                ),
                source="LMCache/LMCache#688: a cache sized by hidden_size / heads did not fit the model.",
            ),
        ),
        Misconception(
            "rounded_down",
            _bytes_with(to=lambda bits: bits // 8),
            Advice(
                "Did you round an unfinished byte down?",
                (
                    "Nine bits: how many bytes hold them?",
                    "`//` rounds down; the last bits still have to be read.",
                    "-(-bits // 8) rounds up in whole numbers.",
                ),
            ),
        ),
        Misconception(
            "rounded_each_sequence",
            _bytes_with(cache=lambda config, batch, *rest: 8 * batch * bits_to_bytes(_bits(config, 1, *rest))),
            Advice(
                "Did you round the cache of each sequence up, instead of the total once?",
                (
                    "Your answer is a few bytes too large. Where could they come from?",
                    "Bytes rounded up for each of many sequences add up.",
                    "Multiply the bits by `batch` first, and round up once, at the end.",
                ),
            ),
        ),
        Misconception(
            "rounded_each_tensor",
            _bytes_with(cache=lambda *sizes: 16 * bits_to_bytes(_bits(*sizes) // 2)),
            Advice(
                "Did you round K and V up to whole bytes separately?",
                (
                    "Your answer is a byte too large at most. Where could it come from?",
                    "The cache rounds up once, as a whole.",
                    "Put the factor 2 in before you round.",
                ),
            ),
        ),
        Misconception(
            "float_bytes",
            _bytes_with(to=lambda bits: math.ceil(bits / 8)),
            Advice(
                "Does a float carry a count on its way, and lose the last digits of a large one?",
                (
                    "Compare the last digits of yours and of the expected number.",
                    "A float holds whole numbers exactly only up to 2**53. `/` makes one.",
                    "-(-bits // 8) rounds up without a float.",
                ),
            ),
        ),
        Misconception(
            "cache_first",
            lambda *sizes: _bytes_with()(*sizes)[::-1],
            Advice(
                "Did you return the bytes of the cache first, and those of the weights after them?",
                (
                    "Which of your two numbers grows with the context, and in which place does it stand?",
                    "Both counts are right; their order is not.",
                    "return weight_bytes, cache_bytes",
                ),
            ),
        ),
        Misconception(
            "bits_swapped",
            lambda config, n, batch, context, weight_bits, kv_bits: _bytes_with()(
                config, n, batch, context, kv_bits, weight_bits
            ),
            Advice(
                "Did you use the bits of the weights for the cache, and those of the cache for the weights?",
                (
                    "Which of your two numbers grows with kv_bits?",
                    "Weights and cache may be stored in different widths.",
                    "num_params × weight_bits, and everything of the cache × kv_bits.",
                ),
            ),
        ),
        Misconception(
            "weight_bits_for_both",
            lambda config, n, batch, context, weight_bits, kv_bits: _bytes_with()(
                config, n, batch, context, weight_bits, weight_bits
            ),
            Advice(
                "Did you take the cache's elements to be as wide as the weights?",
                (
                    "Which of the arguments does your answer never use?",
                    "A model with 4-bit weights often keeps a 16-bit cache.",
                    "Use kv_bits for the cache.",
                ),
            ),
        ),
    ),
    alternatives=(_bytes_by_loop, _bytes_by_divmod),
    hints=(
        "Two counts that have nothing to do with each other. Which of the two knows the batch?",
        "Every weight is read once a step. Every sequence reads K and V of its context, in every layer.",
        "2 × layers × num_key_value_heads × head_dim × context × batch × kv_bits; then bits to bytes, rounded up.",
    ),
)
