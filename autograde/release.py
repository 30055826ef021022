"""Make `lessons/` from `solutions/`: execute, normalise, let nbgrader cut the answers out, normalise.

Run twice, it changes no byte: everything that differs between two runs of the same notebook is dropped.
"""

import io
import logging
import os
import subprocess
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import PyFileConfigLoader

from autograde.course import LESSONS, ROOT, Lesson
from autograde.workspace import write_atomically

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
CELL_METADATA = ("nbgrader", "tags", "deletable", "editable")  # nbgrader locks the learner's cells with the last two
OUTPUT_METADATA = ("image/png",)  # its display size
# Cells with the first tag time, draw or show widgets. Their output is not kept, except a figure that stands beside an
# explorer for readers without a kernel.
UNSTABLE, KEPT = "nbval-ignore-output", "static-figure"


class ReleaseError(Exception):
    """A notebook cannot be released. The message names the cell."""


def release(root: Path = ROOT, lessons: tuple[Lesson, ...] = LESSONS) -> list[Path]:
    """Rebuild every lesson. Returns the files that changed; nothing is written if any lesson fails."""
    made: dict[Path, bytes] = {}
    for lesson in lessons:
        solution = lesson.notebook("solutions", root)
        executed = execute(nbformat.read(solution, as_version=4), solution.parent)
        made[solution] = _bytes(normalise(executed))
        made[lesson.notebook("lessons", root)] = _without_answers(root, lesson, made[solution])
    changed = [path for path, content in made.items() if not path.exists() or path.read_bytes() != content]
    for path in changed:
        write_atomically(path, made[path])
    return changed


def _bytes(notebook: nbformat.NotebookNode) -> bytes:
    return (nbformat.writes(notebook) + "\n").encode()


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Run every cell in a new kernel, in `folder`. Any error is a ReleaseError, also in a cell that may raise."""
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name=KERNELSPEC["name"],
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
        allow_errors=True,
    )
    # A release is no learner's attempt: with this variable set, no progress is recorded.
    client.execute(env={**os.environ, "NBGRADER_EXECUTION": "release"}, stderr=subprocess.DEVNULL)
    for number, cell in enumerate(notebook.cells, start=1):
        for output in cell.get("outputs", []):
            if output.output_type == "error" or (output.output_type == "stream" and output.name == "stderr"):
                said = output.get("text") or "\n".join(output.traceback)
                raise ReleaseError(f"cell {number} wrote an error:\n{cell.source}\n\n{said}")
    return notebook


def normalise(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without anything that depends on when, where or how often it ran."""
    notebook = nbformat.from_dict(notebook)
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": {"name": "python"}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    count = 0
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k in CELL_METADATA})
        cell.source = cell.source.replace("\r\n", "\n")
        cell.pop("attachments", None)
        if cell.cell_type != "code":
            continue
        tags = cell.metadata.get("tags", [])
        executed = cell.execution_count is not None
        count += executed
        cell.execution_count = count if executed else None
        kept = [] if UNSTABLE in tags and KEPT not in tags else cell.outputs
        cell.outputs = _whole_streams([_output(output, count) for output in kept])
    return notebook


def _whole_streams(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Join what was printed in one go: a busy kernel may send it in pieces."""
    whole: list[nbformat.NotebookNode] = []
    for output in outputs:
        if whole and output.output_type == whole[-1].output_type == "stream" and output.name == whole[-1].name:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def _output(output: nbformat.NotebookNode, count: int) -> nbformat.NotebookNode:
    if "execution_count" in output:
        output.execution_count = count
    if "metadata" in output:
        output.metadata = {k: v for k, v in output.metadata.items() if k in OUTPUT_METADATA}
    return output


def _without_answers(root: Path, lesson: Lesson, solution: bytes) -> bytes:
    """The learner's notebook, as `nbgrader generate_assignment --no-db` makes it in a folder with this one notebook.

    nbgrader releases whatever lies beside a notebook, so it is shown nothing else. It works in this process, because
    its programs take two seconds to start.
    """
    config = PyFileConfigLoader("nbgrader_config.py", str(root)).load_config()
    config.SaveCells.enabled, config.GenerateAssignment.no_database = False, True
    said = io.StringIO()
    log = logging.Logger("nbgrader")
    log.addHandler(logging.StreamHandler(said))
    with tempfile.TemporaryDirectory() as scratch:
        config.CourseDirectory.root, config.CourseDirectory.assignment_id = scratch, lesson.slug
        write_atomically(lesson.notebook("solutions", Path(scratch)), solution)
        try:
            GenerateAssignment(coursedir=CourseDirectory(config=config, log=log), config=config, log=log).start()
        except NbGraderException as error:
            raise ReleaseError(f"nbgrader could not release {lesson.slug}: {error}\n{said.getvalue()}") from None
        return _bytes(normalise(nbformat.read(lesson.notebook("lessons", Path(scratch)), as_version=4)))
