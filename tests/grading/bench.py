"""Speed of grading, beside stock nbgrader in the same run, and one run of 400 submissions of every kind."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import psutil

from autograde.course import LESSONS, ROOT, Lesson
from tests.fixtures.attack_notebooks import ATTACKS
from tests.fixtures.attack_notebooks import LESSON as ATTACKED
from tests.grading.stock import OWN_STYLE
from tests.notebooks import filled, solutions

BATCH = 40
WANTED = {"02_byte_formula": 8, "05_grouped_query_cache": 15}  # times stock nbgrader's throughput


def grading() -> Iterator[str]:
    """Forty submissions of a NumPy and of a torch lesson by both graders, everything counted."""
    for lesson in LESSONS:
        if lesson.slug in WANTED:
            yield from _compare(lesson)


def _compare(lesson: Lesson) -> Iterator[str]:
    with _course(lesson) as course:
        for number in range(BATCH):
            answers = solutions(lesson)
            for name in list(answers)[: number % 3]:
                del answers[name]  # left as the stub
            _hand_in(course, f"s{number:02}", lesson, filled(lesson, answers))
        stock = _seconds(course, "nbgrader", "autograde", lesson.slug)
        shutil.rmtree(course / "autograded")
        (course / "gradebook.db").unlink()
        runs = []
        for _ in range(3):
            start = time.perf_counter()
            results = _grade(course, lesson)
            runs.append(time.perf_counter() - start)
        ours = sorted(runs)[1]
        cpu = sum(each["cpu_seconds"] for each in results)
        cores = os.cpu_count()
        yield (
            f"{lesson.slug}, {BATCH} submissions: nbgrader {stock:.1f} s ({stock / BATCH:.2f} s each), "
            f"autograde grade {ours:.1f} s ({ours / BATCH:.3f} s each, median of 3 runs)"
        )
        yield f"{lesson.slug}: {stock / ours:.1f} times the throughput (wanted ≥ {WANTED[lesson.slug]})"
        share = cpu / (ours * cores)
        yield f"{lesson.slug}: the students' code took {share:.0%} of what {cores} cores could do meanwhile"


def memory() -> Iterator[str]:
    """Peak memory of the grader's own process at 40 and at 400 submissions."""
    for count in (BATCH, 10 * BATCH):
        with _course(ATTACKED) as course:
            for number in range(count):
                _hand_in(course, f"s{number:03}", ATTACKED, filled(ATTACKED, solutions(ATTACKED)))
            command = [sys.executable, "-m", "autograde", "grade", ATTACKED.slug, "--course", str(course)]
            running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            peak = 0
            while running.poll() is None:
                try:
                    peak = max(peak, psutil.Process(running.pid).memory_info().rss)
                except psutil.NoSuchProcess:
                    break
                time.sleep(0.05)
            if running.wait():
                raise RuntimeError("the batch did not end well")
            yield f"{count} submissions: peak memory of the grader {peak / 2**20:.0f} MiB"


def mixed() -> Iterator[str]:
    """400 submissions, honest, broken and hostile in a random order, each with the score it must get."""
    draw = random.Random(400)
    expected: dict[str, int] = {}
    with _course(ATTACKED) as course:
        kinds = list(_kinds())
        for number in range(400):
            kind, points, make = kinds[number] if number < len(kinds) else draw.choice(kinds)
            student = f"{draw.randrange(10**6):06}-{number:03}-{kind}"
            folder = course / "submitted" / student / ATTACKED.slug
            make(folder)
            expected[student] = points
        start = time.perf_counter()
        results = _grade(course, ATTACKED, "--cell-seconds", "3", "--notebook-seconds", "12")
        seconds = time.perf_counter() - start
        wrong = [each["student"] for each in results if each["points"] != expected.pop(each["student"])]
        if wrong or expected:
            raise RuntimeError(f"not as expected: {wrong}, never graded: {list(expected)}")
        yield f"400 mixed submissions of {len(kinds)} kinds: every score as expected, in {seconds:.0f} s"


def _kinds() -> Iterator[tuple[str, int, Callable[[Path], None]]]:
    right = solutions(ATTACKED)
    whole = ATTACKED.points

    def honest(answers: dict[str, str]) -> Callable[[Path], None]:
        def make(folder: Path) -> None:
            folder.mkdir(parents=True)
            nbformat.write(filled(ATTACKED, answers), folder / f"{ATTACKED.slug}.ipynb")

        return make

    def broken(content: bytes) -> Callable[[Path], None]:
        def make(folder: Path) -> None:
            folder.mkdir(parents=True)
            (folder / f"{ATTACKED.slug}.ipynb").write_bytes(content)

        return make

    yield "right", whole, honest(right)
    yield "own-style", whole, honest(OWN_STYLE)
    yield "blank", 0, honest({})
    for name, points in ATTACKED.exercises.items():
        if name in ("as_units", "capacity_table", "max_tokens"):  # on which no other answer builds
            yield f"without-{name}", whole - points, honest({key: text for key, text in right.items() if key != name})
            yield f"typo-{name}", whole - points, honest(right | {name: f"def {name}(:"})
    text = json.dumps(filled(ATTACKED, right))
    yield "empty", 0, broken(b"")
    yield "cut", 0, broken(text[: len(text) // 2].encode())
    yield "binary", 0, broken(bytes(range(256)))
    yield "windows", whole, broken(text.replace("\\n", "\\r\\n").encode())
    for attack in ATTACKS:
        yield attack.name, 0, attack.hand_in


@contextmanager
def _course(lesson: Lesson) -> Iterator[Path]:
    """An instructor's folder with one lesson released."""
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        shutil.copy(ROOT / "nbgrader_config.py", course)
        shutil.copytree(ROOT / "solutions" / lesson.slug, course / "solutions" / lesson.slug)
        _seconds(course, "nbgrader", "generate_assignment", lesson.slug)
        yield course


def _hand_in(course: Path, student: str, lesson: Lesson, notebook: nbformat.NotebookNode) -> None:
    folder = course / "submitted" / student / lesson.slug
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / f"{lesson.slug}.ipynb")


def _seconds(course: Path, *arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", *arguments], cwd=course, check=True, capture_output=True)
    return time.perf_counter() - start


def _grade(course: Path, lesson: Lesson, *more: str) -> list[dict]:
    command = [sys.executable, "-m", "autograde", "grade", lesson.slug, "--course", str(course), "--json", *more]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 2:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)
