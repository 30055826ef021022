"""Lesson 09: what is right, counted product by product or found by search, and the mistakes that people make.

A wrong answer is put together from the right parts, with one of them changed.
"""
