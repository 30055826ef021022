"""Explorer of lesson 11: measured decode steps against context, the bound, and what the slope says of cached rows.

`reading` reads one series out of a recording or a live sweep, `explore` has the controls, `static_figure` is the
picture for a page without controls.
"""

from dataclasses import dataclass
from math import floor, isclose, log10
from statistics import median

from matplotlib import rc_context
from matplotlib.figure import Figure

from kvlab.bench import rates
from kvlab.bench.recordings import Series, by_batch
from kvlab.explorers import controls
from kvlab.explorers.controls import ask, dropdown, facts, ladder, library_instead, verdict
from kvlab.figures import labels, style
from kvlab.figures.picture import CSS_DPI, Picture

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


def reading(data: dict, setting: Setting, fit_line=None, step_bytes=None) -> Reading:
    """The series of a setting from `data`, a recording or a live sweep with the same keys.

    Line and bytes are the learner's where these are right, else the library's. ValueError for a point not tried.
    """
    problems = []
    bytes_of_a_step = _own("step_bytes", step_bytes, rates.step_bytes, problems)
    line_through = _own("fit_line", fit_line, rates.fit_line, problems)
    found = by_batch(data, setting.way, bytes_of_a_step, line_through).get(setting.batch)
    if not found or setting.context not in found.bounds:
        raise ValueError(f"{setting.way}, {setting.batch} requests, {setting.context:,} tokens: not tried in this run")
    everyone = [max(row["seconds"]) for row in data["points"] if row["batch"] == setting.batch and "seconds" in row]
    caption = problems[0] if problems else "line and bytes computed by your fit_line and step_bytes"
    return Reading(setting, found, max(everyone, default=1.0), caption)


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
        with rc_context(style.STYLE):
            self.figure = Figure((5.4, 3.7), dpi=CSS_DPI)  # narrow: its text stays readable when scaled
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
    def moving(self):
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


def describe(now: Reading) -> str:
    """The picture in words."""
    setting, found = now.setting, now.series
    medians = ", ".join(f"{labels.duration(median(t))} at {context:,}" for context, t in found.trials.items())
    bounds = ", ".join(f"{labels.duration(bound)} at {context:,}" for context, bound in found.bounds.items())
    series = f"{setting.way}, requests in a step: {setting.batch}"
    return f"{now.verdict[:1].upper()}{now.verdict[1:]}. {series}: median {medians or 'none'} tokens; bound {bounds}."


def sources(recordings: dict[str, dict], live: dict | None = None) -> dict[str, dict]:
    """What the explorer can show by the words of its list: a live sweep first, then recordings of machines."""
    return ({"live, this machine": live} if live else {}) | {f"recorded: {name}": d for name, d in recordings.items()}


def first_setting(data: dict[str, dict]) -> Setting:
    """The first source, a preallocated cache, its largest batch and longest context."""
    name, each = next(iter(data.items()))
    batch = max(row["batch"] for row in each["points"])
    return Setting(name, "preallocated", batch, max(row["context"] for row in each["points"]))


def static_figure(recordings, live=None, fit_line=None, step_bytes=None) -> Picture:
    """The explorer's picture at its first setting, for a page that cannot run it."""
    data = sources(recordings, live)
    setting = first_setting(data)
    chart, now = Chart(), reading(data[setting.source], setting, fit_line, step_bytes)
    chart.set(now)
    return Picture(chart.figure, describe(now))


def explore(recordings, live=None, fit_line=None, step_bytes=None) -> "Explorer":
    """The explorer as a widget. Pass your own `fit_line` and `step_bytes`: they are shown once they are right."""
    return Explorer(sources(recordings, live), fit_line, step_bytes)


class Explorer(controls.Explorer):
    """Lists of what was measured; the points of one are those that its run tried."""

    def __init__(self, data: dict[str, dict], fit_line=None, step_bytes=None):
        self.data, self.functions = data, (fit_line, step_bytes)
        start = first_setting(data)
        self.source = dropdown("measured", list(data), start.source, "kv-source")
        self.way = dropdown("cache", _tried(data[start.source], "way"), start.way, "kv-way")
        self.batch = ladder("requests", _tried(data[start.source], "batch"), start.batch, "kv-batch")
        self.context = ladder("context", _tried(data[start.source], "context"), start.context, "kv-context")
        self.source.observe(self._choose_source, "value")
        super().__init__((self.source, self.way, self.batch, self.context), Chart())

    def setting(self) -> Setting:
        """What the controls say."""
        return Setting(self.source.value, self.way.value, self.batch.value, self.context.value)

    def read(self, setting: Setting) -> Reading:
        """The series, with line and bytes by the learner's functions where these are right."""
        return reading(self.data[setting.source], setting, *self.functions)

    def tell(self, setting: Setting, now: Reading) -> str:
        """The reading as HTML."""
        found = now.series
        rows = [("a copy there moves", f"<span>{labels.rate_label(found.copy_rate)}</span>")]
        if found.row_rate:
            share = f"<span>{found.row_rate / found.copy_rate:.2f} of a copy</span>"
            rows += [
                ("at context 0", f"<span>{labels.duration(found.line[1])}</span>"),
                ("a token of context", f"<span>{labels.duration(found.line[0])}</span>"),
                ("its rows come at", f"<span>{labels.rate_label(found.row_rate)}</span> {share}"),
            ]
        about = self.data[setting.source]["about"]
        rows.append(("where", f"<span>{about['device_name']}</span> <span>{about['dtype']}</span>"))
        return verdict(now.verdict) + facts(rows)

    def describe(self, now: Reading) -> str:
        """The picture in words."""
        return describe(now)

    def _choose_source(self, change) -> None:
        data = self.data[change["new"]]
        with self.together():
            for control, key in ((self.way, "way"), (self.batch, "batch"), (self.context, "context")):
                before, tried = control.value, _tried(data, key)
                control.options = [(f"{each:,}" if key != "way" else each, each) for each in tried]
                control.value = before if before in tried else tried[-1]


def _tried(data: dict, key: str) -> list:
    return sorted({row[key] for row in data["points"]})
