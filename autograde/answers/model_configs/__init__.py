"""Lesson 06: what is right, and the mistakes that people make with a config.json.

The oracle asks, model type by model type, how many rows each layer keeps, allocates them and adds up; it shares no
table with the library. Its rules are held to `transformers` by a test. Most mistakes are switches of one other reading,
each with one thing wrong.
"""
