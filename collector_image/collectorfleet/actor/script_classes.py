"""Make ``torch.compile`` in a collector work with classes that the user's script defines.

The driver pickles classes of the script by value. In the collector, the functions of such a class have their own
globals, and the name of their module is ``__main__``. ``torch.compile`` of torch 2.11 looks up names in the module
``__main__``. But in a collector, ``__main__`` is another script.
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
    """Create an importable module for each separate dictionary of globals that functions in ``policy`` use."""
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
