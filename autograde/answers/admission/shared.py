"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

from autograde.exercise import Advice
from autograde.values import Raised

REFUSED = Raised("ValueError")


def ceil_div(tokens, block_size):
    return -(-tokens // block_size)


WIDTH_DIVIDED = Advice(
    "Did you compute the head width as hidden size through heads?",
    (
        "Does the config state a head width?",
        "In many models it is not hidden_size / num_attention_heads.",
        'Use config["head_dim"].',
    ),
    source="LMCache/LMCache#688: a cache sized by hidden_size / heads did not fit the model.",
)
