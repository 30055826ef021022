"""The plan fits the free memory and says why; what a container may not use is not free."""

import subprocess
import sys

import pytest

from kvlab.bench import machine
from kvlab.sizes import GB

PLANS = machine.PLANS["cpu"]


@pytest.fixture
def free(monkeypatch):
    monkeypatch.delenv(machine.CHOICE, raising=False)
    return lambda n_bytes: monkeypatch.setattr(machine, "free_bytes", lambda device="cpu": n_bytes)


@pytest.mark.parametrize(
    ("n_bytes", "place", "why"),
    [
        (2 * PLANS[0].largest_bytes, 0, "at most half of that"),
        (2 * PLANS[0].largest_bytes - 1, 1, "at most half of that"),
        (2 * PLANS[1].largest_bytes - 1, 2, "the smallest plan"),
        (0, 2, "the smallest plan"),
    ],
)
def test_the_largest_plan_that_takes_half_of_the_free_memory_is_taken(free, n_bytes, place, why):
    free(n_bytes)
    chosen = machine.plan("cpu")
    assert (chosen.shape, chosen.contexts) == (PLANS[place].shape, PLANS[place].contexts)
    assert chosen.reason.endswith(why) and f"{n_bytes / GB:.1f} GB are free on the cpu" in chosen.reason


def test_the_smallest_plan_can_be_asked_for(free, monkeypatch):
    free(10**15)
    monkeypatch.setenv(machine.CHOICE, "smallest")
    chosen = machine.plan("cpu")
    assert chosen.shape == PLANS[-1].shape and chosen.reason.endswith("as KVLAB_PLAN asks")


@pytest.mark.parametrize("kind", machine.PLANS)
def test_plans_grow_smaller_and_count_weights_and_two_caches(kind):
    plans = machine.PLANS[kind]
    assert [each.largest_bytes for each in plans] == sorted((each.largest_bytes for each in plans), reverse=True)
    for each in plans:
        rows = 2 * each.shape.num_layers * each.shape.num_kv_heads * each.shape.head_dim
        cache = rows * max(each.contexts) * max(each.batches) * each.dtype.itemsize
        assert each.largest_bytes == each.shape.num_params * each.dtype.itemsize + 2 * cache


def test_a_containers_limit_leaves_less_than_the_machine_has(monkeypatch, tmp_path):
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("3800\n")
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    assert machine.free_bytes() == 1200
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.free_bytes() > 5000
    monkeypatch.setattr(machine, "CGROUP", tmp_path / "elsewhere")
    assert machine.free_bytes() > 5000


def test_what_cannot_fit_is_refused_before_it_is_tried(free):
    free(10 * GB)
    machine.check_room(9 * GB)
    with pytest.raises(MemoryError, match=r"wanted 9\.5 GB, 10\.0 GB are free"):
        machine.check_room(9 * GB + GB // 2)


def test_a_description_says_where_and_with_what():
    about = machine.describe()
    wanted = {"device", "device_name", "threads", "free_bytes", "python", "torch", "transformers", "system", "date"}
    assert set(about) == wanted and about["device"] == "cpu" and about["device_name"] and about["free_bytes"] > 0


def test_measuring_imports_transformers_only_where_it_runs():
    code = "import kvlab.bench.record, sys; print('transformers' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_the_versions_are_those_of_the_packages_in_use():
    import transformers

    assert machine.describe()["transformers"] == transformers.__version__
