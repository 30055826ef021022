"""What a notebook cell calls: `check("kv_bytes")` and `hint("kv_bytes")`."""

import inspect
import json
import os
import secrets
import textwrap
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random

from autograde import progress
from autograde.course import lesson_of
from autograde.exercise import Answer, Verdict
from autograde.feedback import WIDTH, render
from autograde.judge import judge
from autograde.run import collect

LEARNER_SEED = 20  # fixed, so that a learner who changes nothing sees the same cases again

_verdicts: dict[str, Verdict] = {}  # the last verdict on each exercise in this session


class CheckFailed(AssertionError):
    """An answer is wrong or missing. Shown as the feedback alone, without a trace from inside the checker."""

    def __init__(self, verdict: Verdict):
        super().__init__(render(verdict, color=False))
        self.verdict = verdict

    def _render_traceback_(self) -> list[str]:
        # IPython asks the exception for its own traceback; nbgrader stores and shows the same lines.
        return render(self.verdict).splitlines()


def answer_of(name: str) -> Answer:
    """The answer of the exercise called `name`. KeyError names every exercise."""
    module = import_module(f"autograde.answers.{lesson_of(name).module}")
    return next(each for each in module.ANSWERS if each.exercise.name == name)


def examine(answer: Answer, points: int, candidate: object, seed: int) -> Verdict:
    """Try `candidate` on the cases that `seed` gives and judge what came back."""
    cases = answer.exercise.cases(Random(seed))
    return judge(answer, points, cases, collect(answer.exercise, candidate, cases), seed)


def check(name: str) -> None:
    """Check the answer called `name` in the calling notebook.

    Prints one line when it is right; otherwise raises CheckFailed, whose text is the whole feedback. Returns None in
    either case, because nbgrader would read a number as partial credit.
    """
    answer = answer_of(name)
    namespace = inspect.currentframe().f_back.f_globals
    seed = secrets.randbelow(2**32) if os.environ.get("NBGRADER_EXECUTION") == "autograde" else LEARNER_SEED
    points = lesson_of(name).exercises[name]
    if name in namespace:
        verdict = examine(answer, points, namespace[name], seed)
        if verdict.status == "wrong":
            verdict = replace(verdict, upstream=_upstream(namespace[name]))
    else:
        verdict = Verdict(name, "not done", points, seed=seed)
    _verdicts[name] = verdict
    progress.record(name, verdict.right)
    if verdict.printed:
        # On stdout, because nbgrader scores 0 for anything on stderr.
        print("Your code printed:\n" + textwrap.indent(verdict.printed.rstrip("\n"), "    "))
    if not verdict.right:
        raise CheckFailed(verdict)
    print(render(verdict))


def _upstream(candidate: object) -> str:
    """An exercise that `candidate` names in its code and whose last verdict here was not right, or ""."""
    names = getattr(getattr(candidate, "__code__", None), "co_names", ())
    return next((each for each in names if each in _verdicts and not _verdicts[each].right), "")


def hint(name: str) -> None:
    """Print the next hint for `name`: on the mistake that the last check named, otherwise on how to begin."""
    answer = answer_of(name)
    last = _verdicts.get(name)
    if last is not None and last.right:
        print(f"{name} is right already.")
        return
    known = {each.name: each.hints for each in answer.misconceptions}
    mistake = last.misconception if last is not None else ""
    hints = known.get(mistake, answer.hints)
    number = progress.next_hint(name, mistake, len(hints))
    print("\n".join(textwrap.wrap(f"Hint {number + 1} of {len(hints)}: {hints[number]}", WIDTH)))


def session_json() -> str:
    """The last verdict on each exercise in this session, as JSON: how the command line reads a notebook's kernel."""
    return json.dumps([verdict.as_dict() for verdict in _verdicts.values()])


def check_notebook(path: Path) -> list[Verdict]:
    """Run a learner's notebook in a kernel of its own, in its own folder, and return its verdicts in lesson order.

    The file is not changed. Cells that fail do not stop the run. An exercise whose check never ran is "not done".
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("import autograde.check as _c; print(_c.session_json())"))
    NotebookClient(
        notebook, timeout=600, allow_errors=True, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    text = "".join(output.get("text", "") for output in notebook.cells[-1].outputs)
    return [Verdict.from_dict(fields) for fields in json.loads(text.strip().splitlines()[-1])]
