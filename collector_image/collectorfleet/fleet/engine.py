"""What collects for a FleetCollector: collectors behind a transport, the gather thread, a watch over Ray's nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import ray
import torch

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.plans import plan_of, replanning
from collectorfleet.fleet.recipes import Recipes
from collectorfleet.fleet.rules.rule import is_service
from collectorfleet.fleet.weights import WeightsSource
from collectorfleet.gather.consumer import Consumer
from collectorfleet.gather.loop import GatherLoop
from collectorfleet.gather.shared import Limits, Shared
from collectorfleet.gather.state.gather import Gather
from collectorfleet.policies.failure import OnEnvironmentError, ReplaceWithBackoff
from collectorfleet.policies.scaling import EmptyWholePods
from collectorfleet.transport.ray.node_watch import NodeWatch
from collectorfleet.transport.ray.policy_service import PolicyClient
from collectorfleet.transport.ray.replay_buffer import BufferClient
from collectorfleet.transport.ray.store import room_for_batches
from collectorfleet.transport.ray.transport import RayTransport
from collectorfleet_api import ray_settings


@dataclass(frozen=True)
class Engine:
    """All parts, none of which runs before :meth:`start`."""

    transport: RayTransport
    consumer: Consumer
    loop: GatherLoop
    nodes: NodeWatch

    def start(self) -> None:
        self.loop.start()
        self.nodes.start()

    def stop(self, timeout: float | None) -> None:
        """End the collectors; blocks for at most ``timeout`` seconds."""
        self.nodes.stop()
        self.consumer.close()
        self.loop.join(timeout)


def engine(options: FleetOptions, source: WeightsSource) -> Engine:
    """What the options ask for, on a Ray that is initialised by then."""
    plan = plan_of(options)
    _ensure_ray(options.ray_init_config or {})
    shared = Shared(
        Gather(replace(plan, store_bytes=room_for_batches())),
        options.collectors,
        Limits(
            options.request_timeout,
            options.first_request_timeout,
            options.available_timeout,
            options.min_available,
        ),
        has_weights=source.has_weights,
    )
    transport = _transport(options, source, shared)
    consumer = Consumer(shared, transport, options.scaling_policy or EmptyWholePods(), replanned=replanning(options))
    if options.resume_from is not None:
        consumer.restore(options.resume_from)
    failure = options.failure_policy or ReplaceWithBackoff(
        on_environment_error=OnEnvironmentError(options.on_environment_error)
    )
    loop = GatherLoop(shared, transport, failure)
    return Engine(transport, consumer, loop, NodeWatch(consumer.note, consumer.node_died, lambda: shared.over))


def _transport(options: FleetOptions, source: WeightsSource, shared: Shared) -> RayTransport:
    recipes = Recipes(options)
    buffer = options.replay_buffer
    service = options.policy if is_service(options.policy) else None

    def config_of(name: str) -> CollectorConfig:
        client = None if buffer is None else BufferClient(buffer)
        config = recipes.config(int(name[1:]), shared.gather.plan.frames_per_share, client)
        return config if service is None else _served(config, service)

    return RayTransport(
        config_of,
        lambda name: recipes.remote_options(int(name[1:])),
        policy=source.for_collectors(),
        seed=torch.initial_seed(),
    )


def _served(config: CollectorConfig, service: Any) -> CollectorConfig:
    # What answers for a policy is no module: TorchRL is to call it as it is.
    return replace(config, policy=PolicyClient(service), served=True, options={"trust_policy": True, **config.options})


def _ensure_ray(init: Mapping[str, Any]) -> None:
    if not ray.is_initialized():
        for name, value in ray_settings.environment().items():
            os.environ.setdefault(name, value)
        ray.init(**init)
