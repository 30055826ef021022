"""`state_bytes`: what is right, which mistakes are known, and what to say about them."""

import numpy as np

from autograde.answers.model_configs.shared import (
    UNKNOWN_AS_LLAMA,
    Reading,
    inner_config,
    oracle_kinds,
    refusing,
    stated,
)
from autograde.exercise import Advice, Answer, Misconception
from autograde.exercises import exercise


def _state(config: dict, conv_width: int) -> int:
    layers = oracle_kinds(config).count("state")
    if not layers:
        return 0
    config = inner_config(config)
    inner = config.get("mamba_expand", 2) * config["hidden_size"]
    states = stated(config, "mamba_d_state") if "mamba_d_state" in config else 16
    conv, ssm = np.empty((inner, conv_width), np.float16), np.empty((inner, states), np.float32)
    return sum(conv.nbytes + ssm.nbytes for _ in range(layers))


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


ANSWER = Answer(
    exercise=exercise("state_bytes"),
    expected=refusing(_state),
    misconceptions=(
        Misconception(
            "all_layers",
            Reading("all layers").state_bytes,
            Advice(
                "Did you count a state in every layer, attention layers included?",
                (
                    "Which layers of Jamba have a state?",
                    "One layer in a period attends and has none.",
                    'layer_kinds(config).count("state")',
                ),
            ),
        ),
        Misconception(
            "attention_layers",
            Reading("attention layers").state_bytes,
            Advice(
                "Did you count the attention layers?",
                (
                    "Which layers of Jamba have a state?",
                    "The attention layers have keys and values; the others have the state.",
                    'layer_kinds(config).count("state")',
                ),
            ),
        ),
        Misconception(
            "all_bf16",
            Reading("all BF16").state_bytes,
            Advice(
                "Did you take two bytes for every element of the state?",
                (
                    "Which of the two parts adds up small numbers over thousands of tokens?",
                    "The state proper is kept in FP32, the inputs of the convolution in BF16.",
                    "2 bytes × conv_width + 4 bytes × mamba_d_state, for each channel.",
                ),
            ),
        ),
        Misconception(
            "all_fp32",
            Reading("all FP32").state_bytes,
            Advice(
                "Did you take four bytes for every element of the state?",
                (
                    "Which of the two parts is a copy of recent inputs?",
                    "The inputs of the convolution are kept in BF16.",
                    "2 bytes × conv_width + 4 bytes × mamba_d_state, for each channel.",
                ),
            ),
        ),
        Misconception(
            "width_from_the_file",
            Reading("width from the file").state_bytes,
            Advice(
                "Did you read the width of the convolution from the file, although it is an argument?",
                (
                    "Which of the arguments does your answer never use?",
                    "A step needs the last mamba_d_conv − 1 inputs; an implementation may keep one more.",
                    "Use conv_width.",
                ),
            ),
        ),
        Misconception(
            "not_expanded",
            Reading("not expanded").state_bytes,
            Advice(
                "Did you forget that the state is `mamba_expand` times as wide as the hidden state?",
                (
                    "How many channels has a Mamba layer?",
                    "It widens its input before it mixes.",
                    "mamba_expand * hidden_size channels.",
                ),
            ),
        ),
        Misconception(
            "no_convolution",
            Reading("no convolution").state_bytes,
            Advice(
                "Did you leave out the inputs of the convolution?",
                (
                    "A Mamba layer keeps two things. Which?",
                    "Beside the state proper it keeps its last few inputs.",
                    "Add 2 bytes × conv_width for each channel.",
                ),
            ),
        ),
        Misconception(
            "unknown_as_llama",
            Reading("unknown as llama").state_bytes,
            UNKNOWN_AS_LLAMA,
        ),
    ),
    alternatives=(_state_by_layers, _state_by_bits),
    hints=(
        "How many layers have a state, how many channels has each, how many bytes has a channel?",
        "Channels: mamba_expand × hidden_size. Absent fields have defaults in DEFAULTS.",
        "layers × channels × (2 × conv_width + 4 × mamba_d_state)",
    ),
)
