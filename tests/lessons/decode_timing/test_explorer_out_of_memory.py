"""The memory explorer of lesson 11 as plain functions and as a widget without a front end."""

from kvlab.bench import recordings
from kvlab.bench.memory import SCENES
from kvlab.explorers import out_of_memory
from kvlab.explorers.out_of_memory import SIGNS, Chart, Setting, reading, static_figure
from kvlab.sizes import MIB
from tests.lessons.explorers import ExplorerTests, Sample

ROWS = [
    {"scene": "growth", "moment": f"moment {n}", "tensors": t * MIB, "process": p * MIB, "machine_free": f * MIB}
    for n, (t, p, f) in enumerate([(256, 260, 9000), (512, 520, 8700), (256, 262, 9010)], 1)
]
MADE = {"memory": ROWS}
RECORDED = recordings.by_machine("decode_timing")
SCENES_THERE = [
    (name, scene) for name, data in RECORDED.items() for scene in sorted({row["scene"] for row in data["memory"]})
]


def test_free_memory_is_shown_as_its_change():
    now = reading(Setting("made", "growth", 2), {"made": MADE})
    assert [now.shown(row, "machine_free") // MIB for row in now.moments] == [0, -300, 10]
    assert [now.shown(row, "tensors") // MIB for row in now.moments] == [256, 512, 256]
    assert now.verdict == f"moment 2; {SIGNS['growth']}"


def test_the_axis_has_a_round_end_that_holds_every_bar():
    chart = Chart()
    chart.set(reading(Setting("made", "growth", 2), {"made": MADE}))
    assert [text.get_text() for _, text in chart.ticks] == ["-768 MiB", "-384 MiB", "0 MiB", "384 MiB", "768 MiB"]
    heights = [[round(bar.get_height() * 768) for bar in bars] for bars in chart.bars.values()]
    assert heights == [[256, 512, 256], [260, 520, 262], [0, -300, 10]]


def test_every_scene_has_a_sign_to_read_it_by():
    assert SIGNS.keys() == SCENES.keys()


class TestExplorer(ExplorerTests):
    sample = Sample(
        module=out_of_memory,
        data=(RECORDED | {"made": MADE},),
        changes=[("scene", "growth"), ("source", "made")],
        walk=[("scene", "workspace"), ("moment", 3), ("source", "made"), ("moment", 1)],
        walk_ends=Setting("made", "growth", 1),
        refused=[
            (Setting("made", "graph capture", 1), "graph capture: not acted out there, only growth"),
            (Setting("made", "growth", 4), "moment: wanted one of 1 to 3, got 4"),
        ],
        extremes=[Setting(name, scene) for name, scene in SCENES_THERE],
        css="memory-source scene moment",
    )

    def test_it_follows_its_controls(self, explorer):
        redraws = explorer.redraws
        assert "Every second one is freed" in explorer.text.value
        assert "graph capture" not in explorer.scene.options
        explorer.source.value = "made"  # which has one scene
        assert explorer.scene.options == ("growth",)
        assert explorer.redraws == redraws + 1
        assert "Moment 2" in explorer.text.value and "8,700 MiB" in explorer.text.value
        explorer.moment.value = 3
        assert explorer.redraws == redraws + 2 and "9,010 MiB" in explorer.text.value
        explorer.source.value = next(iter(RECORDED))
        assert explorer.redraws == redraws + 3 and "The old one is freed" in explorer.text.value


def test_the_static_picture_says_its_numbers():
    alt = static_figure(RECORDED).alt
    assert alt.startswith("fragmentation. many small pieces: living tensors 256 MiB")
