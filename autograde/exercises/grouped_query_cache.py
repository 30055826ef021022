"""Lesson 05: which heads, tensors and chunks to try, and how to drive a cache step by step.

Cases hold arrays; each `run` makes the tensors from them. PyTorch is imported there, because reading the cases needs
none of it.
"""

import functools
from random import Random

import numpy as np

from autograde.exercise import Case, Exercise, attempt, call_with
from kvlab.bench.clock import one_thread


def _random(rng: Random, *shape: int) -> np.ndarray:
    """Numbers with two decimals, drawn one by one."""
    return np.array([round(rng.uniform(-2, 2), 2) for _ in range(int(np.prod(shape)))]).reshape(shape)


def _places(*shape: int) -> np.ndarray:
    """An array each of whose entries is written with the digits of its own place, plus 1 on the first axis."""
    return sum((index + (axis == 0)) * 10.0 ** (len(shape) - 1 - axis) for axis, index in enumerate(np.indices(shape)))


def _tensors(value: object) -> object:
    """Arrays as tensors of their own, also inside a dict; everything else as it is."""
    import torch

    if type(value) is dict:
        return {key: _tensors(item) for key, item in value.items()}
    return torch.from_numpy(value.copy()) if type(value) is np.ndarray else value


def _call(candidate: object, case: Case) -> object:
    """Call the learner's function with fresh tensors in place of arrays."""
    with one_thread():
        return call_with(candidate, {name: _tensors(value) for name, value in case.inputs.items()})


# --- kv_head_of ------------------------------------------------------------------------------------------------


def _kv_head_of(rng: Random) -> list[Case]:
    def case(label: str, query_head: int, num_heads: int, num_kv_heads: int) -> Case:
        return Case(label, {"query_head": query_head, "num_heads": num_heads, "num_kv_heads": num_kv_heads})

    group, kv_heads = rng.choice([(3, 4), (5, 3), (3, 5), (4, 3)])
    heads = group * kv_heads
    return [
        case("a head of its own for each query head", rng.randrange(3, 6), 6, 6),
        case("the last query head", heads - 1, heads, kv_heads),
        case("the first query head", 0, heads, kv_heads),
        case("the second reader of the first KV head", 1, heads, kv_heads),
        case("a query head in the middle", (kv_heads // 2) * group + 1, heads, kv_heads),
        case("one KV head for all", rng.randrange(3, 8), 8, 1),
        case("heads that cannot be shared out evenly", *rng.choice([(5, 7, 3), (3, 7, 3), (7, 10, 4), (9, 11, 4)])),
        case("a query head that does not exist", 3 * kv_heads, 3 * kv_heads, kv_heads),
        case("a query head below 0", -1, heads, kv_heads),
    ]


# --- expand_kv -------------------------------------------------------------------------------------------------


def _expand_kv(rng: Random) -> list[Case]:
    def case(label: str, num_heads: int, *shape: int) -> Case:
        return Case(label, {"k": _places(*shape), "num_heads": num_heads})

    width = rng.choice([2, 3])
    return [
        case("a head of its own for each query head", 3, 1, 3, 2, width),
        case("one KV head, several readers", rng.choice([3, 5]), 1, 1, 2, width),
        case("two KV heads, three readers each", 6, 1, 2, rng.choice([4, 5]), width),
        case("a batch", 12, 2, 3, 4, rng.choice([2, 5])),
        case("heads that cannot be shared out evenly", *rng.choice([(7, 1, 3), (8, 1, 3), (5, 1, 2)]), 2, width),
    ]


# --- grouped_attention -----------------------------------------------------------------------------------------


def _grouped_attention(rng: Random) -> list[Case]:
    def case(label: str, batch: int, heads: int, kv_heads: int, start: int, chunk: int, width: int) -> Case:
        stored = (batch, kv_heads, start + chunk, width)
        tensors = {"q": _random(rng, batch, heads, chunk, width), "k": _random(rng, *stored)}
        return Case(label, {**tensors, "v": _random(rng, *stored), "start": start})

    return [
        case("one head, one token on a cache", 1, 1, 1, rng.randrange(3, 6), 1, 3),
        case("one head, a prompt", 1, 1, 1, 0, rng.randrange(3, 6), 3),
        case("a KV head for each query head, one token", 1, 3, 3, rng.randrange(4, 6), 1, 2),
        case("two KV heads, three readers each, one token", 1, 6, 2, rng.randrange(4, 6), 1, 3),
        case("one KV head, three readers, two tokens each", 1, 3, 1, 2, 2, 1),
        case("a chunk on a cache", 1, 4, 2, rng.randrange(3, 6), 3, 5),
        case("a batch with a chunk on a cache", 2, 6, 3, 4, rng.choice([2, 3]), 5),
    ]


# --- GroupedCache ----------------------------------------------------------------------------------------------


CHUNK = "# append(k[:, :, a:b], v[:, :, a:b]) with a, b ="
ZEROED = "# the tensors that were appended last are set to 0"
ANOTHER = "# GroupedCache(batch, num_heads, num_kv_heads, head_dim, capacity) with"
# What is done to the chunks of k and v. PyTorch would spread a single request, head, token or element over all.
BAD = {
    "# the same, but one request only, a, b =": lambda k, v: (k[:1], v[:1]),
    "# the same, but one KV head only, a, b =": lambda k, v: (k[:, :1], v[:, :1]),
    "# the same, but one element wide, a, b =": lambda k, v: (k[..., :1], v[..., :1]),
    "# the same, but v of one KV head only, a, b =": lambda k, v: (k, v[:, :1]),
    "# the same, but v of one token only, a, b =": lambda k, v: (k, v[:, :, :1]),
    "# the same, but without the batch axis, a, b =": lambda k, v: (k[0], v[0]),
}
BAD_KIND = {
    "# the same in float32, a, b =": lambda k, v: (k.float(), v.float()),
    "# the same, v in float32, a, b =": lambda k, v: (k, v.float()),
}
META = "# the same on the device meta, a, b ="


def _grouped_cache(rng: Random) -> list[Case]:
    batch, kv_heads, width = 2, 3, rng.choice([4, 5])

    def case(label: str, steps: list, capacity: int, dtype: str = "float64") -> Case:
        about = {"k.shape": [batch, kv_heads, capacity + 2, width], "k": "k[1, 2, 3, 0] is 2230.0", "v": "-k"}
        new = [batch, 2 * kv_heads, kv_heads, width, capacity, "dtype"]
        return Case(label, {**about, "dtype": dtype, "new": new, "steps": steps})

    seen, stored = [["it.used"], ["it.keys"], ["it.values"]], rng.choice([2, 3])
    more = stored + 2
    bad = [step for name in rng.sample(list(BAD), len(BAD)) for step in ([name, stored, more], ["it.used"])]
    kinds = [step for name in (*BAD_KIND, META) for step in ([name, stored, more], ["it.used"])]
    good = [[CHUNK, stored, more], *seen]
    uneven = rng.choice([(2, 7, 3, 4, 5), (2, 8, 3, 4, 5)])
    return [
        case("one chunk", [[CHUNK, 0, stored], *seen], 7),
        case("chunk after chunk, until it is full", [[CHUNK, 0, 3], [CHUNK, 3, 4], *seen, [CHUNK, 4, 6], *seen], 6),
        case("your tensors stay yours", [[CHUNK, 0, stored], [ZEROED], [CHUNK, stored, more], [ZEROED], *seen], 7),
        case(
            "beyond the capacity", [[CHUNK, 0, more], [CHUNK, more, more + 2], *seen, *_last_that_fits(more)], more + 1
        ),
        case("shapes that do not fit", [[CHUNK, 0, stored], *bad, *good], 7),
        case("another dtype, another device", [[CHUNK, 0, stored], *kinds, *good], 7),
        case("an empty chunk", [[CHUNK, 0, stored], [CHUNK, stored, stored], ["it.used"], *good], 7),
        case("heads that cannot be shared out evenly", [[CHUNK, 0, stored], [ANOTHER, *uneven], ["it.used"]], 7),
        case(
            "rejected tokens leave",
            [
                [CHUNK, 0, 5],
                ["truncate", stored],
                *seen,
                [CHUNK, 5, 7],
                *seen,
                ["truncate", stored + 3],
                ["truncate", -1],
                *seen,
                ["truncate", 0],
                [CHUNK, 1, 3],
                *seen,
            ],
            7,
        ),
        case("a cache in float32", [[CHUNK, 0, stored], ["it.used"], *good], 7, "float32"),
    ]


def _last_that_fits(stored: int) -> list:
    """The last token that still fits, and what is stored then."""
    return [[CHUNK, stored, stored + 1], ["it.used"], ["it.keys"], ["it.values"]]


def run_grouped_cache(candidate: object, case: Case) -> list[object]:
    """Take the steps, with slices of `k` and of v = -k. Those in BAD, BAD_KIND and META must be refused."""
    import torch

    dtype = getattr(torch, case.inputs["dtype"])
    k = torch.from_numpy(_places(*case.inputs["k.shape"])).to(dtype)
    with _zeroed()():
        cache, last = candidate(*case.inputs["new"][:-1], dtype), []

    def take(name: str, *arguments: object) -> object:
        if name == ZEROED:
            for tensor in last:
                tensor.zero_()
            return None
        if name == ANOTHER:
            return candidate(*arguments).used
        if name.startswith("#"):
            first, end = arguments
            chunk = k[:, :, first:end].clone()
            change = {**BAD, **BAD_KIND}.get(name, lambda k, v: (k, v))
            last[:] = [each.to("meta") if name == META else each for each in change(chunk, -chunk)]
            return _on_meta(cache, last) if name == META else cache.append(*last)
        member = getattr(cache, name.removeprefix("it."))
        return member(*arguments) if arguments else member

    with one_thread():
        return [attempt(take, *step) for step in case.inputs["steps"]]


@functools.cache
def _zeroed():
    """Storage that is made in here begins as zeros: a wrong cache that shows unwritten slots always shows the same."""
    import torch
    from torch.overrides import TorchFunctionMode  # a dispatch mode would import the compiler, which takes seconds

    unwritten = {torch.empty, torch.empty_like, torch.Tensor.new_empty}

    class Zeroed(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), options=None):
            made = function(*arguments, **options or {})
            return made.zero_() if function in unwritten else made

    return Zeroed


def _on_meta(cache, last) -> object:
    """PyTorch says NotImplementedError to a copy from meta, which would be taken for a method that is not written."""
    try:
        return cache.append(*last)
    except NotImplementedError as error:
        raise RuntimeError(str(error)) from None


# --- elements_copied -------------------------------------------------------------------------------------------


def _elements_copied(rng: Random) -> list[Case]:
    def case(label: str, tokens: int, row_elements: int) -> Case:
        return Case(label, {"tokens": tokens, "row_elements": row_elements})

    return [
        case("one token", 1, rng.randrange(5, 9)),
        case("three tokens", 3, rng.randrange(5, 9)),
        case("more tokens", rng.randrange(10, 20), rng.randrange(3, 9)),
        case("the tokens of a document", rng.randrange(3000, 5000), rng.choice([384, 640, 1024])),
        case("more elements than a float can count", rng.randrange(3000, 5000), 10**15 + rng.randrange(1, 999, 2)),
        case("no token", 0, rng.randrange(5, 9)),
    ]


# --- rope ------------------------------------------------------------------------------------------------------


def _rope(rng: Random) -> list[Case]:
    def case(label: str, positions: list[int], *shape: int) -> Case:
        return Case(label, {"x": _random(rng, *shape), "positions": np.array(positions)})

    far = sorted(rng.sample(range(100, 300), 3))
    return [
        case("one pair at position 1", [1], 1, 2),
        case("two pairs at position 1", [1], 1, 4),
        case("position 0 turns nothing", [0], 1, 6),
        case("the first tokens", [0, 1, 2], 3, 6),
        case("a chunk far behind", far, 3, 6),
        case("positions out of order", rng.sample(range(3, 60), 4), 4, 4),
        case("heads of a batch", [5, 6, 7], 2, 4, 3, 6),
    ]


# --- RotaryCache -----------------------------------------------------------------------------------------------


STEP = "# step(x[:, a:b]) with a, b ="
STEP_OF_ONE = "# step(x[:1, a:b]), one request, with a, b ="
RETRAIN = '# weights["WK"] and weights["WV"] change their signs, in place'


def _rotary_cache(rng: Random) -> list[Case]:
    def case(label: str, widths: list[int], batch: int = 1, steps: list | None = None) -> Case:
        inner, heads, kv_heads, width, tokens = rng.choice([3, 5]), 4, 2, 6, sum(widths)
        weights = {
            "WQ": _random(rng, inner, heads * width),
            "WK": _random(rng, inner, kv_heads * width),
            "WV": _random(rng, inner, kv_heads * width),
            "WO": _random(rng, heads * width, inner),
            "num_heads": heads,
            "num_kv_heads": kv_heads,
        }
        ends = np.cumsum(widths).tolist()
        steps = steps or [[STEP, end - width, end] for width, end in zip(widths, ends, strict=True)]
        x = _random(rng, batch, max(end for _, *ends in steps for end in ends[1:]), inner)
        return Case(label, {"x": x, "weights": weights, "new": ["weights", tokens], "steps": steps})

    return [
        case("one token", [1]),
        case("a prompt at once", [rng.randrange(4, 6)]),
        case("token by token", [1] * 3),
        case("chunks", rng.sample((2, 3, 4), 3), batch=2),
        case("beyond the capacity", [4], steps=[[STEP, 0, 3], [STEP, 3, 5], [STEP, 3, 4]]),
        case("a refused first chunk", [3], 2, [[STEP, 0, 4], [STEP_OF_ONE, 0, 2], [STEP_OF_ONE, 2, 3]]),
        case("stored rows are not projected again", [4], steps=[[STEP, 0, 2], [RETRAIN], [STEP, 2, 3], [STEP, 3, 4]]),
    ]


def run_rotary_cache(candidate: object, case: Case) -> list[object]:
    """Take the steps. RETRAIN negates two weights in place, which rows that are stored already must not follow."""
    x, weights = _tensors(case.inputs["x"]), _tensors(case.inputs["weights"])
    layer = candidate(weights, case.inputs["new"][-1])

    def take(name: str, *slots: int) -> object:
        if name == RETRAIN:
            for projection in ("WK", "WV"):
                weights[projection].neg_()
            return None
        requests = 1 if name == STEP_OF_ONE else len(x)
        return layer.step(x[:requests, slice(*slots)].clone())

    with one_thread():
        return [attempt(take, *step) for step in case.inputs["steps"]]


EXERCISES = (
    Exercise("kv_head_of", _kv_head_of),
    Exercise("expand_kv", _expand_kv, run=_call),
    Exercise("grouped_attention", _grouped_attention, run=_call),
    Exercise("GroupedCache", _grouped_cache, run=run_grouped_cache),
    Exercise("elements_copied", _elements_copied),
    Exercise("rope", _rope, run=_call),
    Exercise("RotaryCache", _rotary_cache, run=run_rotary_cache),
)
