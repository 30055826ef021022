"""Lesson 11: what is right, computed from the numbers of a case without any device, and the mistakes people make."""

import math
import statistics
from collections.abc import Callable
from fractions import Fraction
from itertools import groupby, pairwise

import numpy as np

from autograde.answers.byte_formula import count_elements, to_bytes
from autograde.exercise import Answer, Case, Misconception
from autograde.exercises.decode_timing import EXERCISES
from autograde.values import Raised

REFUSED = Raised("ValueError")
TOLERANCE = 1e-12

# ---------------------------------------------------------------------------
# Oracles


def _trials(case: Case) -> list[float] | Raised:
    """What a trial takes that starts on an idle device: launch, the device's own time, and the host's waking up."""
    device, warmup, trials = case.inputs.values()
    if warmup < 0 or trials < 1:
        return REFUSED
    host = device["launch_ns"] + (device["wake_ns"] if device["room"] else 0)
    return [float(Fraction(host + takes, 10**9)) for takes in device["calls_ns"][warmup:]]


def _summary(case: Case) -> dict | Raised:
    trials = np.array(case.inputs["trials"])
    if trials.size == 0 or not np.isfinite(trials).all() or trials.min() < 0:
        return REFUSED
    p10, median, p90 = map(float, np.percentile(trials, [10, 50, 90]))
    return {"trials": int(trials.size), "median": median, "p10": p10, "p90": p90}


def _read(case: Case) -> list[int]:
    """Counted tensor by tensor, as in lesson 02."""
    card, num_params, batch, context, weight_bits, kv_bits = case.inputs.values()
    shape = card["num_key_value_heads"], card["head_dim"]
    return [
        to_bytes(num_params, weight_bits),
        to_bytes(count_elements(card["num_hidden_layers"], [context] * batch, *shape), kv_bits),
    ]


def _rate(case: Case) -> float | Raised:
    num_bytes, seconds = case.inputs.values()
    if not math.isfinite(seconds) or seconds <= 0:
        return REFUSED
    return float(num_bytes / Fraction(seconds))


def _believable(case: Case) -> list[bool] | Raised:
    """By sorting each bandwidth between nothing and the limit, in exact numbers."""
    bandwidths, ceiling, *slack = case.inputs.values()
    if not math.isfinite(ceiling) or ceiling <= 0:
        return REFUSED
    limit = Fraction(ceiling) + Fraction(ceiling) * Fraction(*(slack or [0.1]))
    return [math.isfinite(each) and max(Fraction(0), min(Fraction(each), limit)) == each != 0 for each in bandwidths]


def _line(case: Case) -> list[float] | Raised:
    """Cramer's rule on the normal equations, in fractions."""
    contexts, seconds = case.inputs.values()
    if len(contexts) != len(seconds) or len(set(contexts)) < 2:
        return REFUSED
    xs, ys = list(map(Fraction, contexts)), list(map(Fraction, seconds))
    n, sx, sy = len(xs), sum(xs), sum(ys)
    sxx, sxy = sum(x * x for x in xs), sum(x * y for x, y in zip(xs, ys, strict=True))
    determinant = n * sxx - sx * sx
    return [float((n * sxy - sx * sy) / determinant), float((sxx * sy - sx * sxy) / determinant)]


def _copied(case: Case) -> list[int]:
    """The entries fall into stays at one address; each stay but the last ends in a copy of what it held at its end."""
    stays = [list(stay) for _, stay in groupby(case.inputs["trace"], key=lambda entry: entry[0])]
    return [max(0, len(stays) - 1), sum(stay[-1][1] for stay in stays[:-1])]


# ---------------------------------------------------------------------------
# time_call, right and wrong


def _asked(warmup, trials):
    if trials < 1 or warmup < 0:
        raise ValueError(f"wanted a trial at least and no negative warm-up, got {trials} and {warmup}")


def _timed(
    warm=lambda warmup: warmup,
    waits=("before", "after"),
    wait_in_warmup=False,
    first=0,
    refuse=_asked,
    result=lambda start, end: (end - start) / 1e9,
):
    """A loop of timed trials, right as it stands; each argument is a mistake."""

    def time_call(fn, warmup, trials, synchronize, clock):
        refuse(warmup, trials)
        for _ in range(warm(warmup)):
            fn()
            if wait_in_warmup:
                synchronize()
        seconds = []
        for _ in range(trials + first * warmup):
            if "before" in waits:
                synchronize()
            start = clock()
            if "late" in waits:
                synchronize()
            fn()
            if "after" in waits:
                synchronize()
            end = clock()
            if "behind" in waits:
                synchronize()
            seconds.append(result(start, end))
        return seconds

    return time_call


def _one_interval(each_waits: bool):
    def time_call(fn, warmup, trials, synchronize, clock):
        _asked(warmup, trials)
        for _ in range(warmup):
            fn()
        synchronize()
        start = clock()
        for _ in range(trials):
            fn()
            if each_waits:
                synchronize()
        synchronize()
        return [(clock() - start) / 1e9 / trials] * trials

    return time_call


def _cumulative(fn, warmup, trials, synchronize, clock):
    _asked(warmup, trials)
    for _ in range(warmup):
        fn()
    synchronize()
    start, seconds = clock(), []
    for _ in range(trials):
        fn()
        synchronize()
        seconds.append((clock() - start) / 1e9)
    return seconds


def _timed_by_stamps(fn, warmup, trials, synchronize, clock):
    """Right: one stamp whenever the device is idle."""
    _asked(warmup, trials)
    [fn() for _ in range(warmup)]
    synchronize()
    stamps = [clock()]
    for _ in range(trials):
        fn()
        synchronize()
        stamps.append(clock())
    return [(end - start) * 1e-9 for start, end in pairwise(stamps)]


def _timed_and_cut(fn, warmup, trials, synchronize, clock):
    """Right: time the warm-up too, and throw those times away."""
    _asked(warmup, trials)

    def one():
        synchronize()
        start = clock()
        fn()
        synchronize()
        return Fraction(clock() - start, 10**9)

    return [float(each) for each in [one() for _ in range(warmup + trials)][warmup:]]


# ---------------------------------------------------------------------------
# summarise, right and wrong


def _finite(trials):
    if not trials or not all(0 <= each < math.inf for each in trials):
        raise ValueError("trials: wanted finite seconds from 0 on")


def _between(ordered, q):
    rank = q * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] * (1 - (rank - below)) + ordered[above] * (rank - below)


def _nearest(ordered, q):
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]


def _with_n(ordered, q):
    """Interpolated, but at a rank that would lie behind the last trial for q = 1."""
    rank = q * len(ordered)
    below = min(int(rank), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - int(rank)) * (ordered[above] - ordered[below])


def _exclusive(ordered, q):
    if len(ordered) == 1:
        return ordered[0]
    return statistics.quantiles(ordered, n=10)[0 if q < 0.5 else -1]


def _summarised(median=lambda ordered: _between(ordered, 0.5), at=_between, taken=list, order=sorted, refuse=_finite):
    """A summary, right as it stands; each argument is a mistake."""

    def summarise(trials):
        refuse(trials)
        ordered = order(taken(trials))
        low, high = (at(ordered, q) if ordered else math.nan for q in (0.1, 0.9))
        middle = median(ordered) if ordered else math.nan
        return {"trials": len(ordered), "median": middle, "p10": low, "p90": high}

    return summarise


def _summarised_by_numpy(trials):
    values = np.asarray(trials, dtype=float)
    if values.size == 0 or np.isnan(values).any() or np.isinf(values).any() or (values < 0).any():
        raise ValueError
    p10, p90 = np.quantile(values, [0.1, 0.9])
    return {"trials": len(values), "median": np.median(values), "p10": p10, "p90": p90}


def _summarised_by_statistics(trials):
    if not trials or any(math.isnan(each) or math.isinf(each) or each < 0 for each in trials):
        raise ValueError
    if len(trials) == 1:
        return {"trials": 1} | dict.fromkeys(("median", "p10", "p90"), trials[0])
    tenths = statistics.quantiles(trials, n=10, method="inclusive")
    return {"trials": len(trials), "median": statistics.median(trials), "p10": tenths[0], "p90": tenths[-1]}


def _first_dropped(trials):
    _finite(trials)
    return _summarised()(trials[1:]) if len(trials) > 1 else {"trials": 0} | dict.fromkeys(("median", "p10", "p90"))


def _no_infinity_no_negative(trials):
    if not trials or any(each < 0 or each == math.inf for each in trials):
        raise ValueError


def _no_nan_no_negative(trials):
    if not trials or any(each < 0 or each != each for each in trials):
        raise ValueError


def _no_nan_no_infinity(trials):
    if not trials or not all(map(math.isfinite, trials)):
        raise ValueError


def _no_nothing(trials):
    if not trials:
        raise ValueError


# ---------------------------------------------------------------------------
# Bytes and rates, right and wrong


def _bits(card, batch, context, kv_bits):
    row = card["num_key_value_heads"] * card["head_dim"]
    return 2 * card["num_hidden_layers"] * row * batch * context * kv_bits


def _up(bits):
    return -(-bits // 8)


def _bytes_with(cache=_bits, weights=lambda num_params, batch, bits: num_params * bits, to=_up, to_weights=None):
    """Bytes of a step, right as it stands; each argument is a mistake."""

    def step_bytes(card, num_params, batch, context, weight_bits, kv_bits):
        weight_total = weights(num_params, batch, weight_bits)
        return (to_weights or to)(weight_total), to(cache(card, batch, context, kv_bits))

    return step_bytes


def _card_with(**keys):
    """The bits of a cache, read off the wrong entries of a card."""
    return lambda card, batch, context, bits: _bits(
        card | {key: wrong(card) for key, wrong in keys.items()}, batch, context, bits
    )


def _bytes_by_loop(card, num_params, batch, context, weight_bits, kv_bits):
    bits = 0
    for _layer in range(card["num_hidden_layers"]):
        for _sequence in range(batch):
            for _k_or_v in range(2):
                bits += context * card["num_key_value_heads"] * card["head_dim"] * kv_bits
    return math.ceil(Fraction(num_params * weight_bits, 8)), math.ceil(Fraction(bits, 8))


def _bytes_by_divmod(card, num_params, batch, context, weight_bits, kv_bits):
    sizes = (card[key] for key in ("num_hidden_layers", "num_key_value_heads", "head_dim"))
    totals = num_params * weight_bits, math.prod(sizes) * batch * context * kv_bits * 2
    return tuple(whole + bool(rest) for whole, rest in (divmod(total, 8) for total in totals))


def _per_second(rate, refuse=lambda seconds: not 0 < seconds < math.inf):
    def effective_bandwidth(num_bytes, seconds):
        if refuse(seconds):
            raise ValueError
        return rate(num_bytes, seconds)

    return effective_bandwidth


def _rate_by_frequency(num_bytes, seconds):
    if seconds > 0 and math.isfinite(seconds):
        return (1 / seconds) * num_bytes
    raise ValueError


def _rate_by_numpy(num_bytes, seconds):
    if not np.isfinite(seconds) or np.sign(seconds) != 1:
        raise ValueError
    return np.true_divide(num_bytes, seconds)


def _believes(
    within=lambda bandwidth, ceiling, slack: bandwidth <= ceiling * (1 + slack),
    positive=lambda bandwidth: 0 < bandwidth < math.inf,
    refuse=lambda ceiling: not 0 < ceiling < math.inf,
):
    """A judgement on a bandwidth, right as it stands; each argument is a mistake."""

    def plausible(bandwidth, ceiling, slack=0.1):
        if refuse(ceiling):
            raise ValueError
        return positive(bandwidth) and within(bandwidth, ceiling, slack)

    return plausible


def _believes_by_share(bandwidth, ceiling, slack=0.1):
    if not (math.isfinite(ceiling) and ceiling > 0):
        raise ValueError
    if not math.isfinite(bandwidth):
        return False
    return 0 < bandwidth / ceiling <= 1 + slack


def _believes_by_doubts(bandwidth, ceiling, slack=0.1):
    if math.isnan(ceiling) or math.isinf(ceiling) or ceiling <= 0:
        raise ValueError
    doubts = [math.isnan(bandwidth), math.isinf(bandwidth), bandwidth <= 0, bandwidth - ceiling > ceiling * slack]
    return not any(doubts)


def _nan_believed(bandwidth, ceiling, slack=0.1):
    if not 0 < ceiling < math.inf:
        raise ValueError
    return not (bandwidth <= 0 or bandwidth > ceiling * (1 + slack))


# ---------------------------------------------------------------------------
# fit_line, right and wrong


def _pairs(contexts, seconds):
    if len(contexts) != len(seconds) or len(set(contexts)) < 2:
        raise ValueError
    return list(zip(contexts, seconds, strict=True))


def _fit(pairs):
    x, y = (math.fsum(values) / len(pairs) for values in zip(*pairs, strict=True))
    slope = sum((c - x) * (s - y) for c, s in pairs) / sum((c - x) ** 2 for c, _ in pairs)
    return slope, y - slope * x


def _fitted(of):
    """A wrong line of pairs (context, seconds); what is to be refused is refused."""
    return lambda contexts, seconds: of(_pairs(contexts, seconds))


def _through(ends):
    def fit_line(contexts, seconds):
        (c0, s0), (c1, s1) = ends(_pairs(contexts, seconds))
        slope = (s1 - s0) / (c1 - c0)
        return slope, s0 - slope * c0

    return fit_line


def _through_origin(pairs):
    return sum(c * s for c, s in pairs) / sum(c * c for c, _ in pairs), 0.0


def _through_middle(slope_of):
    """The slope is another; the line still passes through the means."""

    def fit_line(contexts, seconds):
        pairs = _pairs(contexts, seconds)
        slope = slope_of(pairs)
        return slope, math.fsum(seconds) / len(seconds) - slope * math.fsum(contexts) / len(contexts)

    return fit_line


def _mean_ratio(pairs):
    return math.fsum(s / c for c, s in pairs) / len(pairs)


def _mean_of_slopes(pairs):
    ordered = sorted(dict(pairs).items())
    return statistics.fmean((s1 - s0) / (c1 - c0) for (c0, s0), (c1, s1) in pairwise(ordered))


def _contexts_merged(pairs):
    """One point for each context, the mean of its times."""
    times = {context: [s for c, s in pairs if c == context] for context, _ in pairs}
    return _fit([(context, statistics.fmean(several)) for context, several in times.items()])


def _freedom(factor):
    return lambda pairs: _fit(pairs)[0] * factor(len(pairs))


def _points_counted(contexts, seconds):
    if len(contexts) != len(seconds) or len(contexts) < 2:
        raise ValueError
    return _fit(list(zip(contexts, seconds, strict=True)))


def _nothing_compared(contexts, seconds):
    if len(set(contexts)) < 2:
        raise ValueError
    return _fit(list(zip(contexts, seconds, strict=False)))


def _fit_by_numpy(contexts, seconds):
    if len(contexts) != len(seconds) or len(set(contexts)) < 2:
        raise ValueError
    return tuple(np.polyfit(contexts, seconds, 1))


def _fit_by_sums(contexts, seconds):
    if len(contexts) != len(seconds) or max(contexts, default=0) == min(contexts, default=0):
        raise ValueError
    n, sc, ss = len(contexts), sum(contexts), math.fsum(seconds)
    scc, scs = sum(c * c for c in contexts), math.fsum(c * s for c, s in zip(contexts, seconds, strict=True))
    slope = (n * scs - sc * ss) / (n * scc - sc**2)
    return [slope, (ss - slope * sc) / n]


def _fit_by_statistics(contexts, seconds):
    if len(contexts) != len(seconds) or len(set(contexts)) < 2:
        raise ValueError
    return statistics.linear_regression(contexts, seconds)[:]


# ---------------------------------------------------------------------------
# copies_made, right and wrong


def _copies_by_loop(trace):
    copies = copied = 0
    for i in range(1, len(trace)):
        if trace[i][0] != trace[i - 1][0]:
            copies += 1
            copied += trace[i - 1][1]
    return copies, copied


def _copies_from_the_end(trace):
    if len(trace) < 2:
        return 0, 0
    *before, (address, stored), (last, _) = trace
    copies, copied = _copies_from_the_end([*before, (address, stored)])
    return (copies + 1, copied + stored) if last != address else (copies, copied)


def _copies_by_numpy(trace):
    table = np.array(trace, dtype=np.int64).reshape(-1, 2)
    moved = np.flatnonzero(np.diff(table[:, 0]))
    return len(moved), int(table[moved, 1].sum())


def _copies_where(copy, size=lambda before, now: before[1]):
    """Pairs of neighbours that count as a copy, and the bytes of one."""

    def copies_made(trace):
        sizes = [size(before, now) for before, now in pairwise(trace) if copy(trace, before, now)]
        return len(sizes), sum(sizes)

    return copies_made


def _moved(trace, before, now):
    return now[0] != before[0]


_right_copies = _copies_where(_moved)


def _new_addresses(trace):
    seen, copies, copied = {address for address, _ in trace[:1]}, 0, 0
    for before, now in pairwise(trace):
        if now[0] not in seen:
            seen.add(now[0])
            copies, copied = copies + 1, copied + before[1]
    return copies, copied


def _first_counted(trace):
    copies, copied = _right_copies(trace)
    return copies + bool(trace), copied


def _first_copied(trace):
    copies, copied = _right_copies(trace)
    return copies + bool(trace), copied + sum(stored for _, stored in trace[:1])


def _high_water(trace):
    copies = copied = most = 0
    for before, now in pairwise(trace):
        most = max(most, before[1])
        if now[0] != before[0]:
            copies, copied = copies + 1, copied + most
    return copies, copied


def _empty_fails(trace):
    if not trace:
        raise IndexError
    return _right_copies(trace)


# ---------------------------------------------------------------------------
# What to say about a mistake

SAID: dict[str, tuple[str, tuple[str, str, str], str]] = {
    # time_call
    "no_warmup": (
        "Did you leave the warm-up out, so that the first calls are timed while they are still slow?",
        (
            "How often is fn called in all, and how often should it be?",
            "The first calls compile, fill caches and wake the device; they are called, and not timed.",
            "Call fn warmup times in a loop of its own, before the first trial.",
        ),
        "",
    ),
    "one_warmup": (
        "Did you warm up with a single call, whatever `warmup` says?",
        (
            "Which of the arguments does your answer never use?",
            "How many calls a device needs before it is steady is for the caller to say. It may be none.",
            "for _ in range(warmup): fn()",
        ),
        "",
    ),
    "warmup_in_result": (
        "Are the times of the warm-up in your result?",
        (
            "How many times are in your list, and how many trials were asked for?",
            "The warm-up is called so that its slow calls are not in the result.",
            "Append in the loop over the trials only, or cut the first `warmup` times off.",
        ),
        "",
    ),
    "never_waits": (
        "Did you time how long it takes to start the work, and never wait for its end?",
        (
            "Your times: are they nearer to launch_ns or to calls_ns?",
            "fn returns when the work is queued. Later calls only get slower because the queue is full.",
            "Call synchronize() between fn() and the second reading of the clock.",
        ),
        "1ytic/warp-rnnt#9: without synchronisation 1.76 ms were reported, with it 15.82 ms.",
    ),
    "clock_stopped_early": (
        "Did you read the clock before you waited for the work to end?",
        (
            "When your second reading is taken, is the device done?",
            "Waiting after the clock has stopped keeps the device tidy, and leaves its work out of the time.",
            "fn(), then synchronize(), then clock().",
        ),
        "1ytic/warp-rnnt#9: without synchronisation 1.76 ms were reported, with it 15.82 ms.",
    ),
    "pending_work_timed": (
        "Did your first trial start while earlier work was still pending?",
        (
            "Which of your trials is too long, and what was started just before it?",
            "The warm-up may still run when its last call has returned; trial one then waits for it.",
            "Call synchronize() before you read the clock for the start.",
        ),
        "",
    ),
    "waits_only_in_the_warmup": (
        "Do you wait for earlier work only where there is a warm-up?",
        (
            "What does your function do before the first trial if warmup is 0?",
            "Somebody else may have started work, too.",
            "Call synchronize() before the first reading of the clock, whether there was a warm-up or not.",
        ),
        "",
    ),
    "clock_started_early": (
        "Did you read the clock for the start, and wait for earlier work only after that?",
        (
            "Whose work is done between your first reading and fn()?",
            "Everything between the two readings is in the time, waiting for others too.",
            "synchronize(), then clock(), then fn().",
        ),
        "",
    ),
    "one_interval": (
        "Did you time all trials as one interval, and divide?",
        (
            "Why are all your times equal?",
            "A mean hides a trial that took five times as long, and calls that overlap are not what one takes alone.",
            "Read the clock before and after each call, and append the difference.",
        ),
        "",
    ),
    "mean_repeated": (
        "Did you wait after each call, and still give the mean of all trials for each of them?",
        (
            "Why are all your times equal?",
            "Whoever asks for trials wants to see how much they differ.",
            "Read the clock in the loop, before and after each call.",
        ),
        "",
    ),
    "cumulative": (
        "Did you read the clock for the start only once, so that each time includes the trials before it?",
        (
            "Do your times grow from trial to trial?",
            "The second trial does not start when the first does.",
            "Put start = clock() inside the loop.",
        ),
        "",
    ),
    "nanoseconds": (
        "Did you return nanoseconds, although seconds were asked for?",
        (
            "What is the unit of the clock, and what is the unit of the result?",
            "A second has 10**9 nanoseconds.",
            "(clock() - start) / 1e9",
        ),
        "",
    ),
    "milliseconds": (
        "Did you return milliseconds, although seconds were asked for?",
        (
            "How many times too large is your result?",
            "10**6 nanoseconds are a millisecond; seconds were asked for.",
            "(clock() - start) / 1e9",
        ),
        "",
    ),
    "seconds_too_early": (
        "Did you turn each reading of the clock into seconds before you subtracted?",
        (
            "Compare the last digits of your times, on a clock that counts from 1970.",
            "A float has about 16 digits; those of 50 years leave no room for a nanosecond.",
            "Subtract whole nanoseconds first, then divide the difference by 1e9.",
        ),
        "",
    ),
    "called_before_refusing": (
        "Was something called before you looked at `trials` and `warmup`, or did you not look at them at all?",
        (
            "What does your function do with trials=0?",
            "No trial, or a negative warm-up, is a mistake of the caller's, and to be said before a device is started.",
            "if trials < 1 or warmup < 0: raise ValueError(…) as the first line.",
        ),
        "",
    ),
    # summarise
    "mean": (
        "Did you give the mean for the median?",
        (
            "What happens to your number if one trial takes ten times as long?",
            "The median is the time in the middle: as many trials are shorter as are longer.",
            "Sort, and take the middle one, or half-way between the two in the middle.",
        ),
        "",
    ),
    "not_sorted": (
        "Did you take the middle of the trials in the order in which they were made?",
        (
            "Which trial is in the middle of your list, and how many are shorter?",
            "Ranks are places in the sorted list.",
            "ordered = sorted(trials)",
        ),
        "",
    ),
    "upper_middle": (
        "With an even number of trials, did you take the upper of the two in the middle?",
        (
            "What is the median of 1 and 3?",
            "With an even number of trials there are two in the middle; the median lies half-way between them.",
            "The rank is (n - 1) / 2, and between two ranks you interpolate.",
        ),
        "",
    ),
    "lower_middle": (
        "With an even number of trials, did you take the lower of the two in the middle?",
        (
            "What is the median of 1 and 3?",
            "With an even number of trials there are two in the middle; the median lies half-way between them.",
            "The rank is (n - 1) / 2, and between two ranks you interpolate.",
        ),
        "",
    ),
    "first_dropped": (
        "Did you drop the first trial?",
        (
            "How many trials do you say there were?",
            "The warm-up was left out when the trials were made. All of these count.",
            "Use `trials`, not trials[1:].",
        ),
        "",
    ),
    "best": (
        "Did you give the shortest trial for the median?",
        (
            "How many of the trials are shorter than yours?",
            "The shortest time says what can happen; the median says what usually does.",
            "Sort, and take the middle.",
        ),
        "",
    ),
    "extremes": (
        "Did you give the shortest and the longest trial for the two percentiles?",
        (
            "How many of 100 trials are longer than your p90?",
            "A tenth of the trials lies below p10 and a tenth above p90.",
            "The rank of p10 among n sorted trials is 0.1 × (n - 1), that of p90 0.9 × (n - 1).",
        ),
        "",
    ),
    "nearest_rank": (
        "Did you take a trial for each percentile, instead of interpolating between two?",
        (
            "What is the rank of p10 among 8 trials?",
            "0.1 × (n - 1) is mostly no whole number; the percentile lies as far between its two neighbours.",
            "With below = int(rank): t[below] + (rank - below) × (t[below + 1] - t[below]).",
        ),
        "",
    ),
    "rank_with_n": (
        "Did you count ranks with n, although they run from 0 to n - 1?",
        (
            "Which rank do you give the percentile 100, and is there a trial of that rank?",
            "Among n trials, numbered from 0, the last one has rank n - 1.",
            "rank = q / 100 × (n - 1)",
        ),
        "",
    ),
    "exclusive_quantiles": (
        "Did you take the percentiles from statistics.quantiles in its usual method, the exclusive one?",
        (
            "For few trials, does your p10 lie below the shortest of them?",
            "The exclusive method supposes that a longer and a shorter trial exist somewhere; ours are all there are.",
            "method='inclusive' counts ranks from 0 to n - 1; it wants two trials at least.",
        ),
        "",
    ),
    "nan_summarised": (
        "Did a trial that is no number get past your test?",
        (
            "What is nan < 0, and what is nan > 0?",
            "Every comparison with NaN is false. Ask for what is wanted, not for what is not.",
            "if not all(0 <= t < math.inf for t in trials): raise ValueError(…)",
        ),
        "",
    ),
    "infinity_summarised": (
        "Did an infinite trial get past your test?",
        (
            "What does your function give for [0.1, inf]?",
            "No measurement took for ever; somebody divided by zero.",
            "if not all(0 <= t < math.inf for t in trials): raise ValueError(…)",
        ),
        "",
    ),
    "negative_summarised": (
        "Did a negative trial get past your test?",
        (
            "What does your function give for [0.1, -0.1]?",
            "Time does not run backwards; two readings were swapped.",
            "if not all(0 <= t < math.inf for t in trials): raise ValueError(…)",
        ),
        "",
    ),
    "only_nothing_refused": (
        "Do you refuse an empty list only?",
        (
            "What does your function give for [0.1, -0.1]?",
            "A time that is negative, infinite or no number is no measurement.",
            "if not all(0 <= t < math.inf for t in trials): raise ValueError(…)",
        ),
        "",
    ),
    # step_bytes
    "k_only": (
        "Did you count the bytes of K only?",
        (
            "What does a query need from an old token besides its key?",
            "Each layer reads K for the scores and V for the mix.",
            "Double the bytes of the cache.",
        ),
        "",
    ),
    "batch_dropped": (
        "Did you read the cache of one sequence, whatever the batch?",
        (
            "Which of the arguments does your answer never use?",
            "Sequences share the weights. Each one has a cache of its own.",
            "Multiply the bits of the cache by `batch`.",
        ),
        "",
    ),
    "weights_per_sequence": (
        "Did you read the weights once for each sequence?",
        (
            "Why does a batch pay at all?",
            "A row of weights that has been read is used for all sequences of the step.",
            "Multiply the cache by `batch`, and leave the weights alone.",
        ),
        "",
    ),
    "query_heads": (
        "Did you count query heads, although only K/V heads are stored?",
        (
            "Which heads leave something behind for the next step?",
            "Several query heads read one K/V head.",
            "Use num_key_value_heads.",
        ),
        "hahnyuan/LLM-Viewer#12 sized the cache of a grouped-query model by its query heads.",
    ),
    "layers_dropped": (
        "Did you read the cache of one layer only?",
        (
            "Whose keys does layer 7 read?",
            "Every layer has a cache of its own.",
            "Multiply by num_hidden_layers.",
        ),
        "",
    ),
    "bits_as_bytes": (
        "Did you give bits where bytes were wanted?",
        (
            "How many bytes does one 16-bit weight take?",
            "There are eight bits in a byte.",
            "Divide each of the two totals by eight, at the very end.",
        ),
        "",
    ),
    "hidden_over_heads": (
        "Did you derive the head width from hidden_size, although the card states head_dim?",
        (
            "Compare hidden_size / num_attention_heads with head_dim.",
            "Some models choose a head width that is not hidden_size / heads.",
            "Use head_dim.",
        ),
        "LMCache/LMCache#688: a cache sized by hidden_size / heads did not fit the model.",
    ),
    "rounded_down": (
        "Did you round an unfinished byte down?",
        (
            "Nine bits: how many bytes hold them?",
            "`//` rounds down; the last bits still have to be read.",
            "-(-bits // 8) rounds up in whole numbers.",
        ),
        "",
    ),
    "rounded_each_sequence": (
        "Did you round the cache of each sequence up, instead of the total once?",
        (
            "Your answer is a few bytes too large. Where could they come from?",
            "Bytes rounded up for each of many sequences add up.",
            "Multiply the bits by `batch` first, and round up once, at the end.",
        ),
        "",
    ),
    "rounded_each_tensor": (
        "Did you round K and V up to whole bytes separately?",
        (
            "Your answer is a byte too large at most. Where could it come from?",
            "The cache rounds up once, as a whole.",
            "Put the factor 2 in before you round.",
        ),
        "",
    ),
    "float_bytes": (
        "Does a float carry a count on its way, and lose the last digits of a large one?",
        (
            "Compare the last digits of yours and of the expected number.",
            "A float holds whole numbers exactly only up to 2**53. `/` makes one.",
            "-(-bits // 8) rounds up without a float.",
        ),
        "",
    ),
    "cache_first": (
        "Did you return the bytes of the cache first, and those of the weights after them?",
        (
            "Which of your two numbers grows with the context, and in which place does it stand?",
            "Both counts are right; their order is not.",
            "return weight_bytes, cache_bytes",
        ),
        "",
    ),
    "bits_swapped": (
        "Did you use the bits of the weights for the cache, and those of the cache for the weights?",
        (
            "Which of your two numbers grows with kv_bits?",
            "Weights and cache may be stored in different widths.",
            "num_params × weight_bits, and everything of the cache × kv_bits.",
        ),
        "",
    ),
    "weight_bits_for_both": (
        "Did you take the cache's elements to be as wide as the weights?",
        (
            "Which of the arguments does your answer never use?",
            "A model with 4-bit weights often keeps a 16-bit cache.",
            "Use kv_bits for the cache.",
        ),
        "",
    ),
    # effective_bandwidth
    "inverted": (
        "Did you divide seconds by bytes?",
        (
            "What is the unit of your result?",
            "Twice as many bytes in the same time is twice the bandwidth.",
            "num_bytes / seconds",
        ),
        "",
    ),
    "gb_per_second": (
        "Did you return GB per second, although bytes per second were asked for?",
        (
            "How many times too small is your result?",
            "Divide by 10**9 where you print, not where you compute.",
            "num_bytes / seconds",
        ),
        "",
    ),
    "gib_per_second": (
        "Did you return GiB per second, although bytes per second were asked for?",
        (
            "How many times too small is your result?",
            "Divide by 2**30 where you print, not where you compute.",
            "num_bytes / seconds",
        ),
        "",
    ),
    "bits_per_second": (
        "Did you return bits per second, although bytes per second were asked for?",
        (
            "How many times too large is your result?",
            "Networks are told in bits, memories in bytes.",
            "num_bytes / seconds",
        ),
        "",
    ),
    "whole_rate": (
        "Did you drop what lies behind the decimal point?",
        (
            "Try 29 bytes in a quarter of a second.",
            "`//` and int() throw the fraction away.",
            "Divide with `/`.",
        ),
        "",
    ),
    "zero_only_refused": (
        "Do you refuse zero seconds only?",
        (
            "What does your function give for -1 seconds?",
            "A time that is negative, infinite or no number is no measurement.",
            "if not 0 < seconds < math.inf: raise ValueError(…)",
        ),
        "",
    ),
    "only_positive_wanted": (
        "Did you refuse seconds of 0 and less, and let through those that are not finite?",
        (
            "What does your function do with NaN, and with infinitely many seconds?",
            "Every comparison with NaN is false, and no measurement takes for ever.",
            "if not 0 < seconds < math.inf: raise ValueError(…)",
        ),
        "",
    ),
    "rate_of_nan": (
        "Did seconds that are no number get past your test?",
        (
            "What is nan <= 0?",
            "Every comparison with NaN is false. Ask for what is wanted, not for what is not.",
            "if not 0 < seconds < math.inf: raise ValueError(…)",
        ),
        "",
    ),
    "zero_divides": (
        "Did Python refuse the division by zero in your place, with an error of its own?",
        (
            "Which exception comes for 0 seconds, and which was asked for?",
            "Nothing was refused on purpose: a negative time gives a negative bandwidth.",
            "if not 0 < seconds < math.inf: raise ValueError(…)",
        ),
        "",
    ),
    # plausible
    "nan_believed": (
        "Does a bandwidth that is no number pass?",
        (
            "What is nan > ceiling, and what is nan <= 0?",
            "Every comparison with NaN is false, so it passes whoever only rejects what is too large or too small.",
            "return 0 < bandwidth <= ceiling * (1 + slack)",
        ),
        "",
    ),
    "zero_believed": (
        "Does a bandwidth of zero pass?",
        (
            "Which run moves no byte?",
            "Zero bytes per second means that nothing was measured.",
            "0 < bandwidth, and not 0 <= bandwidth.",
        ),
        "",
    ),
    "negative_believed": (
        "Do you look at the upper end only, so that zero and negative bandwidths pass?",
        (
            "What does your function say of -1?",
            "A bandwidth has two limits. The lower one is zero.",
            "0 < bandwidth <= ceiling * (1 + slack)",
        ),
        "",
    ),
    "slack_added": (
        "Did you add the slack to the ceiling as bytes per second?",
        (
            "How many bytes per second does a slack of 0.1 allow beyond 2e12?",
            "The slack is a share of the ceiling.",
            "ceiling * (1 + slack)",
        ),
        "",
    ),
    "slack_forgotten": (
        "Did you forget the slack?",
        (
            "Which of the arguments does your answer never use?",
            "The ceiling was measured too, and a run may come out a little above it.",
            "ceiling * (1 + slack)",
        ),
        "",
    ),
    "slack_fixed": (
        "Did you allow ten percent, whatever `slack` says?",
        (
            "Which of the arguments does your answer never use?",
            "0.1 is what `slack` is if nobody says anything else.",
            "ceiling * (1 + slack)",
        ),
        "",
    ),
    "slack_subtracted": (
        "Did you ask for more room below the ceiling, instead of allowing some above it?",
        (
            "Does a bandwidth of exactly the ceiling pass?",
            "The slack forgives a measurement that comes out too high.",
            "ceiling * (1 + slack), with a plus.",
        ),
        "",
    ),
    "wrong_way_round": (
        "Did you compare the wrong way round, so that only impossible bandwidths pass?",
        (
            "What does your function say of a tenth of the ceiling?",
            "Slow is possible. Faster than the device is not.",
            "bandwidth <= ceiling * (1 + slack)",
        ),
        "",
    ),
    "limit_excluded": (
        "Does a bandwidth of exactly the limit fail?",
        (
            "What does your function say where bandwidth == ceiling * (1 + slack)?",
            "Not above the limit includes the limit.",
            "<= in place of <.",
        ),
        "",
    ),
    "infinity_believed": (
        "Does an infinite bandwidth pass, or anything that is merely positive?",
        (
            "What does your function say of float('inf')?",
            "Infinitely many bytes per second come from a time of zero.",
            "0 < bandwidth <= ceiling * (1 + slack)",
        ),
        "",
    ),
    "any_ceiling": (
        "Did you take the ceiling without a look at it?",
        (
            "What does your function do with a ceiling of zero?",
            "Against a ceiling that is zero, negative, infinite or no number, nothing can be judged.",
            "if not 0 < ceiling < math.inf: raise ValueError(…)",
        ),
        "",
    ),
    "positive_ceiling_only": (
        "Do you refuse a ceiling that is too small, and take one that is infinite or no number?",
        (
            "What is nan <= 0, and what is inf <= 0?",
            "Every comparison with NaN is false, and infinity is positive.",
            "if not 0 < ceiling < math.inf: raise ValueError(…)",
        ),
        "",
    ),
    # fit_line
    "through_origin": (
        "Did you draw the line through the origin?",
        (
            "What would a step at no context take, by your line?",
            "The weights are read whatever the context: a step costs something before the first token.",
            "Subtract the means of both before you multiply; the intercept is mean(s) - slope × mean(c).",
        ),
        "",
    ),
    "first_and_last": (
        "Did you use the first and the last point only?",
        (
            "What becomes of your line if a point in the middle moves?",
            "One trial that was disturbed at an end would turn the whole line.",
            "The slope is Σ(c - c̄)(s - s̄) / Σ(c - c̄)², over all points.",
        ),
        "",
    ),
    "smallest_and_largest": (
        "Did you use the smallest and the largest context only?",
        (
            "What becomes of your line if a point in the middle moves?",
            "One trial that was disturbed at an end would turn the whole line.",
            "The slope is Σ(c - c̄)(s - s̄) / Σ(c - c̄)², over all points.",
        ),
        "",
    ),
    "results_swapped": (
        "Are your two results in the wrong order?",
        (
            "Which of your two numbers is in seconds per token?",
            "Seconds per token come first, then the seconds at no token.",
            "return slope, intercept",
        ),
        "",
    ),
    "axes_swapped": (
        "Did you fit contexts over seconds?",
        (
            "What is the unit of your first number?",
            "Seconds are what depends; contexts are what was chosen.",
            "Divide by the spread of the contexts: Σ(c - c̄)².",
        ),
        "",
    ),
    "mean_ratio": (
        "Did you take the mean of seconds / context for the slope?",
        (
            "What does that ratio hold besides the cost of a token?",
            "The fixed part of a step is spread over the tokens too, and most of all over few of them.",
            "The slope is Σ(c - c̄)(s - s̄) / Σ(c - c̄)².",
        ),
        "",
    ),
    "mean_of_slopes": (
        "Did you take the mean of the slopes from each context to the next?",
        (
            "How much does a slope between two contexts that lie close together say?",
            "All but the ends cancel or weigh too much.",
            "The slope is Σ(c - c̄)(s - s̄) / Σ(c - c̄)², over all points.",
        ),
        "",
    ),
    "one_less_above": (
        "Did you divide one sum by n - 1 and the other by n, so that the slope is too steep?",
        (
            "What does your function give for points that lie on a line?",
            "np.cov divides by n - 1 and np.var by n, unless you say otherwise.",
            "Leave both divisions out: they cancel.",
        ),
        "",
    ),
    "one_less_below": (
        "Did you divide one sum by n and the other by n - 1, so that the slope is too flat?",
        (
            "What does your function give for points that lie on a line?",
            "statistics.variance divides by n - 1 and a mean by n.",
            "Leave both divisions out: they cancel.",
        ),
        "",
    ),
    "contexts_merged": (
        "Did you average the times of each context first, and fit one point for each of them?",
        (
            "A context was measured three times, another once. How much should each weigh?",
            "Every measurement counts; a mean of three is worth three points.",
            "Sum over all pairs of zip(contexts, seconds).",
        ),
        "",
    ),
    "repeated_dropped": (
        "Did you keep one point for each context, although some were measured more than once?",
        (
            "How many points are left when you put them into a dict?",
            "Each measurement counts, at whatever context.",
            "zip(contexts, seconds), and no dict.",
        ),
        "",
    ),
    "points_counted": (
        "Did you count points, although two points at the same context make no line?",
        (
            "What does your function do with three times the same context?",
            "Through points above one another there are many lines, or none.",
            "if len(set(contexts)) < 2: raise ValueError(…)",
        ),
        "",
    ),
    "lengths_not_compared": (
        "Did you drop the contexts, or the seconds, that have no partner?",
        (
            "What does zip do with lists of unequal lengths?",
            "Somebody lost a measurement: which one, nobody knows.",
            "if len(contexts) != len(seconds): raise ValueError(…)",
        ),
        "",
    ),
    # copies_made
    "distinct_addresses": (
        "Did you count different addresses, although an address can be handed out again?",
        (
            "How many copies are A, B, A, B?",
            "What was given back may be given out again; the bytes go there by another copy.",
            "Compare each address with the one just before.",
        ),
        "",
    ),
    "first_counted": (
        "Did you count the first entry as a copy?",
        (
            "Where would the first bytes have been copied from?",
            "Before the first entry nothing was stored.",
            "Begin with the second entry, and compare it with the first.",
        ),
        "",
    ),
    "first_copied": (
        "Did you count the first entry as a copy of its own bytes?",
        (
            "Where would the first bytes have been copied from?",
            "Before the first entry nothing was stored.",
            "Begin with the second entry, and compare it with the first.",
        ),
        "",
    ),
    "new_bytes": (
        "Did you count the bytes that are stored after the move, instead of those before it?",
        (
            "Which bytes exist at both places?",
            "The appended row is written at the new place, and was never at the old one.",
            "Add the stored bytes of the entry before.",
        ),
        "",
    ),
    "compared_with_first": (
        "Did you compare each address with the first, instead of the one just before?",
        (
            "What does your function give for A, B, B, B?",
            "A storage that has moved and stays where it is, is not copied again.",
            "Compare with the previous entry.",
        ),
        "",
    ),
    "every_step": (
        "Did you count a copy at every step, whether the storage moved or not?",
        (
            "Which part of an entry does your answer never use?",
            "Storage with room to spare takes a row without being copied.",
            "Count a copy only where the address differs from the one before.",
        ),
        "",
    ),
    "growth": (
        "Did you take growth of the stored bytes for a copy?",
        (
            "What does your function give for A, A, A with ever more bytes?",
            "A row written behind the others in place is no copy of them.",
            "Compare addresses, not bytes.",
        ),
        "",
    ),
    "difference_copied": (
        "Did you count only the bytes that were added?",
        (
            "Which bytes exist at both places after a move?",
            "All that was stored has to follow.",
            "Add the stored bytes of the entry before.",
        ),
        "",
    ),
    "high_water": (
        "Did you copy bytes that truncation had cut off?",
        (
            "How many bytes are in use when the storage moves?",
            "What was stored once and is cut off now stays behind.",
            "Add the stored bytes of the entry just before, not the most there ever were.",
        ),
        "",
    ),
    "empty_fails": (
        "Does your function fail where nothing was ever stored?",
        (
            "What does it do with []?",
            "No entry, no copy: the answer is (0, 0).",
            "Loop over pairs of neighbours; an empty trace has none.",
        ),
        "",
    ),
}


def _mistakes(**wrong: Callable) -> tuple[Misconception, ...]:
    return tuple(Misconception(name, function, *SAID[name]) for name, function in wrong.items())


_time_call, _summarise, _step_bytes, _bandwidth, _plausible, _fit_line, _copies_made = EXERCISES

ANSWERS = (
    Answer(
        exercise=_time_call,
        expected=_trials,
        tolerance=TOLERANCE,
        misconceptions=_mistakes(
            no_warmup=_timed(warm=lambda warmup: 0),
            one_warmup=_timed(warm=lambda warmup: 1),
            warmup_in_result=_timed(warm=lambda warmup: 0, first=1),
            never_waits=_timed(waits=()),
            clock_stopped_early=_timed(waits=("before", "behind")),
            pending_work_timed=_timed(waits=("after",)),
            waits_only_in_the_warmup=_timed(waits=("after",), wait_in_warmup=True),
            clock_started_early=_timed(waits=("late", "after")),
            one_interval=_one_interval(each_waits=False),
            mean_repeated=_one_interval(each_waits=True),
            cumulative=_cumulative,
            nanoseconds=_timed(result=lambda start, end: float(end - start)),
            milliseconds=_timed(result=lambda start, end: (end - start) / 1e6),
            seconds_too_early=_timed(result=lambda start, end: end / 1e9 - start / 1e9),
            called_before_refusing=_timed(refuse=lambda warmup, trials: None),
        ),
        alternatives=(_timed_by_stamps, _timed_and_cut, _timed(wait_in_warmup=True)),
        hints=(
            "Write one trial first: what must be true of the device when the clock starts, and when it stops?",
            "fn() returns early. Wait before the first reading, so that nothing is pending, and before the second.",
            "synchronize(); start = clock(); fn(); synchronize(); then append (clock() - start) / 1e9.",
        ),
    ),
    Answer(
        exercise=_summarise,
        expected=_summary,
        tolerance=TOLERANCE,
        misconceptions=_mistakes(
            mean=_summarised(median=statistics.fmean),
            not_sorted=_summarised(order=list),
            upper_middle=_summarised(median=lambda ordered: ordered[len(ordered) // 2]),
            lower_middle=_summarised(median=lambda ordered: ordered[(len(ordered) - 1) // 2]),
            first_dropped=_first_dropped,
            best=_summarised(median=min),
            extremes=_summarised(at=lambda ordered, q: ordered[0 if q < 0.5 else -1]),
            nearest_rank=_summarised(at=_nearest),
            rank_with_n=_summarised(at=_with_n),
            exclusive_quantiles=_summarised(at=_exclusive),
            nan_summarised=_summarised(refuse=_no_infinity_no_negative),
            infinity_summarised=_summarised(refuse=_no_nan_no_negative),
            negative_summarised=_summarised(refuse=_no_nan_no_infinity),
            only_nothing_refused=_summarised(refuse=_no_nothing),
        ),
        alternatives=(_summarised_by_numpy, _summarised_by_statistics),
        hints=(
            "Refuse first, then sort. What is the rank of the middle among n sorted trials that are numbered from 0?",
            "The rank of a percentile q is q / 100 × (n - 1); it may lie between two trials.",
            "With below = int(rank): t[below] + (rank - below) × (t[below + 1] - t[below]), if there is one above.",
        ),
    ),
    Answer(
        exercise=_step_bytes,
        expected=_read,
        misconceptions=_mistakes(
            k_only=_bytes_with(cache=lambda *sizes: _bits(*sizes) // 2),
            batch_dropped=_bytes_with(cache=lambda card, batch, context, bits: _bits(card, 1, context, bits)),
            weights_per_sequence=_bytes_with(weights=lambda num_params, batch, bits: num_params * batch * bits),
            query_heads=_bytes_with(cache=_card_with(num_key_value_heads=lambda card: card["num_attention_heads"])),
            layers_dropped=_bytes_with(cache=_card_with(num_hidden_layers=lambda card: 1)),
            bits_as_bytes=_bytes_with(to=lambda bits: bits),
            hidden_over_heads=_bytes_with(
                cache=_card_with(head_dim=lambda card: card["hidden_size"] // card["num_attention_heads"])
            ),
            rounded_down=_bytes_with(to=lambda bits: bits // 8),
            rounded_each_sequence=_bytes_with(
                cache=lambda card, batch, context, bits: 8 * batch * _up(_bits(card, 1, context, bits))
            ),
            rounded_each_tensor=_bytes_with(cache=lambda *sizes: 16 * _up(_bits(*sizes) // 2)),
            float_bytes=_bytes_with(to=lambda bits: math.ceil(bits / 8)),
            cache_first=lambda *sizes: _bytes_with()(*sizes)[::-1],
            bits_swapped=lambda card, n, batch, context, weight_bits, kv_bits: _bytes_with()(
                card, n, batch, context, kv_bits, weight_bits
            ),
            weight_bits_for_both=lambda card, n, batch, context, weight_bits, kv_bits: _bytes_with()(
                card, n, batch, context, weight_bits, weight_bits
            ),
        ),
        alternatives=(_bytes_by_loop, _bytes_by_divmod),
        hints=(
            "Two counts that have nothing to do with each other. Which of the two knows the batch?",
            "Every weight is read once a step. Every sequence reads K and V of its context, in every layer.",
            "2 × layers × num_key_value_heads × head_dim × context × batch × kv_bits; then bits to bytes, rounded up.",
        ),
    ),
    Answer(
        exercise=_bandwidth,
        expected=_rate,
        tolerance=TOLERANCE,
        misconceptions=_mistakes(
            inverted=_per_second(lambda n, s: s / n if n else math.inf),
            gb_per_second=_per_second(lambda n, s: n / s / 1e9),
            gib_per_second=_per_second(lambda n, s: n / s / 2**30),
            bits_per_second=_per_second(lambda n, s: 8 * n / s),
            whole_rate=_per_second(lambda n, s: n // s),
            zero_only_refused=_per_second(lambda n, s: n / s, refuse=lambda s: s == 0),
            only_positive_wanted=_per_second(lambda n, s: n / s, refuse=lambda s: s <= 0),
            rate_of_nan=_per_second(lambda n, s: n / s, refuse=lambda s: s <= 0 or s == math.inf),
            zero_divides=_per_second(lambda n, s: n / s, refuse=lambda s: False),
        ),
        alternatives=(_rate_by_frequency, _rate_by_numpy),
        hints=(
            "The unit of the result says what to divide by what.",
            "Before that: which seconds cannot be the time of anything? One of them is no number at all.",
            "if not 0 < seconds < math.inf: raise ValueError(…); then bytes over seconds.",
        ),
    ),
    Answer(
        exercise=_plausible,
        expected=_believable,
        misconceptions=_mistakes(
            nan_believed=_nan_believed,
            zero_believed=_believes(positive=lambda bandwidth: 0 <= bandwidth < math.inf),
            negative_believed=_believes(positive=math.isfinite),
            slack_added=_believes(lambda bandwidth, ceiling, slack: bandwidth <= ceiling + slack),
            slack_forgotten=_believes(lambda bandwidth, ceiling, slack: bandwidth <= ceiling),
            slack_fixed=_believes(lambda bandwidth, ceiling, slack: bandwidth <= ceiling * 1.1),
            slack_subtracted=_believes(lambda bandwidth, ceiling, slack: bandwidth <= ceiling * (1 - slack)),
            wrong_way_round=_believes(lambda bandwidth, ceiling, slack: bandwidth >= ceiling * (1 + slack)),
            limit_excluded=_believes(lambda bandwidth, ceiling, slack: bandwidth < ceiling * (1 + slack)),
            infinity_believed=lambda bandwidth, ceiling, slack=0.1: (
                _believes(positive=lambda each: each > 0)(bandwidth, ceiling, slack) or bandwidth == math.inf
            ),
            any_ceiling=_believes(refuse=lambda ceiling: False),
            positive_ceiling_only=_believes(refuse=lambda ceiling: ceiling <= 0),
        ),
        alternatives=(_believes_by_share, _believes_by_doubts),
        hints=(
            "Which bandwidths can no device have at all, whatever its ceiling is? There are three kinds.",
            "The limit is the ceiling and `slack` times the ceiling. NaN must fail, and it fails every comparison.",
            "Refuse the ceiling first; then 0 < bandwidth <= ceiling * (1 + slack) says it all.",
        ),
    ),
    Answer(
        exercise=_fit_line,
        expected=_line,
        tolerance=TOLERANCE,
        misconceptions=_mistakes(
            through_origin=_fitted(_through_origin),
            first_and_last=_through(lambda pairs: (pairs[0], pairs[-1])),
            smallest_and_largest=_through(lambda pairs: (min(pairs), max(pairs))),
            results_swapped=lambda contexts, seconds: _fit(_pairs(contexts, seconds))[::-1],
            axes_swapped=_fitted(lambda pairs: _fit([(s, c) for c, s in pairs])),
            mean_ratio=_through_middle(_mean_ratio),
            mean_of_slopes=_through_middle(_mean_of_slopes),
            one_less_above=_through_middle(_freedom(lambda n: n / (n - 1))),
            one_less_below=_through_middle(_freedom(lambda n: (n - 1) / n)),
            contexts_merged=_fitted(_contexts_merged),
            repeated_dropped=_fitted(lambda pairs: _fit(list(dict(pairs).items()))),
            points_counted=_points_counted,
            lengths_not_compared=_nothing_compared,
        ),
        alternatives=(_fit_by_numpy, _fit_by_sums, _fit_by_statistics),
        hints=(
            "Refuse first. Then find the means of both: the best line passes through them.",
            "How much longer do steps take where contexts are longer than the mean? Weigh each point by that.",
            "slope = Σ(c - c̄)(s - s̄) / Σ(c - c̄)², and the intercept is s̄ - slope × c̄.",
        ),
    ),
    Answer(
        exercise=_copies_made,
        expected=_copied,
        misconceptions=_mistakes(
            distinct_addresses=_new_addresses,
            first_counted=_first_counted,
            first_copied=_first_copied,
            new_bytes=_copies_where(_moved, lambda before, now: now[1]),
            compared_with_first=_copies_where(lambda trace, before, now: now[0] != trace[0][0]),
            every_step=_copies_where(lambda trace, before, now: True),
            growth=_copies_where(lambda trace, before, now: now[1] > before[1]),
            difference_copied=_copies_where(_moved, lambda before, now: now[1] - before[1]),
            high_water=_high_water,
            empty_fails=_empty_fails,
        ),
        alternatives=(_copies_by_loop, _copies_from_the_end, _copies_by_numpy),
        hints=(
            "Write down the addresses of a trace as letters. Where was something copied?",
            "A copy shows between two neighbours. What was copied is what the earlier one held.",
            "For each pair of neighbours whose addresses differ: one copy, and the stored bytes of the first.",
        ),
    ),
)
