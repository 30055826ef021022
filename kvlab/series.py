"""Decode steps of one batch at several contexts, out of a recording or a live sweep: times, bound, and fitted line."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Series:
    """What was measured for one batch in one way to keep the cache. Times in seconds, rates in bytes per second."""

    batch: int
    trials: dict[int, list[float]]  # by context
    missing: dict[int, str]  # by context: why nothing was measured
    bounds: dict[int, float]  # by context: all bytes of a step at the rate of a copy
    line: tuple[float, float] | None  # seconds per token of context, and at context 0; None for a single context
    row_rate: float | None  # of the cache's rows, as the slope implies; None where time does not grow
    copy_rate: float


def series(data: dict, way: str, step_bytes: Callable, fit_line: Callable) -> dict[int, Series]:
    """By batch what `data` has for `way`; bytes of a step and the line through the medians by the functions given.

    `data` has "about" with card, num_params and bits, "limits" with copied_bytes and copy_seconds, and "points".
    """
    mine = [row for row in data["points"] if row["way"] == way]
    return {batch: _one(data, batch, mine, step_bytes, fit_line) for batch in sorted({row["batch"] for row in mine})}


def _one(data: dict, batch: int, rows: list[dict], step_bytes, fit_line) -> Series:
    about, limits = data["about"], data["limits"]
    rate = limits["copied_bytes"] / median(limits["copy_seconds"])
    tried = {row["context"]: row for row in sorted(rows, key=lambda row: row["context"]) if row["batch"] == batch}
    sizes = {c: step_bytes(about["card"], about["num_params"], batch, c, about["bits"], about["bits"]) for c in tried}
    trials = {context: row["seconds"] for context, row in tried.items() if "seconds" in row}
    line = row_rate = None
    if len(trials) > 1:
        line = fit_line(list(trials), [median(seconds) for seconds in trials.values()])
        near, far = min(trials), max(trials)
        per_token = (sizes[far][1] - sizes[near][1]) / (far - near)
        row_rate = per_token / line[0] if line[0] > 0 else None
    return Series(
        batch,
        trials,
        {context: row["outcome"] for context, row in tried.items() if "seconds" not in row},
        {context: sum(both) / rate for context, both in sizes.items()},
        line,
        row_rate,
        rate,
    )
