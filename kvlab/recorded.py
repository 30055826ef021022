"""Measurements of one machine on one day, kept whole: every trial, and what it was made with."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "recorded"


def read(name: str, folder: Path = FOLDER) -> dict:
    """The recording called `name`: "about" says where it comes from, each other key holds rows of one experiment.

    FileNotFoundError when there is none.
    """
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def series(prefix: str, folder: Path = FOLDER) -> dict[str, dict]:
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
