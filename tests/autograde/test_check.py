"""What a learner meets: one line when right, the whole feedback when wrong, and no trace of the checker."""

import json

import pytest

from autograde import check as module
from autograde.check import CheckFailed, check, hint

RIGHT = "def kv_elements(l, b, t, h, d):\n    return 2 * l * b * t * h * d\n"
NO_TWO = "def kv_elements(l, b, t, h, d):\n    return l * b * t * h * d\n"


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOGRADE_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr(module, "_verdicts", {})
    return tmp_path / "progress.json"


def in_notebook(source, name="kv_elements"):
    """Run a cell, then its check, in one namespace, as a notebook does."""
    namespace = {"check": check}
    exec(source, namespace)
    exec(f"result = check({name!r})", namespace)
    return namespace["result"]


def failure(source, name="kv_elements") -> CheckFailed:
    with pytest.raises(CheckFailed) as caught:
        in_notebook(source, name)
    return caught.value


def test_a_right_answer_is_one_line_on_stdout_and_returns_none(capsys):
    assert in_notebook(RIGHT) is None
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (1, "")
    assert "✓" in out and "5 cases · 2 points" in out


def test_a_missing_name_and_a_stub_are_not_done_yet():
    assert failure("").verdict.status == "not done"
    assert failure("def kv_elements(*sizes):\n    raise NotImplementedError").verdict.status == "not done"


def test_a_wrong_answer_shows_case_inputs_both_values_the_question_and_the_way_on():
    text = str(failure(NO_TWO))
    for part in ("case 1 of 5", "num_layers", "= 3", "yours", "48", "expected", "96", "?", 'hint("kv_elements")'):
        assert part in text


def test_the_failure_is_an_assertion_that_shows_the_feedback_alone():
    error = failure(NO_TWO)
    assert isinstance(error, AssertionError)
    shown = "\n".join(error._render_traceback_())
    assert "Traceback" not in shown and "autograde/" not in shown
    assert "expected" in shown


def test_the_learners_own_line_is_shown():
    error = failure("def kv_elements(l, b, t, h, d):\n    return l / 0\n")
    assert "ZeroDivisionError" in str(error)
    assert "your kv_elements, line 2" in str(error)


def test_prints_of_a_right_answer_are_replayed_on_stdout(capsys):
    in_notebook(RIGHT.replace("return", "print('hello'); import warnings; warnings.warn('careful'); return"))
    out, err = capsys.readouterr()
    assert "hello" in out and "careful" in out and err == ""


@pytest.mark.parametrize("thing", ["5", "None", "'text'", "[]"])
def test_a_name_that_is_no_function_is_only_a_wrong_answer(thing):
    assert failure(f"kv_elements = {thing}").verdict.status == "wrong"


def test_the_librarys_own_function_is_told_apart():
    error = failure("from kvlab.sizes import kv_elements")
    assert error.verdict.status == "borrowed"
    assert "kvlab.sizes.kv_elements" in str(error)
    wrapped = failure("import kvlab.sizes as s\nkv_elements = lambda *sizes: s.kv_elements(*sizes)")
    assert wrapped.verdict.status == "borrowed"


def test_an_answer_that_asks_the_course_for_the_answer_is_told_apart():
    source = "from autograde.answers.byte_formula import kv_elements as a\nkv_elements = a.ANSWER.alternatives[0]"
    assert failure(source).verdict.status == "borrowed"


def test_an_object_that_equals_everything_earns_nothing():
    source = "class E:\n    def __eq__(self, other): return True\nkv_elements = lambda *sizes: E()"
    assert failure(source).verdict.status == "wrong"


def test_the_learner_sees_the_same_cases_again_and_the_grader_new_ones(monkeypatch):
    assert failure(NO_TWO).verdict == failure(NO_TWO).verdict
    monkeypatch.setattr(module, "GRADING", True)
    seeds = {failure(NO_TWO).verdict.seed for _ in range(4)}
    assert len(seeds) > 1


def test_answers_learned_by_heart_fail_on_the_graders_cases(monkeypatch):
    seen = {}

    def remember(*sizes):
        seen[sizes] = 2 * sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizes[4]
        return seen[sizes]

    namespace = {"check": check, "kv_elements": remember}
    exec("check('kv_elements')", namespace)
    namespace["kv_elements"] = lambda *sizes: seen.get(sizes, 0)
    exec("check('kv_elements')", namespace)
    monkeypatch.setattr(module, "GRADING", True)
    with pytest.raises(CheckFailed):
        exec("check('kv_elements')", namespace)


def test_progress_is_recorded_for_a_learner_and_not_for_a_grader(own_progress, monkeypatch):
    in_notebook(RIGHT)
    assert "kv_elements" in own_progress.read_text()
    own_progress.unlink()
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    in_notebook(RIGHT)
    assert not own_progress.exists()


def test_hints_go_from_nudge_to_near_answer_and_stay_at_the_last(capsys):
    failure(NO_TWO)
    capsys.readouterr()
    for _ in range(4):
        hint("kv_elements")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Hint")]
    assert [line[5] for line in lines] == ["1", "2", "3", "3"]
    assert "double it" in lines[-1]


def test_hints_before_any_attempt_say_how_to_begin(capsys):
    hint("kv_elements")
    assert "Hint 1 of 3: Count one layer's K" in capsys.readouterr().out


def test_a_right_answer_needs_no_hint(capsys):
    in_notebook(RIGHT)
    hint("kv_elements")
    assert "right already" in capsys.readouterr().out


def test_an_unknown_exercise_names_the_ones_that_exist():
    with pytest.raises(KeyError, match="kv_bytes"):
        check("kv_byte")


def test_an_answer_that_builds_on_a_wrong_one_is_sent_there_first():
    namespace = {"check": check}
    exec(NO_TWO + "def kv_bytes(*a):\n    return -(-kv_elements(*a[:-1]) * a[-1] // 8)", namespace)
    for name in ("kv_elements", "kv_bytes"):
        with pytest.raises(CheckFailed) as caught:
            exec(f"check({name!r})", namespace)
    assert "It calls kv_elements, which is not right yet" in str(caught.value)


def test_the_session_is_saved_as_json(tmp_path):
    failure(NO_TWO)
    module.save_session(str(tmp_path / "verdicts"))
    (only,) = json.loads((tmp_path / "verdicts").read_text())
    assert only["misconception"] == "factor_two_dropped"


def test_a_written_answer_that_calls_a_stub_is_sent_to_the_stub():
    stub = "def kv_elements(*a):\n    raise NotImplementedError\n"
    error = failure(stub + "def kv_bytes(*a):\n    return sum(kv_elements(*a[:-1]) for _ in '1')", "kv_bytes")
    assert error.verdict.status == "not done"
    assert "It calls kv_elements, which is not right yet" in str(error)


def test_an_answer_that_calls_itself_is_not_sent_to_itself():
    source = "def kv_elements(*a):\n    return kv_elements(*a)"
    assert failure(source).verdict.upstream == failure(source).verdict.upstream == ""


def test_an_enormous_integer_is_shown_by_its_number_of_digits():
    assert "digits" in str(failure("def kv_elements(*a):\n    return 10**5000"))


def test_a_hint_takes_the_function_too_and_answers_a_typo_with_a_sentence(capsys):
    hint(lambda: None)
    hint("kv_byts")
    assert capsys.readouterr().out.count("no exercise") == 2

    def kv_elements():
        pass

    hint(kv_elements)
    assert "Hint 1 of 3" in capsys.readouterr().out


def test_a_half_written_class_is_not_done_and_says_how_far_it_is():
    from autograde.course import lesson
    from tests.notebooks import solutions

    source = solutions(lesson("03"))["CachedDecoder"]
    start = source.index("        if len(self) > 0:")
    end = source.index("    def _refuse")
    half = source[:start] + "        raise NotImplementedError\n\n" + source[end:]
    error = failure("import numpy as np\nfrom tiny_transformer import norm, softmax\n" + half, "CachedDecoder")
    assert error.verdict.status == "not done"
    assert "2 of 10 cases are right" in str(error)


def test_an_exception_in_a_step_shows_the_learners_line_and_the_steps_before():
    from autograde.course import lesson
    from tests.notebooks import solutions

    source = solutions(lesson("03"))["CachedDecoder"].replace("self.keys, self.values = [], []", "self.kv = []")
    error = failure("import numpy as np\nfrom tiny_transformer import norm, softmax\n" + source, "CachedDecoder")
    assert "AttributeError: 'CachedDecoder' object has no attribute 'keys'" in str(error)
    assert "in your __len__, line" in str(error)


def test_where_many_answers_are_right_the_feedback_says_what_is_missing():
    text = str(failure("def hidden_by_argmax(model):\n    return [0] * model.context", "hidden_by_argmax"))
    assert "In row" in text and "the arg-max differs" in text
    assert "expected  for example [" in text


def test_a_flood_of_prints_is_cut_with_a_note(capsys):
    in_notebook(RIGHT.replace("return", "print('line\\n' * 50); return"))
    out = capsys.readouterr().out
    assert out.count("    line\n") == 20 and "more lines" in out
