"""nbgrader's configuration. Run nbgrader from this folder: it finds the file here."""

import os
import sys
from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader provides it)

# nbgrader starts `alembic` by name, which fails unless the environment's programs are on the path.
os.environ["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")

c.CourseDirectory.course_id = "kv-cache"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "lessons"

# What a learner finds in the place of a solution. The checks read NotImplementedError as "not done yet".
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError  # replace this line with your answer"}

# A deleted check cell comes back, so that deleting it neither costs nor earns anything.
c.OverwriteCells.add_missing_cells = True
# nbgrader's own steps in their order; the fourth also tells the student what it put back.
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "autograde.restored.SayWhatWasRestored",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Execute.timeout = 300
