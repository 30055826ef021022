"""Timing a decode step: what it takes at each context and batch, and what the device could do at best."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

import torch

from kvlab.bench.clock import device_seconds, synchronize
from kvlab.bench.machine import check_room
from kvlab.bench.meter import metered
from kvlab.bench.model import Decoder
from kvlab.caches import ConcatenatedCache, GroupedCache
from kvlab.sizes import bytes_per_token

if TYPE_CHECKING:  # imported where it is used: it takes seconds
    import transformers

MATRIX = {"cpu": 2048, "cuda": 8192}  # rows of a square matrix
WARMUP = 2


class Copy:
    """One large copy on a device: the most bytes per second that anything here can hope for, measured when called."""

    def __init__(self, n_bytes: int, device: str | torch.device = "cpu"):
        self.device = torch.device(device)
        source = torch.ones(n_bytes, dtype=torch.uint8, device=device)
        target = torch.zeros_like(source)
        self.start = lambda: target.copy_(source)
        self.moved_bytes = 2 * source.nbytes  # each byte is read, and written

    def __call__(self, trials: int = 2) -> list[float]:
        """Seconds of each of some copies."""
        return device_seconds(self.start, 1, trials, self.device)


def matmul_limit(
    dtype: torch.dtype, device: str | torch.device = "cpu", trials: int = 5
) -> dict[str, int | list[float]]:
    """The product of two square matrices: its `flops`, a multiplication and an addition each, and `seconds`."""
    rows = MATRIX[torch.device(device).type]
    a = torch.randn(rows, rows, device=device).to(dtype)
    return {"flops": 2 * rows**3, "seconds": device_seconds(lambda: a @ a, 1, trials, device)}


# ---------------------------------------------------------------------------
# Ways to keep the cache. Each gives a function that makes one decode step at `context` tokens, again and again.


def preallocated(decoder: Decoder, batch: int, context: int) -> Callable[[], object]:
    """Storage for all tokens is there from the start; the step writes one row a layer."""
    caches = empty_caches(decoder, batch, context)
    _fill(decoder, caches, batch, context - 1)

    def step():
        logits = decoder.forward(ids, caches)
        for cache in caches:
            cache.truncate(context - 1)
        return logits

    ids = _ids(decoder, batch)
    return step


def concatenated(decoder: Decoder, batch: int, context: int) -> Callable[[], object]:
    """Each step makes new tensors of K and V, one row longer than the old ones."""
    caches = [ConcatenatedCache() for _ in range(decoder.shape.num_layers)]
    _fill(decoder, caches, batch, context - 1)
    before = [(cache.keys, cache.values) for cache in caches]

    def step():
        logits = decoder.forward(ids, caches)
        for cache, kept in zip(caches, before, strict=True):
            cache.keys, cache.values = kept
        return logits

    ids = _ids(decoder, batch)
    return step


def static(decoder: Decoder, batch: int, context: int) -> Callable[[], object]:
    """The same model in `transformers`, with its StaticCache, which is preallocated too."""
    import transformers

    model, shape = llama(decoder), decoder.shape
    cache = transformers.StaticCache(config=model.config, max_cache_len=context)
    cache.early_initialization(batch, shape.num_kv_heads, shape.head_dim, decoder.dtype, decoder.device)
    for layer in cache.layers:
        layer.keys.normal_()
        layer.values.normal_()
        layer.cumulative_length.fill_(context - 1)

    @torch.no_grad()
    def step():
        logits = model(ids, cache=cache, logits_to_keep=1).logits
        for layer in cache.layers:
            layer.crop(-1)
        return logits

    ids = _ids(decoder, batch)
    return step


def empty_caches(decoder: Decoder, batch: int, capacity: int) -> list[GroupedCache]:
    """A preallocated cache for each layer."""
    shape = decoder.shape
    sizes = batch, shape.num_heads, shape.num_kv_heads, shape.head_dim, capacity
    return [GroupedCache(*sizes, decoder.dtype, decoder.device) for _ in range(shape.num_layers)]


WAYS = {"concatenated": concatenated, "preallocated": preallocated, "transformers static": static}


def llama(decoder: Decoder) -> "transformers.LlamaForCausalLM":
    """`LlamaForCausalLM` with the decoder's own weights: the same tensors, not copies."""
    import transformers

    shape = decoder.shape
    config = transformers.LlamaConfig(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.ffn_size,
        num_hidden_layers=shape.num_layers,
        num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_kv_heads,
        head_dim=shape.head_dim,
        max_position_embeddings=2**20,
        eos_token_id=None,  # generation ends where it is told to
        pad_token_id=0,
        attn_implementation="sdpa",
    )
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config)
    gains = {
        name: torch.ones(weight.shape, dtype=decoder.dtype, device=decoder.device)
        for name, weight in model.state_dict().items()
        if name.endswith("norm.weight")
    }
    model.load_state_dict(decoder.weights | gains, assign=True)
    # The angles of its positions are no weights: made again, because on "meta" they hold nothing.
    model.model.rotary_emb = type(model.model.rotary_emb)(config).to(decoder.device)
    return model.eval()


def _ids(decoder: Decoder, batch: int) -> torch.Tensor:
    return torch.arange(batch, device=decoder.device)[:, None] % decoder.shape.vocab_size


def _fill(decoder: Decoder, caches: Sequence[GroupedCache | ConcatenatedCache], batch: int, tokens: int) -> None:
    """Random rows: the time of a step does not depend on what the cache holds, and a long prompt would take minutes."""
    shape = decoder.shape
    rows = (2, batch, shape.num_kv_heads, tokens, shape.head_dim)
    for cache in caches:
        cache.append(*torch.randn(rows, dtype=decoder.dtype, device=decoder.device))


# ---------------------------------------------------------------------------
# One point, and many


def step_row(decoder: Decoder, copy: Copy, trials: int, way: str, context: int, batch: int) -> dict:
    """Time one decode step with its cache kept in one of WAYS.

    `seconds` of all trials; `copy_seconds` of copies made before and after them, because a machine is not equally fast
    all the time; `new_bytes` of tensors that a step makes. On a GPU also `peak_bytes`, the most that PyTorch's
    allocator had given out meanwhile.
    """
    device, cuda = decoder.device, decoder.device.type == "cuda"
    check_room(
        2 * context * batch * bytes_per_token(decoder.shape.attention_config, 8 * decoder.dtype.itemsize), device
    )
    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    step, before = WAYS[way](decoder, batch, context), copy()
    row = {
        "seconds": device_seconds(step, WARMUP, trials, device),
        "copy_seconds": before + copy(),
        "new_bytes": metered(step).new_bytes,
    }
    return row | ({"peak_bytes": torch.cuda.max_memory_allocated(device)} if cuda else {})


def sweep(
    points: Iterable[tuple[str, int, int]],
    measure: Callable[[str, int, int], dict],
    cache_bytes: Callable[[int, int], int],
    budget_seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[tuple[dict, float]]:
    """Measure points (way, context, batch), small caches first; yield each row at once, and the seconds perhaps left.

    A row is what `measure(*point)` gives, with the point, its `cache_bytes(context, batch)` and an `outcome`:
    "measured"; "out of memory", after which half the batch is tried and nothing as large in that way; "larger than what
    did not fit"; or "no time left", for a point that would, at the pace of the one before, end after `budget_seconds`.
    """
    waiting = sorted((cache_bytes(*point[1:]), point) for point in points)
    end, pace, refused = clock() + budget_seconds, 0.0, {}
    while waiting:
        n_bytes, (way, context, batch) = waiting.pop(0)
        row = {"way": way, "context": context, "batch": batch, "cache_bytes": n_bytes, "outcome": "measured"}
        begun = clock()
        if n_bytes >= refused.get(way, inf):
            row["outcome"] = "larger than what did not fit"
        elif begun + pace * n_bytes > end:
            row["outcome"] = "no time left"
        else:
            try:
                row |= measure(way, context, batch)
            except OUT_OF_MEMORY as error:
                if not _out_of_memory(error):
                    raise
                row |= {"outcome": "out of memory", "error": str(error).splitlines()[0]}
                refused[way] = n_bytes
                if batch > 1:
                    half = way, context, batch // 2
                    waiting.insert(0, (cache_bytes(*half[1:]), half))
            pace = (clock() - begun) / n_bytes
        left = pace * sum(size for size, (way, *_) in waiting if size < refused.get(way, inf))
        yield row, min(left, max(0.0, end - clock()))


OUT_OF_MEMORY = (MemoryError, RuntimeError)  # PyTorch says RuntimeError, on a GPU a kind of its own


def _out_of_memory(error: Exception) -> bool:
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(error)


def kept(
    rows: Iterable[tuple[dict, float]], show: Callable[[dict, float], object] = lambda row, left: None
) -> list[dict]:
    """The rows of a sweep, `show`n as they come, until it ends or somebody interrupts."""
    have = []
    try:
        for row, left in rows:
            have.append(row)
            show(row, left)
    except KeyboardInterrupt:
        pass  # what was measured is kept: that is what this function is for
    return have


# ---------------------------------------------------------------------------
# Prefill, and whole answers


def prefill_seconds(decoder: Decoder, lengths: Iterable[int], trials: int = 3) -> list[dict]:
    """Time the pass over a whole prompt, one request: a row with tokens and `seconds` for each of `lengths`."""
    rows = []
    for tokens in lengths:
        caches = empty_caches(decoder, 1, tokens)
        ids = torch.arange(tokens, device=decoder.device)[None] % decoder.shape.vocab_size

        def prefill(ids=ids, caches=caches):
            decoder.forward(ids, caches)
            for cache in caches:
                cache.truncate(0)

        rows.append({"tokens": tokens, "seconds": device_seconds(prefill, 1, trials, decoder.device)})
    return rows


def generate(
    decoder: Decoder, ids: torch.Tensor, new_tokens: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[torch.Tensor, list[float]]:
    """Greedy answers (B, new_tokens) to the prompts `ids` (B, P), and the `clock` at each of their tokens."""
    caches, answers, stamps = empty_caches(decoder, len(ids), ids.shape[1] + new_tokens), [], []
    for _ in range(new_tokens):
        ids = decoder.forward(ids, caches).argmax(-1, keepdim=True)
        synchronize(decoder.device)  # a token that is still being computed has not been answered
        answers.append(ids)
        stamps.append(clock())
    return torch.cat(answers, dim=1), stamps


def generate_by_transformers(
    model: "transformers.LlamaForCausalLM", ids: torch.Tensor, new_tokens: int
) -> torch.Tensor:
    """The same answers (B, new_tokens) by the `generate` of `transformers`, with the cache that it takes by itself."""
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens, do_sample=False)
    return out[:, ids.shape[1] :]
