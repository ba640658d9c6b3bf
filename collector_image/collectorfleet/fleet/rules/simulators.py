"""Rules about collectors that start a simulator."""

from __future__ import annotations

from typing import Final

from torchrl.envs import EnvBase

from collectorfleet.actor.simulator.options import ADDRESSES
from collectorfleet.evaluation.options import Evaluation
from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.rule import Rule


def _has_simulator(options: FleetArguments) -> bool:
    return any(one is not None for one in options.of_each("process").values)


def _is_in_time(options: FleetArguments) -> bool:
    evaluators = options.evaluation.process if options.evaluation is not None else None
    given = [one for one in (*options.of_each("process").values, evaluators) if one is not None]
    return all(one.ready_timeout < options.first_request_timeout for one in given)


def _is_built(options: FleetArguments) -> bool:
    """Return whether the user passed a built environment, although the simulator must start before the environment."""
    created = options.of_each("create_env_fn")
    evaluators = _evaluators(options)
    return (_has_simulator(options) and any(isinstance(one, EnvBase) for one in created.values)) or (
        evaluators is not None
        and isinstance(created[0] if evaluators.create_env_fn is None else evaluators.create_env_fn, EnvBase)
    )


def _names_addresses(options: FleetArguments) -> bool:
    given = options.of_each("create_env_kwargs")
    asked = list(given.values) if _has_simulator(options) else []
    evaluators = _evaluators(options)
    if evaluators is not None:
        asked += [evaluators.create_env_kwargs, given[0] if evaluators.create_env_fn is None else None]
    return any(ADDRESSES in (one or {}) for one in asked)


def _evaluators(options: FleetArguments) -> Evaluation | None:
    """Return the evaluation if its evaluators start simulators, otherwise None."""
    evaluation = options.evaluation
    if evaluation is None:
        return None
    theirs = options.of_each("process")[0] if evaluation.create_env_fn is None else None
    return None if (evaluation.process or theirs) is None else evaluation


SIMULATORS: Final = (
    Rule(
        "simulator-has-one-environment",
        "envs_per_collector",
        lambda options: options.envs_per_collector == 1 or not _has_simulator(options),
        "several environments would share a collector's only simulator; set envs_per_collector to 1, and raise "
        "num_collectors",
    ),
    Rule(
        "simulator-has-class-single",
        "collector_class",
        lambda options: not options.has_processes or not _has_simulator(options),
        "this class builds several environments, but a collector has only one simulator; use 'single', and raise "
        "num_collectors",
    ),
    Rule(
        "simulator-is-ready-in-time",
        "first_request_timeout",
        _is_in_time,
        "a collector that waits for its simulator until ready_timeout would count as hung; use more than ready_timeout",
    ),
    Rule(
        "simulator-needs-a-function",
        "process",
        lambda options: not _is_built(options),
        "create_env_fn is already an environment, which cannot get the addresses of a simulator; pass a function that "
        "builds the environment",
    ),
    Rule(
        "simulator-or-env-creator",
        "use_env_creator",
        lambda options: not options.use_env_creator or not _has_simulator(options),
        "this option builds an environment in the driver, which has no simulator; leave use_env_creator or 'process' "
        "out",
    ),
    Rule(
        "simulator-addresses-are-the-fleets",
        "create_env_kwargs",
        lambda options: not _names_addresses(options),
        f"the factory gets the addresses of the simulator in the argument '{ADDRESSES}'; remove or rename your "
        "argument",
    ),
)
