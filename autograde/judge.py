"""Decide from plain values alone: right or wrong, and which known mistake explains all of them."""

from dataclasses import replace
from functools import cached_property
from random import Random

from autograde.diagnosis import diagnose
from autograde.difference import difference
from autograde.exercise import Answer, Case, Misconception, Verdict
from autograde.run import Outcome, collect
from autograde.values import Changed, Raised, same, show


class Trial:
    """One exercise on the cases of one seed: what is right there and what each known mistake gives.

    Computed when it is first asked for, and once, for however many answers are judged.
    """

    def __init__(self, answer: Answer, points: int, seed: int, cases: list[Case] | None = None):
        self.answer, self.points, self.seed = answer, points, seed
        self.cases = answer.exercise.cases(Random(seed)) if cases is None else cases

    @cached_property
    def expected(self) -> list[object]:
        return [self.answer.expected(case) for case in self.cases]

    @cached_property
    def _known(self) -> list[tuple[Misconception, list[object]]]:
        """Each known mistake with its values on all cases, once for each form of it."""
        return [
            (known, trace(self.answer, wrong, self.cases))
            for known in self.answer.misconceptions
            for wrong in (known.wrong, *known.also)
        ]

    def judge(self, outcomes: list[Outcome]) -> Verdict:
        """The verdict on `outcomes`, one per case. Nothing that the learner's code printed or raised is believed."""
        answer, cases = self.answer, self.cases
        outcomes = [
            replace(each, value=read(answer, case, each.value)) for case, each in zip(cases, outcomes, strict=True)
        ]
        printed = "".join(outcome.printed for outcome in outcomes)
        verdict = Verdict(answer.exercise.name, "right", self.points, len(cases), self.seed, printed=printed)
        if outcomes[0].unwritten:
            return replace(verdict, status="not done")
        checked = map(accepted, [answer] * len(cases), cases, [each.value for each in outcomes], self.expected)
        failed = next((i for i, right in enumerate(checked) if not right), None)
        borrowed = next((outcome.borrowed for outcome in outcomes if outcome.borrowed), "")
        if failed is None:
            return replace(verdict, status="borrowed", note=borrowed) if borrowed else verdict
        case, outcome = cases[failed], outcomes[failed]
        verdict = replace(verdict, printed="".join(each.printed for each in outcomes[: failed + 1]))
        if outcome.unwritten:
            done = f"{failed} of {len(cases)} cases are right; the next one meets a method that is not written."
            return replace(verdict, status="not done", note=done)
        known = next(iter(self._diagnose([each.value for each in outcomes])), None)
        return replace(
            verdict,
            status="wrong",
            case_number=failed + 1,
            case_label=case.label,
            misconception=known.name if known else "",
            diagnosis=known.advice.diagnosis if known else "",
            source=known.advice.source if known else "",
            **(_steps if "steps" in case.inputs else _values)(answer, case, outcome, self.expected[failed]),
        )

    def _diagnose(self, values: list[object]) -> list[Misconception]:
        """The known mistakes that explain these values. One that nobody named gets no diagnosis."""
        steps = all("steps" in case.inputs for case in self.cases)
        mistakes = [given for _, given in self._known]
        found = [
            self._known[number][0] for number in diagnose(self.expected, values, mistakes, self.answer.tolerance, steps)
        ]
        return list({each.name: each for each in found}.values())


def _values(answer: Answer, case: Case, outcome: Outcome, expected: object) -> dict[str, object]:
    """What a learner sees of a failed case: its inputs, their value, the expected one and what more there is to say."""
    yours = outcome.value
    if isinstance(yours, Raised):
        note = outcome.note
    elif isinstance(yours, Changed):
        note = _changed(yours)
    elif answer.accept is None:
        note = _raised_inside(yours) or difference(yours, expected, answer.tolerance)
    else:
        note = answer.explain(case, yours) if answer.explain else ""
    example = "for example " if answer.explain else ""
    return {"inputs": _named(case), "yours": show(yours), "expected": example + show(expected), "note": note}


def _steps(answer: Answer, case: Case, outcome: Outcome, expected: list[object]) -> dict[str, object]:
    """Of a class exercise: the steps up to the first that differs, as code, and the values of that step."""
    steps, values = case.inputs["steps"], outcome.value
    if type(values) is not list or len(values) != len(steps):  # it ended before the steps did
        lines = [_step(*step) for step in steps]
        told = {"yours": show(values), "expected": "a value of each step", "note": outcome.note}
    else:
        differs = (not same(*pair, answer.tolerance) for pair in zip(values, expected, strict=True))
        at = next((i for i, each in enumerate(differs) if each), len(steps) - 1)
        lines = [_step(*step) + _came(value) for step, value in zip(steps[:at], values, strict=False)]
        lines.append(_step(*steps[at]))
        note = values[at].note if isinstance(values[at], Raised) else ""
        note = _changed(values[at]) if isinstance(values[at], Changed) else note
        note = note or (answer.explain(case, values[at]) if answer.explain else "")
        note = note or difference(values[at], expected[at], answer.tolerance)
        told = {"yours": show(values[at]), "expected": show(expected[at]), "note": note}
    # A text among the arguments of the class names an input that is shown above it.
    arguments = ", ".join(each if type(each) is str else show(each) for each in case.inputs.get("new", []))
    lines.insert(0, f"it = {answer.exercise.name}({arguments})")
    return {"inputs": _named(case) + tuple(("", line) for line in lines), **told}


def _raised_inside(value: object) -> str:
    """The learner's own line, where a part of the value is an exception."""
    parts = value.values() if type(value) is dict else value if type(value) is list else ()
    return next((part.note for part in parts if isinstance(part, Raised) and part.note), "")


def _changed(value: Changed) -> str:
    names = " and ".join(f"`{name}`" for name in value.names)
    return f"Your function changed the caller's {names}. Whoever calls it may still need that: work on a copy."


def _named(case: Case) -> tuple[tuple[str, str], ...]:
    hidden = ("steps", "new") if "steps" in case.inputs else ()
    return tuple((key, show(item, "_")) for key, item in case.inputs.items() if key not in hidden)


def _step(name: str, *arguments: object) -> str:
    """A step as code, or as the comment that a step of the checker's own is named by."""
    shown = ", ".join(show(each, "_") for each in arguments)
    if name == "__len__":
        return "len(it)"
    return f"it.{name}({shown})" if name.isidentifier() else f"{name} {shown}".rstrip()


def _came(value: object) -> str:
    """What a step before the failed one gave, where it is short."""
    return f"   → {show(value)}" if isinstance(value, Raised) or type(value) is int else ""


def accepted(answer: Answer, case: Case, value: object, expected: object) -> bool:
    """Whether `value` is a right answer to `case`, of which `expected` is one."""
    return answer.accept(case, value) if answer.accept else same(value, expected, answer.tolerance)


def read(answer: Answer, case: Case, value: object) -> object:
    """The plain value of a run in the form that is judged."""
    return answer.read(case, value) if answer.read else value


def trace(answer: Answer, candidate: object, cases: list[Case]) -> list[object]:
    """The plain values that `candidate`, an answer of our own, gives on the cases, in the form that is judged."""
    outcomes = collect(answer.exercise, candidate, cases)
    return [read(answer, case, outcome.value) for case, outcome in zip(cases, outcomes, strict=True)]
