"""Copy the results of the user's calls. A result that is sent after the call must not change meanwhile."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from ray import cloudpickle
from tensordict import is_tensor_collection
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torchrl.collectors import BaseCollector
from torchrl.envs import EnvBase, Transform

# Some methods return an object of these classes to allow chained calls. Such an object has no copy: unpickling an
# environment may start another simulator.
OF_THE_COLLECTOR = (EnvBase, Transform, BaseCollector)


def copied(result: Any) -> Any:
    """Return ``result`` with copies of its tensors, TensorDicts, arrays and modules.

    These may be inside dicts, lists and tuples. Other objects are not copied. Raises the error of pickling if a module
    cannot be pickled.
    """
    copies: dict[int, Any] = {}
    _add_copies(result, copies, set())
    return copy.deepcopy(result, copies)


def _add_copies(value: Any, copies: dict[int, Any], containers: set[int]) -> None:
    """Add the copy of each object inside ``value`` to ``copies``, by the object's id. ``copy.deepcopy`` uses them."""
    if id(value) in copies or id(value) in containers:
        return
    if isinstance(value, dict | list | tuple):
        containers.add(id(value))
        for inner in (*value.keys(), *value.values()) if isinstance(value, dict) else value:
            _add_copies(inner, copies, containers)
    else:
        copies[id(value)] = _copy(value)


def _copy(value: Any) -> Any:
    if isinstance(value, OF_THE_COLLECTOR):
        return value
    if isinstance(value, nn.Module):
        # Unlike copy.deepcopy, pickling supports modules with results of autograd. The result is pickled again anyway.
        return cloudpickle.loads(cloudpickle.dumps(value))
    if isinstance(value, Tensor):
        return value if is_lazy(value) else _copy_tensor(value)
    if is_tensor_collection(value):
        return value.clone()
    return value.copy() if isinstance(value, np.ndarray) else value


def _copy_tensor(tensor: Tensor) -> Tensor:
    made = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    return nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else made
