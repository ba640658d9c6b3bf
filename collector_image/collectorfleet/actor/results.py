"""Copy the results of the user's calls. A result that is sent after the call must not change meanwhile."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from typing import Any, Final

import numpy as np
import torch
from ray import ObjectRef, cloudpickle
from ray.actor import ActorHandle
from tensordict import TensorDict, is_tensor_collection
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torchrl.collectors import BaseCollector
from torchrl.envs import EnvBase, Transform

# Some methods return an object of these classes to allow chained calls. Such an object has no copy: unpickling an
# environment may start another simulator.
OF_THE_COLLECTOR = (EnvBase, Transform, BaseCollector)

# Objects without a copy. They do not change, or they belong to the collector or to Ray.
_UNCHANGED: Final = (
    *OF_THE_COLLECTOR,
    type,
    Enum,
    np.generic,
    np.dtype,
    torch.dtype,
    torch.device,
    ObjectRef,
    ActorHandle,
)

# Immutable values. A result may have millions of them.
_IMMUTABLE: Final = frozenset({type(None), bool, int, float, complex, str, bytes})


class Pickled:
    """A result that was pickled after the call. When this object is sent, the receiver gets the result itself.

    The result is not unpickled in the collector. If the user's script defines a class, unpickling an object replaces
    the methods of this class, and the running policy would call the new methods. Unpickling a module that has an
    environment may start another simulator.
    """

    def __init__(self, result: Any) -> None:
        self._pickled: bytes = cloudpickle.dumps(result)

    def __reduce__(self) -> tuple[Any, ...]:
        return cloudpickle.loads, (self._pickled,)


def copied(result: Any) -> Any:
    """Return ``result`` with copies of its tensors, TensorDicts and arrays.

    These may be inside dicts, lists and tuples. If the result contains other objects that may change, or if it cannot
    be copied, return the whole result as :class:`Pickled`. Such objects are modules, optimizers, dataclasses and sets.
    So modules and optimizers of one result still share their parameters. If the result cannot be pickled either, its
    other objects are not copied. Raises the error of pickling if pickling fails and the result contains modules or has
    no copy.
    """
    found: dict[int, Any] = {}
    with suppress(Exception):  # a class may support only pickling, and the copies may not fit on a GPU
        _find(result, found, {})
        if all(_has_copy(value) for value in found.values()):
            return _copy_containers(result, found)
    try:
        return Pickled(result)
    except Exception:
        # Collectors in the driver's process can return objects that cannot be pickled, such as a lock.
        with suppress(Exception):
            if not any(_has_parameters(value) for value in found.values()):
                return _copy_containers(result, found)
        raise


def _copy_containers(result: Any, found: dict[int, Any]) -> Any:
    # ``copy.deepcopy`` uses the given copy of each object. So it copies only the containers.
    return copy.deepcopy(result, {key: _copy(value) for key, value in found.items()})


def _has_copy(value: Any) -> bool:
    """Return whether :func:`_copy` returns an object that does not change."""
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    is_known = isinstance(value, (*_UNCHANGED, Tensor)) or is_tensor_collection(value)
    return is_known and not _has_parameters(value)


def _has_parameters(value: Any) -> bool:
    # A clone of a TensorDict has no parameters: they become results of autograd.
    has_some = isinstance(value, nn.Module) or (isinstance(value, TensorDict) and value.requires_grad)
    return has_some and not isinstance(value, OF_THE_COLLECTOR)


def _find(value: Any, found: dict[int, Any], containers: dict[int, Any]) -> None:
    """Add each object inside ``value`` to ``found``, by its id.

    ``containers`` has the containers by their ids. Both dicts keep the objects alive, so that ids stay unique.
    """
    if type(value) in _IMMUTABLE or id(value) in found or id(value) in containers:
        return
    if not isinstance(value, dict | list | tuple):
        found[id(value)] = value
        return
    containers[id(value)] = value
    for inner in _inner(value):
        _find(inner, found, containers)


def _inner(container: Any) -> Iterator[Any]:
    """Yield all objects that ``copy.deepcopy`` would copy with ``container``."""
    if isinstance(container, dict):
        yield from container.keys()
        yield from container.values()
        yield container.default_factory if isinstance(container, defaultdict) else None
    else:
        yield from container
    yield from getattr(container, "__dict__", {}).values()  # attributes of a subclass


def _copy(value: Any) -> Any:
    if isinstance(value, _UNCHANGED):
        return value
    if isinstance(value, Tensor):
        return value if is_lazy(value) else _copy_tensor(value)
    if is_tensor_collection(value):
        return value.clone()
    return value.copy() if isinstance(value, np.ndarray) else value


def _copy_tensor(tensor: Tensor) -> Tensor:
    made = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    if isinstance(tensor, nn.Parameter):
        made = nn.Parameter(made, tensor.requires_grad)
    if type(tensor) in (Tensor, nn.Parameter):
        # Other classes may keep their values in attributes.
        vars(made).update(vars(tensor))
    return made
