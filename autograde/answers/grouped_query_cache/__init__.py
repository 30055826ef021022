"""Lesson 05: what is right, and the mistakes that people make with grouped heads, rotary positions and caches.

Attention is judged by PyTorch's own `scaled_dot_product_attention` on a square, with every KV head copied to its
readers one by one; rotary positions by multiplying complex numbers; the layer with a cache by the whole sequence at
once. The oracle of the cache keeps one NumPy array for each token.
"""
