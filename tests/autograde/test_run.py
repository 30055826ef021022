"""Driving a learner's code: nothing it prints, raises or loops over reaches the caller other than as plain values."""

import asyncio
import bdb
import signal
import sys
import threading
import time
import warnings
from random import Random

import pytest

from autograde.exercise import Case, Exercise
from autograde.limits import TimeLimit, _watchdog, time_limit
from autograde.run import MAX_PRINTED, collect
from autograde.values import Opaque, Raised
from tests.fixtures.bounded_log import EXERCISE as BOUNDED_LOG
from tests.fixtures.bounded_log import ByTuple, Right, Unwritten


def exercise(run=None, **settings):
    return Exercise("sample", lambda rng: [], **({"run": run} if run else {}), **settings)


def outcomes(candidate, *inputs, library=None, **settings):
    return collect(exercise(**settings), candidate, [Case("", each) for each in inputs], library)


def test_one_value_per_case_in_order():
    got = outcomes(lambda a, b: a - b, {"a": 5, "b": 3}, {"a": 1, "b": 9})
    assert [each.value for each in got] == [2, -8]


def test_an_array_is_a_value_like_any_other():
    import numpy as np

    first, second = outcomes(lambda n: np.full((2, 2), n), {"n": 3}, {"n": 4})
    assert first.value.tolist() == [[3, 3], [3, 3]] and second.value[0, 0] == 4


def test_inputs_are_copied_so_that_an_answer_cannot_change_a_later_case():
    case = Case("", {"rows": [3, 1, 2]})
    first, second = collect(exercise(), lambda rows: rows.sort() or rows, [case, case])
    assert first.value.value == second.value.value == [1, 2, 3]
    assert case.inputs["rows"] == [3, 1, 2]


def test_prints_and_warnings_are_kept_and_reach_neither_stream(capsys):
    def noisy(n):
        print("to stdout", n)
        print("to stderr", file=sys.stderr)
        warnings.warn("careful", stacklevel=1)
        return n

    (got,) = outcomes(noisy, {"n": 3})
    assert got.value == 3
    assert got.printed.splitlines() == ["to stdout 3", "to stderr", "UserWarning: careful"]
    assert capsys.readouterr() == ("", "")


def test_an_exception_carries_the_learners_own_line():
    def broken(n):
        return n / 0

    (got,) = outcomes(broken, {"n": 3})
    assert got.value == Raised("ZeroDivisionError")
    assert "ZeroDivisionError: division by zero" in got.note
    assert "return n / 0" in got.note
    assert "autograde" not in got.note


def test_a_wrong_number_of_parameters_shows_no_line_of_the_checker():
    (got,) = outcomes(lambda: 1, {"n": 3})
    assert got.value == Raised("TypeError")
    assert "candidate(" not in got.note


def test_leaving_the_interpreter_is_only_a_wrong_answer():
    (got,) = outcomes(lambda n: sys.exit(0), {"n": 3})
    assert got.value == Raised("SystemExit")


def test_an_exception_that_cannot_say_itself_is_still_reported():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    def fail(n):
        raise Mute

    (got,) = outcomes(fail, {"n": 3})
    assert got.note == "Mute"


def test_an_endless_loop_ends_and_the_other_cases_are_not_run():
    calls = []

    def endless(n):
        calls.append(n)
        while True:
            pass

    got = outcomes(endless, {"n": 1}, {"n": 2}, {"n": 3}, seconds=0.1)
    assert [each.value for each in got] == [Raised("TimeLimit")] * 3
    assert calls == [1]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the repeating timer is POSIX")
def test_swallowing_the_first_time_limit_does_not_help():
    def stubborn(n):
        for _ in range(2):
            try:
                while True:
                    pass
            except BaseException:
                pass
        return n

    (got,) = outcomes(stubborn, {"n": 3}, seconds=0.05)
    assert got.value == 3  # both loops were interrupted


def test_the_watchdog_of_other_platforms_interrupts_the_main_thread():
    with pytest.raises(TimeLimit), _watchdog(0.05):
        while True:
            time.sleep(0.01)


def test_off_the_main_thread_the_block_runs_without_a_limit():
    done = []

    def work():
        with time_limit(0.01):
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def test_the_time_limit_restores_the_timer_and_its_handler():
    before = signal.getsignal(signal.SIGALRM)
    with time_limit(5):
        pass
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_answer_that_calls_the_library_is_noticed():
    from kvlab.sizes import kv_elements

    (got,) = outcomes(lambda n: kv_elements(n, 3, 4, 5, 6), {"n": 3}, library=("kvlab.sizes:kv_elements",))
    assert got.borrowed == "kvlab.sizes.kv_elements"
    (got,) = outcomes(lambda n: n, {"n": 3}, library=("kvlab.sizes:kv_elements",))
    assert not got.borrowed


def test_a_copy_of_a_library_function_is_noticed_and_what_kvlab_calls_itself_is_not():
    import types

    from kvlab import sizes

    copied = types.FunctionType(sizes.kv_elements.__code__, vars(sizes), "mine")
    library = ("kvlab.sizes:kv_elements", "kvlab.sizes:as_units")
    (got,) = outcomes(lambda n: copied(n, 3, 4, 5, 6), {"n": 3}, library=library)
    assert got.borrowed
    (got,) = outcomes(lambda n: len(sizes.show_bytes(n)), {"n": 3}, library=library)
    assert not got.borrowed


@pytest.mark.parametrize("kind", [GeneratorExit, SystemExit, asyncio.CancelledError, bdb.BdbQuit])
def test_exceptions_of_every_kind_are_only_wrong_answers(kind):
    def fail(n):
        raise kind

    (got,) = outcomes(fail, {"n": 3})
    assert isinstance(got.value, Raised)


def test_an_interrupt_by_hand_is_no_answer():
    def fail(n):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcomes(fail, {"n": 3})


def test_an_exception_that_takes_forever_to_say_itself_ends():
    class Endless(Exception):
        def __str__(self):
            while True:
                pass

    def fail(n):
        raise Endless

    (got,) = outcomes(fail, {"n": 3})
    assert got.note == "Endless"


def test_closing_stdout_closes_nothing_and_a_flood_is_cut():
    def loud(n):
        for _ in range(10**5):
            print("x" * 50)
        sys.stdout.close()
        return n

    (got,) = outcomes(loud, {"n": 3})
    assert got.value == 3
    assert len(got.printed) == MAX_PRINTED


def test_a_returned_exception_marker_is_not_an_exception():
    (got,) = outcomes(lambda n: Raised("ValueError"), {"n": 3})
    assert isinstance(got.value, Opaque)


def test_the_stub_is_noticed():
    def stub(n):
        raise NotImplementedError

    (got,) = outcomes(stub, {"n": 3})
    assert got.unwritten


def test_an_object_is_reported_as_opaque():
    (got,) = outcomes(lambda n: object(), {"n": 3})
    assert got.value == Opaque("object")


def test_a_class_is_driven_step_by_step_and_its_refusals_are_values():
    cases = BOUNDED_LOG.cases(Random(1))
    mine, other = ([each.value for each in collect(BOUNDED_LOG, candidate, cases)] for candidate in (Right, ByTuple))
    assert mine == other
    assert Raised("ValueError") in mine[1]


def test_an_unwritten_method_is_no_refusal():
    cases = BOUNDED_LOG.cases(Random(1))
    assert collect(BOUNDED_LOG, Unwritten, cases)[0].unwritten


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="elsewhere a watchdog thread counts for each limit")
def test_a_limit_inside_a_limit_does_not_lift_the_outer_one():
    """As when an exception of a step is described, with a limit of its own, within the limit of the case."""
    give_up = time.monotonic() + 5
    with pytest.raises(TimeLimit), time_limit(0.3):
        with time_limit(2):
            pass
        while time.monotonic() < give_up:
            pass
