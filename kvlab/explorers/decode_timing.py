"""Explorer of lesson 11: measured decode steps against context, the bound, and what the slope says of cached rows."""

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, isclose, log10
from statistics import median

from matplotlib.artist import Artist

from kvlab.bench import rates
from kvlab.bench.recordings import Series, by_batch
from kvlab.explorers import base
from kvlab.explorers.controls import dropdown, ladder, with_commas
from kvlab.explorers.learner import ask, library_instead
from kvlab.explorers.words import facts, sentence, spans, verdict
from kvlab.figures import labels, style

STEPS = 4  # intervals of an axis
ROUND = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)  # ends of an axis that four intervals divide into short numbers


@dataclass(frozen=True)
class Setting:
    """What the controls say: whose measurement, how the cache is kept, requests in a step, tokens of each."""

    source: str
    way: str
    batch: int
    context: int


@dataclass(frozen=True)
class Reading:
    """One series of measured steps, and the point of it that is looked at."""

    setting: Setting
    about: dict  # the machine that measured, as the recording says
    series: Series
    longest: float  # seconds: the end of the time axis, the same for every way
    computed_by: str  # a sentence for the caption

    @property
    def verdict(self) -> str:
        """The chosen point in one sentence without its full stop."""
        context, series = self.setting.context, self.series
        if context in series.missing:
            return f"{context:,} tokens: {series.missing[context]}, so there is no time to show"
        taken = median(series.trials[context])
        times = taken / series.bounds[context]
        return (
            f"{context:,} tokens: {labels.duration(taken)} a step, {times:.2f} times the bound; "
            f"{self.setting.batch / taken:,.0f} tokens per second in all"
        )

    def describe(self) -> str:
        """The picture in words."""
        series = self.series
        medians = ", ".join(f"{labels.duration(median(t))} at {context:,}" for context, t in series.trials.items())
        bounds = ", ".join(f"{labels.duration(bound)} at {context:,}" for context, bound in series.bounds.items())
        shown = f"{self.setting.way}, requests in a step: {self.setting.batch}"
        return f"{sentence(self.verdict)} {shown}: median {medians or 'none'} tokens; bound {bounds}."

    def tell(self) -> str:
        """The reading as HTML."""
        series = self.series
        rows = [("a copy there moves", spans(labels.rate_label(series.copy_rate)))]
        if series.row_rate:
            slope, intercept = series.line
            share = f"{series.row_rate / series.copy_rate:.2f} of a copy"
            rows += [
                ("at context 0", spans(labels.duration(intercept))),
                ("a token of context", spans(labels.duration(slope))),
                ("its rows come at", spans(labels.rate_label(series.row_rate), share)),
            ]
        rows.append(("where", spans(self.about["device_name"], self.about["dtype"])))
        return verdict(self.verdict) + facts(rows)


def sources(recordings: dict[str, dict], live: dict | None = None) -> dict[str, dict]:
    """What the explorer can show by the words of its list: a live sweep first, then recordings of machines."""
    return ({"live, this machine": live} if live else {}) | {f"recorded: {name}": d for name, d in recordings.items()}


def reading(
    setting: Setting,
    recordings: dict[str, dict],
    live: dict | None = None,
    fit_line: Callable | None = None,
    step_bytes: Callable | None = None,
) -> Reading:
    """The series of a setting from `recordings` of machines by name, or from `live`, a sweep with the same keys.

    The caption says whether the learner's functions give the same line and bytes. ValueError for a point not tried.
    """
    data = sources(recordings, live)[setting.source]
    problems = []
    bytes_of_a_step = _own("step_bytes", step_bytes, rates.step_bytes, problems)
    line_through = _own("fit_line", fit_line, rates.fit_line, problems)
    found = by_batch(data, setting.way, bytes_of_a_step, line_through).get(setting.batch)
    if not found or setting.context not in found.bounds:
        raise ValueError(f"{setting.way}, {setting.batch} requests, {setting.context:,} tokens: not tried in this run")
    everyone = [max(row["seconds"]) for row in data["points"] if row["batch"] == setting.batch and "seconds" in row]
    caption = problems[0] if problems else "line and bytes computed by your fit_line and step_bytes"
    return Reading(setting, data["about"], found, max(everyone, default=1.0), caption)


def _own(name, mine, library, problems):
    """`library`, watched: whatever the learner's function does differently on the same arguments joins `problems`."""

    def both(*arguments):
        right = library(*arguments)
        value, problem = ask(name, mine, *arguments)
        if not problem and not _same(value, right):
            problem = library_instead(f"your {name} gives {value!r:.60} here")
        problems.extend([problem] if problem else [])
        return right

    return both


def _same(value, right) -> bool:
    try:
        return len(value) == len(right) and all(isclose(a, b, rel_tol=1e-6) for a, b in zip(value, right, strict=True))
    except (TypeError, ValueError):
        return False


def axis_end(largest: float) -> float:
    """The least round number that is not below `largest`, which is positive."""
    power = 10.0 ** floor(log10(largest))
    return next(power * each for each in ROUND if power * each >= largest * (1 - 1e-9))


class Chart:
    """Axes of unit length whose labels move with the series, so that only marks and a few texts are drawn anew."""

    def __init__(self):
        with base.styled_figure(3.7) as self.figure:
            ax = self.figure.add_axes((0.135, 0.15, 0.835, 0.7))
            ax.set_xlim(0, 1.03)
            ax.set_ylim(0, 1.06)
            places = [step / STEPS for step in range(STEPS + 1)]
            ax.set_xticks(places, [""] * len(places))
            ax.set_yticks(places, [""] * len(places))
            below = {"ha": "center", "va": "top", "fontsize": 9}
            left = {"ha": "right", "va": "center", "fontsize": 9}
            self.tokens = [ax.text(place, -0.03, "", **below) for place in places]
            self.times = [ax.text(-0.015, place, "", **left) for place in places]
            ax.set_xlabel("context: tokens of each request", labelpad=14, fontsize=9.5)
            self.title = ax.text(0, 1.13, "", fontsize=9.5, transform=ax.transAxes)
            self.trials = ax.plot([], [], "o", color=style.BLUE, markersize=4, alpha=0.3)[0]
            self.medians = ax.plot([], [], "o", color=style.BLUE, markersize=7, label="median")[0]
            self.fit = ax.plot([], [], color=style.BLUE, linewidth=1.3, label="fitted line")[0]
            self.bound = ax.plot(
                [], [], color=style.VERMILION, linestyle=":", marker="_", linewidth=1.8, label="bound"
            )[0]
            self.missing = ax.plot([], [], "x", color=style.VERMILION, markersize=8, clip_on=False)[0]
            self.chosen = ax.axvline(-1, color=style.SOFT, linewidth=1, label="chosen context")
            ax.legend(
                loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=4, frameon=False, fontsize=8.5, columnspacing=1.2
            )

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        marks = self.chosen, self.bound, self.fit, self.trials, self.medians, self.missing
        return [*marks, self.title, *self.tokens, *self.times]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading."""
        found, longest = now.series, axis_end(now.longest)
        self.title.set_text(f"time of one decode step · {now.setting.way} · {_requests(now.setting.batch)}")
        most = max(found.bounds)
        for step, (tokens, time) in enumerate(zip(self.tokens, self.times, strict=True)):
            tokens.set_text(f"{most * step / STEPS:,.0f}")
            time.set_text(labels.duration(longest * step / STEPS))
        pairs = [(context, each) for context, times in found.trials.items() for each in times]
        self.trials.set_data([context / most for context, _ in pairs], [each / longest for _, each in pairs])
        middles = [median(times) / longest for times in found.trials.values()]
        self.medians.set_data([context / most for context in found.trials], middles)
        self.bound.set_data([c / most for c in found.bounds], [bound / longest for bound in found.bounds.values()])
        ends = (0, 1) if found.line else ()
        self.fit.set_data(ends, [(found.line[1] + found.line[0] * end * most) / longest for end in ends])
        self.missing.set_data([context / most for context in found.missing], [0] * len(found.missing))
        self.chosen.set_xdata([now.setting.context / most] * 2)


def _requests(batch: int) -> str:
    return f"{batch} request" + "s" * (batch > 1)


class Explorer(base.Explorer):
    """Lists of what was measured; the points of one are those that its run tried.

    `recordings` are measurements by the name of their machine, `live` is a sweep of this one. Pass your own
    `fit_line` and `step_bytes`: the caption names them once they are right.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(
        self,
        recordings: dict[str, dict],
        live: dict | None = None,
        fit_line: Callable | None = None,
        step_bytes: Callable | None = None,
    ):
        self.data, start = sources(recordings, live), self.first_setting(recordings, live)
        tried = self.data[start.source]
        self.source = dropdown("measured", list(self.data), start.source, "kv-source")
        self.way = dropdown("cache", _tried(tried, "way"), start.way, "kv-way")
        self.batch = ladder("requests", _tried(tried, "batch"), start.batch, "kv-batch")
        self.context = ladder("context", _tried(tried, "context"), start.context, "kv-context")
        self.source.observe(self._choose_source, "value")
        super().__init__((self.source, self.way, self.batch, self.context), recordings, live, fit_line, step_bytes)

    @classmethod
    def first_setting(cls, recordings: dict[str, dict], live: dict | None = None, *_answers: object) -> Setting:
        """The first source, a preallocated cache, its largest batch and longest context."""
        name, data = next(iter(sources(recordings, live).items()))
        return Setting(name, "preallocated", _tried(data, "batch")[-1], _tried(data, "context")[-1])

    def _choose_source(self, change) -> None:
        data = self.data[change["new"]]
        with self.together():
            for control, key in ((self.way, "way"), (self.batch, "batch"), (self.context, "context")):
                before, tried = control.value, _tried(data, key)
                control.options = tried if key == "way" else with_commas(tried)
                control.value = before if before in tried else tried[-1]


def _tried(data: dict, key: str) -> list:
    return sorted({row[key] for row in data["points"]})


explore, static_figure = Explorer, Explorer.static_figure
