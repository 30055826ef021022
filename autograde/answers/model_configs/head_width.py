"""`head_width`: what is right, which mistakes are known, and what to say about them."""

from autograde.answers.model_configs.shared import (
    HEADED,
    HEADS_OF_A_LATENT,
    HIDDEN_OVER_HEADS,
    LATENT,
    NULL_IS_ABSENT,
    TEXT_CONFIG_OVERLOOKED,
    UNKNOWN_AS_LLAMA,
    Reading,
    oracle_width,
    refusing,
)
from autograde.exercise import Advice, Answer, Misconception
from autograde.exercises import exercise


def _width_by_match(config):
    config = config.get("text_config", config)
    match config:
        case {"model_type": "gpt2" | "gpt_bigcode", "n_embd": hidden, "n_head": heads}:
            stated = None
        case {"model_type": kind} if kind in LATENT:
            raise ValueError("kv_lora_rank has no heads")
        case {"model_type": "qwen3" | "gpt_oss" | "gemma2" | "gemma3_text" | "gemma3n_text" as kind}:
            width = {"gpt_oss": 64, "qwen3": 128}.get(kind, 256) if "head_dim" not in config else config["head_dim"]
            if width is None:
                raise ValueError("head_dim is null")
            return width
        case {"model_type": kind} if kind in HEADED:
            stated = config.get("head_dim")
            hidden, heads = config.get("hidden_size"), config.get("num_attention_heads")
        case _:
            raise ValueError("model_type is unknown")
    if stated is not None:
        return stated
    if hidden is None or hidden % heads:
        raise ValueError("hidden_size cannot be divided")
    return hidden // heads


ANSWER = Answer(
    exercise=exercise("head_width"),
    expected=refusing(oracle_width),
    misconceptions=(
        Misconception(
            "hidden_over_heads",
            Reading("hidden / heads").head_width,
            HIDDEN_OVER_HEADS,
        ),
        Misconception(
            "absent_is_divided",
            Reading("absent is divided").head_width,
            Advice(
                "Do you divide hidden size by heads wherever `head_dim` is absent?",
                (
                    "Which model types have a width of their own?",
                    "Gemma 2 takes 256 when the field is absent, gpt-oss 64, Qwen3 128.",
                    'Look up RULES[model_type]["head_dim"]["absent"] before you divide.',
                ),
            ),
        ),
        Misconception(
            "null_is_absent",
            Reading("null is absent").head_width,
            NULL_IS_ABSENT,
        ),
        Misconception(
            "null_is_divided",
            Reading("null is divided").head_width,
            Advice(
                "Do you divide where `head_dim` is null, also in a model type that refuses null?",
                (
                    "Look up what null means in this model type.",
                    "In Llama null says divide; in Gemma 2, gpt-oss and Qwen3 it says nothing.",
                    'Where RULES says "refuse": raise ValueError("head_dim: …").',
                ),
            ),
        ),
        Misconception(
            "text_config_overlooked",
            Reading("text_config overlooked").head_width,
            TEXT_CONFIG_OVERLOOKED,
        ),
        Misconception(
            "unknown_as_llama",
            Reading("unknown as llama").head_width,
            UNKNOWN_AS_LLAMA,
        ),
        Misconception(
            "keyerror",
            Reading("KeyError").head_width,
            Advice(
                "Does a missing field end in a KeyError, where a ValueError that names it was asked for?",
                (
                    "What does `config[name]` raise when the field is missing?",
                    "Whoever reads the message should learn which field of the file to look at.",
                    "`needed(config, name)` returns the number or raises the right ValueError.",
                ),
            ),
        ),
        Misconception(
            "heads_of_a_latent",
            Reading("heads of a latent").head_width,
            HEADS_OF_A_LATENT,
        ),
        Misconception(
            "kv_heads_divide",
            Reading("KV heads divide").head_width,
            Advice(
                "Did you divide the hidden size by the KV heads?",
                (
                    "Which heads together are as wide as the hidden state?",
                    "The query heads are.",
                    "hidden_size // num_attention_heads.",
                ),
            ),
        ),
        Misconception(
            "float",
            Reading("float").head_width,
            Advice(
                "Did you divide with `/`, which gives a float?",
                (
                    "What is type(96 / 12)?",
                    "A width is a whole number, and so should its type be.",
                    "Use // after you have seen that nothing remains.",
                ),
            ),
        ),
        Misconception(
            "rounds_down",
            Reading("rounds down").head_width,
            Advice(
                "Do you round a width down that is no whole number?",
                (
                    "What is 97 // 12, and what is lost?",
                    "If the division does not come out even, the two fields contradict each other.",
                    'If hidden_size % num_attention_heads: raise ValueError("hidden_size: …").',
                ),
            ),
        ),
    ),
    alternatives=(_width_by_match, Reading().head_width),
    hints=(
        "Three things can be true of a field: stated, null, absent. Which of them is it here?",
        'RULES[model_type]["head_dim"] says what stands for absent and for null.',
        "decoder(config), look up the rule, take the stated value or what stands for it, and divide only if told.",
    ),
)
