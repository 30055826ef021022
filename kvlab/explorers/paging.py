"""Explorer of lesson 07: a pool of blocks, action by action, and the waste of the last block against length."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from matplotlib.artist import Artist
from matplotlib.patches import FancyArrowPatch, Polygon, Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from kvlab import paging
from kvlab.explorers import base
from kvlab.explorers.controls import CUSTOM, dropdown, slider, text_field
from kvlab.explorers.learner import ask, computed_by, library_instead
from kvlab.explorers.words import count, facts, sentence, spans, verdict
from kvlab.figures import style
from kvlab.reprs import short_repr
from kvlab.sizes import whole

NUM_BLOCKS, ACROSS = 12, 6
MOST_BLOCK_SIZE, MOST_TOKENS, MOST_ACTIONS = 64, 2048, 12
TEETH = 6  # blocks for which each length is drawn; beyond, where the teeth would merge, the range that they fill
LEAST_SHARE = 0.004  # the foot of the axis of shares
LIMIT = 0.04  # the share of wasted slots that the PagedAttention paper reports to stay below
SCRIPTS = {
    "fork and copy": "new A 6, fork A B, grow B 1, grow A 1, grow A 3, fork B C, free A, free B",
    "growth": "new A 5, new B 3, grow A 4, grow A 4, grow B 1",
    "truncation": "new A 13, fork A B, cut B 6, grow B 3, free A, cut B 0",
    "a full pool": "new A 20, new B 20, grow A 8, grow B 4, free A, grow B 4",
}
START = "fork and copy"
TINTS = {"A": "#bfdcee", "B": "#fbe3b3", "C": "#bfe7dc", "D": "#f3dbe8", "E": "#cfeafa"}
FORMS = re.compile(r"(?:(new|grow|cut) ([A-Z]) (\d{1,4}))|(?:(fork) ([A-Z]) ([A-Z]))|(?:(free) ([A-Z]))")


@dataclass(frozen=True)
class Setting:
    """What the controls say: the actions, how many of them are done, and the slots of a block."""

    script: str = SCRIPTS[START]
    step: int = 3
    block_size: int = 4


@dataclass(frozen=True)
class State:
    """The pool after an action: a reference count for each block, and the (source, target) ids of copied blocks."""

    action: str = ""
    tables: dict[str, list[int]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    ref_counts: tuple[int, ...] = (0,) * NUM_BLOCKS
    copies: tuple[tuple[int, int], ...] = ()
    refused: str = ""  # the name of the exception

    @property
    def free(self) -> int:
        """Blocks that no table holds."""
        return self.ref_counts.count(0)

    def used(self, block_id: int, block_size: int) -> int:
        """Slots of a block that hold a token of somebody."""
        ends = [
            min(block_size, self.lengths[name] - table.index(block_id) * block_size)
            for name, table in self.tables.items()
            if block_id in table
        ]
        return max(ends, default=0)

    def owners(self, block_id: int) -> list[str]:
        """The names of the sequences whose tables hold a block."""
        return [name for name, table in self.tables.items() if block_id in table]


@dataclass(frozen=True)
class Reading:
    """The states before and after the last action done, and the share of wasted slots at 1, 2, 3, … tokens."""

    setting: Setting
    before: State
    state: State
    shares: np.ndarray
    computed_by: str  # a sentence for the caption

    @property
    def verdict(self) -> str:
        """What the last action did, in one sentence without its full stop."""
        before, state = self.before, self.state
        slots = (NUM_BLOCKS - state.free) * self.setting.block_size
        tokens = sum(state.used(block_id, self.setting.block_size) for block_id in range(NUM_BLOCKS))
        held = f"{slots} slots held, {slots - tokens} of them empty; {state.free} of {NUM_BLOCKS} blocks free"
        if not state.action:
            return f"an empty pool; {held}"
        return f"{state.action}: {_happened(before, state)}; {held}"

    def describe(self) -> str:
        """The picture in words."""
        state, block_size = self.state, self.setting.block_size
        said = [sentence(self.verdict)]
        for block_id, ref_count in enumerate(state.ref_counts):
            if ref_count:
                owners, used = " and ".join(state.owners(block_id)), state.used(block_id, block_size)
                said.append(f"Block {block_id}: {owners}, {used} of {block_size} slots, count {ref_count}.")
        mean, worst = share_falls_below(block_size)
        said.append(f"Waste below 4 %: beyond {mean:,} tokens in the mean, beyond {worst:,} in the worst case.")
        return " ".join(said)

    def tell(self) -> str:
        """The reading as HTML."""
        rows = [
            (name, f"{count(self.state.lengths[name], 'token')} <span>table {table}</span>")
            for name, table in self.state.tables.items()
        ]
        mean, worst = share_falls_below(self.setting.block_size)
        beyond = f"beyond {mean:,} tokens in the mean", f"beyond {worst:,} in the worst case"
        return verdict(self.verdict) + facts([*rows, ("waste below 4 %", spans(*beyond))])


def _happened(before: State, state: State) -> str:
    if state.refused:
        return f"refused with {state.refused}, and nothing changed"
    if state.copies:
        source, target = state.copies[0]
        return f"block {source} is shared and has room, so it is copied to block {target} first"
    counts = list(enumerate(zip(before.ref_counts, state.ref_counts, strict=True)))
    taken = [block_id for block_id, (earlier, now) in counts if now and not earlier]
    given = [block_id for block_id, (earlier, now) in counts if earlier and not now]
    if taken:
        return f"takes {_blocks(taken)}"
    if given:
        return f"gives back {_blocks(given)}"
    if state.action.startswith("fork"):
        return "the same blocks under a second table"
    return "no block is taken or given back"


def _blocks(block_ids) -> str:
    return f"block{'' if len(block_ids) == 1 else 's'} {', '.join(map(str, block_ids))}"


def parse(script: str) -> list[list]:
    """Actions typed by a person, each as [kind, name, …]. ValueError says what came and what was wanted."""
    parts = [" ".join(part.split()) for part in re.split(r"[,;\n]", script) if part.strip()]
    if not 1 <= len(parts) <= MOST_ACTIONS:
        raise ValueError(f"actions: wanted 1 to {MOST_ACTIONS}, separated by commas, got {len(parts)}")
    actions, alive = [], set()
    for part in parts:
        match = FORMS.fullmatch(part)
        if not match:
            wanted = "such as 'new A 5', 'grow A 4', 'fork A B', 'cut A 2' or 'free A'"
            raise ValueError(f"actions: wanted {wanted}, got {short_repr(part, 32)}")
        kind, name, *rest = [each for each in match.groups() if each]
        made = rest[0] if kind == "fork" else name if kind == "new" else None
        if made and made not in TINTS:
            raise ValueError(f"actions: wanted a new name from A to E, got {part!r}")
        if made in alive:
            raise ValueError(f"actions: {made} exists already at {part!r}")
        if kind != "new" and name not in alive:
            raise ValueError(f"actions: there is no {name} at {part!r}")
        if made:
            alive.add(made)
        if kind == "free":
            alive.remove(name)
        actions.append([kind, name, *(rest if kind == "fork" else map(int, rest))])
    return actions


def play(pool_class: Callable, script: str, block_size: int) -> list[State]:
    """The states of a pool, the empty one first. ValueError on actions that make no sense."""
    pool, ids, states = pool_class(NUM_BLOCKS, block_size), {}, [State()]
    for kind, name, *rest in parse(script):
        action = " ".join(map(str, [kind, name, *rest]))
        lengths = dict(states[-1].lengths)
        if name not in ids and kind != "new":
            states.append(replace(states[-1], action=action, copies=(), refused="MemoryError"))
            continue  # the action that was to make this sequence was refused
        copies = ()
        try:
            if kind == "new":
                ids[name], lengths[name] = pool.allocate(rest[0]), rest[0]
            elif kind == "grow":
                copies = tuple((int(source), int(target)) for source, target in pool.append(ids[name], rest[0]))
                lengths[name] += rest[0]
            elif kind == "fork":
                ids[rest[0]], lengths[rest[0]] = pool.fork(ids[name]), lengths[name]
            elif kind == "cut":
                pool.truncate(ids[name], rest[0])
                lengths[name] = rest[0]
            else:
                pool.free(ids.pop(name))
                del lengths[name]
        except (MemoryError, ValueError) as error:
            refused = "MemoryError" if isinstance(error, MemoryError) else "ValueError"
            if refused == "ValueError" and kind != "cut":
                raise  # only a cut can ask for what makes no sense
            states.append(replace(states[-1], action=action, copies=(), refused=refused))
            continue
        tables = {each: [int(block_id) for block_id in pool.table(ids[each])] for each in lengths}
        ref_counts = tuple(int(pool.ref(block_id)) for block_id in range(NUM_BLOCKS))
        states.append(State(action, tables, lengths, ref_counts, copies))
    return states


def _shape(state: State) -> tuple:
    """A state without its block ids, which are the pool's own choice: blocks are named as they first occur."""
    names: dict[int, int] = {}
    tables = {each: [names.setdefault(block_id, len(names)) for block_id in ids] for each, ids in state.tables.items()}
    copies = [names.get(target) for _, target in state.copies]
    ref_counts = [state.ref_counts[block_id] for block_id in names]
    return tables, state.lengths, ref_counts, state.free, copies, state.refused


def reading(setting: Setting, pool_class: Callable | None = None, waste: Callable | None = None) -> Reading:
    """Play the actions on the learner's pool where it is right, else on the library's.

    TypeError or ValueError on a setting that has no answer.
    """
    block_size = whole("block size", setting.block_size)
    right = play(paging.BlockPool, setting.script, block_size)
    step = whole("step", setting.step, 0)
    if step >= len(right):
        raise ValueError(f"step: wanted at most {len(right) - 1}, the number of actions, got {step}")
    states, tables_by = _from_learner(pool_class, setting, right)
    tokens = np.arange(1, MOST_TOKENS + 1)
    wasted = -tokens % block_size
    shares = wasted / (tokens + wasted)
    caption = f"tables: {tables_by}; waste: {_waste_caption(waste, block_size)}"
    return Reading(setting, states[max(0, step - 1)], states[step], shares, caption)


def _from_learner(pool_class, setting, right):
    """The learner's states where they are right after every action, else the library's; and a caption."""
    name = "BlockPool"
    states, problem = ask(name, pool_class and play, pool_class, setting.script, setting.block_size)
    if problem:
        return right, problem
    for mine, wanted in zip(states, right, strict=True):
        try:
            same = _shape(mine) == _shape(wanted)
        except IndexError:
            same = False
        if not same:
            return right, library_instead(f"your {name} differs after {wanted.action!r}")
    return states, f"computed by your {name}"


def _waste_caption(waste, block_size: int) -> str:
    def fault(wasted, tokens: int) -> str:
        if type(wasted) is int and wasted == paging.waste([tokens], block_size):
            return ""
        return f"([{tokens}], {block_size}) gives {short_repr(wasted)}"

    calls = {tokens: ([tokens], block_size) for tokens in range(1, 3 * block_size + 2)}
    return computed_by("waste", waste, calls, fault)


def share_falls_below(block_size: int) -> tuple[int, int]:
    """The lengths beyond which the mean waste, and the worst, stay below the limit: (b − 1)/2 and b − 1 slots."""
    per_slot = round((1 - LIMIT) / LIMIT)  # stored tokens for each wasted slot at the limit
    return per_slot * (block_size - 1) // 2, per_slot * (block_size - 1)


class Chart:
    """The picture: the pool's blocks above, and below the share of wasted slots on axes that never move."""

    def __init__(self):
        with base.styled_figure(4.3) as self.figure:
            self._make_pool(self.figure.add_axes((0.02, 0.545, 0.96, 0.43)))
            self._make_waste(self.figure.add_axes((0.125, 0.12, 0.85, 0.33)))

    def _make_pool(self, ax) -> None:
        self.pool = ax
        ax.set_xlim(-0.05, ACROSS + 0.05)
        ax.set_ylim(2.1, -0.3)
        ax.axis("off")
        ax.text(0.06, -0.06, "blocks of the pool: filled part in use, ×n held by n tables", va="bottom", fontsize=9)
        self.fills, self.frames, self.numbers, self.names, self.counts = [], [], [], [], []
        for block_id in range(NUM_BLOCKS):
            x, y = block_id % ACROSS + 0.06, block_id // ACROSS + 0.06
            ax.add_patch(Rectangle((x, y), 0.88, 0.84, facecolor="white", edgecolor=style.SOFT, linewidth=0.8))
            self.fills.append(ax.add_patch(Rectangle((x, y), 0.88, 0.84, linewidth=0)))
            self.frames.append(ax.add_patch(Rectangle((x, y), 0.88, 0.84, fill=False)))
            self.numbers.append(ax.text(x + 0.05, y + 0.05, f"{block_id}", ha="left", va="top", fontsize=7.5))
            self.names.append(ax.text(x + 0.44, y + 0.42, "", ha="center", va="center", fontsize=10.5, weight="bold"))
            self.counts.append(ax.text(x + 0.83, y + 0.79, "", ha="right", va="bottom", fontsize=7.5))
        look = {"arrowstyle": "-|>", "mutation_scale": 13, "color": style.VERMILION, "linewidth": 1.8}
        self.arrow = ax.add_patch(FancyArrowPatch((0, 0), (1, 1), connectionstyle="arc3,rad=-0.2", **look))

    def _make_waste(self, ax) -> None:
        self.waste = ax
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(1, MOST_TOKENS)
        ax.set_ylim(LEAST_SHARE, 1)
        ax.xaxis.set_major_locator(FixedLocator([1, 4, 16, 64, 256, 1024]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
        ax.yaxis.set_major_locator(FixedLocator([0.01, LIMIT, 0.1, 0.5, 1]))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_locator(NullLocator())
        ax.tick_params(labelsize=8.5)
        ax.set_xlabel("tokens of a sequence (log scale)", fontsize=9)
        ax.set_ylabel("slots wasted (log)", fontsize=9)
        ax.axhline(LIMIT, color=style.VERMILION, linewidth=1.4)
        (self.exact,) = ax.plot([], [], color=style.BLUE, linewidth=0.8, label="exact")
        foot = [(1, LEAST_SHARE)] * 3
        self.range = ax.add_patch(Polygon(foot, facecolor="#d6e8f4", linewidth=0, label="its range"))
        (self.mean,) = ax.plot([], [], color=style.INK, linewidth=1.2, linestyle="--", label="mean tail")
        (self.worst,) = ax.plot([], [], color=style.INK, linewidth=1.2, linestyle=":", label="worst tail")
        look = {"color": style.VERMILION, "marker": "D", "markersize": 5, "linestyle": "", "clip_on": False}
        (self.falls,) = ax.plot([], [], label="below 4 %", **look)
        look = {"textcoords": "offset points", "fontsize": 8.5, "color": style.VERMILION}
        places = [((-3, -2), "right", "top"), ((7, 3), "center", "bottom")]  # clear of all lines
        self.lengths = [ax.annotate("", (1, LIMIT), at, ha=ha, va=va, **look) for at, ha, va in places]
        self.figure.legend(
            handles=[self.exact, self.range, self.mean, self.worst, self.falls],
            loc="center",
            bbox_to_anchor=(0.53, 0.495),
            ncols=5,
            frameon=False,
            fontsize=8,
            handlelength=1.6,
            columnspacing=1.2,
        )

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        lines = [self.range, self.exact, self.mean, self.worst, self.falls, *self.lengths]
        return [*self.fills, *self.frames, *self.numbers, *self.names, *self.counts, self.arrow, *lines]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading."""
        block_size, state = now.setting.block_size, now.state
        sources, targets = ({pair[side] for pair in state.copies} for side in (0, 1))
        for block_id, ref_count in enumerate(state.ref_counts):
            owners = state.owners(block_id)
            self.fills[block_id].set_width(0.88 * state.used(block_id, block_size) / block_size)
            self.fills[block_id].set_facecolor(TINTS[owners[0]] if len(owners) == 1 else "#dcd8cc")
            marked = block_id in sources | targets
            self.frames[block_id].set(
                edgecolor=style.VERMILION if marked else style.INK,
                linewidth=2.2 if marked else 1.0,
                linestyle="--" if block_id in sources else "-",
                visible=marked or ref_count > 0,
            )
            self.names[block_id].set_text(" ".join(owners))
            self.counts[block_id].set_text(f"×{ref_count}" if ref_count else "")
        self.arrow.set_visible(bool(state.copies))
        for source, target in state.copies:
            self.arrow.set_positions(_centre(source), _centre(target))
        tokens = np.arange(1, MOST_TOKENS + 1)
        drawn = TEETH * block_size
        self.exact.set_data(tokens[:drawn], now.shares[:drawn])
        rest = tokens[drawn - 1 :]
        top = np.maximum((block_size - 1) / (rest + block_size - 1), LEAST_SHARE)
        corners = [(rest[-1], LEAST_SHARE), (rest[0], LEAST_SHARE)]
        self.range.set_xy([*zip(rest, top, strict=True), *corners])
        for line, tail in ((self.mean, (block_size - 1) / 2), (self.worst, block_size - 1)):
            line.set_data(tokens, tail / (tokens + tail))
        beyond = share_falls_below(block_size) if block_size > 1 else ()  # blocks of one token waste nothing
        self.falls.set_data(beyond, [LIMIT] * len(beyond))
        for place, text in enumerate(self.lengths):
            text.set_text(f"{beyond[place]:,}" if beyond else "")
            text.xy = (beyond[place] if beyond else 1, LIMIT)


def _centre(block_id: int) -> tuple[float, float]:
    return block_id % ACROSS + 0.5, block_id // ACROSS + 0.2


class Explorer(base.Explorer):
    """Actions chosen or typed, a step that goes forwards and back, and the size of a block.

    Pass your own `BlockPool` and `waste`: they are shown once they are right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(self, pool_class: Callable | None = None, waste: Callable | None = None):
        start = Setting()
        self.scripts = dropdown("scene", [CUSTOM, *SCRIPTS], START, "kv-scripts")
        self.script = text_field("actions", start.script, "kv-script")
        self.step = slider("step", start.step, 0, len(parse(start.script)), "kv-step")
        self.block_size = slider("block size", start.block_size, 1, MOST_BLOCK_SIZE, "kv-block")
        self.offer(self.scripts, self._set_script, self.script)
        self.script.observe(self._limit_step, "value")
        super().__init__((self.scripts, self.script, self.step, self.block_size), pool_class, waste)

    def _set_script(self, scene: str) -> None:
        self.script.value = SCRIPTS[scene]
        self.step.value = 1

    def _limit_step(self, change) -> None:
        try:
            actions = len(parse(change["new"]))
        except ValueError:
            return  # the reading says what is wrong with them
        with self.together():
            self.step.max = actions  # a step beyond it moves back to it


explore, static_figure = Explorer, Explorer.static_figure
