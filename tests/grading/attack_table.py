"""What each attack earns from stock nbgrader and from `autograde grade`: `python -m tests.grading.attack_table`.

Prints the table of docs/grading.md. Stock nbgrader runs in a bubblewrap of its own, because it shuts nothing in; the
attacks that would hurt even there are not run by it.
"""

import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry

from autograde.course import ROOT
from autograde.grading.batch import Options, grade
from autograde.grading.sandbox.limits import Limits
from tests.fixtures.attack_notebooks import ATTACKS, LESSON, Attack

SECONDS = 120  # for one submission under stock nbgrader
LIMITS = Limits(cell_seconds=3, notebook_seconds=12, memory_bytes=1 << 30)


def nbgrader(course: Path, *arguments: str) -> None:
    """Run nbgrader on `course`, which it sees as /tmp/course, with nothing else to write and no network."""
    shut_in = ["bwrap", "--unshare-pid", "--unshare-net", "--die-with-parent", "--new-session", "--ro-bind", "/", "/"]
    shut_in += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", str(course), "/tmp/course"]
    shut_in += ["--setenv", "HOME", "/tmp", "--setenv", "JUPYTER_RUNTIME_DIR", "/tmp/runtime", "--chdir", "/tmp/course"]
    command = [*shut_in, sys.executable, "-m", "nbgrader", *arguments]
    with suppress(subprocess.TimeoutExpired):  # what the gradebook says then is the measurement
        subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)


def stock(course: Path, attack: Attack) -> str:
    """Points that stock nbgrader records."""
    if attack.dangerous:
        return "not run"
    nbgrader(course, "autograde", LESSON.slug, "--student", attack.name)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "kv-cache") as book:
        try:
            submission = book.find_submission(LESSON.slug, attack.name)
        except MissingEntry:
            return "no result"
        if any(grade.auto_score is None for notebook in submission.notebooks for grade in notebook.grades):
            return "no result"
        return f"**{submission.score:g}**" if submission.score else "0"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        for name in ("nbgrader_config.py", "tiny_transformer.py"):
            (course / name).write_bytes((ROOT / name).read_bytes())
        source = LESSON.notebook("solutions")
        (course / "solutions" / LESSON.slug).mkdir(parents=True)
        (course / "solutions" / LESSON.slug / source.name).write_bytes(source.read_bytes())
        nbgrader(course, "generate_assignment", LESSON.slug)
        for attack in ATTACKS:
            attack.hand_in(course / "submitted" / attack.name / LESSON.slug)
        options = Options(LESSON, course, course / "submitted", seed=1, limits=LIMITS)
        ours = {result.student: result for result in grade(options, lambda graded: None, lambda sketch: False)}
        print(
            f"| attack | what it tries | stock, of {LESSON.points} | `autograde grade` | flags |\n|---|---|---|---|---|"
        )
        for attack in ATTACKS:
            result = ours[attack.name]
            kinds = ", ".join(sorted({flag.kind for flag in result.flags}))
            row = (f"`{attack.name}`", attack.tries, stock(course, attack), f"{result.points}", kinds)
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
