"""Fleets of reinforcement-learning data collectors: the code that runs in pods and on a laptop."""

from __future__ import annotations

# typing is not imported, because the command line imports this module before it handles Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from collectorfleet.actor.simulator.options import SimulatorProcess
    from collectorfleet.env_pool import EnvPool
    from collectorfleet.errors import (
        CollectorClosed,
        CollectorFleetError,
        InfrastructureError,
        InvalidOption,
        TooFewCollectors,
        UserCodeError,
    )
    from collectorfleet.evaluation.options import Evaluation, Video
    from collectorfleet.evaluation.result import EpisodeVideo, EvaluationResult
    from collectorfleet.fleet.collector import FleetCollector
    from collectorfleet.fleet.distributed import DistributedCollector, DistributedSyncCollector, RPCCollector
    from collectorfleet.learners.feed import LearnerFeed
    from collectorfleet.learners.shards import LearnerShards
    from collectorfleet.parameters import EnvironmentParameters
    from collectorfleet.run.current import current_run
    from collectorfleet.transport.distributed.remote_hosts import CollectorHosts
    from collectorfleet.user_code import Factory

__all__ = [
    "CollectorClosed",
    "CollectorFleetError",
    "CollectorHosts",
    "DistributedCollector",
    "DistributedSyncCollector",
    "EnvPool",
    "EnvironmentParameters",
    "EpisodeVideo",
    "Evaluation",
    "EvaluationResult",
    "Factory",
    "FleetCollector",
    "InfrastructureError",
    "InvalidOption",
    "LearnerFeed",
    "LearnerShards",
    "RPCCollector",
    "SimulatorProcess",
    "TooFewCollectors",
    "UserCodeError",
    "Video",
    "current_run",
]

_MODULES: Final = {
    "CollectorClosed": "errors",
    "CollectorFleetError": "errors",
    "CollectorHosts": "transport.distributed.remote_hosts",
    "DistributedCollector": "fleet.distributed",
    "DistributedSyncCollector": "fleet.distributed",
    "EnvPool": "env_pool",
    "EnvironmentParameters": "parameters",
    "EpisodeVideo": "evaluation.result",
    "Evaluation": "evaluation.options",
    "EvaluationResult": "evaluation.result",
    "Factory": "user_code",
    "FleetCollector": "fleet.collector",
    "InfrastructureError": "errors",
    "InvalidOption": "errors",
    "LearnerFeed": "learners.feed",
    "LearnerShards": "learners.shards",
    "RPCCollector": "fleet.distributed",
    "SimulatorProcess": "actor.simulator.options",
    "TooFewCollectors": "errors",
    "UserCodeError": "errors",
    "Video": "evaluation.options",
    "current_run": "run.current",
}


def __getattr__(name: str) -> Any:
    # Some names need torch or Gymnasium, which take seconds to import. The command line imports only the names it uses.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
