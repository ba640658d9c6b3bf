"""Replacements for TorchRL's other distributed collectors, with the same names and arguments. Each class is a fleet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar, Final

import torch
from tensordict import TensorDictBase
from torchrl.collectors import BaseCollector, Collector
from torchrl.envs.utils import ExplorationType

from collectorfleet import option_types
from collectorfleet.errors import InvalidOption, with_article
from collectorfleet.fleet.collector import FleetCollector
from collectorfleet.fleet.signature import takes
from collectorfleet.option_ranges import CountOrNone, Positive
from collectorfleet.transport.interface import TransportKind

_LAUNCHERS: Final = ("mp", "ray")
_OF_SLURM: Final = ("submitit", "submitit_delayed")
# Arguments that FleetCollector lacks.
_OWN: Final = ("backend", "launcher", "tcp_port", "update_interval")
# Arguments of TorchRL's classes that have no effect here, with the reason.
_WITHOUT_A_MEANING: Final = {
    "slurm_kwargs": "the fleet starts no Slurm jobs",
}
_BACKENDS: Final = {
    "nccl": torch.distributed.is_nccl_available,
    "mpi": torch.distributed.is_mpi_available,
    "ucc": torch.distributed.is_ucc_available,
}


@dataclass(frozen=True, eq=False)
class Common:
    """Arguments that all three classes have, with TorchRL's defaults.

    Args:
        create_env_fn: a list with one function for each collector. The collector calls its function to build the
            environment.
        policy: the module that you train and that the fleet publishes. Collectors get this module even if
            ``policy_factory`` is given.

    Keyword Args:
        policy_factory, frames_per_batch, total_frames, device, storing_device, env_device, policy_device,
            max_frames_per_traj, init_random_frames, reset_at_each_iter, postproc, split_trajs, exploration_type,
            collector_class, collector_kwargs, num_workers_per_collector: see :class:`~collectorfleet.FleetCollector`.
        max_weight_update_interval: the fleet publishes the policy after this number of batches. -1: this argument does
            not make the fleet publish. DistributedSyncCollector then publishes after each batch, unless
            ``update_interval`` is given.
        backend: only "gloo" is allowed. It sends frames and weights from CPU to CPU.
        launcher: "mp" starts processes on this machine, and "ray" starts actors on a Ray cluster. The default
            "submitit" raises InvalidOption, because the fleet cannot start Slurm jobs.
        tcp_port: ignored, because each process group uses a free port of this machine.
        slurm_kwargs: must be None, because the fleet cannot start Slurm jobs.

    Raises:
        InvalidOption: an argument has an invalid value, or has no effect.
    """

    create_env_fn: Sequence[Any]
    policy: Any = None
    _: KW_ONLY
    policy_factory: Callable[[], Any] | Sequence[Callable[[], Any]] | None = None
    frames_per_batch: int
    total_frames: int = -1
    device: Any = None
    storing_device: Any = None
    env_device: Any = None
    policy_device: Any = None
    max_frames_per_traj: int = -1
    init_random_frames: int = -1
    reset_at_each_iter: bool = False
    postproc: Callable[[TensorDictBase], TensorDictBase] | None = None
    split_trajs: bool = False
    exploration_type: ExplorationType = ExplorationType.RANDOM
    collector_class: str | type[BaseCollector] = Collector
    collector_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    num_workers_per_collector: int = 1
    max_weight_update_interval: CountOrNone = -1
    slurm_kwargs: Mapping[str, Any] | None = None
    backend: str = "gloo"
    launcher: str = "submitit"
    tcp_port: int | str | None = None

    name: ClassVar[str]
    processes: ClassVar[TransportKind] = TransportKind.TORCH_DISTRIBUTED

    def __post_init__(self) -> None:
        # Only the arguments that FleetCollector lacks are checked here. FleetCollector checks the other arguments.
        option_types.check_fields(self, "", (*_OWN, "max_weight_update_interval"))

    def for_fleet(self) -> dict[str, Any]:
        """Return the arguments of FleetCollector. Raises InvalidOption."""
        if not isinstance(self.create_env_fn, Sequence):
            kind = with_article(type(self.create_env_fn).__name__)
            raise InvalidOption(f"create_env_fn of {self.name} is {kind}; pass a list with one for each collector")
        if self.launcher in _OF_SLURM:
            raise InvalidOption(
                f"launcher={self.launcher!r} of {self.name} starts collectors on a Slurm cluster; use 'mp' for "
                "processes on this machine, or 'ray' for a Ray cluster. On Kubernetes, `kubectl cfleet submit` creates "
                "a CollectorFleet from a script"
            )
        if self.launcher not in _LAUNCHERS:
            raise InvalidOption(f"launcher={self.launcher!r} of {self.name} is unknown; use 'mp' or 'ray'")
        if self.backend != "gloo":
            raise InvalidOption(f"backend={self.backend!r} of {self.name}: {_why_not(self.backend)}; use 'gloo'")
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        for argument, why in _WITHOUT_A_MEANING.items():
            if given.get(argument) is not None:
                raise InvalidOption(f"{argument} of {self.name} has no effect here: {why}; leave this argument out")
        arguments = {
            name: value for name, value in given.items() if name not in _OWN and name not in _WITHOUT_A_MEANING
        }
        arguments["max_weight_update_interval"] = self._interval(given)
        if self.policy is not None:
            arguments["policy_factory"] = None
        return arguments | {"transport": self.processes if self.launcher == "mp" else TransportKind.OBJECT_STORE}

    def _interval(self, given: Mapping[str, Any]) -> int:
        interval = given.get("update_interval")
        if interval is None:
            return self.max_weight_update_interval
        if self.max_weight_update_interval >= 0 or given.get("update_after_each_batch"):
            raise InvalidOption(
                f"update_interval={interval} of {self.name}, max_weight_update_interval and update_after_each_batch "
                "each decide when weights are published; pass only one of them"
            )
        return int(interval)


def _why_not(backend: str) -> str:
    """Return the reason why ``backend`` is not allowed. ``backend`` is a name other than "gloo"."""
    has = _BACKENDS.get(backend)
    if has is None:
        return "torch.distributed has no backend of that name"
    if not has():
        return f"the installed torch is built without it (torch.distributed.is_{backend}_available() is False)"
    if backend == "nccl":
        return "nccl needs a whole GPU for each process, but the fleet sends frames and weights from CPU to CPU"
    return "frames and weights are sent from CPU to CPU, by gloo"


@dataclass(frozen=True, eq=False)
class _Distributed(Common):
    __doc__ = Common.__doc__

    name = "DistributedCollector"

    _: KW_ONLY
    sync: bool = False
    update_after_each_batch: bool = False
    update_interval: Positive | None = None
    weight_updater: Any = None
    weight_sync_schemes: Any = None
    weight_recv_schemes: Any = None


@dataclass(frozen=True, eq=False)
class _DistributedSync(Common):
    __doc__ = Common.__doc__

    name = "DistributedSyncCollector"

    _: KW_ONLY
    update_interval: Positive | None = None

    def for_fleet(self) -> dict[str, Any]:
        return super().for_fleet() | {"sync": True}

    def _interval(self, given: Mapping[str, Any]) -> int:
        if self.update_interval is None and self.max_weight_update_interval < 0:
            return 1
        return super()._interval(given)


@dataclass(frozen=True, eq=False)
class _Rpc(Common):
    __doc__ = Common.__doc__

    name = "RPCCollector"
    processes = TransportKind.RPC

    _: KW_ONLY
    sync: bool = False
    update_after_each_batch: bool = False
    weight_updater: Any = None
    weight_sync_schemes: Any = None
    weight_recv_schemes: Any = None
    trajs_per_batch: int | None = None
    visible_devices: Any = None
    tensorpipe_options: Mapping[str, Any] | None = None


class DistributedCollector(FleetCollector):
    """A fleet that replaces :class:`torchrl.collectors.distributed.DistributedCollector`."""

    @takes(_Distributed)
    def __init__(self, options: _Distributed) -> None:
        super().__init__(**options.for_fleet())


class DistributedSyncCollector(FleetCollector):
    """A fleet that replaces :class:`torchrl.collectors.distributed.DistributedSyncCollector`.

    All frames of a batch are made with weights that were published before the batch was requested. The rollouts of a
    batch begin after the request for the batch.
    """

    @takes(_DistributedSync)
    def __init__(self, options: _DistributedSync) -> None:
        super().__init__(**options.for_fleet())


class RPCCollector(FleetCollector):
    """A fleet that replaces :class:`torchrl.collectors.distributed.RPCCollector`.

    With ``launcher="mp"``, ``torch.distributed.rpc`` sends frames and weights. In this case ``tensorpipe_options`` and
    ``visible_devices`` have the same meaning as in :class:`~collectorfleet.FleetCollector`. With ``launcher="ray"``,
    frames and weights are sent through Ray's object store.
    """

    @takes(_Rpc)
    def __init__(self, options: _Rpc) -> None:
        super().__init__(**options.for_fleet())
