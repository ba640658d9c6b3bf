"""How one environment takes parameters: by a method, by attributes, or by the options of its reset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from torchrl.envs import EnvBase

from collectorfleet.parameters import Through

_METHOD: Final = "set_parameters"
_WAYS: Final = (
    "give it a method set_parameters(**parameters) or attributes of these names, or read reset(options=...) and use "
    "through='reset_options'"
)

# Gives an environment its parameters.
Take = Callable[[Mapping[str, Any]], None]


class ParametersRefused(TypeError):
    """An environment has no way to take parameters."""


def find_taker(env: EnvBase, through: Through, names: Iterable[str]) -> Take:
    """Return what gives ``env`` the parameters of these ``names``.

    Raises:
        ParametersRefused: the environment has no such method, or no such attributes.
    """
    layers = list(_layers(env))
    if through in (Through.AUTO, Through.SET_PARAMETERS):
        owner = next((one for one in layers if _has(one, _METHOD)), None)
        if owner is not None:
            return lambda values: owner.set_parameters(**values)
        if through is Through.SET_PARAMETERS:
            raise ParametersRefused(f"environment {name_of(env)} has no method set_parameters; {_WAYS}")
    # TorchRL's wrapper has attributes of its own, which nobody means.
    own = layers[1:] or layers
    missing = [name for name in names if _owner(own, name) is None]
    if missing:
        no_method = "no method set_parameters and " if through is Through.AUTO else ""
        raise ParametersRefused(f"environment {name_of(env)} has {no_method}no attribute {', '.join(missing)}; {_WAYS}")
    return lambda values: _assign(own, values)


def name_of(env: EnvBase) -> str:
    """Return how messages call an environment: by the class of what TorchRL wraps, if it wraps something."""
    return type(list(_layers(env))[-1]).__qualname__


def _layers(env: EnvBase) -> Iterator[Any]:
    """TorchRL's environment and all that it wraps, the outermost first."""
    yield env
    inner = vars(env).get("_env")
    while inner is not None:
        yield inner
        # Wrappers of Gymnasium have it, and those of other libraries.
        inner = getattr(inner, "__dict__", {}).get("env")


def _has(layer: Any, name: str) -> bool:
    """Whether this layer itself has the attribute, whatever an inner one has."""
    if name in getattr(layer, "__dict__", {}) or any(name in vars(kind) for kind in type(layer).__mro__):
        return True
    kept = ("_buffers", "_parameters", "_modules") if isinstance(layer, EnvBase) else ()
    return any(name in vars(layer).get(one, ()) for one in kept)


def _owner(layers: Sequence[Any], path: str) -> Any:
    """Return the object that has the last attribute of ``path``; None if there is none."""
    first, *rest = path.split(".")
    for layer in layers:
        if not _has(layer, first):
            continue
        found, last = layer, first
        for name in rest:
            found, last = getattr(found, last, None), name
        return found if hasattr(found, last) else None
    return None


def _assign(layers: Sequence[Any], values: Mapping[str, Any]) -> None:
    for path, value in values.items():
        setattr(_owner(layers, path), path.rpartition(".")[2], value)
