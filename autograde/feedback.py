"""A verdict as text: for a notebook's error output, a terminal and a log. Colours are ANSI, so themes adapt them."""

import textwrap

from autograde.exercise import Verdict

WIDTH = 88
# Red and green mark the sign alone: JupyterLab shows a failure on pink, where coloured sentences are hard to read.
BOLD, RED, GREEN, OFF = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[0m"


def render(verdict: Verdict, color: bool = True) -> str:
    """The whole feedback of one check, without a trailing newline."""
    text = "\n".join(_STATUS[verdict.status](verdict))
    if not color:
        for code in (BOLD, RED, GREEN, OFF):
            text = text.replace(code, "")
    return text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _right(verdict: Verdict) -> list[str]:
    facts = f"{_count(verdict.cases, 'case')} · {_count(verdict.points, 'point')}"
    return [f"{GREEN}✓{OFF} {BOLD}{verdict.exercise}{OFF} · {facts}"]


def _not_done(verdict: Verdict) -> list[str]:
    return [
        f"○ {BOLD}{verdict.exercise}{OFF} · not done yet",
        *([verdict.note] if verdict.note else []),
        *(_upstream(verdict) or ["Write it in the cell above, run that cell, then run this one again."]),
        f"Stuck? {_next_hint(verdict)}",
    ]


def _borrowed(verdict: Verdict) -> list[str]:
    return [
        f"○ {BOLD}{verdict.exercise}{OFF} · not your own",
        *_wrapped(f"It calls the library's own {verdict.note}. The points are for writing it yourself."),
    ]


def _wrong(verdict: Verdict) -> list[str]:
    lines = [
        f"{RED}✗{OFF} {BOLD}{verdict.exercise}{OFF} · case {verdict.case_number} of {verdict.cases}: "
        f"{verdict.case_label}",
    ]
    width = max((len(name) for name, _ in verdict.inputs), default=0)
    below = "\n" + " " * (4 + width + 3)  # of a value that takes several lines
    for name, value in verdict.inputs:
        lines.append(f"    {name:<{width}} = {value}".replace("\n", below) if name else f"    {value}")
    lines += [
        f"  {BOLD}yours   {OFF}  {_indented(verdict.yours)}",
        f"  {BOLD}expected{OFF}  {_indented(verdict.expected)}",
    ]
    if verdict.note:
        lines += [f"  {line}" for line in verdict.note.splitlines()]
    if verdict.diagnosis:
        lines += ["", *(f"{BOLD}{line}{OFF}" for line in _wrapped(verdict.diagnosis))]
    if verdict.upstream:
        lines += ["", *_upstream(verdict)]
    if verdict.source:
        lines += _wrapped(f"It happens to others too. {verdict.source}")
    return [*lines, "", f"For a hint: {_next_hint(verdict)}"]


def _upstream(verdict: Verdict) -> list[str]:
    name = verdict.upstream
    return [f"It calls {name}, which is not right yet: look at that one first."] if name else []


def _indented(value: str) -> str:
    return value.replace("\n", "\n" + " " * 12)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _next_hint(verdict: Verdict) -> str:
    return f'{BOLD}hint("{verdict.exercise}"){OFF}'


_STATUS = {"right": _right, "not done": _not_done, "borrowed": _borrowed, "wrong": _wrong}
