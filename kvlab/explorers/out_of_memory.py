"""Explorer of lesson 11: five ways to run out of memory, moment by moment, in what the allocators of a machine said."""

from dataclasses import dataclass
from math import ceil

from matplotlib.artist import Artist

from kvlab.bench.memory import SCENES
from kvlab.explorers import base
from kvlab.explorers.controls import dropdown, ladder
from kvlab.explorers.words import facts, spans, verdict
from kvlab.figures import style
from kvlab.sizes import MIB

STEP = 256 * MIB  # the axis ends at a multiple of it
LOOKS = {
    "tensors": ("living tensors", style.BLUE),
    "process": ("taken by this process", style.ORANGE),
    "machine_free": ("free for anybody, change since moment 1", style.GREEN),
}
SIGNS = {
    "growth": "the tensors themselves peak: two generations of a cache live at once",
    "workspace": "the tensors peak for a moment: something inside one step is larger than the cache",
    "graph capture": "the process holds more than its tensors: a captured graph keeps its own pool",
    "another process": "only the machine's free memory moves: look for who else is there",
    "fragmentation": "the process holds far more than its tensors: there is room, but in pieces",
}


@dataclass(frozen=True)
class Setting:
    """What the controls say: whose measurement, a scene, and one of its moments, from 1."""

    source: str
    scene: str = "fragmentation"
    moment: int = 2


@dataclass(frozen=True)
class Reading:
    """The moments of a scene, each with three numbers of bytes, and the one that is looked at."""

    setting: Setting
    moments: list[dict]
    computed_by: str  # a sentence for the caption

    @property
    def now(self) -> dict:
        """The row of the moment that is looked at."""
        return self.moments[self.setting.moment - 1]

    def shown(self, row: dict, key: str) -> int:
        """Bytes as the picture shows them: free memory as its change since the first moment."""
        return row[key] - (self.moments[0][key] if key == "machine_free" else 0)

    @property
    def verdict(self) -> str:
        """What to read this scene by, in one sentence without its full stop."""
        return f"{self.now['moment']}; {SIGNS[self.setting.scene]}"

    def describe(self) -> str:
        """The picture in words."""
        said = []
        for row in self.moments:
            shown = (f"{label} {_short(self.shown(row, key))}" for key, (label, _) in LOOKS.items())
            said.append(f"{row['moment']}: {', '.join(shown)}")
        return f"{self.setting.scene}. {'; '.join(said)}."

    def tell(self) -> str:
        """The reading as HTML."""
        names = {"tensors": "living tensors", "process": "taken by this process", "machine_free": "free for anybody"}
        return verdict(self.verdict) + facts((name, spans(_short(self.now[key]))) for key, name in names.items())


def _short(n_bytes: float) -> str:
    """Bytes in few characters, with their sign: "-256 MiB"."""
    return f"{n_bytes / MIB:,.0f} MiB".replace("-0 ", "0 ")


def reading(setting: Setting, sources: dict[str, dict]) -> Reading:
    """A scene of one of `sources`, whose "memory" holds rows as `kvlab.bench.memory.walk` gives them.

    ValueError for a scene that did not run there, or a moment that it does not have.
    """
    data = sources[setting.source]
    moments = [row for row in data["memory"] if row["scene"] == setting.scene]
    if not moments:
        raise ValueError(f"{setting.scene}: not acted out there, only {', '.join(_scenes(data))}")
    if not 1 <= setting.moment <= len(moments):
        raise ValueError(f"moment: wanted one of 1 to {len(moments)}, got {setting.moment}")
    return Reading(setting, moments, SCENES[setting.scene].__doc__.rstrip("."))


class Chart:
    """Three bars for each of three moments; the moment that is looked at is framed."""

    MOMENTS = 3

    def __init__(self):
        with base.styled_figure(3.4) as self.figure:
            ax = self.figure.add_axes((0.155, 0.15, 0.825, 0.69))
            ax.set_xlim(-0.5, self.MOMENTS - 0.5)
            ax.set_ylim(-1.15, 1.15)
            ax.set_xticks(range(self.MOMENTS), [""] * self.MOMENTS)
            ax.set_yticks((-1, -0.5, 0, 0.5, 1), [""] * 5)
            ax.grid(axis="x", visible=False)
            ax.tick_params(length=0)
            ax.axhline(0, color=style.SOFT, linewidth=1)
            left = {"ha": "right", "va": "center", "fontsize": 9}
            self.ticks = [(place, ax.text(-0.54, place, "", **left)) for place in (-1, -0.5, 0, 0.5, 1)]
            below = {"ha": "center", "va": "top", "fontsize": 8.5}
            self.names = [ax.text(place, -1.2, "", **below) for place in range(self.MOMENTS)]
            self.frame = ax.axvspan(-0.5, 0.5, facecolor="none", edgecolor=style.INK, linewidth=1.4)
            self.bars = {
                key: ax.bar([m + 0.26 * (n - 1) for m in range(self.MOMENTS)], 0, 0.24, color=colour, label=label)
                for n, (key, (label, colour)) in enumerate(LOOKS.items())
            }
            look = {"frameon": False, "fontsize": 8, "columnspacing": 0.9, "handlelength": 1, "handletextpad": 0.5}
            self.figure.legend(loc="upper center", bbox_to_anchor=(0.5, 0.95), ncols=3, **look)
            self.title = self.figure.text(0.5, 0.975, "", ha="center", va="top", fontsize=9.5)

    @property
    def moving(self) -> list[Artist]:
        """The artists that a reading changes, in drawing order."""
        bars = [bar for container in self.bars.values() for bar in container]
        return [*bars, self.frame, self.title, *self.names, *(text for _, text in self.ticks)]

    def set(self, now: Reading) -> None:
        """Move the artists to a reading."""
        shown = {key: [now.shown(row, key) for row in now.moments] for key in LOOKS}
        most = STEP * ceil(max(1, *(abs(n) for values in shown.values() for n in values)) / STEP)
        for key, values in shown.items():
            for bar, value in zip(self.bars[key], values, strict=True):
                bar.set_height(value / most)
        for text, row in zip(self.names, now.moments, strict=True):
            text.set_text(_two_lines(row["moment"]))
        for place, text in self.ticks:
            text.set_text(_short(place * most))
        self.title.set_text(now.setting.scene)
        self.frame.set_x(now.setting.moment - 1.5)


def _two_lines(words: str) -> str:
    """Broken at the space nearest to the middle, where that helps."""
    if len(words) < 20:
        return words
    spaces = [place for place, letter in enumerate(words) if letter == " "]
    middle = min(spaces, key=lambda place: abs(place - len(words) / 2))
    return f"{words[:middle]}\n{words[middle + 1 :]}"


def _scenes(data: dict) -> list[str]:
    """The scenes that were acted out there, in order."""
    return list(dict.fromkeys(row["scene"] for row in data["memory"]))


class Explorer(base.Explorer):
    """Lists of machines and scenes, and a slider over the moments of one.

    `sources` are measurements by name, each a dict whose "memory" holds the rows of a walk.
    """

    Setting, Chart, reading = Setting, Chart, staticmethod(reading)

    def __init__(self, sources: dict[str, dict]):
        self.sources, start = sources, self.first_setting(sources)
        self.source = dropdown("measured", list(sources), start.source, "kv-memory-source")
        self.scene = dropdown("scene", _scenes(sources[start.source]), start.scene, "kv-scene")
        self.moment = ladder("moment", range(1, Chart.MOMENTS + 1), start.moment, "kv-moment")
        self.source.observe(self._choose_source, "value")
        super().__init__((self.source, self.scene, self.moment), sources)

    @classmethod
    def first_setting(cls, sources: dict[str, dict]) -> Setting:
        """The first of the sources, at the scene and the moment that the lesson opens with."""
        return Setting(next(iter(sources)))

    def _choose_source(self, change) -> None:
        before, there = self.scene.value, _scenes(self.sources[change["new"]])
        with self.together():
            self.scene.options = there
            self.scene.value = before if before in there else there[-1]


explore, static_figure = Explorer, Explorer.static_figure
