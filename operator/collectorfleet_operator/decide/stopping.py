"""Orderly stop of a driver with progress: the driver gets an order and ends after its batch. Pure.

Only a driver that runs and has delivered a batch gets the order. Any other driver has no progress to lose and is
deleted at once. If a changed spec replaces a driver, the driver may finish its batch without a deadline. If a driver
must free its pods, it has to finish within ``spec.progressDeadlineSeconds``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from collectorfleet_api import names
from collectorfleet_api.times import duration
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
from collectorfleet_operator.decide.rolling import pods_to_drain
from collectorfleet_operator.decide.situation import Situation, cached_per_situation


@dataclass(frozen=True)
class Stop:
    """Why a driver must end early. ``reason`` is the reason of the conditions until the driver has ended."""

    reason: Reason
    why: str  # a clause: "spec.suspend is true"
    frees_pods: bool = True  # no driver follows, and the operator deletes a driver that does not end in time
    is_recorded: bool = True  # the status has recorded the reason; before that, the driver is not ended
    is_waited_for: bool = True  # the driver may end its batch


@cached_per_situation
def stop_wanted(seen: Situation) -> Stop | None:
    """Return why the present driver must end, or None while it may continue."""
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
    if has_spec_to_roll_out(seen) and not only_workers_changed(seen) and not why_rollout_waits(seen):
        generation = seen.fleet.metadata.generation
        return Stop(Reason.UPDATING, f"generation {generation} of the spec replaces it", frees_pods=False)
    if _outlives_its_head(seen):
        return Stop(Reason.HEAD_STARTING, "its Ray head is being deleted", frees_pods=False)
    if driver_lost_its_raycluster(seen):
        return Stop(Reason.HEAD_STARTING, "its RayCluster was deleted", frees_pods=False, is_waited_for=False)
    return None


def _outlives_its_head(seen: Situation) -> bool:
    """Return whether the driver has lost its head, still works without the head, and has a run that can resume later.

    For a short time the collectors answer without the head, and a checkpoint needs no head. So a driver that gets an
    order to stop in this time loses nothing.
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
        return False  # the driver waits for the next head
    return _is_head_gone(seen)


def ends_for_lost_head(seen: Situation) -> bool:
    """Return whether the driver ends on request only because of its lost head.

    In this case, the next driver does not apply a spec change that the operator holds back.
    """
    stop = stop_wanted(seen)
    if stop is not None:
        return stop.reason is Reason.HEAD_STARTING
    return has_stopped(seen) and seen.present.spec.has_ray and _is_head_gone(seen)


def _is_head_gone(seen: Situation) -> bool:
    """Return whether the head of the present driver is gone or terminating."""
    # Under foreground deletion a RayCluster exists until its pods are gone.
    heads = not_terminating(seen.heads) if seen.is_usable(seen.cluster) else []
    requested = seen.stop_requested_at
    # The order stays if a new head appears, because the driver is not connected to that head. Kubernetes stores times
    # in whole seconds, so a head that was created in the same second as the order counts as new.
    return not heads or (
        requested is not None and all(head.created >= requested.replace(microsecond=0) for head in heads)
    )


def why_suspended_idle(seen: Situation) -> str:
    """Return the reason from the status if the operator suspended the fleet for its idle timeout, or an empty text."""
    found = recorded_condition(seen, ConditionType.SUSPENDED, Reason.IDLE_TIMEOUT)
    return found.message.partition(":")[0] if found is not None else ""


def has_spec_to_roll_out(seen: Situation) -> bool:
    """Return whether there is a valid changed spec that ``spec.updateStrategy`` rolls out."""
    is_rolling = seen.fleet.spec.update_strategy.type is UpdateStrategyType.ROLLING_UPDATE
    return is_rolling and seen.spec_is_held and not seen.problems


@cached_per_situation
def only_workers_changed(seen: Situation) -> bool:
    """Return whether the spec change affects only worker groups, and neither the driver nor the head."""
    return seen.is_usable(seen.job) and all(map(is_group, changed_parts(seen.job.hashes, seen.fleet.spec)))


def changed_pods(seen: Situation) -> str:
    """Return, in words, the pods that are affected if worker groups change."""
    changed = changed_parts(seen.job.hashes, seen.fleet.spec) if seen.is_usable(seen.job) else set()
    return "evaluator pods" if changed == {group_part(names.EVALUATOR_GROUP)} else "worker pods"


@cached_per_situation
def why_rollout_waits(seen: Situation) -> str:
    """Return why the rollout of a changed spec has to wait, or an empty text if the rollout can begin.

    The rollout waits if the next driver could not resume, so that the training progress would be lost.
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


@cached_per_situation
def has_stopped(seen: Situation) -> bool:
    """Return whether the present driver ended on request. Its pod shows this, or its Job if the pod is gone."""
    pod = seen.driver_pod
    ended = pod.exits.get(CONTAINER) if pod is not None else None
    if ended is not None:
        return ended.code == names.EXIT_STOPPED
    return seen.job is not None and f"exit code {names.EXIT_STOPPED} " in seen.job.failure


def restarts(seen: Situation, job: Job) -> int:
    """Return how often the driver was restarted under its present Job and the earlier Jobs of the run."""
    # A stop on request is not a restart. The last failure of a failed Job is not a restart either, because no driver
    # follows.
    return job.restarts_before + max(0, (job.failed_pods or 0) - (has_stopped(seen) or job.is_failed))


@cached_per_situation
def orders(seen: Situation) -> Orders | None:
    """Return the orders for the present driver with the time from which they apply, or None if there are none."""
    pod = seen.driver_pod
    if pod is None or why_ended_without_request(seen):
        return None
    if stop_wanted(seen) is not None:
        return Orders(driver=pod.name, stop_at_batch=True, since=seen.stop_requested_at or seen.now)
    drained = pods_to_drain(seen)
    if not drained:
        return None
    return Orders(driver=pod.name, drain_pods=drained, since=_drained_since(seen, drained) or seen.now)


def why_end(seen: Situation, stop: Stop) -> str:
    """Return why the Job is deleted now, for a driver that must end.

    Return an empty text while the operator waits for the driver.
    """
    if not stop.is_recorded:
        return ""
    if has_stopped(seen):
        return "its driver ended at the end of a batch"
    if not stop.is_waited_for:
        return "its driver cannot continue"
    not_asked = why_ended_without_request(seen)
    if not_asked:
        return not_asked
    return f"its driver {did_not_end(seen)}" if stop.frees_pods and is_overdue(seen) else ""


def is_overdue(seen: Situation) -> bool:
    """Return whether the driver has an order to stop and has not ended within ``spec.progressDeadlineSeconds``."""
    left = until_overdue(seen)
    return left is not None and left <= timedelta(0)


def did_not_end(seen: Situation) -> str:
    """Return a clause about an overdue driver."""
    return f"has not ended within {seen.fleet.spec.progress_deadline_seconds} s (spec.progressDeadlineSeconds)"


def until_overdue(seen: Situation) -> timedelta | None:
    """Return the time within which a driver with an order to stop must end, or None without such an order."""
    since = seen.stop_requested_at
    return since + duration(seen.fleet.spec.progress_deadline_seconds) - seen.now if since is not None else None


@cached_per_situation
def why_ended_without_request(seen: Situation) -> str:
    """Return why the present driver may be deleted without an order to stop.

    Return an empty text if the driver needs an order.
    """
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
