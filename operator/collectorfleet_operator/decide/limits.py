"""The limits in the spec: the deadlines end a run, and the idle timeout suspends a fleet. Pure.

The operator records an exceeded limit in the status before it deletes the Job. Without the Job, only the status has the
reason why the fleet does not run.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.times import duration
from collectorfleet_api.v1alpha1 import CollectorFleetStatus, Condition, ConditionType, DriverReport, Reason
from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.situation import Situation, cached_per_situation

CHECK_EVALUATION_AFTER: Final = timedelta(seconds=30)


@dataclass(frozen=True)
class Limit:
    """A limit of the run.

    ``at`` is the time from which the limit is exceeded, and ``text`` is a clause about the limit.
    """

    at: datetime
    text: str


def until_limit(seen: Situation) -> timedelta | None:
    """Return the time until the next limit is exceeded, or None if no limit lies ahead."""
    job = seen.job
    if not seen.is_usable(job):
        return None
    left = [limit.at - seen.now for limit in (*_deadlines(seen, job), *_idle(seen, job))]
    return min((one for one in left if one > timedelta(0)), default=None)


def until_idle_after_evaluation(seen: Situation) -> timedelta | None:
    """Return the time until the operator checks whether the evaluation has ended, or None if no fleet waits for this.

    The end of an evaluation triggers no reconcile. With it, the fleet may be idle.
    """
    job = seen.job
    if not seen.is_usable(job) or not _evaluates(seen):
        return None
    left = [limit.at - seen.now for limit in _without_batch(seen, job)]
    return next((one if one > timedelta(0) else CHECK_EVALUATION_AFTER for one in left), None)


def deadline_exceeded(seen: Situation) -> str:
    """Return a clause about the deadline that the present driver's Job has exceeded, or an empty text."""
    return _over(_deadlines(seen, seen.job), seen.now) if seen.is_usable(seen.job) else ""


def why_idle(seen: Situation) -> str:
    """Return a clause about the exceeded idle timeout, or an empty text if the timeout is not exceeded."""
    return _over(_idle(seen, seen.job), seen.now) if seen.is_usable(seen.job) else ""


def recorded_condition(seen: Situation, type_: ConditionType, reason: Reason) -> Condition | None:
    """Return the stored condition if it has this reason for the present generation of the spec, or else None."""
    found = seen.fleet.status.condition(type_) if seen.fleet.status else None
    if found is None or found.reason != reason or found.observed_generation != seen.fleet.metadata.generation:
        return None
    return found


@cached_per_situation
def until_stalled(seen: Situation) -> timedelta | None:
    """Return the time that ``spec.progressDeadlineSeconds`` leaves for the driver's first batch.

    Return None if the driver has delivered a batch. As with a Deployment, the operator reports a late fleet as stalled,
    but does not end it. Until the first batch of a run, all drivers of the Job share one deadline.
    """
    job, pod = seen.job, seen.driver_pod
    if not seen.is_usable(job) or has_delivered_itself(seen, job):
        return None
    began = pod.created if pod is not None and has_delivered(seen, job) else job.created
    return began + duration(seen.fleet.spec.progress_deadline_seconds) - seen.now


def is_stalled(seen: Situation) -> bool:
    left = until_stalled(seen)
    return left is not None and left <= timedelta(0)


def expires(seen: Situation) -> datetime | None:
    """Return when the Job and the other objects of an ended run are deleted.

    Return None if they are never deleted, or if the time is not known yet. Another client may have set
    ``ttlSecondsAfterFinished`` on the Job. Kubernetes then deletes the Job at that time.
    """
    job, ttl = seen.job, seen.fleet.spec.ttl_seconds_after_finished
    if job is None or not seen.is_ours(job):
        return _expires_without_job(seen.fleet.status, ttl)
    end = job.ended
    ttls = [ttl, job.ttl_seconds]
    lifetimes = [ttl for ttl in ttls if ttl is not None]
    return end + duration(min(lifetimes)) if end is not None and lifetimes else None


def _expires_without_job(status: CollectorFleetStatus | None, ttl: int | None) -> datetime | None:
    """Return the expiry from the status. Without an expiry there, count from the time at which the run completed.

    If a Job was deleted before its end, the status has no end time.
    """
    recorded_expiry = status.driver.expires if status is not None and status.driver is not None else None
    if recorded_expiry is not None or status is None:
        return recorded_expiry
    done = status.condition(ConditionType.COMPLETED)
    at = done.last_transition_time if done is not None and is_true(done) else None
    return at + duration(ttl) if at is not None and ttl is not None else None


def code_is_newer(seen: Situation) -> bool:
    """Return whether the code of a failed run has changed since the run began. The operator tries corrected code again.

    Kubernetes stores the change and the start of the run in whole seconds. If these times are equal, code and fleet
    were applied together, because no driver can start and fail within one second. The code then counts as unchanged.
    """
    if seen.is_usable(seen.job):
        began: datetime | None = seen.job.created
    else:
        driver = seen.fleet.status.driver if seen.fleet.status else None
        began = driver.start_time if driver is not None else None
    return began is not None and seen.code_changed_at is not None and seen.code_changed_at > began


def has_delivered(seen: Situation, job: Job) -> bool:
    """Return whether a driver of this run has delivered a batch, even if the driver's pod or Job is gone."""
    # A Job that a user suspends and resumes gets a new start time. Earlier batches still count.
    return _delivered_since(seen.last_report, min(job.run_began, job.created))


def has_delivered_itself(seen: Situation, job: Job) -> bool:
    """Return whether the present driver has delivered a batch.

    Until the present driver has a pod, all batches since the creation of its Job count.
    """
    pod = seen.driver_pod
    return _delivered_since(seen.report, job.created if pod is None else pod.created)


def _delivered_since(report: DriverReport | None, began: datetime) -> bool:
    """Return whether the report has a batch since ``began``.

    All drivers report in the same status fields. Until a new driver delivers a batch, these fields have the time of the
    previous driver's last batch.
    """
    progress = report.progress if report else None
    last = progress.last_batch_time if progress else None
    return last is not None and last >= began


def _deadlines(seen: Situation, job: Job) -> list[Limit]:
    spec, found = seen.fleet.spec, []
    if spec.active_deadline_seconds is not None:
        text = (
            f"the run did not finish within {spec.active_deadline_seconds} s (spec.activeDeadlineSeconds) of the "
            "driver's start"
        )
        # After the loss of a RayCluster or a node, the same run has another Job. The deadline counts from the first
        # Job.
        found.append(Limit(job.run_began + duration(spec.active_deadline_seconds), text))
    if spec.startup_deadline_seconds is not None and not has_delivered(seen, job):
        text = (
            f"the driver delivered no batch within {spec.startup_deadline_seconds} s (spec.startupDeadlineSeconds) "
            f"after Job {job.name} was created"
        )
        found.append(Limit(job.created + duration(spec.startup_deadline_seconds), text))
    return found


def _idle(seen: Situation, job: Job) -> list[Limit]:
    # A fleet that evaluates is not idle: the last version is evaluated after the last batch.
    return [] if _evaluates(seen) else _without_batch(seen, job)


def _evaluates(seen: Situation) -> bool:
    evaluation = seen.report.evaluation if seen.report else None
    return evaluation is not None and bool(evaluation.running_version or evaluation.awaited_version is not None)


def _without_batch(seen: Situation, job: Job) -> list[Limit]:
    seconds, progress = seen.fleet.spec.idle_timeout_seconds, seen.report.progress if seen.report else None
    if seconds is None or progress is None or progress.last_batch_time is None or not has_delivered_itself(seen, job):
        return []
    text = f"the driver handed out no batch for {seconds} s (spec.idleTimeoutSeconds)"
    return [Limit(progress.last_batch_time + duration(seconds), text)]


def _over(limits: list[Limit], now: datetime) -> str:
    return next((limit.text for limit in limits if limit.at <= now), "")
