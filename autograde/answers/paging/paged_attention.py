"""`paged_attention`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.answers.paging.shared import ATOL, gather_flat, gather_sorted, rows_of
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _attended(case: Case) -> np.ndarray:
    """One query after the other, each over the keys up to its own, with exactly rounded sums."""
    q, storage_k, storage_v, table, length = case.inputs.values()
    keys, values = rows_of(storage_k, table, length), rows_of(storage_v, table, length)
    out = []
    for row, query in enumerate(q):
        seen = length - len(q) + row + 1
        scores = [math.fsum(a * b for a, b in zip(query, key, strict=True)) for key in keys[:seen]]
        weights = [math.exp((score - max(scores)) / math.sqrt(len(query))) for score in scores]
        mixed = zip(*values[:seen], strict=True)
        out.append(
            [math.fsum(w * v for w, v in zip(weights, each, strict=True)) / math.fsum(weights) for each in mixed]
        )
    return np.array(out)


def _attention(gather=gather_flat, mask="causal", scale=True, values_of="v", tail=False):
    """Attention over gathered rows, right as it stands; each argument is a mistake."""

    def paged_attention(q, storage_k, storage_v, table, length):
        held = len(table) * storage_k.shape[1] if tail else length
        k = gather(storage_k, table, held)
        v = gather(storage_v if values_of == "v" else storage_k, table, held)
        scores = q @ k.T / (np.sqrt(q.shape[1]) if scale else 1)
        queries = np.arange(len(q))[:, None] + {"causal": held - len(q), "top left": 0, "none": held}[mask]
        scores = np.where(np.arange(held) <= queries, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights @ v / weights.sum(axis=1, keepdims=True)

    return paged_attention


def _attention_block_by_block(q, storage_k, storage_v, table, length):
    """Right: running maximum and sum over blocks, and nothing is gathered."""
    block_size, width = storage_k.shape[1:]
    positions = np.arange(length - len(q), length)[:, None]
    top, total, mixed = np.full((len(q), 1), -np.inf), np.zeros((len(q), 1)), np.zeros((len(q), width))
    for row, each in enumerate(table):
        keys = row * block_size + np.arange(block_size)
        scores = np.where(keys <= positions, q @ storage_k[each].T / np.sqrt(width), -np.inf)
        new = np.maximum(top, scores.max(axis=1, keepdims=True))
        weights, fade = np.exp(scores - new), np.exp(top - new)
        total, mixed = total * fade + weights.sum(axis=1, keepdims=True), mixed * fade + weights @ storage_v[each]
        top = new
    return mixed / total


ANSWER = Answer(
    exercise=exercise("paged_attention"),
    expected=_attended,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "tail_attended",
            _attention(tail=True),
            Advice(
                "Do your queries see the empty slots behind the last token?",
                (
                    "How many keys does the newest token see?",
                    "A whole block was read, but not all of it belongs to this sequence.",
                    "Gather `length` rows, no more.",
                ),
            ),
        ),
        Misconception(
            "physical_order",
            _attention(gather_sorted),
            Advice(
                "Did you read the blocks in the order of their numbers?",
                (
                    "Which tokens may the first query of a chunk see?",
                    "One query and full blocks hide this mistake: no order matters there. A mask needs positions.",
                    "Use the table as it is.",
                ),
            ),
        ),
        Misconception(
            "top_left",
            _attention(mask="top left"),
            Advice(
                "Did you forget, in the mask, the tokens that are stored before the chunk?",
                (
                    "At which position stands the first of m queries, when `length` tokens are stored?",
                    "Lesson 04: behind c cached tokens the queries stand at c to c + m − 1.",
                    "c is length − m.",
                ),
            ),
        ),
        Misconception(
            "no_mask",
            _attention(mask="none"),
            Advice(
                "Can a query of the chunk see the tokens after it?",
                (
                    "Which keys may the first of two queries see?",
                    "All but the last: that token came after it.",
                    "Mask as in lesson 04, with length − len(q) cached tokens.",
                ),
            ),
        ),
        Misconception(
            "unscaled",
            _attention(scale=False),
            Advice(
                "Did you leave the scores undivided by √dh?",
                (
                    "What stands between q·k and the softmax?",
                    "Scores are divided by the square root of the head width.",
                    "q @ k.T / np.sqrt(q.shape[-1]).",
                ),
            ),
        ),
        Misconception(
            "keys_for_values",
            _attention(values_of="k"),
            Advice(
                "Did you read the values out of the storage of the keys?",
                (
                    "How often does storage_v occur in your answer?",
                    "One table serves two storages.",
                    "v = gather(storage_v, table, length).",
                ),
            ),
        ),
    ),
    alternatives=(_attention(), _attention_block_by_block),
    hints=(
        "Where are the rows of K and V, and in which order do you need them?",
        "Gather both with your gather; then it is lesson 04's attention on a cache.",
        "masks.masked_attention(q, gather(storage_k, table, length), gather(storage_v, …), length - len(q)).",
    ),
)
