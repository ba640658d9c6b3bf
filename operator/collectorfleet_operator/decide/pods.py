"""What pods say about themselves: whose they are, whether they are ready, and what keeps them from it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.times import parse_time
from collectorfleet_api.v1alpha1 import Reason
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.decide.asked import asked_for
from collectorfleet_operator.objects import Object, has_condition, label, metadata

# Kubernetes' words.
UNSCHEDULABLE: Final = "Unschedulable"
OOM_KILLED: Final = "OOMKilled"
CRASH_LOOP: Final = "CrashLoopBackOff"

_OVER: Final = ("Succeeded", "Failed")

# A container on its way; everything else that a container waits for is a problem.
_ON_ITS_WAY: Final = ("ContainerCreating", "PodInitializing")
# The kubelet swaps these two every few seconds while it retries; one name keeps conditions quiet.
_SAME: Final = {"ErrImagePull": "ImagePullBackOff"}


@dataclass(frozen=True)
class PodProblem:
    """Why a pod does not get ready: one word for machines, the words of Kubernetes for people."""

    reason: str
    message: str


@dataclass(frozen=True)
class Exit:
    """How a container ended."""

    code: int
    reason: str
    message: str


def of_role(pods: Iterable[Object], *roles: PodRole) -> list[Object]:
    return [pod for pod in pods if label(pod, names.ROLE_LABEL) in roles]


def is_ready(pod: Object) -> bool:
    return has_condition(pod, "Ready")


def phase_of(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase", "Pending"))


def newest(pods: Iterable[Object]) -> Object | None:
    return max(pods, key=lambda pod: str(metadata(pod).get("creationTimestamp", "")), default=None)


def exit_of(pod: Object, container: str) -> Exit | None:
    """How the container ended, if it did; its termination message is the last word of what ran in it."""
    for status in _statuses(pod):
        ended = status.get("state", {}).get("terminated")
        if status["name"] == container and ended:
            return Exit(int(ended["exitCode"]), ended.get("reason", ""), ended.get("message", ""))
    return None


def phase_by(pod: Object, container: str) -> str:
    """The phase that the pod would have without its other containers, which may go on when this one has ended."""
    ended = exit_of(pod, container)
    if ended is None:
        return phase_of(pod)
    return "Failed" if ended.code else "Succeeded"


def ended_at(pod: Object, container: str) -> datetime | None:
    """When the container ended, by the kubelet's clock; None if it has not, or nobody says when."""
    states = (status.get("state", {}) for status in _statuses(pod) if status["name"] == container)
    found = next((state["terminated"].get("finishedAt") for state in states if "terminated" in state), None)
    return parse_time(found)


def not_ended(pod: Object) -> list[str]:
    """The containers that the pod goes on for, by name: no init containers, whose sidecars end with all others."""
    if phase_of(pod) in _OVER:
        return []
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return [status["name"] for status in statuses if "terminated" not in (status.get("state") or {})]


def began_at(pod: Object, container: str) -> datetime | None:
    """When the container began, by the kubelet's clock; None if it does not run."""
    states = (status.get("state", {}) for status in _statuses(pod) if status["name"] == container)
    found = next((state["running"].get("startedAt") for state in states if "running" in state), None)
    return parse_time(found)


def has_not_been_ready(pod: Object) -> bool:
    """Whether a pod that is not ready has not been since its containers began, or one of them does not run."""
    status = pod.get("status") or {}
    states = [one.get("state") or {} for one in status.get("containerStatuses") or []]
    began = [str((state.get("running") or {}).get("startedAt") or "") for state in states]
    turned = next(
        (one.get("lastTransitionTime") for one in status.get("conditions") or [] if one["type"] == "Ready"), ""
    )
    # Both are the kubelet's times, to the second, in one format.
    return not began or not all(began) or not turned or str(turned) <= max(began)


def problem(pod: Object) -> PodProblem | None:
    """What keeps the pod from getting ready, if it is more than time."""
    status = pod.get("status") or {}
    if phase_of(pod) == "Failed" and status.get("reason"):
        return PodProblem(status["reason"], status.get("message", ""))
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition.get("reason") == UNSCHEDULABLE:
            return PodProblem(UNSCHEDULABLE, _fits_nowhere(pod, condition.get("message", "")))
    found = (_container_problem(pod, container) for container in _statuses(pod))
    return next((one for one in found if one is not None), None)


def common_problem(pods: Sequence[Object], what: str) -> PodProblem | None:
    """The commonest problem of some pods, with how many have it: ``3 of 4 worker pods: Back-off pulling image ...``."""
    found = [one for one in map(problem, pods) if one is not None]
    if not found:
        return None
    reason, count = Counter(one.reason for one in found).most_common(1)[0]
    message = next(one.message for one in found if one.reason == reason)
    return PodProblem(reason, f"{count} of {len(pods)} {what}: {message}")


def _fits_nowhere(pod: Object, scheduler_words: str) -> str:
    asked = asked_for(pod, scheduler_words)
    return f"asks for {asked}; {scheduler_words}" if asked else scheduler_words


def _container_problem(pod: Object, status: Object) -> PodProblem | None:
    state = status.get("state") or {}
    waiting, ended = state.get("waiting"), state.get("terminated")
    if ended and ended["exitCode"] != 0:
        return _ended(pod, status, ended)
    last = (status.get("lastState") or {}).get("terminated")
    if last and last["exitCode"] != 0 and not status.get("ready"):
        return _ended(pod, status, last)
    if waiting and waiting.get("reason", _ON_ITS_WAY[0]) not in _ON_ITS_WAY:
        reason = waiting["reason"]
        return PodProblem(_SAME.get(reason, reason), waiting.get("message") or f"container {status['name']}: {reason}")
    return None


def _ended(pod: Object, status: Object, ended: Object) -> PodProblem:
    name, restarts = status["name"], int(status.get("restartCount", 0))
    again = f", restarted {restarts} times" if restarts else ""
    if ended.get("reason") == OOM_KILLED:
        return PodProblem(OOM_KILLED, f"container {name} was killed at its memory limit of {_limit(pod, name)}{again}")
    said = f": {ended['message'].strip().splitlines()[0]}" if (ended.get("message") or "").strip() else ""
    reason = CRASH_LOOP if restarts else Reason.CONTAINER_FAILED
    return PodProblem(reason, f"container {name} ended with exit code {ended['exitCode']}{again}{said}")


def _limit(pod: Object, container: str) -> str:
    spec = pod.get("spec") or {}
    for one in [*spec.get("initContainers", []), *spec.get("containers", [])]:
        if one["name"] == container:
            return str(one.get("resources", {}).get("limits", {}).get("memory", "the node"))
    return "the node"


def _statuses(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
