"""Checks for the exercises of the course: `check("kv_bytes")` in a notebook, `autograde` in a shell."""

from autograde.check import check, hint

__all__ = ["check", "hint"]
