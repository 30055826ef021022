"""What one submission may use. The sandbox's own code reads this too, so nothing else is imported here."""

from dataclasses import asdict, dataclass, fields

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Times in seconds of wall time, sizes in bytes."""

    cell_seconds: float = 30.0  # one cell, or one exercise with all its cases
    notebook_seconds: float = 180.0
    cpu_seconds: int = 180  # of each process
    memory_bytes: int = 3072 * MIB  # of all its processes together
    processes: int = 64  # threads count too
    scratch_bytes: int = 64 * MIB  # of its folder, which is gone afterwards
    file_bytes: int = 64 * MIB
    report_bytes: int = 32 * MIB  # of the values that it reports

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not value > 0:
                raise ValueError(f"the limit {each.name} is {value!r}; it must be positive")

    def as_dict(self) -> dict[str, float]:
        return asdict(self)
