"""What the driver itself runs of the user's code. Needs no Ray, so that it is ready, or its error known, first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from collectorfleet.errors import UserCodeError
from collectorfleet.user_code import load
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Factory


@dataclass(frozen=True)
class TrainingFunction:
    """An imported training function, with its keyword arguments and its import path for messages."""

    path: str
    function: Callable[..., Any]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class OwnCode:
    """The policy, built, and the training function, imported; a fleet that only collects has none.

    ``built`` are further arguments of FleetCollector that the user's factories built, by their names there.
    """

    policy: Any
    train: TrainingFunction | None
    built: dict[str, Any] = field(default_factory=dict)


def load_own_code(spec: CollectorFleetSpec) -> OwnCode:
    """Import the training function; import and call the factories of what lives in the driver. Raises UserCodeError."""
    train = spec.driver.train
    function = TrainingFunction(train.function, load(train.function), train.kwargs) if train else None
    return OwnCode(build("policy", spec.policy), function, dict(_built(spec)))


def _built(spec: CollectorFleetSpec) -> Iterator[tuple[str, Any]]:
    factories = {
        "postproc": spec.collection.postproc,
        "failure_policy": spec.collectors.failure_policy,
        "scaling_policy": spec.collectors.scaling_policy,
    }
    for name, factory in factories.items():
        if factory:
            yield name, build(name, factory)
    if spec.weights.models:
        yield "models", {model.path: build(f"model {model.path}", model) for model in spec.weights.models}


def build(what: str, factory: Factory) -> Any:
    """Import and call a factory of the manifest, here. Raises UserCodeError, which names ``what`` and the path."""
    function = load(factory.factory)
    try:
        return function(**factory.kwargs)
    except (Exception, SystemExit) as error:
        raise UserCodeError.of(f"{what} {factory.factory}", error) from error
