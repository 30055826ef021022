"""`as_units`: what is right, which mistakes are known, and what to say about them."""

import math
from fractions import Fraction

from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _units(case: Case) -> dict[str, float]:
    n = case.inputs["n_bytes"]
    decimal = {unit: float(Fraction(f"{n}e-{power}")) for unit, power in (("GB", 9), ("MB", 6))}
    binary = {unit: math.ldexp(n, -power) for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10))}
    return {unit: (decimal | binary)[unit] for unit in ("GB", "GiB", "MB", "MiB", "KiB")}


def _units_accepted(case: Case, units: object) -> bool:
    """Relative, so that a handful of bytes must be right too."""
    right = _units(case)
    if type(units) is not dict or units.keys() != right.keys():
        return False
    return all(
        type(units[unit]) in (int, float) and math.isclose(units[unit], value, rel_tol=1e-12, abs_tol=0.0)
        for unit, value in right.items()
    )


def _units_by_division(n_bytes):
    return {
        "GB": n_bytes / 10**9,
        "GiB": n_bytes / 2**30,
        "MB": n_bytes / 10**6,
        "MiB": n_bytes / 2**20,
        "KiB": n_bytes / 2**10,
    }


def _units_by_steps(n_bytes):
    kib = Fraction(n_bytes, 1024)
    kb = Fraction(n_bytes, 1000)
    return {"KiB": kib, "MiB": kib / 1024, "GiB": kib / 1024 / 1024, "MB": kb / 1000, "GB": kb / 1000 / 1000}


ANSWER = Answer(
    exercise=exercise("as_units"),
    expected=_units,
    tolerance=1e-12,
    accept=_units_accepted,
    misconceptions=(
        Misconception(
            "units_swapped",
            lambda n: {
                "GB": n / 2**30,
                "GiB": n / 10**9,
                "MB": n / 2**20,
                "MiB": n / 10**6,
                "KiB": n / 10**3,
            },
            Advice(
                "Did you swap the two families: GB is a power of ten, GiB a power of two?",
                (
                    "Which is larger, a GB or a GiB?",
                    "The i stands for binary: 1 GiB is 2**30 bytes, 1 GB is 10**9.",
                    "n / 10**9 is GB and n / 2**30 is GiB; likewise for MB and MiB.",
                ),
            ),
        ),
        Misconception(
            "all_binary",
            lambda n: {
                "GB": n / 2**30,
                "GiB": n / 2**30,
                "MB": n / 2**20,
                "MiB": n / 2**20,
                "KiB": n / 2**10,
            },
            Advice(
                "Did you divide by powers of two for the decimal units as well?",
                (
                    "How many bytes are in 1 GB? The answer ends in zeros.",
                    "GB and MB are decimal: 10**9 and 10**6.",
                    "Use 10**9 for GB and 10**6 for MB.",
                ),
            ),
        ),
        Misconception(
            "all_decimal",
            lambda n: {
                "GB": n / 10**9,
                "GiB": n / 10**9,
                "MB": n / 10**6,
                "MiB": n / 10**6,
                "KiB": n / 10**3,
            },
            Advice(
                "Did you divide by powers of ten for the binary units as well?",
                (
                    "How many bytes are in 1 KiB?",
                    "GiB, MiB and KiB are binary: 2**30, 2**20 and 2**10.",
                    "Use 2**30, 2**20 and 2**10 for the units with an i.",
                ),
            ),
        ),
        Misconception(
            "kib_decimal",
            lambda n: _units_by_division(n) | {"KiB": n / 1000},
            Advice(
                "Did you divide by 1000 for KiB?",
                (
                    "Which of your five values is wrong?",
                    "kB would be 1000 bytes. KiB has the binary i.",
                    "n_bytes / 2**10.",
                ),
            ),
        ),
        Misconception(
            "whole_units_only",
            lambda n: {unit: int(value) for unit, value in _units_by_steps(n).items()},
            Advice(
                "Did you drop what lies behind the decimal point?",
                (
                    "How many GB are 500,000,000 bytes?",
                    "`//` and `int()` throw the fraction away.",
                    "Divide with `/`, or return a Fraction.",
                ),
            ),
        ),
        Misconception(
            "rounded_units",
            lambda n: {unit: round(value, 2) for unit, value in _units_by_division(n).items()},
            Advice(
                "Did you round the number, although it was to be exact?",
                (
                    "Which digits are gone?",
                    "Round when you print, not when you compute.",
                    "Return n / 10**9 itself, without round().",
                ),
            ),
        ),
    ),
    alternatives=(_units_by_division, _units_by_steps),
    hints=(
        "Two families of units: one counts in thousands, the other in 1024s.",
        "GB and MB are 10**9 and 10**6 bytes; GiB, MiB and KiB are 2**30, 2**20 and 2**10.",
        'Return {"GB": n_bytes / 10**9, "GiB": n_bytes / 2**30, …} with all five keys.',
    ),
)
