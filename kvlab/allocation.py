"""From payload to what a paged allocator takes for one request, in steps that add up.

The model is that of vLLM's hybrid manager (docs: design/hybrid_kv_cache_manager): tokens come in blocks; a layer with a
window keeps whole blocks, one more than the window fills; layers form groups of equal size, and a group that is
not full still takes all its slots.
"""

from kvlab.configs import ModelConfig

STEPS = ("payload", "page rounding", "window rings", "layer groups")


def allocation(model: ModelConfig, tokens: int, bits_per_element: int, block: int = 16) -> dict[str, int]:
    """Bytes of each of STEPS for one request: the payload, and what each step adds to it. State is not paged."""
    rows = dict.fromkeys(STEPS, 0)
    for kind, layers in _kinds(model).items():
        row = layers[0].row_elements * bits_per_element
        kept, pages = layers[0].rows(tokens), -(-tokens // block)
        if kind == "window":
            ring = min(pages, -(-(layers[0].window - 1) // block) + 1)
            rows["window rings"] += len(layers) * (ring * block - kept) * row
            pages = ring
        else:
            rows["page rounding"] += len(layers) * (pages * block - kept) * row
        rows["payload"] += len(layers) * kept * row
        rows["layer groups"] += unused_slots(model)[kind] * pages * block * row
    return {step: -(-bits // 8) for step, bits in rows.items()}


def unused_slots(model: ModelConfig) -> dict[str, int]:
    """Slots of the last group of each kind that no layer uses. A group is as large as the rarest kind."""
    counts = {kind: len(layers) for kind, layers in _kinds(model).items()}
    group = min(counts.values(), default=1)
    return {kind: -count % group for kind, count in counts.items()}


def _kinds(model: ModelConfig) -> dict[str, list]:
    found: dict[str, list] = {}
    for layer in model.layers:
        if layer.row_elements:
            found.setdefault(layer.kind, []).append(layer)
    return found
