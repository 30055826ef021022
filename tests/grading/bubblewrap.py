"""Tests that need bubblewrap: where it does not work they say so loudly, and with CI set that is a failure."""

import os

import pytest

from autograde.grading.sandbox.process import SandboxError, bubblewrap


def _trouble() -> str:
    try:
        bubblewrap()
    except SandboxError as error:
        return str(error)
    return ""


TROUBLE = _trouble()
if TROUBLE and os.environ.get("CI"):
    raise RuntimeError(f"the grader's tests cannot run: {TROUBLE}")
needs_bubblewrap = pytest.mark.skipif(bool(TROUBLE), reason=f"NOT TESTED, the grader's isolation: {TROUBLE}")
