"""An exception as a learner needs it: what was raised and which of their own lines was running."""

import linecache
import sys
import traceback

from autograde.course import ROOT
from autograde.limits import time_limit
from autograde.values import type_name

CHECKER = str(ROOT / "autograde")
NOT_THEIRS = (str(ROOT / "kvlab"), str(ROOT / "tiny_transformer.py"), sys.base_prefix)


def blame(error: BaseException) -> str:
    """Class, message and the learner's last line; the bare class where the exception does not let itself be told."""
    try:
        with time_limit(1):
            return _blame(error)
    except BaseException:
        return type_name(type(error))


def _blame(error: BaseException) -> str:
    name, message = type_name(type(error)), str(error)[:300]
    said = f"{name}: {message}" if message else name
    # Not extract_tb, which looks on the disk for every line of the trace.
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if file.startswith(CHECKER):
            return said  # the call itself failed, before a line of the answer ran
        if not file.startswith(NOT_THEIRS) and "site-packages" not in file:
            linecache.checkcache(file)
            line = linecache.getline(file, number, frame.f_globals).strip()
            return f"{said}\nin your {frame.f_code.co_name}, line {number}:  {line}"
    return said
