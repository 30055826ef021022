"""The clock: what a device takes is asked of the device, and a thread can play one."""

import threading
from contextlib import nullcontext
from itertools import count

import pytest
import torch

from kvlab.bench import clock


def test_a_cpu_is_timed_call_by_call(monkeypatch):
    readings, calls = count(step=10), []
    monkeypatch.setattr(clock.time, "perf_counter_ns", lambda: next(readings))
    assert clock.device_seconds(lambda: calls.append("fn"), 2, 3, "cpu") == [1e-8] * 3
    assert calls == ["fn"] * 5


def test_a_gpu_marks_each_trial_in_its_own_queue_after_the_warm_up(monkeypatch):
    """Events and waits are played here; that the queue keeps time is the device's part."""
    calls = []

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            calls.append(self)

        def elapsed_time(self, end):
            assert calls[-1] == "wait"
            return float(calls.index(end) - calls.index(self))

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda *_: calls.append("wait"))
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    seconds = clock.device_seconds(lambda: calls.append("fn"), 1, 2, "cuda")
    assert seconds == [0.002, 0.002]  # milliseconds, of three entries in the queue each
    assert [each if isinstance(each, str) else "mark" for each in calls] == [
        *("fn", "wait"),
        *("mark", "fn", "mark"),
        *("mark", "fn", "mark"),
        "wait",
    ]


def test_only_a_gpu_is_waited_for(monkeypatch):
    waited = []
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    clock.synchronize("cpu")
    assert waited == []
    clock.synchronize("cuda")
    assert waited == ["cuda"]


def test_a_background_device_returns_at_once_and_works_in_order():
    gate, done = threading.Event(), []
    with clock.Background() as background:
        background.launch(gate.wait)
        background.launch(lambda: done.append(1))
        background.launch(lambda: done.append(2))
        assert done == []  # the first call is still waiting for the gate
        gate.set()
        background.synchronize()
        assert done == [1, 2]
        background.synchronize()  # nothing is pending


def test_what_fails_in_the_background_is_raised_where_somebody_waits():
    with clock.Background() as background:
        background.launch(lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            background.synchronize()
        background.launch(lambda: None)
        background.synchronize()
