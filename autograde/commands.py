"""What all commands share: how one refuses, and how an argument names a lesson."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from autograde import course


class PlainError(Exception):
    """A failure whose message is written for people."""


@contextmanager
def plain_errors() -> Iterator[None]:
    """A bad or missing file, and every PlainError, ends the command with its sentence and exit code 2."""
    try:
        yield
    except (PlainError, ValueError, OSError) as error:
        print(f"autograde: {error}", file=sys.stderr)
        raise typer.Exit(2) from None


def lesson_named(name: str, also: str = "") -> course.Lesson:
    """The lesson that an argument names. BadParameter lists the lessons, then says `also`."""
    try:
        return course.lesson(name)
    except KeyError as error:
        raise typer.BadParameter(error.args[0] + also) from None
