"""Rules for processes, devices and GPUs of collectors and driver, and for errors of environments."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.rules.combinations.combination import Combination, Number, value_of
from collectorfleet_api.v1alpha1.collection import Rollout
from collectorfleet_api.v1alpha1.collectors import CollectorClass, OnEnvironmentError
from collectorfleet_api.v1alpha1.gpus import GpuMode
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


def _cuda_indices(spec: CollectorFleetSpec) -> list[int]:
    """Return the indexes of the GPUs in a collector's devices. Plain ``cuda`` is GPU 0."""
    named = [device.partition(":") for device in spec.collectors.devices.named.values()]
    return [int(index or 0) for kind, _, index in named if kind == "cuda"]


def _driver_gpus(spec: CollectorFleetSpec) -> float:
    return spec.driver.resources.gpu


_GPU: Final = "self.workers.gpu"
_BY_RESOURCE: Final = (GpuMode.LOGICAL, GpuMode.MIG, GpuMode.TIME_SLICING, GpuMode.MPS)


def _is_kubernetes_own(resource: str) -> bool:
    domain = resource.partition("/")[0]
    return resource.startswith("requests.") or f".{domain}".endswith(".kubernetes.io")


_ALL_DEVICES: Final = ("device", "storingDevice", "envDevice", "policyDevice")
_DEVICES: Final = " + ".join(
    f"(has(self.collectors.devices.{name}) ? [self.collectors.devices.{name}] : [])" for name in _ALL_DEVICES
)

INSIDE_COLLECTORS: Final = (
    Combination(
        "class-single-has-one-worker",
        "collectors.numWorkersPerCollector",
        lambda spec: (
            spec.collectors.num_workers_per_collector == 1
            or spec.collectors.collector_class is not CollectorClass.SINGLE
        ),
        "self.collectors.numWorkersPerCollector == 1 || self.collectors.class != 'Single'",
        "class Single has only one process; set collectors.class to Sync or Async, or use environment.perCollector "
        "instead",
        "%d, but class Single has only one process; set collectors.class to Sync or Async, or use "
        "environment.perCollector instead",
        (value_of("collectors.numWorkersPerCollector"),),
    ),
    Combination(
        "environment-errors-have-one-judge",
        "collectors.onEnvironmentError",
        lambda spec: (
            spec.collectors.on_environment_error is OnEnvironmentError.FAIL or spec.collectors.failure_policy is None
        ),
        "self.collectors.onEnvironmentError == 'Fail' || !has(self.collectors.failurePolicy)",
        "failurePolicy also decides about exceptions in environments; leave onEnvironmentError or failurePolicy out",
    ),
    Combination(
        "fast-rollout-needs-class-single",
        "collection.rollout",
        lambda spec: (
            spec.collection.rollout is not Rollout.FAST or spec.collectors.collector_class is CollectorClass.SINGLE
        ),
        "self.collection.rollout != 'Fast' || self.collectors.class == 'Single'",
        "a collector with several processes has no fast loop; set collectors.class to Single, or collection.rollout to "
        "Auto",
    ),
    Combination(
        "random-frames-or-class-async",
        "collection.initRandomFrames",
        lambda spec: (
            spec.collection.init_random_frames is None or spec.collectors.collector_class is not CollectorClass.ASYNC
        ),
        "!has(self.collection.initRandomFrames) || self.collectors.class != 'Async'",
        "processes of class Async collect ahead and do not know when random actions end; use another collectors.class, "
        "or leave initRandomFrames out",
    ),
    Combination(
        "cuda-needs-gpu",
        "collectors.devices",
        lambda spec: not _cuda_indices(spec) or spec.collectors.resources.gpu > 0,
        f"self.collectors.resources.gpu > 0.0 || !({_DEVICES}).exists(d, d.startsWith('cuda'))",
        "device cuda needs a GPU; set collectors.resources.gpu, for example to 0.25, or use cpu",
    ),
    Combination(
        "cuda-index-within-gpus",
        "collectors.devices",
        lambda spec: all(index < max(1, spec.collectors.resources.gpu) for index in _cuda_indices(spec)),
        f"({_DEVICES}).all(d, !d.startsWith('cuda:') || int(d.substring(5)) == 0"
        " || double(int(d.substring(5))) < self.collectors.resources.gpu)",
        "a collector sees only its own GPUs, counted from 0; use a lower index, or raise collectors.resources.gpu",
        "a collector sees only its own GPUs (collectors.resources.gpu is %s), counted from 0; use a lower index, or "
        "request more GPUs",
        (value_of("collectors.resources.gpu"),),
    ),
)

PODS: Final = (
    Combination(
        "mig-names-its-slice",
        "workers.gpu.resource",
        lambda spec: spec.workers.gpu.mode is not GpuMode.MIG or spec.workers.gpu.resource is not None,
        f"{_GPU}.mode != 'MIG' || has({_GPU}.resource)",
        "missing, and required with mode MIG; set the resource of a slice that nodes offer, such as "
        "nvidia.com/mig-1g.10gb",
    ),
    Combination(
        "gpu-resource-where-pods-ask-for-one",
        "workers.gpu.resource",
        lambda spec: spec.workers.gpu.resource is None or spec.workers.gpu.mode in _BY_RESOURCE,
        f"!has({_GPU}.resource) || {_GPU}.mode in {[mode.value for mode in _BY_RESOURCE]}",
        "with mode DRA or None, worker pods do not request this resource; leave this field out, or use another mode",
    ),
    Combination(
        "gpu-resource-is-a-devices",
        "workers.gpu.resource",
        lambda spec: not _is_kubernetes_own(spec.workers.gpu.resource or ""),
        f"!has({_GPU}.resource) || !({_GPU}.resource.startsWith('requests.') || {_GPU}.resource.startsWith"
        f"('kubernetes.io/') || {_GPU}.resource.contains('.kubernetes.io/'))",
        "no device plugin offers this resource, because it belongs to Kubernetes itself; set a resource of a device "
        "plugin, such as nvidia.com/gpu",
    ),
    Combination(
        "dra-names-its-claim",
        "workers.gpu.claimTemplate",
        lambda spec: (spec.workers.gpu.mode is GpuMode.DRA) == (spec.workers.gpu.claim_template is not None),
        f"({_GPU}.mode == 'DRA') == has({_GPU}.claimTemplate)",
        '"mode: DRA" and claimTemplate need each other; set both, or leave both out',
    ),
)

# These rules apply to each group, too. The group's fields then replace the fleet's.
OF_A_GROUP: Final = (
    *(one for one in INSIDE_COLLECTORS if one.name in ("cuda-needs-gpu", "cuda-index-within-gpus")),
    *PODS,
)

DRIVER: Final = (
    Combination(
        "log-goes-somewhere",
        "driver.log",
        lambda spec: (
            spec.driver.log is None or spec.driver.log.tensorboard is not None or spec.driver.log.logger is not None
        ),
        "has(self.tensorboard) || has(self.logger)",
        "nothing to log to; set tensorboard, logger, or both",
        on="driver.log",
    ),
    Combination(
        "driver-gpus-are-whole",
        "driver.resources.gpu",
        lambda spec: _driver_gpus(spec).is_integer(),
        "self == double(int(self))",
        "the driver gets whole GPUs; use a whole number",
        "%s is not a whole number of GPUs; use %d or %d",
        (
            Number("self", _driver_gpus),
            Number("int(self)", lambda spec: int(_driver_gpus(spec))),
            Number("int(self) + 1", lambda spec: int(_driver_gpus(spec)) + 1),
        ),
        on="driver.resources.gpu",
    ),
)
