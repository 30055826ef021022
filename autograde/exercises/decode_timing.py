"""Lesson 11: which calls, times and traces to try, and a device and a clock that keep no real time.

What a trial of a call takes follows from the numbers of the case alone, to the nanosecond, on any machine.
"""

from itertools import accumulate
from math import inf, nan
from random import Random

from autograde.exercise import Case, Exercise, call_with
from autograde.values import plain

EACH_BANDWIDTH = "one call for each bandwidth"
ODD_BITS = (3, 5, 7)


# --- time_call -------------------------------------------------------------------------------------------------


class Device:
    """A device with a host and a clock, in whole nanoseconds. Time passes only in what is called.

    A call takes `launch_ns` of the host and then, behind what is queued already, its own time of the device. A queue
    has `room` for so many calls; the next launch waits for a place. Without room, a call returns when it is done.
    To wait for work takes the host `wake_ns` beyond its end; to find none pending takes nothing.
    """

    def __init__(self, calls_ns: list[int], launch_ns: int, wake_ns: int, room: int, pending_ns: int, clock_ns: int):
        self._calls, self._launch, self._wake, self._room = iter(calls_ns), launch_ns, wake_ns, room
        self._now = clock_ns
        self._ends = [clock_ns + pending_ns] if pending_ns else []

    def fn(self) -> None:
        ends = [end for end in self._ends if end > self._now]
        if 0 < self._room <= len(ends):
            self._now = ends[-self._room]
        self._now += self._launch
        takes = next(self._calls, None)
        if takes is None:
            raise RuntimeError("fn was called more than warmup + trials times")
        ends.append(max([self._now, *ends[-1:]]) + takes)
        self._now = self._now if self._room else ends[-1]
        self._ends = ends

    def synchronize(self) -> None:
        if self._ends and self._ends[-1] > self._now:
            self._now = self._ends[-1] + self._wake

    def clock(self) -> int:
        return self._now


def _time_call(rng: Random) -> list[Case]:
    def times(warmup: int, trials: int, factor: float = 1.2) -> list[int]:
        """All different; those of the warm-up many times longer, the first most of all."""
        usual = rng.randrange(200_000, 900_000)
        steady = [int(usual * rng.uniform(1, factor)) + rng.randrange(1, 1000) for _ in range(trials)]
        cold = [usual * (9 + 7 * (warmup - i)) + rng.randrange(1, 1000) for i in range(warmup)]
        return cold + steady

    def case(label: str, warmup: int, trials: int, calls_ns: list[int] | None = None, **changes: int) -> Case:
        device = {
            "calls_ns": calls_ns or times(warmup, trials),
            "launch_ns": rng.randrange(5_001, 20_000),
            "wake_ns": rng.randrange(1_001, 5_000),
            "room": 2,
            "pending_ns": 0,
            "clock_ns": rng.randrange(10**6, 10**7),
        }
        return Case(label, {"device": device | changes, "warmup": warmup, "trials": trials})

    long = rng.randrange(3_000_001, 9_000_000)
    uneven = times(1, 5)
    for at, factor in zip(rng.sample(range(1, 6), 2), (17, 5), strict=True):
        uneven[at] *= factor
    return [
        case("a device that is done when fn returns", 2, 3, room=0),
        case("a device that works on after fn has returned; one trial, no warm-up", 0, 1),
        case("several trials, and a warm-up that is still pending when it is over", 3, 4),
        case("no warm-up wanted", 0, 4),
        case("no warm-up wanted, and work pending from before", 0, 3, pending_ns=long),
        case("trials that differ strongly", 1, 5, uneven),
        case("a clock that counts from 1970", 1, 3, clock_ns=17 * 10**17 + rng.randrange(10**15)),
        case("no trial wanted", 2, 0),
        case("fewer trials than none", 1, -rng.randrange(1, 9)),
        case("a warm-up of -1", -1, 3, times(0, 3)),
        case("a negative warm-up", -rng.randrange(2, 9), 3, times(0, 3)),
    ]


def _run_time_call(candidate: object, case: Case) -> object:
    device, warmup, trials = case.inputs.values()
    if warmup < 0 or trials < 1:
        return _refused(candidate, warmup, trials)
    made = Device(**device)
    fn, synchronize, clock = (_plainly(each) for each in (made.fn, made.synchronize, made.clock))
    return plain(candidate(fn, warmup, trials, synchronize, clock))


def _plainly(method):
    """A function that does not carry the object whose method it calls where `__self__` would show it."""
    return lambda: method()


def _refused(candidate: object, warmup: int, trials: int) -> object:
    """There is no device where the numbers are to be refused, and who calls it anyway is told, caught error or not."""
    called = []

    def device() -> None:
        called.append(True)
        raise RuntimeError

    try:
        return plain(candidate(device, warmup, trials, device, device))
    finally:
        if called:
            raise RuntimeError("something was called, although warmup and trials were to be refused first")


# --- summarise -------------------------------------------------------------------------------------------------


def _summarise(rng: Random) -> list[Case]:
    def times(count: int) -> list[float]:
        """All different, the first the longest, and in no order."""
        while True:
            drawn = [round(rng.uniform(0.02, 0.09), 6) for _ in range(count)]
            first = round(rng.uniform(0.2, 0.9), 6)
            if len(set(drawn)) == count and (count < 3 or drawn not in (sorted(drawn), sorted(drawn)[::-1])):
                return [first, *drawn]

    def case(label: str, trials: list[float]) -> Case:
        return Case(label, {"trials": trials})

    repeated = times(4)
    return [
        case("trials in order", sorted(times(6))),
        case("an even number of trials", times(7)),
        case("eleven trials: each percentile is a trial", times(10)),
        case("many trials", times(rng.randrange(12, 18))),
        case("one trial", times(0)),
        case("equal trials, and one too short for the clock", [repeated[1], *repeated, repeated[1], 0.0]),
        case("no trial", []),
        case("a trial that is no number", [times(0)[0], nan]),
        case("an infinite trial", [*times(2), inf]),
        case("a negative trial", [*times(3), -rng.randrange(1, 9) / 1000]),
    ]


# --- step_bytes, effective_bandwidth, plausible ----------------------------------------------------------------


def _config(layers: int, kv_heads: int, group: int, head_dim: int, guess: int) -> dict[str, int]:
    """A model config in which neither the query heads nor hidden_size / heads say anything about the cache."""
    heads = kv_heads * group
    return {
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "hidden_size": heads * guess,
    }


def _step_bytes(rng: Random) -> list[Case]:
    def case(label: str, weight_bits: int, kv_bits: int, rest: int = 0, **changes: int) -> Case:
        """Odd sizes. With a `rest`, that is what the bits of K alone, and those of the weights, leave of a byte."""
        while True:
            layers, kv_heads, head_dim, group, guess, batch = rng.sample(range(5, 31, 2), 6)
            params, context = 2 * rng.randrange(10**5, 10**6) + 1, 2 * rng.randrange(100, 900) + 1
            inputs = {"num_params": params, "batch": batch, "context": context} | changes
            k_bits = layers * kv_heads * head_dim * inputs["batch"] * inputs["context"] * kv_bits
            if not rest or (k_bits % 8 == rest and params * weight_bits % 8 == rest):
                break
        bits = {"weight_bits": weight_bits, "kv_bits": kv_bits}
        return Case(label, {"config": _config(layers, kv_heads, group, head_dim, guess), **inputs, **bits})

    return [
        case("one sequence, 16 bits", 16, 16, batch=1),
        case("several sequences, 16 bits", 16, 16),
        case("weights in 4 bits, a cache in 16", 4, 16),
        case("weights in 16 bits, a cache in 8", 16, 8),
        case("bits that fill a quarter of the last byte", rng.choice(ODD_BITS), rng.choice(ODD_BITS), 1),
        case("bits that fill three quarters of the last byte", rng.choice(ODD_BITS), rng.choice(ODD_BITS), 3),
        case("a first step, with nothing stored", 8, 16, context=0),
        case(
            "more bytes than a float can count",
            8,
            8,
            num_params=2**54 + 2 * rng.randrange(10**6) + 1,
            context=2**54 + 2 * rng.randrange(10**6) + 1,
        ),
    ]


def _effective_bandwidth(rng: Random) -> list[Case]:
    def case(label: str, num_bytes: int, seconds: float) -> Case:
        return Case(label, {"num_bytes": num_bytes, "seconds": seconds})

    num_bytes = rng.randrange(10**9, 10**10)
    return [
        case("a few milliseconds", rng.randrange(10**9, 10**10), round(rng.uniform(0.002, 0.009), 6)),
        case("more than a second", rng.randrange(10**9, 10**10), round(rng.uniform(2, 9), 6)),
        case("a few bytes", rng.randrange(3, 99), round(rng.uniform(0.2, 0.9), 6)),
        case("no byte", 0, round(rng.uniform(0.2, 0.9), 6)),
        case("no second", num_bytes, 0.0),
        case("less than no second", num_bytes, -round(rng.uniform(0.002, 0.9), 6)),
        case("seconds that are no number", num_bytes, nan),
        case("infinitely many seconds", num_bytes, inf),
    ]


def _plausible(rng: Random) -> list[Case]:
    def case(label: str, shares: list[float], ceiling: float | None = None, **slack: float) -> Case:
        """Bandwidths as shares of the ceiling, in an order that is drawn: the answers stand in no order to know."""
        if ceiling is None:
            # So that ceiling * (1 + slack) is exact wherever a bandwidth is to be equal to it.
            ceiling = 64e6 * rng.randrange(1000, 60_000)
        bandwidths = [share * ceiling if 0 < abs(ceiling) < inf else share for share in shares]
        rng.shuffle(bandwidths)
        return Case(label, {EACH_BANDWIDTH: bandwidths, "ceiling": ceiling, **slack})

    def below() -> float:
        return round(rng.uniform(0.01, 0.85), 3)

    return [
        case("far below and far above the ceiling", [below(), below(), rng.uniform(2, 9), rng.uniform(9, 99)]),
        case("near what the slack allows", [0.95, 1.05, 1.098, 1.102, 1.3, 1.099]),
        case("no slack", [0.95, below(), 1.0, 1.0001, 1.05, 1.15], slack=0.0),
        case("a small slack", [0.99, 1.02, 1.05, 1.0625, 1.0626, 1.095], slack=0.0625),
        case("a slack of a half", [1.003, 1.3, 1.5, 1.51, 1.9, below()], slack=0.5),
        case("a slow link", [below(), 1.01, 1.2, 1.249, 1.3, 1.25], ceiling=float(rng.randrange(2, 9)), slack=0.25),
        case("no byte, or fewer", [below(), below(), 0.0, -below(), -1.0, -7.5], slack=0.25),
        case("bandwidths that are no number, and infinite ones", [below(), nan, inf, -inf, 1.2], slack=0.25),
        case("a ceiling of zero", [1e9], ceiling=0.0),
        case("a negative ceiling", [below()], ceiling=-1e9 * rng.randrange(2, 9)),
        case("a ceiling that is no number", [1e9], ceiling=nan),
        case("no ceiling at all", [1e9], ceiling=inf),
    ]


def _run_plausible(candidate: object, case: Case) -> list[object]:
    """The answer for each bandwidth."""
    bandwidths, *others = case.inputs.values()
    return [plain(candidate(each, *others)) for each in bandwidths]


# --- fit_line --------------------------------------------------------------------------------------------------


def _fit_line(rng: Random) -> list[Case]:
    def case(label: str, contexts: list[int], noise: float = 0.2) -> Case:
        """Around a line, or without noise on it. Neither the first and the last nor the extremes tell it."""
        slope, start = rng.randrange(1_000, 9_000) * 1e-9, rng.randrange(4_000, 9_000) * 1e-6  # whole nanoseconds
        seconds = [round((start + slope * each) * (1 + noise * rng.choice((-1, 1)) * rng.uniform(0.3, 1)), 9)
                   for each in contexts]  # fmt: skip
        return Case(label, {"contexts": contexts, "seconds": seconds})

    def shuffled(count: int, low: int = 128, high: int = 9000) -> list[int]:
        """Neither the smallest nor the largest is the first or the last."""
        while True:
            drawn = rng.sample(range(low, high), count)
            if not {min(drawn), max(drawn)} & {drawn[0], drawn[-1]}:
                return drawn

    several = shuffled(6)
    inner = sorted(several)[2:4]
    return [
        case("points on a line", sorted(shuffled(4)), noise=0),
        case("points around a line", sorted(shuffled(6))),
        case("contexts in no order", shuffled(7)),
        case("long contexts, far from none", shuffled(6, 100_000, 131_072), noise=0.01),
        case("contexts measured more than once", [inner[0], *several, *inner]),
        case("two contexts", [min(several), max(several)]),
        case("one context", [several[0]]),
        case("one context, measured three times", [several[1]] * 3),
        Case("more contexts than seconds", {"contexts": several, "seconds": case("", several[:5]).inputs["seconds"]}),
        Case("more seconds than contexts", {"contexts": several[:4], "seconds": case("", several).inputs["seconds"]}),
    ]


# --- copies_made -----------------------------------------------------------------------------------------------


def _copies_made(rng: Random) -> list[Case]:
    def case(label: str, places: str, stored: list[int] | None) -> Case:
        """A letter a place. Without `stored` each step adds a few rows."""
        if stored is None:
            stored = list(accumulate(256 * rng.randrange(1, 40) for _ in places))
        addresses = {name: 64 * rng.randrange(2**40, 2**41) for name in sorted(set(places))}
        return Case(label, {"trace": [[addresses[name], n] for name, n in zip(places, stored, strict=True)]})

    def growing(count: int) -> list[int]:
        """Steps of different widths, so that no sum of some of them is a sum of others."""
        row = 256 * rng.randrange(3, 40)
        widths = [row * 3**i + 256 * rng.randrange(1, row // 256) for i in range(count)]
        stored = rng.sample(widths, count)
        return [sum(stored[: i + 1]) for i in range(count)]

    up, held = growing(5), growing(3)
    return [
        case("storage that moves once", "AAB", growing(3)),
        case("storage for all tokens from the start", "AAAA", growing(4)),
        case("concatenation: a new place at every step", "ABCD", growing(4)),
        case("storage that doubles", "ABBCCCC", growing(7)),
        case("an address that is handed out again", "ABAB", growing(4)),
        case("two places in turn, with steps between", "AABBBAAB", growing(8)),
        case("truncation in place", "AAAAA", [up[2], up[3], up[0], up[1], up[4]]),
        case("truncation, then a move", "AABBB", [up[2], up[1], up[3], up[0], up[4]]),
        case("a move with nothing appended", "AABBA", [held[0], held[1], held[1], held[1], held[2]]),
        case("nothing appended, nothing moved", "AAB", [held[0], held[0], held[1]]),
        case("an empty cache that moves", "ABB", [0, held[0], held[1]]),
        case("many steps", "".join(rng.choice("ABC") * rng.randrange(1, 4) for _ in range(20)) + "AB", None),
        case("one entry", "A", growing(1)),
        case("no entry", "", []),
    ]


def _run_copies_made(candidate: object, case: Case) -> object:
    return call_with(candidate, {"trace": [tuple(entry) for entry in case.inputs["trace"]]})


EXERCISES = (
    Exercise("time_call", _time_call, run=_run_time_call),
    Exercise("summarise", _summarise),
    Exercise("step_bytes", _step_bytes),
    Exercise("effective_bandwidth", _effective_bandwidth),
    Exercise("plausible", _plausible, run=_run_plausible),
    Exercise("fit_line", _fit_line),
    Exercise("copies_made", _copies_made, run=_run_copies_made),
)
