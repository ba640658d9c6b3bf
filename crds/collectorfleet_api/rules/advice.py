"""Warnings of ``collectorfleet validate`` about settings that work but are probably mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from collectorfleet_api.counts import counted
from collectorfleet_api.packing.custom import scarcest
from collectorfleet_api.packing.pods import Packing, WorkerGroup, collectors_that_fit, pack
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.packing.shares import shares
from collectorfleet_api.rules.evaluation import evaluation_advice
from collectorfleet_api.rules.groups import place
from collectorfleet_api.rules.learners import learner_advice
from collectorfleet_api.rules.pod_security import not_restricted
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.collection import Mode
from collectorfleet_api.v1alpha1.collectors import CollectorClass
from collectorfleet_api.v1alpha1.fleet import CollectorFleet
from collectorfleet_api.v1alpha1.gpus import GpuMode, WorkersGpu
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

# Warn if the collectors of a full pod leave more than this fraction of the pod's GPUs unused.
_NOTABLE_REST: Final = 0.2
# In these modes, a pod with several parts of a GPU gets no larger share of the GPU. The values are the reasons.
_PARTS: Final = {
    GpuMode.MIG: "CUDA shows a process only one slice",
    GpuMode.TIME_SLICING: "a process with several replicas of a GPU gets no larger part of the GPU than a process with "
    "one replica",
    GpuMode.MPS: "the device plugin gives a pod only one replica",
}


def warnings(fleet: CollectorFleet) -> list[Problem]:
    """Return warnings about a fleet without problems. The fleet can run unchanged."""
    return [found for check in _CHECKS for found in check(fleet)] + list(_of_groups(fleet))


def _of_groups(fleet: CollectorFleet) -> Iterator[Problem]:
    """Yield warnings about each group that sets its own GPUs."""
    for index, group in enumerate(fleet.spec.collectors.groups):
        own = fleet.model_copy(update={"spec": fleet.spec.of_group(group.name)})
        checks = [_unused_gpu, _parts_of_a_gpu, _gpu_without_device]
        if not group.workers.template:
            checks.append(_gpus_of_the_template)
        if group.workers.gpu is not None:
            checks.append(_gpu_of_no_collector)
        told = [found for check in checks for found in check(own)]
        if group.resources.gpu is not None or group.workers.gpu is not None:
            path = f"spec.collectors.groups[{index}]"
            yield from (Problem(place(found.field, path), found.message) for found in told)


def busy_collectors(fleet: CollectorFleet) -> int:
    """Return the maximum number of collectors that can work at the same time.

    Async: at most ``maxStaleness + 1`` batches are in flight or wait for delivery. With more batches, the last
    batch would exceed the bound, because training may publish a new version after each batch. Sync: one collector works
    on each share of the ``maxStaleness + 1`` batches that may be collected at the same time.
    """
    spec = fleet.spec
    replicas, bound = spec.collectors.replicas, spec.collection.staleness_bound
    if spec.collection.mode is Mode.SYNC:
        return min(replicas, ((bound or 0) + 1) * _shares_of(spec))
    return replicas if bound is None else min(replicas, bound + 1)


def _shares_of(spec: CollectorFleetSpec) -> int:
    frames = spec.collection.frames_per_batch
    if frames is None:  # the script sets this field
        return spec.collectors.replicas
    return spec.fixed_shares or shares(frames, spec.collectors.replicas, spec.frames_per_step)


def _idle(fleet: CollectorFleet) -> Iterator[Problem]:
    busy, replicas = busy_collectors(fleet), fleet.spec.collectors.replicas
    if busy >= replicas:
        return
    if fleet.spec.collection.mode is Mode.SYNC:
        bound = fleet.spec.collection.staleness_bound or 0
        batches = f", and {bound + 1} batches may be under way (collection.maxStaleness {bound})" if bound else ""
        yield Problem(
            "spec.collectors.replicas",
            f"at most {busy} of {replicas} collectors are busy: a batch has "
            f"{counted(_shares_of(fleet.spec), 'share')}{batches}",
        )
        return
    yield Problem(
        "spec.collection.maxStaleness",
        f"at most {busy} of {replicas} collectors are busy, because maxStaleness {busy - 1} allows only {busy} "
        f"undelivered batches; raise maxStaleness to {replicas - 1}, or use "
        f"{counted(busy, 'collector')}",
    )


def _at_random(fleet: CollectorFleet) -> Iterator[Problem]:
    spec = fleet.spec
    if spec.policy is None and spec.driver.script is None:
        yield Problem(
            "spec.policy", "not set, so collectors act at random; name a factory to let collectors act by a policy"
        )


def _endless_output(fleet: CollectorFleet) -> Iterator[Problem]:
    if fleet.spec.output is not None and fleet.spec.collection.total_frames is None:
        text = (
            "not set, so batches are written until the fleet is deleted or the volume is full; set totalFrames to stop "
            "earlier"
        )
        yield Problem("spec.collection.totalFrames", text)


def _unused_gpu(fleet: CollectorFleet) -> Iterator[Problem]:
    group = pack(fleet.spec.worker_group)
    if isinstance(group, Refusal):
        return
    rest = group.unused_gpu_per_pod
    if group.replicas >= group.per_pod and rest > _NOTABLE_REST * group.gpus_per_pod:
        yield Problem(
            "spec.collectors.resources.gpu",
            f"collectors leave {rest:.4g} of the {group.gpus_per_pod} GPU of each worker pod unused: "
            f"{_bound(fleet.spec.worker_group, group)}",
        )


def _bound(asked: WorkerGroup, packing: Packing) -> str:
    """Return text about why no further collector fits into a pod."""
    fitting = collectors_that_fit(packing.gpu_units, packing.gpus_per_pod)
    fit = f"{counted(fitting, 'collector')} of {packing.gpu_per_collector:g} GPU {'fits' if fitting == 1 else 'fit'}"
    if packing.per_pod == fitting:
        return fit
    if asked.collectors_per_pod is not None:
        return f"{fit}, but workers.collectorsPerPod is {packing.per_pod}"
    return f'{fit}, but "{scarcest(asked.custom)}" of workers.customPerPod is enough for only {packing.per_pod}'


def _parts_of_a_gpu(fleet: CollectorFleet) -> Iterator[Problem]:
    gpu = fleet.spec.workers.gpu
    if fleet.spec.collectors.resources.gpu > 0 and gpu.per_pod > 1 and gpu.mode in _PARTS:
        why = _PARTS[gpu.mode]
        yield Problem(
            "spec.workers.gpu.perPod",
            f"with mode {gpu.mode.value}, a pod gains nothing from {gpu.per_pod} parts of a "
            f"GPU: {why}; use 1, and more pods",
        )


def _parts_of_a_gpu_for_learners(fleet: CollectorFleet) -> Iterator[Problem]:
    learners, mode = fleet.spec.learners, fleet.spec.workers.gpu.mode
    if learners is None or isinstance(learners.pods, Refusal) or mode not in _PARTS:
        return
    gpus, whole = learners.pods.resources.gpus, min(int(learners.gpus), learners.places)
    if gpus > 1:
        yield Problem(
            "spec.learners.gpus",
            f"a learner pod has {gpus} GPUs with mode {mode.value}: {_PARTS[mode]}; set gpus and shards to {whole}",
        )


def _parts_of_a_gpu_for_evaluators(fleet: CollectorFleet) -> Iterator[Problem]:
    pods, mode = fleet.spec.evaluator_pods, fleet.spec.workers.gpu.mode
    if isinstance(pods, Packing) and pods.gpus_per_pod > 1 and mode in _PARTS:
        text = f"an evaluator pod has {pods.gpus_per_pod} GPUs with mode {mode.value}: {_PARTS[mode]}; use 1 or a share"
        yield Problem("spec.evaluation.resources.gpu", f"{text}, and set spec.workers.gpu.perPod to 1")


def _gpu_without_request(fleet: CollectorFleet) -> Iterator[Problem]:
    learners, evaluation, groups = fleet.spec.learners, fleet.spec.evaluation, fleet.spec.collectors.groups
    # `workers.gpu` also applies to pods of learners, evaluators and groups.
    others = (learners and learners.gpus) or (evaluation and evaluation.resources.gpu)
    if not others and not any(group.resources.gpu for group in groups):
        yield from _gpu_of_no_collector(fleet)


def _gpu_of_no_collector(fleet: CollectorFleet) -> Iterator[Problem]:
    if fleet.spec.collectors.resources.gpu == 0 and fleet.spec.workers.gpu != WorkersGpu():
        text = (
            "collectors request no GPU, so worker pods get no GPU; set spec.collectors.resources.gpu, or leave this "
            "field out"
        )
        yield Problem("spec.workers.gpu", text)


def _gpus_of_the_template(fleet: CollectorFleet) -> Iterator[Problem]:
    gpu, template = fleet.spec.workers.gpu, fleet.spec.workers.template
    if fleet.spec.collectors.resources.gpu > 0 and gpu.mode is GpuMode.NONE and not template:
        text = (
            "not set, and with workers.gpu.mode None, the operator requests no GPUs; set a template that gives worker "
            "pods their GPUs"
        )
        yield Problem("spec.workers.template", text)


def _not_restricted(fleet: CollectorFleet) -> Iterator[Problem]:
    spec = fleet.spec
    has_tree = spec.code is not None and spec.code.tree is not None
    templates = [
        (spec.driver.template, "spec.driver.template", "driver"),
        (spec.workers.template, "spec.workers.template", "ray-worker"),
        (spec.ray.head.template, "spec.ray.head.template", "ray-head"),
    ]
    if spec.learners is not None:
        templates.append((spec.learners.template, "spec.learners.template", "ray-worker"))
    if spec.evaluation is not None:
        templates.append((spec.evaluation.template, "spec.evaluation.template", "ray-worker"))
    for template, path, container in templates:
        yield from not_restricted(template, path, container, has_tree=has_tree)


def _gpu_without_device(fleet: CollectorFleet) -> Iterator[Problem]:
    collectors = fleet.spec.collectors
    if collectors.resources.gpu > 0 and not collectors.devices.named:
        yield Problem(
            "spec.collectors.devices",
            f"no device is set, so only code that selects CUDA itself uses the {collectors.resources.gpu:g} GPU of "
            "each collector; set device to cuda",
        )


def _older_than_bounded(fleet: CollectorFleet) -> Iterator[Problem]:
    collection, bound = fleet.spec.collection, fleet.spec.collection.staleness_bound
    if bound is None:
        return
    if collection.trajs_per_batch is not None:
        path, what = "collection.trajsPerBatch", "frames of a trajectory that spans updates"
    elif fleet.spec.collectors.collector_class is CollectorClass.ASYNC:
        path, what = "collectors.class", "frames of class Async, whose processes collect ahead,"
    else:
        return
    yield Problem(
        f"spec.{path}",
        f"{what} can be staler than maxStaleness {bound}, which limits only how far ahead batches are requested; "
        "status.weights.staleness shows their staleness",
    )


def _buffer_that_begins_empty(fleet: CollectorFleet) -> Iterator[Problem]:
    buffer = fleet.spec.replay_buffer
    if buffer is not None and not buffer.checkpoint and fleet.spec.driver.checkpoint is not None:
        yield Problem(
            "spec.replayBuffer.checkpoint",
            "with false, a restarted driver resumes with an empty replay buffer; true also saves the content, which "
            "needs room for three copies on the claim",
        )


def _null_keywords(fleet: CollectorFleet) -> Iterator[Problem]:
    for path, kwargs in _all_kwargs(fleet.spec, "spec"):
        for key, value in kwargs.items():
            if value is None:
                text = (
                    "`kubectl apply` removes this null; leave the argument out, and make None its default in the "
                    "function"
                )
                yield Problem(f"{path}.{key}", text)


def _all_kwargs(part: Model, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every ``kwargs`` in ``part``, with its path."""
    for name, field in type(part).model_fields.items():
        value, here = getattr(part, name), f"{path}.{field.alias}"
        if name == "kwargs":
            yield here, value
        elif isinstance(value, Model):
            yield from _all_kwargs(value, here)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, Model):
                    yield from _all_kwargs(item, f"{here}[{index}]")


_CHECKS: Final[tuple[Callable[[CollectorFleet], Iterator[Problem]], ...]] = (
    _idle,
    _at_random,
    _endless_output,
    _unused_gpu,
    _parts_of_a_gpu,
    _parts_of_a_gpu_for_learners,
    _parts_of_a_gpu_for_evaluators,
    _gpu_without_request,
    _gpus_of_the_template,
    _gpu_without_device,
    learner_advice,
    evaluation_advice,
    _not_restricted,
    _older_than_bounded,
    _buffer_that_begins_empty,
    _null_keywords,
)
