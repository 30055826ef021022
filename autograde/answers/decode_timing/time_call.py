"""`time_call`: what is right, which mistakes are known, and what to say about them."""

from fractions import Fraction
from itertools import pairwise

from autograde.answers.decode_timing.shared import REFUSED, TOLERANCE
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised


def _trials(case: Case) -> list[float] | Raised:
    """What a trial takes that starts on an idle device: launch, the device's own time, and the host's waking up."""
    device, warmup, trials = case.inputs.values()
    if warmup < 0 or trials < 1:
        return REFUSED
    host = device["launch_ns"] + (device["wake_ns"] if device["room"] else 0)
    return [float(Fraction(host + takes, 10**9)) for takes in device["calls_ns"][warmup:]]


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


ANSWER = Answer(
    exercise=exercise("time_call"),
    expected=_trials,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "no_warmup",
            _timed(warm=lambda warmup: 0),
            Advice(
                "Did you leave the warm-up out, so that the first calls are timed while they are still slow?",
                (
                    "How often is fn called in all, and how often should it be?",
                    "The first calls compile, fill caches and wake the device; they are called, and not timed.",
                    "Call fn warmup times in a loop of its own, before the first trial.",
                ),
            ),
        ),
        Misconception(
            "one_warmup",
            _timed(warm=lambda warmup: 1),
            Advice(
                "Did you warm up with a single call, whatever `warmup` says?",
                (
                    "Which of the arguments does your answer never use?",
                    "How many calls a device needs before it is steady is for the caller to say. It may be none.",
                    "for _ in range(warmup): fn()",
                ),
            ),
        ),
        Misconception(
            "warmup_in_result",
            _timed(warm=lambda warmup: 0, first=1),
            Advice(
                "Are the times of the warm-up in your result?",
                (
                    "How many times are in your list, and how many trials were asked for?",
                    "The warm-up is called so that its slow calls are not in the result.",
                    "Append in the loop over the trials only, or cut the first `warmup` times off.",
                ),
            ),
        ),
        Misconception(
            "never_waits",
            _timed(waits=()),
            Advice(
                "Did you time how long it takes to start the work, and never wait for its end?",
                (
                    "Your times: are they nearer to launch_ns or to calls_ns?",
                    "fn returns when the work is queued. Later calls only get slower because the queue is full.",
                    "Call synchronize() between fn() and the second reading of the clock.",
                ),
                source="1ytic/warp-rnnt#9: without synchronisation 1.76 ms were reported, with it 15.82 ms.",
            ),
        ),
        Misconception(
            "clock_stopped_early",
            _timed(waits=("before", "behind")),
            Advice(
                "Did you read the clock before you waited for the work to end?",
                (
                    "When your second reading is taken, is the device done?",
                    "Waiting after the clock has stopped keeps the device tidy, and leaves its work out of the time.",
                    "fn(), then synchronize(), then clock().",
                ),
                source="1ytic/warp-rnnt#9: without synchronisation 1.76 ms were reported, with it 15.82 ms.",
            ),
        ),
        Misconception(
            "pending_work_timed",
            _timed(waits=("after",)),
            Advice(
                "Did your first trial start while earlier work was still pending?",
                (
                    "Which of your trials is too long, and what was started just before it?",
                    "The warm-up may still run when its last call has returned; trial one then waits for it.",
                    "Call synchronize() before you read the clock for the start.",
                ),
            ),
        ),
        Misconception(
            "waits_only_in_the_warmup",
            _timed(waits=("after",), wait_in_warmup=True),
            Advice(
                "Do you wait for earlier work only where there is a warm-up?",
                (
                    "What does your function do before the first trial if warmup is 0?",
                    "Somebody else may have started work, too.",
                    "Call synchronize() before the first reading of the clock, whether there was a warm-up or not.",
                ),
            ),
        ),
        Misconception(
            "clock_started_early",
            _timed(waits=("late", "after")),
            Advice(
                "Did you read the clock for the start, and wait for earlier work only after that?",
                (
                    "Whose work is done between your first reading and fn()?",
                    "Everything between the two readings is in the time, waiting for others too.",
                    "synchronize(), then clock(), then fn().",
                ),
            ),
        ),
        Misconception(
            "one_interval",
            _one_interval(each_waits=False),
            Advice(
                "Did you time all trials as one interval, and divide?",
                (
                    "Why are all your times equal?",
                    (
                        "A mean hides a trial that took five times as long, and "
                        "calls that overlap are not what one takes alone."
                    ),
                    "Read the clock before and after each call, and append the difference.",
                ),
            ),
        ),
        Misconception(
            "mean_repeated",
            _one_interval(each_waits=True),
            Advice(
                "Did you wait after each call, and still give the mean of all trials for each of them?",
                (
                    "Why are all your times equal?",
                    "Whoever asks for trials wants to see how much they differ.",
                    "Read the clock in the loop, before and after each call.",
                ),
            ),
        ),
        Misconception(
            "cumulative",
            _cumulative,
            Advice(
                "Did you read the clock for the start only once, so that each time includes the trials before it?",
                (
                    "Do your times grow from trial to trial?",
                    "The second trial does not start when the first does.",
                    "Put start = clock() inside the loop.",
                ),
            ),
        ),
        Misconception(
            "nanoseconds",
            _timed(result=lambda start, end: float(end - start)),
            Advice(
                "Did you return nanoseconds, although seconds were asked for?",
                (
                    "What is the unit of the clock, and what is the unit of the result?",
                    "A second has 10**9 nanoseconds.",
                    "(clock() - start) / 1e9",
                ),
            ),
        ),
        Misconception(
            "milliseconds",
            _timed(result=lambda start, end: (end - start) / 1e6),
            Advice(
                "Did you return milliseconds, although seconds were asked for?",
                (
                    "How many times too large is your result?",
                    "10**6 nanoseconds are a millisecond; seconds were asked for.",
                    "(clock() - start) / 1e9",
                ),
            ),
        ),
        Misconception(
            "seconds_too_early",
            _timed(result=lambda start, end: end / 1e9 - start / 1e9),
            Advice(
                "Did you turn each reading of the clock into seconds before you subtracted?",
                (
                    "Compare the last digits of your times, on a clock that counts from 1970.",
                    "A float has about 16 digits; those of 50 years leave no room for a nanosecond.",
                    "Subtract whole nanoseconds first, then divide the difference by 1e9.",
                ),
            ),
        ),
        Misconception(
            "called_before_refusing",
            _timed(refuse=lambda warmup, trials: None),
            Advice(
                (
                    "Was something called before you looked at `trials` "
                    "and `warmup`, or did you not look at them at all?"
                ),
                (
                    "What does your function do with trials=0?",
                    (
                        "No trial, or a negative warm-up, is a mistake of the "
                        "caller's, and to be said before a device is started."
                    ),
                    "if trials < 1 or warmup < 0: raise ValueError(…) as the first line.",
                ),
            ),
        ),
    ),
    alternatives=(_timed_by_stamps, _timed_and_cut, _timed(wait_in_warmup=True)),
    hints=(
        "Write one trial first: what must be true of the device when the clock starts, and when it stops?",
        "fn() returns early. Wait before the first reading, so that nothing is pending, and before the second.",
        "synchronize(); start = clock(); fn(); synchronize(); then append (clock() - start) / 1e9.",
    ),
)
