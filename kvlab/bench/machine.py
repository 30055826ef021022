"""The device that a measurement runs on: what it is, how much of its memory is free, and what fits there."""

import platform
import subprocess
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path

import psutil
import torch

from kvlab.bench.clock import CHOICE, smallest_wanted
from kvlab.bench.model import Shape
from kvlab.sizes import GB, bytes_per_token, weight_bytes

CGROUP = Path("/sys/fs/cgroup")  # where Linux says what a container may use; elsewhere it does not exist


def best_device() -> torch.device:
    """The first CUDA device, or else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def free_bytes(device: str | torch.device = "cpu") -> int:
    """Bytes that a program can still take: of a GPU as its driver says, else of the machine or of its container."""
    if torch.device(device).type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return min([psutil.virtual_memory().available, *_container_bytes()])


def _container_bytes() -> list[int]:
    """What the container's limit leaves. Caches of files count as used there, so this is never too much."""
    try:
        limit, used = ((CGROUP / f"memory.{name}").read_text().strip() for name in ("max", "current"))
    except OSError:
        return []
    return [] if limit == "max" else [max(0, int(limit) - int(used))]


def describe(device: str | torch.device = "cpu") -> dict[str, object]:
    """What a reader must know about where and with what something was measured."""
    device = torch.device(device)
    about = {
        "device": device.type,
        "device_name": _cpu_name(),
        "threads": torch.get_num_threads(),
        "free_bytes": free_bytes(device),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
        "system": platform.system(),
        "date": date.today().isoformat(),
    }
    if device.type == "cuda":
        about |= {"device_name": torch.cuda.get_device_name(device), "cuda": torch.version.cuda, "driver": _driver()}
    return about


def _cpu_name() -> str:
    """The processor's name where the system tells it, else its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _driver() -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown: nvidia-smi did not answer"


@dataclass(frozen=True)
class Plan:
    """What is measured on a device: few layers, so that they fit, each as wide as one of a real model."""

    shape: Shape
    dtype: torch.dtype
    contexts: tuple[int, ...]  # tokens of each request, the new one included
    batches: tuple[int, ...]  # requests in a step
    copied_bytes: int  # far more than the processor's own caches hold, where memory allows
    reason: str = ""

    @property
    def bits(self) -> int:
        """Bits of one element, of weights and cache alike."""
        return self.dtype.itemsize * 8

    def cache_bytes(self, context: int, batch: int) -> int:
        """Bytes of K and V of `batch` requests that hold `context` tokens each."""
        return batch * context * bytes_per_token(self.shape.attention_config, self.bits)

    @property
    def largest_bytes(self) -> int:
        """Bytes of the weights, of the largest cache, and of a second one as large."""
        cache = self.cache_bytes(max(self.contexts), max(self.batches))
        return weight_bytes(self.shape.num_params, self.bits) + 2 * cache


WIDE, MIDDLE, NARROW = (
    Shape(4, 32, 8, 128, 4096, 14336, 32000),  # layers of Llama-3-8B
    Shape(4, 8, 2, 128, 1024, 2816, 4096),
    Shape(2, 8, 2, 64, 512, 1408, 4096),
)
PLANS = {  # largest first
    "cuda": (
        Plan(WIDE, torch.bfloat16, (512, 2048, 4096, 16384, 65536), (1, 4, 16), 2**30),
        Plan(WIDE, torch.bfloat16, (512, 2048, 4096, 16384), (1, 4), 2**30),
        Plan(MIDDLE, torch.bfloat16, (512, 2048, 4096), (1, 4), 2**28),
    ),
    "cpu": (
        Plan(MIDDLE, torch.float32, (512, 2048, 4096, 16384), (1, 4), 2**28),
        Plan(MIDDLE, torch.float32, (512, 2048, 4096), (1, 4), 2**28),
        Plan(NARROW, torch.float32, (512, 1024, 2048), (1, 2), 2**26),
    ),
}


def plan(device: str | torch.device = "cpu") -> Plan:
    """The largest plan that takes at most half of the free memory, else the smallest; `reason` says which and why."""
    free, kind = free_bytes(device), torch.device(device).type
    *others, smallest = PLANS[kind]
    asked = smallest_wanted()
    chosen = next((each for each in others if each.largest_bytes <= free / 2 and not asked), smallest)
    why = f"as {CHOICE} asks" if asked else "the smallest plan" if chosen is smallest else "at most half of that"
    sizes = f"{chosen.largest_bytes / GB:.2f} GB for the weights, the largest cache and a copy of it"
    return replace(chosen, reason=f"{free / GB:.1f} GB are free on the {kind}; the plan takes {sizes}: {why}")


def check_room(wanted: int, device: str | torch.device = "cpu") -> None:
    """MemoryError when `wanted` bytes exceed nine tenths of what a CPU has free. A GPU refuses by itself.

    An operating system promises more memory than it has, and ends a program that believes it.
    """
    free = free_bytes(device)
    if torch.device(device).type == "cpu" and wanted > 0.9 * free:
        raise MemoryError(f"wanted {wanted / GB:.1f} GB, {free / GB:.1f} GB are free")
