"""Lesson 07: what is right, by walking from slot to slot, and the mistakes that people make with block tables.

The oracle of the pool keeps no free list and no counts: a block is free when no table names it, and its count is the
number of tables that do.
"""
