"""Fleets of reinforcement-learning data collectors: what runs in the pods and on a laptop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from collectorfleet.errors import (
    CollectorClosed,
    CollectorFleetError,
    InfrastructureError,
    InvalidOption,
    TooFewCollectors,
    UserCodeError,
)
from collectorfleet.user_code import Factory

if TYPE_CHECKING:
    from collectorfleet.env_pool import EnvPool
    from collectorfleet.evaluation.options import Evaluation
    from collectorfleet.evaluation.result import EvaluationResult
    from collectorfleet.fleet.collector import FleetCollector
    from collectorfleet.fleet.distributed import DistributedCollector, DistributedSyncCollector, RPCCollector
    from collectorfleet.learners.feed import LearnerFeed
    from collectorfleet.learners.shards import LearnerShards
    from collectorfleet.run.current import current_run
    from collectorfleet.transport.distributed.hosts import CollectorHosts

__all__ = [
    "CollectorClosed",
    "CollectorFleetError",
    "CollectorHosts",
    "DistributedCollector",
    "DistributedSyncCollector",
    "EnvPool",
    "Evaluation",
    "EvaluationResult",
    "Factory",
    "FleetCollector",
    "InfrastructureError",
    "InvalidOption",
    "LearnerFeed",
    "LearnerShards",
    "RPCCollector",
    "TooFewCollectors",
    "UserCodeError",
    "current_run",
]


def __getattr__(name: str) -> Any:
    # These need torch or Gymnasium, which take seconds to import: the command line does without it where it can.
    if name in ("DistributedCollector", "DistributedSyncCollector", "RPCCollector"):
        from collectorfleet.fleet import distributed

        return getattr(distributed, name)
    if name == "CollectorHosts":
        from collectorfleet.transport.distributed.hosts import CollectorHosts

        return CollectorHosts
    if name == "EnvPool":
        from collectorfleet.env_pool import EnvPool

        return EnvPool
    if name == "Evaluation":
        from collectorfleet.evaluation.options import Evaluation

        return Evaluation
    if name == "EvaluationResult":
        from collectorfleet.evaluation.result import EvaluationResult

        return EvaluationResult
    if name == "FleetCollector":
        from collectorfleet.fleet.collector import FleetCollector

        return FleetCollector
    if name == "LearnerFeed":
        from collectorfleet.learners.feed import LearnerFeed

        return LearnerFeed
    if name == "LearnerShards":
        from collectorfleet.learners.shards import LearnerShards

        return LearnerShards
    if name == "current_run":
        from collectorfleet.run.current import current_run

        return current_run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
