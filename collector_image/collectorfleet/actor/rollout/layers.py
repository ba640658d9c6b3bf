"""Find the layers of a network.

A loop calls the ``forward`` methods of the layers directly, to avoid the overhead of ``nn.Module.__call__``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import nn
from torch.nn.modules.module import _has_any_global_hook
from torchrl.modules import MLP

from collectorfleet.torchrl_private.policies import reshapes_output

# Names of the attributes with a module's hooks. Torch calls these hooks before or after ``forward``.
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def find_layers(network: Any) -> list[Callable[[Any], Any]] | None:
    """Return ``forward`` of each layer, in order.

    Return None if a call of the network does more than call these methods in order. The overhead of calling a module is
    as large as the computation of a small layer. For a network with a single layer, the direct call is not faster, so
    the result is None.
    """
    if not isinstance(network, nn.Module) or _has_any_global_hook():  # type: ignore[no-untyped-call]
        return None
    modules = list(_layers(network))
    if len(modules) < 2 or not all(_is_plain(module) for module in network.modules()):
        return None
    return [module.forward for module in modules]


def _layers(module: Any) -> Iterator[nn.Module]:
    # If the ``forward`` of a container was replaced, the container might not call its layers in order.
    is_row = type(module) is nn.Sequential or (type(module) is MLP and not reshapes_output(module))
    if is_row and "forward" not in vars(module):
        # ``children()`` would list a repeated layer only once.
        for inner in module:
            yield from _layers(inner)
    elif type(module) is not nn.Identity:
        yield module


def _is_plain(module: nn.Module) -> bool:
    """Return whether a call of the module does nothing but call ``forward``."""
    own_call = type(module).__call__ is not nn.Module.__call__ or module._compiled_call_impl is not None
    return not own_call and not any(getattr(module, name) for name in _HOOKS)
