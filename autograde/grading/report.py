"""Feedback: one page per submission, complete in itself, that says what was graded, how, and what came out."""

import re
import sys
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from nbconvert.filters import strip_ansi

from autograde import course
from autograde.grading import result as outcome
from autograde.grading.places import folder
from autograde.grading.result import Result
from autograde.workspace import write_atomically

MAX_TEXT = 6000  # characters of one value or print; what a page shows more of, nobody reads

STATUS = {
    outcome.GRADED: "",
    outcome.CUT_SHORT: "Your notebook met a limit before its end. The exercises that were reached before are graded.",
    outcome.UNREADABLE: "No notebook in your submission could be read, so there are no points.",
    outcome.FAILED: "The grader could not do its work, so nothing was recorded. This says nothing about your answers.",
}
# A sign and words for each verdict, so that nothing rests on the colour.
VERDICTS = {
    "right": ("✓", "right"),
    "wrong": ("✗", "not right yet"),
    "not done": ("○", "not done"),
    "borrowed": ("◇", "not your own"),
}


def write(root: Path, result: Result) -> Path:
    """Write the page where nbgrader keeps feedback and return its path. ValueError for a bad student id."""
    path = folder(root, "feedback", result.student, result.slug) / f"{result.slug}.html"
    # Half of a surrogate pair, which no encoding can write, is shown as its number.
    write_atomically(path, render(result).encode("utf-8", "backslashreplace"))
    return path


def render(result: Result) -> str:
    """The page as HTML."""
    return _page().render(
        result=result,
        title=course.lesson(result.slug).title,
        status=STATUS[result.status],
        words=VERDICTS,
    )


def shown(text: str) -> str:
    """`text` of a student's making, fit to be shown: no colour codes, no control characters, no path of the grader."""
    text = strip_ansi(text[: 2 * MAX_TEXT])
    for place in _own_places():
        text = text.replace(place, "…")
    text = re.sub(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]", "�", text)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n… the rest is left out"


def _own_places() -> list[str]:
    """Folders whose names tell about the grader's machine, the longest first."""
    places = {str(course.ROOT), sys.prefix, sys.base_prefix, str(Path.home())} - {"/", "/usr"}
    return sorted(places, key=len, reverse=True)


def _page():
    environment = Environment(
        loader=PackageLoader("autograde.grading"),
        autoescape=True,  # everything from a student is text, never markup
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    return environment.get_template("feedback.html")
