"""What the course promises about speed, measured in one run: `python -m tests.bench` prints, nothing asserts.

Each function below measures one thing and yields lines; add another to MEASUREMENTS. `python -m tests.bench --record
"a machine in words"` writes the recordings that lessons plot instead.
"""

import io
import statistics
import subprocess
import sys
import time

from tests.grading import bench as grading_bench

EVENTS = 40


def imports():
    """Seconds to import each package, in fresh processes; and whether that pulled in torch."""
    for package in ("kvlab", "autograde", "autograde.check"):
        program = (
            "import sys, time; start = time.perf_counter();"
            f"import {package};"
            "print(time.perf_counter() - start, 'torch' in sys.modules)"
        )
        command = [sys.executable, "-c", program]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(5)]
        runs = [run.stdout.split() for run in runs]
        seconds = statistics.median(float(run[0]) for run in runs)
        torch = "imports torch" if any(run[1] == "True" for run in runs) else "no torch"
        yield f"import {package}: {seconds * 1e3:.1f} ms, {torch} (median of 5; wanted ≤ 300 ms, no torch)"


def explorer():
    """Event to new picture on the kernel side: the explorer beside an `interact` that makes a new figure."""
    shipped = _milliseconds(*_shipped_explorer())
    naive = _milliseconds(*_naive_interact())
    yield f"explorer, event to picture: {shipped:.1f} ms (median of {EVENTS}; wanted ≤ 40 ms)"
    yield f"naive interact, event to picture: {naive:.1f} ms (median of {EVENTS})"
    yield f"explorer / naive: {shipped / naive:.2f} (wanted ≤ 0.33)"


def _shipped_explorer():
    from kvlab.explorers.byte_formula import explore

    widget = explore(_kv_bytes)
    return widget.shape["num_hidden_layers"], lambda: widget.picture.value


def _naive_interact():
    """What `interact` with the inline backend does: a new pyplot figure for each event, shown as PNG."""
    import ipywidgets
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    from IPython.core.pylabtools import print_figure

    shown = [b""]

    def draw(layers):
        figure, axes = plt.subplots(figsize=(5.4, 2.6))
        for row, heads in enumerate((32, 8, 1)):
            total = _kv_bytes(layers, 1, 8192, heads, 128, 16)
            axes.plot([2**10, total], [row, row])
            axes.plot(total, row, "o")
            axes.text(total, row, f"{total / 2**30:.4g} GiB")
        axes.axvline(80e9)
        axes.set_xscale("log", base=2)
        axes.set_xlim(2**10, 2**50)
        axes.set_yticks(range(3), ("MHA", "GQA", "MQA"))
        axes.set_xlabel("bytes of the whole batch (log scale)")
        shown[0] = print_figure(figure, "png")
        plt.close(figure)

    slider = ipywidgets.IntSlider(value=32, min=1, max=128)
    slider.observe(lambda change: draw(change["new"]), "value")
    return slider, lambda: shown[0]


def _milliseconds(slider, picture) -> float:
    """Median time of one slider event, each shown to change the pixels."""
    from PIL import Image

    seconds, last = [], None
    for step in range(EVENTS + 1):
        start = time.perf_counter()
        slider.value = 33 + step
        png = picture()
        seconds.append(time.perf_counter() - start)
        pixels = Image.open(io.BytesIO(png)).convert("RGB").tobytes()
        if pixels == last:
            raise RuntimeError(f"the event {slider.value} left the picture as it was")
        last = pixels
    return statistics.median(seconds[1:]) * 1e3  # the first event warms fonts and caches


def _kv_bytes(num_layers, batch, tokens, num_kv_heads, head_dim, bits_per_element):
    return (2 * num_layers * batch * tokens * num_kv_heads * head_dim * bits_per_element + 7) // 8


def checks():
    """One check of each exercise of lesson 02: a right answer, and the known mistake that takes longest to name."""
    from autograde.check import LEARNER_SEED, answer_of, examine
    from autograde.course import lesson

    slowest = {"right": 0.0, "wrong": 0.0}
    for name in lesson("02_byte_formula").exercises:
        answer = answer_of(name)
        candidates = {"right": answer.alternatives[0], "wrong": answer.misconceptions[-1].wrong}
        for kind, candidate in candidates.items():
            runs = []
            for _ in range(9):
                start = time.perf_counter()
                examine(answer, 1, candidate, LEARNER_SEED)
                runs.append(time.perf_counter() - start)
            slowest[kind] = max(slowest[kind], statistics.median(runs))
    for kind, seconds in slowest.items():
        yield f"one check, {kind} answer: {seconds * 1e3:.1f} ms (slowest exercise, median of 9; wanted ≤ 200 ms)"


def grouped_query_cache():
    """Lesson 05: concatenation against preallocation, expanded against grouped attention, in one thread."""
    from kvlab.bench.experiments import appending, attending

    for what, rows, amount in (
        ("append token by token", appending(), "elements"),
        ("attend with one query", attending(), "peak_bytes"),
    ):
        for costly, lean in zip(rows[::2], rows[1::2], strict=True):
            medians = [statistics.median(row["seconds"]) for row in (costly, lean)]
            yield (
                f"{what}, {costly['tokens']:,} tokens: {costly['way']} {medians[0] * 1e3:.2f} ms, "
                f"{costly[amount]:,} {amount.replace('_', ' ')}; {lean['way']} {medians[1] * 1e3:.2f} ms, "
                f"{lean[amount]:,}; time ratio {medians[0] / medians[1]:.2f} (medians of {len(lean['seconds'])})"
            )


def model_configs():
    """Lesson 06: the payload of all presets, from their configurations; an event of the explorer."""
    from kvlab.configs import cache_bytes
    from kvlab.explorers.model_configs import explore
    from kvlab.models import presets

    found = [each.config for each in presets().values()]
    runs = []
    for _ in range(9):
        start = time.perf_counter()
        for config in found:
            cache_bytes(config, 10**6, 16)
        runs.append(time.perf_counter() - start)
    count, ms = len(found), statistics.median(runs) * 1e3
    yield f"cache_bytes of {count} presets: {ms:.2f} ms (median of 9; wanted < 5 ms)"
    widget, runs = explore(cache_bytes), []
    for tokens in range(5000, 5000 + 1000 * (EVENTS + 1), 1000):
        before, start = widget.picture.value, time.perf_counter()
        widget.tokens.value = str(tokens)
        runs.append(time.perf_counter() - start)
        if widget.picture.value == before:
            raise RuntimeError(f"{tokens} tokens left the picture as it was")
    ms = statistics.median(runs[1:]) * 1e3
    yield f"explorer of configurations, event to picture: {ms:.1f} ms (median of {EVENTS}; wanted ≤ 40 ms)"


def paging():
    """Lesson 07: its explorer, event to picture, on a learner's class; and calls of the library's pool per second."""
    from kvlab.explorers.paging import explore
    from kvlab.paging import BlockPool, waste

    widget, seconds = explore(BlockPool, waste), []
    for _ in range(EVENTS):
        start = time.perf_counter()
        widget.block_size.value += 1
        seconds.append(time.perf_counter() - start)
    median = statistics.median(seconds) * 1e3
    yield f"explorer of lesson 07, event to picture: {median:.1f} ms (median of {EVENTS}; wanted ≤ 40 ms)"

    pool, rounds = BlockPool(256, 16), 20_000
    first = pool.allocate(100)
    start = time.perf_counter()
    for _ in range(rounds):
        fork = pool.fork(first)
        pool.append(fork, 1)
        pool.append(fork, 30)
        pool.truncate(fork, 70)
        pool.free(fork)
    rate = 5 * rounds / (time.perf_counter() - start)
    yield f"block pool: {rate:,.0f} calls per second of fork, append, truncate and free (wanted ≥ 100,000)"


def roofline():
    """Lesson 09: its explorer, event to picture, on functions that stand for a learner's."""
    from kvlab import roofline
    from kvlab.explorers.roofline import CONTEXTS, explore

    widget, seconds = explore(roofline.decode_cost, roofline.intensity_ceiling), []
    for step in range(EVENTS):
        before, start = widget.picture.value, time.perf_counter()
        widget.context.value = CONTEXTS[step % len(CONTEXTS)]
        seconds.append(time.perf_counter() - start)
        if widget.picture.value == before:
            raise RuntimeError(f"a context of {widget.context.value} left the picture as it was")
    median = statistics.median(seconds) * 1e3
    yield f"explorer of lesson 09, event to picture: {median:.1f} ms (median of {EVENTS}; wanted ≤ 40 ms)"


def admission():
    """Lesson 10: its two explorers, event to picture, on a learner's answers; and request steps of the scheduler."""
    from kvlab import scheduling
    from kvlab.explorers import admission, timeline

    queue = admission.explore(scheduling.admit, scheduling.Scheduler)
    tokens = timeline.explore(scheduling.latency_report)
    for what, slider, picture in (
        ("queue", queue.pool, lambda: queue.picture.value),
        ("time line", tokens.gap, lambda: tokens.picture.value),
    ):
        slider.value, seconds = slider.min, []
        for _ in range(EVENTS):
            before, start = picture(), time.perf_counter()
            slider.value += 1
            seconds.append(time.perf_counter() - start)
            if picture() == before:
                raise RuntimeError(f"the event {slider.value} left the picture as it was")
        ms = statistics.median(seconds) * 1e3
        yield f"explorer of lesson 10, {what}, event to picture: {ms:.1f} ms (median of {EVENTS}; wanted ≤ 40 ms)"

    server = scheduling.Scheduler(256, 6000, 16)
    for number in range(2000):
        server.submit(number, 100 + number % 300, 50 + number % 100)
    request_steps, start = 0, time.perf_counter()
    while server.running or server.waiting:
        request_steps += sum(event[0] == "write" for event in server.step())
    rate = request_steps / (time.perf_counter() - start)
    yield f"scheduler: {rate:,.0f} request steps per second (one running request in one step; wanted ≥ 100,000)"


def decode_timing():
    """Lesson 11: cached rows against a copy, three ways to keep a cache, the loop against `generate`, its explorer."""
    from contextlib import nullcontext

    from kvlab.bench import machine, rates, record, recordings
    from kvlab.bench.clock import one_thread
    from kvlab.bench.recordings import by_batch
    from kvlab.explorers.decode_timing import explore

    device = machine.best_device()
    plan = machine.plan(device)
    with one_thread() if device.type == "cpu" else nullcontext():
        data = record.measure(plan, device, trials=9)
    wanted = "wanted ≥ 0.6" if device.type == "cpu" else "wanted ≥ 0.75 beyond 1 GB of cache"
    for batch, each in by_batch(data, "preallocated", rates.step_bytes, rates.fit_line).items():
        share = each.row_rate / each.copy_rate
        yield f"cached rows, {batch} in a step: {share:.2f} of a copy ({each.copy_rate / 1e9:.1f} GB/s; {wanted})"
    medians = {(r["way"], r["context"]): statistics.median(r["seconds"]) for r in data["points"] if r["batch"] == 1}
    for context in plan.contexts:
        ratios = [
            f"{way} {seconds / medians['preallocated', context]:.2f}"
            for (way, tokens), seconds in medians.items()
            if tokens == context and way != "preallocated"
        ]
        yield f"a step at {context:,} tokens, as multiples of preallocated: {', '.join(ratios)} (medians of 9)"
    ours, theirs = (statistics.median(row["seconds"]) for row in data["answers"])
    yield f"transformers' generate / the loop: {theirs / ours:.2f} (medians of {len(data['answers'][0]['seconds'])})"

    widget, seconds = explore(recordings.by_machine("decode_timing"), data, rates.fit_line, rates.step_bytes), []
    for event in range(EVENTS):
        before, start = widget.picture.value, time.perf_counter()
        widget.context.value = plan.contexts[event % 2]
        seconds.append(time.perf_counter() - start)
        if widget.picture.value == before:
            raise RuntimeError("an event left the picture as it was")
    ms = statistics.median(seconds) * 1e3
    yield f"explorer of lesson 11, event to picture: {ms:.1f} ms (median of {EVENTS}; wanted ≤ 40 ms)"


GRADING = (grading_bench.grading, grading_bench.memory, grading_bench.mixed)
MEASUREMENTS = (
    imports,
    explorer,
    checks,
    grouped_query_cache,
    model_configs,
    paging,
    roofline,
    admission,
    decode_timing,
    *GRADING,
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        from kvlab.bench.experiments import record

        print(record(sys.argv[2], trials=15))
    else:
        for measure in MEASUREMENTS:
            for line in measure():
                print(line, flush=True)
