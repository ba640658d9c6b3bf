"""Set the parameters of one environment by a method or by attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from torchrl.envs import EnvBase

from collectorfleet.parameters import Through
from collectorfleet.torchrl_private.environments import wrapped_by

_METHOD: Final = "set_parameters"
_WAYS: Final = (
    "add a method set_parameters(**parameters), add an attribute for each parameter, or read reset(options=...) and "
    "use through='reset_options'"
)
# Gymnasium and its wrappers use these attributes, so they cannot be parameters.
_GYMNASIUMS: Final = frozenset(
    {"observation_space", "action_space", "spec", "metadata", "render_mode", "np_random", "np_random_seed", "env"}
)


class ParametersRefused(TypeError):
    """An environment rejects parameters, or no longer has the values that were set."""


def _nothing(_: Mapping[str, Any]) -> None:
    pass


@dataclass(frozen=True)
class ParameterSetter:
    """Two functions: ``take`` sets the parameters of an environment, and ``check`` checks that they are still set.

    ``check`` raises ParametersRefused if the environment has other values than the values that were set.
    """

    take: Callable[[Mapping[str, Any]], None]
    check: Callable[[Mapping[str, Any]], None] = _nothing


def find_setter(env: EnvBase, through: Through, names: Iterable[str]) -> ParameterSetter:
    """Return the functions that set the parameters ``names`` in ``env``.

    Raises:
        ParametersRefused: the environment lacks the method or the attributes that ``through`` requires.
    """
    layers = list(_layers(env))
    if through in (Through.AUTO, Through.SET_PARAMETERS):
        owner = next((one for one in layers if _has(one, _METHOD)), None)
        if owner is not None:
            return ParameterSetter(lambda values: owner.set_parameters(**values))
        if through is Through.SET_PARAMETERS:
            raise ParametersRefused(f"environment {name_of(env)} has no method set_parameters; {_WAYS}")
    # Attributes of TorchRL's wrapper are skipped, because they are no parameters of the environment.
    attributes = _Attributes(name_of(env), layers[1:] or layers)
    attributes.require(names, "no method set_parameters and " if through is Through.AUTO else "")
    return ParameterSetter(attributes.assign, attributes.check)


def name_of(env: EnvBase) -> str:
    """Return the name that messages use for an environment: the class of the innermost environment."""
    return type(list(_layers(env))[-1]).__qualname__


def innermost(env: EnvBase) -> Any:
    """Return the environment below all wrappers."""
    return list(_layers(env))[-1]


class _Attributes:
    """Sets and checks attributes of one environment. Each attribute is given by its path, such as ``wind.speed``."""

    def __init__(self, name: str, layers: Sequence[Any]) -> None:
        self._name = name
        self._layers = layers

    def require(self, paths: Iterable[str], no_method: str) -> None:
        missing = []
        for path in paths:
            first, *rest = path.split(".")
            layers = [layer for layer in self._layers if _has(layer, first)]
            if len(layers) > 1:
                owners = " and ".join(type(layer).__qualname__ for layer in layers)
                raise ParametersRefused(f"environment {self._name}: {owners} both have an attribute {first}; {_WAYS}")
            owner = self._owner(path)
            if owner is None:
                missing.append(path)
            elif callable(getattr(owner, path.rpartition(".")[2])) or (not rest and first in _GYMNASIUMS):
                raise ParametersRefused(f"environment {self._name}: {path} cannot be set as a parameter; {_WAYS}")
        if missing:
            raise ParametersRefused(
                f"environment {self._name} has {no_method}no attribute {', '.join(missing)}; {_WAYS}"
            )

    def assign(self, values: Mapping[str, Any]) -> None:
        for path, value in values.items():
            setattr(self._owner(path), path.rpartition(".")[2], value)
        self.check(values)

    def check(self, values: Mapping[str, Any]) -> None:
        for path, value in values.items():
            owner, last = self._owner(path), path.rpartition(".")[2]
            found: Any = getattr(owner, last, None)
            if not np.array_equal(found, value):
                raise ParametersRefused(
                    f"environment {self._name}: {path} was set to {value!r}, but is now {found!r:.100}, because the "
                    "environment's code also assigns this attribute; give the environment a method "
                    "set_parameters(**parameters)"
                )

    def _owner(self, path: str) -> Any:
        """Return the object that has the last attribute of ``path``. Return None if no object has this attribute."""
        first, *rest = path.split(".")
        for layer in self._layers:
            if _has(layer, first):
                found, last = layer, first
                for name in rest:
                    found, last = getattr(found, last, None), name
                return found if hasattr(found, last) else None
        return None


def _layers(env: EnvBase) -> Iterator[Any]:
    """Yield TorchRL's environment and all environments inside it, the outermost first."""
    yield env
    inner = wrapped_by(env)
    while inner is not None:
        yield inner
        # Wrappers of Gymnasium and of other libraries keep the inner environment in this attribute.
        inner = getattr(inner, "__dict__", {}).get("env")


def _has(layer: Any, name: str) -> bool:
    """Return whether ``layer`` itself has the attribute. Attributes of environments inside ``layer`` do not count."""
    if name in getattr(layer, "__dict__", {}) or any(name in vars(kind) for kind in type(layer).__mro__):
        return True
    kept = ("_buffers", "_parameters", "_modules") if isinstance(layer, EnvBase) else ()
    return any(name in vars(layer).get(one, ()) for one in kept)
