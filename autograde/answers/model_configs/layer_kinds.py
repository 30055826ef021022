"""`layer_kinds`: what is right, which mistakes are known, and what to say about them."""

from autograde.answers.model_configs.shared import (
    ABSENT_IS_NO_WINDOW,
    ALL_LAYERS_OF_JAMBA,
    NULL_IS_ABSENT,
    SHARING_IGNORED,
    UNKNOWN_AS_LLAMA,
    WINDOWS_IGNORED,
    LayerKindsBySwitch,
    Reading,
    oracle_kinds,
    refusing,
)
from autograde.exercise import Advice, Answer, Misconception
from autograde.exercises import exercise

ANSWER = Answer(
    exercise=exercise("layer_kinds"),
    expected=refusing(oracle_kinds),
    misconceptions=(
        Misconception(
            "windows_ignored",
            Reading("windows ignored").layer_kinds,
            WINDOWS_IGNORED,
        ),
        Misconception(
            "absent_is_no_window",
            Reading("absent is no window").layer_kinds,
            ABSENT_IS_NO_WINDOW,
        ),
        Misconception(
            "absent_is_4096",
            Reading("absent is 4096").layer_kinds,
            Advice(
                "Is an absent `sliding_window` 4096 in every model type of yours?",
                (
                    "Look up the default of mixtral.",
                    "Mistral takes 4096, Mixtral none.",
                    'RULES[model_type]["sliding_window"]',
                ),
            ),
        ),
        Misconception(
            "null_is_absent",
            Reading("null is absent").layer_kinds,
            NULL_IS_ABSENT,
        ),
        Misconception(
            "flag_ignored",
            Reading("flag ignored").layer_kinds,
            Advice(
                "Does a `sliding_window` count in yours although `use_sliding_window` is not true?",
                (
                    "Which fields does Qwen2 have besides the width?",
                    "Its files carry a window that is switched off.",
                    "No window unless use_sliding_window is true; absent means false.",
                ),
            ),
        ),
        Misconception(
            "absent_flag_is_true",
            Reading("absent flag is true").layer_kinds,
            Advice(
                "Is an absent `use_sliding_window` true in yours?",
                (
                    "Look up the flag's default.",
                    "Qwen2 has no window unless the file asks for it.",
                    'config.get("use_sliding_window", False)',
                ),
            ),
        ),
        Misconception(
            "first_layers",
            Reading("first layers").layer_kinds,
            Advice(
                "Do the first `max_window_layers` layers have the window in yours?",
                (
                    "Which layers does the class give a window?",
                    "The name misleads: the layers below max_window_layers see everything.",
                    "Layer i has the window if i >= max_window_layers.",
                ),
            ),
        ),
        Misconception(
            "every_layer",
            Reading("every layer").layer_kinds,
            Advice(
                "Do all layers of Qwen2 have the window in yours?",
                (
                    "What is max_window_layers for?",
                    "The first layers see everything.",
                    "Layer i has the window if i >= max_window_layers.",
                ),
            ),
        ),
        Misconception(
            "one_layer_early",
            Reading("one layer early").layer_kinds,
            Advice(
                "Does your pattern begin with a full layer?",
                (
                    "Which kind is layer 0 of Gemma 2?",
                    "The full layer comes last in each round: layer 1 of 2, layer 5 of 6.",
                    "Layer i is full if (i + 1) % every == 0.",
                ),
            ),
        ),
        Misconception(
            "list_ignored",
            Reading("list ignored").layer_kinds,
            Advice(
                "Did you follow the rule although `layer_types` lists the layers?",
                (
                    "Which field of this file names every layer?",
                    "A list that is stated wins over the rule.",
                    'If config.get("layer_types"): translate it.',
                ),
            ),
        ),
        Misconception(
            "pattern_ignored",
            Reading("pattern ignored").layer_kinds,
            Advice(
                "Did you overlook `sliding_window_pattern`?",
                (
                    "Which fields of this file begin with sliding_window?",
                    "The file may say how long a round is.",
                    'In gemma3_text: config.get("sliding_window_pattern", RULES[model_type]["full_every"])',
                ),
            ),
        ),
        Misconception(
            "pattern_everywhere",
            Reading("pattern everywhere").layer_kinds,
            Advice(
                "Do you read `sliding_window_pattern` in every mixed model?",
                (
                    "What is the model type of the configuration that failed?",
                    "A class reads its own fields: Gemma 2 has no pattern, and ignores one.",
                    "Only gemma3_text reads it; elsewhere full_every counts.",
                ),
            ),
        ),
        Misconception(
            "zero_is_absent",
            Reading("zero is absent").layer_kinds,
            Advice(
                "Do you treat `max_window_layers` of 0 as if the field were absent?",
                (
                    "What is `0 or 28`?",
                    "Zero is stated: every layer from layer 0 on has the window.",
                    'config.get("max_window_layers", 28), without `or`.',
                ),
            ),
        ),
        Misconception(
            "flag_before_the_list",
            Reading("flag before the list").layer_kinds,
            Advice(
                "Do you look at `layer_types` only where `use_sliding_window` is true?",
                (
                    "What does this file list, and what does its flag say?",
                    "A list that is stated wins over the rule; a list and a flag that disagree are refused.",
                    'If the list has windows and the flag is not true: raise ValueError("layer_types: …").',
                ),
            ),
        ),
        Misconception(
            "contradiction",
            Reading("contradiction").layer_kinds,
            Advice(
                "Do you give windows to a model that says it uses none?",
                (
                    "What does `use_sliding_window` say in this file?",
                    "Two fields that contradict each other are refused.",
                    'If the list has windows and the flag is not true: raise ValueError("layer_types: …").',
                ),
            ),
        ),
        Misconception(
            "entries_unchecked",
            Reading("entries unchecked").layer_kinds,
            Advice(
                "Do you take every entry of `layer_types` that you do not know for a full layer?",
                (
                    "Which words does the list of this configuration hold?",
                    "What an unknown kind of layer keeps cannot be known.",
                    'If an entry is neither of the two: raise ValueError("layer_types: …").',
                ),
            ),
        ),
        Misconception(
            "all_layers_of_jamba",
            Reading("all layers of Jamba").layer_kinds,
            ALL_LAYERS_OF_JAMBA,
        ),
        Misconception(
            "offset_ignored",
            Reading("offset ignored").layer_kinds,
            Advice(
                "Is the first layer of each period the attention layer in yours?",
                (
                    "Which layer of Jamba attends first?",
                    "attn_layer_offset says which one of a period it is.",
                    "i % attn_layer_period == attn_layer_offset",
                ),
            ),
        ),
        Misconception(
            "sharing_ignored",
            Reading("sharing ignored").layer_kinds,
            SHARING_IGNORED,
        ),
        Misconception(
            "first_layers_share",
            Reading("first layers share").layer_kinds,
            Advice(
                "Do the first layers share in yours?",
                (
                    "Whose rows could the first layer read?",
                    "A layer can only read what an earlier one has stored.",
                    "The last num_kv_shared_layers layers share.",
                ),
            ),
        ),
        Misconception(
            "zero_from_the_end",
            Reading("zero from the end").layer_kinds,
            Advice(
                "What is left of your list when no layer shares?",
                (
                    "Try kinds[:-shared] with shared = 0.",
                    "-0 is 0, so kinds[:-0] is the empty list.",
                    "kinds[: layers - shared]",
                ),
            ),
        ),
        Misconception(
            "sharing_unchecked",
            Reading("sharing unchecked").layer_kinds,
            Advice(
                "Do you let every layer read the rows of another?",
                (
                    "Which layers of this configuration store anything?",
                    "An absent num_kv_shared_layers is 15, even in a model of six layers.",
                    'If shared >= layers: raise ValueError("num_kv_shared_layers: …").',
                ),
            ),
        ),
        Misconception(
            "latent_is_full",
            Reading("latent is full").layer_kinds,
            Advice(
                'Did you call the layers of DeepSeek "full"?',
                (
                    "What does such a layer keep of a token?",
                    "It keeps a row of every token, but no heads: that is a kind of its own.",
                    'Where the rule says "latent": ["latent"] * layers.',
                ),
            ),
        ),
        Misconception(
            "length_unchecked",
            Reading("length unchecked").layer_kinds,
            Advice(
                "Do you accept a list that has not one entry for each layer?",
                (
                    "How long is the list, and how many layers are there?",
                    "Two fields that contradict each other are refused.",
                    'If len(layer_types) != num_hidden_layers: raise ValueError("layer_types: …").',
                ),
            ),
        ),
        Misconception(
            "null_window",
            Reading("null window").layer_kinds,
            Advice(
                "Do you make layers with a window when `sliding_window` is null?",
                (
                    "How wide would that window be?",
                    "Gemma 2 has local layers; without a width nobody knows what they keep.",
                    'If there is a window layer and no width: raise ValueError("sliding_window: …").',
                ),
            ),
        ),
        Misconception(
            "offset_unchecked",
            Reading("offset unchecked").layer_kinds,
            Advice(
                "Do you accept an `attn_layer_offset` that no layer has?",
                (
                    "How many layers attend in this configuration?",
                    "Remainders are smaller than the period.",
                    'If offset >= period: raise ValueError("attn_layer_offset: …").',
                ),
            ),
        ),
        Misconception(
            "unknown_as_llama",
            Reading("unknown as llama").layer_kinds,
            UNKNOWN_AS_LLAMA,
        ),
    ),
    alternatives=(LayerKindsBySwitch().layer_kinds, Reading().layer_kinds),
    hints=(
        'RULES[model_type]["layers"] has six values. Handle one after the other.',
        "Write down layers 0 to 5 of Gemma 2, of Gemma 3 and of Jamba before you write the loops.",
        "layer_types wins over the pattern; the last num_kv_shared_layers layers of gemma3n_text are shared.",
    ),
)
