"""The course table: consistent in itself, and with the released notebooks."""

import json
import subprocess
import sys

import pytest

from autograde import course


def test_no_exercise_and_no_lesson_stands_twice():
    slugs = [lesson.slug for lesson in course.LESSONS]
    exercises = [name for lesson in course.LESSONS for name in lesson.exercises]
    assert len(set(slugs)) == len(slugs) and len(set(exercises)) == len(exercises)
    assert not set(slugs) & set(exercises)  # `autograde reset NAME` must know which is meant


def test_lessons_stand_in_order_and_need_only_earlier_ones():
    seen = []
    for lesson in course.LESSONS:
        assert set(lesson.needs) <= set(seen), lesson.slug
        seen.append(lesson.slug)
    assert seen == sorted(seen)


@pytest.mark.parametrize("lesson", course.LESSONS, ids=lambda lesson: lesson.slug)
def test_a_lesson_is_worth_10_to_20_points_as_its_released_checks_are(lesson):
    assert 10 <= lesson.points <= 20
    cells = json.loads(lesson.notebook("lessons").read_text(encoding="utf-8"))["cells"]
    graded = [cell["metadata"].get("nbgrader", {}) for cell in cells]
    assert [cell["points"] for cell in graded if cell.get("grade")] == list(lesson.exercises.values())


def test_a_lesson_is_found_by_folder_name_by_number_and_by_key():
    assert course.lesson("02") is course.lesson("02_byte_formula") is course.lesson("byte_formula")
    assert (course.lesson("02").number, course.lesson("02").key) == ("02", "byte_formula")
    assert course.lesson_of("kv_bytes") is course.lesson("02")


@pytest.mark.parametrize("name", ["", "2", "formula", "kv_byte", None, 2])
def test_an_unknown_name_is_answered_with_the_known_ones(name):
    with pytest.raises(KeyError, match="02_byte_formula"):
        course.lesson(name)
    with pytest.raises(KeyError, match="kv_bytes"):
        course.lesson_of(name)


@pytest.mark.parametrize("lesson", course.LESSONS, ids=[lesson.slug for lesson in course.LESSONS])
def test_the_readme_lists_the_lesson_as_the_table_does(lesson):
    readme = (course.ROOT / "README.md").read_text(encoding="utf-8")
    needs = ", ".join(course.lesson(slug).number for slug in lesson.needs) or "–"
    row = (f"{lesson.number} · {lesson.title}", lesson.promise, lesson.minutes, needs, lesson.points)
    assert f"| {' | '.join(map(str, row))} |" in readme


@pytest.mark.parametrize("package", ["autograde.check", "kvlab"])
def test_importing_a_package_loads_nothing_heavy(package):
    code = f"import {package}, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"torch", "matplotlib", "IPython", "ipywidgets", "nbformat", "nbgrader", "typer", "rich"}
    assert not heavy & set(loaded)
