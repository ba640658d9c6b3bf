"""The configuration of a collector. The driver sends it to the collector's process."""

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
    """The loop that steps the environments.

    ``AUTO`` selects the fast loop if its frames equal the frames of TorchRL's loop. Otherwise it selects TorchRL's
    loop.
    """

    AUTO = "auto"
    FAST = "fast"
    TORCHRL = "torchrl"


@dataclass(frozen=True)
class CollectorConfig:
    """The configuration of one collector. The driver sends the configuration pickled.

    If there is neither a policy nor a policy factory, actions are uniformly random.

    Args:
        create_env: an environment, or a factory that builds an environment.
        policy: a module, a function of a TensorDict, or None.
        frames_per_request: the number of frames of a rollout, unless a request has another number.
        policy_factory: a function that builds the policy in the collector.
        create_env_kwargs: arguments of ``create_env``.
        collector_class: TorchRL's class of the collector.
        workers: the number of environments in separate processes, for ``Multi*Collector``.
        options: further arguments of ``collector_class``.
        models: modules whose weights the driver publishes in addition to the weights of ``policy``. Each module is
            given as an attribute path in the collector.
        uses_policy_service: whether an inference service runs the policy for all collectors. The service then reports
            the weights version of each action.
        replay_buffer: the client of the replay buffer that the collector writes its frames to. None: the collector
            sends its frames to the driver.
        update_between_steps: whether new weights are loaded between two steps of a rollout.
        cut_short: whether the driver may end rollouts early.
        rollout: the loop that steps the environments. Collectors of several processes always use TorchRL's loop.
        compact_observations: if an observation occurs twice in a rollout, the collector sends the observation only
            once.
        own_constants: whether the collector uses the normalization constants of its own environment. Otherwise the
            collector uses the fleet's constants.
        threads: the number of torch's threads.
        gpu_fraction: the share of the GPU's memory that torch may allocate in the process. 0, or 1 and more: no limit.
        parameters: how parameters are set in the environments. None: the environments have no parameters.
        plays_episodes: whether the collector is an evaluator. For each request, an evaluator runs one episode, or one
            episode in each environment of a batch. The episode begins with the request's seed.
        simulator: a process that starts before the environment is built. The environment factory gets the addresses of
            the simulator.
        pixel_key: the entry of the observations that an evaluator records. None: the evaluator records the result of
            ``render()``.
        render_seconds: the seconds that an evaluator may spend on rendering in one rollout. After this time, the
            evaluator stops recording.
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
        """Whether each frame needs an entry with its weights version, because a rollout may mix versions.

        This is the case if trajectories span rollouts, or if processes never pause.
        """
        return self.has_processes_that_never_pause or self.options.get("trajs_per_batch") is not None

    @property
    def has_processes_that_never_pause(self) -> bool:
        """Whether the processes of the collector begin the next rollout without waiting for the next request."""
        return issubclass(self.collector_class, MultiAsyncCollector)
