"""Every exercise of the course: right answers pass, cases are plain, and the run of all known mistakes finds a fault.

That run, `autograde mutants`, is a step of `make test` of its own.
"""

from dataclasses import replace
from multiprocessing import get_start_method
from random import Random

import pytest

from autograde import mutants
from autograde.answers import answer_of
from autograde.course import LESSONS
from autograde.exercises import exercises_of
from autograde.judge import accepted, trace
from autograde.values import plain, same
from tests.fixtures.bounded_log import ANSWER

SEEDS = range(1000, 1020)

NAMES = [(lesson, name) for lesson in LESSONS for name in lesson.exercises]
each_exercise = pytest.mark.parametrize(("lesson", "name"), NAMES, ids=[name for _, name in NAMES])


def test_the_course_table_and_the_modules_name_the_same_exercises():
    for lesson in LESSONS:
        exercises = exercises_of(lesson)
        assert [each.name for each in exercises] == list(lesson.exercises)
        assert [answer_of(name).exercise for name in lesson.exercises] == list(exercises)


def test_exercise_names_are_unique_in_the_course():
    names = [name for _, name in NAMES]
    assert len(names) == len(set(names))


@pytest.mark.skipif(get_start_method() != "fork", reason="the run's processes do not inherit what is patched here")
def test_a_mistake_that_one_seed_lets_through_is_in_the_table_of_all_seeds(monkeypatch):
    def cases(rng):
        made = ANSWER.exercise.cases(rng)
        return made[:1] if repr(made) == repr(ANSWER.exercise.cases(Random(45))) else made

    lenient = replace(ANSWER, exercise=replace(ANSWER.exercise, name="Lenient", cases=cases))
    monkeypatch.setattr(mutants, "answer_of", {"BoundedLog": ANSWER, "Lenient": lenient}.get)
    good = {(row.exercise, row.good) for row in mutants.table(["Lenient", "BoundedLog"], range(50))}
    assert good == {("Lenient", False), ("BoundedLog", True)}
    assert [row.good for row in mutants.table(["Lenient"], range(40))] == [True] * len(ANSWER.misconceptions)


@each_exercise
def test_there_are_three_mistakes_two_alternatives_and_three_hints(lesson, name):
    answer = answer_of(name)
    assert len(answer.misconceptions) >= 3
    assert len(answer.alternatives) >= 2
    for texts in (answer.hints, *(known.advice.hints for known in answer.misconceptions)):
        assert len(set(texts)) == 3 and all(texts)
    for known in answer.misconceptions:
        assert known.advice.diagnosis.endswith("?"), f"{known.name}: a diagnosis is put as a question"


@each_exercise
def test_every_alternative_is_right_on_every_seed(lesson, name):
    answer = answer_of(name)
    for right in answer.alternatives:
        for seed in SEEDS:
            cases = answer.exercise.cases(Random(seed))
            for case, value in zip(cases, trace(answer, right, cases), strict=True):
                assert accepted(answer, case, value, answer.expected(case)), (right, case, value)


@each_exercise
def test_the_same_seed_gives_the_same_cases_and_another_seed_others(lesson, name):
    cases = answer_of(name).exercise.cases
    first, again, other = (repr(cases(Random(seed))) for seed in (7, 7, 8))  # as text: NaN is no equal of itself
    assert first == again
    takes_inputs = any(case.inputs for case in cases(Random(7)))  # an example on paper is the same for everybody
    assert (first != other) == takes_inputs


def listed(value):
    """`value` with a list for each tuple, which is how a plain value holds it."""
    if type(value) is dict:
        return {key: listed(each) for key, each in value.items()}
    return [listed(each) for each in value] if type(value) in (list, tuple) else value


@each_exercise
def test_inputs_are_plain_values_and_cases_have_labels(lesson, name):
    for case in answer_of(name).exercise.cases(Random(7)):
        assert case.label
        for value in case.inputs.values():
            assert same(plain(value), listed(value)), (case.label, value)


@each_exercise
def test_the_oracle_itself_gives_plain_values_that_it_accepts(lesson, name):
    answer = answer_of(name)
    for case in answer.exercise.cases(Random(7)):
        expected = answer.expected(case)
        assert same(plain(expected, ours=True), expected)
        assert accepted(answer, case, expected, expected)
