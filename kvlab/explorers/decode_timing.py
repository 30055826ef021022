"""Explorer of lesson 11: measured decode steps against context, the bound, and what the slope says of cached rows.

`reading` reads one series out of a recording or a live sweep, `explore` has the controls, `static_figure` is the
picture for a page without controls.
"""

from dataclasses import dataclass
from math import floor, isclose, log10
from statistics import median

from matplotlib import rc_context
from matplotlib.figure import Figure

from kvlab import plots, rates
from kvlab.explorers import controls
from kvlab.explorers.controls import ask, choice, dropdown, facts, library_instead, verdict
from kvlab.pictures import CSS_DPI, Picture

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
    """One series: times in seconds, rates in bytes per second."""

    setting: Setting
    trials: dict[int, list[float]]  # by context; none where a point was not measured
    missing: dict[int, str]  # by context: why there is no time
    bounds: dict[int, float]  # by context: all its bytes at the rate of a copy
    line: tuple[float, float] | None  # seconds per token of context, and at context 0
    row_rate: float | None  # of the cache's rows, as the slope implies
    copy_rate: float
    longest: float  # seconds: the end of the time axis, the same for every way
    computed_by: str  # a sentence for the caption

    @property
    def verdict(self) -> str:
        """The chosen point in one sentence without its full stop."""
        context = self.setting.context
        if context in self.missing:
            return f"{context:,} tokens: {self.missing[context]}, so there is no time to show"
        taken = median(self.trials[context])
        return (
            f"{context:,} tokens: {plots.duration(taken)} a step, {taken / self.bounds[context]:.2f} times the bound; "
            f"{self.setting.batch / taken:,.0f} tokens per second in all"
        )


def reading(data: dict, setting: Setting, fit_line=None, step_bytes=None) -> Reading:
    """The series of a setting from `data`, a recording or a live sweep with the same keys.

    Line and bytes are the learner's where these are right, else the library's. ValueError for a point not tried.
    """
    rows = [row for row in data["points"] if (row["way"], row["batch"]) == (setting.way, setting.batch)]
    tried = {row["context"]: row for row in rows}
    if setting.context not in tried:
        raise ValueError(f"{setting.way}, {setting.batch} requests, {setting.context:,} tokens: not tried in this run")
    trials = {context: row["seconds"] for context, row in tried.items() if "seconds" in row}
    limits, problems = data["limits"], []
    rate = limits["copied_bytes"] / median(limits["copy_seconds"])
    about = data["about"]
    bits = about["bits"]

    def read_bytes(context):
        sizes = about["card"], about["num_params"], setting.batch, context, bits, bits
        return _own("step_bytes", step_bytes, rates.step_bytes, sizes, problems)

    bytes_at = {context: read_bytes(context) for context in tried}
    line = row_rate = None
    if len(trials) > 1:
        contexts, medians = list(trials), [median(times) for times in trials.values()]
        line = _own("fit_line", fit_line, rates.fit_line, (contexts, medians), problems)
        near, far = (bytes_at[end][1] for end in (min(trials), max(trials)))
        per_token = (far - near) / (max(trials) - min(trials))
        row_rate = per_token / line[0] if line[0] > 0 else None
    everyone = [max(row["seconds"]) for row in data["points"] if row["batch"] == setting.batch and "seconds" in row]
    return Reading(
        setting,
        trials,
        {context: row["outcome"] for context, row in tried.items() if "seconds" not in row},
        {context: sum(both) / rate for context, both in bytes_at.items()},
        line,
        row_rate,
        rate,
        max(everyone, default=1.0),
        problems[0] if problems else "line and bytes computed by your fit_line and step_bytes",
    )


def _own(name, mine, library, arguments, problems):
    """The library's value; what is wrong with the learner's, if anything, goes into `problems`."""
    right = library(*arguments)
    value, problem = ask(name, mine, *arguments)
    if not problem and not _same(value, right):
        problem = library_instead(f"your {name} gives {value!r:.60} here")
    problems += [problem] * bool(problem)
    return right


def _same(value, right) -> bool:
    try:
        return len(value) == len(right) and all(map(lambda a, b: isclose(a, b, rel_tol=1e-6), value, right))
    except (TypeError, ValueError):
        return False


def axis_end(largest: float) -> float:
    """The least round number that is not below `largest`, which is positive."""
    power = 10.0 ** floor(log10(largest))
    return next(power * each for each in ROUND if power * each >= largest * (1 - 1e-9))


class Chart:
    """Axes of unit length whose labels move with the series, so that only marks and a few texts are drawn anew."""

    def __init__(self):
        with rc_context(plots.STYLE):
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
            ax.set_title("time of one decode step", fontsize=9.5, loc="left", pad=24)
            self.trials = ax.plot([], [], "o", color=plots.BLUE, markersize=4, alpha=0.3)[0]
            self.medians = ax.plot([], [], "o", color=plots.BLUE, markersize=7, label="median")[0]
            self.fit = ax.plot([], [], color=plots.BLUE, linewidth=1.3, label="fitted line")[0]
            self.bound = ax.plot(
                [], [], color=plots.VERMILION, linestyle=":", marker="_", linewidth=1.8, label="bound"
            )[0]
            self.missing = ax.plot([], [], "x", color=plots.VERMILION, markersize=8, clip_on=False)[0]
            self.chosen = ax.axvline(-1, color=plots.SOFT, linewidth=1)
            ax.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=3, frameon=False, fontsize=9)

    @property
    def moving(self):
        """The artists that a reading changes, in drawing order."""
        marks = self.chosen, self.bound, self.fit, self.trials, self.medians, self.missing
        return [*marks, *self.tokens, *self.times]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading."""
        most, longest = max(now.bounds), axis_end(now.longest)
        for step, (tokens, time) in enumerate(zip(self.tokens, self.times, strict=True)):
            tokens.set_text(f"{most * step / STEPS:,.0f}")
            time.set_text(plots.duration(longest * step / STEPS))
        pairs = [(context, each) for context, times in now.trials.items() for each in times]
        self.trials.set_data([context / most for context, _ in pairs], [each / longest for _, each in pairs])
        middles = [median(times) / longest for times in now.trials.values()]
        self.medians.set_data([context / most for context in now.trials], middles)
        bounds = sorted(now.bounds.items())
        self.bound.set_data([context / most for context, _ in bounds], [bound / longest for _, bound in bounds])
        ends = (0, 1) if now.line else ()
        self.fit.set_data(ends, [(now.line[1] + now.line[0] * end * most) / longest for end in ends])
        self.missing.set_data([context / most for context in now.missing], [0] * len(now.missing))
        self.chosen.set_xdata([now.setting.context / most] * 2)


def describe(now: Reading) -> str:
    """The picture in words."""
    setting = now.setting
    medians = ", ".join(f"{plots.duration(median(t))} at {context:,}" for context, t in now.trials.items())
    bounds = ", ".join(f"{plots.duration(bound)} at {context:,}" for context, bound in sorted(now.bounds.items()))
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
        self.batch = choice("requests", _tried(data[start.source], "batch"), start.batch, "kv-batch")
        self.context = choice("context", _tried(data[start.source], "context"), start.context, "kv-context")
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
        rows = [("a copy here moves", f"<span>{plots.rate_label(now.copy_rate)}</span>")]
        if now.line and now.row_rate:
            share = f"<span>{now.row_rate / now.copy_rate:.2f} of a copy</span>"
            rows += [
                ("a token of context costs", f"<span>{plots.duration(now.line[0])}</span>"),
                ("so its rows come at", f"<span>{plots.rate_label(now.row_rate)}</span> {share}"),
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
