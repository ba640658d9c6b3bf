"""All arguments of FleetCollector with their types and defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy as shallow_copy
from dataclasses import KW_ONLY, dataclass, fields
from datetime import timedelta
from typing import Annotated, Any, Final

import torch
from tensordict import TensorDictBase
from torch import nn
from torchrl.collectors import BaseCollector, Collector, MultiAsyncCollector, MultiCollector, MultiSyncCollector
from torchrl.envs.utils import ExplorationType

from collectorfleet.actor.simulator.options import SimulatorProcess
from collectorfleet.devices import Device
from collectorfleet.evaluation.options import Evaluation
from collectorfleet.fleet import per_collector
from collectorfleet.fleet.per_collector import PerCollector
from collectorfleet.option_ranges import Collectors, Count, CountOrNone, Finite, Positive, Range, Threads, Timeout
from collectorfleet.option_types import hints_of, plain
from collectorfleet.parameters import CurriculumFunction, EnvironmentParameters
from collectorfleet.recovery.failure import FailurePolicy
from collectorfleet.scaling import ScalingPolicy
from collectorfleet.transport.interface import TransportKind

_CLASSES: Final[dict[str, type[BaseCollector]]] = {
    "single": Collector,
    "sync": MultiSyncCollector,
    "async": MultiAsyncCollector,
}
# Arguments that are passed to TorchRL's collectors unchanged.
_PASSED_ON: Final = (
    *("reset_at_each_iter", "exploration_type", "trust_policy", "no_cuda_sync", "trajs_per_batch"),
    *("pre_collect_hook", "post_collect_hook"),
)


@dataclass(frozen=True, eq=False)
class FleetArguments:
    """The arguments of a FleetCollector, which :class:`~collectorfleet.fleet.options.FleetOptions` checks."""

    create_env_fn: Any
    policy: nn.Module | Callable[[TensorDictBase], TensorDictBase] | None = None
    _: KW_ONLY
    # RayCollector has the following arguments, too, with the same meaning and the same defaults.
    policy_factory: Callable[[], Any] | Sequence[Callable[[], Any]] | None = None
    trust_policy: bool | None = None
    frames_per_batch: Positive
    total_frames: CountOrNone = -1
    device: Device | Sequence[Device | None] | None = None
    storing_device: Device | Sequence[Device | None] | None = None
    env_device: Device | Sequence[Device | None] | None = None
    policy_device: Device | Sequence[Device | None] | None = None
    create_env_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    max_frames_per_traj: CountOrNone | None = -1
    init_random_frames: CountOrNone | None = -1
    reset_at_each_iter: bool = False
    postproc: Callable[[TensorDictBase], TensorDictBase] | None = None
    split_trajs: bool = False
    exploration_type: ExplorationType | None = ExplorationType.RANDOM
    collector_class: str | type[BaseCollector] = Collector
    collector_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    num_workers_per_collector: Annotated[int, Range(least=1, most=1000)] = 1
    sync: bool = False
    ray_init_config: Mapping[str, Any] | None = None
    remote_configs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    num_collectors: Collectors | None = None
    groups: Sequence[str] | None = None
    update_after_each_batch: bool = False
    max_weight_update_interval: CountOrNone = -1
    replay_buffer: Any = None
    weight_updater: Any = None
    weight_sync_schemes: Any = None
    weight_recv_schemes: Any = None
    use_env_creator: bool = False
    no_cuda_sync: bool | None = None
    trajs_per_batch: Positive | None = None
    pre_collect_hook: Callable[[], None] | None = None
    post_collect_hook: Callable[[TensorDictBase], None] | None = None
    # RayCollector lacks the following arguments.
    envs_per_collector: Positive = 1
    process: SimulatorProcess | Sequence[SimulatorProcess | None] | None = None
    shares: Positive | None = None
    max_staleness: Count | None = None
    exact_staleness: bool = False
    first_shares: Annotated[int, Range()] | None = None
    preemptive_threshold: Finite | None = None
    weights_dtype: torch.dtype | None = None
    weights_filter: Sequence[str] | Callable[[str], bool] | None = None
    models: Mapping[str, nn.Module] | None = None
    rollout: str = "auto"
    compact_observations: bool = False
    update_between_steps: bool = False
    copy: bool = True
    transport: str = TransportKind.OBJECT_STORE
    launcher: Any = None
    tensorpipe_options: Mapping[str, Any] | None = None
    visible_devices: Any = None
    threads_per_collector: Threads | Sequence[Threads] = 1
    min_available: Collectors = 1
    available_timeout: Timeout = timedelta(minutes=10)
    request_timeout: Timeout = timedelta(minutes=1)
    first_request_timeout: Timeout = timedelta(minutes=5)
    on_environment_error: str = "fail"
    failure_policy: FailurePolicy | None = None
    scaling_policy: ScalingPolicy | None = None
    resume_from: Mapping[str, Any] | None = None
    evaluation: Evaluation | None = None
    environment_parameters: EnvironmentParameters | None = None
    curriculum: CurriculumFunction | None = None

    def __post_init__(self) -> None:
        # Copy the values, because the caller may change lists and dicts later. Convert scalars of numpy and torch to
        # Python's numbers, because some code accepts only Python's numbers.
        hints = hints_of(FleetArguments)
        for field in fields(self):
            object.__setattr__(self, field.name, plain(_own(getattr(self, field.name)), hints[field.name]))

    @property
    def collectors(self) -> int:
        """The initial number of collectors.

        This is ``num_collectors`` if given. Otherwise it is the length of the list arguments. Without list arguments,
        it is the length of ``groups``, or 1 without ``groups``.
        """
        if self.num_collectors is not None:
            return self.num_collectors
        return max(per_collector.lengths(self).values(), default=len(self.groups or ()) or 1)

    @property
    def values_in_a_list(self) -> int:
        """The number of values in a list argument: one for each collector, or one for each entry of ``groups``."""
        return len(self.groups) if self.groups else self.collectors

    @property
    def collector_type(self) -> type[BaseCollector]:
        """The class of TorchRL's collector in each actor."""
        given: Any = self.collector_class
        found: type[BaseCollector] = _CLASSES.get(str(given), given)
        return found

    @property
    def has_processes(self) -> bool:
        """Whether a collector has several processes. If so, its frames per request are fixed once it is built."""
        return issubclass(self.collector_type, MultiCollector)

    @property
    def has_processes_that_never_pause(self) -> bool:
        """Whether the processes of a collector begin the next rollout without waiting for the next request."""
        return issubclass(self.collector_type, MultiAsyncCollector)

    @property
    def uses_ray(self) -> bool:
        """Whether collectors are Ray actors."""
        return self.transport == TransportKind.OBJECT_STORE

    @property
    def writes_equal_batches(self) -> bool:
        """Whether all batches in the replay buffer must have the size of the first batch."""
        return getattr(self.replay_buffer, "transport_kind", None) == "distributed"

    @property
    def mixes_versions(self) -> bool:
        """Whether a rollout may have frames of several weights versions.

        This is the case if processes never pause, or if trajectories span rollouts.
        """
        return self.has_processes_that_never_pause or self.keywords(0).get("trajs_per_batch") is not None

    @property
    def frames_of_a_step(self) -> int:
        """The number of frames that a collector makes in one step.

        The number of frames in a request is a multiple of this number.
        """
        # In an asynchronous collector, only one of its processes makes the frames of a request.
        together = 1 if self.has_processes_that_never_pause else self.num_workers_per_collector
        return self.envs_per_collector * together

    @property
    def shares_at_first(self) -> int:
        """The number of shares of a batch until the fleet is resized."""
        return (self.first_shares or self.shares or self.collectors) if self.sync else 1

    @property
    def random_frames(self) -> int:
        """``init_random_frames``, or 0 if ``init_random_frames`` is -1 or None."""
        return max(0, self.init_random_frames or 0)

    def of_each(self, name: str) -> PerCollector:
        """Return the values of the option ``name``, indexed by the index of a collector."""
        return PerCollector.of(getattr(self, name))

    def keywords(self, index: int) -> dict[str, Any]:
        """Return the arguments of ``collector_type`` for one collector.

        Arguments that are given for this collector replace arguments that are given for all collectors.
        """
        given = {name: getattr(self, name) for name in _PASSED_ON}
        given["max_frames_per_traj"] = max(0, self.max_frames_per_traj or 0) or None
        given |= {name: self.of_each(name)[index] for name in per_collector.DEVICES}
        # Leave out arguments that are None, so that TorchRL uses its own defaults.
        given = {name: value for name, value in given.items() if value is not None}
        return given | dict(self.of_each("collector_kwargs")[index] or {})


def _own(value: Any) -> Any:
    """Copy the lists and dicts in ``value``, and return the result. Later changes by the caller then have no effect."""
    if type(value) is dict:
        return {key: _own(inner) for key, inner in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_own(inner) for inner in value)
    return shallow_copy(value) if isinstance(value, dict | list) else value
