"""What all tests share."""

import os

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.variants")  # its assertions show both sides, as those of a test file do

# No clock decides whether a test passes: the machine may be busy.
settings.register_profile("course", deadline=None)
settings.load_profile("course")

# Lesson 11 measures what the machine allows; where notebooks only have to run, the smallest plan will do.
os.environ.setdefault("KVLAB_PLAN", "smallest")
