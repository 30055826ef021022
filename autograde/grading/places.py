"""Where a student's files lie: nbgrader's folders, `<step>/<student>/<lesson>/`."""

from pathlib import Path

from kvlab.reprs import short_repr

LONGEST = 128  # characters of a student's id in nbgrader's tables; SQLite would not say so, PostgreSQL would


def check_student(student: str) -> str:
    """`student`, if it can name a folder and a row in the gradebook. ValueError says what is wrong with it."""
    if not student or student.startswith("."):
        raise ValueError(
            f"the student id {student!r} is empty or hidden: it names a folder and may not begin with a dot"
        )
    if bad := next((each for each in student if each in "/\\" or not each.isprintable()), ""):
        raise ValueError(f"the student id {student!r} holds {bad!r}, which cannot be part of a folder's name")
    if len(student) > LONGEST:
        shown = short_repr(student, 20)
        raise ValueError(f"the student id {shown} has {len(student)} characters; at most {LONGEST} can be kept")
    return student


def folder(root: Path, step: str, student: str, slug: str) -> Path:
    """The folder of one submission in `step`: "submitted", "autograded" or "feedback". ValueError for a bad id."""
    return root / step / check_student(student) / slug
