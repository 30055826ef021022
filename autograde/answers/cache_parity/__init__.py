"""Lesson 03: what is right, by full recomputation, and the mistakes that people make with a cache.

The oracle never keeps K or V. It remembers the input row of each stored token and runs the model's own forward pass
over those rows again.
"""
