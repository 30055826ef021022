"""When submissions came in, from the instructor's own list. A file inside a submission is never asked."""

import csv
from datetime import UTC, datetime
from pathlib import Path

from autograde.grading.places import check_student

COLUMNS = ["student", "received"]


def read(path: Path) -> dict[str, datetime]:
    """The UTC time at which each student's submission came in, from a CSV file with the columns student, received.

    ValueError names the line that is wrong; OSError if the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets put a byte-order mark first
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file in UTF-8") from None
    rows = csv.reader(text.splitlines(), strict=True)
    times: dict[str, datetime] = {}
    try:
        if next(rows, None) != COLUMNS:
            raise ValueError(f"the first line must be {','.join(COLUMNS)}")
        for row in filter(None, rows):  # an empty line is no row
            if len(row) != len(COLUMNS):
                raise ValueError(f"two fields are wanted, student and time; {len(row)} came")
            student, received = check_student(row[0]), _time(row[1])
            if student in times:
                raise ValueError(f"{student} is listed twice")
            times[student] = received
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path}, line {max(rows.line_num, 1)}: {error}") from None
    return times


def _time(text: str) -> datetime:
    example = "such as 2026-03-01T23:59:00+01:00"
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is no ISO 8601 time, {example}") from None
    if time.tzinfo is None:
        raise ValueError(f"{text!r} does not say its offset from UTC, {example}")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is before the first year or after the last") from None
