"""Every kind of object that a fleet becomes, in the order in which they are made.

A further kind is a file beside this one and a row here: what lists, watches, looks and plans goes by this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.diff import difference
from collectorfleet_operator.children.driver_job import JOB, driver_job
from collectorfleet_operator.children.group_sizes import cluster_difference, pods_text
from collectorfleet_operator.children.lease import LEASE, lease
from collectorfleet_operator.children.network_policy import NETWORK_POLICY, network_policy
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER, raycluster
from collectorfleet_operator.children.role import ROLE, role
from collectorfleet_operator.children.role_binding import ROLE_BINDING, role_binding
from collectorfleet_operator.children.service_account import SERVICE_ACCOUNT, service_account
from collectorfleet_operator.children.timeline import CONFIG_MAP, timeline
from collectorfleet_operator.children.workload import WORKLOAD, queue_of, workload
from collectorfleet_operator.objects import Key, Kind, Object


class News(Enum):
    """How the operator hears of the objects of a kind."""

    WATCHED = "at once, and by the complete lists what a watch missed"
    LISTED = "by the complete lists"
    LISTED_OFTEN = "by lists of their own, several times as often"


@dataclass(frozen=True)
class Child:
    """A row of the table.

    ``build`` makes the manifest; None where the fleet asks for no such child. ``difference`` says why a manifest is to
    be applied over what is stored, and is empty where it is not. ``summary`` is what people are told beside the name
    when it is made, and ``announced`` whether an Event tells them. ``provider`` brings the kind to Kubernetes, and may
    be missing; empty is Kubernetes itself. ``metadata_alone``: its content, which others write, is in no list.
    """

    kind: Kind
    name: Callable[[str], str]  # the child's, from the fleet's
    build: Callable[[CollectorFleet], Object | None]
    difference: Callable[[Object, Object], str] = difference
    summary: Callable[[Object], str] = lambda _: ""
    news: News = News.LISTED
    announced: bool = False
    metadata_alone: bool = False
    provider: str = ""

    def key(self, fleet: Key) -> Key:
        return Key(fleet.namespace, self.name(fleet.name))


def _immutable(_stored: Object, _asked: Object) -> str:
    return ""


_ROWS: Final = (
    # Only of a fleet with a queue, and before everything else of it.
    Child(
        WORKLOAD,
        names.workload_name,
        lambda fleet: workload(fleet) if queue_of(fleet) else None,
        summary=lambda made: f"waits in LocalQueue {made['spec']['queueName']}",
        news=News.WATCHED,
        announced=True,
        provider="Kueue",
    ),
    # In the order in which they are made: no pod runs before it is kept apart, and where a driver is refused, nothing
    # is to hold GPUs without one.
    Child(NETWORK_POLICY, names.network_policy_name, network_policy),
    Child(SERVICE_ACCOUNT, names.driver_name, service_account),
    Child(
        JOB,
        names.driver_name,
        driver_job,
        difference=_immutable,
        summary=lambda _: "the driver",
        news=News.WATCHED,
        announced=True,
    ),
    Child(
        RAYCLUSTER,
        names.cluster_name,
        raycluster,
        difference=cluster_difference,
        summary=pods_text,
        news=News.WATCHED,
        announced=True,
        provider="KubeRay",
    ),
    Child(ROLE, names.driver_name, role),
    Child(ROLE_BINDING, names.driver_name, role_binding),
    Child(LEASE, names.driver_name, lease, news=News.LISTED_OFTEN),
    Child(CONFIG_MAP, names.timeline_name, timeline, metadata_alone=True),
)
CHILDREN: Final[Mapping[Kind, Child]] = {row.kind: row for row in _ROWS}


def unmade(fleet: CollectorFleet) -> list[str]:
    """What a fleet asks for that no row makes, in sentences; a fleet without problems may still have some."""
    if fleet.spec.has_ray:
        return []
    why = "Job is for `collectorfleet run`, and the operator makes RayClusters only"
    return [f"spec.launcher: {why}; use RayCluster, with collection.transport ObjectStore"]


def manifests(fleet: CollectorFleet) -> dict[Kind, Object]:
    """The children that the fleet asks for, in the order in which they are made."""
    return {row.kind: made for row in _ROWS if (made := row.build(fleet)) is not None}


# With the fleets themselves and their pods, which KubeRay and the Job controller make.
WATCHED: Final = (FLEET, POD, *(row.kind for row in _ROWS if row.news is News.WATCHED))
LISTED: Final = (FLEET, POD, *(row.kind for row in _ROWS))
LISTED_OFTEN: Final = tuple(row.kind for row in _ROWS if row.news is News.LISTED_OFTEN)
METADATA_ALONE: Final = tuple(row.kind for row in _ROWS if row.metadata_alone)
# Kinds that somebody else brings, by who.
PROVIDERS: Final[Mapping[Kind, str]] = {row.kind: row.provider for row in _ROWS if row.provider}
