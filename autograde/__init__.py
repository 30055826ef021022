"""The checks, the release and the grading of the course. A notebook cell uses `autograde.check`."""
