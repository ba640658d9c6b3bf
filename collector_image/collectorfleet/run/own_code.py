"""What the driver itself runs of the user's code: before there is a Ray if it can, so that its errors come first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from collectorfleet.errors import UserCodeError
from collectorfleet.run.collector_options import ARGUMENTS, Built
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
    """The training function, imported; a fleet that only collects has none.

    ``built`` are the policy and further arguments of FleetCollector, by their names there.
    """

    train: TrainingFunction | None
    built: dict[str, Any]

    @property
    def modules(self) -> dict[str, Any]:
        """What may be trained, by the name that messages and checkpoints call it."""
        return {"policy": self.built["policy"]} | {
            f"model {path}": model for path, model in self.built.get("models", {}).items()
        }


def load_own_code(spec: CollectorFleetSpec) -> OwnCode:
    """Import the training function; import and call the factories of what lives in the driver. Raises UserCodeError."""
    train = spec.driver.train
    function = TrainingFunction(train.function, load(train.function), train.kwargs) if train else None
    return OwnCode(function, built_options(spec, on_ray=False))


def built_options(spec: CollectorFleetSpec, *, on_ray: bool) -> dict[str, Any]:
    """Arguments of FleetCollector that the user's factories build: those that need a Ray, or the others."""
    rows = {path: row for path, row in ARGUMENTS.items() if isinstance(row, Built) and row.needs_ray is on_ray}
    return {row.argument: _built(row.what, given) for path, row in rows.items() if (given := spec.at(path))}


def _built(what: str, given: Any) -> Any:
    if isinstance(given, list):
        return {one.path: build(f"{what} {one.path}", one) for one in given}
    return build(what, given)


def build(what: str, factory: Factory) -> Any:
    """Import and call a factory of the manifest, here. Raises UserCodeError, which names ``what`` and the path."""
    function = load(factory.factory)
    try:
        return function(**factory.kwargs)
    except (Exception, SystemExit) as error:
        raise UserCodeError.of(f"{what} {factory.factory}", error) from error
