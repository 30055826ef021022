"""Explorer of lesson 10: tokens leave a server, a proxy passes them on, and a client sees other numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.ticker import FixedLocator

from kvlab import scheduling
from kvlab.explorers import base
from kvlab.explorers.controls import between, slider
from kvlab.explorers.learner import computed_by
from kvlab.explorers.words import facts, sentence, spans, verdict
from kvlab.figures import style
from kvlab.reprs import short_repr

MOST_TOKENS, MOST_HELD, MOST_FIRST, MOST_GAP, MOST_STALL = 16, 10, 300, 80, 300  # times in ms
SHOWN = 1.8  # seconds, the end of the axis
ARRIVAL = 5.0  # on the clock that a learner's function reads: one that takes a stamp for a wait is seen to be wrong
PLACES = {"server": 1.0, "client": 0.0}
OUTWARDS = {"server": 1, "client": -1}  # where the numbers stand, away from the lines between the two
NAMES = {"ttft": "TTFT", "mean_itl": "mean ITL", "max_itl": "largest ITL", "end_to_end": "end-to-end"}


@dataclass(frozen=True)
class Setting:
    """What the controls say: tokens, times in ms, the stall of the token in the middle, tokens that a proxy holds."""

    tokens: int = 12
    first: int = 200
    gap: int = 60
    stall: int = 250
    held: int = 4


@dataclass(frozen=True)
class Reading:
    """Time stamps in seconds and the report on them, of "server" and "client"."""

    setting: Setting
    stamps: dict[str, list[float]]
    reports: dict[str, dict[str, float | None]]
    computed_by: str  # a sentence for the caption

    @property
    def verdict(self) -> str:
        """What the proxy does to the four numbers, in one sentence without its full stop."""
        server, client = self.reports["server"], self.reports["client"]
        if self.stamps["server"] == self.stamps["client"]:
            return "the proxy passes every token on at once; both see the same"
        later = client["ttft"] - server["ttft"]
        said = f"through the proxy the first token comes {later:.2f} s later"
        if client["max_itl"] is None:
            return said
        return f"{said}; the largest gap goes from {server['max_itl']:.2f} to {client['max_itl']:.2f} s"

    def describe(self) -> str:
        """The picture in words."""
        sides = (f"{side.capitalize()}: {', '.join(_said(report))}." for side, report in self.reports.items())
        return " ".join((sentence(self.verdict), f"{self.setting.tokens} tokens.", *sides))

    def tell(self) -> str:
        """The reading as HTML."""
        return verdict(self.verdict) + facts((side, spans(*_said(report))) for side, report in self.reports.items())


def _said(report) -> list[str]:
    """Each number of a report with its name: "TTFT 0.200 s"."""
    return [f"{NAMES[name]} {'none' if value is None else f'{value:.3f} s'}" for name, value in report.items()]


def sent(setting: Setting) -> list[float]:
    """When each token leaves the server, in seconds after the arrival. The one in the middle may stall."""
    gaps = [setting.gap] * (setting.tokens - 1)
    if gaps:
        gaps[len(gaps) // 2] += setting.stall
    return [(setting.first + sum(gaps[:n])) / 1000 for n in range(setting.tokens)]


def passed_on(stamps: Sequence[float], held: int) -> list[float]:
    """When each token reaches the client, if a proxy waits until it has `held` of them, or the last."""
    return [stamps[min(len(stamps), (n // held + 1) * held) - 1] for n in range(len(stamps))]


def reading(setting: Setting, latency_report: Callable | None = None) -> Reading:
    """Both sides' stamps and reports. The caption says whether the learner's `latency_report` gives the same.

    ValueError or TypeError, in a sentence, for what cannot be read.
    """
    for name, least, most in (
        ("tokens", 1, MOST_TOKENS),
        ("first", 1, MOST_FIRST),
        ("gap", 1, MOST_GAP),
        ("stall", 0, MOST_STALL),
        ("held", 1, MOST_HELD),
    ):
        between(name, getattr(setting, name), least, most)
    server = sent(setting)
    stamps = {"server": server, "client": passed_on(server, setting.held)}
    right = {side: scheduling.latency_report(0.0, each) for side, each in stamps.items()}
    calls = {side: (ARRIVAL, [ARRIVAL + stamp for stamp in each]) for side, each in stamps.items()}

    def fault(given, side: str) -> str:
        return "" if _alike(given, right[side]) else f" of the {side} gives {short_repr(given)}"

    return Reading(setting, stamps, right, computed_by("latency_report", latency_report, calls, fault))


def _alike(mine, right) -> bool:
    if type(mine) is not dict or set(mine) != set(right):
        return False
    for name, wanted in right.items():
        got = mine[name]
        if wanted is None or not isinstance(got, int | float):
            if got is not wanted:
                return False
        elif not abs(got - wanted) <= 1e-9:
            return False
    return True


class Chart:
    """The picture: both sides' tokens on one axis of time that never moves."""

    def __init__(self):
        with base.styled_figure(2.9) as self.figure:
            ax = self.figure.add_axes((0.105, 0.255, 0.86, 0.70))
        ax.set_xlim(0, SHOWN)
        ax.set_ylim(-0.62, 1.62)
        ax.set_yticks(list(PLACES.values()), PLACES)
        ax.xaxis.set_major_locator(FixedLocator(np.arange(0, SHOWN + 0.1, 0.2)))
        ax.tick_params(labelsize=8.5)
        ax.grid(axis="y", visible=False)
        ax.set_xlabel("seconds after the arrival", fontsize=9, labelpad=1)
        (self.ways,) = ax.plot([], [], color=style.SOFT, linewidth=0.7, linestyle=":", label="through the proxy")
        self.parts = {}
        for side, y in PLACES.items():
            (wait,) = ax.plot([], [], color=style.ORANGE, linewidth=5, solid_capstyle="butt", label="TTFT")
            (dots,) = ax.plot([], [], color=style.BLUE, marker="o", markersize=5, linestyle="", label="a token")
            look = {"color": style.VERMILION, "linewidth": 2.4, "solid_capstyle": "butt"}
            (gap,) = ax.plot([], [], **look, label="largest ITL")
            look = {"color": style.INK, "linewidth": 1.0, "marker": "|", "markersize": 7}
            (end,) = ax.plot([], [], **look, label="end-to-end")
            words = ax.text(0.02, y + OUTWARDS[side] * 0.44, "", fontsize=8.5, va="center")
            self.parts[side] = (wait, gap, dots, end, words)
        wait, gap, dots, end, _ = self.parts["server"]
        look = {"frameon": False, "fontsize": 8, "columnspacing": 1.1, "handlelength": 1.7, "handletextpad": 0.5}
        self.figure.legend(handles=[wait, dots, gap, end, self.ways], loc="lower center", ncols=5, **look)

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        return [self.ways, *(artist for parts in self.parts.values() for artist in parts)]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading."""
        pairs = zip(now.stamps["server"], now.stamps["client"], strict=True)
        ways = np.array(
            [[(left, PLACES["server"]), (came, PLACES["client"]), (np.nan, np.nan)] for left, came in pairs]
        )
        self.ways.set_data(*ways.reshape(-1, 2).T)
        for side, (wait, gap, dots, end, words) in self.parts.items():
            stamps, report, y = now.stamps[side], now.reports[side], PLACES[side]
            wait.set_data([0, report["ttft"]], [y, y])
            dots.set_data(stamps, [y] * len(stamps))
            gaps = np.diff(stamps)
            widest = [stamps[at := int(gaps.argmax())], stamps[at + 1]] if len(gaps) else []
            gap.set_data(widest, [y] * len(widest))
            end.set_data([0, report["end_to_end"]], [y + OUTWARDS[side] * 0.2] * 2)
            words.set_text(", ".join(_said(report)))


class Explorer(base.Explorer):
    """Tokens, the wait for the first, the gap, a stall in the middle, and what the proxy holds.

    Pass your own `latency_report`: the caption names it once it is right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(self, latency_report: Callable | None = None):
        start = Setting()
        self.tokens = slider("tokens", start.tokens, 1, MOST_TOKENS, "kv-tokens")
        self.first = slider("first, ms", start.first, 1, MOST_FIRST, "kv-first")
        self.gap = slider("gap, ms", start.gap, 1, MOST_GAP, "kv-gap")
        self.stall = slider("stall, ms", start.stall, 0, MOST_STALL, "kv-stall")
        self.held = slider("proxy holds", start.held, 1, MOST_HELD, "kv-held")
        super().__init__((self.tokens, self.first, self.gap, self.stall, self.held), latency_report)


explore, static_figure = Explorer, Explorer.static_figure
