"""Decide from plain values alone: right or wrong, and which known mistake explains all of them."""

from dataclasses import replace

from autograde.difference import difference
from autograde.exercise import Answer, Case, Misconception, Verdict
from autograde.run import Outcome, collect
from autograde.values import same, show


def judge(answer: Answer, points: int, cases: list[Case], outcomes: list[Outcome], seed: int) -> Verdict:
    """The verdict on `outcomes`, one per case. Nothing that the learner's code printed or raised is believed."""
    printed = "".join(outcome.printed for outcome in outcomes)
    verdict = Verdict(answer.exercise.name, "right", points, len(cases), seed, printed=printed)
    if outcomes[0].unwritten:
        return replace(verdict, status="not done")
    expected = [answer.expected(case) for case in cases]
    checked = map(accepted, [answer] * len(cases), cases, [each.value for each in outcomes], expected)
    failed = next((i for i, right in enumerate(checked) if not right), None)
    borrowed = next((outcome.borrowed for outcome in outcomes if outcome.borrowed), "")
    if failed is None:
        return replace(verdict, status="borrowed", note=borrowed) if borrowed else verdict
    case, outcome = cases[failed], outcomes[failed]
    verdict = replace(verdict, printed="".join(each.printed for each in outcomes[: failed + 1]))
    inputs, yours, wanted = _shown(answer, case, outcome.value, expected[failed])
    known = diagnose(answer, cases, [each.value for each in outcomes])
    return replace(
        verdict,
        status="wrong",
        case_number=failed + 1,
        case_label=case.label,
        inputs=inputs,
        yours=show(yours),
        expected=show(wanted),
        note=outcome.note or difference(yours, wanted, answer.tolerance),
        misconception=known.name if known else "",
        diagnosis=known.diagnosis if known else "",
        source=known.source if known else "",
    )


def _shown(
    answer: Answer, case: Case, value: object, expected: object
) -> tuple[tuple[tuple[str, str], ...], object, object]:
    """What a learner sees of a failed case: its inputs, their value, the expected one.

    Of a class exercise that is the steps up to the first that differs, as code, and the values of that step.
    """
    steps, new = case.inputs.get("steps"), case.inputs.get("new", [])
    named = tuple(
        (key, show(item, "_")) for key, item in case.inputs.items() if steps is None or key not in ("steps", "new")
    )
    if steps is None or type(value) is not list or len(value) != len(steps):
        return named, value, expected
    differs = (not same(got, wanted, answer.tolerance) for got, wanted in zip(value, expected, strict=True))
    at = next((i for i, each in enumerate(differs) if each), len(steps) - 1)
    # A text among the arguments of the class names an input that is shown above it.
    arguments = ", ".join(each if type(each) is str else show(each) for each in new)
    lines = [f"it = {answer.exercise.name}({arguments})"]
    lines += [_step(*step) for step in steps[: at + 1]]
    return named + tuple(("", line) for line in lines), value[at], expected[at]


def _step(name: str, *arguments: object) -> str:
    """A step as code, or as the comment that a step of the checker's own is named by."""
    shown = ", ".join(show(each, "_") for each in arguments)
    if name == "__len__":
        return "len(it)"
    return f"it.{name}({shown})" if name.isidentifier() else f"{name} {shown}".rstrip()


def accepted(answer: Answer, case: Case, value: object, expected: object) -> bool:
    """Whether `value` is a right answer to `case`, of which `expected` is one."""
    return answer.accept(case, value) if answer.accept else same(value, expected, answer.tolerance)


def trace(answer: Answer, candidate: object, cases: list[Case]) -> list[object]:
    """The plain values that `candidate`, an answer of our own, gives on the cases."""
    return [outcome.value for outcome in collect(answer.exercise, candidate, cases, watch=False)]


def diagnose(answer: Answer, cases: list[Case], values: list[object]) -> Misconception | None:
    """The known mistake whose values on *all* cases are these. A mistake that nobody named gets no diagnosis."""
    for known in answer.misconceptions:
        if same(values, trace(answer, known.wrong, cases), answer.tolerance):
            return known
    return None
