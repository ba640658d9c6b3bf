"""The parts of a FleetCollector: a transport with collectors, the gather thread, and a thread that watches Ray's nodes.

If the transport does not use Ray, the engine starts neither Ray nor this thread.
"""

from __future__ import annotations

import atexit
import os
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import ray
import torch
from torch.distributed import rpc

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.errors import InvalidOption
from collectorfleet.evaluation.loop import EvaluationLoop
from collectorfleet.fleet.collector_configs import CollectorConfigs
from collectorfleet.fleet.evaluators import evaluation_loop
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.plans import plan_of, replanning
from collectorfleet.fleet.rules.rule import is_service
from collectorfleet.fleet.weights import WeightsSource
from collectorfleet.gather import counters
from collectorfleet.gather.consumer import Consumer
from collectorfleet.gather.loop import GatherLoop
from collectorfleet.gather.shared import Limits, Shared
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.parameters import FleetParameters
from collectorfleet.recovery.failure import OnEnvironmentError, ReplaceWithBackoff
from collectorfleet.scaling import EmptyWholePods, HighestIndexes, ScalingPolicy
from collectorfleet.transport.distributed.launcher import LocalProcesses
from collectorfleet.transport.distributed.transport import DistributedTransport
from collectorfleet.transport.interface import FleetTransport, TransportKind
from collectorfleet.transport.processes import memory
from collectorfleet.transport.ray import store
from collectorfleet.transport.ray.node_watch import NodeWatch
from collectorfleet.transport.ray.policy_service import PolicyClient
from collectorfleet.transport.ray.replay_buffer import BufferClient
from collectorfleet.transport.ray.transport import RayTransport
from collectorfleet.transport.rpc.options import cuda_visible_devices
from collectorfleet_api import ray_settings

_END_SECONDS: Final = 10.0


@dataclass(frozen=True, eq=False)
class Engine:
    """All parts of a fleet. :meth:`start` starts them."""

    transport: FleetTransport
    consumer: Consumer
    loop: GatherLoop
    nodes: NodeWatch | None
    evaluation: EvaluationLoop | None

    def start(self) -> None:
        self.loop.start()
        if self.evaluation is not None:
            self.evaluation.start()
        if self.nodes is not None:
            self.nodes.start()

    def stop(self, timeout: float | None) -> None:
        """End collectors and evaluators. Blocks for at most ``timeout`` seconds. None: no time limit."""
        if self.nodes is not None:
            self.nodes.stop()
        self.consumer.close()
        if self.evaluation is not None:
            self.evaluation.close()
        until = None if timeout is None else time.monotonic() + timeout
        self.loop.join(timeout)
        if self.evaluation is not None:
            self.evaluation.join(None if until is None else max(0.0, until - time.monotonic()))

    @property
    def spilled_bytes(self) -> int | None:
        """The bytes that Ray's object stores spilled to disks.

        This is None if the fleet does not use Ray, or if no node reports the number of spilled bytes.
        """
        return None if self.nodes is None else self.nodes.spilled_bytes


# Engines whose collectors are processes of this machine. At exit, Python waits for these processes, and they wait for
# Python's exit. So these processes must be ended first.
_WITH_PROCESSES: Final[weakref.WeakSet[Engine]] = weakref.WeakSet()
# The loops of these engines. The thread of a loop may still run after its engine was deleted.
_THEIR_LOOPS: Final[weakref.WeakSet[GatherLoop | EvaluationLoop]] = weakref.WeakSet()


@atexit.register
def _end_processes() -> None:
    for one in list(_WITH_PROCESSES):
        one.stop(_END_SECONDS)
    # Wait for the loops. If Python exits while torch closes a transport in a thread, SIGABRT ends the process.
    for loop in list(_THEIR_LOOPS):
        loop.join(_END_SECONDS)


def engine(options: FleetOptions, source: WeightsSource) -> Engine:
    """Return the engine for the options. If the transport needs Ray, initialize Ray."""
    plan = plan_of(options)
    if options.uses_ray:
        _ensure_ray(options.ray_init_config or {})
    room = store.room_for_batches() if options.uses_ray else memory.room_for_batches()
    plan = replace(plan, store_bytes=room)
    shared = Shared(
        Gather(plan),
        options.collectors,
        Limits(
            options.request_timeout,
            options.first_request_timeout,
            options.available_timeout,
            options.min_available,
        ),
        has_weights=source.has_weights,
        groups=options.groups or (),
    )
    if options.environment_parameters is not None:
        shared.parameters = FleetParameters()
    transport = _transport(options, source, shared)
    try:
        return _with_transport(transport, options, source, shared)
    except BaseException:
        transport.close()
        raise


def _with_transport(transport: FleetTransport, options: FleetOptions, source: WeightsSource, shared: Shared) -> Engine:
    consumer = Consumer(shared, transport, _scaling(options), replanned=replanning(options))
    if options.resume_from is not None:
        counters.restore(shared, options.resume_from)
    failure = options.failure_policy or ReplaceWithBackoff(
        on_environment_error=OnEnvironmentError(options.on_environment_error)
    )
    loop = GatherLoop(shared, transport, failure)
    evaluation = evaluation_loop(options, source, shared)
    if not options.uses_ray:
        made = Engine(transport, consumer, loop, None, evaluation)
        _WITH_PROCESSES.add(made)
        _THEIR_LOOPS.update(one for one in (loop, evaluation) if one is not None)
        return made
    nodes = NodeWatch(consumer.notify_status_change, consumer.node_died, lambda: shared.over)
    return Engine(transport, consumer, loop, nodes, evaluation)


def _transport(options: FleetOptions, source: WeightsSource, shared: Shared) -> FleetTransport:
    recipes = CollectorConfigs(options)
    buffer = options.replay_buffer
    service = options.policy if is_service(options.policy) else None

    def config_of(name: str) -> CollectorConfig:
        client = None if buffer is None else BufferClient(buffer)
        config = recipes.config(int(name[1:]), shared.gather.plan.frames_per_share, client)
        return config if service is None else _served(config, service)

    policy, seed = source.for_collectors(), torch.initial_seed()
    if options.transport == TransportKind.RPC:
        if not rpc.is_available():
            raise InvalidOption(
                "transport: 'rpc' needs torch.distributed.rpc, which the installed torch does not have; use "
                "'torch_distributed'"
            )
        from collectorfleet.transport.rpc.transport import RpcTransport

        def visible_to(name: str) -> str | None:
            return cuda_visible_devices(options.of_each("visible_devices")[int(name[1:])])

        return RpcTransport(config_of, visible_to, options.tensorpipe_options, policy=policy, seed=seed)
    if options.transport == TransportKind.TORCH_DISTRIBUTED:
        launcher = options.launcher or LocalProcesses()
        return DistributedTransport(
            lambda name: replace(config_of(name), gpu_fraction=launcher.gpus_per_collector),
            launcher,
            policy=policy,
            seed=seed,
        )
    return RayTransport(config_of, lambda name: recipes.remote_options(int(name[1:])), policy=policy, seed=seed)


def _scaling(options: FleetOptions) -> ScalingPolicy:
    if options.launcher is not None:
        return HighestIndexes()  # hosts have ranks, and a smaller fleet uses the hosts with the lowest ranks
    return options.scaling_policy or EmptyWholePods()


def _served(config: CollectorConfig, service: Any) -> CollectorConfig:
    # The client of the service is not a module. ``trust_policy`` makes TorchRL call the client unchanged.
    return replace(
        config, policy=PolicyClient(service), uses_policy_service=True, options={"trust_policy": True, **config.options}
    )


def _ensure_ray(init: Mapping[str, Any]) -> None:
    if not ray.is_initialized():
        for name, value in ray_settings.environment().items():
            os.environ.setdefault(name, value)
        ray.init(**init)
