"""Finds keyword arguments that a simulator's addresses would overwrite.

There is no CEL for this rule, because CEL cannot read the keys of ``kwargs``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.v1alpha1.fleet import CollectorFleet
from collectorfleet_api.v1alpha1.groups import GroupEnvironment
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

_ARGUMENT: Final = "process"


def simulator_kwargs_problems(fleet: CollectorFleet) -> Iterator[Problem]:
    """Yield a problem for the first environment that has a simulator and sets the argument for the addresses.

    The simulator's addresses would overwrite the argument.
    """
    spec = fleet.spec
    names = spec.group_names if spec.collectors.groups else ()
    groups = {f"collectors.groups[{index}].environment": spec.of_group(name) for index, name in enumerate(names)}
    collectors = {path: one.environment for path, one in {"environment": spec, **groups}.items()}
    for path, environment in {**collectors, "evaluation.environment": _of_evaluators(spec)}.items():
        if environment is not None and environment.process is not None and _ARGUMENT in environment.kwargs:
            yield Problem(
                f"spec.{path}.kwargs.{_ARGUMENT}",
                "the factory gets the addresses of the simulator in this argument; leave it out, or rename it",
            )
            return


def _of_evaluators(spec: CollectorFleetSpec) -> GroupEnvironment | None:
    own, training = spec.evaluation.environment if spec.evaluation else None, spec.environment
    if own is None or training is None or own.factory is not None:
        return own
    said = {"kwargs": {**training.kwargs, **own.kwargs}, "process": own.process or training.process}
    return own.model_copy(update=said)
