"""`kv_head_of`: what is right, which mistakes are known, and what to say about them."""

from autograde.answers.grouped_query_cache.shared import TILED, UNEVEN_HEADS, kv_head_of_each
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised


def _its_head(case: Case) -> object:
    query_head, *heads = case.inputs.values()
    readers = dict(enumerate(kv_head_of_each(*heads)))
    return readers.get(query_head, Raised("ValueError"))


def _kv_head(rule, shared=True):
    """`kv_head_of` from `rule(query_head, num_heads, num_kv_heads)`; without `shared` any remainder will do."""

    def kv_head_of(query_head, num_heads, num_kv_heads):
        if shared and num_heads % num_kv_heads:
            raise ValueError(f"{num_kv_heads} KV heads cannot be shared by {num_heads}")
        if not 0 <= query_head < num_heads:
            raise ValueError(f"no query head {query_head}")
        return rule(query_head, num_heads, num_kv_heads)

    return kv_head_of


def _any_query_head(query_head, num_heads, num_kv_heads):
    if num_heads % num_kv_heads:
        raise ValueError("uneven")
    return query_head // (num_heads // num_kv_heads)


WRONG_DIVISOR = Advice(
    "Did you divide by the number of KV heads, instead of by the size of a group?",
    (
        "With 12 query heads and 4 KV heads, how many query heads share one KV head?",
        "A group has H // Hkv members, and a new group begins after that many query heads.",
        "query_head // (num_heads // num_kv_heads)",
    ),
)


ANSWER = Answer(
    exercise=exercise("kv_head_of"),
    expected=_its_head,
    misconceptions=(
        Misconception(
            "tiled",
            _kv_head(lambda head, heads, kv_heads: head % kv_heads),
            TILED,
        ),
        Misconception(
            "tiled_unchecked",
            lambda head, heads, kv_heads: head % kv_heads,
            TILED,
        ),
        Misconception(
            "unchecked",
            lambda head, heads, kv_heads: head // (heads // kv_heads),
            Advice(
                "Is the formula all there is, so that heads pass that cannot be shared out, or that do not exist?",
                (
                    "What does your function say to 7 query heads and 3 KV heads, and what to query head −1?",
                    "Two questions come before the formula: does Hkv divide H, and is there such a query head?",
                    "Raise ValueError if num_heads % num_kv_heads, or if not 0 <= query_head < num_heads.",
                ),
            ),
        ),
        Misconception(
            "uneven_heads",
            _kv_head(lambda head, heads, kv_heads: head // (heads // kv_heads), shared=False),
            UNEVEN_HEADS,
        ),
        Misconception(
            "wrong_divisor",
            _kv_head(lambda head, heads, kv_heads: head // kv_heads),
            WRONG_DIVISOR,
        ),
        Misconception(
            "wrong_divisor_unchecked",
            lambda head, heads, kv_heads: head // kv_heads,
            WRONG_DIVISOR,
        ),
        Misconception(
            "place_in_group",
            _kv_head(lambda head, heads, kv_heads: head % (heads // kv_heads)),
            Advice(
                "Did you return the place of the query head within its group, instead of the group's KV head?",
                (
                    "What do two query heads of the same group have in common in your answer?",
                    "The remainder tells the members of one group apart; all of them read the same KV head.",
                    "Use // where you use %.",
                ),
            ),
        ),
        Misconception(
            "any_query_head",
            _any_query_head,
            Advice(
                "Did you let a query head pass that does not exist?",
                (
                    "What does your function say to query head 12 of 12?",
                    "Heads count from 0 to H − 1. A KV head of −1 would be valid indexing, and wrong.",
                    "if not 0 <= query_head < num_heads: raise ValueError(…)",
                ),
            ),
        ),
        Misconception(
            "a_float",
            _kv_head(lambda head, heads, kv_heads: head / (heads / kv_heads)),
            Advice(
                "Did you divide with /, which gives a float between two heads?",
                (
                    "Which type does an index have?",
                    "5 / 3 is 1.67: no head has this number.",
                    "Use // twice.",
                ),
            ),
        ),
    ),
    alternatives=(
        _kv_head(lambda head, heads, kv_heads: head * kv_heads // heads),
        _kv_head(lambda head, heads, kv_heads: kv_head_of_each(heads, kv_heads)[head]),
        _kv_head(
            lambda head, heads, kv_heads: sum(i <= head for i in range(heads // kv_heads, heads, heads // kv_heads))
        ),
    ),
    hints=(
        "Write down for 6 query heads and 2 KV heads which query head reads which KV head.",
        "A group of H // Hkv neighbouring query heads reads one KV head. Refuse what cannot be shared evenly.",
        "query_head // (num_heads // num_kv_heads), after two checks that raise ValueError.",
    ),
)
