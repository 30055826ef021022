"""`capacity_table`: what is right, which mistakes are known, and what to say about them."""

from autograde.answers.byte_formula.shared import (
    ALWAYS_TWO_BYTES,
    FACTOR_TWO_DROPPED,
    GROUP_SIZE_FOR_HEADS,
    HIDDEN_OVER_HEADS,
    LAYERS_DROPPED,
    token_bytes,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _table(case: Case) -> list[dict]:
    config = case.inputs["config"]
    rows = []
    for variant in case.inputs.get("variants", ("MHA", "GQA", "MQA")):
        # KV heads of the variant, found by dealing the query heads out to groups.
        groups = {"MHA": config["num_attention_heads"], "GQA": config["num_key_value_heads"], "MQA": 1}[variant]
        heads = len({query * groups // config["num_attention_heads"] for query in range(config["num_attention_heads"])})
        for tokens in case.inputs["contexts"]:
            size = token_bytes(config, heads, case.inputs.get("bits_per_element", 16), tokens)
            rows.append({"variant": variant, "tokens": tokens, "bytes": size})
    return rows


def _table_by_comprehension(config, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
    heads = {"MHA": config["num_attention_heads"], "GQA": config["num_key_value_heads"], "MQA": 1}
    rate = config["num_hidden_layers"] * config["head_dim"] * bits_per_element
    return [
        {"variant": variant, "tokens": tokens, "bytes": -(-tokens * rate * heads[variant] // 4)}
        for variant in variants
        for tokens in contexts
    ]


def _table_by_scaling(config, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
    one_head = 2 * config["num_hidden_layers"] * config["head_dim"] * bits_per_element  # bits of a token
    stored = {"MHA": "num_attention_heads", "GQA": "num_key_value_heads"}
    rows = []
    for variant in variants:
        heads = config[stored[variant]] if variant in stored else 1
        rows.extend({"bytes": (heads * one_head * t + 7) // 8, "tokens": t, "variant": variant} for t in contexts)
    return rows


def _rows(size):
    """A wrong table: `size(config, variant, tokens, bits)` gives the bytes of a row."""

    def table(config, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
        return [
            {"variant": variant, "tokens": tokens, "bytes": size(config, variant, tokens, bits_per_element)}
            for variant in variants
            for tokens in contexts
        ]

    return table


def _contexts_outermost(config, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
    pairs = [(variant, tokens) for tokens in contexts for variant in variants]
    return [{"variant": v, "tokens": t, "bytes": _row_bytes(config, v, t, bits_per_element)} for v, t in pairs]


def _heads(config, variant):
    return {"MHA": config["num_attention_heads"], "GQA": config["num_key_value_heads"], "MQA": 1}[variant]


def _row_bytes(config, variant, tokens, bits):
    return -(-2 * config["num_hidden_layers"] * _heads(config, variant) * config["head_dim"] * tokens * bits // 8)


ANSWER = Answer(
    exercise=exercise("capacity_table"),
    expected=_table,
    misconceptions=(
        Misconception(
            "mha_keeps_kv_heads",
            _rows(lambda c, v, t, bits: _row_bytes(c, "GQA" if v == "MHA" else v, t, bits)),
            Advice(
                "Did you leave MHA with the config's grouped K/V heads?",
                (
                    "In multi-head attention, how many query heads share one K/V head?",
                    "MHA gives each query head its own key and value.",
                    "For MHA use num_attention_heads as the number of K/V heads.",
                ),
            ),
        ),
        Misconception(
            "group_size_for_heads",
            _rows(
                lambda c, v, t, bits: _row_bytes(
                    {**c, "num_key_value_heads": c["num_attention_heads"] // c["num_key_value_heads"]}, v, t, bits
                )
            ),
            GROUP_SIZE_FOR_HEADS,
        ),
        Misconception(
            "hidden_over_heads",
            _rows(
                lambda c, v, t, bits: _row_bytes(
                    {**c, "head_dim": c["hidden_size"] // c["num_attention_heads"]}, v, t, bits
                )
            ),
            HIDDEN_OVER_HEADS,
        ),
        Misconception(
            "same_for_all_variants",
            _rows(lambda c, v, t, bits: _row_bytes(c, "GQA", t, bits)),
            Advice(
                "Did you use the config's K/V heads for all variants?",
                (
                    "Compare the bytes of your MHA and MQA rows.",
                    "The variants differ in nothing but the number of K/V heads.",
                    "MHA: num_attention_heads. GQA: num_key_value_heads. MQA: 1.",
                ),
            ),
        ),
        Misconception(
            "variants_ignored",
            lambda config, contexts, variants=(), bits=16: _rows(_row_bytes)(config, contexts, bits_per_element=bits),
            Advice(
                "Did you list all three variants, although fewer were asked for?",
                (
                    "How many rows are wanted for variants=('GQA',) and one context?",
                    "`variants` says which rows are wanted and in which order.",
                    "Loop over `variants` itself.",
                ),
            ),
        ),
        Misconception(
            "sorted_contexts",
            lambda config, contexts, *rest: _rows(_row_bytes)(config, sorted(contexts), *rest),
            Advice(
                "Did you sort the contexts, instead of keeping the order that was passed?",
                (
                    "Compare the tokens of your first row with contexts[0].",
                    "Whoever asks decides the order.",
                    "Loop over `contexts` as it is.",
                ),
            ),
        ),
        Misconception(
            "rounds_each_token",
            _rows(lambda c, v, t, bits: t * _row_bytes(c, v, 1, bits)),
            Advice(
                "Did you round one token up to whole bytes before you multiplied by the tokens?",
                (
                    "What does your function give for 3-bit elements?",
                    "bytes_per_token has rounded already; multiplied by many tokens, the rounding adds up.",
                    "Multiply the bits by the tokens first, and round up once, at the end.",
                ),
            ),
        ),
        Misconception(
            "context_dropped",
            _rows(lambda c, v, t, bits: _row_bytes(c, v, 1, bits)),
            Advice(
                "Did you write the bytes of one token into every row?",
                (
                    "Do your bytes grow with the context?",
                    "A row is about a request that stores `tokens` tokens.",
                    "Multiply the bytes per token by `tokens`.",
                ),
            ),
        ),
        Misconception(
            "always_two_bytes",
            _rows(lambda c, v, t, bits: _row_bytes(c, v, t, 16)),
            ALWAYS_TWO_BYTES,
        ),
        Misconception(
            "contexts_outermost",
            _contexts_outermost,
            Advice(
                "Are your rows right but in another order: all variants of one context first?",
                (
                    "Read the first three rows of yours and of the expected list.",
                    "Variants are the outer loop, contexts the inner one.",
                    "for variant in variants: for tokens in contexts: append a row.",
                ),
            ),
        ),
        Misconception(
            "fixed_variant_order",
            lambda config, contexts, variants=("MHA", "GQA", "MQA"), bits=16: _rows(_row_bytes)(
                config, contexts, [each for each in ("MHA", "GQA", "MQA") if each in variants], bits
            ),
            Advice(
                "Did you list the variants in an order of your own, instead of the one that was passed?",
                (
                    "What does your function do with variants=('MQA', 'MHA')?",
                    "`variants` says which rows are wanted and in which order.",
                    "Loop over `variants` itself.",
                ),
            ),
        ),
        Misconception(
            "factor_two_dropped",
            _rows(lambda c, v, t, bits: -(-_row_bytes(c, v, t, bits) // 2)),
            FACTOR_TWO_DROPPED,
        ),
        Misconception(
            "layers_dropped",
            _rows(lambda c, v, t, bits: _row_bytes({**c, "num_hidden_layers": 1}, v, t, bits)),
            LAYERS_DROPPED,
        ),
    ),
    alternatives=(_table_by_comprehension, _table_by_scaling),
    hints=(
        "The three variants differ in one number only.",
        "K/V heads: all query heads for MHA, the config's for GQA, one for MQA.",
        'Loop over variants, then contexts; append {"variant": …, "tokens": …, "bytes": …}.',
    ),
)
