"""The instructor's list of times: read exactly, or refused with the line that is wrong."""

from datetime import UTC, datetime

import pytest

from autograde.grading.received import read


def written(tmp_path, text):
    path = tmp_path / "received.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_times_of_any_offset_come_back_in_utc(tmp_path):
    rows = 'ada,2026-03-01T12:00:00+01:00\r\n\n"o\'neil, x",2026-03-01T11:00:00Z\nbob,2026-03-01 06:00-05:00\n'
    for mark in ("", "\ufeff"):
        times = read(written(tmp_path, f"{mark}student,received\n{rows}"))
        assert set(times) == {"ada", "o'neil, x", "bob"}
        assert set(times.values()) == {datetime(2026, 3, 1, 11, tzinfo=UTC)}


def test_a_list_of_nobody_is_a_list(tmp_path):
    assert read(written(tmp_path, "student,received\n")) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: the first line must be student,received"),
        ("name,time\nada,2026-03-01T12:00Z\n", "line 1: the first line must be student,received"),
        ("student,received\nada\n", "line 2: two fields are wanted, student and time; 1 came"),
        ("student,received\nada,2026-03-01T12:00Z\nbob,2026-03-01T12:00Z,late\n", "line 3: two fields are wanted"),
        ("student,received\nada,yesterday\n", "line 2: 'yesterday' is no ISO 8601 time, such as 2026-03-01T23"),
        ("student,received\n\nada,2026-03-01T12:00:00\n", "line 3: '2026-03-01T12:00:00' does not say its offset"),
        ("student,received\nada,0001-01-01T00:00+10:00\n", "line 2: .* is before the first year"),
        ("student,received\n../ada,2026-03-01T12:00Z\n", "line 2: the student id '../ada'"),
        ("student,received\nada,2026-03-01T12:00Z\nada,2026-03-01T13:00Z\n", "line 3: ada is listed twice"),
        ('student,received\n"ada,2026-03-01T12:00Z\n', "line 2: unexpected end of data"),
        (b"student,received\n\xe9va,2026-03-01T12:00Z\n", "is not a text file in UTF-8"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, said):
    with pytest.raises(ValueError, match=f"received.csv.*{said}"):
        read(written(tmp_path, text))


def test_an_absent_file_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match=r"received\.csv"):
        read(tmp_path / "received.csv")
