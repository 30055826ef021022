"""Devices: nominal memory and peak rates as their makers print them, read from data/gpus.csv.

Nominal means printed on the box: what a program can use is less, and a peak is never reached in full.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from kvlab.sizes import GB

GPUS = Path(__file__).parent / "data" / "gpus.csv"


@dataclass(frozen=True)
class Gpu:
    """One device. GB = 10^9 bytes."""

    name: str
    memory_gb: int  # nominal
    peak_bandwidth_gb_s: float
    dense_bf16_tflops: float  # 10^12 operations per second, without sparsity
    note: str
    source: str

    @property
    def memory_bytes(self) -> int:
        """Nominal memory in bytes, taking the printed GB as 10^9."""
        return self.memory_gb * GB


def gpus() -> dict[str, Gpu]:
    """All devices by name, in the order of the file."""
    return dict(_gpus())


@cache
def _gpus():
    with GPUS.open(encoding="utf-8", newline="") as file:
        rows = [
            Gpu(
                name=row["gpu"],
                memory_gb=int(row["memory_gb"]),
                peak_bandwidth_gb_s=float(row["peak_bandwidth_gb_s"]),
                dense_bf16_tflops=float(row["dense_bf16_tflops"]),
                note=row["note"],
                source=row["source"],
            )
            for row in csv.DictReader(file)
        ]
    return MappingProxyType({row.name: row for row in rows})
