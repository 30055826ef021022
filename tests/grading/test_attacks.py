"""No submission talks its way to a mark, and none touches its neighbours."""

import nbformat
import pytest

from autograde.course import ROOT
from autograde.grading.batch import Options, grade
from autograde.grading.result import FAILED, GRADED
from autograde.grading.sandbox.limits import Limits
from tests.fixtures.attack_notebooks import ATTACKS, LESSON
from tests.grading.bubblewrap import needs_bubblewrap
from tests.notebooks import filled, solutions

pytestmark = needs_bubblewrap
# Short, so that those who run until they are stopped do not take long; honest work below must fit in all the same.
LIMITS = Limits(cell_seconds=3, notebook_seconds=12, memory_bytes=1 << 30)
SEED = 20261130


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """All attacks in one run, with an honest submission after every fifth."""
    root = tmp_path_factory.mktemp("attacked")
    for number, attack in enumerate(ATTACKS):
        attack.hand_in(root / "submitted" / f"{number:03}-{attack.name}" / LESSON.slug)
        if number % 5 == 4:
            folder = root / "submitted" / f"{number:03}-zz-honest" / LESSON.slug
            folder.mkdir(parents=True)
            nbformat.write(filled(LESSON, solutions(LESSON)), folder / f"{LESSON.slug}.ipynb")
    # Four at a time, because some only sleep until they are stopped.
    options = Options(LESSON, root, root / "submitted", jobs=4, seed=SEED, limits=LIMITS)
    found = {}
    for result in grade(options, lambda graded: None, lambda sketch: False):
        found[result.student[4:]] = result
        found.setdefault("all", []).append(result)
    return found


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_earns_nothing_and_is_flagged_where_it_shows(results, attack):
    result = results[attack.name]
    assert (result.points, result.max_points) == (0, LESSON.points), [v for v in result.verdicts if v.right]
    assert result.status != FAILED, result.flags
    if attack.flag:
        assert attack.flag in {flag.kind for flag in result.flags}, result.flags


def test_honest_work_among_them_gets_its_marks_and_no_flag(results):
    honest = [each for each in results["all"] if each.student.endswith("honest")]
    assert len(honest) == len(ATTACKS) // 5
    for each in honest:
        assert (each.status, each.points, each.flags) == (GRADED, LESSON.points, ()), each.flags


def test_no_text_that_a_student_gets_names_the_graders_folders(results):
    for each in results["all"]:
        text = repr(each.as_dict())
        assert str(ROOT / "autograde") not in text and "/tmp/grading-" not in text, each.student
