"""The condition ``DriverRunning``, from the driver's pod and the time since the driver's Lease changed. Pure."""

from __future__ import annotations

from typing import Final, assert_never

from collectorfleet_api import names
from collectorfleet_api.conditions.condition import condition
from collectorfleet_api.conditions.outcome import Pending, Running, Underway
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import ConditionType, Reason
from collectorfleet_operator.decide.conditions.child_suspended import why_suspended
from collectorfleet_operator.decide.conditions.finding import Finding, not_written, problem_finding, waiting
from collectorfleet_operator.decide.deleted_driver import is_uncounted
from collectorfleet_operator.decide.driver_lost import LOST_AFTER, TAKES_LEASE_WITHIN, is_driver_lost
from collectorfleet_operator.decide.hung import how_it_is_replaced
from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.leftover_containers import ENDS_WITHIN, describe_leftovers
from collectorfleet_operator.decide.outcome import first_line
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pod_problem import UNSCHEDULABLE
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.warnings import newest_about

_TYPE: Final = ConditionType.DRIVER_RUNNING


def driver_running(seen: Situation, run: Underway) -> Finding:
    refused = next((one for one in seen.refused if not one.holds_collectors), None)
    if refused is not None and not _pod_runs(seen):
        return not_written(_TYPE, refused)
    job = seen.job
    if job is None or job.is_orphan:
        return waiting(_TYPE, Reason.PENDING, _why_no_job(seen))
    match run:
        case Pending():
            text = f"Job {job.name} of an earlier run is being deleted"
            return waiting(_TYPE, Reason.WAITING_FOR_DELETION, text)
        case Running():
            return _driver(seen, job)
        case _:
            assert_never(run)


def _pod_runs(seen: Situation) -> bool:
    """Return whether a driver pod runs. Writes that were refused after the pod's start do not stop the pod."""
    return seen.driver_pod is not None and seen.driver_pod.phase == "Running"


def _why_no_job(seen: Situation) -> str:
    left = seen.leftovers(seen.driver_pods, None)
    if left:
        return f"driver pod {left[0].name} of an earlier run is being deleted"
    return f"the driver's Job is created together with the {seen.cluster_in_words}"


def _driver(seen: Situation, job: Job) -> Finding:
    pod = seen.driver_pod
    if pod is None:
        return _no_pod(seen, job)
    if pod.is_lost_with_node:
        text = f"driver pod {pod.name} is lost with node {pod.node}; the next driver pod starts on another node"
        return problem_finding(_TYPE, Reason.NODE_LOST, text)
    match seen.driver_phase:
        case "Running":
            return _running(seen, pod)
        case "Failed":
            return _failed(job, pod)
        case _:
            return _starting(seen, pod)


def _no_pod(seen: Situation, job: Job) -> Finding:
    suspended = why_suspended(job)
    if suspended:
        return problem_finding(_TYPE, Reason.CHILD_SUSPENDED, suspended)
    warned = newest_about(seen, (job.uid,), _TYPE)
    if warned:
        return problem_finding(_TYPE, warned.reason, warned.message)
    return waiting(_TYPE, Reason.PENDING, f"Job {job.name} has no pod yet")


def _running(seen: Situation, pod: Pod) -> Finding:
    if seen.driver_is_lost:
        return problem_finding(_TYPE, Reason.DRIVER_LOST, _lost(seen, pod))
    return Finding(condition(_TYPE, True, Reason.RUNNING, f"driver pod {pod.name} runs{_what_is_lost(seen)}"))


def _lost(seen: Situation, pod: Pod) -> str:
    lease = f"Lease {names.driver_name(seen.fleet.metadata.name)}"
    if is_driver_lost(seen.lease_unchanged_for):
        what = f"has not renewed {lease} for more than {LOST_AFTER.seconds} s"
    else:
        what = f"has run for {TAKES_LEASE_WITHIN.seconds} s without {lease}"
    return f"driver pod {pod.name} {what}: it hangs or cannot reach the API server; {how_it_is_replaced(seen)}"


def _what_is_lost(seen: Situation) -> str:
    report, spec = seen.report, seen.present.spec
    if report is None or report.progress is None or (report.driver_incarnation or 1) == 1:
        return ""
    counts = report.progress.collectors
    if counts is None or not counts.available:
        # Before a driver has collectors, its report repeats the losses that the previous driver reported.
        return f"; this is the fleet's driver number {report.driver_incarnation}"
    frames = counted(report.progress.frames_lost, "frame")
    lost = f"; this is the fleet's driver number {report.driver_incarnation}, and earlier drivers lost {frames}"
    if report.progress.replay_buffer_frames_lost:
        frames = counted(report.progress.replay_buffer_frames_lost, "frame")
        lost += f", and {frames} of the replay buffer"
    starts_over = spec.driver.checkpoint is None and spec.output is None
    return f"{lost}: the driver started over, because spec.driver.checkpoint is not set" if starts_over else lost


def _failed(job: Job, pod: Pod) -> Finding:
    if is_uncounted(pod):
        text = f"driver pod {pod.name} was deleted or evicted, and the next driver pod is about to start"
        return waiting(_TYPE, Reason.STARTING, f"{text} (spec.backoffLimit does not count this loss)")
    failures = 1 if job.failed_pods is None else job.failed_pods
    cause = first_line(pod) or "the driver left no message"
    text = f"driver pod {pod.name} failed ({failures} of {job.backoff_limit + 1} tries): {cause}"
    runs_on = describe_leftovers(pod)
    if runs_on:
        text += f"; {runs_on}; the pod is deleted {ENDS_WITHIN.seconds} s after the driver's end, for the next try"
    return problem_finding(_TYPE, Reason.RESTARTING, text)


def _starting(seen: Situation, pod: Pod) -> Finding:
    found = pod.problem
    if found is not None:
        reason = Reason.DRIVER_UNSCHEDULABLE if found.reason == UNSCHEDULABLE else found.reason
        return problem_finding(_TYPE, reason, f"driver pod {pod.name}: {found.message}")
    warned = newest_about(seen, (pod.uid,), _TYPE)
    if warned:
        return problem_finding(_TYPE, warned.reason, f"driver pod {pod.name}: {warned.message}")
    return waiting(_TYPE, Reason.STARTING, f"driver pod {pod.name} is starting")
