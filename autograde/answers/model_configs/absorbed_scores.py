"""`absorbed_scores`: what is right, which mistakes are known, and what to say about them."""

import math

import numpy as np

from autograde.answers.model_configs.shared import ATOL
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _rebuilt(case: Case) -> np.ndarray:
    """Every key of every head rebuilt, then one dot product each."""
    q_nope, q_rope, latent, k_rope, w_uk = case.inputs.values()
    scores = np.empty((len(q_nope), len(latent)))
    for head in range(len(q_nope)):
        query = np.concatenate([q_nope[head], q_rope[head]])
        for token in range(len(latent)):
            key = np.concatenate([w_uk[head] @ latent[token], k_rope[token]])
            scores[head, token] = query @ key / math.sqrt(len(query))
    return scores


def _absorbed_by_heads(q_nope, q_rope, latent, k_rope, w_uk):
    wide = [np.concatenate([q @ w, r]) for q, w, r in zip(q_nope, w_uk, q_rope, strict=True)]
    return np.array(wide) @ np.hstack([latent, k_rope]).T * (q_nope.shape[1] + q_rope.shape[1]) ** -0.5


def _absorbed_by_einsum(q_nope, q_rope, latent, k_rope, w_uk):
    scores = np.einsum("hn,hnr,tr->ht", q_nope, w_uk, latent, optimize=True)
    return (scores + np.einsum("hr,tr->ht", q_rope, k_rope)) / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])


def _scores(scale=lambda dn, dr, r: dn + dr, rope=True, first=False):
    def absorbed_scores(q_nope, q_rope, latent, k_rope, w_uk):
        if first:
            w_uk = np.broadcast_to(w_uk[:1], w_uk.shape)
        scores = np.einsum("hn,hnr->hr", q_nope, w_uk) @ latent.T
        if rope:
            scores = scores + q_rope @ k_rope.T
        return scores / math.sqrt(scale(q_nope.shape[1], q_rope.shape[1], latent.shape[1]))

    return absorbed_scores


ANSWER = Answer(
    exercise=exercise("absorbed_scores"),
    expected=_rebuilt,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "no_rotary_part",
            _scores(rope=False),
            Advice(
                "Did you leave out the rotary part of the scores?",
                (
                    "Which two of the arguments does your answer not use?",
                    "A score is the sum of two dot products: without position, and with it.",
                    "Add q_rope @ k_rope.T before you scale.",
                ),
            ),
        ),
        Misconception(
            "scaled_by_nope",
            _scores(lambda dn, dr, r: dn),
            Advice(
                "Did you scale by the width without the rotary part?",
                (
                    "How wide is a whole query?",
                    "Query and key have dn + dr elements each.",
                    "Divide by √(dn + dr).",
                ),
            ),
        ),
        Misconception(
            "scaled_by_rank",
            _scores(lambda dn, dr, r: r + dr),
            Advice(
                "Did you scale by the width of the absorbed query?",
                (
                    "Absorbing is only another order of the same products. What must not change?",
                    "The scale belongs to the width that the model was trained with.",
                    "Divide by √(dn + dr), not by √(r + dr).",
                ),
            ),
        ),
        Misconception(
            "unscaled",
            _scores(lambda dn, dr, r: 1),
            Advice(
                "Did you forget to scale?",
                (
                    "By what are scores divided before the softmax?",
                    "By the square root of the width of a query.",
                    "Divide by √(dn + dr).",
                ),
            ),
        ),
        Misconception(
            "first_heads_matrix",
            _scores(first=True),
            Advice(
                "Do all heads use the matrix of head 0 in yours?",
                (
                    "What is the first axis of w_uk?",
                    "Heads share the latent, not the matrix.",
                    'np.einsum("hn,hnr->hr", q_nope, w_uk)',
                ),
            ),
        ),
    ),
    alternatives=(_absorbed_by_heads, _absorbed_by_einsum),
    hints=(
        "q · (W c) is a number. Where else can the brackets stand?",
        "q · (W c) = (q W) · c: multiply the query by w_uk first; then every stored latent is a key.",
        "(q_nope · w_uk) @ latent.T + q_rope @ k_rope.T, divided by √(dn + dr).",
    ),
)
