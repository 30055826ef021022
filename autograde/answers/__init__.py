"""What is right and which mistakes are known: a folder for each lesson, in it a module for each exercise.

Nothing in here may reach the process that runs a learner's code.
"""

import re
from importlib import import_module

from autograde.course import lesson_of
from autograde.exercise import Answer


def module_of(name: str) -> str:
    """The module that holds the answer of an exercise: `BlockPool` is in `…paging.block_pool`."""
    return f"{__name__}.{lesson_of(name).key}.{re.sub('(?<=[a-z])(?=[A-Z])', '_', name).lower()}"


def answer_of(name: str) -> Answer:
    """The answer of the exercise called `name`. KeyError names every exercise."""
    return import_module(module_of(name)).ANSWER
