"""How many bytes of tensors a piece of PyTorch code makes. `tracemalloc` sees none of them: torch allocates for itself.

A dispatch mode is asked about every operation that PyTorch carries out, after composite ones such as `matmul` have
been taken apart; so a copy that a `@` makes quietly is seen too. Memory that one operation uses inside and gives back
before it ends is not seen.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from kvlab.sizes import whole


class Metered(NamedTuple):
    """What a call returned, and the bytes of the storages that it made."""

    value: object
    new_bytes: int  # of all of them
    peak_bytes: int  # of those that lived at the same time
    largest: tuple[tuple[str, int], ...]  # (operation, bytes) of each, largest first


def metered(function: Callable[..., object], *arguments: object) -> Metered:
    """`function(*arguments)` with every new storage counted. What the arguments hold already is not new."""
    with _NewStorages() as mode:
        value = function(*arguments)
    return Metered(value, sum(n for _, n in mode.made), mode.peak, tuple(sorted(mode.made, key=lambda made: -made[1])))


class _NewStorages(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.made, self.living, self.peak = [], [], 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        # A view, and what an operation changes in place, lives in a storage of its arguments.
        known = {StorageWeakRef(tensor.untyped_storage()) for tensor in _tensors((args, kwargs))}
        for tensor in _tensors(result):
            storage = tensor.untyped_storage()
            reference = StorageWeakRef(storage)
            if reference not in known:
                known.add(reference)
                self.made.append((operation.overloadpacket.__name__, storage.nbytes()))
                self.living.append((reference, storage.nbytes()))
        self.living = [(reference, n) for reference, n in self.living if not reference.expired()]
        self.peak = max(self.peak, sum(n for _, n in self.living))
        return result


def _tensors(tree: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def copies_made(trace: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """(copies, bytes copied) of a cache that was watched while it grew.

    trace: (address, stored bytes) after each append, in order. A storage that lies elsewhere than just before holds a
    copy of all bytes that were stored then. Other bytes at the same address are no copy: they were written in place,
    or cut off. An address may come again, because an allocator hands out again what was given back. No entry is (0, 0).
    ValueError for a negative number of bytes.
    """
    places = [(address, whole("stored bytes", stored, at_least=0)) for address, stored in trace]
    copied = [stored for (address, stored), (moved_to, _) in pairwise(places) if moved_to != address]
    return len(copied), sum(copied)
