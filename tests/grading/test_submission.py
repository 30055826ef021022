"""Whatever was handed in is read, or refused in one sentence; nothing in it leads the grader elsewhere."""

import json
import os

import pytest

from autograde.grading.submission import MAX_CELLS, Unreadable, read, students_in

SLUG = "02_byte_formula"
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": "x = 1", "metadata": {}}], "nbformat": 4})


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "ada" / SLUG
    path.mkdir(parents=True)
    return path


def refusal(folder) -> str:
    with pytest.raises(Unreadable) as caught:
        read(folder.parent.parent, "ada", SLUG)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (NOTEBOOK[:40].encode(), "no notebook, or not all of it"),
        (b"x = 1\n", "no notebook"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"[1, 2]", "no cells"),
        (b'{"worksheets": []}', "format 4"),
        (b'{"cells": {}}', "no cells"),
        (b"[" * 100_000, "no notebook"),
        (json.dumps({"cells": [{}] * (MAX_CELLS + 1)}).encode(), "cells"),
    ],
)
def test_a_file_that_is_no_notebook_is_refused_by_what_it_is(folder, content, said):
    (folder / f"{SLUG}.ipynb").write_bytes(content)
    assert said in refusal(folder)


def test_links_are_not_followed(folder, tmp_path):
    secret = tmp_path / "secret.ipynb"
    secret.write_text(NOTEBOOK)
    (folder / f"{SLUG}.ipynb").symlink_to(secret)
    assert "link" in refusal(folder)
    (folder / f"{SLUG}.ipynb").unlink()
    (folder / f"{SLUG}.ipynb").symlink_to(tmp_path / "nowhere")
    assert "link" in refusal(folder)


def test_a_linked_folder_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / f"{SLUG}.ipynb").write_text(NOTEBOOK)
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / SLUG).symlink_to(tmp_path / "elsewhere")
    assert students_in(tmp_path, SLUG) == ["ada"]
    assert "link" in refusal(tmp_path / "ada" / SLUG)


def test_a_folder_or_a_pipe_in_the_place_of_the_notebook_is_refused_at_once(folder):
    (folder / f"{SLUG}.ipynb").mkdir()
    assert "no file" in refusal(folder)
    (folder / f"{SLUG}.ipynb").rmdir()
    os.mkfifo(folder / f"{SLUG}.ipynb")
    assert "no file" in refusal(folder)


def test_a_file_in_the_place_of_the_folder_and_an_empty_folder_are_refused(tmp_path, folder):
    assert "no notebook" in refusal(folder)
    folder.rmdir()
    folder.write_text(NOTEBOOK)
    assert "a folder" in refusal(folder)


def test_a_browsers_second_download_is_found_and_an_ambiguous_one_is_not(folder):
    (folder / f"{SLUG} (1).ipynb").write_text(NOTEBOOK)
    assert read(folder.parent.parent, "ada", SLUG).name == f"{SLUG} (1).ipynb"
    (folder / f"{SLUG} (2).ipynb").write_text(NOTEBOOK)
    assert "2 notebooks" in refusal(folder)
    (folder / f"{SLUG}.ipynb").write_text(NOTEBOOK)
    assert read(folder.parent.parent, "ada", SLUG).name == f"{SLUG}.ipynb"


def test_odd_cells_are_read_as_far_as_they_go(folder):
    cells = [
        {"cell_type": "code", "source": ["a = 1\r\n", 5, "b = 2"], "metadata": {"nbgrader": {"grade_id": "x"}}},
        {"cell_type": 7, "source": None, "metadata": [], "id": 5},
        {"source": "c\rd", "metadata": {"nbgrader": []}},
        "no cell",
        {"cell_type": "code", "source": "\ud800", "metadata": {"nbgrader": {"grade_id": ["x"]}}},
    ]  # fmt: skip
    (folder / f"{SLUG}.ipynb").write_bytes(b"\xef\xbb\xbf" + json.dumps({"cells": cells}).encode())
    first, second, third, fourth = read(folder.parent.parent, "ada", SLUG).cells
    assert (first.kind, first.source, first.grade_id) == ("code", "a = 1\nb = 2", "x")
    assert (second.kind, second.source, second.id) == ("", "", "")
    assert third.source == "c\nd"
    assert (fourth.source, fourth.grade_id) == ("?", "")


def test_fifty_megabytes_of_output_are_read_past(folder):
    cell = {"cell_type": "code", "source": "x = 1", "metadata": {}, "outputs": [{"text": "x" * 50_000_000}]}
    (folder / f"{SLUG}.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert [cell.source for cell in read(folder.parent.parent, "ada", SLUG).cells] == ["x = 1"]
