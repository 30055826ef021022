"""Put each result where it is looked for: the graded notebook, the gradebook, and last the result itself."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import nbformat

from autograde.grading.batch import Graded
from autograde.grading.records import record, store
from autograde.grading.result import Result
from autograde.workspace import write_atomically

TERMS = ("digest", "release", "seed", "isolated", "library_answers")  # under which a stored result still holds


class Keeper:
    """Keeps the results of one run in the course's folder.

    The stored result is written last, so it means that all is recorded; a run that was killed grades again what has
    none. `resumed` says whether results of such a run may be there.
    """

    def __init__(self, folder: Path, book: record.Recorder, received: Mapping[str, datetime], resumed: bool):
        self._folder, self._book, self._received, self._resumed = folder, book, received, resumed

    def is_done(self, sketch: Result) -> bool:
        stored = self._stored(sketch) if self._resumed else None
        return stored is not None and all(getattr(stored, term) == getattr(sketch, term) for term in TERMS)

    def whole(self, result: Result) -> Result:
        """The stored result in the place of the sketch of a submission that was done before."""
        if result.verdicts or result.flags:
            return result
        return self._stored(result) or result

    def _stored(self, sketch: Result) -> Result | None:
        try:
            return store.load(self._folder, sketch.student, sketch.slug)
        except ValueError:
            return None  # damaged, so it is graded again

    def record(self, graded: Graded) -> None:
        """Record one result. One without verdicts was recorded before, or failed: then an earlier one stands."""
        result, notebook = graded.result, graded.notebook
        if not result.verdicts:
            return
        place = store.path_of(self._folder, result.student, result.slug).with_name(f"{result.slug}.ipynb")
        if notebook is None:
            place.unlink(missing_ok=True)
        else:
            write_atomically(place, (nbformat.writes(notebook) + "\n").encode())
        untouched = record.untouched(notebook) if notebook is not None else ()
        self._book.record(result, self._received.get(result.student), untouched)
        store.save(self._folder, result)
