"""What a notebook cell calls: `check("kv_bytes")` and `hint("kv_bytes")`."""

import inspect
import json
import os
import secrets
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path
from types import CodeType, FunctionType

from autograde import progress
from autograde.answers import answer_of
from autograde.course import lesson_of, library_of
from autograde.exercise import Answer, Verdict
from autograde.feedback import WIDTH, render
from autograde.judge import Trial
from autograde.run import collect

MAX_LINES = 20  # of a learner's prints
LEARNER_SEED = 20  # fixed, so that a learner who changes nothing sees the same cases again

# Read once, before any cell of a submission but the locked first one has run: the grader draws new cases.
GRADING = os.environ.get("NBGRADER_EXECUTION") == "autograde"

_verdicts: dict[str, Verdict] = {}  # the last verdict on each exercise in this session


class CheckFailed(AssertionError):
    """An answer is wrong or missing. Shown as the feedback alone, without a trace from inside the checker."""

    def __init__(self, verdict: Verdict):
        super().__init__(render(verdict, color=False))
        self.verdict = verdict

    def _render_traceback_(self) -> list[str]:
        # IPython asks the exception for its own traceback; nbgrader stores and shows the same lines.
        return render(self.verdict).splitlines()


def examine(answer: Answer, points: int, candidate: object, seed: int) -> Verdict:
    """Try `candidate` on the cases that `seed` gives and judge what came back."""
    trial = Trial(answer, points, seed)
    return trial.judge(collect(answer.exercise, candidate, trial.cases, library_of(answer.exercise.name)))


def check(name: str) -> None:
    """Check the answer called `name` in the calling notebook.

    Prints one line when it is right; otherwise raises CheckFailed, whose text is the whole feedback. Returns None in
    either case, because nbgrader would read a number as partial credit.
    """
    answer = answer_of(name)
    namespace = inspect.currentframe().f_back.f_globals
    seed = secrets.randbelow(2**32) if GRADING else LEARNER_SEED
    points = lesson_of(name).exercises[name]
    _verdicts.pop(name, None)  # whatever happens below, an old verdict does not stand
    if name in namespace:
        verdict = examine(answer, points, namespace[name], seed)
        if verdict.status in ("wrong", "not done"):
            verdict = replace(verdict, upstream=_upstream(name, namespace[name], verdict.status))
    else:
        verdict = Verdict(name, "not done", points, seed=seed)
    _verdicts[name] = verdict
    progress.record(name, verdict.right)
    _take_back_output()
    if verdict.printed:
        print(f"Your code printed:\n{_excerpt(verdict.printed)}")
    if not verdict.right:
        raise CheckFailed(verdict)
    print(render(verdict))


def _excerpt(printed: str) -> str:
    lines = printed.splitlines()
    shown = textwrap.indent("\n".join(lines[:MAX_LINES]), "    ")
    return shown if len(lines) <= MAX_LINES else f"{shown}\n    … {len(lines) - MAX_LINES} more lines"


def _take_back_output() -> None:
    """Remove what the answer put under the check by other ways than print.

    nbgrader scores an `execute_result`, whoever displayed it, and scores 0 for a line on stderr, such as one of a
    log handler that was made earlier.
    """
    try:
        from IPython import get_ipython
        from IPython.display import clear_output
    except ImportError:
        return
    if get_ipython() is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        clear_output(wait=True)


def _upstream(name: str, candidate: object, status: str) -> str:
    """Another exercise of the lesson that `candidate` calls and that is not right, or "".

    Of an answer that is not done, also one that has not been checked: it may be the stub that was met.
    """
    called = _names(candidate.__code__) if type(candidate) is FunctionType else []
    for each in lesson_of(name).exercises:
        if each in called and each != name:
            last = _verdicts.get(each)
            if status == "not done" if last is None else not last.right:
                return each
    return ""


def _names(code: CodeType) -> list[str]:
    """Global names in a function's code, its comprehensions and inner functions included."""
    inner = [name for constant in code.co_consts if type(constant) is CodeType for name in _names(constant)]
    return [*code.co_names, *inner]


def hint(name: str) -> None:
    """Print the next hint for `name`: on the mistake that the last check named, otherwise on how to begin."""
    name = name if isinstance(name, str) else getattr(name, "__name__", str(name))
    try:
        answer = answer_of(name)
    except KeyError as error:
        print(error.args[0])
        return
    last = _verdicts.get(name)
    if last is not None and last.right:
        print(f"{name} is right already.")
        return
    known = {each.name: each.advice.hints for each in answer.misconceptions}
    mistake = last.misconception if last is not None else ""
    hints = known.get(mistake, answer.hints)
    number = progress.next_hint(name, mistake, len(hints))
    print("\n".join(textwrap.wrap(f"Hint {number + 1} of {len(hints)}: {hints[number]}", WIDTH)))


def save_session(path: str) -> None:
    """Write the last verdict on each exercise in this session to `path`, for the command line to read."""
    Path(path).write_text(json.dumps([verdict.as_dict() for verdict in _verdicts.values()]), encoding="utf-8")


def check_notebook(path: Path) -> list[Verdict]:
    """Run a learner's notebook in a kernel of its own, in its own folder, and return its verdicts in order.

    The file is not changed. Cells that fail do not stop the run. ValueError if the kernel dies or a cell does not end.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(path.parent)}}
    with tempfile.TemporaryDirectory() as scratch:
        verdicts = Path(scratch) / "verdicts.json"
        save = f"from autograde.check import save_session as _s; _s({str(verdicts)!r})"
        notebook.cells.append(nbformat.v4.new_code_cell(save))
        try:
            NotebookClient(notebook, timeout=300, allow_errors=True, resources=where).execute(stderr=subprocess.DEVNULL)
        except (CellTimeoutError, DeadKernelError) as error:
            raise ValueError(f"{path} could not be run to its end: {type(error).__name__}") from None
        return [Verdict.from_dict(fields) for fields in json.loads(verdicts.read_text(encoding="utf-8"))]
