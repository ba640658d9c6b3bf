"""Selection of the status changes that become Kubernetes Events. Each change becomes one Event. Pure.

An Event's name is computed from the change. If an operator is killed before it writes the status, the next operator
creates the same Event again. The API server then stores only one of the two Events.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import (
    Condition,
    ConditionStatus,
    ConditionType,
    OperatorStatus,
    Reason,
)
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.objects import Key, Kind, Object

EVENT: Final = Kind("v1", "Event", "events")

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

# The API server refuses longer messages.
_LONGEST_MESSAGE: Final = 1024

# If one of these conditions becomes true, the reason of the Event is the condition's type.
_GOOD: Final = (
    ConditionType.RAY_CLUSTER_READY,
    ConditionType.COLLECTORS_JOB_READY,
    ConditionType.DRIVER_RUNNING,
    ConditionType.COLLECTORS_AVAILABLE,
    ConditionType.COMPLETED,
    ConditionType.SUSPENDED,
    ConditionType.ADMITTED,
)
_AT_THE_END: Final = (Reason.COMPLETED, Reason.FAILED, Reason.SUSPENDING, Reason.SUSPENDED, Reason.IDLE_TIMEOUT)
# These reasons are part of every run. If a condition gets another reason, the operator writes an Event.
_ORDINARY: Final[Mapping[str, Collection[str]]] = {
    ConditionType.RAY_CLUSTER_READY: (
        *(Reason.PENDING, Reason.HEAD_PENDING, Reason.HEAD_STARTING, Reason.WORKERS_STARTING),
        *(Reason.WAITING_FOR_DELETION, *_AT_THE_END),
    ),
    ConditionType.COLLECTORS_JOB_READY: (
        *(Reason.PENDING, Reason.WORKERS_STARTING, Reason.WAITING_FOR_DELETION, *_AT_THE_END),
    ),
    ConditionType.DRIVER_RUNNING: (Reason.PENDING, Reason.STARTING, Reason.WAITING_FOR_DELETION, *_AT_THE_END),
    ConditionType.COLLECTORS_AVAILABLE: (Reason.COLLECTORS_STARTING, Reason.DRIVER_NOT_RUNNING, *_AT_THE_END),
    ConditionType.WEIGHTS_FRESH: _AT_THE_END,
    ConditionType.UP_TO_DATE: (Reason.UP_TO_DATE, Reason.PENDING, *_AT_THE_END),
    # RayClusterReady reports a missing KubeRay.
    ConditionType.STALLED: (Reason.PROGRESSING, Reason.KUBERAY_MISSING),
}


# Progress of a spec change or of a queued fleet is a Normal Event, not a Warning.
_WAITING_OR_CARRIED_OUT: Final = (
    *(Reason.RESTART_NEEDED, Reason.CHECKPOINT_NEEDED, Reason.UPDATING),
    *(Reason.WAITING_FOR_QUOTA, Reason.QUOTA_TAKEN_BACK, Reason.ADMITTED_FOR_FEWER),
)


@dataclass(frozen=True)
class Change:
    """A change of a fleet. Reports of the same change have the same ``identity``."""

    type: str
    reason: str
    message: str
    identity: str


def condition_changes(before: list[Condition], after: OperatorStatus) -> list[Change]:
    """Return the changes between two sets of conditions."""
    old = {condition.type: condition for condition in before}
    changes = [change for new in after.conditions for change in _changes(old.get(new.type), new)]
    # Several conditions may have the same reason and message.
    return list({(change.reason, change.message): change for change in reversed(changes)}.values())[::-1]


def made(why: str, uid: str) -> Change:
    """Return the change for a created child."""
    return Change(NORMAL, Reason.CREATED, why, f"made {uid}")


def deleted(why: str, uid: str) -> Change:
    """Return the change for a deleted child."""
    return Change(NORMAL, Reason.DELETED, why, f"deleted {uid}")


def ignored(pod: Pod) -> Change:
    """Return the change for a pod that has the label of a fleet but no controller."""
    text = (
        f"pod {pod.name} has label {names.FLEET_LABEL} and no controller, so the operator ignores the pod; remove the "
        "label"
    )
    return Change(WARNING, Reason.POD_IGNORED, text, f"ignored {pod.uid}")


def _changes(old: Condition | None, new: Condition) -> Iterator[Change]:
    if old is not None and (old.status, old.reason) == (new.status, new.reason):
        return
    since = old.last_transition_time.isoformat() if old and old.last_transition_time else ""
    identity = f"{new.type} {since} {old.reason if old else ''} {new.status} {new.reason} {new.observed_generation}"
    if new.type in _GOOD and new.status is ConditionStatus.TRUE:
        if old is None or old.status is not ConditionStatus.TRUE:
            yield Change(NORMAL, new.type, new.message, identity)
    elif new.reason in _WAITING_OR_CARRIED_OUT:
        yield Change(NORMAL, new.reason, new.message, identity)
    elif new.reason not in _ORDINARY.get(new.type, (new.reason,)) and _is_bad(new):
        yield Change(WARNING, new.reason, new.message, identity)


def _is_bad(condition: Condition) -> bool:
    bad = ConditionStatus.TRUE if condition.type == ConditionType.STALLED else ConditionStatus.FALSE
    return condition.status is bad


def event(key: Key, uid: str, change: Change, now: datetime) -> Object:
    """Return the Event object about the change of the fleet that has this uid."""
    name = key.name
    digest = hashlib.sha256(f"{uid} {change.identity}".encode()).hexdigest()[:16]
    time = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {"name": f"{name}.{digest}", "namespace": key.namespace},
        "involvedObject": {
            "apiVersion": FLEET.api_version,
            "kind": FLEET.kind,
            "name": name,
            "namespace": key.namespace,
            "uid": uid,
        },
        "type": change.type,
        "reason": change.reason,
        "message": change.message[:_LONGEST_MESSAGE],
        "count": 1,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "source": {"component": names.OPERATOR_MANAGER},
        "reportingComponent": names.OPERATOR_MANAGER,
    }
