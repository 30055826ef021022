"""`batch_gain`: what is right, which mistakes are known, and what to say about them."""

from fractions import Fraction

from autograde.answers.roofline.shared import (
    ATTENTION_DROPPED,
    CACHE_DROPPED,
    K_ONLY,
    MINIMUM,
    QUERY_HEADS,
    ROWS_READ_ONCE,
    STEPS,
    SUM,
    TOLERANCE,
    WEIGHTS_PER_SEQUENCE,
    bound_by_ridge,
    cost_by_layers,
    counted_step,
    intensity_by_shares,
    ratio_of,
    step_seconds,
    step_with,
)
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _gain(case: Case) -> float:
    """Tokens per second of the batch, divided by those of one sequence."""
    *_, peak, bandwidth = case.inputs.values()
    rates = []
    for batch in (1, case.inputs["batch"]):
        step = {name: case.inputs[name] for name in ("config", "num_params", "context", "weight_bits", "kv_bits")}
        flops, bits = counted_step(batch=batch, **step)
        rates.append(batch / step_seconds(flops, Fraction(bits, 8), peak, bandwidth))
    return float(rates[1] / rates[0])


def _time(flops, n_bytes, peak, bandwidth):
    return max(flops / peak, n_bytes / bandwidth)


def _gain_of(step=None, time=_time, gain=lambda b, one, many: b * one / many):
    step = step or step_with()

    def batch_gain(config, num_params, batch, context, weight_bits, kv_bits, peak_flops, bandwidth):
        one, many = (
            time(*step(config, num_params, b, context, weight_bits, kv_bits), peak_flops, bandwidth) for b in (1, batch)
        )
        return gain(batch, one, many)

    return batch_gain


def _gain_by_rates(config, num_params, batch, context, weight_bits, kv_bits, peak_flops, bandwidth):
    """Attainable FLOP/s of each step, which throughput follows."""
    one, many = (
        min(peak_flops, bandwidth * intensity_by_shares(config, num_params, b, context, weight_bits, kv_bits))
        for b in (1, batch)
    )
    return many / one


def _gain_by_fractions(*arguments):
    *step, peak, bandwidth = arguments
    time = {
        b: Fraction(bound_by_ridge(*cost_by_layers(*step[:2], b, *step[3:]), peak, bandwidth)) for b in (1, step[2])
    }
    return float(step[2] * time[1] / time[step[2]])


ANSWER = Answer(
    exercise=exercise("batch_gain"),
    expected=_gain,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "ideal",
            lambda c, n, b, *rest: float(b),
            Advice(
                "Did you take for granted that a batch gains as many times as it has sequences?",
                (
                    "What does a step of a larger batch read more?",
                    "Weights are shared, rows are not, and the peak is a peak.",
                    "batch * t(1) / t(batch), both from step_time_bound.",
                ),
            ),
        ),
        Misconception(
            "time_ratio",
            _gain_of(gain=lambda b, one, many: one / many),
            Advice(
                "Did you compare the times of two steps, and forget how many tokens each of them gives?",
                (
                    "How many tokens come out of one step of a batch?",
                    "Throughput is tokens over seconds: batch / t(batch) against 1 / t(1).",
                    "batch * t(1) / t(batch)",
                ),
            ),
        ),
        Misconception(
            "slowdown",
            _gain_of(gain=lambda b, one, many: many / one),
            Advice(
                "Did you divide the longer time by the shorter one?",
                (
                    "Is your number a gain, or by how much a step became longer?",
                    "Throughput is tokens over seconds: batch / t(batch) against 1 / t(1).",
                    "batch * t(1) / t(batch)",
                ),
            ),
        ),
        Misconception(
            "gain_inverted",
            _gain_of(gain=lambda b, one, many: many / (b * one)),
            Advice(
                "Did you divide the throughput of one sequence by that of the batch?",
                (
                    "Your number is below 1. Does a batch lose?",
                    "The gain is the batch's throughput over that of one sequence.",
                    "batch * t(1) / t(batch)",
                ),
            ),
        ),
        Misconception(
            "intensity_ratio",
            lambda c, n, b, *rest: (
                ratio_of(step_with())(c, n, b, *rest[:-2]) / ratio_of(step_with())(c, n, 1, *rest[:-2])
            ),
            Advice(
                "Did you divide two intensities, or leave out the time of computing?",
                (
                    "What happens once a step's intensity is beyond the ridge?",
                    "Beyond the ridge, throughput does not follow intensity any more: the peak bounds it.",
                    "batch * t(1) / t(batch), both from step_time_bound.",
                ),
            ),
        ),
        Misconception(
            "sum",
            _gain_of(time=lambda f, m, p, w: f / p + m / w),
            SUM,
        ),
        Misconception(
            "minimum",
            _gain_of(time=lambda f, m, p, w: min(f / p, m / w)),
            MINIMUM,
        ),
        Misconception(
            "weights_per_sequence",
            _gain_of(STEPS["weights_per_sequence"]),
            WEIGHTS_PER_SEQUENCE,
        ),
        Misconception(
            "rows_read_once",
            _gain_of(STEPS["rows_read_once"]),
            ROWS_READ_ONCE,
        ),
        Misconception(
            "cache_dropped",
            _gain_of(STEPS["cache_dropped"]),
            CACHE_DROPPED,
        ),
        Misconception(
            "k_only",
            _gain_of(STEPS["k_only"]),
            K_ONLY,
        ),
        Misconception(
            "query_heads",
            _gain_of(STEPS["query_heads"]),
            QUERY_HEADS,
        ),
        Misconception(
            "attention_dropped",
            _gain_of(STEPS["attention_dropped"]),
            ATTENTION_DROPPED,
        ),
    ),
    alternatives=(_gain_by_rates, _gain_by_fractions),
    hints=(
        "How many tokens does a step of a batch give, and in how many seconds?",
        "Throughput is batch / t(batch). Compare it with 1 / t(1).",
        "batch * t(1) / t(batch), with t from step_time_bound of decode_cost.",
    ),
)
