"""Lesson 04: what is right, by loops over positions and by PyTorch, and the mistakes that people make with masks.

Attention is judged by `scaled_dot_product_attention` with `is_causal=True` on a square: the whole sequence at once,
with queries in front of the chunk that nobody asked for. On a square there is only one way to align a mask.
"""
