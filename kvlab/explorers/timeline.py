"""Explorer of lesson 10: tokens leave a server, a proxy passes them on, and a client sees other numbers.

`reading` makes the time stamps, `explore` has the controls, `static_figure` is the picture for a page without controls.
"""

from dataclasses import dataclass

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from kvlab import scheduling
from kvlab.explorers import controls
from kvlab.explorers.controls import ask, facts, library_instead, slider, verdict
from kvlab.figures import style
from kvlab.figures.picture import CSS_DPI, Picture
from kvlab.sizes import whole

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


def sent(setting: Setting) -> list[float]:
    """When each token leaves the server, in seconds after the arrival. The one in the middle may stall."""
    gaps = [setting.gap] * (setting.tokens - 1)
    if gaps:
        gaps[len(gaps) // 2] += setting.stall
    return [(setting.first + sum(gaps[:n])) / 1000 for n in range(setting.tokens)]


def passed_on(stamps, held: int) -> list[float]:
    """When each token reaches the client, if a proxy waits until it has `held` of them, or the last."""
    return [stamps[min(len(stamps), (n // held + 1) * held) - 1] for n in range(len(stamps))]


def reading(setting: Setting, latency_report=None) -> Reading:
    """Both sides' stamps and reports. `latency_report`, a learner's own, is shown where it is right.

    ValueError or TypeError, in a sentence, for what cannot be read.
    """
    for name, least, most in (
        ("tokens", 1, MOST_TOKENS),
        ("first", 1, MOST_FIRST),
        ("gap", 1, MOST_GAP),
        ("stall", 0, MOST_STALL),
        ("held", 1, MOST_HELD),
    ):
        if whole(name, getattr(setting, name), least) > most:
            raise ValueError(f"{name}: wanted at most {most}, got {getattr(setting, name)}")
    server = sent(setting)
    stamps = {"server": server, "client": passed_on(server, setting.held)}
    right = {side: scheduling.latency_report(0.0, each) for side, each in stamps.items()}
    return Reading(setting, stamps, right, _whose(latency_report, stamps, right))


def _whose(latency_report, stamps, right) -> str:
    """The caption: whose numbers these are. Where the learner's are right, they are the library's too."""
    for side, each in stamps.items():
        mine, problem = ask("latency_report", latency_report, ARRIVAL, [ARRIVAL + stamp for stamp in each])
        if problem:
            return problem
        if not _alike(mine, right[side]):
            return library_instead(f"your latency_report of the {side} gives {mine!r}"[:140])
    return "computed by your latency_report"


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
        with rc_context(style.STYLE):
            self.figure = Figure((5.4, 2.9), dpi=CSS_DPI)  # narrow: its text stays readable when scaled
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
    def moving(self):
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
            words.set_text(", ".join(f"{NAMES[name]} {_seconds(value)}" for name, value in report.items()))


def _seconds(value) -> str:
    return "none" if value is None else f"{value:.3f} s"


def describe(now: Reading) -> str:
    """The picture in words."""
    said = f"{now.verdict[:1].upper()}{now.verdict[1:]}. {now.setting.tokens} tokens. "
    for side, report in now.reports.items():
        said += f"{side.capitalize()}: " + ", ".join(f"{NAMES[n]} {_seconds(v)}" for n, v in report.items()) + ". "
    return said.rstrip()


def static_figure(latency_report=None, setting: Setting = Setting()) -> Picture:
    """The explorer's picture at its first setting, for a page that cannot run it."""
    chart, now = Chart(), reading(setting, latency_report)
    chart.set(now)
    return Picture(chart.figure, describe(now))


def explore(latency_report=None) -> "Explorer":
    """The explorer as a widget. Pass your own `latency_report`: its numbers are shown once they are right."""
    return Explorer(latency_report)


class Explorer(controls.Explorer):
    """Tokens, the wait for the first, the gap, a stall in the middle, and what the proxy holds."""

    def __init__(self, latency_report=None):
        self.latency_report = latency_report
        start = Setting()
        self.tokens = slider("tokens", start.tokens, 1, MOST_TOKENS, "kv-tokens")
        self.first = slider("first, ms", start.first, 1, MOST_FIRST, "kv-first")
        self.gap = slider("gap, ms", start.gap, 1, MOST_GAP, "kv-gap")
        self.stall = slider("stall, ms", start.stall, 0, MOST_STALL, "kv-stall")
        self.held = slider("proxy holds", start.held, 1, MOST_HELD, "kv-held")
        super().__init__((self.tokens, self.first, self.gap, self.stall, self.held), Chart())

    def setting(self) -> Setting:
        """What the controls say."""
        return Setting(self.tokens.value, self.first.value, self.gap.value, self.stall.value, self.held.value)

    def read(self, setting: Setting) -> Reading:
        """Both sides' stamps, reported on by the learner's function where it is right."""
        return reading(setting, self.latency_report)

    def tell(self, setting: Setting, now: Reading) -> str:
        """The reading as HTML."""
        rows = [
            (side, " ".join(f"<span>{NAMES[name]} {_seconds(value)}</span>" for name, value in report.items()))
            for side, report in now.reports.items()
        ]
        return verdict(now.verdict) + facts(rows)

    def describe(self, now: Reading) -> str:
        """The picture in words."""
        return describe(now)
