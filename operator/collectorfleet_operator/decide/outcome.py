"""Whether a fleet's run is over, and how it ended. Pure."""

from __future__ import annotations

from collectorfleet_api import names
from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.conditions.outcome import Completed, Failed, Outcome, Pending, Running
from collectorfleet_api.v1alpha1 import Condition, ConditionType, Reason
from collectorfleet_operator.children.driver_job import BACKOFF_LIMIT, CONTAINER
from collectorfleet_operator.decide import pods
from collectorfleet_operator.decide.observed import Observed
from collectorfleet_operator.objects import Object, has_condition


def outcome(seen: Observed) -> Outcome:
    """Told by the driver's pod and the Job; by the status where both are gone, so that tidying up starts nothing again.

    The Job says a second later what its pod says: a fleet that is done would look broken in between. A failed run is
    over until the spec changes or its Job is deleted: both say "try again".
    """
    job = seen.job
    if seen.is_usable(job):
        return _outcome_of(seen, job)
    before = _previous(seen)
    return Completed(before.message) if before is not None and is_true(before) else Pending()


def _outcome_of(seen: Observed, job: Object) -> Outcome:
    pod = seen.driver_pod
    if has_condition(job, "Complete") or (pod is not None and pods.phase_of(pod) == "Succeeded"):
        return Completed(_completed(seen))
    failed = has_condition(job, "Failed") or (pod is not None and _exit_code(pod) == names.EXIT_USER_ERROR)
    is_tried_again = seen.spec_is_held and not seen.problems
    return Failed(_failed(seen, job)) if failed and not is_tried_again else Running()


def _completed(seen: Observed) -> str:
    progress = seen.report.progress if seen.report else None
    frames = f" after {progress.frames_delivered} frames in {progress.batches} batches" if progress else ""
    return f"the driver finished{frames}; the RayCluster is deleted, Job {_job_name(seen)} is kept for its log"


def _failed(seen: Observed, job: Object) -> str:
    kept = (
        f"the RayCluster is deleted, Job {_job_name(seen)} and its pods are kept for their logs; to try again, change "
        "the spec, or delete the Job"
    )
    failed = [pod for pod in seen.belonging(seen.driver_pods, job) if pods.phase_of(pod) == "Failed"]
    last = pods.newest(failed)
    cause = first_line(last) if last is not None else None
    if cause is None:
        before = _previous(seen)
        if before is not None and before.reason == Reason.FAILED:
            return str(before.message)
        cause = _job_message(job)
    if last is not None and _exit_code(last) == names.EXIT_USER_ERROR:
        return f"{cause}; {kept}"
    # Kubernetes may have removed pods that failed earlier.
    failures = int(job["status"].get("failed", len(failed)))
    return f"the driver failed {failures} times (backoffLimit is {BACKOFF_LIMIT}), the last time: {cause}; {kept}"


def first_line(pod: Object) -> str | None:
    """Why a driver pod ended: the first line of its last words, or what Kubernetes says about it."""
    ended = pods.exit_of(pod, CONTAINER)
    if ended is not None and ended.message.strip() and ended.reason != pods.OOM_KILLED:
        lines = ended.message.strip().splitlines()
        # A driver that could not say a last word leaves the end of its log: a traceback names its error at the end.
        return lines[-1] if lines[0].startswith("Traceback ") else lines[0]
    found = pods.problem(pod)
    return found.message if found else None


def _exit_code(pod: Object) -> int | None:
    ended = pods.exit_of(pod, CONTAINER)
    return ended.code if ended else None


def _job_message(job: Object) -> str:
    found: Object = next((one for one in job["status"]["conditions"] if one["type"] == "Failed"), {})
    return str(found.get("message") or found.get("reason") or "the driver left no message")


def _previous(seen: Observed) -> Condition | None:
    before = seen.fleet.status
    return before.condition(ConditionType.COMPLETED) if before else None


def _job_name(seen: Observed) -> str:
    return names.driver_name(seen.fleet.metadata.name)
