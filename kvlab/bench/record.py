"""Everything that lesson 11 measures, on this machine, in one file: `python -m kvlab.bench --record FILE`.

It takes less than five minutes. Nothing is downloaded, and nothing but FILE is written.
"""

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import torch
import typer

from kvlab.bench import machine, memory, recordings, sweep
from kvlab.bench.clock import Background, synchronize, take_turns, time_call
from kvlab.bench.kernels import attention_kernels
from kvlab.bench.model import Decoder
from kvlab.sizes import MIB

PROMPT, NEW_TOKENS = 256, 32
SETTLE = 1.2  # seconds before free memory is read: Linux counts it about once a second


def measure(
    plan: machine.Plan, device: str | torch.device = "cpu", trials: int = 15, budget_seconds: float = 90
) -> dict[str, object]:
    """A recording of `plan` on a device: "about", "limits", and rows under "points", "prefill", "answers", "memory"."""
    walked = memory.walk(device, 256 * MIB, SETTLE)  # first: what a process has freed already fills with small pieces
    copy, decoder = sweep.Copy(plan.copied_bytes, device), Decoder(plan.shape, plan.dtype, device)
    return {
        "about": machine.describe(device) | about(decoder, plan, trials),
        "limits": {
            "copied_bytes": copy.moved_bytes,
            "copy_seconds": copy(trials),
            "without_waiting": without_waiting(copy),
            "matmul": sweep.matmul_limit(plan.dtype, device),
        },
        "points": there_and_back(decoder, copy, plan, trials, budget_seconds),
        "prefill": sweep.prefill_seconds(decoder, (128, 256, 512, 1024)),
        "answers": answers(decoder),
        "memory": walked,
    }


def there_and_back(
    decoder: Decoder, copy: sweep.Copy, plan: machine.Plan, trials: int, budget_seconds: float
) -> list[dict]:
    """The rows of a sweep from small caches to large, with as many trials again on the way back.

    A machine that grows slower meanwhile would otherwise bend the line through the contexts.
    """
    points = [(way, context, batch) for way in sweep.WAYS for context in plan.contexts for batch in plan.batches]
    there = partial(sweep.step_row, decoder, copy, trials - trials // 2)
    rows = sweep.kept(sweep.sweep(points, there, plan.cache_bytes, budget_seconds))
    for row in reversed([row for row in rows if row["outcome"] == "measured"]):
        back = sweep.step_row(decoder, copy, trials // 2, row["way"], row["context"], row["batch"])
        for key in ("seconds", "copy_seconds"):
            row[key] += back[key]
    return rows


def about(decoder: Decoder, plan: machine.Plan, trials: int) -> dict:
    """What the times belong to: the model, its number type, the attention kernel of a decode step, and the trials."""
    step = sweep.preallocated(decoder, 1, 16)
    return {
        "dtype": str(plan.dtype).removeprefix("torch."),
        "bits": plan.bits,
        "config": plan.shape.attention_config,
        "shape": vars(plan.shape),
        "num_params": plan.shape.num_params,
        "attention_kernels": attention_kernels(step),
        "warmup": sweep.WARMUP,
        "trials": trials,
        "plan": plan.reason,
        "communication": "none: one device",
    }


def without_waiting(copy: sweep.Copy, trials: int = 5) -> list[float]:
    """Seconds of the same copy on a clock that does not wait: on a CPU, for a thread in the background."""
    with Background() as background:
        start = copy.start if copy.device.type == "cuda" else partial(background.launch, copy.start)
        seconds = time_call(start, 1, trials, synchronize=lambda: None, clock=time.perf_counter_ns)
        background.synchronize()
    synchronize(copy.device)
    return seconds


def answers(decoder: Decoder, batch: int = 4, trials: int = 3) -> list[dict]:
    """Whole answers to a prompt, by the loop of the course and by `generate` of `transformers`: a row for each.

    A row has `way`, batch, prompt, new_tokens, and the `seconds` of all trials; that of the course also `stamps`, the
    seconds from the start to each token, of the last trial.
    """
    model = sweep.llama(decoder)
    ids = torch.arange(batch * PROMPT, device=decoder.device).view(batch, -1) % decoder.shape.vocab_size
    stamps = []

    def ours():
        start = time.perf_counter()
        stamps[:] = [stamp - start for stamp in sweep.generate(decoder, ids, NEW_TOKENS)[1]]

    def theirs():
        sweep.generate_by_transformers(model, ids, NEW_TOKENS)

    sizes = {"batch": batch, "prompt": PROMPT, "new_tokens": NEW_TOKENS}
    seconds = take_turns({"this course": ours, "transformers": theirs}, trials)
    rows = [{"way": way, **sizes, "seconds": times} for way, times in seconds.items()]
    rows[0]["stamps"] = stamps
    return rows


def main(
    record: Annotated[Path, typer.Option(help="The JSON file to write.")],
    name: Annotated[str, typer.Option(help="The machine in words, for example the cloud's name of it.")] = "",
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:1; without it the first GPU, or the CPU.")] = "",
    trials: Annotated[int, typer.Option(min=3, help="Trials of each point.")] = 15,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a CPU.")] = 1,
) -> None:
    """Measure decode, prefill, copies and memory on one device, and write every trial to a file."""
    if record.suffix != ".json" or record.exists() or not record.parent.is_dir():
        raise typer.BadParameter(f"--record: wanted a new file, something.json, in a folder that exists, got {record}")
    torch.set_num_threads(threads)
    chosen = torch.device(device) if device else machine.best_device()
    plan = machine.plan(chosen)
    typer.echo(f"{plan.reason}. This takes up to five minutes.")
    recording = measure(plan, chosen, trials)
    recording["about"]["machine"] = name or recording["about"]["device_name"]
    typer.echo(recordings.write(record.stem, recording, record.parent))
