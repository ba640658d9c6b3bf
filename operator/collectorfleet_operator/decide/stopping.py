"""Ending a driver that has something to lose: it is asked to, and ends where its batch ends. Pure.

Only a driver that runs and has delivered a batch is asked. Any other driver loses nothing and is ended at once. A
driver that makes room for a changed spec has as much time as its batch takes. A driver that has to free its pods has
until its deadline.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import ConditionType, Orders, Reason, UpdateStrategyType
from collectorfleet_operator.children.driver_job import CONTAINER
from collectorfleet_operator.children.hashes import changed_parts, group_part, is_group
from collectorfleet_operator.decide.deleted_cluster import driver_lost_its_raycluster
from collectorfleet_operator.decide.heads import has_collectors
from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.limits import recorded_condition, why_idle
from collectorfleet_operator.decide.pods import not_terminating
from collectorfleet_operator.decide.queue import why_withdrawn
from collectorfleet_operator.decide.resuming import kept_at, resumes
from collectorfleet_operator.decide.rolling import to_drain
from collectorfleet_operator.decide.situation import Situation, once


@dataclass(frozen=True)
class Stop:
    """Why a driver is to end before its work is done; ``reason`` is what conditions say meanwhile."""

    reason: Reason
    why: str  # a clause: "spec.suspend is true"
    frees_pods: bool = True  # nothing takes its place, and a driver that does not end by itself is ended
    is_recorded: bool = True  # by the status; what it does not say yet is not carried out
    is_waited_for: bool = True  # the driver may end its batch


@once
def stop_wanted(seen: Situation) -> Stop | None:
    """Why the present driver is to end; None while it is to go on."""
    if not seen.is_usable(seen.job):
        return None
    if seen.fleet.spec.suspend:
        return Stop(Reason.SUSPENDING, "spec.suspend is true")
    withdrawn = why_withdrawn(seen)
    if withdrawn:
        return Stop(Reason.QUOTA_TAKEN_BACK, withdrawn)
    waits = why_suspended_idle(seen) or why_idle(seen)
    if waits:
        return Stop(Reason.IDLE_TIMEOUT, waits, is_recorded=bool(why_suspended_idle(seen)))
    if is_rolled(seen) and not only_workers_changed(seen) and not why_held(seen):
        generation = seen.fleet.metadata.generation
        return Stop(Reason.UPDATING, f"generation {generation} of the spec replaces it", frees_pods=False)
    if _outlives_its_head(seen):
        return Stop(Reason.HEAD_STARTING, "its Ray head is being deleted", frees_pods=False)
    if driver_lost_its_raycluster(seen):
        return Stop(Reason.HEAD_STARTING, "its RayCluster was deleted", frees_pods=False, is_waited_for=False)
    return None


def _outlives_its_head(seen: Situation) -> bool:
    """Whether a driver that could go on elsewhere still works, for the while that Ray does so without its head.

    Collectors answer it for that long, and a checkpoint needs no head: asked now, it loses nothing.
    """
    pod = seen.driver_pod
    if (
        pod is None
        or why_ended_without_request(seen)
        or not resumes(seen.present.spec)
        or not seen.present.spec.has_ray
    ):
        return False
    if seen.stop_requested_at is None and not has_collectors(seen):
        return False  # it waits for the next head
    return _head_went(seen)


def ends_for_lost_head(seen: Situation) -> bool:
    """Whether a driver ends, because it was asked to, for its head alone: a changed spec that is held stays so."""
    stop = stop_wanted(seen)
    if stop is not None:
        return stop.reason is Reason.HEAD_STARTING
    return has_stopped(seen) and seen.present.spec.has_ray and _head_went(seen)


def _head_went(seen: Situation) -> bool:
    """Whether there is no head that the present driver works with, or none since it was asked to end."""
    # A RayCluster that is deleted in the foreground goes after its pods.
    heads = not_terminating(seen.heads) if seen.is_usable(seen.cluster) else []
    requested = seen.stop_requested_at
    # An order stays, because a head that is made meanwhile is not the driver's own. The earliest time is the same
    # second, which is Kubernetes' resolution of times.
    return not heads or (
        requested is not None and all(head.created >= requested.replace(microsecond=0) for head in heads)
    )


def why_suspended_idle(seen: Situation) -> str:
    """Why the status says that the fleet is suspended although nobody asked for it; empty if it does not."""
    found = recorded_condition(seen, ConditionType.SUSPENDED, Reason.IDLE_TIMEOUT)
    return found.message.partition(":")[0] if found is not None else ""


def is_rolled(seen: Situation) -> bool:
    """Whether there is a changed spec that ``spec.updateStrategy`` says to carry out."""
    is_rolling = seen.fleet.spec.update_strategy.type is UpdateStrategyType.ROLLING_UPDATE
    return is_rolling and seen.spec_is_held and not seen.problems


@once
def only_workers_changed(seen: Situation) -> bool:
    """Whether what changed is nothing that the driver or the head is made from."""
    return seen.is_usable(seen.job) and all(map(is_group, changed_parts(seen.job.hashes, seen.fleet.spec)))


def changed_pods(seen: Situation) -> str:
    """Return in words which pods change where only pods of worker groups do."""
    changed = changed_parts(seen.job.hashes, seen.fleet.spec) if seen.is_usable(seen.job) else set()
    return "evaluator pods" if changed == {group_part(names.EVALUATOR_GROUP)} else "worker pods"


@once
def why_held(seen: Situation) -> str:
    """Why a changed spec waits although it is to be carried out; empty if it does not.

    What the driver has learned would be lost where the next one cannot go on from it.
    """
    if not seen.has_progress or only_workers_changed(seen):
        return ""
    runs, stored = seen.present.spec, seen.fleet.spec
    for spec, whose in ((runs, "the spec that runs"), (stored, "the changed spec")):
        if not resumes(spec):
            return f"{whose} has no driver.checkpoint"
    if kept_at(runs) != kept_at(stored):
        return "the changed spec has another claim or folder (driver.checkpoint, output.path)"
    failure = seen.report.checkpoint.failure if seen.report and seen.report.checkpoint else None
    return f"the newest checkpoint could not be written ({failure})" if failure else ""


@once
def has_stopped(seen: Situation) -> bool:
    """Whether the present driver ended because it was asked to; its Job still says so when its pod is gone."""
    pod = seen.driver_pod
    ended = pod.exits.get(CONTAINER) if pod is not None else None
    if ended is not None:
        return ended.code == names.EXIT_STOPPED
    return seen.job is not None and f"exit code {names.EXIT_STOPPED} " in seen.job.failure


def restarts(seen: Situation, job: Job) -> int:
    """How often the driver was started again under its Job and those before."""
    # One that ended because it was asked to is none, and neither is the last one, after which none comes.
    return job.restarts_before + max(0, (job.failed_pods or 0) - (has_stopped(seen) or job.is_failed))


@once
def orders(seen: Situation) -> Orders | None:
    """What the present driver is asked to do, and since when; None where it is asked nothing."""
    pod = seen.driver_pod
    if pod is None or why_ended_without_request(seen):
        return None
    if stop_wanted(seen) is not None:
        return Orders(driver=pod.name, stop_at_batch=True, since=seen.stop_requested_at or seen.now)
    drained = to_drain(seen)
    if not drained:
        return None
    return Orders(driver=pod.name, drain_pods=drained, since=_drained_since(seen, drained) or seen.now)


def why_end(seen: Situation, stop: Stop) -> str:
    """Why the Job of a driver that is to end is deleted now; empty while the driver is waited for."""
    if not stop.is_recorded:
        return ""
    if has_stopped(seen):
        return "its driver ended at the end of a batch"
    if not stop.is_waited_for:
        return "its driver would fail"
    not_asked = why_ended_without_request(seen)
    if not_asked:
        return not_asked
    return f"its driver {did_not_end(seen)}" if stop.frees_pods and is_overdue(seen) else ""


def is_overdue(seen: Situation) -> bool:
    """Whether the driver was asked to end, and has not within ``spec.progressDeadlineSeconds``."""
    left = until_overdue(seen)
    return left is not None and left <= timedelta(0)


def did_not_end(seen: Situation) -> str:
    """A clause about an overdue driver."""
    return f"has not ended within {seen.fleet.spec.progress_deadline_seconds} s (spec.progressDeadlineSeconds)"


def until_overdue(seen: Situation) -> timedelta | None:
    """How long the driver that is asked to end has left; None where none is asked."""
    since = seen.stop_requested_at
    return (
        since + timedelta(seconds=seen.fleet.spec.progress_deadline_seconds) - seen.now if since is not None else None
    )


@once
def why_ended_without_request(seen: Situation) -> str:
    """Why the present driver ends without being asked; empty where it is to be asked."""
    if seen.driver_phase != "Running":
        return "its driver does not run"
    if seen.driver_is_lost:
        return "its driver is lost: it does not renew its Lease"
    if not seen.has_progress:
        return "it has delivered no batch"
    return ""


def _drained_since(seen: Situation, drained: list[str]) -> datetime | None:
    before = seen.fleet.status.orders if seen.fleet.status else None
    return before.since if before is not None and before.drain_pods == drained else None
