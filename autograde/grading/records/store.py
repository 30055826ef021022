"""A result as a file beside the graded notebook, so that feedback and a resumed run need no second grading."""

import json
from pathlib import Path

from autograde.grading.places import folder
from autograde.grading.result import Result
from autograde.workspace import write_atomically


def path_of(root: Path, student: str, slug: str) -> Path:
    return folder(root, "autograded", student, slug) / "result.json"


def save(root: Path, result: Result) -> Path:
    """Write `result` where `load` finds it; a crash leaves the old file or the new one. ValueError for a bad id."""
    path = path_of(root, result.student, result.slug)
    # ASCII only, because a student's text may hold half of a surrogate pair, which no encoding can write.
    write_atomically(path, (json.dumps(result.as_dict(), indent=1) + "\n").encode("ascii"))
    return path


def load(root: Path, student: str, slug: str) -> Result | None:
    """The stored result, or None where there is none. ValueError names the file that is damaged or of another place."""
    path = path_of(root, student, slug)
    try:
        result = Result.from_dict(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is damaged ({error}); delete it and grade this submission again") from None
    if (result.student, result.slug) != (student, slug):
        raise ValueError(f"{path} is the result of {result.student} in {result.slug}; delete it and grade again")
    return result
