"""Lesson 01: what is right, number by number, and the mistakes that people make with their first cache.

The oracles compute with plain Python numbers, one at a time; the row rule is found by running a model of symbols, in
which a row is the tuple of everything that it was made from.
"""
