"""Finds all problems of a fleet, as sentences that say what to change.

``collectorfleet validate`` reports the problems. The operator reports the problems that the CRD's rules do not find,
with ``reason=InvalidSpec``. If a manifest has unknown fields or wrong types, the other rules are not checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from pydantic import ValidationError

from collectorfleet_api.names import MAX_NAME_LENGTH, MAX_NAME_LENGTH_OF_A_JOB, MAX_SPEC_BYTES
from collectorfleet_api.nesting import TooDeepError, check_depth
from collectorfleet_api.object_names import SERVICE_NAME
from collectorfleet_api.packing.pods import pack
from collectorfleet_api.packing.quantity import parse_quantity
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.rules.batch import first_shares_problems, share_problems
from collectorfleet_api.rules.collector_kwargs import collector_kwargs_problems
from collectorfleet_api.rules.combinations.table import COMBINATIONS
from collectorfleet_api.rules.custom_resources import custom_resource_problems
from collectorfleet_api.rules.evaluation import evaluation_problems
from collectorfleet_api.rules.groups import group_problems
from collectorfleet_api.rules.learners import learner_problems
from collectorfleet_api.rules.network import network_problems
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import did_you_mean, sentences
from collectorfleet_api.rules.simulators import simulator_kwargs_problems
from collectorfleet_api.rules.templates import template_problems
from collectorfleet_api.v1alpha1.fleet import CollectorFleet
from collectorfleet_api.v1alpha1.types import LEAST_MEMORY_BYTES

_OBJECT_METADATA: Final = (
    *("name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"),
    *("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields"),
    *("selfLink", "deletionGracePeriodSeconds"),
)
_OLDEST_RAY: Final = (2, 52, 0)


def read(manifest: dict[str, Any]) -> CollectorFleet | list[Problem]:
    """Return the fleet in a manifest, or all of its problems."""
    # The API server ignores the status in a manifest, for example in the output of `kubectl get -o yaml`.
    written = {key: value for key, value in manifest.items() if key != "status"}
    unknown = list(_metadata_problems(written.get("metadata")))
    try:
        check_depth(written)
        fleet = CollectorFleet.parse(written)
    except TooDeepError as error:
        return [*unknown, Problem(error.path, str(error))]
    except ValidationError as error:
        return unknown + sentences(error, CollectorFleet)
    return unknown + problems(fleet) or fleet


def read_stored(obj: dict[str, Any]) -> CollectorFleet | list[Problem]:
    """Return the fleet in an object of the API server, or all of its problems. Fields of a newer CRD are dropped."""
    try:
        check_depth(obj)
        fleet = CollectorFleet.parse_stored(obj)
    except TooDeepError as error:
        return [Problem(error.path, str(error))]
    except ValidationError as error:
        return sentences(error, CollectorFleet)
    return problems(fleet) or fleet


def problems(fleet: CollectorFleet) -> list[Problem]:
    """Return the problems that involve several fields, or an empty list for a fleet that can run."""
    return [problem for check in CHECKS.values() for problem in check(fleet)]


def _metadata_problems(metadata: Any) -> Iterator[Problem]:
    for key in metadata if isinstance(metadata, dict) else ():
        if key not in _OBJECT_METADATA:
            yield Problem(f"metadata.{key}", f"unknown field{did_you_mean(key, _OBJECT_METADATA)}")


def _name(fleet: CollectorFleet) -> Iterator[Problem]:
    name = fleet.metadata.name
    if len(name) > MAX_NAME_LENGTH:
        text = f"{len(name)} characters are too many for the Ray cluster, which has the same name; use at most"
        yield Problem("metadata.name", f"{text} {MAX_NAME_LENGTH}")
    if not fleet.spec.has_ray and len(name) > MAX_NAME_LENGTH_OF_A_JOB:
        text = (
            f"{len(name)} characters are too many for the pods of launcher Job, whose names begin with this name; use "
            "at most"
        )
        yield Problem("metadata.name", f"{text} {MAX_NAME_LENGTH_OF_A_JOB}")
    if not re.fullmatch(SERVICE_NAME, name):
        yield Problem(
            "metadata.name",
            f'"{name}" cannot name a Service; use lower-case letters, digits and "-", '
            'starting with a letter and not ending in "-"',
        )


def _combinations(fleet: CollectorFleet) -> Iterator[Problem]:
    for combination in COMBINATIONS:
        if not combination.holds(fleet.spec):
            yield Problem(combination.path, combination.message_for(fleet.spec))


def _collector_kwargs(fleet: CollectorFleet) -> Iterator[Problem]:
    runs_script = fleet.spec.driver.script is not None
    return collector_kwargs_problems(fleet.spec.collectors.kwargs, runs_script=runs_script)


def _packing(fleet: CollectorFleet) -> Iterator[Problem]:
    # Also check the fleet's own fields if there are groups, because groups use them as defaults.
    found = pack(fleet.spec.worker_group)
    if isinstance(found, Refusal):
        yield Problem(found.field, found.message)


def _memory(fleet: CollectorFleet) -> Iterator[Problem]:
    collectors = fleet.spec.collectors
    asked = {"driver": fleet.spec.driver.resources.memory, "collectors": collectors.resources.memory}
    learners = fleet.spec.learners
    if learners is not None:
        asked |= {"learners": learners.resources.memory, "learners.replay": learners.replay.resources.memory}
    if fleet.spec.evaluation is not None:
        asked["evaluation"] = fleet.spec.evaluation.resources.memory
    own = {f"collectors.groups[{index}]": group.resources.memory for index, group in enumerate(collectors.groups)}
    for part, memory in (asked | own).items():
        size_bytes = None if memory is None else parse_quantity(memory)
        if size_bytes is not None and size_bytes < LEAST_MEMORY_BYTES:
            text = f"{memory} is {float(size_bytes):g} bytes, too little memory for a process"
            yield Problem(f"spec.{part}.resources.memory", f"{text}; write {_gigabytes(memory)}")


def _gigabytes(memory: object) -> str:
    match = re.fullmatch(r"([1-9][0-9.]*)(m?)", str(memory))
    return f"{match[1]}{'Mi' if match[2] else 'Gi'}" if match else "2Gi"


def _ray_version(fleet: CollectorFleet) -> Iterator[Problem]:
    version = fleet.spec.ray.version
    if tuple(int(part) for part in version.split(".")) < _OLDEST_RAY:
        oldest = ".".join(map(str, _OLDEST_RAY))
        text = f"{version} is older than {oldest}, the first Ray with token authentication"
        yield Problem("spec.ray.version", f"{text}; build the image with a newer Ray")


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
    if fleet.spec.evaluation is not None:
        yield from template_problems(fleet.spec.evaluation.template, "spec.evaluation.template")


def _network(fleet: CollectorFleet) -> Iterator[Problem]:
    return network_problems(fleet.spec.network_policy)


def _size(fleet: CollectorFleet) -> Iterator[Problem]:
    found = len(json.dumps(fleet.spec.to_wire()).encode())
    if found > MAX_SPEC_BYTES:
        most = f"{MAX_SPEC_BYTES // 1024} KiB"
        yield Problem("spec", f"{found // 1024} KiB of JSON do not fit into a pod; shorten the spec to at most {most}")


# The checks by name. Combinations and FleetCollector's own rules also have names.
CHECKS: Final[dict[str, Callable[[CollectorFleet], Iterator[Problem]]]] = {
    "name-fits-the-cluster": _name,
    "combinations": _combinations,
    "batch-divides-into-shares": share_problems,
    "first-shares-below-collectors": first_shares_problems,
    "keywords-said-once": _collector_kwargs,
    "simulator-addresses-are-the-fleets": simulator_kwargs_problems,
    "custom-resources-have-names": custom_resource_problems,
    "collectors-fit-into-pods": _packing,
    "groups-add-up": group_problems,
    "learners-fit-into-shards": learner_problems,
    "evaluators-have-shares": evaluation_problems,
    "memory-fits-a-process": _memory,
    "ray-knows-tokens": _ray_version,
    "secrets-named-once": _pull_secrets,
    "models-named-once": _models,
    "templates-can-be-merged": _templates,
    "network-rules-are-known": _network,
    "spec-fits-an-annotation": _size,
}
