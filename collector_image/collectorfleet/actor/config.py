"""The configuration of a collector, which the driver sends to the collector's process."""

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
    """When the fast loop steps the environments: always, never, or only if its frames are exact (``AUTO``)."""

    AUTO = "auto"
    FAST = "fast"
    TORCHRL = "torchrl"


@dataclass(frozen=True)
class CollectorConfig:
    """The configuration of one collector. It is sent pickled.

    Without a policy and a policy factory, actions are uniformly random.

    Args:
        create_env: an environment, or a factory that builds an environment.
        workers: the number of environments in separate processes, for ``Multi*Collector``.
        options: further arguments of ``collector_class``.
        models: modules whose weights are published besides ``policy``, as attribute paths in the collector.
        uses_policy_service: an inference service runs the policy for all collectors, and reports the weights version of
            each action.
        replay_buffer: the client of a replay buffer. The collector writes its frames to this buffer.
        cut_short: whether the driver may end rollouts early.
        rollout: the loop that steps the environments. Collectors of several processes always use TorchRL's loop.
        compact_observations: send an observation that occurs twice in a rollout only once.
        own_constants: use normalization constants of this collector's environment instead of the fleet's constants.
        parameters: how the environments take parameters. None: they take no parameters.
        plays_episodes: the collector is an evaluator. Each request is one episode, or one episode of each environment
            of a batch. The episode begins with the request's seed.
        simulator: a process that starts before the environment is built. The environment factory gets its addresses.
        pixel_key: the entry of the observations that an evaluator records. None: it records the result of ``render()``.
        render_seconds: the time in seconds that an evaluator may render in one rollout before it stops recording.
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
    uses_policy_service: bool = False
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
        """Whether the collector runs its environments in separate processes."""
        return issubclass(self.collector_class, MultiCollector)

    @property
    def mixes_versions(self) -> bool:
        """Whether each frame must carry its weights version, because the rollout alone cannot show the version.

        This is the case for trajectories that span rollouts, and for processes that never pause.
        """
        return self.has_processes_that_never_pause or self.options.get("trajs_per_batch") is not None

    @property
    def has_processes_that_never_pause(self) -> bool:
        return issubclass(self.collector_class, MultiAsyncCollector)
