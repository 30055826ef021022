"""What a caller hands over stays as it was: an answer that changes it is wrong, and is told what it changed."""

import copy
from random import Random

import pytest

from autograde.answers import answer_of
from autograde.course import LESSONS
from autograde.exercise import Case, call_with
from autograde.feedback import render
from autograde.judge import Trial
from autograde.run import collect
from autograde.values import Changed

LISTS_TO_FILL = {"decode_step"}  # whose text asks for it: rows are appended to the caller's caches
FUNCTIONS = [name for lesson in LESSONS for name in lesson.exercises if name[0].islower() and name not in LISTS_TO_FILL]


def spoil(value: object) -> bool:
    """Change a list, dict, array or tensor in place, somewhere inside; False where there is nothing to change."""
    if isinstance(value, list) and value:
        return spoil(value[-1]) or value.pop() is not value
    if isinstance(value, dict) and value:
        key = next(reversed(value))
        return spoil(value[key]) or value.pop(key) is not value
    if type(value).__name__ in ("ndarray", "Tensor") and 0 not in value.shape:
        value[...] = ~value if value.dtype == bool else 3 - value
        return True
    return False


def spoiling(right, place):
    """The right answer, which afterwards changes the argument at `place`, where it can be changed."""

    def answer(*arguments):
        value = right(*copy.deepcopy(arguments))
        answer.spoilt += place < len(arguments) and spoil(arguments[place])
        return value

    answer.spoilt = 0
    return answer


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_answer_that_changes_an_argument_is_refused_and_told_which(name):
    answer = answer_of(name)
    right = answer.alternatives[0]
    for place in range(len(answer.exercise.cases(Random(1))[0].inputs)):
        candidate = spoiling(right, place)
        trial = Trial(answer, 1, seed=1)
        verdict = trial.judge(collect(answer.exercise, candidate, trial.cases))
        if candidate.spoilt:
            assert verdict.status == "wrong", (name, place)
            assert "Your function changed the caller's `" in render(verdict, color=False)
        else:
            assert verdict.status == "right", (name, place, verdict.note)


def test_what_was_changed_is_named_and_the_value_is_kept():
    case = Case("", {"queue": [3, 4], "size": 5})
    assert call_with(lambda queue, size: queue.pop() + size, copy.deepcopy(case.inputs)).names == ("queue",)
    changed = call_with(lambda queue, size: queue.sort(reverse=True) or size, copy.deepcopy(case.inputs))
    assert isinstance(changed, Changed) and changed.value == 5
    assert call_with(lambda queue, size: sum(queue), copy.deepcopy(case.inputs)) == 7


def test_what_is_no_plain_value_is_not_looked_at():
    assert call_with(lambda clock: clock() or 1, {"clock": iter([0, 0]).__next__}) == 1
