"""The only clock of the course."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait

from kvlab.trials import time_call

CHOICE = "KVLAB_PLAN"  # an environment variable: "smallest" measures little, wherever a notebook only has to run


def smallest_wanted() -> bool:
    """Whether the environment asks for measurements in the smallest size."""
    return os.environ.get(CHOICE) == "smallest"


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
    import torch  # here, because most of the course needs a clock and no PyTorch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def device_seconds(fn, warmup: int, trials: int, device="cpu") -> list[float]:
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


def synchronize(device="cpu") -> None:
    """Wait until a device has done all that it was told to do. A CPU has, when a call returns."""
    import torch

    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


class Background:
    """A device that works while its host goes on, as a GPU does: one thread that takes calls in their order."""

    def __init__(self):
        self._worker, self._queued = ThreadPoolExecutor(max_workers=1), []

    def launch(self, fn) -> None:
        """Queue a call, and return at once."""
        self._queued.append(self._worker.submit(fn))

    def synchronize(self) -> None:
        """Return when every queued call is done. What one of them raised is raised here."""
        queued, self._queued = self._queued, []
        wait(queued)
        for each in queued:
            each.result()

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self._worker.shutdown()


if __name__ == "__main__":
    import typer

    from kvlab.decode_record import main  # here, because what it measures with is this module

    typer.run(main)
