"""The problem that keeps a pod from becoming ready, unless the pod only needs more time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import Reason
from collectorfleet_operator.decide.requested import insufficient_requests
from collectorfleet_operator.objects import Object

# Reasons that Kubernetes writes.
UNSCHEDULABLE: Final = "Unschedulable"
OOM_KILLED: Final = "OOMKilled"
CRASH_LOOP: Final = "CrashLoopBackOff"

# With these reasons a container is starting. Every other reason to wait is a problem.
_ON_ITS_WAY: Final = ("ContainerCreating", "PodInitializing")
# The kubelet alternates between these two reasons while it retries. With one name for both reasons, the conditions do
# not change.
_SAME: Final = {"ErrImagePull": "ImagePullBackOff"}


@dataclass(frozen=True, slots=True)
class PodProblem:
    """Why a pod does not become ready: a reason for programs, and the message of Kubernetes for users."""

    reason: str
    message: str


def problem(pod: Object) -> PodProblem | None:
    """Return the problem that keeps the pod from becoming ready, or None if the pod only needs time."""
    status = pod.get("status") or {}
    if status.get("phase") == "Failed" and status.get("reason"):
        return PodProblem(status["reason"], status.get("message", ""))
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition.get("reason") == UNSCHEDULABLE:
            return PodProblem(UNSCHEDULABLE, _fits_nowhere(pod, condition.get("message", "")))
    found = (_container_problem(pod, container) for container in _statuses(pod))
    return next((one for one in found if one is not None), None)


def _fits_nowhere(pod: Object, scheduler_words: str) -> str:
    requests = insufficient_requests(pod, scheduler_words)
    return f"the pod requests {requests}; {scheduler_words}" if requests else scheduler_words


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
    again = f", restarted {counted(restarts, 'time')}" if restarts else ""
    if ended.get("reason") == OOM_KILLED:
        return PodProblem(OOM_KILLED, f"container {name} was killed at its memory limit of {_limit(pod, name)}{again}")
    last_words = f": {ended['message'].strip().splitlines()[0]}" if (ended.get("message") or "").strip() else ""
    reason = CRASH_LOOP if restarts else Reason.CONTAINER_FAILED
    return PodProblem(reason, f"container {name} ended with exit code {ended['exitCode']}{again}{last_words}")


def _limit(pod: Object, container: str) -> str:
    spec = pod.get("spec") or {}
    for one in [*spec.get("initContainers", []), *spec.get("containers", [])]:
        if one["name"] == container:
            return str(one.get("resources", {}).get("limits", {}).get("memory", "the node"))
    return "the node"


def _statuses(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
