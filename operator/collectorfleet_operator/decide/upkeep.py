"""Creation of the missing objects of a run, and correction of objects that differ. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.built import keep_manifest_of_other_release
from collectorfleet_operator.children.by_identity import by_identity
from collectorfleet_operator.children.group_sizes import sized_in_place
from collectorfleet_operator.children.hashes import changed_cluster_parts, is_group
from collectorfleet_operator.children.placement import placed
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.propagation import propagated
from collectorfleet_operator.children.table import (
    CHILDREN,
    COLLECTORS_CHILD,
    RAYCLUSTER_CHILD,
    WORKLOAD_CHILD,
    Child,
)
from collectorfleet_operator.children.token_secret import SECRET, token_secret
from collectorfleet_operator.decide import queue
from collectorfleet_operator.decide.actions import Action, Create, CreateSecret, Delete, Update
from collectorfleet_operator.decide.deleted_cluster import a_driver_uses_its_cluster
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pod_owner import PodOwner
from collectorfleet_operator.decide.scaling import limited, sized
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.objects import Kind, Object, controller_uid, is_terminating, name_of, uid_of

_HOLD_COLLECTORS: Final = (RAYCLUSTER_CHILD, COLLECTORS_CHILD)


def maintain_children(seen: Situation) -> Iterator[Action]:
    """Create missing children and correct children that differ from the running spec.

    If an object of an earlier run is in the way, delete that object first.
    """
    if not seen.can_be_made:
        return
    if _has_room(seen):
        yield from _share_a_token(seen)
        # If an object without an owner has a child's name, the API server refuses the child, and the plan ends. So
        # these children come first: without a RayCluster of the fleet, its driver must not start.
        for child in sorted(CHILDREN, key=lambda child: not _is_taken(seen, child)):
            if child is not WORKLOAD_CHILD:
                yield from _keep(seen, child)
    else:
        yield from _make_room(seen)


def _is_taken(seen: Situation, child: Child) -> bool:
    stored = seen.children.get(child)
    return stored is not None and controller_uid(stored) is None


def _share_a_token(seen: Situation) -> Iterator[Action]:
    """Create the token Secret of a fleet without Ray, before the pods that wait for it."""
    if seen.cluster is None and not seen.present.spec.has_ray:
        made = with_propagated(seen, token_secret(seen.present))
        why = describe(SECRET, name_of(made), "the token that the fleet's pods share")
        yield CreateSecret(SECRET, made, names.HOSTS_TOKEN_KEY, why)


def _has_room(seen: Situation) -> bool:
    """Return whether the run's objects exist or can be created: no object of an earlier run is in the way.

    An orphan is never deleted. The refusal to create an object of its name tells the user about it.
    """
    if any(seen.is_ours(other) for other in _of_the_other_launcher(seen)):
        return False
    if seen.cluster is None:
        if seen.leftovers(seen.cluster_pods, None):
            return False
    elif not seen.cluster.is_orphan and (not seen.is_usable(seen.cluster) or _is_of_another_run(seen, seen.cluster)):
        return False
    if seen.job is None:
        # An earlier driver on a lost node may hang for long. Such a driver does no harm, because it does not hold the
        # Lease.
        return not [pod for pod in seen.leftovers(seen.driver_pods, None) if not pod.is_lost_with_node]
    return seen.job.is_orphan or seen.is_usable(seen.job)


def _is_of_another_run(seen: Situation, cluster: PodOwner) -> bool:
    """Return whether the cluster must be replaced. Worker groups of Ray change in place if the driver continues."""
    changed = changed_cluster_parts(cluster.hashes, seen.present.spec)
    if seen.present.spec.has_ray and seen.is_usable(seen.job) and seen.job.has_changed_workers:
        changed = {part for part in changed if not is_group(part)}
    return bool(changed)


def _make_room(seen: Situation) -> Iterator[Action]:
    # A driver with a usable Job belongs to this run, and does not use the cluster of an earlier run.
    if not seen.is_usable(seen.job) and a_driver_uses_its_cluster(seen):
        return
    generation = seen.fleet.metadata.generation
    why = f"it was created from another spec, and generation {generation} starts with new pods"
    for cluster in seen.clusters:
        if seen.is_usable(cluster) and (cluster is not seen.cluster or _is_of_another_run(seen, cluster)):
            yield delete(cluster.kind, cluster.name, cluster.uid, why)


def _of_the_other_launcher(seen: Situation) -> list[PodOwner]:
    """Return the cluster of the previous launcher, if ``spec.launcher`` has changed."""
    return [cluster for cluster in seen.clusters if cluster is not seen.cluster]


@by_identity
def built_children(fleet: CollectorFleet) -> Mapping[Child, Object]:
    """Return the manifests of a fleet's children, without its Workload. Do not change these cached manifests."""
    return {
        child: made for child in CHILDREN if child is not WORKLOAD_CHILD and (made := child.build(fleet)) is not None
    }


def _keep(seen: Situation, child: Child) -> Iterator[Action]:
    """Create a missing child, correct a child that differs, or delete a child that the spec does not need."""
    built, stored = built_children(seen.present).get(child), seen.children.get(child)
    own = stored if stored is not None and controller_uid(stored) == seen.fleet.metadata.uid else None
    if built is None:
        if own is not None and not is_terminating(own):
            yield delete(child.kind, name_of(own), uid_of(own), "the fleet's spec no longer needs it")
        return
    desired = as_admitted(seen, child, built)
    # The cache may still have a child of a deleted fleet. If another object now has this name, the API server refuses
    # the write.
    if own is None:
        why = describe(child.kind, name_of(desired), child.summary(desired))
        yield Create(child.kind, with_propagated(seen, desired), why)
    elif not is_terminating(own):
        if child is RAYCLUSTER_CHILD:
            desired = sized(seen, seen.raycluster, keep_manifest_of_other_release(own, desired))
        desired = with_propagated(seen, desired)
        if child is COLLECTORS_CHILD:
            # This comes after all other changes, because only the size of a Job can be changed in place.
            desired = sized_in_place(own, sized(seen, seen.collectors_job, desired))
        yield from update_if_different(child, own, desired)


def with_propagated(seen: Situation, desired: Object) -> Object:
    """Return ``desired`` with the labels and annotations that the fleet passes on to its children."""
    return propagated(desired, seen.propagation.of(seen.fleet.metadata))


def as_admitted(seen: Situation, child: Child, desired: Object) -> Object:
    """Return ``desired`` with the placement that Kueue has admitted, and with no more pods than Kueue has admitted."""
    name, found = queue.queue_of_run(seen), queue.state(seen)
    if not name:
        return desired
    if not isinstance(found, queue.Admitted):
        # A driver that is created again while Kueue is not available still belongs to its queue.
        return placed(desired, name, {})
    within = placed(desired, name, found.placements)
    return limited(within, found.counts) if child in _HOLD_COLLECTORS else within


def update_if_different(child: Child, stored: Object, desired: Object) -> Iterator[Action]:
    why = child.difference(stored, desired)
    if why:
        yield Update(child.kind, desired, uid_of(stored), describe(child.kind, name_of(stored), why))


def delete(kind: Kind, name: str, uid: str, why: str, *, force: bool = False) -> Delete:
    return Delete(kind, name, uid, describe(kind, name, why), force=force)


def delete_pod(
    pod: Pod, why: str, *, force: bool = False, grace_seconds: int | None = None, announced: bool = True
) -> Delete:
    text = describe(POD, pod.name, why)
    return Delete(POD, pod.name, pod.uid, text, force=force, grace_seconds=grace_seconds, announced=announced)


def describe(kind: Kind, name: str, what: str) -> str:
    return f"{kind} {name}: {what}" if what else f"{kind} {name}"
