"""Feedback pages: everything a student needs, nothing of the grader's, and nothing of a student's as markup."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from autograde.answers import answer_of
from autograde.check import examine
from autograde.course import ROOT, lesson
from autograde.exercise import Verdict
from autograde.grading import report
from autograde.grading.result import CUT_SHORT, FAILED, GRADED, UNREADABLE, Flag
from tests.grading.gradebooks import result

LESSON = lesson("02_byte_formula")
VOID = {"meta", "br"}


def no_two(layers, batch, tokens, heads, width):
    return layers * batch * tokens * heads * width


def hostile(*_):
    print("<script>alert(1)</script>", "\x1b[31mred", f"{ROOT}/answers", "\x00\x07")
    return "</pre><img src=x onerror=alert(1)>"


def graded(**fields):
    """A result with a known mistake, a hostile answer, an unfinished one, a borrowed one and right ones."""
    made = result(LESSON, "ada", set(LESSON.exercises), seed=77)
    verdicts = {each.exercise: each for each in made.verdicts}
    for name, answer in (("kv_elements", no_two), ("kv_bytes", hostile)):
        verdicts[name] = examine(answer_of(name), LESSON.exercises[name], answer, 77)
    verdicts["kv_bytes"] = replace(verdicts["kv_bytes"], upstream="kv_elements", source="https://example.org/a?b=1&c=2")
    verdicts["as_units"] = replace(verdicts["as_units"], status="not done")
    verdicts["max_tokens"] = replace(verdicts["max_tokens"], status="borrowed", note="kvlab.sizes.max_tokens")
    return replace(made, verdicts=tuple(verdicts.values()), **fields)


class Page(HTMLParser):
    """A page's elements and its text; an element that is not closed in order is an error."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def page_of(made):
    return Page(report.render(made))


def test_a_page_says_verdict_points_values_and_what_they_mean():
    text = page_of(graded()).text
    assert "7 of 16 points" in text
    for part in (
        "not right yet 0 of 2 points Case 1 of 5: the cache you can count by hand Inputs Name Value num_layers 2",
        "Yours 48 Expected 96 Did you count only one of the two tensors that each layer keeps?",
        "It calls kv_elements , which is not right yet",
        "There was no answer to try.",
        "It calls the library's own kvlab.sizes.max_tokens . The points are for writing it yourself.",
        "seed 77",
    ):
        assert part in text


def test_steps_of_a_class_exercise_are_shown_as_code():
    answer = answer_of("CachedDecoder")
    for known in answer.misconceptions:
        verdict = examine(answer, 4, known.wrong, 77)
        if any(not name for name, _ in verdict.inputs):
            break
    text = page_of(replace(graded(), verdicts=(verdict,))).text
    assert "it = CachedDecoder(" in text and "it.step(" in text


def test_what_a_student_wrote_is_text_and_never_markup():
    page = page_of(graded(flags=(Flag("<i>kind", "<script>alert(3)</script>"),), student="<u>ada</u>"))
    assert not {"script", "img", "b", "i", "u"} & set(page.tags)
    for number in "13":
        assert f"alert({number})" in page.text
    assert not [each for each in page.attributes if each[1].startswith("on")]


def test_a_page_needs_nothing_from_elsewhere_and_may_load_nothing():
    page = page_of(graded())
    assert not {"link", "img", "script", "iframe"} & set(page.tags)
    assert ("meta", "content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert "url(" not in report.render(graded())


def test_no_path_of_the_grader_and_no_traceback_is_shown():
    places = (str(ROOT), sys.prefix, str(Path.home()))
    flags = tuple(Flag("error", f"OSError: no file {place}/x") for place in (*places, f"{ROOT}/autograde/answers"))
    html = report.render(graded(flags=flags))
    assert "OSError: no file …/x" in html and "…/autograde/answers" in html
    for place in places:
        assert f"{place}/" not in html


def test_control_characters_and_colours_are_taken_out():
    html = report.render(graded())
    assert "red" in html and "[31m" not in html and not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", html)


def test_a_value_of_megabytes_is_cut():
    made = graded()
    verdicts = tuple(replace(each, printed="x" * 5_000_000) for each in made.verdicts)
    page = report.render(replace(made, verdicts=verdicts))
    assert "the rest is left out" in page and len(page) < 100_000


def test_a_run_without_isolation_says_so_first():
    assert "This run was not isolated." not in page_of(graded()).text
    text = page_of(graded(isolated=False)).text
    assert text.index("This run was not isolated.") < text.index("of 16 points")


@pytest.mark.parametrize("status", [GRADED, CUT_SHORT, UNREADABLE, FAILED])
def test_every_status_has_a_page(status):
    made = graded(status=status) if status != FAILED else replace(graded(), status=FAILED, verdicts=())
    text = page_of(made).text
    assert report.STATUS[status] in text
    assert ("points" in text) == (status != FAILED)


def test_flags_stand_at_their_exercise_or_at_the_top():
    text = page_of(graded(flags=(Flag("restored", "A cell came back."), Flag("library", "Used.", "as_units")))).text
    assert text.index("Restored: A cell came back.") < text.index("All exercises")
    assert text.index("○ not done 0 of 2 points Library: Used.") > text.index("All exercises")


def test_every_verdict_has_words_of_its_own_and_every_table_its_headers():
    words = [word for _, word in report.VERDICTS.values()]
    assert len(set(words)) == len(words)
    page = page_of(graded())
    assert page.tags.count("table") == page.tags.count("thead") and page.tags.count("h1") == 1
    assert all(each[1] != "scope" or each[2] in ("row", "col") for each in page.attributes)
    assert page.tags.count("th") == len([each for each in page.attributes if each[:2] == ("th", "scope")])
    assert ("html", "lang", "en") in page.attributes


def test_the_page_lies_where_nbgrader_keeps_feedback(tmp_path):
    made = replace(graded(), student="ada lovelace@example.org")
    path = report.write(tmp_path, made)
    assert path == tmp_path / "feedback" / made.student / LESSON.slug / f"{LESSON.slug}.html"
    assert path.read_text(encoding="utf-8") == report.render(made)


def test_half_a_surrogate_pair_is_written_as_its_number(tmp_path):
    verdict = Verdict("kv_bytes", "wrong", 2, 6, 7, 1, "a case", yours="\ud800")
    path = report.write(tmp_path, replace(graded(), verdicts=(verdict,)))
    assert r"\ud800" in path.read_text(encoding="utf-8")
