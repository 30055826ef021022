"""What this learner has solved and which hints they have seen: one small file, never needed for learning.

Every function goes on without the file where it cannot be written; then progress lasts as long as the kernel.
"""

import json
import os
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from filelock import FileLock

from autograde.course import ROOT
from autograde.workspace import MAP_NAME, write_atomically, write_map

SECONDS_FOR_LOCK = 2.0  # another kernel holds it for milliseconds; the system frees it when a process dies

_unsaved: dict[str, dict] = {}  # stands in for the file where nothing can be written


def path(root: Path = ROOT) -> Path:
    """The progress file: beside the learner's copies in a checkout, else in the user's own data folder."""
    if override := os.environ.get("AUTOGRADE_PROGRESS"):
        return Path(override)
    if (root / "lessons").is_dir():
        return root / "work" / ".progress.json"
    from platformdirs import user_data_path

    return user_data_path("kv-cache-course") / ".progress.json"


def state() -> dict[str, dict]:
    """Per exercise: `solved` (ever), `attempts` and `hints` seen. Empty when nothing is recorded yet."""
    try:
        entries = _read(path())
    except (OSError, ValueError) as error:
        warnings.warn(f"the progress file {path()} cannot be read, so none is shown: {error}", stacklevel=2)
        entries = {}
    for name, entry in _unsaved.items():
        entries[name] = _joined(entries.get(name, _blank()), entry)
    return _summary(entries)


def record(exercise: str, right: bool) -> None:
    """Count one attempt at `exercise`. What was solved once stays solved."""

    def count(entry: dict) -> None:
        entry["attempts"] += 1
        entry["solved"] = entry["solved"] or bool(right)

    _change(exercise, count)


def next_hint(exercise: str, misconception: str, count: int) -> int:
    """Which of `count` hints, from 0, comes next for this exercise and mistake; the last one repeats."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"the number of hints is {count!r}; at least 1 is needed")
    shown = 0

    def show(entry: dict) -> None:
        nonlocal shown
        shown = entry["hints"].get(misconception, 0)
        entry["hints"][misconception] = min(shown + 1, count)

    _change(exercise, show)
    return min(shown, count - 1)


def _change(exercise: str, change: Callable[[dict], None]) -> None:
    """Apply `change` to the entry of one exercise, under a lock that other kernels respect."""
    target = path()
    if os.environ.get("NBGRADER_EXECUTION"):  # a grader's run is nobody's progress
        change(_unsaved.setdefault(exercise, _blank()))
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(target.name + ".lock"), timeout=SECONDS_FOR_LOCK):
            entries = _read_or_set_aside(target)
            saved, unsaved = (each.get(exercise, _blank()) for each in (entries, _unsaved))
            entries[exercise] = _joined(saved, unsaved)
            change(entries[exercise])
            content = {"version": 1, "exercises": entries}
            write_atomically(target, json.dumps(content, indent=1, sort_keys=True).encode())
            _unsaved.pop(exercise, None)
            if (target.parent / MAP_NAME).exists():
                write_map(_summary(entries), target.parent.parent)
    except (OSError, NotImplementedError):  # read-only, full, locked for too long, or a disk that cannot lock
        change(_unsaved.setdefault(exercise, _blank()))


def _blank() -> dict:
    return {"solved": False, "attempts": 0, "hints": {}}


def _joined(one: dict, other: dict) -> dict:
    """The sum of what the file holds and what could not be written to it before."""
    mistakes = {**one["hints"], **other["hints"]}
    return {
        "solved": one["solved"] or other["solved"],
        "attempts": one["attempts"] + other["attempts"],
        "hints": {name: max(one["hints"].get(name, 0), other["hints"].get(name, 0)) for name in mistakes},
    }


def _summary(entries: dict[str, dict]) -> dict[str, dict]:
    return {name: {**entry, "hints": sum(entry["hints"].values())} for name, entry in entries.items()}


def _read(target: Path) -> dict[str, dict]:
    """The entries in `target`; none when there is no such file. ValueError says what is wrong with it."""
    try:
        content = json.loads(target.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    try:
        return {
            str(name): {
                "solved": bool(entry["solved"]),
                "attempts": int(entry["attempts"]),
                "hints": {str(mistake): int(shown) for mistake, shown in entry["hints"].items()},
            }
            for name, entry in content["exercises"].items()
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it does not hold exercises with solved, attempts and hints: {error!r}") from error


def _read_or_set_aside(target: Path) -> dict[str, dict]:
    try:
        return _read(target)
    except ValueError as error:
        aside = target.with_name(f"{target.name}.broken-{datetime.now():%Y%m%d-%H%M%S-%f}")
        target.rename(aside)
        warnings.warn(f"the progress file was damaged ({error}); it is kept as {aside}", stacklevel=4)
        return {}
