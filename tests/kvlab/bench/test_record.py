"""One command makes a recording of a machine: whole, readable, and never over another file."""

import json
import subprocess
import sys
from statistics import median

import pytest
import torch
import typer
from typer.testing import CliRunner

from kvlab import evidence
from kvlab.bench import machine, memory, rates, record, recordings, sweep
from kvlab.bench.clock import one_thread
from kvlab.bench.model import Shape
from kvlab.bench.recordings import by_batch
from kvlab.explorers import decode_timing, out_of_memory

TINY = machine.Plan(Shape(2, 4, 2, 8, 32, 48, 40), torch.float32, (8, 16), (1, 2), 2**16, "a plan for tests")


def command(*arguments):
    app = typer.Typer()
    app.command()(record.main)
    with one_thread():
        return CliRunner().invoke(app, arguments)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    file = tmp_path_factory.mktemp("recording") / "decode_timing_here.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "plan", lambda device: TINY)
        patch.setattr(record, "SETTLE", 0.0)
        patch.setattr(record, "NEW_TOKENS", 3)
        result = command("--record", str(file), "--name", "a machine", "--device", "cpu", "--trials", "3")
    assert result.exit_code == 0, result.output
    assert file.name in result.output.replace("\n", "")
    return recordings.by_machine("decode_timing", file.parent)["a machine"]


def test_it_holds_every_trial_of_every_point(recording):
    points = [(row["way"], row["context"], row["batch"]) for row in recording["points"]]
    assert sorted(points) == sorted((way, c, b) for way in sweep.WAYS for c in (8, 16) for b in (1, 2))
    assert all(row["outcome"] == "measured" and len(row["seconds"]) == 3 for row in recording["points"])
    assert {row["way"]: len(row["seconds"]) for row in recording["answers"]} == {"this course": 3, "transformers": 3}
    assert recording["answers"][0]["stamps"] == sorted(recording["answers"][0]["stamps"])
    assert len(recording["answers"][0]["stamps"]) == 3
    assert [row["tokens"] for row in recording["prefill"]] == [128, 256, 512, 1024]


def test_it_says_where_and_with_what(recording):
    about = recording["about"]
    assert about["machine"] == "a machine" and about["dtype"] == "float32" and about["bits"] == 32
    assert about["attention_kernels"] == ["_scaled_dot_product_flash_attention_for_cpu"]
    assert about["config"] == TINY.shape.attention_config and about["num_params"] == TINY.shape.num_params
    assert about["threads"] == 1 and about["plan"] == "a plan for tests"
    assert recordings.label(about).startswith(f"recorded {about['date']} · a machine · 1 thread · torch ")


def test_the_limits_are_measured_and_the_hasty_clock_is_hasty(recording):
    limits = recording["limits"]
    assert limits["copied_bytes"] == 2 * 2**16 and len(limits["copy_seconds"]) == 3
    assert limits["matmul"]["flops"] == 2 * 2048**3 and min(limits["matmul"]["seconds"]) > 0
    assert len(limits["without_waiting"]) == 5


def test_the_explorers_read_it(recording):
    assert decode_timing.static_figure({"a machine": recording}).png()
    assert out_of_memory.static_figure({"a machine": recording}).png()


@pytest.mark.parametrize("name", ["taken.json", "words.txt", "nowhere/new.json"])
def test_what_cannot_be_written_is_refused_before_anything_is_measured(tmp_path, monkeypatch, name):
    monkeypatch.setattr(record, "measure", lambda *_: pytest.fail("it measured"))
    (tmp_path / "taken.json").write_text(json.dumps("kept"))
    result = command("--record", str(tmp_path / name))
    assert result.exit_code == 2 and "wanted a new file" in result.output
    assert json.loads((tmp_path / "taken.json").read_text()) == "kept"


def test_the_folder_is_the_command():
    done = subprocess.run([sys.executable, "-m", "kvlab.bench", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "--record" in done.stdout and "--device" in done.stdout


# --- what the repository carries -------------------------------------------------------------------------------

CARRIED = recordings.read("decode_timing_cpu")


def found(way, batch):
    return by_batch(CARRIED, way, rates.step_bytes, rates.fit_line)[batch]


def rate(batch):
    return found("preallocated", batch).row_rate / found("preallocated", batch).copy_rate


def at_zero(batch):
    return found("preallocated", batch).line[1]


def longest(batch):
    trials = found("preallocated", batch).trials
    return trials[max(trials)]


def over_the_bound(each):
    context = max(each.trials)
    return median(each.trials[context]) / each.bounds[context]


@pytest.mark.parametrize(
    ("id", "value"),
    [
        ("E-11-07", rate(1)),
        ("E-11-08", rate(4)),
        ("E-11-09", at_zero(4) / at_zero(1)),
        ("E-11-10", over_the_bound(found("concatenated", 4))),
        ("E-11-12", over_the_bound(found("preallocated", 1))),
        ("E-11-13", over_the_bound(found("preallocated", 4))),
        ("E-11-11", median(longest(4)) / median(longest(1))),
    ],
)
def test_a_measured_number_is_the_recorded_one_rounded(id, value):
    entry = evidence.ledger()[id]
    digits = len(entry.value.partition(".")[2])
    assert entry.kind == "measured" and float(entry.number) == round(value, digits)


def test_a_recording_that_the_repository_carries_is_whole():
    about = CARRIED["about"]
    assert about["trials"] >= 15 and about["threads"] == 1 and about["attention_kernels"]
    assert {row["outcome"] for row in CARRIED["points"]} == {"measured"}
    assert all(len(row["seconds"]) == about["trials"] for row in CARRIED["points"])
    assert {row["scene"] for row in CARRIED["memory"]} == set(memory.SCENES) - {"graph capture"}
