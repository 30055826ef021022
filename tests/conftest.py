"""What all tests share."""

from hypothesis import settings

# No clock decides whether a test passes: the machine may be busy.
settings.register_profile("course", deadline=None)
settings.load_profile("course")
