"""Turn what the sandbox reported into verdicts, in the grader's own process."""

import ast
import json
from dataclasses import replace

from autograde.check import answer_of
from autograde.course import Lesson
from autograde.exercise import Verdict
from autograde.grading.rebuild import Step
from autograde.grading.result import CUT_SHORT, GRADED, Flag
from autograde.grading.sandbox.wire import Malformed, decode
from autograde.grading.submission import clean
from autograde.judge import Trial
from autograde.run import Outcome
from autograde.values import Opaque, Raised, plain, same

MAX_TEXT = 4_000  # characters of one text that a student's process sends
MAX_ERRORS, MAX_SAID = 20, 600  # of own cells that raised, and of what is repeated of each
NOTHING = Outcome(Opaque("nothing"), note="No value came for this case.")
LIMITS = {
    "cell time": "It ran too long in {place} and had to be stopped.",
    "notebook time": "The whole notebook ran too long; it was stopped in {place}.",
    "memory": "It used too much memory in {place} and had to be stopped.",
    "processes": "It started too many processes in {place} and had to be stopped.",
    "report": "It reported more than a lesson's values; it was stopped in {place}.",
    "done": "Its process ended by itself in {place}.",
}


class Judge:
    """All exercises of one lesson on the cases of one seed. Serves any number of submissions."""

    def __init__(self, lesson: Lesson, seed: int):
        self.trials = {name: Trial(answer_of(name), points, seed) for name, points in lesson.exercises.items()}

    def judge(self, steps: list[Step], end: str, report: str) -> tuple[str, list[Verdict], list[Flag]]:
        """Status, one verdict per exercise and the flags, from the report of a run that came to `end`."""
        heard = _Report(report)
        flags = []
        status = GRADED
        if not heard.done:
            place = steps[heard.cell].place if 0 <= heard.cell < len(steps) else "its first cell"
            flags.append(Flag("limit", LIMITS[end].format(place=place)))
            status = CUT_SHORT
        errors = {steps[number]: said for number, said in heard.errors.items() if 0 <= number < len(steps)}
        said_of = {step.answers: said for step, said in errors.items() if step.answers}
        own = [f"Stopped in {step.place}: {said[:MAX_SAID]}" for step, said in errors.items() if step.own]
        flags += [Flag("error", text) for text in own[:MAX_ERRORS]]
        if len(own) > MAX_ERRORS:
            flags.append(Flag("error", f"So did {len(own) - MAX_ERRORS} more cells of your own."))
        verdicts = {}
        for name, trial in self.trials.items():
            verdicts[name] = self._verdict(trial, heard, said_of.get(name, ""), flags)
        sources = {step.answers: step.source for step in steps if step.answers}
        found = [_with_upstream(verdict, sources, verdicts) for verdict in verdicts.values()]
        return status, found, flags

    def _verdict(self, trial: Trial, heard: "_Report", said: str, flags: list[Flag]) -> Verdict:
        name = trial.answer.exercise.name
        if name not in heard.outcomes:
            note = f"Its cell stopped: {said}" if said else ""
            if not note and name not in heard.missing and not heard.done:
                note = "The run was stopped before this exercise was reached."
            return Verdict(name, "not done", trial.points, len(trial.cases), trial.seed, note=note)
        came = heard.outcomes[name][: len(trial.cases)]
        outcomes = came + [NOTHING] * (len(trial.cases) - len(came))
        verdict = trial.judge(outcomes)
        if borrowed := heard.borrowed.get(name, ""):
            flags.append(Flag("library", f"The library's own {borrowed} was called.", name))
            verdict = replace(verdict, status="borrowed", note=borrowed)
        odd = sorted({outcome.value.type_name for outcome in came if type(outcome.value) is Opaque})
        if odd:
            flags.append(Flag("object", f"It returned no plain value but an object of type {', '.join(odd)}.", name))
        return verdict


class _Report:
    """The lines that a student's process wrote. Whatever does not read as it should is passed over."""

    def __init__(self, text: str):
        self.cell = -1
        self.done = False
        self.errors: dict[int, str] = {}
        self.missing: set[str] = set()
        self.outcomes: dict[str, list[Outcome]] = {}
        self.borrowed: dict[str, str] = {}
        for line in text.splitlines():
            try:
                message = json.loads(line)
                if type(message) is dict:
                    self._heed(message)
            except (ValueError, TypeError, KeyError, RecursionError):
                continue

    def _heed(self, message: dict) -> None:
        if "exercise" in message:
            name = _text(message["exercise"])
            outcomes = [_outcome(each) for each in message["outcomes"]]
            self.outcomes.setdefault(name, outcomes)
            if message["borrowed"]:
                self.borrowed[name] = _text(message["borrowed"])[:200]
        elif "error" in message:
            self.errors.setdefault(int(message["error"]), _text(message["said"]))
        elif "missing" in message:
            self.missing.add(_text(message["missing"]))
        elif "cell" in message:
            self.cell = int(message["cell"])
        elif message == {"done": True}:
            self.done = True


def _outcome(fields: dict) -> Outcome:
    try:
        value = plain(decode(fields["value"]), ours=True)
    except (Malformed, RecursionError):
        value = Opaque("nothing readable")
    return Outcome(
        value,
        note=_text(fields["note"]),
        unwritten=same(value, Raised("NotImplementedError")),
        printed=_text(fields["printed"]),
    )


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError("a text was wanted")
    return clean(value[:MAX_TEXT])


def _with_upstream(verdict: Verdict, sources: dict[str, str], verdicts: dict[str, Verdict]) -> Verdict:
    """Point at another exercise that the answer calls and that is not right: that one is to be mended first."""
    if verdict.status not in ("wrong", "not done"):
        return verdict
    called = _names(sources.get(verdict.exercise, ""))
    found = (name for name, other in verdicts.items() if name in called and not other.right)
    return replace(verdict, upstream=next((name for name in found if name != verdict.exercise), ""))


def _names(source: str) -> set[str]:
    try:
        return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
