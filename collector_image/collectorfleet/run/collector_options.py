"""From a fleet's spec to the arguments of FleetCollector, as far as they are plain values. Pure.

What the user's factories build is in ``own_code``, what is torch's in ``torch_options``. An absent field gives no
argument: FleetCollector's own default holds.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from collectorfleet.user_code import Factory, Function
from collectorfleet_api.names import COLLECTOR_RESOURCE
from collectorfleet_api.packing.quantity import whole_cpus
from collectorfleet_api.packing.shares import fewer
from collectorfleet_api.packing.shares import shares as next_shares
from collectorfleet_api.v1alpha1 import (
    Collection,
    CollectorClass,
    CollectorFleetSpec,
    Collectors,
    Devices,
    Mode,
    Weights,
)

Options = dict[str, Any]


def collector_options(spec: CollectorFleetSpec, gpu_per_collector: float) -> Options:
    """Arguments of FleetCollector that follow from the spec.

    ``gpu_per_collector`` is less than ``spec`` says on a machine that has less. ``num_collectors`` is fewer than
    ``replicas`` where those would not divide a batch, as after scaling: resize the collector to ``replicas`` then.
    """
    total = spec.collection.total_frames
    options = {
        "create_env_fn": Factory(spec.environment.factory, spec.environment.kwargs),
        "envs_per_collector": spec.environment.per_collector,
        "trust_policy": spec.policy.trust,
        "total_frames": -1 if total is None else total,
        **_collection_options(spec.collection),
        **_share_options(spec),
        **_collectors_options(spec.collectors),
        **_device_options(spec.collectors.devices, gpu_per_collector),
        **_weights_options(spec.weights, trains=spec.driver.train is not None),
        "remote_configs": {
            "num_cpus": 1,
            "num_gpus": gpu_per_collector,
            # Keeps collectors on worker pods: the head and the driver have none of it.
            "resources": {COLLECTOR_RESOURCE: 1},
        },
    }
    return {name: value for name, value in options.items() if value is not None}


def _collection_options(collection: Collection) -> Options:
    return {
        "frames_per_batch": collection.frames_per_batch,
        "sync": collection.mode is Mode.SYNC,
        "max_staleness": collection.max_staleness,
        "exact_staleness": collection.exact_staleness,
        "max_frames_per_traj": collection.max_frames_per_traj,
        "reset_at_each_iter": collection.reset_at_each_iter,
        "init_random_frames": collection.init_random_frames,
        "split_trajs": collection.split_trajs,
        "trajs_per_batch": collection.trajs_per_batch,
        "copy": collection.copied,
    }


def _share_options(spec: CollectorFleetSpec) -> Options:
    if spec.collection.mode is Mode.ASYNC:
        return {"num_collectors": spec.collectors.replicas}
    stragglers, shares = spec.collection.stragglers, spec.collection.shares
    collectors = spec.collectors.replicas
    first = stragglers.first_shares if stragglers else None
    if first is not None and first >= collectors:
        # Scaled down to so few that each batch waits for all: of the same shape as before.
        first, shares = None, first
    elif first is None and shares is None:
        batch = (spec.collection.frames_per_batch, collectors, spec.frames_per_step)
        if spec.collectors.collector_class is CollectorClass.SINGLE:
            # FleetCollector splits a batch anew whenever it is resized, which the session does next.
            collectors = fewer(*batch)
        else:
            shares = next_shares(*batch)  # for good: several processes cannot change what they are asked for
    return {
        "num_collectors": collectors,
        "shares": shares,
        "first_shares": first,
        "preemptive_threshold": stragglers.preemptive_threshold if stragglers else None,
    }


def _collectors_options(collectors: Collectors) -> Options:
    return {
        "min_available": collectors.min_available,
        "collector_class": collectors.collector_class.lower(),
        "num_workers_per_collector": collectors.num_workers_per_collector,
        "collector_kwargs": collectors.kwargs or None,
        "threads_per_collector": whole_cpus(collectors.resources.cpu),
        "no_cuda_sync": collectors.no_cuda_sync,
        "pre_collect_hook": _function(collectors.pre_collect_hook),
        "post_collect_hook": _function(collectors.post_collect_hook),
        "request_timeout": timedelta(seconds=collectors.request_timeout_seconds),
        "first_request_timeout": timedelta(seconds=collectors.first_request_timeout_seconds),
        "available_timeout": timedelta(seconds=collectors.available_timeout_seconds),
    }


def _function(path: str | None) -> Function | None:
    return Function(path) if path else None


def _device_options(devices: Devices, gpus: float) -> Options:
    named = {
        "device": devices.device,
        "storing_device": devices.storing_device,
        "env_device": devices.env_device,
        "policy_device": devices.policy_device,
    }
    return {name: device and _device_here(device, gpus) for name, device in named.items()}


def _device_here(device: str, gpus: float) -> str:
    """``device``, or what stands for it on a machine that has fewer GPUs than the manifest asks for."""
    kind, _, index = device.partition(":")
    if kind != "cuda":
        return device
    if gpus == 0:
        return "cpu"
    return device if int(index or 0) < max(gpus, 1) else "cuda:0"


def _weights_options(weights: Weights, *, trains: bool) -> Options:
    return {
        "update_after_each_batch": trains and weights.update_after_each_batch,
        "max_weight_update_interval": weights.max_weight_update_interval,
        "weights_filter": weights.include,
        "update_between_steps": weights.update_between_steps,
    }
