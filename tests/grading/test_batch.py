"""One batch: everything handed in gets a result, whatever else lies beside it, and an interrupted run goes on."""

import json
import os

import nbformat
import pytest

from autograde.course import LESSONS, lesson
from autograde.grading import batch
from autograde.grading.batch import GradingError, Journal, Options, grade
from autograde.grading.result import FAILED, GRADED, UNREADABLE, Result
from autograde.grading.sandbox.limits import Limits
from autograde.grading.sandbox.process import Sandbox, SandboxError
from tests.grading.bubblewrap import needs_bubblewrap
from tests.grading.stock import OWN_STYLE
from tests.notebooks import by_grade_id, filled, solutions

LESSON = lesson("02_byte_formula")
RIGHT = solutions(LESSON)
HALF = RIGHT | {"kv_elements": RIGHT["kv_elements"].replace("return 2 * num_layers", "return num_layers")}
pytestmark = needs_bubblewrap


def hand_in(root, student, content, name=f"{LESSON.slug}.ipynb"):
    folder = root / "submitted" / student / LESSON.slug
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        (folder / name).write_bytes(content)
    else:
        nbformat.write(content, folder / name)


def options(root, **more) -> Options:
    """One submission at a time unless `more` says otherwise: each further one would start a sandbox of its own."""
    usual = {"jobs": 1, "seed": 5, "limits": Limits(cell_seconds=5)}
    return Options(LESSON, root, root / "submitted", **usual | more)


def run(chosen, record=lambda graded: None, done=lambda sketch: False) -> dict[str, Result]:
    return {result.student: result for result in grade(chosen, record, done)}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("course")
    hand_in(root, "ada", filled(LESSON, RIGHT))
    hand_in(root, "own style", filled(LESSON, OWN_STYLE))
    hand_in(root, "half", filled(LESSON, HALF))
    hand_in(root, "blank", filled(LESSON, {}))
    hand_in(root, "empty", b"")
    hand_in(root, "cut", json.dumps(filled(LESSON, RIGHT)).encode()[:3000])
    hand_in(root, "renamed", filled(LESSON, RIGHT), f"{LESSON.slug} (1).ipynb")
    hand_in(root, "syntax", filled(LESSON, RIGHT | {"max_tokens": "def max_tokens(:"}))
    hand_in(root, "crash", filled(LESSON, RIGHT | {"as_units": "import os\nos._exit(1)"}))
    (root / "submitted" / "link" / LESSON.slug).mkdir(parents=True)
    (root / "submitted" / "link" / LESSON.slug / f"{LESSON.slug}.ipynb").symlink_to("/nowhere")
    (root / "submitted" / "other lesson" / "03_cache_parity").mkdir(parents=True)
    return root


def test_every_submission_gets_its_status_and_points(course):
    found = {name: (result.status, result.points) for name, result in run(options(course, jobs=3)).items()}
    assert found == {
        "ada": (GRADED, 16),
        "own style": (GRADED, 16),
        "half": (GRADED, 2),
        "blank": (GRADED, 0),
        "empty": (UNREADABLE, 0),
        "cut": (UNREADABLE, 0),
        "link": (UNREADABLE, 0),
        "renamed": (GRADED, 16),
        "syntax": (GRADED, 13),
        "crash": ("cut short", 6),
    }


def test_a_seed_repeats_a_run_and_another_draws_other_cases(course):
    few = {"students": ("half",)}
    first, again, other = (run(options(course, seed=seed, **few))["half"] for seed in (5, 5, 6))
    assert [verdict.as_dict() for verdict in first.verdicts] == [verdict.as_dict() for verdict in again.verdicts]
    assert [verdict.inputs for verdict in first.verdicts] != [verdict.inputs for verdict in other.verdicts]
    assert first.points == other.points == 2


def test_the_graded_notebook_shows_each_verdict_under_its_check(course):
    kept = {}
    run(options(course, students=("half",)), lambda graded: kept.update({graded.result.student: graded.notebook}))
    cells = by_grade_id(kept["half"])
    nbformat.validate(kept["half"])
    (good,), (bad,) = cells["check_as_units"].outputs, cells["check_kv_elements"].outputs
    assert good.output_type == "stream" and "✓" in good.text
    assert bad.output_type == "error" and "only one of the two tensors" in bad.evalue
    assert cells["kv_elements"].source == HALF["kv_elements"]


def test_a_mistake_is_named_with_both_values(course):
    verdict = run(options(course, students=("half",)))["half"].verdicts[0]
    assert verdict.misconception and verdict.yours != verdict.expected and verdict.diagnosis.endswith("?")


def test_what_is_done_already_is_not_run_again(course):
    seen = []
    found = run(options(course), done=lambda sketch: seen.append(sketch.student) or sketch.student != "ada")
    assert {name for name, result in found.items() if result.verdicts} == {"ada", "empty", "cut", "link"}
    assert set(seen) == set(found) - {"empty", "cut", "link"}


def test_an_error_while_recording_stops_the_run_and_leaves_no_process(course):
    def full(graded):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run(options(course, jobs=2), full)


def test_a_sandbox_that_fails_twice_fails_one_submission_and_says_why(course, monkeypatch):
    work = Sandbox.run
    tries = []

    def flaky(self, job):
        if any("half" in cell.get("source", "") for cell in job["cells"]):
            tries.append(1)
            raise SandboxError("the sandbox stopped (no memory)")
        return work(self, job)

    monkeypatch.setattr(Sandbox, "run", flaky)
    hand_in(course, "unlucky", filled(LESSON, RIGHT | {"kv_bytes": "half = 1"}))
    found = run(options(course, students=("ada", "unlucky")))
    assert (found["ada"].points, found["unlucky"].status, len(tries)) == (16, FAILED, 2)
    assert "no memory" in found["unlucky"].flags[0].text


def test_an_error_of_the_grader_itself_fails_one_submission(course, monkeypatch):
    monkeypatch.setattr(batch, "notice", lambda steps: 1 / 0)
    found = run(options(course, students=("ada", "empty")))
    assert (found["ada"].status, found["empty"].status) == (FAILED, UNREADABLE)


def test_without_isolation_every_result_says_so(course):
    found = run(options(course, students=("ada", "half"), isolated=False))
    for result in found.values():
        assert not result.isolated and "not isolated" in {flag.kind for flag in result.flags}
    assert (found["ada"].points, found["half"].points) == (16, 2)


def test_library_answers_can_be_let_through_and_are_flagged_either_way(course):
    borrowed = "import kvlab.sizes\n\ndef max_tokens(*args):\n    return kvlab.sizes.max_tokens(*args)\n"
    hand_in(course, "borrower", filled(LESSON, RIGHT | {"max_tokens": borrowed}))
    for policy, points in (("zero", 13), ("flag", 16)):
        result = run(options(course, students=("borrower",), library_answers=policy))["borrower"]
        assert result.points == points, policy
        assert [flag.exercise for flag in result.flags if flag.kind == "library"] == ["max_tokens"]


OTHER_NAMES = {"expand_kv": "repeat_kv"}  # of an exercise in the library, where the field's own name differs


def _from_the_library(each) -> dict[str, str]:
    """For every exercise that the library answers under the same name, or one of OTHER_NAMES, that answer."""
    modules = {name.partition(".")[0]: module for module, names in each.library.items() for name in names}
    names = {name: OTHER_NAMES.get(name, name) for name in each.exercises}
    return {name: f"from {modules[ours]} import {ours} as {name}\n" for name, ours in names.items() if ours in modules}


@pytest.mark.parametrize("each", LESSONS, ids=lambda each: each.slug)
def test_of_each_lesson_the_solution_gets_all_points_and_a_blank_or_borrowed_one_none(each, tmp_path):
    borrowed = _from_the_library(each)
    assert len(borrowed) >= 3
    submissions = {"solved": solutions(each), "blank": {}, "borrowed": borrowed}
    for student, answers in submissions.items():
        folder = tmp_path / "submitted" / student / each.slug
        folder.mkdir(parents=True)
        nbformat.write(filled(each, answers), folder / f"{each.slug}.ipynb")
    found = run(Options(each, tmp_path, tmp_path / "submitted", jobs=1, seed=3))
    assert (found["solved"].points, found["solved"].flags) == (each.points, ())
    assert (found["blank"].points, found["borrowed"].points) == (0, 0)
    flagged = {flag.exercise for flag in found["borrowed"].flags if flag.kind == "library"}
    assert flagged == set(borrowed), found["borrowed"].verdicts


def test_nobody_to_grade_is_said_before_anything_starts(tmp_path, course):
    with pytest.raises(GradingError, match="nothing is handed in"):
        run(options(tmp_path))
    with pytest.raises(GradingError, match=r"eve, .*handed nothing in|eve handed nothing in"):
        run(options(course, students=("ada", "eve")))


def test_a_run_that_was_interrupted_goes_on_with_its_seed_and_only_on_the_same_terms(tmp_path):
    hand_in(tmp_path, "ada", filled(LESSON, RIGHT))
    fresh = options(tmp_path, seed=None)
    with Journal(fresh).begin() as first:
        assert not first.resumed and first.seed is not None
    with Journal(fresh).begin() as second:
        assert second.resumed and second.seed == first.seed
    with Journal(options(tmp_path, seed=None, library_answers="flag")).begin() as other:
        assert not other.resumed
        other.end()
    with Journal(fresh).begin() as third:
        assert not third.resumed and third.seed != first.seed
    with Journal(options(tmp_path, seed=7)).begin() as asked:
        assert not asked.resumed and asked.seed == 7


def test_whoever_hands_in_anew_after_an_interruption_gets_other_inputs(tmp_path):
    hand_in(tmp_path, "ada", filled(LESSON, RIGHT))
    hand_in(tmp_path, "bob", b"")
    chosen = options(tmp_path, seed=None)
    with Journal(chosen).begin() as first:
        pass
    with Journal(chosen).begin() as same:
        assert same.resumed and batch.unfinished(tmp_path, LESSON.slug)
    hand_in(tmp_path, "bob", filled(LESSON, HALF))
    with Journal(chosen).begin() as other:
        assert not other.resumed and other.seed != first.seed
    hand_in(tmp_path, "eve", filled(LESSON, HALF))
    with Journal(chosen).begin() as more:
        assert not more.resumed and more.seed != other.seed
        more.end()
    assert not batch.unfinished(tmp_path, LESSON.slug)


def test_a_result_that_cannot_be_recorded_fails_alone(course):
    def picky(graded):
        if graded.result.student == "half":
            raise ValueError("no such name")

    found = run(options(course), picky)
    assert (found["half"].status, found["ada"].status) == (FAILED, GRADED)
    assert "no such name" in found["half"].flags[0].text


def test_a_folder_whose_name_can_be_no_student_fails_alone(tmp_path):
    hand_in(tmp_path, "ada", filled(LESSON, RIGHT))
    hand_in(tmp_path, os.fsdecode(b"e\xffve"), filled(LESSON, RIGHT))
    found = run(options(tmp_path))
    assert sorted(each.status for each in found.values()) == [FAILED, GRADED]


def test_two_runs_of_one_lesson_in_one_folder_are_not_let_at_each_other(tmp_path):
    hand_in(tmp_path, "ada", filled(LESSON, RIGHT))
    with (
        Journal(options(tmp_path)).begin(),
        pytest.raises(GradingError, match="another run"),
        Journal(options(tmp_path)).begin(),
    ):
        pass


def test_a_damaged_journal_begins_a_new_run(tmp_path):
    hand_in(tmp_path, "ada", filled(LESSON, RIGHT))
    journal = Journal(options(tmp_path, seed=None))
    journal.path.parent.mkdir(parents=True)
    for content in ("", "[]", '{"seed": "x"}', "null"):
        journal.path.write_text(content)
        with Journal(options(tmp_path, seed=None)).begin() as found:
            assert not found.resumed
            found.end()
