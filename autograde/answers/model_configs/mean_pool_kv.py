"""`mean_pool_kv`: what is right, which mistakes are known, and what to say about them."""

import numpy as np

from autograde.answers.model_configs.shared import ATOL
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised


def _pooled(case: Case) -> object:
    W, groups, heads = case.inputs.values()
    if groups == 0 or heads % groups or len(W) % heads:
        return Raised("ValueError")
    width, size = len(W) // heads, heads // groups
    out = np.zeros((groups * width, W.shape[1]))
    for head in range(heads):
        for row in range(width):
            out[head // size * width + row] += W[head * width + row] / size
    return out


def _pool_by_matrix(W, groups, num_kv_heads):
    if not groups or num_kv_heads % groups or W.shape[0] % num_kv_heads:
        raise ValueError("cannot be shared out")
    size = num_kv_heads // groups
    mean = np.kron(np.kron(np.eye(groups), np.ones((1, size)) / size), np.eye(len(W) // num_kv_heads))
    return mean @ W


def _pool_by_slices(W, groups, num_kv_heads):
    if not groups or num_kv_heads % groups or W.shape[0] % num_kv_heads:
        raise ValueError("cannot be shared out")
    heads = np.split(W, num_kv_heads)
    size = num_kv_heads // groups
    return np.vstack([sum(heads[g * size : (g + 1) * size]) / size for g in range(groups)])


def _pool(combine, check=True):
    def mean_pool_kv(W, groups, num_kv_heads):
        if check and (groups < 1 or num_kv_heads % groups or len(W) % num_kv_heads):
            raise ValueError("cannot be shared out")
        return combine(W, groups, num_kv_heads, len(W) // num_kv_heads)

    return mean_pool_kv


def _dealt(W, groups, heads, width):
    return W.reshape(heads // groups, groups, width, -1).mean(axis=0).reshape(groups * width, -1)


def _neighbours(W, groups, heads, width):
    return W.reshape(groups, heads // groups, width, -1)


def _cut(W, groups, heads, width):
    """Leaves out what does not fill a group or a head."""
    size = heads // groups
    blocks = W[: groups * size * width].reshape(groups, size, width, -1)
    return blocks.mean(axis=1).reshape(groups * width, -1)


def _adjacent_rows(W, groups, heads, width):
    return W.reshape(groups * width, heads // groups, -1).mean(axis=1)


ANSWER = Answer(
    exercise=exercise("mean_pool_kv"),
    expected=_pooled,
    tolerance=ATOL,
    misconceptions=(
        Misconception(
            "dealt_out",
            _pool(_dealt),
            Advice(
                "Did you pool every other head, as if heads were dealt out like cards?",
                (
                    "Which KV heads would query heads 0 and 1 read before and after?",
                    "Heads that are replaced by one are neighbours.",
                    "reshape(groups, num_kv_heads // groups, dh, D), then the mean over axis 1.",
                ),
            ),
        ),
        Misconception(
            "first_of_each",
            _pool(lambda *a: _neighbours(*a)[:, 0].reshape(a[1] * a[3], -1)),
            Advice(
                "Did you keep the first head of each group?",
                (
                    "What becomes of what the other heads have learnt?",
                    "The paper found the mean better than one head picked out.",
                    "Take the mean over the heads of a group.",
                ),
            ),
        ),
        Misconception(
            "summed",
            _pool(lambda *a: _neighbours(*a).sum(axis=1).reshape(a[1] * a[3], -1)),
            Advice(
                "Did you add the heads up without dividing?",
                (
                    "Pool two equal heads. What should come out?",
                    "The mean of two equal heads is that head.",
                    "Divide by the number of heads in a group.",
                ),
            ),
        ),
        Misconception(
            "rows_averaged",
            _pool(_adjacent_rows),
            Advice(
                "Did you average neighbouring rows instead of neighbouring heads?",
                (
                    "Which rows of W belong to head 0?",
                    "A head is a block of dh rows. Row 0 of one head meets row 0 of the next.",
                    "reshape(groups, num_kv_heads // groups, dh, D), then the mean over axis 1.",
                ),
            ),
        ),
        Misconception(
            "divisor_unchecked",
            _pool(_cut, check=False),
            Advice(
                "Do you drop what does not fill a group?",
                (
                    "How many of five heads become two?",
                    "Heads or rows that are left over are a contradiction in the arguments.",
                    "If num_kv_heads % groups or len(W) % num_kv_heads: raise ValueError.",
                ),
            ),
        ),
    ),
    alternatives=(_pool_by_matrix, _pool_by_slices),
    hints=(
        "How many rows does one head have?",
        "len(W) // num_kv_heads rows each; num_kv_heads // groups neighbours become one.",
        "Reshape to four axes (groups, members, dh, D), take the mean over the members, reshape back.",
    ),
)
