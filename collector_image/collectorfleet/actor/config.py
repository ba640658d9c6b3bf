"""What a collector is made of: how the driver tells it to the collector's process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any

from torchrl.collectors import BaseCollector, Collector, MultiAsyncCollector, MultiCollector

from collectorfleet.actor.simulator.options import Simulator
from collectorfleet.parameters import EnvironmentParameters


class RolloutLoop(StrEnum):
    """Whose loop steps the environments: of our own where it is exact, always or never."""

    AUTO = "auto"
    FAST = "fast"
    TORCHRL = "torchrl"


@dataclass(frozen=True)
class CollectorConfig:
    """What one collector is made of; travels pickled. Without policy and factory, actions are uniformly random.

    Args:
        create_env: builds an environment, or is one.
        workers: environments in processes of their own; for ``Multi*Collector``.
        options: further arguments of ``collector_class``.
        models: attribute paths in the collector, besides ``policy``, of modules whose weights are published.
        served: the policy answers for all collectors elsewhere, and says itself with which version.
        replay_buffer: a client of a replay buffer that the collector writes to itself.
        cut_short: whether rollouts may be cut short.
        rollout: whose loop steps; collectors of several processes have TorchRL's.
        compact_observations: what is said twice in a rollout travels once.
        own_constants: constants of normalization are those of this collector's own environment, and not the fleet's.
        parameters: how its environments take parameters; None: they take none.
        plays_episodes: it is an evaluator: each request is one episode, or one of each environment of a batch, that
            begins with the request's seed.
        simulator: a process that is started before the environment is built, and whose addresses the factory gets.
        pixel_key: the entry of its observations that an evaluator records. None: what ``render()`` returns.
        render_seconds: how long an evaluator may render in one rollout until it records no further.
    """

    create_env: Any
    policy: Any
    frames_per_request: int
    policy_factory: Callable[[], Any] | None = None
    create_env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    collector_class: type[BaseCollector] = Collector
    workers: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    models: Sequence[str] = ()
    served: bool = False
    replay_buffer: Any = None
    update_between_steps: bool = False
    cut_short: bool = False
    own_constants: bool = False
    rollout: RolloutLoop = RolloutLoop.AUTO
    compact_observations: bool = False
    threads: int = 1
    gpu_fraction: float = 0.0
    parameters: EnvironmentParameters | None = None
    plays_episodes: bool = False
    simulator: Simulator | None = None
    pixel_key: str | None = None
    render_seconds: float = inf

    @property
    def has_processes(self) -> bool:
        """Whether the collector runs its environments in processes of its own."""
        return issubclass(self.collector_class, MultiCollector)

    @property
    def mixes_versions(self) -> bool:
        """Whether a rollout may have frames of several versions that it cannot tell apart afterwards.

        Trajectories that span rollouts, and processes that never pause, do: the frames then say it themselves.
        """
        return self.has_processes_that_never_pause or self.options.get("trajs_per_batch") is not None

    @property
    def has_processes_that_never_pause(self) -> bool:
        return issubclass(self.collector_class, MultiAsyncCollector)
