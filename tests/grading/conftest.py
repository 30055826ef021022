"""What several modules of the grader's tests share."""

import shutil

import nbformat
import pytest

from autograde.course import ROOT
from tests.grading.stock import HANDED_IN, LESSON, nbgrader


@pytest.fixture(scope="session")
def stock(tmp_path_factory):
    """An instructor's folder after stock nbgrader's release, grading, feedback and export."""
    root = tmp_path_factory.mktemp("stock")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    shutil.copytree(ROOT / "solutions", root / "solutions")
    nbgrader(root, "generate_assignment", LESSON.slug)
    for student, (notebook, _) in HANDED_IN.items():
        folder = root / "submitted" / student / LESSON.slug
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{LESSON.slug}.ipynb")
    nbgrader(root, "autograde", LESSON.slug)
    nbgrader(root, "generate_feedback", LESSON.slug)
    nbgrader(root, "export")
    return root
