"""Detect changes of the environment, the transforms and the policy since a loop was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import torch
from torch import Tensor, nn
from torchrl.envs import EnvBase, SerialEnv, Transform, TransformedEnv

from collectorfleet.actor.rollout.exact import require
from collectorfleet.torchrl_private.environments import CACHES, environments_of

_PLAIN: Final = (bool, int, float, str)
_COLLECTIONS: Final = (dict, list)
_LIBRARIES: Final = {"torch", "tensordict", "torchrl"}
# The dicts of environments and transforms that are compared. An environment or a transform has a dozen more dicts from
# ``nn.Module``. Loops do not use these dicts, and comparing them for many environments would take long.
_DICTS_OF_ENVIRONMENTS: Final = {"_modules", "_buffers"}


class Structure:
    """The attributes of ``objects``, the results of ``facts`` and the values of ``tensors`` at one time.

    :meth:`change` compares attributes by identity or equality, collections item by item, and ``tensors`` by their
    values.
    """

    def __init__(
        self, objects: Iterable[Any], facts: Callable[[], list[Any]] = list, tensors: Iterable[Tensor] = ()
    ) -> None:
        self._objects = [_Attributes(one) for one in objects]
        self._facts = facts, facts()
        # The values are copied, because torch's write counts miss writes through ``.data`` or numpy.
        self._values = [(tensor, tensor.clone()) for tensor in tensors]

    def change(self) -> str | None:
        """Return the class and name of a changed attribute, or another description of a change.

        Return None if nothing changed.
        """
        for one in self._objects:
            name = one.change()
            if name is not None:
                return name
        read, before = self._facts
        if read() != before:
            return "a method of an environment"
        if not all(torch.equal(tensor, before) for tensor, before in self._values):
            return "the values of a transform"
        return None


class _Attributes:
    """The attributes of one object."""

    def __init__(self, of: Any) -> None:
        self._kind = type(of).__name__
        self._is_of_policy = not isinstance(of, EnvBase | Transform)
        self._of = type(of)
        self._now: dict[str, Any] = vars(of)
        self._notes: set[str] = set()  # plain attributes that were added later and that the class lacks
        self._remember()

    def _remember(self) -> None:
        self._values = list(self._now.values())
        self._names = list(self._now)
        self._collections = [
            (name, value, _items(value))
            for name, value in self._now.items()
            if isinstance(value, _COLLECTIONS) and self._matters(name, value)
        ]

    def _matters(self, name: str, value: Any) -> bool:
        return name not in CACHES and (self._is_of_policy or isinstance(value, list) or name in _DICTS_OF_ENVIRONMENTS)

    def change(self) -> str | None:
        if not _same([*self._now.values()], self._values):
            name = self._other_value()
            if name is not None:
                return f"{self._kind}.{name}"
            self._remember()
        for name, collection, items in self._collections:
            if not _same(_items(collection), items):
                return f"{self._kind}.{name}"
        return None

    def _other_value(self) -> str | None:
        before = dict(zip(self._names, self._values, strict=True))
        for name in (before.keys() | self._now.keys()) - CACHES:
            value = self._now.get(name)
            if name not in before and type(value) in _PLAIN and not hasattr(self._of, name):
                self._notes.add(name)
            if name in self._notes:
                continue
            if name not in before or name not in self._now or not _same([value], [before[name]]):
                return name
        return None


def _items(collection: Any) -> list[Any]:
    return [*collection.values()] if isinstance(collection, dict) else [*collection]


def _same(now: list[Any], before: list[Any]) -> bool:
    """Return whether the objects in both lists are identical or equal, in order."""
    try:
        return now == before
    except Exception:  # noqa: BLE001  (comparing tensors or other objects may raise any error)
        return False


def chain(env: EnvBase) -> Iterator[Any]:
    """Yield an environment, its transforms, and all environments inside it, with their transforms.

    Environments inside other classes than ``TransformedEnv`` and ``SerialEnv`` are left out.
    """
    while type(env) is TransformedEnv:
        yield env
        yield from _transforms(env.transform)
        env = env.base_env
    yield env
    if type(env) is SerialEnv:
        for one in environments_of(env):
            yield from chain(one)


def containers(env: EnvBase) -> Iterator[Any]:
    """Yield the objects that contain transforms.

    The environment below all transforms, and transforms without inner transforms, are left out.

    A loop that calls the environment's ``step`` needs only these objects, because ``step`` reads the settings itself.
    """
    while type(env) is TransformedEnv:
        yield env
        yield from (one for one in _transforms(env.transform) if not isinstance(one, Transform) or _holds(one))
        env = env.base_env


def _holds(transform: Transform) -> bool:
    return isinstance(getattr(transform, "transforms", None), nn.ModuleList)


def _transforms(transform: Transform) -> Iterator[Any]:
    yield transform
    if _holds(transform):
        yield transform.transforms
        for one in transform.transforms:
            yield from _transforms(one)


def require_own_methods(objects: Iterable[Any]) -> None:
    """Raise FastLoopUnsupported if a method was replaced on one of the objects.

    The fast loop would not call the replacement. Replacements by torch, tensordict and TorchRL are allowed.
    """
    for one in objects:
        for name, value in vars(one).items():
            assigned = callable(value) and callable(getattr(type(one), name, None))
            # Depending on the version of Gymnasium, TorchRL itself replaces some methods.
            own = str(getattr(value, "__module__", "")).partition(".")[0] in _LIBRARIES
            require(own or not assigned, f"{type(one).__name__}.{name} was replaced")
