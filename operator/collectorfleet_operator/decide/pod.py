"""The facts of a pod on which decisions depend. They are parsed once from each version of the stored object. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.times import parse_time
from collectorfleet_operator.children.collectors_job import INDEX_LABEL
from collectorfleet_operator.children.worker_group import GROUP_LABEL, template_label_of
from collectorfleet_operator.decide.pod_problem import PodProblem, problem
from collectorfleet_operator.objects import (
    Object,
    controller_uid,
    created_at,
    deleted_at,
    has_condition,
    is_terminating,
    label,
    metadata,
    name_of,
    turned_at,
    uid_of,
    why_unreadable,
)

_OVER: Final = ("Succeeded", "Failed")
_DELETED_WITH_NODE: Final = "DeletionByTaintManager"
# The kubelet's reason for an unready pod whose containers are all ready.
_GATES: Final = "ReadinessGatesNotReady"


@dataclass(frozen=True, slots=True)
class Exit:
    """How a container ended."""

    code: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Pod:
    """The facts of a pod.

    Times of containers come from the kubelet's clock. All other times come from the API server's clock.

    ``deleted`` is the time at which the grace period of a deletion ends. ``has_no_grace``: the pod was deleted with a
    grace period of 0. ``controller`` is the uid of the RayCluster or Job that made the pod. ``created_text`` is the
    creation time in Kubernetes' format. ``is_lost_with_node``: Kubernetes deletes the pod because its node is lost.
    ``is_node_silent``: Kubernetes marked the pod unready, although the kubelet's last report says that the pod is
    ready.

    ``was_never_ready``: the pod is not ready, and either a container does not run, or the pod has not been ready since
    its containers began. ``running_containers``: the containers that keep the pod running. Init containers and their
    sidecars do not count, because they end with the other containers. ``kubelet_message``: why the kubelet ended the
    pod.
    """

    name: str
    uid: str
    unreadable: str | None
    controller: str | None
    role: str
    group: str
    index: str
    template: str | None
    created: datetime
    created_text: str
    is_terminating: bool
    deleted: datetime
    grace_seconds: int
    has_no_grace: bool
    node: str
    phase: str
    is_ready: bool
    ready_turned: datetime | None
    is_disrupted: bool
    is_lost_with_node: bool
    is_node_silent: bool
    was_never_ready: bool
    problem: PodProblem | None
    kubelet_message: str
    exits: Mapping[str, Exit]
    ended: Mapping[str, datetime | None]
    began: Mapping[str, datetime | None]
    running_containers: tuple[str, ...]

    @property
    def is_over(self) -> bool:
        return self.phase in _OVER

    def phase_by(self, container: str) -> str:
        """Return the pod's phase as if ``container`` were its only container. Other containers may still run."""
        ended = self.exits.get(container)
        if ended is None:
            return self.phase
        return "Failed" if ended.code else "Succeeded"


def read_pod(stored: Object) -> Pod:
    """Return the facts of a stored pod. Raises Python's own errors, such as KeyError, for a malformed object."""
    status: Object = stored.get("status") or {}
    phase, is_ready = str(status.get("phase", "Pending")), has_condition(stored, "Ready")
    statuses: list[Object] = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    reason, message = status.get("reason"), status.get("message")
    return Pod(
        name=name_of(stored),
        uid=uid_of(stored),
        unreadable=why_unreadable(stored),
        controller=controller_uid(stored),
        role=label(stored, names.ROLE_LABEL) or "",
        group=label(stored, GROUP_LABEL) or "",
        index=label(stored, INDEX_LABEL) or "",
        template=template_label_of(stored),
        created=created_at(stored),
        created_text=str(metadata(stored).get("creationTimestamp", "")),
        is_terminating=is_terminating(stored),
        deleted=deleted_at(stored),
        grace_seconds=int(metadata(stored).get("deletionGracePeriodSeconds") or 0),
        has_no_grace=metadata(stored).get("deletionGracePeriodSeconds") == 0,
        node=str((stored.get("spec") or {}).get("nodeName", "?")),
        phase=phase,
        is_ready=is_ready,
        ready_turned=turned_at(stored, "Ready"),
        is_disrupted=has_condition(stored, "DisruptionTarget"),
        is_lost_with_node=_is_lost_with_node(stored, status),
        is_node_silent=_is_node_silent(status, is_ready=is_ready),
        was_never_ready=not is_ready and _has_not_been_ready(status),
        problem=problem(stored),
        kubelet_message=str(message) if reason and message else "",
        exits=_exits(statuses),
        ended=_times(statuses, "terminated", "finishedAt"),
        began=_times(statuses, "running", "startedAt"),
        running_containers=() if phase in _OVER else _not_ended(status),
    )


def _is_lost_with_node(stored: Object, status: Object) -> bool:
    return is_terminating(stored) and any(
        one["type"] == "DisruptionTarget" and one["status"] == "True" and one.get("reason") == _DELETED_WITH_NODE
        for one in status.get("conditions") or []
    )


def _is_node_silent(status: Object, *, is_ready: bool) -> bool:
    if is_ready or any(one.get("reason") == _GATES for one in status.get("conditions") or []):
        return False
    statuses = status.get("containerStatuses") or []
    return bool(statuses) and all(one.get("ready") for one in statuses)


def _has_not_been_ready(status: Object) -> bool:
    states = [one.get("state") or {} for one in status.get("containerStatuses") or []]
    began = [str((state.get("running") or {}).get("startedAt") or "") for state in states]
    turned = next(
        (one.get("lastTransitionTime") for one in status.get("conditions") or [] if one["type"] == "Ready"), ""
    )
    # Both times come from the kubelet, in whole seconds and in one format, so the code compares the texts.
    return not began or not all(began) or not turned or str(turned) <= max(began)


def _exits(statuses: list[Object]) -> dict[str, Exit]:
    """Return how each ended container ended, with its termination message. The keys are container names."""
    found: dict[str, Exit] = {}
    for status in statuses:
        ended = status.get("state", {}).get("terminated")
        if ended:
            exit_ = Exit(int(ended["exitCode"]), ended.get("reason", ""), ended.get("message", ""))
            found.setdefault(status["name"], exit_)
    return found


def _times(statuses: list[Object], state: str, field: str) -> dict[str, datetime | None]:
    """Return, by container name, the time of each container in this state, or None if the kubelet reports no time."""
    found: dict[str, datetime | None] = {}
    for status in statuses:
        if state in status.get("state", {}):
            found.setdefault(status["name"], parse_time(status["state"][state].get(field)))
    return found


def _not_ended(status: Object) -> tuple[str, ...]:
    statuses = status.get("containerStatuses") or []
    return tuple(one["name"] for one in statuses if "terminated" not in (one.get("state") or {}))
