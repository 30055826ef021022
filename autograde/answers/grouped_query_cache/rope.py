"""`rope`: what is right, which mistakes are known, and what to say about them."""

import numpy as np
import torch

from autograde.answers.grouped_query_cache.shared import (
    ATOL,
    NEIGHBOURING_PAIRS,
    inv_freq,
    rotary_by_complex_numbers,
    rotary_by_matrices,
    rotary_with,
    turn_halves,
    turn_neighbours,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _turned(case: Case) -> np.ndarray:
    return rotary_by_complex_numbers(case.inputs["x"], case.inputs["positions"])


def _backwards(x, first, second, cos, sin):
    return turn_halves(x, first, second, cos, -sin)


def _no_minus(x, first, second, cos, sin):
    return torch.cat([first * cos + second * sin, second * cos + first * sin], dim=-1)


def _mixed(x, first, second, cos, sin):
    """The angles in the order of neighbouring pairs, the elements in that of halves."""
    cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


def _by_rotate_half(x, positions):
    """Right: as the released code of Llama for `transformers` writes it."""
    angles = torch.outer(positions.double(), inv_freq(x.shape[-1] // 2)).repeat(1, 2)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()


ANSWER = Answer(
    exercise=exercise("rope"),
    expected=_turned,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "neighbouring_pairs",
            rotary_with(turn=turn_neighbours),
            NEIGHBOURING_PAIRS,
        ),
        Misconception(
            "backwards",
            rotary_with(turn=_backwards),
            Advice(
                "Do your pairs turn backwards, with the minus at the wrong sine?",
                (
                    "Where does the point (1, 0) go, turned by a small positive angle?",
                    "It goes to (cos, sin): both parts positive.",
                    "first · cos − second · sin, and second · cos + first · sin.",
                ),
            ),
        ),
        Misconception(
            "no_minus",
            rotary_with(turn=_no_minus),
            Advice(
                "Is there a plus in both lines, so that the pair is not turned?",
                (
                    "How long is a row before and after a rotation?",
                    "A rotation keeps lengths. One of the two sines needs a minus.",
                    "first · cos − second · sin, and second · cos + first · sin.",
                ),
            ),
        ),
        Misconception(
            "mixed_conventions",
            rotary_with(turn=_mixed),
            Advice(
                "Did you repeat each angle twice in a row, as neighbouring pairs need it, for pairs of halves?",
                (
                    "Which angle does element dh/2 get?",
                    "Elements i and i + dh/2 are one pair and share one angle.",
                    "torch.cat([angles, angles], dim=-1), not repeat_interleave.",
                ),
            ),
        ),
        Misconception(
            "positions_restarted",
            rotary_with(place=lambda positions: torch.arange(len(positions))),
            Advice(
                "Did you count the rows from 0, instead of using the positions that were given?",
                (
                    "Which of the arguments does your answer use only for its length?",
                    "The rows of a chunk stand behind what is cached: their positions are absolute.",
                    "angles = positions[:, None] * inv_freq",
                ),
                source="skyzh/tiny-llm#46: positions started at 0 again with each chunk.",
            ),
        ),
        Misconception(
            "single_precision",
            rotary_with(speeds=lambda half: inv_freq(half, torch.float32)),
            Advice(
                "Are your angles in float32, because torch.arange(half) / half is?",
                (
                    "How many digits of the first difference are right?",
                    "A division of integers gives torch's default dtype, float32: about seven digits.",
                    "torch.arange(half, dtype=x.dtype) / half",
                ),
            ),
        ),
        Misconception(
            "half_the_exponent",
            rotary_with(speeds=lambda half: inv_freq(2 * half)[:half]),
            Advice(
                "Is your exponent −i/dh, half of what it should be?",
                (
                    "How many pairs are there, and which exponent does the last of them have?",
                    "Pair i of dh/2 turns with θ^(−2i/dh), which is θ^(−i/half).",
                    "10_000.0 ** (-torch.arange(half, dtype=x.dtype) / half)",
                ),
            ),
        ),
    ),
    alternatives=(rotary_with(), _by_rotate_half, rotary_by_matrices),
    hints=(
        "Elements i and i + dh/2 are a point in the plane. By which angle is it turned at position p?",
        "angles = positions[:, None] * 10_000.0 ** (-torch.arange(half, dtype=x.dtype) / half): shape (T, half).",
        "torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)",
    ),
)
