"""The settings are those of nbgrader's configuration in the course folder."""

import shutil
import sys

import pytest

from autograde.course import ROOT
from autograde.grading.records.settings import read


@pytest.fixture
def course(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # nbgrader also reads the configuration of the working folder
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "user"))
    root = tmp_path / "course"
    root.mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return root


def test_by_default_the_gradebook_lies_in_the_course_folder_and_nothing_is_taken_off(course):
    found = read(course)
    assert found.db_url == f"sqlite:///{course / 'gradebook.db'}"
    assert found.course_id == "kv-cache"
    assert found.late.late_submission_penalty("ada", 7.0, 60.0) is None


def test_a_database_and_a_late_rule_of_the_instructors_are_taken(course):
    (course / "late.py").write_text(
        "from nbgrader.plugins import BasePlugin\n"
        "class Half(BasePlugin):\n"
        "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
        "        return score / 2\n"
    )
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(
            f"sys.path.insert(0, {str(course)!r})\n"
            "import late\n"
            "c.CourseDirectory.db_url = 'postgresql:///book'\n"
            "c.AssignLatePenalties.plugin_class = late.Half\n"
        )
    found = read(course)
    assert found.db_url == "postgresql:///book"
    assert found.late.late_submission_penalty("ada", 7.0, 60.0) == 3.5


def test_nbgraders_own_late_rule_is_configured_as_for_nbgrader(course):
    with (course / "nbgrader_config.py").open("a") as file:
        file.write("c.LateSubmissionPlugin.penalty_method = 'zero'\n")
    assert read(course).late.late_submission_penalty("ada", 7.0, 60.0) == 7.0


def test_reading_leaves_the_import_path_alone(course):
    before = list(sys.path)
    read(course)
    assert sys.path == before
