"""Make classes of a user's script usable by ``torch.compile`` in a collector, which runs another script.

Pickle sends these classes by value. Their functions then have separate globals with the module name ``__main__``.
``torch.compile`` of torch 2.11 looks names up in the module of that name, which is a different module in a collector.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, Final

from torch import nn

_MAIN: Final = "__main__"
_PREFIX: Final = "collectorfleet_script_"


def make_importable(policy: nn.Module) -> None:
    """Create an importable module for each separate set of globals of the functions in ``policy``."""
    for names in _globals_by_value(policy):
        name = f"{_PREFIX}{sum(one.startswith(_PREFIX) for one in sys.modules)}"
        names["__name__"] = name
        module = ModuleType(name)
        vars(module).update(names)
        sys.modules[name] = module


def _globals_by_value(policy: nn.Module) -> Iterator[dict[str, Any]]:
    here = getattr(sys.modules.get(_MAIN), "__dict__", None)
    for function in _functions(policy):
        names = function.__globals__
        if names is not here and names.get("__name__") == _MAIN:
            yield names


def _functions(policy: nn.Module) -> Iterator[FunctionType]:
    for module in policy.modules():
        kinds = [kind for kind in type(module).__mro__ if kind.__module__ == _MAIN]
        for holder in (module, *kinds):
            yield from (one for one in list(vars(holder).values()) if isinstance(one, FunctionType))
