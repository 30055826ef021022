"""A stored result comes back as it was; a damaged or foreign one is named."""

import json
from dataclasses import replace

import pytest

from autograde.course import lesson
from autograde.grading.places import check_student
from autograde.grading.records import store
from autograde.grading.result import Flag
from tests.grading.gradebooks import result

LESSON = lesson("02_byte_formula")


def made(student="ada"):
    full = result(LESSON, student, {"kv_bytes"}, seed=3, isolated=False, digest="ab", seconds=0.25)
    odd = replace(full.verdicts[0], inputs=(("n", "3"), ("", "it.step(1)")), yours="\ud800 é ✓", printed="\x1b[31m\n")
    return replace(full, verdicts=(odd, *full.verdicts[1:]), flags=(Flag("limit", "Too long.", "kv_bytes"),))


def test_a_result_comes_back_equal(tmp_path):
    path = store.save(tmp_path, made())
    assert path == tmp_path / "autograded" / "ada" / LESSON.slug / "result.json"
    assert store.load(tmp_path, "ada", LESSON.slug) == made()


def test_nothing_stored_is_none(tmp_path):
    assert store.load(tmp_path, "ada", LESSON.slug) is None


def test_a_write_that_fails_leaves_the_old_result(tmp_path, monkeypatch):
    store.save(tmp_path, made())

    def full(*_):
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        with pytest.raises(OSError, match="no space"):
            store.save(tmp_path, replace(made(), seed=4))
    assert store.load(tmp_path, "ada", LESSON.slug) == made()


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "null", '{"student": "ada"', '{"verdicts": [3], "flags": []}', "\xff"]
)
def test_a_damaged_file_is_named(tmp_path, content):
    path = store.save(tmp_path, made())
    path.write_text(content, encoding="latin-1")
    with pytest.raises(ValueError, match=r"result\.json is damaged"):
        store.load(tmp_path, "ada", LESSON.slug)


@pytest.mark.parametrize("field", ["status", "seed", "verdicts", "flags"])
def test_a_file_with_a_field_of_another_name_is_damaged(tmp_path, field):
    path = store.save(tmp_path, made())
    fields = json.loads(path.read_text())
    fields[f"{field}s"] = fields.pop(field)
    path.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=r"result\.json is damaged"):
        store.load(tmp_path, "ada", LESSON.slug)


def test_a_file_of_another_student_is_refused(tmp_path):
    store.save(tmp_path, made()).rename(tmp_path / "moved")
    path = store.save(tmp_path, made("bob"))
    (tmp_path / "moved").rename(path)
    with pytest.raises(ValueError, match="is the result of ada"):
        store.load(tmp_path, "bob", LESSON.slug)


@pytest.mark.parametrize(
    "student", ["", ".", "..", ".hidden", "a/b", "a\\b", "../ada", "a\x00", "a\nb", "\udcff", "x" * 129]
)
def test_an_id_that_cannot_be_a_folder_is_refused_before_anything_is_made(tmp_path, student):
    for act in (lambda: store.save(tmp_path, made(student)), lambda: store.load(tmp_path, student, LESSON.slug)):
        with pytest.raises(ValueError, match="the student id"):
            act()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("student", ["ada", "ada lovelace", "a.b@example.org", "=1+1", "Зоя", "学生", "-rf", "x" * 128])
def test_any_other_id_is_kept_as_it_is(tmp_path, student):
    assert check_student(student) == student
    store.save(tmp_path, made(student))
    assert store.load(tmp_path, student, LESSON.slug) == made(student)
