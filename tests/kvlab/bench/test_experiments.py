"""The recording is whole, the ledger's measured numbers come from it, and the live comparisons have its form."""

from statistics import median

import pytest
import torch

from kvlab import evidence
from kvlab.bench import clock, experiments, recordings
from kvlab.caches import elements_copied

RECORDING = recordings.read("grouped_query_cache")


def ratio(experiment, tokens, of):
    costly, lean = (row for row in RECORDING[experiment] if row["tokens"] == tokens)
    return of(costly) / of(lean)


def seconds(row):
    return median(row["seconds"])


@pytest.mark.parametrize(
    ("id", "value"),
    [
        ("E-05-02", ratio("appending", 4096, seconds)),
        ("E-05-03", ratio("appending", 512, seconds)),
        ("E-05-04", ratio("attending", 4096, lambda row: row["peak_bytes"])),
        ("E-05-05", ratio("attending", 4096, seconds)),
    ],
)
def test_a_measured_number_is_the_recorded_one_rounded(id, value):
    entry = evidence.ledger()[id]
    digits = len(entry.value.partition(".")[2])
    assert entry.kind == "measured" and float(entry.number) == round(value, digits)


def test_every_trial_is_there_with_what_is_needed_to_read_it():
    about = RECORDING["about"]
    assert {"machine", "threads", "dtype", "python", "torch", "system", "date", "trials"} <= set(about)
    assert (about["appended"], about["attended"]) == (experiments.APPENDED, experiments.ATTENDED)
    for experiment in ("appending", "attending"):
        rows = RECORDING[experiment]
        assert [row["tokens"] for row in rows] == [n for n in experiments.TOKENS for _ in range(2)]
        assert all(len(row["seconds"]) == about["trials"] and min(row["seconds"]) > 0 for row in rows)
    row_elements = 2 * about["appended"]["num_kv_heads"] * about["appended"]["head_dim"]
    pairs = [elements_copied(n, row_elements) for n in experiments.TOKENS]
    assert [row["elements"] for row in RECORDING["appending"]] == [n for pair in pairs for n in pair]
    assert recordings.label(about) == (
        f"recorded {about['date']} · {about['machine']} · 1 thread · torch {about['torch']} · float32"
    )


def test_the_bytes_do_not_depend_on_the_machine():
    live = experiments.attending(tokens=(512,), trials=1)
    assert [row["peak_bytes"] for row in live] == [row["peak_bytes"] for row in RECORDING["attending"][:2]]


def test_a_recording_is_written_as_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "appending", lambda tokens, trials: experiments_appending((3, 4), trials))
    monkeypatch.setattr(experiments, "attending", lambda tokens, trials: experiments_attending((5,), trials))
    path = experiments.record("a machine", 2, tmp_path)
    written = recordings.read("grouped_query_cache", tmp_path)
    assert path.parent == tmp_path and list(written) == list(RECORDING)
    assert [list(row) for row in written["appending"]] == [["tokens", "way", "elements", "seconds"]] * 4
    assert [list(row) for row in written["attending"]] == [["tokens", "way", "peak_bytes", "seconds"]] * 2
    assert written["about"].keys() == RECORDING["about"].keys() and written["about"]["machine"] == "a machine"


experiments_appending, experiments_attending = experiments.appending, experiments.attending


def test_functions_take_turns_and_the_first_call_of_each_is_not_counted(monkeypatch):
    calls, readings = [], iter(range(100))
    monkeypatch.setattr(clock.time, "perf_counter", lambda: next(readings))
    seconds = clock.take_turns({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert calls == list("ababab") and seconds == {"a": [1, 1], "b": [1, 1]}


def test_one_thread_is_given_back_also_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(KeyError), clock.one_thread():
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == before
