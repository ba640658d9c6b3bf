"""What to do next for a fleet. Pure: an observation in, a short list of steps out, in the order they happen.

Nothing waits for what it does not need: RayCluster, accounts, Lease and Job are made in one go, and pods wait for each
other by themselves. Planning on the result of a plan gives an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from collectorfleet_api import names
from collectorfleet_api.conditions.outcome import Completed, Failed, Over, Pending, Running
from collectorfleet_api.packing.pods import Packing, Refusal
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.common import PER_POD_ANNOTATION, RUN_ANNOTATION, run_of
from collectorfleet_operator.children.driver_job import driver_job
from collectorfleet_operator.children.lease import lease
from collectorfleet_operator.children.raycluster import raycluster, with_worker_pods, worker_group
from collectorfleet_operator.children.rbac import role, role_binding, service_account
from collectorfleet_operator.decide.diff import covers
from collectorfleet_operator.decide.observed import Observed
from collectorfleet_operator.decide.outcome import outcome
from collectorfleet_operator.decide.shrink import pods_to_delete
from collectorfleet_operator.objects import (
    Kind,
    Object,
    annotation,
    has_condition,
    is_terminating,
    kind_of,
    name_of,
    uid_of,
)


@dataclass(frozen=True)
class Create:
    """Apply a child that is not there yet; one of that name that is not ours stays untouched."""

    manifest: Object
    why: str


@dataclass(frozen=True)
class Update:
    """Apply over the child with this uid, and no other."""

    manifest: Object
    uid: str
    why: str


@dataclass(frozen=True)
class Delete:
    """Delete the child with this uid, and no other, and what it owns."""

    kind: Kind
    name: str
    uid: str
    why: str


Action = Create | Update | Delete


def plan(seen: Observed) -> list[Action]:
    if seen.fleet.metadata.deletion_timestamp is not None:
        return []
    found = outcome(seen)
    match found:
        case Completed() | Failed():
            return list(_free_the_cluster(seen, found))
        case Pending() | Running():
            return _go_on(seen)
        case _:
            assert_never(found)


def _free_the_cluster(seen: Observed, end: Over) -> Iterator[Action]:
    if seen.is_usable(seen.cluster):
        yield _delete(seen.cluster, f"the fleet {end.verb}")


def _go_on(seen: Observed) -> list[Action]:
    packing = seen.packing
    if seen.problems or isinstance(packing, Refusal):
        # A run that goes on does so as it was started.
        return []
    restart = _restart_after_failure(seen)
    if restart:
        return restart
    if seen.spec_is_held:
        return list(_held_cluster(seen))
    if not _has_room(seen):
        return list(_old_cluster(seen))
    return [*_cluster(seen, packing), *_accounts(seen), *_job(seen)]


def _restart_after_failure(seen: Observed) -> list[Action]:
    """A failed run holds nothing worth keeping but its log: a changed spec replaces it."""
    job = seen.job
    if not seen.is_usable(job) or not seen.spec_is_held or not has_condition(job, "Failed"):
        return []
    generation = seen.fleet.metadata.generation
    return [_delete(job, f"it failed, and generation {generation} of the spec is another try")]


def _has_room(seen: Observed) -> bool:
    """Whether RayCluster and Job of this run exist or can be made: nothing of an earlier run is in their way."""
    if seen.cluster is None:
        if seen.leftovers(seen.ray_pods, None):
            return False
    elif not seen.is_usable(seen.cluster) or annotation(seen.cluster, RUN_ANNOTATION) != run_of(seen.fleet):
        return False
    if seen.job is None:
        return not seen.leftovers(seen.driver_pods, None)
    return seen.is_usable(seen.job)


def _old_cluster(seen: Observed) -> Iterator[Action]:
    cluster = seen.cluster
    if not seen.is_usable(cluster) or annotation(cluster, RUN_ANNOTATION) == run_of(seen.fleet):
        return
    generation = seen.fleet.metadata.generation
    yield _delete(cluster, f"it was made from another spec; generation {generation} starts on a new one")


def _cluster(seen: Observed, packing: Packing) -> Iterator[Action]:
    desired = raycluster(seen.fleet, packing)
    size = _size(packing.pods, packing.per_pod)
    if seen.cluster is None:
        yield Create(desired, f"RayCluster {name_of(desired)}: {size}")
    else:
        yield from _resized(seen, seen.cluster, desired, packing.pods, size)


def _held_cluster(seen: Observed) -> Iterator[Action]:
    """While an older spec runs, replicas are followed and all else stays as the driver knows it."""
    if not seen.is_usable(seen.cluster):
        return
    per_pod = int(annotation(seen.cluster, PER_POD_ANNOTATION) or 1)
    replicas = seen.fleet.spec.collectors.replicas
    pods = -(-replicas // per_pod)
    yield from _resized(seen, seen.cluster, _as_applied(seen.cluster), pods, _size(pods, per_pod))


def _size(pods: int, per_pod: int) -> str:
    return f"{pods} worker pod{'s' * (pods != 1)} for {per_pod} collector{'s' * (per_pod != 1)} each"


def _as_applied(cluster: Object) -> Object:
    """The stored RayCluster as a manifest of ours."""
    kept = cluster["metadata"]
    mine = {key: kept[key] for key in ("name", "namespace", "labels", "ownerReferences")}
    mine["annotations"] = {key: value for key, value in kept["annotations"].items() if key.startswith(names.GROUP)}
    return {"apiVersion": cluster["apiVersion"], "kind": cluster["kind"], "metadata": mine, "spec": cluster["spec"]}


def _resized(seen: Observed, stored: Object, desired: Object, pods: int, size: str) -> Iterator[Action]:
    present = int(worker_group(stored).get("replicas", 0))
    target, going = pods_to_delete(seen, present, pods)
    desired = with_worker_pods(desired, target, going)
    # An absent list asks for nothing, so one that has to go is looked at by itself.
    same_list = worker_group(stored).get("scaleStrategy", {}) == worker_group(desired).get("scaleStrategy", {})
    if covers(stored, desired) and same_list:
        return
    why = f"from {present} to {size}" if target != present else "it differs from the fleet"
    yield Update(desired, uid_of(stored), f"RayCluster {name_of(stored)}: {why}")


_Builder = Callable[[CollectorFleet], Object]
_ACCOUNTS: Final[tuple[tuple[str, _Builder], ...]] = (
    ("service_account", service_account),
    ("role", role),
    ("role_binding", role_binding),
    ("lease", lease),
)


def _accounts(seen: Observed) -> Iterator[Action]:
    for field, build in _ACCOUNTS:
        desired, stored = build(seen.fleet), getattr(seen, field)
        # One of a deleted fleet may be listed although it is gone: these kinds are not watched.
        if stored is None or not seen.is_ours(stored):
            yield Create(desired, f"{desired['kind']} {name_of(desired)}")
        elif not is_terminating(stored) and not covers(stored, desired):
            yield Update(desired, uid_of(stored), f"{desired['kind']} {name_of(desired)}: it differs from the fleet")


def _job(seen: Observed) -> Iterator[Action]:
    # What stands there has an immutable template; a Job of another spec is held, not updated.
    if seen.job is None:
        desired = driver_job(seen.fleet)
        yield Create(desired, f"Job {name_of(desired)}: the driver")


def _delete(child: Object, why: str) -> Delete:
    return Delete(kind_of(child), name_of(child), uid_of(child), f"{child['kind']} {name_of(child)}: {why}")
