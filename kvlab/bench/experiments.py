"""Two comparisons that lesson 05 makes live, and beside a recording of another machine.

Both run in one thread, and the two ways take turns. Sizes are those of one layer, one request, in float32.
"""

import platform
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path

import torch

from kvlab.attention import expanded_attention, grouped_attention
from kvlab.bench import recordings
from kvlab.bench.clock import one_thread, smallest_wanted, take_turns
from kvlab.bench.meter import metered
from kvlab.caches import ConcatenatedCache, GroupedCache, elements_copied

TOKENS, FEW_TOKENS = (512, 2048, 4096), (64, 128, 256)
APPENDED = {"num_kv_heads": 4, "head_dim": 32}  # small rows, so that the longest fill takes about a second
ATTENDED = {"num_heads": 32, "num_kv_heads": 8, "head_dim": 128}  # the heads of Llama-3-8B


def appending(tokens: Sequence[int] | None = None, trials: int = 3) -> list[dict]:
    """Fill a cache token by token, by concatenation and by preallocation: a row for each number of tokens and way.

    A row has tokens, way, `elements` written for K and V together, and the `seconds` of each trial.
    """
    heads, width = APPENDED.values()
    row = torch.ones(1, heads, 1, width)

    def fill(make):
        cache = make()
        for _ in range(count):
            cache.append(row, row)

    rows = []
    for count in tokens or _tokens():
        preallocated = partial(GroupedCache, 1, heads, heads, width, count, torch.float32)
        ways = {"concatenated": ConcatenatedCache, "preallocated": preallocated}
        with one_thread():
            seconds = take_turns({way: partial(fill, make) for way, make in ways.items()}, trials)
        for way, elements in zip(ways, elements_copied(count, 2 * heads * width), strict=True):
            rows.append({"tokens": count, "way": way, "elements": elements, "seconds": seconds[way]})
    return rows


def attending(tokens: Sequence[int] | None = None, trials: int = 3) -> list[dict]:
    """One query on a cache, expanded and grouped: a row for each number of tokens and way.

    A row has tokens, way, `peak_bytes` of new storage and the `seconds` of each trial.
    """
    heads, kv_heads, width = ATTENDED.values()
    ways = {"expanded": expanded_attention, "grouped": grouped_attention}
    rows = []
    for count in tokens or _tokens():
        generator = torch.Generator().manual_seed(count)
        q = torch.randn(1, heads, 1, width, generator=generator)
        k, v = torch.randn(2, 1, kv_heads, count, width, generator=generator)
        calls = {way: partial(attend, q, k, v, count - 1) for way, attend in ways.items()}
        with one_thread():
            seconds = take_turns(calls, trials)
        for way, call in calls.items():
            peak = metered(call).peak_bytes
            rows.append({"tokens": count, "way": way, "peak_bytes": peak, "seconds": seconds[way]})
    return rows


def _tokens() -> tuple[int, ...]:
    return FEW_TOKENS if smallest_wanted() else TOKENS


def record(machine: str, trials: int, folder: Path = recordings.FOLDER) -> Path:
    """Run both and write what came out, every trial of it, with what is needed to read it. Returns the file."""
    about = {
        "machine": machine,
        "threads": 1,
        "dtype": "float32",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": platform.system(),
        "date": date.today().isoformat(),
        "trials": trials,
        "appended": APPENDED,
        "attended": ATTENDED,
    }
    rows = {"appending": appending(TOKENS, trials), "attending": attending(TOKENS, trials)}
    return recordings.write("grouped_query_cache", {"about": about, **rows}, folder)
