"""Everything that is wrong with a fleet, all at once, as sentences that say what to change.

The same for ``collectorfleet validate`` and, as ``reason=InvalidSpec``, for what the CRD's own rules let through. Shape
first (unknown fields, types), and only for a manifest of the right shape what its fields say together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from pydantic import ValidationError

from collectorfleet_api.names import MAX_NAME_LENGTH
from collectorfleet_api.packing.pods import Refusal, pack_groups
from collectorfleet_api.packing.quantity import parse_quantity
from collectorfleet_api.packing.shares import divides
from collectorfleet_api.rules.collector_kwargs import collector_kwargs_problems
from collectorfleet_api.rules.combinations import COMBINATIONS
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import did_you_mean, sentences
from collectorfleet_api.rules.templates import template_problems
from collectorfleet_api.v1alpha1.collection import Mode
from collectorfleet_api.v1alpha1.collectors import Resources
from collectorfleet_api.v1alpha1.fleet import CollectorFleet
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec
from collectorfleet_api.v1alpha1.types import LEAST_MEMORY_BYTES

_OBJECT_METADATA: Final = (
    *("name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"),
    *("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields"),
    *("selfLink", "deletionGracePeriodSeconds"),
)
_OLDEST_RAY: Final = (2, 52, 0)


def read(manifest: dict[str, Any]) -> CollectorFleet | list[Problem]:
    """The fleet that a person wrote, or every problem that it has."""
    # The API server ignores a status that comes with a manifest, such as one saved by `kubectl get -o yaml`.
    written = {key: value for key, value in manifest.items() if key != "status"}
    unknown = list(_metadata_problems(written.get("metadata")))
    try:
        fleet = CollectorFleet.parse(written)
    except ValidationError as error:
        return unknown + sentences(error, CollectorFleet)
    return unknown + problems(fleet) or fleet


def read_stored(obj: dict[str, Any]) -> CollectorFleet | list[Problem]:
    """The fleet that the API server stores, or every problem that it has. Fields of a newer CRD are dropped."""
    try:
        fleet = CollectorFleet.parse_stored(obj)
    except ValidationError as error:
        return sentences(error, CollectorFleet)
    return problems(fleet) or fleet


def problems(fleet: CollectorFleet) -> list[Problem]:
    """What no single field shows. Empty for a fleet that can run."""
    return [problem for check in _CHECKS for problem in check(fleet)]


def _metadata_problems(metadata: Any) -> Iterator[Problem]:
    for key in metadata if isinstance(metadata, dict) else ():
        if key not in _OBJECT_METADATA:
            yield Problem(f"metadata.{key}", f"unknown field{did_you_mean(key, _OBJECT_METADATA)}")


def _name(fleet: CollectorFleet) -> Iterator[Problem]:
    name = fleet.metadata.name
    if len(name) > MAX_NAME_LENGTH:
        text = f"{len(name)} characters are too long for the Ray cluster that is named after it; use at most"
        yield Problem("metadata.name", f"{text} {MAX_NAME_LENGTH}")
    if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name):
        yield Problem(
            "metadata.name",
            f'"{name}" cannot name a Service; use lower-case letters, digits and "-", '
            'starting with a letter and not ending in "-"',
        )


def _driver_or_output(fleet: CollectorFleet) -> Iterator[Problem]:
    train, output = fleet.spec.driver.train, fleet.spec.output
    if train is not None and output is not None:
        text = "set driver.train or output, not both: with a training function the batches go to it"
        yield Problem("spec.output", text)
    if train is None and output is None:
        yield Problem(
            "spec",
            "set driver.train to train on the batches, or output to write them to files; "
            "with neither they would be lost",
        )


def _staleness(fleet: CollectorFleet) -> Iterator[Problem]:
    collection = fleet.spec.collection
    if collection.mode is Mode.ASYNC and collection.max_staleness == 0:
        yield Problem(
            "spec.collection.maxStaleness",
            "0 is for mode Sync: in Async the weights move on while other collectors' batches wait; "
            "use 1 or more, or leave it out for no bound",
        )


def _frames(fleet: CollectorFleet) -> Iterator[Problem]:
    spec = fleet.spec
    frames, step = spec.collection.frames_per_batch, spec.frames_per_step
    field = "spec.collection.framesPerBatch"
    if frames % step:
        yield Problem(
            field,
            f"{frames} is not a multiple of the {step} environments of a collector that step together "
            "(environment.perCollector, collectors.numWorkersPerCollector); "
            f"use {_multiples(frames, step)}",
        )
        return
    fixed = spec.fixed_shares
    # A stored fleet may be scaled to any number: the batch then has more shares than collectors.
    stored = fleet.metadata.uid is not None
    shares = fixed or (spec.collectors.replicas if not stored else 1)
    if spec.collection.mode is Mode.SYNC and not divides(frames, shares, step):
        steps = f" of whole steps of {step} environments" if step > 1 else ""
        origin, things = (_shares_field(spec), "share") if fixed else ("collectors.replicas", "collector")
        yield Problem(
            field,
            f"{frames} does not divide into {shares} shares ({origin}){steps}; "
            f"use {_multiples(frames, shares * step)}, or {_dividing(frames // step, shares, things)}",
        )


def _shares_field(spec: CollectorFleetSpec) -> str:
    return "collection.shares" if spec.collection.shares else "collection.stragglers.firstShares"


def _first_shares(fleet: CollectorFleet) -> Iterator[Problem]:
    stragglers, replicas = fleet.spec.collection.stragglers, fleet.spec.collectors.replicas
    first = stragglers.first_shares if stragglers else None
    # A stored fleet may be scaled to any number: a batch then waits for all collectors.
    if first is not None and first >= replicas and fleet.metadata.uid is None:
        yield Problem(
            "spec.collection.stragglers.firstShares",
            f"{first} is not fewer than collectors.replicas {replicas}, so that each batch waits for all; "
            "use fewer, or leave stragglers out",
        )


def _multiples(number: int, of: int) -> str:
    below = number // of * of
    return f"{below} or {below + of}" if below else str(of)


def _dividing(steps: int, shares: int, things: str) -> str:
    """The nearest numbers of ``things`` that divide ``steps``: ``5 or 8 collectors``."""
    below = next((n for n in range(min(shares, steps), 0, -1) if steps % n == 0), None)
    above = next((n for n in range(shares, steps + 1) if steps % n == 0), None)
    found = " or ".join(str(n) for n in (below, above) if n)
    return f"{found} {things}{'' if found == '1' else 's'}"


def _combinations(fleet: CollectorFleet) -> Iterator[Problem]:
    for combination in COMBINATIONS:
        if not combination.holds(fleet.spec):
            yield Problem(f"spec.{combination.field}", combination.told(fleet.spec))


def _collector_kwargs(fleet: CollectorFleet) -> Iterator[Problem]:
    return collector_kwargs_problems(fleet.spec.collectors.kwargs)


def _packing(fleet: CollectorFleet) -> Iterator[Problem]:
    found = pack_groups(fleet.spec.worker_groups)
    if isinstance(found, Refusal):
        yield Problem(found.field, found.message)


def _driver_gpu(fleet: CollectorFleet) -> Iterator[Problem]:
    gpu = fleet.spec.driver.resources.gpu
    if not gpu.is_integer():
        whole = int(gpu)
        yield Problem("spec.driver.resources.gpu", f"{gpu:g}: the driver gets whole GPUs; use {whole} or {whole + 1}")


def _memory(fleet: CollectorFleet) -> Iterator[Problem]:
    parts: dict[str, Resources] = {"driver": fleet.spec.driver.resources, "collectors": fleet.spec.collectors.resources}
    for part, resources in parts.items():
        size_bytes = parse_quantity(resources.memory)
        if size_bytes < LEAST_MEMORY_BYTES:
            text = f"{resources.memory} is {float(size_bytes):g} bytes, in which no process runs"
            yield Problem(f"spec.{part}.resources.memory", f"{text}; write {_gigabytes(resources)}")


def _gigabytes(resources: Resources) -> str:
    match = re.fullmatch(r"([1-9][0-9.]*)(m?)", str(resources.memory))
    return f"{match[1]}{'Mi' if match[2] else 'Gi'}" if match else "2Gi"


def _ray_version(fleet: CollectorFleet) -> Iterator[Problem]:
    version = fleet.spec.ray.version
    if tuple(int(part) for part in version.split(".")) < _OLDEST_RAY:
        oldest = ".".join(map(str, _OLDEST_RAY))
        text = f"{version} is older than {oldest}, the first Ray with token authentication"
        yield Problem("spec.ray.version", f"{text}; build the image with a newer one")


def _pull_secrets(fleet: CollectorFleet) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, secret in enumerate(fleet.spec.image_pull_secrets):
        if secret.name in seen:
            yield Problem(f"spec.imagePullSecrets[{index}].name", f"{secret.name} appears twice; name each Secret once")
        seen.add(secret.name)


def _models(fleet: CollectorFleet) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, model in enumerate(fleet.spec.weights.models):
        if model.path in seen:
            yield Problem(f"spec.weights.models[{index}].path", f"{model.path} appears twice; name each module once")
        seen.add(model.path)


def _templates(fleet: CollectorFleet) -> Iterator[Problem]:
    yield from template_problems(fleet.spec.driver.template, "spec.driver.template")
    yield from template_problems(fleet.spec.workers.template, "spec.workers.template")
    yield from template_problems(fleet.spec.ray.head.template, "spec.ray.head.template")


_CHECKS: Final[tuple[Callable[[CollectorFleet], Iterator[Problem]], ...]] = (
    _name,
    _driver_or_output,
    _staleness,
    _frames,
    _first_shares,
    _combinations,
    _collector_kwargs,
    _packing,
    _driver_gpu,
    _memory,
    _ray_version,
    _pull_secrets,
    _models,
    _templates,
)
