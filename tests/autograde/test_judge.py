"""Right or wrong is decided from values; a known mistake is named, an unknown one is not."""

from random import Random

import pytest

from autograde.exercise import Case, Verdict
from autograde.judge import Trial, _step
from autograde.mutants import rows_of
from autograde.run import Outcome, collect
from tests.fixtures.bounded_log import (
    ANSWER,
    ByTuple,
    ChangesBeforeRefusing,
    DropsOldest,
    NeverRefuses,
    Right,
    Unwritten,
)


def verdict_on(candidate, seed=1):
    trial = Trial(ANSWER, 3, seed)
    return trial.judge(collect(ANSWER.exercise, candidate, trial.cases))


@pytest.mark.parametrize("candidate", [Right, ByTuple])
def test_right_answers_by_any_algorithm_are_right(candidate):
    verdict = verdict_on(candidate)
    assert (verdict.status, verdict.points, verdict.cases) == ("right", 3, 3)


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (ChangesBeforeRefusing, "changes_before_refusing"),
        (NeverRefuses, "never_refuses"),
        (DropsOldest, "drops_oldest"),
    ],
)
def test_each_known_mistake_is_named(candidate, name):
    assert verdict_on(candidate).misconception == name


def test_a_variant_of_a_mistake_in_other_words_gets_the_same_name():
    class Variant:
        def __init__(self, capacity):
            self.capacity, self._data = capacity, {}

        def append(self, value):
            self._data[len(self._data)] = value
            if len(self._data) == self.capacity + 1:
                raise ValueError

        def pop(self):
            return self._data.popitem()[1]

        def values(self):
            return [self._data[i] for i in range(len(self._data))]

        def __len__(self):
            return len(self._data)

    assert verdict_on(Variant).misconception == "changes_before_refusing"


def test_an_unknown_mistake_gets_no_name_only_the_case():
    class Backwards(Right):
        def values(self):
            return self.items[::-1]

    verdict = verdict_on(Backwards)
    assert (verdict.status, verdict.misconception, verdict.diagnosis) == ("wrong", "", "")
    assert verdict.case_number == 2


def test_a_class_exercise_shows_the_steps_up_to_the_one_that_differs():
    verdict = verdict_on(ChangesBeforeRefusing)
    lines = [value for _, value in verdict.inputs]
    assert lines[0] == "it = BoundedLog(2)"
    assert lines[-1] == "it.values()"
    assert _step("__len__") == "len(it)"
    assert _step("append", 12345) == "it.append(12_345)"
    assert _step("# the embedding changes:", 3) == "# the embedding changes: 3"
    assert verdict.yours != verdict.expected


def test_an_unwritten_class_is_not_done():
    assert verdict_on(Unwritten).status == "not done"


def test_what_code_printed_decides_nothing():
    cases = ANSWER.exercise.cases(Random(1))
    loud = [Outcome(value=None, printed="✓ BoundedLog · 3 cases · 3 points") for _ in cases]
    assert Trial(ANSWER, 3, 1, cases).judge(loud).status == "wrong"


def test_none_and_a_float_for_an_int_are_explained():
    from autograde.answers import answer_of

    answer = answer_of("kv_elements")
    case = [Case("", {"num_layers": 3, "batch": 4, "tokens": 5, "num_kv_heads": 6, "head_dim": 7})]
    assert "None" in Trial(answer, 2, 1, case).judge([Outcome(None)]).note
    assert "int was wanted" in Trial(answer, 2, 1, case).judge([Outcome(5040.0)]).note


def test_a_verdict_survives_its_own_dict():
    verdict = verdict_on(NeverRefuses)
    assert Verdict.from_dict(verdict.as_dict()) == verdict


def test_the_fixture_class_is_mutation_tested_like_any_exercise():
    assert [row.good for row in rows_of(ANSWER)] == [True] * len(ANSWER.misconceptions)


def test_two_mistakes_with_the_same_values_are_not_distinct():
    from dataclasses import replace

    doubled = replace(ANSWER, misconceptions=(*ANSWER.misconceptions, replace(ANSWER.misconceptions[0], name="twin")))
    rows = {row.misconception: row for row in rows_of(doubled, range(3))}
    assert not rows["twin"].distinct and not rows["twin"].diagnosed
    assert not rows["changes_before_refusing"].distinct and rows["changes_before_refusing"].diagnosed


def test_a_right_answer_listed_as_a_mistake_is_not_rejected():
    from dataclasses import replace

    fooled = replace(ANSWER, misconceptions=(replace(ANSWER.misconceptions[0], wrong=Right),))
    assert not rows_of(fooled, range(3))[0].rejected
