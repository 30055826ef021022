"""Verdicts come from reported values alone, however the report was made."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograde.answers import answer_of
from autograde.course import lesson
from autograde.grading.judging import Judge
from autograde.grading.notice import notice
from autograde.grading.rebuild import Step
from autograde.grading.result import CUT_SHORT, GRADED
from autograde.grading.sandbox.wire import encode
from autograde.judge import Trial

LESSON = lesson("02_byte_formula")
SEED = 11
JUDGE = Judge(LESSON, SEED)
STEPS = [
    *(step for name in LESSON.exercises for step in (
        Step(f"def {name}(): pass", place=f"your answer {name}", answers=name),
        Step("", check=name, place=f"your answer {name}"),
    )),
    Step("x = 1", place="your own cell 1", own=True),
]  # fmt: skip
DONE = {"done": True}


def outcome(value, **more) -> dict:
    return {"value": encode(value), "note": "", "printed": "", "step_notes": [], **more}


def right(name: str, **more) -> dict:
    trial = Trial(answer_of(name), 1, SEED)
    return {"exercise": name, "outcomes": [outcome(value) for value in trial.expected], "borrowed": "", **more}


def verdicts(*messages, end="done"):
    lines = [each if type(each) is str else json.dumps(each) for each in messages]
    status, found, flags = JUDGE.judge(STEPS, end, "\n".join(lines))
    return status, {verdict.exercise: verdict for verdict in found}, flags


def test_right_values_are_right_and_only_those():
    status, found, flags = verdicts(*map(right, LESSON.exercises), DONE)
    assert status == GRADED and flags == []
    assert [name for name, verdict in found.items() if verdict.right] == list(LESSON.exercises)
    assert {name: verdict.points for name, verdict in found.items()} == LESSON.exercises


@pytest.mark.parametrize("name", LESSON.exercises)
def test_one_wrong_value_among_right_ones_is_wrong(name):
    for at in range(len(JUDGE.trials[name].cases)):
        message = right(name)
        message["outcomes"][at] = outcome("no such value")
        _, found, _ = verdicts(message, DONE)
        assert found[name].status == "wrong" and found[name].case_number == at + 1


def test_a_report_that_asserts_its_own_success_earns_nothing():
    names = LESSON.exercises
    _, found, _ = verdicts(
        *({"exercise": name, "outcomes": [], "borrowed": "", "right": True, "status": "right"} for name in names),
        *({"exercise": name, "right": True, "points": 5} for name in names),
        DONE,
    )
    assert [verdict.right for verdict in found.values()] == [False] * len(LESSON.exercises)


def test_values_for_fewer_cases_than_there_are_are_not_enough():
    message = right("kv_bytes")
    message["outcomes"].pop()
    _, found, _ = verdicts(message, DONE)
    assert (found["kv_bytes"].status, found["kv_bytes"].note) == ("wrong", "")
    message = right("kv_bytes")
    message["outcomes"].append(outcome(5))
    assert verdicts(message, DONE)[1]["kv_bytes"].status == "right"  # more than were asked for are passed over


def test_values_for_other_cases_are_wrong():
    other = Trial(answer_of("kv_bytes"), 2, SEED + 1)
    message = {"exercise": "kv_bytes", "outcomes": [outcome(value) for value in other.expected], "borrowed": ""}
    assert verdicts(message, DONE)[1]["kv_bytes"].status == "wrong"


def test_a_known_mistake_is_named_and_a_caller_is_sent_upstream():
    answer = answer_of("kv_elements")
    cases = answer.exercise.cases(Random(SEED))
    mistake = answer.misconceptions[0]
    values = [mistake.wrong(*case.inputs.values()) for case in cases]
    message = {"exercise": "kv_elements", "outcomes": [outcome(value) for value in values], "borrowed": ""}
    steps = [Step("def kv_bytes(*a): return kv_elements(*a)", answers="kv_bytes")]
    _, found, _ = JUDGE.judge(steps, "done", "\n".join(json.dumps(each) for each in (message, DONE)))
    by_name = {verdict.exercise: verdict for verdict in found}
    assert by_name["kv_elements"].misconception == mistake.name
    assert by_name["kv_bytes"].upstream == "kv_elements"
    assert by_name["max_tokens"].upstream == ""


def test_a_borrowed_answer_is_borrowed_whether_its_values_are_right_or_not():
    for message in (right("kv_bytes"), {"exercise": "kv_bytes", "outcomes": [], "borrowed": ""}):
        _, found, flags = verdicts(message | {"borrowed": "kvlab.sizes.kv_bytes"}, DONE)
        assert (found["kv_bytes"].status, found["kv_bytes"].note) == ("borrowed", "kvlab.sizes.kv_bytes")
        assert [flag.kind for flag in flags] == ["library"]


@pytest.mark.parametrize("end", ["done", "cell time", "notebook time", "memory", "processes", "report"])
def test_what_came_before_a_limit_counts_and_the_limit_is_said(end):
    status, found, flags = verdicts({"cell": 0}, {"cell": 1}, right("kv_elements"), {"cell": 2}, end=end)
    assert status == CUT_SHORT
    assert found["kv_elements"].right and found["max_tokens"].note.startswith("The run was stopped")
    assert flags[0].kind == "limit" and "your answer kv_bytes" in flags[0].text


def test_an_answer_cell_that_stopped_says_so_where_its_verdict_is():
    stopped = {"error": 2, "said": "NameError: name 'x' is not defined"}
    _, found, flags = verdicts(stopped, {"missing": "kv_bytes"}, {"error": 14, "said": "ValueError"}, DONE)
    assert (found["kv_bytes"].status, flags[0].text) == ("not done", "Stopped in your own cell 1: ValueError")
    assert "NameError" in found["kv_bytes"].note
    assert found["kv_elements"].note == ""


def test_a_notebook_full_of_errors_is_told_in_short():
    steps = [Step("x", place=f"your own cell {number}", own=True) for number in range(3_000)]
    lines = [json.dumps({"error": number, "said": "x" * 4_000}) for number in range(3_000)]
    _, _, flags = JUDGE.judge(steps, "done", "\n".join(lines))
    assert len(repr(flags)) < 30_000 and "So did 2980 more" in flags[-1].text


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["exercise", "outcomes", "value", "note", "printed", "borrowed", "error", "said", "cell",
                         "step_notes", "array", "int", "dict", "done", "missing"]),
        inner | st.sampled_from(["kv_bytes", "kv_elements"]),
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(st.lists(JUNK | st.text(max_size=20), max_size=6))
def test_no_junk_breaks_the_judge_or_earns_a_point(junk):
    _, found, _ = verdicts(*junk, DONE)
    assert set(found) == set(LESSON.exercises)
    assert not any(verdict.right for verdict in found.values())


def test_junk_between_the_lines_of_an_honest_report_costs_nothing():
    _, found, _ = verdicts("[" * 100_000, '{"exercise": "kv_bytes"}', "\x00", right("kv_bytes"), '{"cell": "x"}', DONE)
    assert found["kv_bytes"].right


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import subprocess as s", "imports subprocess"),
        ("from ctypes import util", "imports ctypes"),
        ("import numpy as n\nn.allclose = print", "assigns n.allclose"),
        ("class A:\n    def __eq__(self, other): return True", "defines __eq__"),
        ("open('/proc/1/mem')", "mentions /proc"),
        ("def f(): return __builtins__", "uses __builtins__"),
        ("import autograde.answers", "imports autograde.answers"),
        ("def time_call(fn): return fn.__self__", "uses __self__"),
        ("def f(g): return g.__closure__[0]", "uses __closure__"),
        ("import sys\nx = sys.modules['kvlab']", "uses sys.modules"),
    ],
)
def test_what_is_worth_a_look_is_pointed_at(source, said):
    (flag,) = notice([Step(source, place="your own cell 1", own=True)])
    assert said in flag.text and "your own cell 1" in flag.text


def test_ordinary_work_and_the_lessons_own_cells_are_not():
    fine = "import math\nimport numpy as np\nfrom autograde.check import hint\nx = np.zeros(3)\nx.shape = (3, 1)"
    assert notice([Step(fine, own=True), Step("import subprocess", place="the lesson's")]) == []
    assert notice([Step("def broken(:", own=True)]) == []
