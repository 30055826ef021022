"""A small causal model of stacked attention layers: which rows of K and V may be reused, and what reuse saves.

This is the library's version of what lesson 01 builds by hand. Shapes: T tokens, D width. A layer is a dict of three
weights, WQ, WK and WV, each (D, D). It has one head of width D, no norm and no MLP. Token i has the input row x_i;
row j of K is x_j @ WK and row j of V is x_j @ WV; the layer's output row is x_i + attend(x_i @ WQ, K, V) with the
rows 0 to i of K and V. The next layer reads the output rows.
"""

from collections.abc import Callable, Sequence

import numpy as np

from kvlab.sizes import whole

Layer = dict[str, np.ndarray]  # WQ, WK and WV, each (D, D)
Cache = tuple[list[np.ndarray], list[np.ndarray]]  # rows of K and of V, each (D,)
Rows = list[tuple[np.ndarray, np.ndarray]]  # K and V of each layer, each (T, D)

ATOL = 1e-9  # absolute: two ways of computing a row of this model differ by rounding only, here about 1e-15


def attend(q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What one query reads: the softmax of keys · q / √dh, times the values.

    `q` (dh,), `keys` (T, dh), `values` (T, any width). ValueError when there is no key, or shapes do not match.
    """
    q, keys, values = (np.asarray(each, dtype=float) for each in (q, keys, values))
    if q.ndim != 1 or keys.shape != (len(values), len(q)) or not len(keys):
        raise ValueError(
            f"attend: wanted q (dh,), keys (T, dh) and T values, T at least 1, "
            f"got {q.shape}, {keys.shape} and {values.shape}"
        )
    return _softmax(keys @ q / np.sqrt(len(q))) @ values


def empty_caches(num_layers: int) -> list[Cache]:
    """A pair of lists (K, V) for each layer, without rows."""
    return [([], []) for _ in range(num_layers)]


def decode_step(x: np.ndarray, layers: Sequence[Layer], caches: Sequence[Cache]) -> np.ndarray:
    """The output row (D,) of one more token, whose input row is `x` (D,).

    `caches[l]` is the pair of lists (K, V) of layer l; one row is appended to each. ValueError when there are not as
    many caches as layers; nothing has changed then.
    """
    if len(layers) != len(caches):
        raise ValueError(f"decode_step: wanted a cache for each layer, got {len(caches)} for {len(layers)}")
    for layer, (keys, values) in zip(layers, caches, strict=True):
        keys.append(x @ layer["WK"])
        values.append(x @ layer["WV"])
        x = x + attend(x @ layer["WQ"], np.array(keys), np.array(values))
    return x


def prefill(xs: np.ndarray, layers: Sequence[Layer], allowed: np.ndarray | None = None) -> tuple[np.ndarray, Rows]:
    """All rows `xs` (T, D) at once: the output (T, D), and K and V, each (T, D), of every layer.

    `allowed` (T, T) says which row may read which; causal unless given.
    """
    allowed = causal(len(xs)) if allowed is None else allowed
    rows = []
    for layer in layers:
        keys, values = xs @ layer["WK"], xs @ layer["WV"]
        scores = np.where(allowed, xs @ layer["WQ"] @ keys.T / np.sqrt(keys.shape[-1]), -np.inf)
        rows.append((np.asarray(keys), np.asarray(values)))
        xs = xs + _softmax(scores) @ values
    return np.asarray(xs), rows


def recompute(xs: np.ndarray, layers: Sequence[Layer]) -> np.ndarray:
    """The output rows (T, D) of `xs` (T, D), each from a full pass over its own prefix. Nothing is kept."""
    return np.stack([prefill(xs[: t + 1], layers)[0][-1] for t in range(len(xs))])


def causal(tokens: int) -> np.ndarray:
    """Which row may read which, (T, T): itself and those before it."""
    return np.tri(tokens, dtype=bool)


def window(tokens: int, width: int) -> np.ndarray:
    """As `causal`, but only the `width` newest of them."""
    return causal(tokens) & ~np.tri(tokens, k=-width, dtype=bool)


def both_ways(tokens: int) -> np.ndarray:
    """Every row may read every row, as in an encoder."""
    return np.ones((tokens, tokens), dtype=bool)


def survivors(before: Rows, after: Rows) -> list[tuple[list[bool], list[bool]]]:
    """For K and for V of each layer: which rows of one prefill are found again, within ATOL, in another.

    `before` and `after` are lists of (K, V) as `prefill` gives them. Rows that only one of them has are left out.
    """
    return [
        tuple(_same_rows(old, new) for old, new in zip(one, other, strict=True))
        for one, other in zip(before, after, strict=True)
    ]


def score_work(n: int) -> tuple[int, int]:
    """Attention scores of one head and layer over the lengths 1 to n: (full, cached), exactly.

    A step at length t makes t × t scores when everything is recomputed, masked ones included, and t with a cache.
    TypeError or ValueError when n is no whole number of at least 0.
    """
    n = whole("n", n, at_least=0)
    return n * (n + 1) * (2 * n + 1) // 6, n * (n + 1) // 2


def reusable_rows(old_tokens: Sequence[int], new_tokens: Sequence[int], num_layers: int) -> list[int]:
    """How many rows of K and V each layer may keep when `old_tokens` become `new_tokens`, in a causal model.

    Row i of layer 0 depends on token i alone; row i of every deeper layer on the tokens 0 to i.
    """
    same = [old == new for old, new in zip(old_tokens, new_tokens, strict=False)]
    prefix = same.index(False) if False in same else len(same)
    return [sum(same) if layer == 0 else prefix for layer in range(num_layers)]


def toy_layers(num_layers: int = 2, width: int = 4, seed: int = 0) -> list[Layer]:
    """Layers of random weights, the same for the same seed."""
    rng = np.random.default_rng(seed)
    return [
        {name: rng.normal(size=(width, width)) / np.sqrt(width) for name in ("WQ", "WK", "WV")}
        for _ in range(num_layers)
    ]


def embed(tokens: Sequence[int], width: int = 4, first: int = 0) -> np.ndarray:
    """Input rows (T, D) of whole-number tokens, the first of which stands at position `first`: token plus position."""
    rows = [_row(("token", token), width) + _row(("position", first + i), width) for i, token in enumerate(tokens)]
    return np.stack(rows)


class Metered(np.ndarray):
    """A weight that counts the rows it is multiplied with by `@`, in `rows`. Made by `metered`."""

    rows = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [each.view(np.ndarray) if isinstance(each, Metered) else each for each in inputs]
        if ufunc is np.matmul and inputs[1] is self:
            self.rows += len(np.atleast_2d(inputs[0]))
        return getattr(ufunc, method)(*plain, **options)


def metered(layers: Sequence[Layer]) -> list[Layer]:
    """The same layers, whose WK count the rows that they project."""
    return [layer | {"WK": np.array(layer["WK"]).view(Metered)} for layer in layers]


def rows_per_step(layers: Sequence[Layer], xs: np.ndarray, step: Callable[..., object] = decode_step) -> list[int]:
    """Rows of K that each step makes, over all layers, when `step` takes the rows `xs` one by one."""
    counted, caches, made = metered(layers), empty_caches(len(layers)), []
    for x in xs:
        step(x, counted, caches)
        made.append(_rows_made(counted) - sum(made))
    return made


def rows_per_prefix(layers: Sequence[Layer], xs: np.ndarray) -> list[int]:
    """Rows of K that each step makes, over all layers, when every prefix of `xs` is computed from scratch."""
    made = []
    for t in range(len(xs)):
        counted = metered(layers)
        prefill(xs[: t + 1], counted)
        made.append(_rows_made(counted))
    return made


def _rows_made(layers: Sequence[Layer]) -> int:
    return sum(layer["WK"].rows for layer in layers)


def _row(name: tuple[str, int], width: int) -> np.ndarray:
    kind, number = name
    return np.random.default_rng([kind == "position", number]).normal(size=width)


def _same_rows(old: np.ndarray, new: np.ndarray) -> list[bool]:
    shared = min(len(old), len(new))
    return (np.abs(old[:shared] - new[:shared]) <= ATOL).all(axis=-1).tolist()


def _softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis; the largest score is taken off first, so that nothing overflows."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
