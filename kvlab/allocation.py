"""From payload to what a paged allocator takes for one request, in steps that add up.

The model is that of vLLM's hybrid manager (docs: design/hybrid_kv_cache_manager): tokens come in blocks; a layer with a
window keeps whole blocks, one more than the window fills; layers form groups of equal size, and a group that is
not full still takes all its slots.
"""

from collections import Counter

from kvlab.configs import Layer, ModelConfig
from kvlab.paging import blocks_needed
from kvlab.sizes import bits_to_bytes

STEPS = ("payload", "page rounding", "window rings", "layer groups")


def allocation(model: ModelConfig, tokens: int, bits_per_element: int, block_size: int = 16) -> dict[str, int]:
    """Bytes of each of STEPS for one request: the payload, and what each step adds to it. State is not paged.

    `tokens` are those that the request has stored; `block_size` is the tokens of a block.
    """
    rows = dict.fromkeys(STEPS, 0)
    unused = unused_slots(model)
    for layer, count in _stored(model).items():
        row, kept, pages = layer.row_elements * bits_per_element, layer.rows(tokens), blocks_needed(tokens, block_size)
        step = "page rounding"
        if layer.kind == "window":
            step, pages = "window rings", min(pages, blocks_needed(layer.window - 1, block_size) + 1)
        rows["payload"] += count * kept * row
        rows[step] += count * (pages * block_size - kept) * row
        rows["layer groups"] += unused[layer.kind] * pages * block_size * row
    return {step: bits_to_bytes(bits) for step, bits in rows.items()}


def unused_slots(model: ModelConfig) -> dict[str, int]:
    """Slots of the last group of each kind that no layer uses. A group is as large as the rarest kind."""
    stored = _stored(model)
    group = min(stored.values(), default=1)
    return {layer.kind: -count % group for layer, count in stored.items()}


def _stored(model: ModelConfig) -> Counter[Layer]:
    """How many layers there are of each that has rows; layers of one kind are equal."""
    return Counter(layer for layer in model.layers if layer.row_elements)
