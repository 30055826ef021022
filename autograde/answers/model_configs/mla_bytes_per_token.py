"""`mla_bytes_per_token`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

from autograde.answers.model_configs.shared import (
    FACTOR_TWO,
    HEADS_OF_A_LATENT,
    LATENT,
    NO_ROTARY_KEY,
    ROUNDS_DOWN,
    Reading,
    Refused,
    inner_config,
    latent_row,
    refusing,
)
from autograde.exercise import Advice, Answer, Misconception
from autograde.exercises import exercise


def _per_token(config: dict, bits: int) -> int:
    config = inner_config(config)
    if config["model_type"] not in LATENT:
        raise Refused("model_type")
    row = latent_row(config)
    return math.ceil(Fraction(sum(row for _ in range(config["num_hidden_layers"])) * bits, 8))


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


def _heads_as_in_the_file(config, bits):
    try:
        _per_token(config, bits)
    except Refused as field:
        raise ValueError(f"{field}: refused") from None
    config = inner_config(config)
    row = config["num_key_value_heads"] * (config["hidden_size"] // config["num_attention_heads"])
    return math.ceil(Fraction(2 * config["num_hidden_layers"] * row * bits, 8))


ANSWER = Answer(
    exercise=exercise("mla_bytes_per_token"),
    expected=refusing(_per_token),
    misconceptions=(
        Misconception(
            "factor_two",
            Reading("factor two").mla_bytes_per_token,
            FACTOR_TWO,
            also=(Reading("factor two", "no rotary key").mla_bytes_per_token,),
        ),
        Misconception(
            "no_rotary_key",
            Reading("no rotary key").mla_bytes_per_token,
            NO_ROTARY_KEY,
        ),
        Misconception(
            "rotary_key_per_head",
            Reading("rotary key per head").mla_bytes_per_token,
            Advice(
                "Did you count a rotary key for every head?",
                (
                    "How many rotary keys does a layer keep for one token?",
                    "All query heads meet the same rotary key.",
                    "kv_lora_rank + qk_rope_head_dim, once.",
                ),
            ),
        ),
        Misconception(
            "latent_per_kv_head",
            Reading("latent per KV head").mla_bytes_per_token,
            Advice(
                "Did you multiply the latent by `num_key_value_heads`?",
                (
                    "How many latents does a layer keep for one token?",
                    "All heads share one latent; that is the point of it.",
                    "The number of heads plays no part.",
                ),
            ),
        ),
        Misconception(
            "heads_of_a_latent",
            Reading("heads of a latent").mla_bytes_per_token,
            HEADS_OF_A_LATENT,
            also=(_heads_as_in_the_file,),
        ),
        Misconception(
            "layers_dropped",
            Reading("layers dropped").mla_bytes_per_token,
            Advice(
                "Did you count a single layer?",
                (
                    "Whose latent does layer 7 read?",
                    "Every layer keeps a latent of its own.",
                    "Multiply by num_hidden_layers.",
                ),
            ),
        ),
        Misconception(
            "predicting_layers",
            Reading("predicting layers").mla_bytes_per_token,
            Advice(
                "Did you count the layers that only predict further tokens?",
                (
                    "Which field adds layers to yours?",
                    "num_nextn_predict_layers is an extra head, used only when a server asks for it.",
                    "num_hidden_layers alone.",
                ),
            ),
        ),
        Misconception(
            "any_model",
            Reading("any model").mla_bytes_per_token,
            Advice(
                "Do you give a latent to a model that has none?",
                (
                    "What is the model type of the configuration that failed?",
                    "A default of 512 is DeepSeek's, not everybody's.",
                    'Where RULES does not say "latent": raise ValueError("model_type: …").',
                ),
            ),
        ),
        Misconception(
            "rounds_down",
            Reading("rounds down").mla_bytes_per_token,
            ROUNDS_DOWN,
        ),
    ),
    alternatives=(_mla_by_fields, _mla_as_difference),
    hints=(
        "What does one layer keep of one token, whatever the number of heads?",
        "One latent of kv_lora_rank elements, and one rotary key of qk_rope_head_dim.",
        "(rank + rotary) × layers × bits, divided by eight and rounded up.",
    ),
)
