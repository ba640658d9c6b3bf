"""The facts of a RayCluster on which decisions depend, parsed once from each version of the stored object. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collectorfleet_operator.children.group_sizes import size_of
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.worker_group import TEMPLATE_LABEL
from collectorfleet_operator.decide.pod_owner import PodOwner, read_owner
from collectorfleet_operator.objects import Object


@dataclass(frozen=True, slots=True)
class RayCluster(PodOwner):
    """The facts of a RayCluster. ``templates`` has the template label of each worker group, or None without a label."""

    templates: Mapping[str, str | None]


def read_raycluster(stored: Object) -> RayCluster:
    """Return the facts of a stored RayCluster. Raises Python's own errors, such as KeyError, for a malformed object.

    A foreign RayCluster of the same name may have no worker groups.
    """
    groups = (stored.get("spec") or {}).get("workerGroupSpecs") or []
    return RayCluster(
        **read_owner(RAYCLUSTER, stored),
        sizes={group["groupName"]: size_of(group) for group in groups},
        templates={group["groupName"]: _template_label(group) for group in groups},
    )


def _template_label(group: Object) -> str | None:
    labels = ((group.get("template") or {}).get("metadata") or {}).get("labels") or {}
    found: str | None = labels.get(TEMPLATE_LABEL)
    return found
