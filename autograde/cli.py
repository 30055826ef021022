"""The `autograde` command. Exit codes: 0 fine, 1 what was checked is not right, 2 bad use or file."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from autograde import course, progress, workspace
from autograde.commands import lesson_named, plain_errors
from autograde.grading.cli import app as grading

app = typer.Typer(
    help="The KV cache course: work on lessons, check them, grade submissions, and (for contributors) release lessons.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(grading)
console = Console(highlight=False)

LESSON = "A lesson, by folder name (02_byte_formula) or number (02)"
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # an old Windows console cannot show ✓; it is no reason to stop
    app(prog_name="autograde")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def lab(
    context: typer.Context,
    instructor: Annotated[
        bool, typer.Option("--instructor", help="Open the whole project, with all of nbgrader.")
    ] = False,
) -> None:
    """Open JupyterLab on your own copies of the lessons. Other options go to it: --port 8899."""
    from autograde import lab as jupyterlab

    with plain_errors():
        for line in jupyterlab.prepare():
            print(line)
    raise typer.Exit(jupyterlab.start(context.args, instructor))


@app.command("progress")
def show_progress(as_json: AsJson = False) -> None:
    """Show what you have solved, per lesson and exercise."""
    state = progress.state()
    if as_json:
        blank = {"solved": False, "attempts": 0, "hints": 0}
        print_json({name: state.get(name, blank) for name in _exercises()})
        return
    for lesson in course.LESSONS:
        console.print(f"[bold]{lesson.slug}[/bold] · {workspace.progress_of(lesson, state)}")
        table = Table("exercise", "", "points", "attempts", "hints", box=None, padding=(0, 2, 0, 0))
        for name, points in lesson.exercises.items():
            entry = state.get(name, {})
            mark = "[green]✓[/green]" if entry.get("solved") else "·"
            table.add_row(name, mark, str(points), str(entry.get("attempts", 0)), str(entry.get("hints", 0)))
        console.print(table)


@app.command()
def reset(
    name: Annotated[str, typer.Argument(metavar="LESSON|EXERCISE", help=f"{LESSON}, or one exercise (kv_bytes).")],
) -> None:
    """Restore a whole lesson, or the answer to one exercise, after a backup of your copy."""
    exercise = name if name in _exercises() else None
    also = f"; the exercises are {', '.join(_exercises())}"
    lesson = course.lesson_of(name) if exercise else lesson_named(name, also)
    with plain_errors():
        backup = workspace.reset(lesson, exercise)
    what = f"the answer to {exercise}" if exercise else lesson.slug
    print(f"Restored {what} in {_short(lesson.notebook('work'))}.")
    if backup:
        print(f"Your copy as it was: {_short(backup)}")
        print("If the lesson is open in JupyterLab: File → Reload Notebook from Disk, then Kernel → Restart Kernel.")
        print("Your progress stays as it is.")


@app.command()
def check(
    lesson: Annotated[str, typer.Argument(metavar="LESSON", help=f"{LESSON}, or the path of a notebook.")],
    as_json: AsJson = False,
) -> None:
    """Run your copy of a lesson from top to bottom and show the verdict on every exercise."""
    path = Path(lesson) if lesson.endswith(".ipynb") else lesson_named(lesson).notebook("work")
    if not path.is_file():
        raise typer.BadParameter(f"no notebook {_short(path)}; `autograde lab` copies lessons to work/")
    from autograde.check import check_notebook
    from autograde.feedback import render

    with plain_errors():
        verdicts = check_notebook(path)
    if as_json:
        print_json([verdict.as_dict() for verdict in verdicts])
    else:
        for verdict in verdicts:
            print(render(verdict, color=console.is_terminal))
    raise typer.Exit(0 if verdicts and all(verdict.right for verdict in verdicts) else 1)


@app.command()
def release(
    lessons: Annotated[list[str] | None, typer.Argument(metavar="[LESSON]...", help=f"{LESSON}; all if none.")] = None,
) -> None:
    """Execute solutions/ and write lessons/ from it (for contributors)."""
    from autograde.release import release as write_lessons

    chosen = tuple(lesson_named(name) for name in lessons or ()) or course.LESSONS
    changed = write_lessons(lessons=chosen)
    for path in changed:
        print(f"changed {_short(Path(path))}")
    if not changed:
        print("nothing changed")


@app.command()
def verify(as_json: AsJson = False) -> None:
    """Verify that the protected programs are whole, wherever they appear (for contributors)."""
    from autograde.protected import verify as find_problems

    problems = find_problems()
    if as_json:
        print_json(problems)
    else:
        print("\n".join(problems) or "the protected programs are whole")
    raise typer.Exit(1 if problems else 0)


@app.command()
def mutants(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LESSON|EXERCISE]...", help="What to try; the whole course if nothing is named."),
    ] = None,
    as_json: AsJson = False,
    machine: Annotated[
        bool, typer.Option("--machine", help="Change right answers by machine instead, and list what is accepted.")
    ] = False,
) -> None:
    """Try every known mistake on its check: rejected, named, told from all others (for contributors)."""
    from autograde.mutants import table as try_all

    exercises = [exercise for name in names or () for exercise in _named(name)]
    if machine:
        raise typer.Exit(_show_machine_mutants(exercises))
    columns = ("rejected", "diagnosed", "distinct")
    rows = try_all(exercises)
    good = [row for row in rows if all(getattr(row, column) for column in columns)]
    if as_json:
        fields = ("exercise", "misconception", *columns)
        print_json([{field: getattr(row, field) for field in fields} for row in rows])
    else:
        table = Table("exercise", "misconception", *columns, box=None, padding=(0, 2, 0, 0))
        for row in rows:
            marks = ("[green]yes[/green]" if getattr(row, column) else "[red]NO[/red]" for column in columns)
            table.add_row(row.exercise, row.misconception, *marks)
        console.print(table)
        print(f"{len(good)} of {len(rows)} known mistakes are rejected, named and told from all others")
    raise typer.Exit(0 if rows and len(good) == len(rows) else 1)


def _show_machine_mutants(exercises: list[str]) -> int:
    """1 if a changed right answer is accepted and not listed as equivalent, else 0."""
    from autograde.machine import table as change_all

    tried = alive = 0
    for outcome in change_all(exercises):
        tried += outcome.tried
        alive += len(outcome.survivors)
        for each in outcome.survivors:
            print(f"{outcome.exercise} · {each.origin} · {each.line}\n    {each.was}  became  {each.now}")
        for each in outcome.stale:
            print(f"{outcome.exercise} · {each.origin} · listed as equivalent, and refused or gone: {each.was}")
    print(f"{alive} of {tried} changed right answers are accepted")
    return 1 if alive else 0


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def _exercises() -> list[str]:
    return [name for lesson in course.LESSONS for name in lesson.exercises]


def _named(name: str) -> list[str]:
    """The exercise of that name, or the exercises of that lesson. BadParameter lists both."""
    if name in _exercises():
        return [name]
    return list(lesson_named(name, f"; the exercises are {', '.join(_exercises())}").exercises)


def _short(path: Path) -> Path:
    """`path` as seen from the project, where it lies in it."""
    return path.relative_to(course.ROOT) if path.is_relative_to(course.ROOT) else path
