"""What grading one submission gave: plain data, which is recorded, reported and stored beside the graded notebook."""

from dataclasses import dataclass, replace

from autograde.exercise import Verdict

# What became of a submission.
GRADED = "graded"
CUT_SHORT = "cut short"  # it met a limit; the exercises that were reached before are graded
UNREADABLE = "unreadable"  # no notebook in it that could be read: no points
FAILED = "failed"  # the grader could not do its work: nothing is recorded, and the run says so


@dataclass(frozen=True)
class Flag:
    """Something to know about a submission, put in one sentence for student and instructor alike."""

    kind: str  # one word or two: "restored", "duplicate", "library", "limit", …
    text: str
    exercise: str = ""  # "" when it concerns the whole notebook

    def as_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "text": self.text, "exercise": self.exercise}


@dataclass(frozen=True)
class Result:
    """The outcome of one submission of one lesson."""

    student: str
    slug: str
    status: str
    verdicts: tuple[Verdict, ...]  # one per exercise, in the lesson's order; none if FAILED
    flags: tuple[Flag, ...] = ()
    seed: int = 0  # of the cases, the same for every submission of a run
    isolated: bool = True
    library_answers: str = "zero"  # what an answer gets that the library's own function gave: "zero" or "flag"
    digest: str = ""  # SHA-256 of the submitted file; "" where there is none
    release: str = ""  # SHA-256 of the released lesson
    seconds: float = 0.0  # wall time of its cells and checks
    cpu_seconds: float = 0.0

    def points_of(self, verdict: Verdict) -> int:
        """Points for one exercise: all of them or none."""
        counts = verdict.right or (verdict.status == "borrowed" and self.library_answers == "flag")
        return verdict.points if counts else 0

    @property
    def points(self) -> int:
        return sum(map(self.points_of, self.verdicts))

    @property
    def max_points(self) -> int:
        return sum(verdict.points for verdict in self.verdicts)

    def as_dict(self) -> dict[str, object]:
        fields = dict(vars(self))
        fields["verdicts"] = [verdict.as_dict() for verdict in self.verdicts]
        fields["flags"] = [flag.as_dict() for flag in self.flags]
        return fields | {"points": self.points, "max_points": self.max_points}

    @classmethod
    def from_dict(cls, fields: dict) -> "Result":
        fields = {key: value for key, value in fields.items() if key not in ("points", "max_points")}
        made = cls(**fields | {"verdicts": (), "flags": ()})
        verdicts = tuple(map(Verdict.from_dict, fields["verdicts"]))
        return replace(made, verdicts=verdicts, flags=tuple(Flag(**each) for each in fields["flags"]))
