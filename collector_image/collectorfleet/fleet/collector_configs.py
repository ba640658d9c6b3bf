"""Make each collector's configuration from the options for all collectors and the collector's own options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from torchrl.envs import EnvBase, EnvCreator, SerialEnv

from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.factories import EnvironmentFactory
from collectorfleet.actor.simulator.options import Simulator, SimulatorProcess
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.per_collector import DEVICES, PerCollector, lengths
from collectorfleet.user_code import name_of

# Ray's default for tasks reserves one CPU.
_DEFAULT_REMOTE: Final = {"num_cpus": 1}
# RayCollector's default.
_DEFAULT_GPU_FRACTION: Final = 0.2


class CollectorConfigs:
    """The configurations of a fleet's collectors, by the collector's index.

    An instance keeps no reference to the options, because the state in the option ``resume_from`` may be large.
    """

    def __init__(self, options: FleetOptions) -> None:
        environments = PerCollector([_creator(one, options) for one in options.of_each("create_env_fn").values])
        different = max(*lengths(options).values(), len(options.groups or ()), 1)
        remotes = options.remote_configs or [_default_remote(options, index) for index in range(different)]
        self._remotes = PerCollector.of(remotes)
        self._configs = PerCollector(
            [_config(options, index, environments[index], self._remotes[index]) for index in range(different)]
        )

    def config(self, index: int, frames_per_request: int, replay_client: Any = None) -> CollectorConfig:
        """Return the configuration of the collector ``c<index>``, without the policy.

        The transport sends the policy separately, and only once for all collectors.
        """
        config: Callable[..., CollectorConfig] = self._configs[index]
        return config(frames_per_request=frames_per_request, replay_buffer=replay_client)

    def remote_options(self, index: int) -> Mapping[str, Any]:
        """Return the options of the Ray actor for the collector ``c<index>``."""
        options: Mapping[str, Any] = self._remotes[index]
        return options


def _default_remote(options: FleetOptions, index: int) -> dict[str, Any]:
    """Return the options of a Ray actor for a fleet without ``remote_configs``."""
    given = options.keywords(index)
    on_a_gpu = any(str(given.get(name)).startswith("cuda") for name in DEVICES)
    return _DEFAULT_REMOTE | ({"num_gpus": _DEFAULT_GPU_FRACTION} if on_a_gpu and options.uses_ray else {})


def _config(
    options: FleetOptions, index: int, create_env: Any, remote: Mapping[str, Any]
) -> Callable[..., CollectorConfig]:
    """Return a function that makes the configuration of one collector.

    The function has the parameters ``frames_per_request`` and ``replay_buffer``.
    """
    return partial(
        CollectorConfig,
        create_env=create_env,
        policy=None,
        policy_factory=options.of_each("policy_factory")[index],
        create_env_kwargs=dict(options.of_each("create_env_kwargs")[index] or {}),
        collector_class=options.collector_type,
        workers=options.num_workers_per_collector,
        options=options.keywords(index),
        models=list(options.models or {}),
        update_between_steps=options.update_between_steps,
        cut_short=options.preemptive_threshold is not None,
        own_constants=constants_differ(options),
        rollout=RolloutLoop(options.rollout),
        compact_observations=options.compact_observations,
        parameters=options.environment_parameters,
        threads=options.of_each("threads_per_collector")[index],
        gpu_fraction=float(remote.get("num_gpus") or 0.0),
        simulator=_simulator(options, index),
    )


def simulator_of(process: SimulatorProcess, options: FleetOptions) -> Simulator:
    """Return the simulator with the driver's deadlines."""
    first, later = options.first_request_timeout.total_seconds(), options.request_timeout.total_seconds()
    return Simulator(process, build_seconds=first, first_request_seconds=first, request_seconds=later)


def _simulator(options: FleetOptions, index: int) -> Simulator | None:
    process = options.of_each("process")[index]
    return None if process is None else simulator_of(process, options)


def constants_differ(options: FleetOptions) -> bool:
    """Return whether the collectors may have environments of several kinds."""
    created, arguments = options.of_each("create_env_fn").values, options.of_each("create_env_kwargs").values
    return len(arguments) > 1 or any(one is not created[0] for one in created)


def _creator(create: Any, options: FleetOptions) -> Any:
    if isinstance(create, EnvBase):
        return create
    if options.use_env_creator and not isinstance(create, EnvCreator):
        create = EnvCreator(EnvironmentFactory(create))
    return BatchedEnvironmentFactory(create, options.envs_per_collector) if options.envs_per_collector > 1 else create


class BatchedEnvironmentFactory:
    """A factory for a batch of environments that step together. The factory ``create_env`` builds each environment."""

    def __init__(self, create_env: Callable[..., Any], envs: int) -> None:
        self.__wrapped__ = create_env  # inspect.signature() reads the parameters from here
        self._envs = envs
        self.__qualname__ = name_of(create_env)

    def __call__(self, **kwargs: Any) -> Any:
        return SerialEnv(self._envs, EnvironmentFactory(self.__wrapped__), create_env_kwargs=kwargs or None)
