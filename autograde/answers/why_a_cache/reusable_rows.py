"""`reusable_rows`: what is right, which mistakes are known, and what to say about them."""

from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _symbolic_rows(case: Case) -> list[int]:
    """Run both token lists through layers of symbols, and compare what each layer projects its K and V from."""
    runs = [list(enumerate(case.inputs[name])) for name in ("old_tokens", "new_tokens")]
    kept = []
    for _ in range(case.inputs["num_layers"]):
        kept.append(sum(old == new for old, new in zip(*runs, strict=False)))
        runs = [[tuple(rows[: i + 1]) for i in range(len(rows))] for rows in runs]
    return kept


def _prefix(old, new):
    """Equal tokens from the start."""
    count = 0
    while count < min(len(old), len(new)) and old[count] == new[count]:
        count += 1
    return count


def _same_places(old, new):
    return sum(a == b for a, b in zip(old, new, strict=False))


def _rows(first, deeper):
    """`reusable_rows` from the rule of layer 0 and the rule of the others."""

    def reusable_rows(old_tokens, new_tokens, num_layers):
        return [(deeper if layer else first)(old_tokens, new_tokens) for layer in range(num_layers)]

    return reusable_rows


def _all_or_nothing(old, new):
    return len(old) if new[: len(old)] == old else 0


def _append_only(old, new):
    return len(old) if old == new else 0


def _longest_common(old, new):
    """Length of the longest common subsequence: rows as a text editor would match lines."""
    best = [0] * (len(new) + 1)
    for a in old:
        diagonal = 0
        for j, b in enumerate(new, start=1):
            diagonal, best[j] = best[j], diagonal + 1 if a == b else max(best[j], best[j - 1])
    return best[-1]


def _known_tokens(old, new):
    return sum(token in old for token in new)


def _rows_by_dependence(old_tokens, new_tokens, num_layers):
    """Right: spread changed rows down one layer at a time."""
    shared = min(len(old_tokens), len(new_tokens))
    changed = [old_tokens[i] != new_tokens[i] for i in range(shared)]
    kept = []
    for _ in range(num_layers):
        kept.append(changed.count(False))
        changed = [any(changed[: i + 1]) for i in range(shared)]
    return kept


ANSWER = Answer(
    exercise=exercise("reusable_rows"),
    expected=_symbolic_rows,
    misconceptions=(
        Misconception(
            "all_invalid_after_an_edit",
            _rows(_all_or_nothing, _all_or_nothing),
            Advice(
                "Do you throw every row away as soon as one token is edited?",
                (
                    "Token 3 is edited. What did row 1 of any layer depend on?",
                    "A row depends on the tokens up to its own, so rows before the edit stay as they are.",
                    "Count rows: equal places in layer 0, the common prefix in deeper layers.",
                ),
            ),
        ),
        Misconception(
            "suffix_invalidates",
            _rows(_append_only, _append_only),
            Advice(
                "Does a longer suffix make your old rows invalid?",
                (
                    "What does row 0 know of a token that comes later?",
                    "Every decode step makes the sequence longer, and keeps all rows.",
                    "Compare tokens place by place, not the two lists as a whole.",
                ),
            ),
        ),
        Misconception(
            "prefix_in_layer_0",
            _rows(_prefix, _prefix),
            Advice(
                "Does layer 0 lose rows behind an edit that it could keep?",
                (
                    "From what does layer 0 make row 5 of K?",
                    "Layer 0 projects each token by itself; attention comes after the projection.",
                    "In layer 0 count all places that hold the same token, also behind an edit.",
                ),
            ),
        ),
        Misconception(
            "same_places_everywhere",
            _rows(_same_places, _same_places),
            Advice(
                "Do deeper layers keep rows behind an edit, although those rows have read the edited one?",
                (
                    "What is the input of layer 1 at a place behind the edit?",
                    "It is an output of layer 0, which attended to the edited row.",
                    "From layer 1 on only the common prefix survives.",
                ),
            ),
        ),
        Misconception(
            "edited_row_kept",
            _rows(_same_places, lambda old, new: min(_prefix(old, new) + 1, len(old), len(new))),
            Advice(
                "Do deeper layers keep the edited row itself?",
                (
                    "Token 3 is edited: how many rows come before row 3?",
                    "Rows 0, 1 and 2 survive; that is three.",
                    "The length of the common prefix, without + 1.",
                ),
            ),
        ),
        Misconception(
            "length_only",
            _rows(lambda old, new: min(len(old), len(new)), lambda old, new: min(len(old), len(new))),
            Advice(
                "Do you compare lengths, and not tokens?",
                (
                    "What do you return when one token of the middle is edited?",
                    "A row is valid for the tokens it was made from.",
                    "Compare old_tokens[i] with new_tokens[i].",
                ),
            ),
        ),
        Misconception(
            "matched_anywhere",
            _rows(_longest_common, _prefix),
            Advice(
                "Do you match tokens that have moved to another place?",
                (
                    "A token is put in before them. At which positions do the later tokens stand now?",
                    "Row i is made at position i; a token elsewhere is another row.",
                    "Compare equal places only: old_tokens[i] with new_tokens[i].",
                ),
            ),
        ),
        Misconception(
            "known_tokens",
            _rows(_known_tokens, _prefix),
            Advice(
                "Do you keep a row for every token that occurred before, wherever it stood?",
                (
                    "Is the same token at another position the same row?",
                    "Row i is made at position i.",
                    "Compare old_tokens[i] with new_tokens[i].",
                ),
            ),
        ),
        Misconception(
            "swapped_layers",
            _rows(_prefix, _same_places),
            Advice(
                "Did you swap the rule of layer 0 and that of the deeper layers?",
                (
                    "Which layer reads what attention has mixed?",
                    "Layer 0 projects tokens one by one; deeper layers read mixed rows.",
                    "Layer 0: equal places. Deeper: common prefix.",
                ),
            ),
        ),
    ),
    alternatives=(_rows(_same_places, _prefix), _rows_by_dependence),
    hints=(
        "Layer 0 and the deeper layers follow two rules. From what does each make row i of its K?",
        "Layer 0: from token i. Deeper: from the tokens 0 to i.",
        "Layer 0 counts equal places; every deeper layer counts the common prefix.",
    ),
)
