"""Lesson 11: what is right, computed from the numbers of a case without any device, and the mistakes people make."""
