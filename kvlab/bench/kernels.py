"""Which attention kernel PyTorch really ran: `scaled_dot_product_attention` is a name for several."""

from collections.abc import Callable

from torch.utils._python_dispatch import TorchDispatchMode


def attention_kernels(function: Callable[..., object], *arguments: object) -> list[str]:
    """Names of the attention operations that `function(*arguments)` carried out, each once, in order of first use."""
    with _Names() as mode:
        function(*arguments)
    return list(dict.fromkeys(name for name in mode.names if "attention" in name))


class _Names(TorchDispatchMode):
    """Notes every operation after composite ones have been taken apart."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.names.append(operation.overloadpacket.__name__)
        return operation(*args, **(kwargs or {}))
