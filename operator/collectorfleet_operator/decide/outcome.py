"""The state of a fleet's run: pending, running, suspended, completed or failed, and why. Pure."""

from __future__ import annotations

import re
import signal
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.conditions.condition import is_true
from collectorfleet_api.conditions.evaluations import describe_unfinished_evaluations
from collectorfleet_api.conditions.outcome import Completed, Failed, Outcome, Pending, Running, Suspended
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import Condition, ConditionType, Reason, WhenFinished
from collectorfleet_operator.children.driver_job import CONTAINER
from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.leftover_containers import ENDS_WITHIN, describe_leftovers
from collectorfleet_operator.decide.limits import deadline_exceeded, expires, recorded_condition
from collectorfleet_operator.decide.pod import Exit, Pod
from collectorfleet_operator.decide.pod_problem import OOM_KILLED
from collectorfleet_operator.decide.pods import newest
from collectorfleet_operator.decide.retry import recorded_failure, why_tried_again
from collectorfleet_operator.decide.situation import Situation, cached_per_situation
from collectorfleet_operator.decide.stopping import has_stopped, why_suspended_idle

# If a signal ends a process, the exit code is 128 plus the number of the signal.
_KILLED: Final = 128
# If one of these signals ends a process, the process cannot write a reason. Its last output is about its work, not
# about its end.
_KILL_SIGNALS: Final = {_KILLED + one: one.name for one in (signal.SIGKILL, signal.SIGTERM)}
_STACK: Final = re.compile(r"\s*(@|#\d|\*\*\*|0x|/|\)|\[failure_signal_handler|File \")")
# Ray's C++ code prints such a line before it ends the process. It ends the process by a signal, or with exit code 1, as
# Python does. The parentheses have the name of a symbol. It has no parentheses, so the search needs linear time.
_NATIVE: Final = re.compile(r"\*\*\* StackTrace|\.so[\d.]*\([^()]*\) \[0x")
_TROUBLE: Final = re.compile(r"error|fatal|fail|lost|abort|killed", re.IGNORECASE)
# A driver that ends with one of these exit codes writes a message. Other exit codes come from the user's code or from
# Ray.
_OF_DRIVERS: Final = (names.EXIT_INFRASTRUCTURE, names.EXIT_USER_ERROR, names.EXIT_STOPPED)
_TRACEBACK: Final = "Traceback (most recent call last)"
_LATER: Final = f"{ENDS_WITHIN.seconds} s after the driver's end"
_KEPT_JOB: Final = re.compile(r", Job \S+ (is kept for its log|and its pods are kept for their logs)")
_KEPT_CLUSTER: Final = re.compile(r"; the (RayCluster|collectors' Job) is kept \(spec\.whenFinished\)")
_WITHOUT_A_JOB: Final = "set spec.suspend to true and back"


@cached_per_situation
def outcome(seen: Situation) -> Outcome:
    """Return the state of the run from the driver's pod and its Job, or from the status if both are gone.

    The status counts too, so that the deletion of the Job does not start another run. The pod takes precedence over the
    Job, because the Job ends a second later. Otherwise, a completed fleet would look broken in this second.

    The module ``retry`` decides whether a failed run is tried again. A suspended and resumed fleet is also tried again.
    """
    job = seen.job
    if seen.is_usable(job):
        return _outcome_of(seen, job)
    before = _previous(seen)
    if before is not None and is_true(before):
        return Completed(_without_deleted(seen, before.message))
    if seen.fleet.spec.suspend or why_suspended_idle(seen):
        return Suspended()
    failed = recorded_failure(seen)
    if failed is not None and not why_tried_again(seen):
        return Failed(_without_deleted(seen, failed.message), Reason(failed.reason))
    return Pending()


def _outcome_of(seen: Situation, job: Job) -> Outcome:
    pod, before = seen.driver_pod, _previous(seen)
    if job.is_complete or seen.driver_phase == "Succeeded":
        return Completed(_completed(seen))
    if before is not None and is_true(before):
        # The driver completed. Another container of its pod failed, or the pod was deleted before all containers ended.
        return Completed(before.message)
    if seen.fleet.spec.suspend or has_stopped(seen):
        return Running()
    failed = job.is_failed or (pod is not None and _exit_code(pod) == names.EXIT_USER_ERROR)
    if failed:
        return Running() if why_tried_again(seen) else Failed(_failed(seen, job))
    late = _late(seen)
    return Failed(late, Reason.DEADLINE_EXCEEDED) if late else Running()


def is_recorded(seen: Situation) -> bool:
    """Return whether the stored status has the completion of the run. The operator may then delete the Job."""
    before = _previous(seen)
    return before is not None and is_true(before)


def _late(seen: Situation) -> str:
    """Return which deadline is exceeded and why the fleet was not Ready, or an empty text if none is exceeded."""
    before = recorded_condition(seen, ConditionType.COMPLETED, Reason.DEADLINE_EXCEEDED)
    if before is not None:
        return before.message
    exceeded = deadline_exceeded(seen)
    if not exceeded:
        return ""
    is_ready = seen.fleet.status.condition(ConditionType.READY) if seen.fleet.status else None
    because = f": {is_ready.message}" if is_ready is not None and not is_true(is_ready) else ""
    return f"{exceeded}{because}; the driver is deleted; {_try_again(seen, _WITHOUT_A_JOB)}"


def _completed(seen: Situation) -> str:
    progress = seen.report.progress if seen.report else None
    frames = ""
    if progress is not None:
        batches = counted(progress.batches, "batch", "batches")
        frames = f" after {counted(progress.frames_delivered, 'frame')} in {batches}"
    runs_on = describe_leftovers(seen.driver_pod) if seen.driver_pod is not None else ""
    log = f"is deleted {_LATER}: {runs_on}" if runs_on else "is kept for its log"
    evaluations = _unfinished_evaluations(seen)
    return f"the driver finished{frames}{evaluations}; {_cluster(seen)}, Job {_job_name(seen)} {log}"


def _unfinished_evaluations(seen: Situation) -> str:
    evaluation = seen.present.spec.evaluation
    has_goal = evaluation is not None and evaluation.stop_when is not None
    found = describe_unfinished_evaluations(seen.report, has_goal=has_goal)
    return f"; {found}" if found else ""


def _failed(seen: Situation, job: Job) -> str:
    again = _try_again(seen, _WITHOUT_A_JOB if expires(seen) is not None else "delete the Job")
    kept = f"{_cluster(seen)}, Job {_job_name(seen)} and its pods are kept for their logs{_runs_on(seen)}; {again}"
    # A container's status shows the failure a moment before the pod's status does. For an evicted pod, only the pod's
    # status shows the failure.
    own = seen.belonging(seen.driver_pods, job)
    failed = [pod for pod in own if _exit_code(pod) or pod.phase == "Failed"]
    last = newest(failed)
    cause = first_line(last) if last is not None else None
    if cause is None:
        before = _previous(seen)
        if before is not None and before.reason == Reason.FAILED:
            return str(before.message)
        cause = job.failure or "the driver left no message"
    if last is not None and _exit_code(last) == names.EXIT_USER_ERROR:
        return f"{cause}; {kept}"
    # Kubernetes may have removed pods that failed earlier.
    failures = len(failed) if job.failed_pods is None else job.failed_pods
    times = counted(failures, "time")
    return f"the driver failed {times} (backoffLimit is {job.backoff_limit}); last error: {cause}; {kept}"


def _runs_on(seen: Situation) -> str:
    found = describe_leftovers(seen.driver_pod) if seen.driver_pod is not None else ""
    return f"; {found}, and the pod is deleted {_LATER}" if found else ""


def _cluster(seen: Situation) -> str:
    kept = seen.fleet.spec.when_finished is WhenFinished.KEEP
    what = seen.cluster_in_words
    return f"the {what} is kept (spec.whenFinished)" if kept else f"the {what} is deleted"


def _without_deleted(seen: Situation, message: str) -> str:
    """Return a recorded message without its clauses about kept objects that no longer exist."""
    if seen.job is not None and seen.is_ours(seen.job):
        return message
    without_job = _KEPT_JOB.sub("", message)
    return without_job if any(map(seen.is_ours, seen.clusters)) else _KEPT_CLUSTER.sub("", without_job)


def _try_again(seen: Situation, other: str) -> str:
    code = seen.fleet.spec.code
    change = f"change the spec or ConfigMap {code.config_map}" if code and code.config_map else "change the spec"
    return f"to try again, {change}, or {other}"


def first_line(pod: Pod) -> str | None:
    """Return why a driver pod ended: the first line of its message, or else the reason from Kubernetes, or None."""
    ended = _ended(pod)
    if ended is not None and ended.message.strip() and ended.reason != OOM_KILLED:
        # If the kubelet ends a pod, it writes the reason into the pod's status, for example that the node has no free
        # memory.
        return (ended.code in _KILL_SIGNALS and pod.kubelet_message) or _last_words(ended)
    return pod.problem.message if pod.problem else None


def _last_words(ended: Exit) -> str:
    """Return the final message of a driver.

    For a killed driver, Kubernetes stores the end of the driver's log instead of a message.
    """
    lines = ended.message.strip().splitlines()
    if ended.code in _KILL_SIGNALS:
        return f"its process was ended by {_KILL_SIGNALS[ended.code]}; the last line of its log: {lines[-1]}"
    aborted = any(_NATIVE.search(line) for line in lines)
    if ended.code < _KILLED and not aborted:
        is_message = ended.code in _OF_DRIVERS and _is_message(ended.message, lines)
        return lines[0] if is_message else _of_log(ended.code, lines)
    # A process that aborts prints its stack after its error.
    messages = [line for line in lines if not _STACK.match(line)]
    if aborted and not messages:
        code = f"with exit code {ended.code}; its log has the reason above the stack"
        return f"its process crashed in native code, {code}"
    messages = messages or lines
    error = next((line for line in reversed(messages) if _TROUBLE.search(line)), None)
    return error.strip() if error else f"{_aborted(ended.code)}; the last line of its log: {messages[-1].strip()}"


def _aborted(code: int) -> str:
    signals = {_KILLED + one: one.name for one in signal.Signals}
    how = f"by {signals[code]}" if code in signals else f"with exit code {code}"
    return f"its process was ended {how} without an error message"


def _is_message(text: str, lines: list[str]) -> bool:
    """Return whether the text is a driver's message.

    Any other text is the end of a log, which may begin within a line.
    """
    if len(lines) == 1:
        # A log ends with a line break, a message does not. A driver that cannot start prints an error to its log.
        return not text.endswith("\n") or lines[0].startswith("error: ")
    # Messages of drivers from earlier releases have no blank line before the traceback.
    return not lines[1].strip() or lines[1].startswith(_TRACEBACK)


def _of_log(code: int, lines: list[str]) -> str:
    """Return the exception at the end of a log. Without one, return a sentence with exit code and last line."""
    begins = [number for number, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    error = [line for line in lines[begins[-1] + 1 :] if not line.startswith((" ", "\t"))] if begins else []
    if error:
        return error[0].strip()
    return f"it ended with exit code {code} and without an exception; the last line of its log: {lines[-1].strip()}"


def _exit_code(pod: Pod) -> int | None:
    ended = _ended(pod)
    return ended.code if ended else None


def _ended(pod: Pod) -> Exit | None:
    """Return how the code's init container ended if it failed, or else how the driver's container ended."""
    code = pod.exits.get(names.CODE_CONTAINER)
    return code if code is not None and code.code != 0 else pod.exits.get(CONTAINER)


def _previous(seen: Situation) -> Condition | None:
    before = seen.fleet.status
    return before.condition(ConditionType.COMPLETED) if before else None


def _job_name(seen: Situation) -> str:
    return names.driver_name(seen.fleet.metadata.name)
