"""Five ways to run out of memory after a model has loaded, each acted out small, with what the allocators then say.

A reading has three numbers of bytes. `tensors`: what living tensors hold. `process`: what this process has taken for
them, on a GPU PyTorch's reserve, on a CPU the growth of its resident memory. `machine_free`: what is left for anybody.
On a CPU the last two also follow what the rest of the process and the machine do meanwhile.
"""

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil
import torch

from kvlab.bench.machine import free_bytes
from kvlab.sizes import MIB

PIECE = 64 * 1024  # bytes; from 128 KiB on, Linux gives each allocation pages of its own, and takes them back


class Meter:
    """Reads the allocators of a device, from the moment that it was made.

    Linux counts free memory about once a second (its vm.stat_interval): a reading waits `settle` seconds for that.
    """

    def __init__(self, device: str | torch.device = "cpu", settle: float = 0.0):
        self.device, self.settle, self.living = torch.device(device), settle, []
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        self._taken = self._process()

    def make(self, n_bytes: int) -> None:
        """A living tensor, every byte of it written: an operating system counts only pages that somebody touched."""
        self.living.append(torch.ones(n_bytes, dtype=torch.uint8, device=self.device))

    def reading(self, moment: str) -> dict[str, str | int]:
        """The three numbers now, under the name of this moment."""
        time.sleep(self.settle)
        return {
            "moment": moment,
            "tensors": sum(tensor.nbytes for tensor in self.living),
            "process": self._process() - self._taken,
            "machine_free": free_bytes(self.device),
        }

    def _process(self) -> int:
        if self.device.type == "cuda":
            return torch.cuda.memory_reserved(self.device)
        return psutil.Process().memory_info().rss


def growth(meter: Meter, n_bytes: int) -> Iterator[dict]:
    """A cache that grows by concatenation: old and new live at once."""
    meter.make(n_bytes)
    yield meter.reading("a full cache")
    meter.make(n_bytes)  # what torch.cat makes, as large as the old one and a row
    yield meter.reading("a row is appended")
    del meter.living[0]
    yield meter.reading("the old one is freed")


def workspace(meter: Meter, n_bytes: int) -> Iterator[dict]:
    """Attention that writes its scores: gone after each layer, but there once."""
    meter.make(n_bytes // 4)
    yield meter.reading("a prompt's cache")
    meter.make(n_bytes)
    yield meter.reading("its scores are written")
    del meter.living[1]
    yield meter.reading("the scores are freed")


def graph_capture(meter: Meter, n_bytes: int) -> Iterator[dict]:
    """A captured graph keeps a pool of its own, also while it does not run. Needs a GPU."""
    meter.make(n_bytes // 4)
    yield meter.reading("before the capture")
    graph, kept = torch.cuda.CUDAGraph(), meter.living[0]
    with torch.cuda.graph(graph):
        result = kept.repeat(4) + 1
    yield meter.reading("a graph is captured")
    del result
    yield meter.reading("its result is let go")
    del graph


def another_process(meter: Meter, n_bytes: int) -> Iterator[dict]:
    """A second program takes memory: only the machine's number moves."""
    yield meter.reading("alone")
    if meter.device.type == "cuda":
        take = f"import torch; kept = torch.ones({n_bytes}, dtype=torch.uint8, device='{meter.device}')"
    else:
        take = f"kept = bytes([1]) * {n_bytes}"
    program = f"{take}; print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        other.stdout.readline()
        yield meter.reading("a second program holds some")
        other.communicate("\n")
    yield meter.reading("it has ended")


def fragmentation(meter: Meter, n_bytes: int) -> Iterator[dict]:
    """Every second piece is freed: half the bytes are nobody's, and no large request finds room among them."""
    for _ in range(n_bytes // PIECE):
        meter.make(PIECE)
    yield meter.reading("many small pieces")
    del meter.living[::2]
    yield meter.reading("every second one is freed")
    meter.make(n_bytes // 2)
    yield meter.reading("half the bytes in one piece")


SCENES: dict[str, Callable[[Meter, int], Iterator[dict]]] = {
    "growth": growth,
    "workspace": workspace,
    "graph capture": graph_capture,
    "another process": another_process,
    "fragmentation": fragmentation,
}


def walk(
    device: str | torch.device = "cpu", n_bytes: int = 256 * MIB, settle: float = 0.0
) -> list[dict[str, str | int]]:
    """Act out every scene: a row for each of its moments, with the name of the scene and the three numbers.

    A scene that needs a GPU is left out where there is none.
    """
    rows = []
    for scene, act in SCENES.items():
        if scene == "graph capture" and torch.device(device).type != "cuda":
            continue
        rows += [{"scene": scene, **reading} for reading in act(Meter(device, settle), n_bytes)]
    return rows
