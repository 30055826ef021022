"""What all tests share: settings, the choice of one lesson's tests, and which tests share a process."""

import os

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from autograde.course import ROOT, Lesson
from autograde.course import lesson as find_lesson

pytest.register_assert_rewrite("tests.variants")  # its assertions show both sides, as those of a test file do

# No clock decides whether a test passes: the machine may be busy.
settings.register_profile("course", deadline=None)
settings.load_profile("course")

# Lesson 11 measures what the machine allows; where notebooks only have to run, the smallest plan will do.
os.environ.setdefault("KVLAB_PLAN", "smallest")

# A file's tests share their fixtures, and so a process. These files hold long tests that share nothing.
SPREAD = ("autograde/test_lessons.py", "autograde/test_release.py", "grading/test_batch.py", "grading/test_cli.py")
# What takes long and cannot be divided begins first, so that nothing long is left for the end.
FIRST = ("grading/", "kvlab/test_figures.py", "test_browser.py", "solutions/", *SPREAD)


class ByFile(LoadScopeScheduling):
    """Sends a file's tests to one process, in their order; those of SPREAD one by one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file.endswith(SPREAD) else file


def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # the order is that of the collection, below
    return ByFile(config, log)


def pytest_addoption(parser):
    parser.addoption("--lesson", help="run what concerns one lesson: its number, key or folder's name")


def pytest_collection_modifyitems(config, items):
    if name := config.getoption("--lesson"):
        _choose(config, items, name)
    items.sort(key=lambda item: next((at for at, each in enumerate(FIRST) if each in str(item.path)), len(FIRST)))


def _choose(config, items, name: str) -> None:
    try:
        lesson = find_lesson(name)
    except KeyError as error:
        raise pytest.UsageError(error.args[0]) from None
    chosen = [item for item in items if _concerns(item, lesson)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def _concerns(item: pytest.Item, lesson: Lesson) -> bool:
    """Whether a test lies in the lesson's rooms, tests its library, or has the lesson or its exercise as parameter."""
    rooms = {f"tests/lessons/{lesson.key}", f"solutions/{lesson.slug}"}
    library = {"tests/{}/test_{}.py".format(*module.replace(".", "/").rsplit("/", 1)) for module in lesson.library}
    path = item.path.relative_to(ROOT)
    if str(path.parent) in rooms or str(path) in library | {"tests/kvlab/test_evidence.py"}:
        return True
    names = {lesson.slug, lesson.key, *lesson.exercises}
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any(each is lesson or (type(each) is str and each.rpartition(".")[2] in names) for each in parameters)
