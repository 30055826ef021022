"""A time limit for one case, on the main thread, where the learner's code runs too."""

import contextlib
import signal
import threading
from _thread import interrupt_main
from collections.abc import Iterator


class TimeLimit(BaseException):
    """The code ran past its limit. Not an Exception, so that `except Exception` in an answer does not hide it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeLimit inside the block after `seconds` of wall time.

    On POSIX the timer repeats, so an answer that swallows the first TimeLimit meets the next one. Elsewhere a
    watchdog thread interrupts the main thread as Ctrl-C does. Code that swallows every exception in an endless loop
    needs Kernel > Interrupt or Restart. Off the main thread there is no limit: neither mechanism reaches it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
    elif hasattr(signal, "setitimer"):
        with _alarm(seconds):
            yield
    else:
        with _watchdog(seconds):
            yield


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def stop(signum: int, frame: object) -> None:
        raise TimeLimit(seconds)

    before = signal.signal(signal.SIGALRM, stop)
    outer = signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *outer)  # a limit around this one still holds


@contextlib.contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    fired = threading.Event()

    def stop() -> None:
        fired.set()
        interrupt_main()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except KeyboardInterrupt:
        if fired.is_set():
            raise TimeLimit(seconds) from None
        raise
    finally:
        timer.cancel()
