"""Numbers in few characters, for ticks, cells and alternative texts."""

from math import log10
from numbers import Integral

from kvlab.sizes import GIB, KIB, MIB, PIB, TIB


def byte_label(n_bytes: float, _position: int | None = None, digits: int = 4) -> str:
    """A tick of a byte axis: "512 MiB"."""
    for unit, name in ((PIB, "PiB"), (TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.{digits}g} {name}"
    return f"{n_bytes:,.{digits}g} B"


def rate_label(bytes_per_second: float, _position: int | None = None) -> str:
    """A bandwidth in few characters: "25.4 GB/s"."""
    for unit, scale in (("PB/s", 1e15), ("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if bytes_per_second >= scale * 0.9995:
            return f"{bytes_per_second / scale:,.3g} {unit}"
    return f"{bytes_per_second:,.3g} B/s"


def short_difference(value: float) -> str:
    """A difference in few characters: "0", "4.4e-16", "0.41", "nan"."""
    return f"{value:.1e}" if 0 < value < 1e-3 else f"{value:.2g}"


def power_of_ten(value: float, _position: int | None = None) -> str:
    """A tick of a decimal axis: "1,000", and from five digits on a power."""
    power = round(log10(value))
    return f"{value:,.0f}" if power < 5 else f"$10^{{{power}}}$"


def duration(seconds: float, _position: int | None = None) -> str:
    """A time in few characters: "12.5 ms"."""
    if seconds == 0:
        return "0"
    for unit, scale in (("s", 1), ("ms", 1e-3)):
        if seconds >= scale * 0.999:
            return f"{seconds / scale:,.4g} {unit}"
    return f"{seconds * 1e6:,.4g} µs"


def entry_label(value: float) -> str:
    """A number in a cell: "0", "−∞", "0.31"."""
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    return "0" if value == 0 else f"{value:.2f}" if abs(value) < 1000 else f"{value:.1e}"


def is_number(answer: object, number: int) -> bool:
    """Whether what a learner's function returned is this whole number."""
    return isinstance(answer, Integral) and not isinstance(answer, bool) and answer == number
