"""From a fleet's spec to the arguments of FleetCollector. Pure."""

from __future__ import annotations

from typing import Any

from collectorfleet.user_code import Factory
from collectorfleet_api.names import COLLECTOR_RESOURCE
from collectorfleet_api.shares import shares
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Mode


def collector_options(spec: CollectorFleetSpec, gpu_per_collector: float, frames_written: int = 0) -> dict[str, Any]:
    """Arguments of FleetCollector that follow from the spec, all but the policy."""
    collection, replicas = spec.collection, spec.collectors.replicas
    total = collection.total_frames
    return {
        "create_env_fn": Factory(spec.environment.factory, spec.environment.kwargs),
        "frames_per_batch": collection.frames_per_batch,
        # A driver that restarts with everything written collects one batch more: totalFrames is a floor.
        "total_frames": -1 if total is None else max(total - frames_written, 1),
        "num_collectors": replicas,
        "envs_per_collector": spec.environment.per_collector,
        "sync": collection.mode is Mode.SYNC,
        # A fleet may be scaled to a number that does not divide its batch.
        "shares": shares(collection.frames_per_batch, replicas, spec.environment.per_collector),
        "max_staleness": collection.max_staleness,
        "update_after_each_batch": spec.driver.train is not None and spec.weights.update_after_each_batch,
        "min_available": min(spec.collectors.min_available, replicas),
        "remote_configs": {
            "num_cpus": 1,
            "num_gpus": gpu_per_collector,
            # Keeps collectors on worker pods: the head and the driver have none of it.
            "resources": {COLLECTOR_RESOURCE: 1},
        },
    }
