"""A step of nbgrader's autograding: what a student changed in a locked cell is put back, and the feedback says so."""

from nbconvert.exporters.exporter import ResourcesDict
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.preprocessors import OverwriteCells

NOTE = "**Restored.** The locked cell `{name}` had been changed. The original, above, is what was run and graded."


class SayWhatWasRestored(OverwriteCells):
    """nbgrader's OverwriteCells, which only logs what it restores, plus a note under each restored cell."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        self._restored: set[str] = set()
        nb, resources = super().preprocess(nb, resources)
        cells = []
        for cell in nb.cells:
            cells.append(cell)
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in self._restored:
                note = new_markdown_cell(NOTE.format(name=name))
                if (nb.nbformat, nb.nbformat_minor) < (4, 5):
                    note.pop("id")  # older notebooks have no cell ids
                cells.append(note)
        nb.cells = cells
        return nb, resources

    def report_change(self, name: str, attr: str, old: object, new: object) -> None:
        super().report_change(name, attr, old, new)
        self._restored.add(name)
