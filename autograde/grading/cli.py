"""`autograde grade`, `feedback` and `export`: what an instructor runs."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from autograde import course
from autograde.commands import lesson_named, plain_errors

app = typer.Typer()
console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


class Policy(StrEnum):
    ZERO = "zero"
    FLAG = "flag"


class Form(StrEnum):
    CSV = "csv"
    CANVAS = "canvas"
    MOODLE = "moodle"


Lesson = Annotated[str, typer.Argument(metavar="LESSON", help="A lesson, by folder name (02_byte_formula) or number.")]
Course = Annotated[
    Path, typer.Option("--course", help="The folder with nbgrader's files; autograded/ and feedback/ are made in it.")
]
Students = Annotated[str, typer.Option("--students", metavar="A,B,…", help="Only these; all if none is named.")]


def _names(students: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in students.split(","))))


@app.command()
def grade(
    lesson: Lesson,
    students: Students = "",
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Submissions at a time; as many as there are cores if not given."),
    ] = None,
    submitted: Annotated[
        Path | None, typer.Option("--submitted", help="STUDENT/LESSON/LESSON.ipynb lie here; submitted/ if not given.")
    ] = None,
    folder: Course = course.ROOT,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Repeat a run: its seed is in every result.")
    ] = None,
    received: Annotated[
        Path | None, typer.Option("--received", help="CSV student,received: when each came in, for late rules.")
    ] = None,
    library_answers: Annotated[
        Policy, typer.Option("--library-answers", help="What an answer earns that calls the library's own function.")
    ] = Policy.ZERO,
    no_isolation: Annotated[
        bool, typer.Option("--no-isolation", help="Run students' code with YOUR rights, outside a sandbox.")
    ] = False,
    cell_seconds: Annotated[float, typer.Option("--cell-seconds", help="Limit of one cell or exercise.")] = 30.0,
    notebook_seconds: Annotated[float, typer.Option("--notebook-seconds", help="Limit of one notebook.")] = 180.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Grade what was handed in: rebuilt, run in a sandbox, judged outside, recorded in nbgrader's gradebook.

    Exit code 0 when every submission was judged, 1 when one could not be (it is listed), 2 when nothing was begun.
    """
    from autograde.grading import batch
    from autograde.grading.received import read as read_received
    from autograde.grading.records import record, settings
    from autograde.grading.records.keep import Keeper
    from autograde.grading.result import FAILED, UNREADABLE
    from autograde.grading.sandbox.limits import Limits

    chosen = lesson_named(lesson)
    with plain_errors():
        options = batch.Options(
            chosen,
            folder,
            submitted or folder / "submitted",
            _names(students),
            jobs or os.cpu_count() or 1,
            seed,
            not no_isolation,
            str(library_answers),
            Limits(cell_seconds=cell_seconds, notebook_seconds=notebook_seconds),
        )
        names = batch.students(options)
        times = read_received(received) if received else {}
        if no_isolation:
            errors.print("[bold red]NO ISOLATION: students' code runs with your rights and reaches all your files.[/]")
        with (
            batch.Journal(options).begin() as journal,
            record.Recorder(settings.read(folder), chosen, chosen.notebook("lessons")) as book,
        ):
            keeper = Keeper(folder, book, times, journal.resumed)
            options = replace(options, seed=journal.seed)
            if journal.resumed:
                errors.print(f"Going on with the run that was interrupted (seed {journal.seed}).")
            results = []
            with _bar(len(names)) as advance:
                for result in batch.grade(options, keeper.record, keeper.is_done):
                    results.append(keeper.whole(result))
                    advance()
            journal.end()
    results.sort(key=lambda each: each.student)
    if as_json:
        print(json.dumps([each.as_dict() for each in results], indent=1))
    else:
        _show(results)
    unjudged = any(each.status in (FAILED, UNREADABLE) for each in results)
    raise typer.Exit(1 if unjudged else 0)


@contextmanager
def _bar(total: int) -> Iterator:
    columns = (
        TextColumn("grading"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task("", total=total, rate="")

        def advance() -> None:
            progress.advance(task)
            speed = progress.tasks[0].finished_speed or progress.tasks[0].speed
            progress.update(task, rate=f"{speed:.1f}/s" if speed else "")

        yield advance


def _show(results: list) -> None:
    table = Table("student", "points", "status", "flags", box=None, padding=(0, 2, 0, 0))
    for each in results:
        kinds = Counter(flag.kind for flag in each.flags)
        flags = ", ".join(kind if count == 1 else f"{kind} ×{count}" for kind, count in sorted(kinds.items()))
        status = each.status if each.status == "graded" else f"[red]{each.status}[/red]"
        table.add_row(each.student, f"{each.points}/{each.max_points}", status, flags)
    console.print(table)
    seconds = sum(each.seconds for each in results)
    cpu = sum(each.cpu_seconds for each in results)
    ran = f"their code ran {seconds:.1f} s, {cpu:.1f} s of it on a CPU"
    console.print(f"{len(results)} submissions, seed {results[0].seed}; {ran}")


@app.command()
def feedback(lesson: Lesson, students: Students = "", folder: Course = course.ROOT) -> None:
    """Write one HTML page per graded submission, to feedback/STUDENT/LESSON/."""
    from autograde.grading import batch, report
    from autograde.grading.records import store

    chosen = lesson_named(lesson)
    with plain_errors():
        if batch.unfinished(folder, chosen.slug):
            raise ValueError(
                f"a run of {chosen.slug} has not ended; its inputs must not be shown before `grade` ends it"
            )
        graded = sorted(path.parent.parent.name for path in folder.glob(f"autograded/*/{chosen.slug}/result.json"))
        wanted = _names(students) or graded
        if missing := [name for name in wanted if name not in graded]:
            raise ValueError(f"no result of {', '.join(missing)} in {chosen.slug}; `autograde grade` makes it")
        if not wanted:
            raise ValueError(f"nothing of {chosen.slug} is graded in {folder}")
        for name in wanted:
            report.write(folder, store.load(folder, name, chosen.slug))
    print(f"wrote {len(wanted)} pages to {folder / 'feedback'}")


@app.command()
def export(
    form: Annotated[Form, typer.Option("--format", help="csv as nbgrader's, or what Canvas or Moodle import.")],
    to: Annotated[Path, typer.Option("--to", help="The file to write.")] = Path("grades.csv"),
    lessons: Annotated[
        list[str] | None, typer.Argument(metavar="[LESSON]...", help="All that are graded, if none is named.")
    ] = None,
    folder: Course = course.ROOT,
) -> None:
    """Write the gradebook's scores for a person, Canvas or Moodle."""
    from autograde.grading.records import export as exporting
    from autograde.grading.records import settings

    slugs = tuple(lesson_named(name).slug for name in lessons or ())
    with plain_errors():
        count = exporting.export(settings.read(folder), str(form), to, slugs)
    print(f"wrote {count} students to {to}")
