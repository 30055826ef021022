"""The only clock of the course."""

import contextlib
import time
from collections.abc import Callable, Iterator

from kvlab.trials import summarise as summarise
from kvlab.trials import time_call as time_call


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
