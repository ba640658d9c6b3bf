"""The facts of Kueue's Workload on which decisions depend, parsed once from each version of the stored object. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectorfleet_operator.children.workload import counts_of, pods_hash_of
from collectorfleet_operator.objects import (
    Object,
    controller_uid,
    has_condition,
    is_terminating,
    name_of,
    uid_of,
)

RESERVED = "QuotaReserved"
EVICTED = "Evicted"
ADMITTED = "Admitted"
PODS_READY = "PodsReady"


@dataclass(frozen=True)
class Assignment:
    """The flavors that Kueue assigned to one pod set, and the number of pods. None stands for all requested pods."""

    pod_set: str
    flavors: Sequence[str]
    count: int | None


@dataclass(frozen=True)
class PodSetUpdate:
    """The fields that an admission check adds to the pods of one pod set."""

    pod_set: str
    node_selector: Mapping[str, str]
    tolerations: Sequence[Object]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True)
class Workload:
    """The facts of a Workload.

    ``is_active`` is False after Kueue or a user deactivated the Workload: Kueue then ignores the Workload.

    ``requested`` has the requested number of pods by pod set. ``checks_not_ready`` has the name and message of each
    admission check that is not ready.
    """

    name: str
    uid: str
    controller: str | None
    is_terminating: bool
    queue: str
    is_active: bool
    is_reserved: bool
    is_admitted: bool
    is_evicted: bool
    says_pods_ready: bool
    reservation_message: str
    eviction_message: str
    requested: Mapping[str, int]
    pods_hash: str | None
    cluster_queue: str
    assignments: Sequence[Assignment]
    updates: Sequence[PodSetUpdate]
    checks_not_ready: Sequence[str]

    @property
    def flavors(self) -> set[str]:
        """Return the names of the ResourceFlavors that Kueue assigned."""
        return {flavor for one in self.assignments for flavor in one.flavors}

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of pods that have quota, by pod set."""
        return {**self.requested, **{one.pod_set: one.count for one in self.assignments if one.count is not None}}

    def is_quota_for(self, wanted: Object) -> bool:
        """Return whether the quota covers ``wanted``: a Workload with the same pod templates and no more pods."""
        want = counts_of(wanted)
        is_enough = self.requested.keys() == want.keys() and all(want[name] <= self.requested[name] for name in want)
        return is_enough and self.pods_hash == pods_hash_of(wanted)


def read_workload(stored: Object) -> Workload:
    """Return the facts of a stored Workload. Raises Python's own errors, such as KeyError, for a malformed object."""
    spec, status = stored.get("spec") or {}, stored.get("status") or {}
    admission, checks = status.get("admission") or {}, status.get("admissionChecks") or []
    return Workload(
        name=name_of(stored),
        uid=uid_of(stored),
        controller=controller_uid(stored),
        is_terminating=is_terminating(stored),
        queue=str(spec.get("queueName", "")),
        is_active=spec.get("active") is not False,
        is_reserved=has_condition(stored, RESERVED),
        is_admitted=has_condition(stored, ADMITTED),
        is_evicted=has_condition(stored, EVICTED),
        says_pods_ready=has_condition(stored, PODS_READY),
        reservation_message=message_of(stored, RESERVED),
        eviction_message=message_of(stored, EVICTED),
        requested=counts_of(stored),
        pods_hash=pods_hash_of(stored),
        cluster_queue=str(admission.get("clusterQueue", "")),
        assignments=[_assignment(one) for one in admission.get("podSetAssignments") or []],
        updates=[_update(one) for check in checks for one in check.get("podSetUpdates") or []],
        checks_not_ready=[
            f"{one['name']}: {one.get('message') or one['state']}" for one in checks if one["state"] != "Ready"
        ],
    )


def message_of(stored: Object, type_: str) -> str:
    return str(condition_of(stored, type_).get("message") or "")


def condition_of(stored: Object, type_: str) -> Object:
    """Return the stored condition of this type, or an empty mapping if there is none."""
    conditions = (stored.get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == type_), {})


def _assignment(one: Object) -> Assignment:
    flavors = dict.fromkeys(str(flavor) for flavor in (one.get("flavors") or {}).values())
    count = one.get("count")
    return Assignment(str(one["name"]), tuple(flavors), None if count is None else int(count))


def _update(one: Object) -> PodSetUpdate:
    return PodSetUpdate(
        str(one["name"]),
        dict(one.get("nodeSelector") or {}),
        tuple(one.get("tolerations") or []),
        dict(one.get("labels") or {}),
        dict(one.get("annotations") or {}),
    )
