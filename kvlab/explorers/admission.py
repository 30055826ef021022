"""Explorer of lesson 10: a queue with long tails, whose promise would have been a lie, and blocks in use over time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from statistics import mean

import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from matplotlib.ticker import FixedLocator

from kvlab import scheduling
from kvlab.explorers import base
from kvlab.explorers.controls import between, slider
from kvlab.explorers.learner import computed_by
from kvlab.explorers.words import count, facts, sentence, spans, verdict
from kvlab.figures import style
from kvlab.paging import blocks_needed
from kvlab.reprs import short_repr

REQUESTS, BLOCK_SIZE, LIMIT, TYPICAL = 24, 8, 128, 12  # LIMIT: generated tokens at most; TYPICAL: without a tail
LEAST_POOL, MOST_POOL, MOST_TAIL, MOST_DRAWS = 24, 128, 10, 40
LONGEST_PROMPT = 45
LEAST_BUDGET, MOST_BUDGET = 16, 256
SHOWN_STEPS, SHOWN_BLOCKS = 200, 140  # ends of the axes
RULES = {"prompt": "by the prompt", "average": "by the average", "worst": "by the worst case"}
LOOKS = {
    "prompt": (style.VERMILION, "--", "v"),
    "average": (style.ORANGE, "-.", "s"),
    "worst": (style.BLUE, "-", "o"),
}


@dataclass(frozen=True)
class Setting:
    """What the controls say: blocks of the pool, how long the tail is, which queue is drawn, tokens of a step."""

    pool: int = 48
    tail: int = 8
    draw: int = 13
    budget: int = 64


@dataclass(frozen=True)
class Promise:
    """A rule of admission: who was let in at once, and the blocks in use at each step until all have had their turn."""

    at_once: tuple[int, ...]
    blocks: np.ndarray
    lie: int | None  # the first step at which the pool does not suffice


@dataclass(frozen=True)
class Played:
    """What a scheduler did with the queue: blocks in use at the end of each step, and how many were preempted."""

    blocks: np.ndarray
    preempted: int


@dataclass(frozen=True)
class Reading:
    """The queue as (prompt, answer) tokens, what each rule would have promised, and what a scheduler did."""

    setting: Setting
    queue: tuple[tuple[int, int], ...]
    promises: dict[str, Promise]
    played: Played
    computed_by: str  # a sentence for the caption

    @property
    def verdict(self) -> str:
        """Which promise was a lie, in one sentence without its full stop."""
        lies = [name for name, promise in self.promises.items() if promise.lie is not None]
        said = f"a lie: {' and '.join(RULES[name] for name in lies)}" if lies else "no promise was a lie"
        worst = len(self.promises["worst"].blocks)
        return f"{said}; the worst case takes {worst:,} steps, the scheduler {len(self.played.blocks):,}"

    def describe(self) -> str:
        """The picture in words."""
        said = [sentence(self.verdict), f"A pool of {self.setting.pool} blocks."]
        for name, promise in self.promises.items():
            lie = "never more than the pool"
            if promise.lie is not None:
                lie = f"more than the pool first in step {promise.lie}"
            needs = f"{len(promise.at_once)} at once, at most {promise.blocks.max()} blocks"
            said.append(f"{RULES[name].capitalize()}: {needs}, {lie}, {len(promise.blocks)} steps.")
        done, preempted = len(self.played.blocks), self.played.preempted
        return " ".join((*said, f"The scheduler: {preempted} preemptions, all done after {done} steps."))

    def tell(self) -> str:
        """The reading as HTML."""
        rows = []
        for name, promise in self.promises.items():
            end = "the promise holds" if promise.lie is None else f"a lie first in step {promise.lie}"
            needs = f"{len(promise.at_once)} at once, up to {promise.blocks.max()} blocks"
            rows.append((RULES[name], spans(needs, end)))
        done = count(len(self.played.blocks), "step")
        rows.append(("the scheduler", f"{count(self.played.preempted, 'preemption')} {done}"))
        return verdict(self.verdict) + facts(rows)


@lru_cache(maxsize=64)
def draw_queue(tail: int, draw: int) -> tuple[tuple[int, int], ...]:
    """(prompt, answer) tokens of each request. Without a tail all answers are alike; the longer it is, the fewer."""
    rng = Random(draw)
    sizes = [(rng.randint(10, LONGEST_PROMPT), 1 - rng.random()) for _ in range(REQUESTS)]
    return tuple((prompt, min(LIMIT, round(TYPICAL * share ** (-tail / MOST_TAIL)))) for prompt, share in sizes)


def keep(queue: Sequence[tuple[int, int]], lets_in: Callable[[list[int], list[int]], int], pool: int) -> Promise:
    """Let the queue in, and in again whenever somebody leaves, as `lets_in` says of those that wait; nobody goes back.

    `lets_in(waiting, running)`, of numbers of requests, returns how many of the waiting come in.
    """
    waiting, running, blocks = list(range(len(queue))), {}, []  # running: tokens in the cache
    at_once, somebody_left = None, True
    while waiting or running:
        if somebody_left:
            entering = lets_in(waiting, list(running))
            running |= {number: queue[number][0] for number in waiting[:entering]}
            at_once = waiting[:entering] if at_once is None else at_once
            del waiting[:entering]
        blocks.append(sum(-(-tokens // BLOCK_SIZE) for tokens in running.values()))
        # The last token is never written, so that a request leaves with prompt + answer - 1 of them.
        stay = {number: tokens + 1 for number, tokens in running.items() if tokens + 1 < sum(queue[number])}
        somebody_left, running = len(stay) < len(running), stay
    short = [step for step, held in enumerate(blocks, start=1) if held > pool]
    return Promise(tuple(at_once), np.array(blocks), short[0] if short else None)


def by_cost(costs: Sequence[int], pool: int) -> Callable[[list[int], list[int]], int]:
    """Let in the head of the queue while what everybody is thought to need adds up to no more than the pool."""

    def lets_in(waiting, running) -> int:
        free = pool - sum(costs[number] for number in running)
        totals = np.cumsum([costs[number] for number in waiting])
        return int((totals <= free).sum())

    return lets_in


@lru_cache(maxsize=64)
def by_worst_case(queue: tuple[tuple[int, int], ...], pool: int) -> tuple[Promise, list[tuple]]:
    """Let in whom `admit` admits, beside the worst cases of those that run; and what `admit` was asked and said."""
    limits = [(number, prompt, LIMIT) for number, (prompt, _) in enumerate(queue)]
    worst = [blocks_needed(prompt + LIMIT - 1, BLOCK_SIZE) for prompt, _ in queue]
    asked = []

    def lets_in(waiting, running) -> int:
        question = ([limits[number] for number in waiting], pool - sum(worst[number] for number in running), BLOCK_SIZE)
        asked.append((question, scheduling.admit(*question)))
        return len(asked[-1][1])

    return keep(queue, lets_in, pool), asked


def play(scheduler_class: Callable, setting: Setting) -> list[list[tuple]]:
    """The events of each step, without block tables, until every request has had its turn."""
    scheduler = scheduler_class(setting.budget, setting.pool, BLOCK_SIZE)
    queue = draw_queue(setting.tail, setting.draw)
    for number, (prompt, answer) in enumerate(queue):
        scheduler.submit(number, prompt, answer)
    steps, left = [], len(queue)
    while left and len(steps) < REQUESTS * LIMIT * 2:
        events = [(kind, id, *more[:1], *map(len, more[1:])) for kind, id, *more in scheduler.step()]
        left -= sum(event[0] == "finish" for event in events)
        steps.append(events)
    return steps


@lru_cache(maxsize=64)
def _library_plays(setting: Setting) -> list[list[tuple]]:
    return play(scheduling.Scheduler, setting)


def _occupied(steps) -> Played:
    held, blocks, preempted = {}, [], 0
    for events in steps:
        for kind, id, *more in events:
            if kind == "write":
                held[id] = more[1]
            elif kind in ("finish", "preempt"):
                held.pop(id, None)
                preempted += kind == "preempt"
        blocks.append(sum(held.values()))
    return Played(np.array(blocks), preempted)


def reading(setting: Setting, admit: Callable | None = None, scheduler_class: Callable | None = None) -> Reading:
    """Let the queue in by each rule. The caption says whether the learner's `admit` and Scheduler do the same.

    ValueError or TypeError, in a sentence, for what cannot be read.
    """
    for name, least, most in (
        ("pool", LEAST_POOL, MOST_POOL),
        ("tail", 0, MOST_TAIL),
        ("draw", 1, MOST_DRAWS),
        ("budget", LEAST_BUDGET, MOST_BUDGET),
    ):
        between(name, getattr(setting, name), least, most)
    queue, pool = draw_queue(setting.tail, setting.draw), setting.pool
    typical = round(mean(answer for _, answer in queue))
    prompts = [blocks_needed(prompt, BLOCK_SIZE) for prompt, _ in queue]
    average = [blocks_needed(prompt + typical - 1, BLOCK_SIZE) for prompt, _ in queue]
    promises = {
        name: keep(queue, by_cost(costs, pool), pool) for name, costs in (("prompt", prompts), ("average", average))
    }
    promises["worst"], asked = by_worst_case(queue, pool)
    steps = _library_plays(setting)
    admit_by, scheduled_by = _admit_caption(admit, asked), _steps_caption(scheduler_class, setting, steps)
    caption = f"worst case: {admit_by}; scheduler: {scheduled_by}"
    return Reading(setting, queue, promises, _occupied(steps), caption)


def _admit_caption(admit, asked) -> str:
    calls = {number: (list(limits), *rest) for number, ((limits, *rest), _) in enumerate(asked)}

    def fault(admitted, number: int) -> str:
        (limits, free, _), wanted = asked[number]
        gives = f" lets in {short_repr(admitted, 100)} of {len(limits)} with {free} free blocks"
        return "" if admitted == wanted else gives

    return computed_by("admit", admit, calls, fault)


def _steps_caption(scheduler_class, setting: Setting, right) -> str:
    def fault(steps, _) -> str:
        if steps == right:
            return ""
        at = next((n for n, (a, b) in enumerate(zip(steps, right, strict=False)) if a != b), len(right))
        return f" differs in step {at + 1}"

    return computed_by("Scheduler", scheduler_class and play, {"": (scheduler_class, setting)}, fault)


class Chart:
    """The picture: the queue above, and below the blocks that each promise needs, on axes that never move."""

    def __init__(self):
        with base.styled_figure(5.2) as self.figure:
            self._make_queue(self.figure.add_axes((0.08, 0.545, 0.895, 0.40)))
            self._make_blocks(self.figure.add_axes((0.115, 0.175, 0.845, 0.27)))

    def _make_queue(self, ax) -> None:
        most = blocks_needed(LONGEST_PROMPT + LIMIT, BLOCK_SIZE)
        ax.set_xlim(0, most + 4.6)
        ax.set_ylim(REQUESTS - 0.4, -0.6)
        ax.set_yticks([0, REQUESTS - 1], ["first", "last"])
        ax.tick_params(labelsize=8.5, length=0)
        ax.xaxis.set_major_locator(FixedLocator(range(0, most + 1, 4)))
        ax.grid(axis="y", visible=False)
        ax.set_xlabel("blocks of a request", fontsize=9, labelpad=1)
        frame = {"facecolors": "none", "edgecolors": style.SOFT, "linewidths": 0.7, "linestyles": ":"}
        self.limits = ax.add_collection(PolyCollection([], **frame))
        self.answers = ax.add_collection(PolyCollection([], facecolors=style.SKY, linewidths=0))
        self.prompts = ax.add_collection(PolyCollection([], facecolors=style.SOFT, linewidths=0))
        self.dots, self.columns = {}, {}
        for place, name in enumerate(RULES):
            colour, _, marker = LOOKS[name]
            (self.dots[name],) = ax.plot([], [], color=colour, marker=marker, markersize=4.5, linestyle="")
            self.columns[name] = most + 1.1 + 1.4 * place
        names = ["prompt", "answer", "limit"]
        looks = (
            {"facecolor": style.SOFT},
            {"facecolor": style.SKY},
            {"fill": False, "edgecolor": style.SOFT, "ls": ":"},
        )
        keys = [Rectangle((0, 0), 1, 1, **look) for look in looks]
        look = {"frameon": False, "fontsize": 8, "columnspacing": 1.0, "handletextpad": 0.4, "handlelength": 1.3}
        self.figure.legend(keys, names, loc="upper left", bbox_to_anchor=(0.06, 1.0), ncols=3, **look)
        self.figure.text(0.985, 0.988, "let in at once ", ha="right", va="top", fontsize=8)

    def _make_blocks(self, ax) -> None:
        ax.set_xlim(0, SHOWN_STEPS)
        ax.set_ylim(0, SHOWN_BLOCKS)
        ax.yaxis.set_major_locator(FixedLocator(range(0, SHOWN_BLOCKS + 1, 20)))
        ax.tick_params(labelsize=8.5)
        ax.set_xlabel("step", fontsize=9, labelpad=1)
        ax.set_ylabel("blocks in use", fontsize=9)
        self.area = ax.add_patch(Polygon([(0, 0)] * 3, facecolor="#cfe8dd", linewidth=0))
        self.pool = ax.axhline(LEAST_POOL, color=style.INK, linewidth=1.6)
        self.lines, self.lies = {}, {}
        for name, (colour, dash, marker) in LOOKS.items():
            (self.lines[name],) = ax.plot([], [], color=colour, linestyle=dash, linewidth=1.5)
            look = {"color": colour, "marker": marker, "markersize": 8, "markeredgecolor": style.INK, "linestyle": ""}
            (self.lies[name],) = ax.plot([], [], **look)
        look = {"ha": "right", "va": "top", "fontsize": 8, "color": style.INK}
        self.beyond = ax.text(SHOWN_STEPS - 2, SHOWN_BLOCKS - 3, "", **look)
        handles = [Line2D([], [], color=c, linestyle=d, marker=m, markersize=4.5) for c, d, m in LOOKS.values()]
        labels = [*RULES.values(), "the scheduler", "the pool"]
        look = {"frameon": False, "fontsize": 8, "columnspacing": 1.2, "handlelength": 2.2}
        self.figure.legend([*handles, self.area, self.pool], labels, loc="lower center", ncols=3, **look)

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        bars = [self.limits, self.answers, self.prompts, *self.dots.values()]
        return [*bars, self.area, self.pool, *self.lines.values(), *self.lies.values(), self.beyond]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading."""
        self.prompts.set_verts(_bars(prompt / BLOCK_SIZE for prompt, _ in now.queue))
        self.answers.set_verts(_bars(blocks_needed(prompt + answer - 1, BLOCK_SIZE) for prompt, answer in now.queue))
        self.limits.set_verts(_bars(blocks_needed(prompt + LIMIT - 1, BLOCK_SIZE) for prompt, _ in now.queue))
        self.pool.set_ydata([now.setting.pool] * 2)
        for name, promised in now.promises.items():
            self.dots[name].set_data([self.columns[name]] * len(promised.at_once), promised.at_once)
            self.lines[name].set_data(np.arange(1, len(promised.blocks) + 1), promised.blocks)
            lie = [] if promised.lie is None else [promised.lie]
            # Above the line, so that one sees by how much it passes the pool.
            self.lies[name].set_data(lie, [min(promised.blocks[step - 1] + 10, SHOWN_BLOCKS - 5) for step in lie])
        ends = {RULES[name].removeprefix("by the "): len(promised.blocks) for name, promised in now.promises.items()}
        ends["scheduler"] = len(now.played.blocks)
        late = ", ".join(f"{name} {end}" for name, end in ends.items() if end > SHOWN_STEPS)
        self.beyond.set_text(f"last step: {late} →" if late else "")
        blocks = now.played.blocks[:SHOWN_STEPS]
        top = zip(range(1, len(blocks) + 1), blocks, strict=True)
        self.area.set_xy([(1, 0), *top, (len(blocks), 0)])


def _bars(lengths) -> list[list[tuple[float, float]]]:
    """Corners of horizontal bars, one for each row."""
    return [[(0, y - 0.35), (x, y - 0.35), (x, y + 0.35), (0, y + 0.35)] for y, x in enumerate(lengths)]


class Explorer(base.Explorer):
    """The size of the pool, the length of the tail, another queue, and the tokens of a step.

    Pass your own `admit` and `Scheduler`: the caption names them once they are right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(self, admit: Callable | None = None, scheduler_class: Callable | None = None):
        start = Setting()
        self.pool = slider("pool, blocks", start.pool, LEAST_POOL, MOST_POOL, "kv-pool")
        self.tail = slider("long answers", start.tail, 0, MOST_TAIL, "kv-tail")
        self.draw = slider("queue no.", start.draw, 1, MOST_DRAWS, "kv-draw")
        self.budget = slider("budget", start.budget, LEAST_BUDGET, MOST_BUDGET, "kv-budget")
        super().__init__((self.pool, self.tail, self.draw, self.budget), admit, scheduler_class)


explore, static_figure = Explorer, Explorer.static_figure
