"""The explorer of lesson 09 as plain functions and as a widget without a front end."""

import re
import warnings
from itertools import product

import pytest

from kvlab import roofline
from kvlab.explorers import roofline as roofline_explorer
from kvlab.explorers.learner import UNWRITTEN
from kvlab.explorers.roofline import ATTENTION, BATCHES, CONTEXTS, Chart, Setting, reading
from kvlab.gpus import gpus
from kvlab.sizes import BITS_PER_ELEMENT
from tests.lessons.explorers import AskingTests, Sample, stub


def mine(config, num_params, batch, context, weight_bits, kv_bits):
    """A learner's function that is right, and returns a list."""
    print("debugging")
    warnings.warn("careful", stacklevel=1)
    return list(roofline.decode_cost(config, num_params, batch, context, weight_bits, kv_bits))


def my_ceiling(config, num_params, context, kv_bits):
    return roofline.intensity_ceiling(config, num_params, context, kv_bits) * (1 + 1e-15)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            Setting(),
            "memory bounds this step: at most 5.20% of the peak; "
            "the ceiling 18.96 lies below the ridge 295.2 FLOP/byte, so no batch reaches it",
        ),
        (Setting(batch=1), "memory bounds this step: at most 0.40% of the peak; the ceiling 18.96 lies below"),
        (Setting(batch=512, context=128), "arithmetic bounds this step; the ceiling 961.3 lies beyond the ridge 295.2"),
        (Setting(variant="MLA"), "memory bounds this step: at most 54.57% of the peak; the ceiling 295.0 lies below"),
        (
            Setting(variant="MQA", gpu="A100-80 SXM"),
            "memory bounds this step: at most 34.54% of the peak; the ceiling 151.7 lies below the ridge 153.0",
        ),
    ],
)
def test_the_sentence_says_what_bounds_the_step_and_what_a_batch_can_do(setting, said):
    assert reading(setting).verdict.startswith(said)
    assert reading(setting).describe().startswith(f"{said[:1].upper()}{said[1:]}"[:40])


def test_the_answers_to_the_two_questions_of_the_lesson():
    alike = [b for b in BATCHES if len({reading(Setting(batch=b, context=s)).intensity for s in CONTEXTS}) == 1]
    assert alike == [4]
    assert [v for v in ATTENTION if reading(Setting(variant=v, cache="FP8")).reachable] == ["MQA", "MLA"]
    most = reading(Setting(variant="MQA", cache="FP8", batch=BATCHES[-1]))
    assert most.intensity < most.ridge < most.ceiling and most.decode[1] > 2 * most.device.memory_bytes


@pytest.mark.parametrize("variant", ATTENTION)
def test_no_batch_gets_beyond_the_ceiling_and_large_ones_near_it(variant):
    for context in (CONTEXTS[0], 8192, CONTEXTS[-1]):
        found = [reading(Setting(batch=b, context=context, variant=variant)) for b in (1, 64, 10**9)]
        intensities = [each.intensity for each in found]
        assert intensities == sorted(intensities) and intensities[-1] < found[0].ceiling
        assert intensities[-1] == pytest.approx(found[0].ceiling, rel=1e-3)


def test_a_step_takes_the_longer_of_its_two_terms_on_every_gpu():
    for gpu in gpus():
        for setting in (Setting(gpu=gpu), Setting(gpu=gpu, context=128, batch=4096)):
            now = reading(setting)
            terms = now.decode[0] / now.peak, now.decode[1] / now.bandwidth
            assert now.seconds == pytest.approx(max(terms), rel=1e-12)
            assert now.attainable(now.intensity) * now.seconds == pytest.approx(now.decode[0], rel=1e-12)


def test_prefill_of_one_token_is_decode_of_one_in_every_attention():
    for variant in ATTENTION:
        now = reading(Setting(batch=1, context=1, variant=variant))
        assert now.prefill == now.decode == now.alone


def test_a_latent_is_said_to_be_the_librarys():
    by = reading(Setting(variant="MLA"), mine, my_ceiling).computed_by
    assert "by the library: your functions count no latent" in by


def test_decode_stalls_below_the_ridge_and_prefill_is_beyond_it():
    chart = Chart()
    chart.set(reading(Setting()))
    (ridge, _), (ceiling, _) = chart.ridge.get_xdata(), chart.ceiling.get_xdata()
    assert chart.decode.get_xdata()[0] < ceiling < ridge < chart.prefill.get_xdata()[0]
    assert chart.path.get_xdata()[-1] == ceiling
    assert "left out" in " ".join(text.get_text() for text in chart.figure.texts)


@pytest.mark.parametrize("variant", ATTENTION)
def test_no_number_is_told_with_an_exponent(variant):
    ends = product((1, 4096), (128, 131_072), gpus(), ("FP32", "INT4"), ("FP32", "INT4"))
    for batch, context, gpu, weights, cache in ends:
        setting = Setting(batch, context, variant, weights, cache, gpu)
        assert not re.search(r"\de[+-]\d", reading(setting).tell()), setting


BY_MINE = "decode: computed by your decode_cost; ceiling: "


class TestExplorer(AskingTests):
    sample = Sample(
        module=roofline_explorer,
        right={"decode_cost": mine, "intensity_ceiling": my_ceiling},
        captions=[
            *(
                (Setting(), (function, None), f"decode: {caption}")
                for function, caption in [
                    (mine, "computed by your decode_cost…"),
                    (lambda *a: 7, "your decode_cost gives 7 for batch, context and bits (64, 8192, 16, 16)…"),
                    (lambda *a: (1.0, 2), "your decode_cost gives (1.0, 2) for batch…"),
                    (
                        lambda c, n, b, s, w, k: roofline.decode_cost(c, n, b, s, 16, 16),
                        "your decode_cost gives (48192577536, 16063275008) for batch, context and bits (3, 7, 5, 3)…",
                    ),
                    (lambda *a: 1 / 0, "your decode_cost raises ZeroDivisionError…"),
                ]
            ),
            *(
                (Setting(), (mine, function), f"{BY_MINE}{caption}")
                for function, caption in [
                    (my_ceiling, "computed by your intensity_ceiling"),
                    (stub, UNWRITTEN),
                    (lambda *a: 64, "your intensity_ceiling gives 64, the library 18.96: showing the library's"),
                    (lambda *a: None, "your intensity_ceiling gives None, the library 18.96: showing the library's"),
                    (lambda *a: True, "your intensity_ceiling gives True, the library 18.96: showing the library's"),
                ]
            ),
        ],
        changes=[
            *(("batch", 1), ("context", 128), ("variant", "MLA"), ("gpu", "T4"), ("weights", "INT4"), ("cache", "FP8"))
        ],
        walk=[("batch", 4096), ("context", 128), ("variant", "MQA"), ("gpu", "L4"), ("batch", 2)],
        walk_ends=Setting(2, 128, "MQA", gpu="L4"),
        refused=[
            (setting, "wanted")
            for setting in [
                *(Setting(batch=0), Setting(context=0), Setting(variant="GPA"), Setting(gpu="x"), Setting(cache="x"))
            ]
        ],
        extremes=[
            Setting(1, context, variant, "BF16", cache, gpu)
            for variant in ATTENTION
            for cache in ("FP32", "INT4")
            for context in (CONTEXTS[0], 2048, CONTEXTS[-1])
            for gpu in ("T4", "L40S", "B200 SXM")
        ],
        longest=400,
        css="batch context variant gpu weights cache",
    )

    def test_no_line_runs_through_a_word_and_no_word_leaves_the_axes(self, explorer):
        chart, renderer = explorer.chart, explorer._blitter.canvas.get_renderer()
        for setting in self.sample.extremes:
            chart.set(reading(setting))
            assert chart.gpu.get_window_extent(renderer).x0 >= chart.axes.bbox.x0
            boxes = [each.get_window_extent(renderer) for each in (chart.ridge_name, chart.ceiling_name)]
            assert all(box.x0 >= chart.axes.bbox.x0 for box in boxes), setting
            for line in (chart.ridge, chart.ceiling):
                x, _ = chart.axes.transData.transform((line.get_xdata()[0], 1))
                assert not any(box.x0 < x < box.x1 for box in boxes), (line, setting)

    def test_the_reading_is_told_with_units_and_says_what_fits(self, explorer):
        for said in (
            "15.37 FLOP/byte",
            "at least 25.31 ms",
            "at most 2,529 tokens/s",
            "beyond the 80 GB (nominal)",
        ):
            assert said in explorer.text.value
        explorer.batch.value = 1
        assert "within the 80 GB" in explorer.text.value
        explorer.batch.value, explorer.context.value, explorer.gpu.value = 4096, 131_072, "T4"
        explorer.weights.value = explorer.cache.value = "INT4"
        assert "17,592 GB" in explorer.text.value
        explorer.variant.value = "MLA"
        assert "as in DeepSeek-V3 (hypothetical here)" in explorer.text.value

    def test_every_type_of_element_is_offered_for_weights_and_cache(self, explorer):
        assert list(explorer.weights.options) == list(explorer.cache.options) == list(BITS_PER_ELEMENT)

    def test_the_picture_in_words(self, explorer):
        assert "prefill of as many 8,705" in explorer.picture.tooltip
