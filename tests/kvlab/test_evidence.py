"""The ledger holds; each kind of fault in it, and each kind of figure without support, is named."""

from dataclasses import replace

import nbformat
import pytest

from autograde.course import LESSONS
from kvlab import evidence
from kvlab.evidence import Entry, cited_ids, ledger, problems, uncited_figures

GOOD = Entry(
    id="E-02-01",
    statement="Bytes of the hand count",
    kind="arithmetic",
    value="192",
    unit="B",
    expression="kv_bytes(2, 1, 3, 2, 4, 16)",
    source="the cache formula",
    lesson="02_byte_formula",
)


def test_the_ledger_holds():
    assert problems() == []


def test_every_entry_belongs_to_a_lesson_of_the_course():
    assert {entry.lesson for entry in ledger().values()} <= {lesson.slug for lesson in LESSONS}


def test_every_recomputed_entry_equals_its_value():
    recomputed = [entry for entry in ledger().values() if entry.kind in evidence.RECOMPUTED]
    assert len(recomputed) >= 20
    for entry in recomputed:
        assert evidence.evaluate(entry) == entry.number, entry


def test_a_sound_entry_has_no_problem():
    assert problems([GOOD]) == []


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ({"value": "193"}, "the value is 193, the expression gives 192"),
        ({"expression": "192"}, "holds the value 192 itself"),
        ({"expression": "0 + 192.0"}, "holds the value 192 itself"),
        ({"expression": "Fraction('192')"}, "holds the value 192 itself"),
        ({"expression": "kv_bites(2)"}, "the expression fails: NameError"),
        ({"expression": "open('/etc/hostname')"}, "the expression fails: NameError"),
        ({"expression": "kv_bytes(2,"}, "the expression fails: SyntaxError"),
        ({"expression": ""}, "no expression"),
        ({"kind": "guess"}, "unknown kind 'guess'"),
        ({"kind": "paper"}, "nothing recomputes it"),
        ({"value": "about 192"}, "is no number"),
        ({"source": ""}, "no source"),
        ({"statement": ""}, "no statement"),
        ({"id": "E-03-01"}, "does not read E-02-NN"),
        ({"id": "hand"}, "does not read E-02-NN"),
    ],
)
def test_a_fault_is_named_once_with_its_id(fault, named):
    entry = replace(GOOD, **fault)
    found = problems([entry])
    assert len(found) == 1 and named in found[0] and found[0].startswith(f"{entry.id}: ")


def test_an_id_that_occurs_twice_is_named():
    assert problems([GOOD, GOOD]) == ["E-02-01: this id occurs more than once"]


def test_a_reported_number_needs_no_expression():
    assert problems([replace(GOOD, kind="paper", expression="", value="45.2", unit="MMLU")]) == []


def test_a_table_shows_every_entry_of_its_lesson():
    table = evidence.table("02_byte_formula")
    for text in (repr(table), table._repr_markdown_()):
        assert cited_ids(text) == [e.id for e in ledger().values() if e.lesson == "02_byte_formula"]
        assert "13.039 GiB" in text and "524,288 B/token" in text and "4.28×" in text and "arXiv 2405.04434" in text
    with pytest.raises(ValueError, match=r"wanted one of .*02_byte_formula"):
        evidence.table("99_nothing")


def test_cited_ids_are_read_in_order_and_once():
    assert cited_ids("[E-02-09](#Evidence) and [E-02-03, E-02-09], not E-2-1 or CE-02-01") == [
        "E-02-09",
        "E-02-03",
    ]


def notebook(*markdown, shown="", html=""):
    """A made-up notebook: Markdown cells, then one code cell that printed `shown` and displayed `html`."""
    outputs = [
        nbformat.v4.new_output("stream", text=shown),
        nbformat.v4.new_output("display_data", data={"text/html": html, "image/png": "12345="}),
    ]
    code = nbformat.v4.new_code_cell("98765", outputs=outputs)
    return nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_markdown_cell, markdown), code])


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("It holds 131,072 B per token.", "131,072 B"),
        ("It holds 192 bytes.", "192 bytes"),
        ("It needs 2 GiB.", "2 GiB"),
        ("It needs 2\u00a0GiB.", "2\u00a0GiB"),
        ("An 80-GiB device.", "80-GiB"),
        ("It needs 2GiB.", "2GiB"),
        ("| tokens |\n|--|\n| 4,096 |", "4,096"),
        ("About 5 % of the compute.", "5 %"),
        ("About 5% of it.", "5%"),
        ("It is 4× smaller.", "4×"),
        ("MMLU fell to 41 MMLU.", "41 MMLU"),
        ("A score of 45.2, they say.", "45.2"),
        ("With **8192** tokens.", "8192"),
        ("### Exercise 3: 2 GiB", "2 GiB"),
        ("$T = 8192$", "8192"),
        ("See [the 2.5 rule](https://example.org/1234).", "2.5"),
        ("98765 is only in the code, 12345 only in a picture", "98765"),
        ("It is 0.5.", "0.5"),
    ],
)
def test_a_figure_without_support_is_found(text, figure):
    assert uncited_figures(notebook("Nothing.", text))[0] == f"cell 2: {figure}"


@pytest.mark.parametrize(
    "text",
    [
        "Llama-3-8B has 32 layers, 8 KV heads and GQA-8 in BF16; the 7B model, 128k and FP16.",
        "`131072` and ``2 GiB`` and\n```python\nkv_bytes(4096)\n```\n",
        "[a page](https://example.org/a/8192?x=2.5), <https://example.org/4096> and https://example.org/512.",
        "Exercise 4 · difficulty 2 · 120 minutes · 3 points",
        "arXiv 2405.04434, issue #4711, $2^{30}$ is 2^30, 10^15.",
        "2 × L × B and 3×4",
        '<img src="a.png" width="760">',
    ],
)
def test_what_is_no_figure_is_left_alone(text):
    assert uncited_figures(notebook(text)) == []


def test_a_citation_in_the_same_cell_supports_its_value_and_the_inputs_of_its_expression():
    cell = "At 4096 tokens it holds 512 MiB [E-02-11](#Evidence)."
    assert uncited_figures(notebook(cell)) == []
    assert uncited_figures(notebook("512 MiB", "[E-02-11](#Evidence)")) == ["cell 1: 512 MiB"]
    assert uncited_figures(notebook("512 GiB [E-02-11](#Evidence)")) == ["cell 1: 512 GiB"]
    assert uncited_figures(notebook("512 MiB [E-02-99](#Evidence)")) == ["cell 1: 512 MiB"]


def test_an_output_supports_what_it_shows():
    assert uncited_figures(notebook("1,234 tokens", shown="total: 1234\n")) == []
    assert uncited_figures(notebook("0.5 GiB", html="<b>0.5</b> GiB")) == []
    assert uncited_figures(notebook("2 GiB", shown="layer 2 of 3")) == ["cell 1: 2 GiB"]
    assert uncited_figures(notebook("1,234 tokens", shown="12345")) == ["cell 1: 1,234"]


def test_the_evidence_table_does_not_stand_for_citations():
    shown = repr(evidence.table("02_byte_formula"))
    assert uncited_figures(notebook("524,288 B", shown=shown)) == ["cell 1: 524,288 B"]
