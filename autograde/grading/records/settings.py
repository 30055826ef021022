"""What nbgrader's configuration says about recording: which gradebook, which course, which late rule."""

import sys
from dataclasses import dataclass
from pathlib import Path

from nbgrader.apps import NbGrader
from nbgrader.plugins import BasePlugin
from nbgrader.preprocessors import AssignLatePenalties


@dataclass(frozen=True)
class Settings:
    db_url: str  # any SQLAlchemy URL
    course_id: str
    late: BasePlugin  # its `late_submission_penalty(student, score, seconds late)` gives points, or None


def read(root: Path) -> Settings:
    """The settings that nbgrader itself would use in the course folder `root`: its own files and the user's."""
    path = list(sys.path)
    try:
        app = NbGrader()
        app.initialize([], root=str(root))
    finally:
        sys.path[:] = path  # nbgrader puts the working folder first, where any file could shadow a module
    step = AssignLatePenalties(parent=app)
    step.init_plugin()
    return Settings(app.coursedir.db_url, app.coursedir.course_id, step.plugin_inst)
