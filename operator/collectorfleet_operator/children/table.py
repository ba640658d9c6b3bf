"""The table of all children that the operator creates for a fleet, in the order of their creation.

To add a child, add a file beside this one and a row here. Lists, watches, observations and plans use this table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.collectors_job import collectors_job
from collectorfleet_operator.children.diff import difference
from collectorfleet_operator.children.driver_job import JOB, driver_job
from collectorfleet_operator.children.driver_service import SERVICE, driver_service
from collectorfleet_operator.children.group_sizes import cluster_difference, job_difference, pods_text
from collectorfleet_operator.children.lease import LEASE, lease
from collectorfleet_operator.children.network_policy import NETWORK_POLICY, network_policy
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER, raycluster
from collectorfleet_operator.children.role import ROLE, role
from collectorfleet_operator.children.role_binding import ROLE_BINDING, role_binding
from collectorfleet_operator.children.service_account import SERVICE_ACCOUNT, service_account
from collectorfleet_operator.children.timeline import CONFIG_MAP, timeline
from collectorfleet_operator.children.workload import NEWEST_KUEUE, WORKLOAD, queue_of, workload
from collectorfleet_operator.objects import Key, Kind, Object


class ChangeSource(Enum):
    """How the operator learns about changes of the objects of a kind."""

    WATCHED = "at once, and by the complete lists what a watch missed"
    LISTED = "by the complete lists"
    LISTED_OFTEN = "by lists of their own, several times as often"


@dataclass(frozen=True, eq=False)
class Child:
    """A row of the table. Rows are compared by identity: a fleet may have two children of one kind.

    ``build`` returns the manifest, or None if the fleet needs no such child. ``difference`` returns why the manifest
    must be applied over the stored object, or an empty text if the two match. ``summary`` describes a created child in
    logs and Events. ``announced``: the operator writes an Event when it creates or deletes the child.

    ``provider`` is the optional add-on that installs the kind, such as KubeRay. It is empty for Kubernetes' own kinds.
    ``metadata_alone``: the operator lists only the metadata, because other clients write the content.
    """

    kind: Kind
    name: Callable[[str], str]  # returns the child's name from the fleet's name
    build: Callable[[CollectorFleet], Object | None]
    difference: Callable[[Object, Object], str] = difference
    summary: Callable[[Object], str] = lambda _: ""
    change_source: ChangeSource = ChangeSource.LISTED
    announced: bool = False
    metadata_alone: bool = False
    provider: str = ""

    def key(self, fleet: Key) -> Key:
        return Key(fleet.namespace, self.name(fleet.name))

    def __str__(self) -> str:
        return f"{self.kind} {self.name('FLEET')}"


def _immutable(_stored: Object, _asked: Object) -> str:
    return ""


# Only a fleet with a queue has a Workload. The Workload is created before the other children.
WORKLOAD_CHILD: Final = Child(
    WORKLOAD,
    names.workload_name,
    lambda fleet: workload(fleet, NEWEST_KUEUE) if queue_of(fleet) else None,
    summary=lambda made: f"waits in LocalQueue {made['spec']['queueName']}",
    change_source=ChangeSource.WATCHED,
    announced=True,
    provider="Kueue",
)
DRIVER_CHILD: Final = Child(
    JOB,
    names.driver_name,
    driver_job,
    difference=_immutable,
    summary=lambda _: "the driver",
    change_source=ChangeSource.WATCHED,
    announced=True,
)
RAYCLUSTER_CHILD: Final = Child(
    RAYCLUSTER,
    names.cluster_name,
    lambda fleet: raycluster(fleet) if fleet.spec.has_ray else None,
    difference=cluster_difference,
    summary=pods_text,
    change_source=ChangeSource.WATCHED,
    announced=True,
    provider="KubeRay",
)
COLLECTORS_CHILD: Final = Child(
    JOB,
    names.collectors_name,
    lambda fleet: None if fleet.spec.has_ray else collectors_job(fleet),
    difference=job_difference,
    summary=pods_text,
    change_source=ChangeSource.WATCHED,
    announced=True,
)
LEASE_CHILD: Final = Child(LEASE, names.driver_name, lease, change_source=ChangeSource.LISTED_OFTEN)

# In the order of creation. The NetworkPolicy exists before any pod. The driver's Job comes before the collectors: if
# the API server refuses the Job, no collector pod occupies GPUs without a driver.
CHILDREN: Final = (
    WORKLOAD_CHILD,
    Child(NETWORK_POLICY, names.network_policy_name, network_policy),
    Child(SERVICE_ACCOUNT, names.driver_name, service_account),
    DRIVER_CHILD,
    RAYCLUSTER_CHILD,
    Child(SERVICE, names.driver_name, lambda fleet: None if fleet.spec.has_ray else driver_service(fleet)),
    COLLECTORS_CHILD,
    # The operator watches Roles and RoleBindings: a driver without its rights cannot report or renew its Lease.
    Child(ROLE, names.driver_name, role, change_source=ChangeSource.WATCHED),
    Child(ROLE_BINDING, names.driver_name, role_binding, change_source=ChangeSource.WATCHED),
    LEASE_CHILD,
    Child(CONFIG_MAP, names.timeline_name, timeline, metadata_alone=True),
)


def child_named(kind: Kind, name: str, fleet: str) -> Child | None:
    """Return the row of the child with this kind and name in the fleet named ``fleet``, or None if there is no row."""
    return next((row for row in CHILDREN if row.kind == kind and row.name(fleet) == name), None)


def manifests(fleet: CollectorFleet) -> dict[Child, Object]:
    """Return the manifests of the fleet's children, in the order of their creation."""
    return {row: made for row in CHILDREN if (made := row.build(fleet)) is not None}


def _kinds(rows: Iterable[Child]) -> tuple[Kind, ...]:
    """Return the kinds of these rows, without duplicates."""
    return tuple(dict.fromkeys(row.kind for row in rows))


# This includes the fleets themselves, and their pods, which KubeRay and the Job controller make.
WATCHED: Final = (FLEET, POD, *_kinds(row for row in CHILDREN if row.change_source is ChangeSource.WATCHED))
LISTED: Final = (FLEET, POD, *_kinds(CHILDREN))
LISTED_OFTEN: Final = _kinds(row for row in CHILDREN if row.change_source is ChangeSource.LISTED_OFTEN)
METADATA_ALONE: Final = _kinds(row for row in CHILDREN if row.metadata_alone)
# The add-on that installs each kind that is not Kubernetes' own.
PROVIDERS: Final[Mapping[Kind, str]] = {row.kind: row.provider for row in CHILDREN if row.provider}
