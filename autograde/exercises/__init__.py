"""What is asked, a module for each lesson: which inputs to try, and how to drive the learner's object."""

from importlib import import_module

from autograde.course import Lesson, lesson_of
from autograde.exercise import Exercise


def exercises_of(lesson: Lesson) -> tuple[Exercise, ...]:
    """All exercises of a lesson, in teaching order."""
    return import_module(f"autograde.exercises.{lesson.key}").EXERCISES


def exercise(name: str) -> Exercise:
    """The exercise called `name`. KeyError names every exercise."""
    return next(each for each in exercises_of(lesson_of(name)) if each.name == name)
