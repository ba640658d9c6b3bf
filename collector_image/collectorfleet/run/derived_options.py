"""Arguments of FleetCollector that follow from several fields of a spec, or from what the machine has. Pure."""

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
    """With how many collectors a fleet begins, and the shares of its batches; None: FleetCollector's own default."""

    collectors: int
    shares: int | None = None
    first_shares: int | None = None


def split(spec: CollectorFleetSpec) -> Split:
    """``collectors`` is fewer than ``replicas`` where those would not divide a batch, as after scaling."""
    replicas, shares = spec.collectors.replicas, spec.collection.shares
    first = spec.collection.stragglers.first_shares if spec.collection.stragglers else None
    if first is not None and first >= replicas:
        # Scaled down to so few that each batch waits for all: of the same shape as before.
        return Split(replicas, shares=first)
    frames = spec.collection.frames_per_batch
    if first is not None or shares is not None or frames is None or spec.collection.mode is Mode.ASYNC:
        return Split(replicas, shares, first)
    batch = (frames, replicas, spec.frames_per_step)
    if spec.collectors.collector_class is CollectorClass.SINGLE:
        # FleetCollector splits a batch anew whenever it is resized, which the session does next.
        return Split(fewer(*batch))
    return Split(replicas, next_shares(*batch))  # for good: several processes cannot change what they are asked for


def device_here(device: str | None, gpus: float) -> str | None:
    """``device``, or what stands for it on a machine that has fewer GPUs than the manifest asks for."""
    kind, _, index = (device or "").partition(":")
    if kind != "cuda":
        return device
    if gpus == 0:
        return "cpu"
    return device if int(index or 0) < max(gpus, 1) else "cuda:0"


def simulator_process(process: Process | None) -> SimulatorProcess | None:
    """Return what a collector starts beside its environment; None: nothing."""
    if process is None:
        return None
    return SimulatorProcess(process.command, process.ports, timedelta(seconds=process.ready_timeout_seconds))


def remote_config(spec: CollectorFleetSpec, gpus: float, group: str | None = None) -> dict[str, Any] | None:
    """Options of the Ray actor of a collector; None where there is no Ray."""
    if not spec.has_ray:
        return None
    of_group = {group_resource(group): 1} if group else {}
    return {
        "num_cpus": 1,
        "num_gpus": gpus,
        # Keeps collectors on worker pods: the head and the driver have none of it.
        "resources": {COLLECTOR_RESOURCE: 1, **of_group, **(spec.collectors.resources.custom or {})},
    }


def publishes_after_each_batch(spec: CollectorFleetSpec) -> bool:
    """Without a training function the weights stay as they are, and what learners learned is published by itself."""
    return spec.driver.train is not None and spec.learners is None and spec.weights.update_after_each_batch
