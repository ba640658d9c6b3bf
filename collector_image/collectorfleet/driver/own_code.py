"""What the driver itself runs of the user's code. Needs no Ray, so that it is ready, or its error known, first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from collectorfleet.errors import UserCodeError
from collectorfleet.user_code import load
from collectorfleet_api.v1alpha1 import CollectorFleetSpec


@dataclass(frozen=True)
class TrainingFunction:
    """An imported training function, with its keyword arguments and its import path for messages."""

    path: str
    function: Callable[..., Any]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class OwnCode:
    """The policy, built, and the training function, imported; a fleet that only collects has none."""

    policy: Any
    train: TrainingFunction | None


def load_own_code(spec: CollectorFleetSpec) -> OwnCode:
    """Import the training function, import and call the policy's factory. Raises UserCodeError."""
    train = spec.driver.train
    function = TrainingFunction(train.function, load(train.function), train.kwargs) if train else None
    factory = load(spec.policy.factory)
    try:
        policy = factory(**spec.policy.kwargs)
    except (Exception, SystemExit) as error:
        raise UserCodeError.of(f"policy {spec.policy.factory}", error) from error
    return OwnCode(policy, function)
