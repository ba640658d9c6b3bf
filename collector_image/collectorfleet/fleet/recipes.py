"""What each collector is made of, from the arguments for all and the ones for it alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchrl.collectors import BaseCollector, Collector, MultiAsyncCollector, MultiCollector, MultiSyncCollector
from torchrl.envs import EnvBase, EnvCreator, SerialEnv

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.per_collector import PerCollector, number_of_collectors
from collectorfleet.user_code import name_of

_CLASSES: dict[str, type[BaseCollector]] = {
    "single": Collector,
    "sync": MultiSyncCollector,
    "async": MultiAsyncCollector,
}
_FLEETS_OWN = {
    "frames_per_batch": "pass frames_per_batch to FleetCollector",
    "total_frames": "pass total_frames to FleetCollector",
    "init_random_frames": "pass init_random_frames to FleetCollector, which counts them over all collectors",
    "split_trajs": "pass split_trajs to FleetCollector, which knows the trajectories of all collectors",
    "replay_buffer": "pass replay_buffer to FleetCollector",
    "interruptor": "pass preemptive_threshold to FleetCollector",
    "weight_sync_schemes": "weights travel by update_policy_weights_() of FleetCollector",
    "weight_updater": "weights travel by update_policy_weights_() of FleetCollector",
}


# As Ray has it for tasks: one CPU and nothing else is reserved.
_DEFAULT_REMOTE = {"num_cpus": 1}


class Recipes:
    """The configuration of every collector of a fleet, by its index.

    Args:
        devices: arguments of TorchRL's collectors, one for all or a list.
        common: arguments of TorchRL's collectors for all; None is left to TorchRL.
        models: attribute paths of further modules whose weights are published.

    Raises:
        InvalidOption: lists of different lengths, arguments that are the fleet's, classes that do not fit.
    """

    def __init__(
        self,
        *,
        create_env_fn: Any,
        create_env_kwargs: Any,
        policy_factory: Any,
        collector_kwargs: Any,
        remote_configs: Any,
        devices: Mapping[str, Any],
        num_collectors: int | None,
        collector_class: str | type[BaseCollector],
        workers: int,
        envs_per_collector: int,
        use_env_creator: bool,
        common: Mapping[str, Any],
        models: Sequence[str],
        update_between_steps: bool,
        cut_short: bool,
        threads: int,
    ) -> None:
        of = PerCollector.of
        self._envs = of("create_env_fn", create_env_fn)
        self._env_kwargs = of("create_env_kwargs", create_env_kwargs)
        self._factories = of("policy_factory", policy_factory)
        self._kwargs = of("collector_kwargs", collector_kwargs)
        self._remotes = of("remote_configs", remote_configs or _DEFAULT_REMOTE)
        self._devices = {name: of(name, value) for name, value in devices.items()}
        self.collectors = number_of_collectors(
            num_collectors,
            [self._envs, self._env_kwargs, self._factories, self._kwargs, self._remotes, *self._devices.values()],
        )
        self.collector_class = _class_of(collector_class, workers)
        self._workers = workers
        self._common = {name: value for name, value in common.items() if value is not None}
        self._models = list(models)
        self._update_between_steps = update_between_steps
        self._cut_short = cut_short
        self._threads = threads
        for given in self._kwargs.values:
            _check_kwargs(given or {})
        creators = [_creator(one, envs_per_collector, use_env_creator) for one in self._envs.values]
        self._envs = PerCollector("create_env_fn", creators, self._envs.listed)
        # Every request of an asynchronous collector is answered by one of its processes.
        together = 1 if issubclass(self.collector_class, MultiAsyncCollector) else workers
        self.frames_of_a_step = envs_per_collector * together

    @property
    def has_processes(self) -> bool:
        """Whether a collector is more than one process, so that its shape is settled when it is built."""
        return issubclass(self.collector_class, MultiCollector)

    def config(self, index: int, frames_per_request: int, replay_client: Any = None) -> CollectorConfig:
        """Of the collector ``c<index>``, but for the policy, which is sent once for all."""
        remote = self._remotes[index]
        return CollectorConfig(
            create_env=self._envs[index],
            policy=None,
            frames_per_request=frames_per_request,
            policy_factory=self._factories[index],
            create_env_kwargs=dict(self._env_kwargs[index] or {}),
            collector_class=self.collector_class,
            workers=self._workers,
            options=self._options(index),
            models=self._models,
            replay_buffer=replay_client,
            update_between_steps=self._update_between_steps,
            cut_short=self._cut_short,
            threads=self._threads,
            gpu_fraction=float(remote.get("num_gpus") or 0.0),
        )

    def remote_options(self, index: int) -> Mapping[str, Any]:
        """Options of the Ray actor of the collector ``c<index>``."""
        options: Mapping[str, Any] = self._remotes[index]
        return options

    def _options(self, index: int) -> dict[str, Any]:
        """What is given for one collector alone wins over what is given for all."""
        devices = {name: row[index] for name, row in self._devices.items() if row[index] is not None}
        return {**self._common, **devices, **dict(self._kwargs[index] or {})}


def _class_of(given: str | type[BaseCollector], workers: int) -> type[BaseCollector]:
    found = _CLASSES.get(given) if isinstance(given, str) else given
    if not isinstance(found, type) or not issubclass(found, BaseCollector):
        raise InvalidOption(f"collector_class: {given!r}; use 'single', 'sync', 'async' or a class of TorchRL's")
    if workers < 1:
        raise InvalidOption(f"num_workers_per_collector: {workers} is fewer than 1")
    if workers > 1 and not issubclass(found, MultiCollector):
        raise InvalidOption(
            f"num_workers_per_collector: {workers} processes need collector_class 'sync' or 'async'; "
            f"{found.__name__} has one, use envs_per_collector for several environments in it"
        )
    return found


def _check_kwargs(given: Mapping[str, Any]) -> None:
    for key, instead in _FLEETS_OWN.items():
        if key in given:
            raise InvalidOption(f"collector_kwargs: {key} is the fleet's; {instead}")


def _creator(create: Any, environments: int, use_env_creator: bool) -> Any:
    if isinstance(create, EnvBase):
        if environments > 1:
            raise InvalidOption(
                f"envs_per_collector: {environments} environments need a function that builds them; "
                f"create_env_fn is a {type(create).__name__}"
            )
        return create
    if not callable(create):
        raise InvalidOption(f"create_env_fn: a {type(create).__name__} neither is nor builds an environment")
    if use_env_creator and not isinstance(create, EnvCreator):
        create = EnvCreator(create)
    return Together(create, environments) if environments > 1 else create


def refuse_schemes(**schemes: Any) -> None:
    """TorchRL's other ways for weights, which the fleet has its own for."""
    for name, value in schemes.items():
        if value is not None:
            raise InvalidOption(
                f"{name}: weights of a fleet are published with collector.update_policy_weights_() or "
                "update_after_each_batch=True, and acknowledged by every collector; drop this argument"
            )


class Together:
    """Several environments of one factory, stepped together."""

    def __init__(self, create_env: Callable[..., Any], envs: int) -> None:
        self._create_env = create_env
        self._envs = envs
        self.__qualname__ = name_of(create_env)

    def __call__(self, **kwargs: Any) -> Any:
        return SerialEnv(self._envs, self._create_env, create_env_kwargs=kwargs or None)
