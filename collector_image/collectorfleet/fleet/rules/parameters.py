"""Rules about parameters of environments, and about the curriculum that sets them."""

from __future__ import annotations

from typing import Final

from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.rule import Rule


def _takes_parameters(options: FleetArguments) -> bool:
    return options.environment_parameters is not None


PARAMETERS: Final = (
    Rule(
        "parameters-or-processes",
        "environment_parameters",
        lambda options: not _takes_parameters(options) or not options.has_processes,
        "a collector of several processes cannot set parameters of its environments; use collector_class 'single' "
        "with ParallelEnv, or use more collectors",
    ),
    Rule(
        "parameters-or-whole-trajectories",
        "environment_parameters",
        lambda options: not _takes_parameters(options) or options.keywords(0).get("trajs_per_batch") is None,
        "cannot be used with trajs_per_batch, because parameters could change within a trajectory; leave one of the "
        "two out",
    ),
    Rule(
        "parameters-need-trajectories",
        "environment_parameters",
        lambda options: not _takes_parameters(options) or options.keywords(0).get("track_traj_ids") is not False,
        "the parameters of a frame are found by its trajectory id; leave track_traj_ids=False out of collector_kwargs",
    ),
    Rule(
        "curriculum-needs-evaluation",
        "curriculum",
        lambda options: options.curriculum is None or options.evaluation is not None,
        "the curriculum is called after each evaluation, but the fleet has no evaluation; pass "
        "evaluation=Evaluation(...)",
    ),
    Rule(
        "curriculum-needs-parameters",
        "curriculum",
        lambda options: options.curriculum is None or _takes_parameters(options),
        "the curriculum sets parameters of the environments, but this fleet has no parameters; pass "
        "environment_parameters=EnvironmentParameters()",
    ),
)
