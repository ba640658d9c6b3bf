"""Compute arguments of FleetCollector from several fields of a spec, or from the GPUs of the machine. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from collectorfleet.actor.simulator.options import SimulatorProcess
from collectorfleet_api.names import COLLECTOR_RESOURCE, group_resource
from collectorfleet_api.packing.shares import fewer
from collectorfleet_api.packing.shares import shares as next_shares
from collectorfleet_api.v1alpha1 import CollectorClass, CollectorFleetSpec, Mode, Process


@dataclass(frozen=True)
class Split:
    """The number of collectors at the start, and the shares of a batch. None means FleetCollector's default."""

    collectors: int
    shares: int | None = None
    first_shares: int | None = None


def split(spec: CollectorFleetSpec) -> Split:
    """Return how a batch is split at the start.

    If ``replicas`` collectors cannot divide a batch evenly, for example after scaling, the fleet starts with fewer
    collectors. Collectors with several processes have shares of a fixed size, so the number of collectors does not
    change. Instead, there are more shares than collectors.
    """
    replicas, shares = spec.collectors.replicas, spec.collection.shares
    first = spec.collection.stragglers.first_shares if spec.collection.stragglers else None
    if first is not None and first >= replicas:
        # After scaling down, each batch waits for all collectors, and the shape of batches does not change.
        return Split(replicas, shares=first)
    frames = spec.collection.frames_per_batch
    if first is not None or shares is not None or frames is None or spec.collection.mode is Mode.ASYNC:
        return Split(replicas, shares, first)
    batch = (frames, replicas, spec.frames_per_step)
    if spec.collectors.collector_class is CollectorClass.SINGLE:
        # The session resizes the collector to all replicas next, and FleetCollector then splits the batch again.
        return Split(fewer(*batch))
    return Split(replicas, next_shares(*batch))  # permanent: collectors of several processes have a fixed share size


def device_here(device: str | None, gpus: float) -> str | None:
    """Return ``device``, or its replacement if the machine has fewer GPUs than the manifest requests."""
    kind, _, index = (device or "").partition(":")
    if kind != "cuda":
        return device
    if gpus == 0:
        return "cpu"
    return device if int(index or 0) < max(gpus, 1) else "cuda:0"


def simulator_process(process: Process | None) -> SimulatorProcess | None:
    """Return the simulator process that a collector starts for its environment, or None if ``process`` is None."""
    if process is None:
        return None
    return SimulatorProcess(process.command, process.ports, timedelta(seconds=process.ready_timeout_seconds))


def remote_config(spec: CollectorFleetSpec, gpus: float, group: str | None = None) -> dict[str, Any] | None:
    """Return the options of a collector's Ray actor, or None for a fleet without Ray."""
    if not spec.has_ray:
        return None
    of_group = {group_resource(group): 1} if group else {}
    return {
        "num_cpus": 1,
        "num_gpus": gpus,
        # Only worker pods have this resource, so Ray does not place collectors on the head or the driver.
        "resources": {COLLECTOR_RESOURCE: 1, **of_group, **(spec.collectors.resources.custom or {})},
    }


def publishes_after_each_batch(spec: CollectorFleetSpec) -> bool:
    """Return whether FleetCollector publishes the weights after each batch.

    Without a training function the weights do not change. With ``spec.learners``, the driver publishes the learners'
    weights separately.
    """
    return spec.driver.train is not None and spec.learners is None and spec.weights.update_after_each_batch
