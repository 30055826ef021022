"""The library's roofline: figures that the lesson states, properties, and the same numbers as the solution."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograde.answers import answer_of
from autograde.check import examine
from autograde.course import lesson
from autograde.judge import trace
from autograde.values import same
from kvlab import roofline
from kvlab.figures import roofline as figures
from kvlab.figures.picture import when_written
from kvlab.gpus import gpus
from kvlab.models import preset
from kvlab.sizes import bytes_per_token, weight_bytes
from tests.notebooks import learner_of, read

LESSON = lesson("09_roofline")
CONFIG, N = preset("Llama-3-8B").attention_config, 8_030_261_248
OLDER, OLDER_N = preset("Llama-2-7B").attention_config, 6_738_415_616
H100 = 989e12, 3.35e12
counts = st.integers(1, 200)
bits = st.sampled_from([3, 4, 8, 16, 32])


@st.composite
def configs(draw):
    kv_heads = draw(st.integers(1, 9))
    return {
        "num_hidden_layers": draw(st.integers(1, 40)),
        "num_attention_heads": kv_heads * draw(st.integers(1, 9)),
        "num_key_value_heads": kv_heads,
        "head_dim": draw(st.integers(1, 130)),
    }


@pytest.fixture(scope="module")
def learner():
    return learner_of(LESSON)


def test_the_figures_that_the_lesson_states():
    at_8k = [round(roofline.intensity(CONFIG, N, b, 8192, 16, 16), 2) for b in (1, 16, 64, 256, 512)]
    assert at_8k == [1.19, 9.80, 15.37, 17.91, 18.42]
    ceilings = [round(roofline.intensity_ceiling(CONFIG, N, s, 16), 2) for s in (2048, 4096, 8192, 131_072)]
    assert ceilings == [63.83, 33.92, 18.96, 4.93]
    assert [roofline.context_for_ceiling(CONFIG, N, 16, target) for target in (295, 64, 5, 4)] == [
        421,
        2042,
        122_532,
        None,
    ]
    assert roofline.crossover_tokens(CONFIG, N, 16, 16) == 122_532
    assert roofline.crossover_tokens(OLDER, OLDER_N, 16, 16) == 25_705
    hypothetical = roofline.batch_gain(CONFIG, 8 * 10**9, 16, 4096, 16, 16, 312e12, 2e12)
    assert round(hypothetical, 2) == 10.76
    step = roofline.decode_cost(CONFIG, 8 * 10**9, 1, 4096, 16, 16)
    assert round(roofline.step_time_bound(*step, 312e12, 2e12) * 1e3, 2) == 8.27
    flops, n_bytes = roofline.prefill_cost(CONFIG, N, 8192, 16, 16)
    assert round(flops / n_bytes) == 8705


def test_absorbed_latent_attention_nears_its_own_intensity_with_the_context():
    assert round(roofline.latent_flops(128, 512, 64) / (2 * (512 + 64)), 1) == 241.8
    flops, n_bytes = roofline.latent_decode_cost(61, 128, 512, 64, 10**9, 512, 10**6, 16, 16)
    assert abs(flops / n_bytes - 241.8) < 0.2
    # 32 heads of width 128 that shared one row of width 128 as key and as value would be MQA with half of its bytes.
    shared = roofline.latent_decode_cost(32, 32, 128, 0, N, 9, 77, 16, 16)
    plain = roofline.decode_cost(CONFIG | {"num_key_value_heads": 1}, N, 9, 77, 16, 8)
    assert shared == plain


def test_at_a_batch_of_the_group_every_context_has_the_same_intensity():
    group = CONFIG["num_attention_heads"] // CONFIG["num_key_value_heads"]
    assert {roofline.intensity(CONFIG, N, group, s, 16, 16) for s in (1, 77, 8192, 10**6)} == {float(group)}


@given(configs(), counts, bits, bits)
def test_prefill_of_one_token_is_a_decode_step_that_reads_its_own_row(config, num_params, weight_bits, kv_bits):
    args = config, num_params, 1, weight_bits, kv_bits
    assert roofline.prefill_cost(*args) == roofline.decode_cost(config, num_params, 1, 1, weight_bits, kv_bits)


@given(configs(), st.integers(1, 10**6), counts, counts, bits, bits)
def test_a_step_reads_weights_and_the_cache_that_lesson_02_counts(
    config, num_params, batch, context, weight_bits, kv_bits
):
    _, n_bytes = roofline.decode_cost(config, num_params, batch, context, weight_bits, kv_bits)
    apart = Fraction(num_params * weight_bits, 8) + Fraction(batch * context * bytes_per_token(config, 8) * kv_bits, 8)
    assert 0 <= n_bytes - apart < 1
    if weight_bits == kv_bits == 16:
        assert n_bytes == weight_bytes(num_params, 16) + batch * context * bytes_per_token(config, 16)


@given(configs(), st.integers(1, 10**6), counts, counts, bits)
def test_intensity_stays_below_a_ceiling_that_falls_with_the_context(config, num_params, batch, context, kv_bits):
    ceiling = roofline.intensity_ceiling(config, num_params, context, kv_bits)
    assert roofline.intensity(config, num_params, batch, context, 16, kv_bits) < ceiling
    assert roofline.intensity_ceiling(config, num_params, context + 1, kv_bits) < ceiling
    own = 16 * (config["num_attention_heads"] // config["num_key_value_heads"]) / kv_bits
    assert ceiling > own * (1 - 1e-12)


@given(configs(), st.integers(1, 10**6), bits, bits)
def test_rows_outweigh_the_weights_from_the_next_token_on(config, num_params, weight_bits, kv_bits):
    most = roofline.crossover_tokens(config, num_params, weight_bits, kv_bits)
    per_token = bytes_per_token(config, 8) * kv_bits
    assert most * per_token <= num_params * weight_bits < (most + 1) * per_token


@given(configs(), st.integers(1, 10**6), bits, st.integers(1, 500))
def test_the_longest_context_has_the_ceiling_and_the_next_has_not(config, num_params, kv_bits, target):
    def has_it(context):
        flops = 2 * num_params + context * roofline.attention_flops(config)
        return Fraction(8 * flops, context * bytes_per_token(config, 8) * kv_bits) >= target

    longest = roofline.context_for_ceiling(config, num_params, kv_bits, target)
    if longest is None:
        assert has_it(1) and has_it(10**30)
    else:
        assert (longest == 0 or has_it(longest)) and not has_it(longest + 1)


@given(st.integers(1, 10**15), st.integers(1, 10**12))
def test_the_bound_is_arithmetic_exactly_beyond_the_ridge(flops, n_bytes):
    bound = roofline.step_time_bound(flops, n_bytes, *H100)
    beyond = flops / n_bytes > H100[0] / H100[1]
    assert bound == pytest.approx(flops / H100[0] if beyond else n_bytes / H100[1], rel=1e-12)


@given(counts, st.integers(1, 10**5))
def test_a_gain_lies_between_one_and_the_batch(batch, context):
    for gpu in gpus().values():
        rates = gpu.dense_bf16_tflops * 1e12, gpu.peak_bandwidth_gb_s * 1e9
        gain = roofline.batch_gain(CONFIG, N, batch, context, 16, 16, *rates)
        assert 1 - 1e-12 <= gain <= batch * (1 + 1e-12)


@pytest.mark.parametrize("name", list(LESSON.exercises))
def test_the_library_and_the_solution_give_the_same_on_the_checks_cases(learner, name):
    """The library refuses what is no count; on everything that is asked the two agree with the oracle."""
    answer = answer_of(name)
    for seed in range(30):
        cases = answer.exercise.cases(Random(seed))
        expected = [answer.expected(case) for case in cases]
        for candidate in (learner[name], getattr(roofline, name), *answer.alternatives):
            assert same(trace(answer, candidate, cases), expected, answer.tolerance), (name, seed, candidate)


def test_the_picture_of_exercise_7_ends_for_one_who_tries_every_context(learner, capsys):
    """It comes before the check, which has a time limit: it must ask for no target that every context has."""
    tried = 0

    def by_trying(config, num_params, kv_bits, target):
        nonlocal tried
        context = 0
        while tried < 10**4 and learner["intensity_ceiling"](config, num_params, context + 1, kv_bits) >= target:
            context, tried = context + 1, tried + 1
        return context

    cells = [cell.source for cell in read(LESSON.notebook("solutions")).cells]
    (picture,) = [source for source in cells if source.startswith("with when_written") and "ceiling_curve" in source]
    shown = []
    exec(
        picture,
        {
            "config": CONFIG,
            "N": N,
            "figures": figures,
            "display": shown.append,
            "when_written": when_written,
            "intensity_ceiling": learner["intensity_ceiling"],
            "context_for_ceiling": by_trying,
        },
    )
    assert shown and "421 tokens" in capsys.readouterr().out and tried < 10**4


@pytest.mark.parametrize(("batch", "status"), [(10**12, "wrong"), (10**15, "right")])
def test_a_batch_that_is_as_good_as_the_limit_passes_on_every_seed_and_a_smaller_one_on_none(learner, batch, status):
    def at_a_batch(config, num_params, context, kv_bits):
        return learner["intensity"](config, num_params, batch, context, 16, kv_bits)

    for seed in range(100):
        assert examine(answer_of("intensity_ceiling"), 2, at_a_batch, seed).status == status, seed


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda: roofline.decode_cost(CONFIG, N, 0, 5, 16, 16),
            ValueError,
            "batch: wanted a whole number of at least 1",
        ),
        (lambda: roofline.decode_cost(CONFIG, N, 1, 0, 16, 16), ValueError, "context: wanted"),
        (lambda: roofline.decode_cost(CONFIG, 8e9, 1, 5, 16, 16), TypeError, "num_params: wanted"),
        (lambda: roofline.decode_cost(CONFIG, N, 1, 5, 16, 0), ValueError, "kv_bits: wanted"),
        (lambda: roofline.decode_cost({}, N, 1, 5, 16, 16), ValueError, "config: wanted"),
        (lambda: roofline.intensity_ceiling(CONFIG, N, 0, 16), ValueError, "context: wanted"),
        (lambda: roofline.context_for_ceiling(CONFIG, N, 16, 0), ValueError, "target: wanted"),
        (lambda: roofline.prefill_cost(CONFIG, N, 0, 16, 16), ValueError, "tokens: wanted"),
    ],
)
def test_what_has_no_answer_is_refused_with_a_sentence(call, error, said):
    with pytest.raises(error, match=said):
        call()
