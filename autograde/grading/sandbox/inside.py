"""What happens in the process that runs a student's code: run the cells, drive the answers, report plain values.

Nothing here decides anything. The student's code can change all of it, and gains nothing: right values are what counts,
and only the right computation has them.
"""

import contextlib
import json
import os
import sys
from importlib import import_module
from random import Random

from autograde.blame import blame
from autograde.course import library_of
from autograde.exercise import Exercise
from autograde.grading.sandbox.wire import encode
from autograde.limits import TimeLimit, time_limit
from autograde.run import Outcome, collect

MAX_TEXT = 4_000  # characters of one text that is reported
BEAT, LAST = b"c", b"l"  # a cell begins; there are no more


def make_shell():
    """An IPython without kernel, history or pictures: magics and top-level `await` work, displays cost nothing."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.showtraceback = shell.showsyntaxerror = lambda *_, **__: None  # nobody reads what is printed here
    shell.display_formatter.active_types = ["text/plain"]
    shell.enable_gui = shell.enable_matplotlib = lambda gui=None: (gui, "agg")  # as `%matplotlib inline` wants it
    return shell


def warm(lesson: str, sources: list[str]) -> None:
    """Run the lesson's own locked cells once, so that a submission finds imported what they import, lazily or not.

    Every submission runs them again for itself; what they define here is thrown away.
    """
    import_module(f"autograde.exercises.{lesson}")
    namespace = {"__name__": "__main__"}
    for source in sources:
        with contextlib.suppress(Exception):  # a cell that builds on an answer finds none
            exec(compile(source, "<lesson>", "exec"), namespace)


def read_job(descriptor: int) -> dict:
    """The job, which is in this process alone, to the end of its pipe."""
    with os.fdopen(descriptor, "rb") as file:
        return json.loads(file.read())


def run(job: dict, shell, report: int, beats: int) -> None:
    """Run `job["cells"]` in order. A cell that fails does not stop the rest.

    Each cell is {"source"} or, where an answer is to be tried, {"check": its name}. `report` gets one JSON object a
    line, `beats` a byte as each cell begins.
    """

    def say(message: dict) -> None:
        data = (json.dumps(message) + "\n").encode()
        while data:
            data = data[os.write(report, data) :]

    exercises = {each.name: each for each in import_module(f"autograde.exercises.{job['lesson']}").EXERCISES}
    sys.path.append(os.getcwd())  # last, so that a module that a cell writes is found and shadows nothing
    for number, cell in enumerate(job["cells"]):
        os.write(beats, BEAT)
        say({"cell": number})
        if "check" in cell:
            say(_try(exercises[cell["check"]], shell.user_ns, job["seed"], job["watch"]))
        elif said := _run_cell(shell, cell["source"], job["cell_seconds"]):
            say({"error": number, "said": said[:MAX_TEXT]})
    say({"done": True})
    os.write(beats, LAST)


def _try(exercise: Exercise, namespace: dict, seed: int, watch: bool) -> dict:
    if exercise.name not in namespace:
        return {"missing": exercise.name}
    library = library_of(exercise.name) if watch else None
    outcomes = collect(exercise, namespace[exercise.name], exercise.cases(Random(seed)), library)
    return {
        "exercise": exercise.name,
        "outcomes": [_as_json(outcome) for outcome in outcomes],
        "borrowed": next((outcome.borrowed for outcome in outcomes if outcome.borrowed), ""),
    }


def _as_json(outcome: Outcome) -> dict:
    return {
        "value": encode(outcome.value),
        "note": outcome.note[:MAX_TEXT],
        "printed": outcome.printed[:MAX_TEXT],
    }


def _run_cell(shell, source: str, seconds: float) -> str:
    """What to tell about the error that the cell raised, or "". The limit leaves time for the harder one outside."""
    try:
        with time_limit(seconds):
            result = shell.run_cell(source, store_history=False)
    except TimeLimit:
        return f"It was still running after {seconds:g} s."
    error = result.error_before_exec or result.error_in_exec
    if error is None:
        return ""
    return f"It was still running after {seconds:g} s." if isinstance(error, TimeLimit) else blame(error)
