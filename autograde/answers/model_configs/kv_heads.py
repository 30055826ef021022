"""`kv_heads`: what is right, which mistakes are known, and what to say about them."""

from fractions import Fraction

from autograde.answers.model_configs.shared import (
    ABSENT_KV_HEADS,
    EXPERTS,
    HEADED,
    HEADS_OF_A_LATENT,
    LATENT,
    NULL_IS_ABSENT,
    NULL_REFUSED,
    TEXT_CONFIG_OVERLOOKED,
    UNKNOWN_AS_LLAMA,
    Reading,
    oracle_kv_heads,
    refusing,
)
from autograde.exercise import Advice, Answer, Misconception
from autograde.exercises import exercise


def _kv_by_groups(config):
    """By the number of readers of each KV head."""
    config = config.get("text_config", config)
    kind = config.get("model_type")
    if kind in LATENT:
        raise ValueError("kv_lora_rank: no heads")
    if kind not in HEADED:
        raise ValueError(f"model_type {kind}")
    heads = config.get("num_attention_heads", config.get("n_head"))
    group, name = 1, "num_kv_heads" if kind == "falcon" else "num_key_value_heads"
    if kind == "gpt_bigcode":
        group = heads if config.get("multi_query", True) else 1
    elif kind == "falcon":
        new = config.get("new_decoder_architecture", False)
        group = (
            heads / (config.get("num_kv_heads") or heads) if new else heads if config.get("multi_query", True) else 1
        )
    elif kind != "gpt2":
        try:
            stored = config["num_key_value_heads"]
        except KeyError:
            stored = ABSENT_KV_HEADS.get(kind, heads)
        if stored is None and kind in NULL_REFUSED:
            raise ValueError("num_key_value_heads")
        group = Fraction(heads, stored or heads)
    if group != int(group) or group < 1:
        raise ValueError(name)
    return heads // int(group)


ANSWER = Answer(
    exercise=exercise("kv_heads"),
    expected=refusing(oracle_kv_heads),
    misconceptions=(
        Misconception(
            "absent_is_heads",
            Reading("absent is heads").kv_heads,
            Advice(
                "Do you take as many KV heads as query heads wherever the field is absent?",
                (
                    "What does Mistral's class take when the field is absent?",
                    "In llama and cohere absent means heads; in mistral 8, in qwen2 32, in gemma3_text 4.",
                    'Look up RULES[model_type]["num_key_value_heads"]["absent"].',
                ),
            ),
        ),
        Misconception(
            "null_is_absent",
            Reading("null is absent").kv_heads,
            NULL_IS_ABSENT,
        ),
        Misconception(
            "null_is_heads",
            Reading("null is heads").kv_heads,
            Advice(
                "Does null mean as many as query heads in every model type of yours?",
                (
                    "Look up what null means in this model type.",
                    "In qwen2 null says heads; mistral refuses it.",
                    'Where RULES says "refuse": raise ValueError("num_key_value_heads: …").',
                ),
            ),
        ),
        Misconception(
            "query_heads",
            Reading("query heads").kv_heads,
            Advice(
                "Did you return the query heads?",
                (
                    "Whose rows stay in the cache?",
                    "Queries are used once; keys and values are stored.",
                    "Read num_key_value_heads where it is stated.",
                ),
                source="hahnyuan/LLM-Viewer#12: the cache of a grouped-query model was sized by its query heads.",
            ),
        ),
        Misconception(
            "multi_query_overlooked",
            Reading("multi_query overlooked").kv_heads,
            Advice(
                "Did you overlook `multi_query`?",
                (
                    "Which fields of Falcon's file speak of heads?",
                    "The count's default says 71 for Falcon-7B, the flag says one for all.",
                    "Old Falcon and GPT-BigCode: 1 if multi_query is true.",
                ),
            ),
        ),
        Misconception(
            "absent_flag_is_false",
            Reading("absent flag is false").kv_heads,
            Advice(
                "Is an absent `multi_query` false in yours?",
                (
                    "Look up the flag's default.",
                    "Both Falcon and GPT-BigCode take true when the flag is absent.",
                    'config.get("multi_query", True)',
                ),
            ),
        ),
        Misconception(
            "new_architecture_overlooked",
            Reading("new architecture overlooked").kv_heads,
            Advice(
                "Does `multi_query` win over `new_decoder_architecture` in yours?",
                (
                    "Falcon-40B has multi_query true and 8 KV heads. Which field says so?",
                    "The new architecture ignores the flag and counts.",
                    "If new_decoder_architecture is true: num_kv_heads.",
                ),
            ),
        ),
        Misconception(
            "new_architecture_everywhere",
            Reading("new architecture everywhere").kv_heads,
            Advice(
                "Does `new_decoder_architecture` count in yours for a model type that has no such field?",
                (
                    "What is the model type of the configuration that failed?",
                    "The second flag is Falcon's; GPT-BigCode's class never reads it.",
                    'Ask model_type == "falcon" before the second flag.',
                ),
            ),
        ),
        Misconception(
            "absent_count_is_eight",
            Reading("absent count is eight").kv_heads,
            Advice(
                "Do you take 8 for Falcon's absent `num_kv_heads`?",
                (
                    "What does the exercise say stands for an absent `num_kv_heads`?",
                    "Falcon-40B states 8. It is no default.",
                    'config.get("num_kv_heads") or num_attention_heads',
                ),
            ),
        ),
        Misconception(
            "falcon_unchecked",
            Reading("falcon unchecked").kv_heads,
            Advice(
                "Do you return Falcon's `num_kv_heads` without a look at the query heads?",
                (
                    "Do the two numbers of this configuration fit together?",
                    "What holds for num_key_value_heads holds for Falcon's count too.",
                    'If num_attention_heads % num_kv_heads: raise ValueError("num_kv_heads: …").',
                ),
            ),
        ),
        Misconception(
            "experts",
            Reading("experts").kv_heads,
            EXPERTS,
        ),
        Misconception(
            "text_config_overlooked",
            Reading("text_config overlooked").kv_heads,
            TEXT_CONFIG_OVERLOOKED,
        ),
        Misconception(
            "unknown_as_llama",
            Reading("unknown as llama").kv_heads,
            UNKNOWN_AS_LLAMA,
        ),
        Misconception(
            "heads_of_a_latent",
            Reading("heads of a latent").kv_heads,
            HEADS_OF_A_LATENT,
        ),
        Misconception(
            "divisor_unchecked",
            Reading("divisor unchecked").kv_heads,
            Advice(
                "Do you accept KV heads that cannot be shared out evenly?",
                (
                    "Do the two numbers of this configuration fit together?",
                    (
                        "Every KV head serves equally many query heads, so the "
                        "one divides the other. A default can break that too."
                    ),
                    'If num_attention_heads % found: raise ValueError("num_key_value_heads: …").',
                ),
            ),
        ),
    ),
    alternatives=(_kv_by_groups, Reading().kv_heads),
    hints=(
        "Stated, null, absent: which is it, and what does this model type take for it?",
        'RULES[model_type]["num_key_value_heads"] says so, except for the two that have the flag multi_query.',
        "Find the number, then check that it divides the query heads.",
    ),
)
