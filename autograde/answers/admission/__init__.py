"""Lesson 10: what is right, by sharing out piece by piece, and the mistakes that people make when they let others in.

The oracle of the scheduler keeps no queue, no list of the running and no pool: it asks all requests, in the order in
which they came, and writes one token after the other into the lowest slot that nobody holds.
"""
