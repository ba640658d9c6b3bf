"""Convert a fleet's spec into the arguments of FleetCollector, with one table row for each field.

A field that is not set gives no argument, so FleetCollector uses its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import torch
from torchrl.envs.utils import ExplorationType

from collectorfleet.run.derived_options import (
    device_here,
    publishes_after_each_batch,
    remote_config,
    simulator_process,
    split,
)
from collectorfleet.run.evaluation_options import evaluation_of
from collectorfleet.run.parameter_options import environment_parameters_of
from collectorfleet.transport.interface import TransportKind
from collectorfleet.user_code import Factory, Function
from collectorfleet_api.packing.quantity import whole_cpus
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Environment, Mode, Transport


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Plain:
    """An argument whose value is the field's value, changed by ``convert``. By default, the value is not changed."""

    argument: str
    convert: Callable[[Any], Any] = _same


@dataclass(frozen=True)
class Derived:
    """An argument that is computed from the whole spec and from the GPUs of one collector on this machine."""

    argument: str
    value: Callable[[CollectorFleetSpec, float], Any]


@dataclass(frozen=True)
class Built:
    """An argument that a factory of the user builds in the driver. ``what`` is its name in messages.

    If ``needs_ray`` is True, the factory runs after the driver has connected to Ray.
    """

    argument: str
    what: str
    needs_ray: bool = False


# GPUs of one collector, keyed by the name of its group. A fleet without groups has one entry.
GpuPerCollector = Mapping[str, float]


def _environment(environment: Environment) -> Factory:
    return Factory(environment.factory, environment.kwargs)


def _seconds(seconds: int) -> timedelta:
    return timedelta(seconds=seconds)


_TRANSPORTS: Final = {
    Transport.OBJECT_STORE: TransportKind.OBJECT_STORE,
    Transport.TORCH_DISTRIBUTED: TransportKind.TORCH_DISTRIBUTED,
}

# The keys are paths of fields below `spec`. A factory with its kwargs is one field.
ARGUMENTS: Final[dict[str, Plain | Derived | Built]] = {
    "environment": Plain("create_env_fn", _environment),
    "environment.perCollector": Plain("envs_per_collector"),
    "environment.parameters": Derived("environment_parameters", lambda spec, _: environment_parameters_of(spec)),
    "environment.process": Plain("process", simulator_process),
    "policy": Built("policy", "policy"),
    "policy.trust": Plain("trust_policy"),
    "collection.mode": Plain("sync", lambda mode: mode is Mode.SYNC),
    "collection.framesPerBatch": Plain("frames_per_batch"),
    "collection.totalFrames": Plain("total_frames"),
    "collection.maxStaleness": Plain("max_staleness"),
    "collection.exactStaleness": Plain("exact_staleness"),
    "collection.shares": Derived("shares", lambda spec, _: split(spec).shares),
    "collection.stragglers.firstShares": Derived("first_shares", lambda spec, _: split(spec).first_shares),
    "collection.stragglers.preemptiveThreshold": Plain("preemptive_threshold"),
    "collection.maxFramesPerTraj": Plain("max_frames_per_traj"),
    "collection.resetAtEachIter": Plain("reset_at_each_iter"),
    "collection.initRandomFrames": Plain("init_random_frames"),
    "collection.explorationType": Plain("exploration_type", lambda asked: ExplorationType[asked.name]),
    "collection.rollout": Plain("rollout", str.lower),
    "collection.compactObservations": Plain("compact_observations"),
    "collection.splitTrajs": Plain("split_trajs"),
    "collection.trajsPerBatch": Plain("trajs_per_batch"),
    "collection.transport": Plain("transport", lambda asked: _TRANSPORTS[asked].value),
    "collection.postproc": Built("postproc", "postproc"),
    "collection.copy": Plain("copy"),
    "collectors.replicas": Derived("num_collectors", lambda spec, _: split(spec).collectors),
    "collectors.minAvailable": Derived("min_available", lambda spec, _: spec.collectors.fewest_available),
    "collectors.resources.cpu": Plain("threads_per_collector", whole_cpus),
    "collectors.resources.gpu": Derived("remote_configs", remote_config),
    "collectors.class": Plain("collector_class", str.lower),
    "collectors.numWorkersPerCollector": Plain("num_workers_per_collector"),
    "collectors.devices.device": Derived("device", lambda s, gpus: device_here(s.collectors.devices.device, gpus)),
    "collectors.devices.storingDevice": Derived(
        "storing_device", lambda spec, gpus: device_here(spec.collectors.devices.storing_device, gpus)
    ),
    "collectors.devices.envDevice": Derived(
        "env_device", lambda spec, gpus: device_here(spec.collectors.devices.env_device, gpus)
    ),
    "collectors.devices.policyDevice": Derived(
        "policy_device", lambda spec, gpus: device_here(spec.collectors.devices.policy_device, gpus)
    ),
    "collectors.noCudaSync": Plain("no_cuda_sync"),
    "collectors.preCollectHook": Plain("pre_collect_hook", Function),
    "collectors.postCollectHook": Plain("post_collect_hook", Function),
    "collectors.kwargs": Plain("collector_kwargs", lambda kwargs: kwargs or None),
    "collectors.requestTimeoutSeconds": Plain("request_timeout", _seconds),
    "collectors.firstRequestTimeoutSeconds": Plain("first_request_timeout", _seconds),
    "collectors.availableTimeoutSeconds": Plain("available_timeout", _seconds),
    "collectors.onEnvironmentError": Plain("on_environment_error", str.lower),
    "collectors.failurePolicy": Built("failure_policy", "failure_policy"),
    "collectors.scalingPolicy": Built("scaling_policy", "scaling_policy"),
    "collectors.groups": Derived("groups", lambda spec, _: list(spec.collectors.group_turns) or None),
    "weights.updateAfterEachBatch": Derived(
        "update_after_each_batch", lambda spec, _: publishes_after_each_batch(spec)
    ),
    "weights.maxWeightUpdateInterval": Plain("max_weight_update_interval"),
    "weights.dtype": Plain("weights_dtype", lambda asked: getattr(torch, asked.lower())),
    "weights.include": Plain("weights_filter"),
    "weights.models": Built("models", "model"),
    "weights.updateBetweenSteps": Plain("update_between_steps"),
    "replayBuffer": Built("replay_buffer", "replayBuffer", needs_ray=True),
}


# Fields that each group may set for itself.
_OF_A_GROUP: Final = ("environment", "collectors.resources", "collectors.devices")


def collector_options(
    spec: CollectorFleetSpec, gpu_per_collector: GpuPerCollector, *, evaluators_on_gpus: bool = True
) -> dict[str, Any]:
    """Return the arguments of FleetCollector that the spec determines, except objects that the user's factories build.

    On a machine with fewer GPUs, the numbers in ``gpu_per_collector`` are smaller than in ``spec``. If
    ``evaluators_on_gpus`` is False, evaluators run on the CPU. If ``replicas`` collectors cannot divide a batch evenly,
    for example after scaling, ``num_collectors`` is less than ``replicas``. The caller then resizes the collector to
    ``replicas``.
    """
    names = spec.group_names
    options = _options(spec, gpu_per_collector[names[0]], ARGUMENTS)
    evaluation = evaluation_of(spec, on_gpus=evaluators_on_gpus)
    if evaluation is not None:
        options["evaluation"] = evaluation
    turns = spec.collectors.group_turns
    if not turns:
        return options
    rows = {path: row for path, row in ARGUMENTS.items() if path.startswith(_OF_A_GROUP)}
    own = {name: _options(spec.of_group(name), gpu_per_collector[name], rows) for name in names}
    for name in names:
        own[name]["remote_configs"] = remote_config(spec.of_group(name), gpu_per_collector[name], name)
    for argument in sorted(set().union(*own.values())):
        values = {name: own[name].get(argument) for name in names}
        alike = all(value == values[names[0]] for value in values.values())
        options[argument] = values[names[0]] if alike else [values[name] for name in turns]
    return options


def _options(spec: CollectorFleetSpec, gpus: float, rows: Mapping[str, Plain | Derived | Built]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for path, row in rows.items():
        match row:
            case Plain(argument, convert):
                value = spec.at(path)
                options[argument] = None if value is None else convert(value)
            case Derived(argument, derive):
                options[argument] = derive(spec, gpus)
    return {argument: value for argument, value in options.items() if value is not None}
