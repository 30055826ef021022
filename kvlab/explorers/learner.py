"""How an explorer asks the learner's own code, and the caption that says whose numbers are shown."""

import contextlib
import io
import warnings
from collections.abc import Callable

UNWRITTEN = "computed by the library until yours is written"


def ask(name: str, function: Callable | None, *arguments: object) -> tuple[object, str]:
    """What the learner's `function` returns, and "": or None, and the caption that says why it is not shown.

    Prints and warnings are dropped: what helps to debug an answer has no place in the widget.
    """
    if function is None:
        return None, UNWRITTEN
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            warnings.catch_warnings(action="ignore"),
        ):
            return function(*arguments), ""
    except NotImplementedError:
        return None, UNWRITTEN
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
        return None, library_instead(f"your {name} raises {what[:200]}")


def computed_by(name: str, function: Callable | None, calls: dict, fault: Callable[[object, object], str]) -> str:
    """The caption: "computed by your …" where the learner's `function` is right on every one of `calls`.

    `calls` holds tuples of arguments by whatever names them. `fault(value, key)` is "" for a right value, else what
    is wrong with it, as the words that follow "your " and the function's name. Ask for more than the setting that is
    shown: right on one setting is not yet right.
    """
    for key, arguments in calls.items():
        value, problem = ask(name, function, *arguments)
        if problem:
            return problem
        if wrong := fault(value, key):
            return library_instead(f"your {name}{wrong}")
    return f"computed by your {name}"


def library_instead(problem: str) -> str:
    """The caption when the learner's answer is not the one shown."""
    return f"{problem}: showing the library's"
