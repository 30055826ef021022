"""The memory explorer of lesson 11 as plain functions and as a widget without a front end."""

import matplotlib.text
import pytest

from kvlab.bench import recordings
from kvlab.bench.memory import SCENES
from kvlab.explorers.blit import Blitter
from kvlab.explorers.out_of_memory import SIGNS, Chart, Setting, explore, reading, static_figure
from kvlab.sizes import MIB

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
    now = reading(MADE, Setting("made", "growth", 2))
    assert [now.shown(row, "machine_free") // MIB for row in now.moments] == [0, -300, 10]
    assert [now.shown(row, "tensors") // MIB for row in now.moments] == [256, 512, 256]
    assert now.verdict == f"moment 2; {SIGNS['growth']}"


def test_the_axis_has_a_round_end_that_holds_every_bar():
    chart = Chart()
    chart.set(reading(MADE, Setting("made", "growth", 2)))
    assert [text.get_text() for _, text in chart.ticks] == ["-768 MiB", "-384 MiB", "0 MiB", "384 MiB", "768 MiB"]
    heights = [[round(bar.get_height() * 768) for bar in bars] for bars in chart.bars.values()]
    assert heights == [[256, 512, 256], [260, 520, 262], [0, -300, 10]]


def test_every_scene_has_a_sign_to_read_it_by():
    assert SIGNS.keys() == SCENES.keys()


def test_a_scene_that_did_not_run_there_is_refused():
    with pytest.raises(ValueError, match="graph capture: not acted out there, only growth"):
        reading(MADE, Setting("made", "graph capture", 1))
    with pytest.raises(ValueError, match="moment: wanted one of 1 to 3, got 4"):
        reading(MADE, Setting("made", "growth", 4))


def test_the_widget_follows_its_controls():
    widget = explore(RECORDED | {"made": MADE})
    assert widget.redraws == 1 and "Every second one is freed" in widget.text.value
    assert "graph capture" not in widget.scene.options
    widget.source.value = "made"  # which has one scene
    assert widget.scene.options == ("growth",)
    assert widget.redraws == 2 and "Moment 2" in widget.text.value and "8,700 MiB" in widget.text.value
    widget.moment.value = 3
    assert widget.redraws == 3 and "9,010 MiB" in widget.text.value
    widget.source.value = next(iter(RECORDED))
    assert widget.redraws == 4 and "The old one is freed" in widget.text.value


@pytest.mark.parametrize(("name", "scene"), SCENES_THERE)
def test_no_text_leaves_the_paper_or_meets_another(name, scene):
    chart = Chart()
    chart.set(reading(RECORDED[name], Setting(name, scene)))
    blitter = Blitter(chart.figure, chart.moving)
    blitter.png()
    width, height = blitter.canvas.get_width_height()
    boxes = [t.get_window_extent() for t in chart.figure.findobj(matplotlib.text.Text) if t.get_text()]
    for box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :] if a.overlaps(b)]


def test_the_static_picture_says_its_numbers():
    alt = static_figure(RECORDED).alt
    assert alt.startswith("fragmentation. many small pieces: living tensors 256 MiB")
