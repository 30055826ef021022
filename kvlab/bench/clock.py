"""The only clock of the course: a call timed in trials, many trials told in few numbers, and what to wait for."""

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Self

from kvlab.sizes import whole

if TYPE_CHECKING:  # most of the course needs a clock and no PyTorch
    import torch

CHOICE = "KVLAB_PLAN"  # an environment variable: "smallest" measures little, wherever a notebook only has to run


def smallest_wanted() -> bool:
    """Whether the environment asks for measurements in the smallest size."""
    return os.environ.get(CHOICE) == "smallest"


def time_call(
    fn: Callable[[], object],
    warmup: int,
    trials: int,
    synchronize: Callable[[], object],
    clock: Callable[[], int],
) -> list[float]:
    """Seconds of each of `trials` calls of `fn`, in order, after `warmup` calls that are not counted.

    `fn()` starts work and may return before it is done; `synchronize()` returns when all started work is done;
    `clock()` gives whole nanoseconds. No trial starts while earlier work is pending. ValueError, before anything is
    called, for fewer than one trial or a negative warm-up.
    """
    trials, warmup = whole("trials", trials), whole("warmup", warmup, at_least=0)
    for _ in range(warmup):
        fn()
    seconds = []
    for _ in range(trials):
        synchronize()
        start = clock()
        fn()
        synchronize()
        # Whole numbers are subtracted first: a float has no room for the nanoseconds of a clock that counts from 1970.
        seconds.append((clock() - start) / 1e9)
    return seconds


def summarise(trials: Iterable[float]) -> dict[str, int | float]:
    """A dict of "trials" (how many), "median", "p10" and "p90" of some seconds, in any order.

    A percentile between two ranks is interpolated on a straight line, as `numpy.percentile` does. ValueError for no
    trial and for one that is negative or not finite.
    """
    ordered = sorted(map(_seconds, trials))
    if not ordered:
        raise ValueError("trials: wanted the seconds of one trial at least, got none")

    def percentile(q: float) -> float:
        rank = q / 100 * (len(ordered) - 1)
        below = math.floor(rank)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (rank - below) * (ordered[above] - ordered[below])

    return {"trials": len(ordered), "median": percentile(50), "p10": percentile(10), "p90": percentile(90)}


def _seconds(value: float) -> float:
    if not 0 <= value < math.inf:
        raise ValueError(f"trials: wanted seconds from 0 on, got {value!r}")
    return float(value)


def take_turns(calls: dict[str, Callable[[], object]], trials: int) -> dict[str, list[float]]:
    """Seconds of each of `trials` calls of every function, after one call of each that is not counted.

    The functions take turns, so that whatever else the machine does meanwhile meets all of them.
    """
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(trials):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(round(time.perf_counter() - start, 9))  # the clock's own resolution
    return seconds


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch computes in one thread inside: times are steadier, and small tensors are not worth waking another."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def device_seconds(
    fn: Callable[[], object], warmup: int, trials: int, device: "str | torch.device" = "cpu"
) -> list[float]:
    """Seconds that `device` takes for each of `trials` calls of `fn`, after `warmup` calls that are not counted.

    A GPU marks the start and the end of each call in its own queue (CUDA events), so that the host may run ahead.
    """
    import torch

    device = torch.device(device)
    if device.type != "cuda":
        return time_call(fn, warmup, trials, synchronize=lambda: None, clock=time.perf_counter_ns)
    for _ in range(warmup):
        fn()
    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(trials)]
    with torch.cuda.device(device):
        torch.cuda.synchronize()
        for start, end in marks:
            start.record()
            fn()
            end.record()
        torch.cuda.synchronize()
    return [start.elapsed_time(end) / 1e3 for start, end in marks]


def synchronize(device: "str | torch.device" = "cpu") -> None:
    """Wait until a device has done all that it was told to do. A CPU has, when a call returns."""
    import torch

    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


class Background:
    """A device that works while its host goes on, as a GPU does: one thread that takes calls in their order."""

    def __init__(self):
        self._worker, self._queued = ThreadPoolExecutor(max_workers=1), []

    def launch(self, fn: Callable[[], object]) -> None:
        """Queue a call, and return at once."""
        self._queued.append(self._worker.submit(fn))

    def synchronize(self) -> None:
        """Return when every queued call is done. What one of them raised is raised here."""
        queued, self._queued = self._queued, []
        wait(queued)
        for each in queued:
            each.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self._worker.shutdown()
