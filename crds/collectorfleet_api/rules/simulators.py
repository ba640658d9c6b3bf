"""Finds keyword arguments that a simulator's addresses would overwrite.

There is no CEL for this rule, because CEL cannot read the keys of ``kwargs``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.v1alpha1.environment import Environment
from collectorfleet_api.v1alpha1.fleet import CollectorFleet
from collectorfleet_api.v1alpha1.groups import GroupEnvironment
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

_ARGUMENT: Final = "process"


def simulator_kwargs_problems(fleet: CollectorFleet) -> Iterator[Problem]:
    """Yield a problem for each environment that has a simulator and sets the argument for the addresses.

    The simulator's addresses would overwrite the argument. If the fleet's environment has the problem, environments
    that inherit the argument are not reported.
    """
    spec = fleet.spec
    training = _is_overwritten(spec.environment)
    if training:
        yield _problem("environment")
    for path, own, whole in _others(spec):
        sets_it = own is not None and _ARGUMENT in own.kwargs
        if _is_overwritten(whole) and (sets_it or not training):
            yield _problem(path)


def _others(
    spec: CollectorFleetSpec,
) -> Iterator[tuple[str, GroupEnvironment | None, Environment | GroupEnvironment | None]]:
    """Yield the path of each group's environment and of the evaluators' environment.

    Each path comes with the environment's own fields, and with the environment including inherited fields.
    """
    for index, group in enumerate(spec.collectors.groups):
        yield f"collectors.groups[{index}].environment", group.environment, spec.of_group(group.name).environment
    own = spec.evaluation.environment if spec.evaluation else None
    yield "evaluation.environment", own, _of_evaluators(spec)


def _is_overwritten(environment: Environment | GroupEnvironment | None) -> bool:
    return environment is not None and environment.process is not None and _ARGUMENT in environment.kwargs


def _problem(path: str) -> Problem:
    return Problem(
        f"spec.{path}.kwargs.{_ARGUMENT}",
        "the factory gets the addresses of the simulator in this argument; leave your argument out, or rename it",
    )


def _of_evaluators(spec: CollectorFleetSpec) -> GroupEnvironment | None:
    own, training = spec.evaluation.environment if spec.evaluation else None, spec.environment
    if own is None or training is None or own.factory is not None:
        return own
    said = {"kwargs": {**training.kwargs, **own.kwargs}, "process": own.process or training.process}
    return own.model_copy(update=said)
