"""Lesson 02: what is right, counted rather than multiplied, and the mistakes that people make.

The wrong answers are written as a learner writes them, each with one thing wrong.
"""
