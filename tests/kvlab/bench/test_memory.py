"""Each scene moves the number that it is about; sizes are exact where we make the tensors."""

import pytest

from kvlab.bench.memory import PIECE, SCENES, Meter, walk
from kvlab.sizes import MIB

SIZE = 64 * MIB  # glibc never keeps pieces of more than 32 MiB for itself


@pytest.fixture(scope="module")
def rows():
    return walk("cpu", SIZE)


def numbers(rows, scene, key):
    return [row[key] for row in rows if row["scene"] == scene]


def test_every_scene_of_a_cpu_has_three_moments(rows):
    assert [row["scene"] for row in rows] == [name for name in SCENES if name != "graph capture" for _ in range(3)]
    assert all(set(row) == {"scene", "moment", "tensors", "process", "machine_free"} for row in rows)


@pytest.mark.parametrize(
    ("scene", "tensors"),
    [
        ("growth", [SIZE, 2 * SIZE, SIZE]),
        ("workspace", [SIZE // 4, SIZE + SIZE // 4, SIZE // 4]),
        ("another process", [0, 0, 0]),
        ("fragmentation", [SIZE, SIZE // 2, SIZE]),
    ],
)
def test_living_tensors_are_counted_exactly(rows, scene, tensors):
    assert numbers(rows, scene, "tensors") == tensors


def test_what_a_process_takes_grows_with_a_second_generation_of_a_cache(rows):
    before, during, after = numbers(rows, "growth", "process")
    assert during - before > SIZE / 2 < during - after


def test_pieces_are_small_enough_to_share_pages_and_fill_the_size(rows):
    assert PIECE < 128 * 1024 and SIZE % (2 * PIECE) == 0


def test_a_meter_counts_from_the_moment_that_it_was_made():
    meter = Meter()
    assert meter.reading("now")["tensors"] == 0
    meter.make(5)
    meter.make(7)
    reading = meter.reading("then")
    assert reading["tensors"] == 12 and reading["moment"] == "then" and reading["machine_free"] > 0
