"""Measurements of one machine on one day, kept whole: every trial, and what it was made with."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).parent.parent / "data" / "recorded"


def read(name: str, folder: Path = FOLDER) -> dict:
    """The recording called `name`: "about" says where it comes from, each other key holds rows of one experiment.

    FileNotFoundError when there is none.
    """
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def by_machine(prefix: str, folder: Path = FOLDER) -> dict[str, dict]:
    """Every recording whose name starts with `prefix`, by the name of its machine; none where there is none."""
    found = [read(path.stem, folder) for path in sorted(folder.glob(f"{prefix}*.json"))]
    return {each["about"]["machine"]: each for each in found}


def write(name: str, recording: dict, folder: Path = FOLDER) -> Path:
    """Store a recording; one row of an experiment is one line. Returns the file."""
    lines = []
    for key, value in recording.items():
        body = [json.dumps(row) for row in value] if isinstance(value, list) else json.dumps(value, indent=2)
        lines.append(f'"{key}": ' + (body if isinstance(body, str) else "[\n" + ",\n".join(body) + "\n]"))
    path = folder / f"{name}.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return path


def label(about: dict) -> str:
    """Where a recording comes from, in one line."""
    threads = f"{about['threads']} thread" + ("" if about["threads"] == 1 else "s")
    return f"recorded {about['date']} · {about['machine']} · {threads} · torch {about['torch']} · {about['dtype']}"


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


def by_batch(data: dict, way: str, step_bytes: Callable, fit_line: Callable) -> dict[int, Series]:
    """By batch what `data` has for `way`; bytes of a step and the line through the medians by the functions given.

    `data` has "about" with config, num_params and bits, "limits" with copied_bytes and copy_seconds, and "points".
    """
    mine = [row for row in data["points"] if row["way"] == way]
    return {batch: _one(data, batch, mine, step_bytes, fit_line) for batch in sorted({row["batch"] for row in mine})}


def _one(data: dict, batch: int, rows: list[dict], step_bytes, fit_line) -> Series:
    about, limits = data["about"], data["limits"]
    rate = limits["copied_bytes"] / median(limits["copy_seconds"])
    tried = {row["context"]: row for row in sorted(rows, key=lambda row: row["context"]) if row["batch"] == batch}
    sizes = {c: step_bytes(about["config"], about["num_params"], batch, c, about["bits"], about["bits"]) for c in tried}
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
