"""The conditions of a fleet whose run is under way: one for each child, and the summary conditions. Pure."""

from __future__ import annotations

from datetime import timedelta

from collectorfleet_api.conditions.collectors import collectors_available
from collectorfleet_api.conditions.condition import condition, is_true
from collectorfleet_api.conditions.evaluations import describe_last_evaluation
from collectorfleet_api.conditions.outcome import Underway
from collectorfleet_api.conditions.summary import completed, ready, stalled
from collectorfleet_api.conditions.weights import weights_fresh
from collectorfleet_api.v1alpha1 import Condition, ConditionType, Reason
from collectorfleet_operator.decide.conditions.admitted import admitted
from collectorfleet_operator.decide.conditions.collectors_job import collectors_job_ready
from collectorfleet_operator.decide.conditions.driver import driver_running
from collectorfleet_operator.decide.conditions.finding import Finding
from collectorfleet_operator.decide.conditions.raycluster import raycluster_ready
from collectorfleet_operator.decide.conditions.suspended import not_suspended, suspending
from collectorfleet_operator.decide.conditions.up_to_date import up_to_date
from collectorfleet_operator.decide.limits import is_stalled
from collectorfleet_operator.decide.rolling import until_overdue
from collectorfleet_operator.decide.silent_nodes import report_without_silent_nodes
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.stopping import did_not_end, is_overdue, orders, stop_wanted


def conditions_of(seen: Situation, run: Underway) -> list[Condition]:
    cluster = raycluster_ready(seen) if seen.present.spec.has_ray else collectors_job_ready(seen)
    driver = driver_running(seen, run)
    collectors, weights = _collectors(seen, driver.condition), _weights(seen, driver.condition)
    is_suspended, is_up_to_date = _suspended(seen), up_to_date(seen)
    quota = admitted(seen)
    is_ready = _ready(seen, run, cluster, driver, collectors, quota)
    if is_suspended.reason != Reason.NOT_SUSPENDED:
        is_ready = condition(ConditionType.READY, False, is_suspended.reason, is_suspended.message)
    is_stalled = _stalled(seen, run, is_ready, cluster, driver, *([quota] if quota else []))
    return [
        is_ready,
        _reconciling(seen, is_ready, is_stalled, is_up_to_date, collectors),
        is_stalled,
        cluster.condition,
        driver.condition,
        collectors,
        weights,
        completed(run),
        is_up_to_date,
        is_suspended,
        *([quota.condition] if quota else []),
    ]


def _collectors(seen: Situation, driver: Condition) -> Condition:
    if seen.report is not None and seen.report.driver_ended and is_true(driver):
        # The driver's pod is about to report its end. Until then the collectors do not count as missing.
        before = seen.fleet.status.condition(ConditionType.COLLECTORS_AVAILABLE) if seen.fleet.status else None
        if before is not None:
            return before
    if seen.report is not None and not is_true(driver):
        return condition(ConditionType.COLLECTORS_AVAILABLE, False, Reason.DRIVER_NOT_RUNNING, driver.message)
    return collectors_available(seen.present.spec, report_without_silent_nodes(seen))


def _weights(seen: Situation, driver: Condition) -> Condition:
    if seen.report is not None and not is_true(driver):
        return condition(ConditionType.WEIGHTS_FRESH, None, Reason.DRIVER_NOT_RUNNING, driver.message)
    return weights_fresh(seen.report, seen.now)


def _ready(
    seen: Situation, run: Underway, cluster: Finding, driver: Finding, collectors: Condition, quota: Finding | None
) -> Condition:
    if seen.problems and not seen.spec_is_held:
        return condition(ConditionType.READY, False, Reason.INVALID_SPEC, "; ".join(seen.problems))
    required = [driver, Finding(collectors)]
    if cluster.is_needed and not (is_true(collectors) and seen.is_usable(seen.cluster)):
        # A lost worker pod alone does not make a fleet unready. But if the fleet is unready, the lost pod explains why.
        required.insert(0, cluster)
    # Problems come first: a driver pod with a failed image pull explains more than a starting head.
    required.sort(key=lambda one: not one.problem)
    if quota is not None and quota.condition.reason != Reason.NOT_QUEUED:
        # Quota comes first, because a fleet without quota has no pods.
        required.insert(0, quota)
    found = ready(run, [one.condition for one in required])
    if not is_true(found):
        return found
    if not seen.has_progress:
        text = f"{collectors.message}; the driver has not delivered a batch yet"
        return condition(ConditionType.READY, False, Reason.FIRST_BATCH_PENDING, text)
    return found.model_copy(update={"message": _last_evaluation(seen, cluster) or collectors.message})


def _last_evaluation(seen: Situation, cluster: Finding) -> str:
    """Return in words that the driver waits for its last evaluation, or an empty text if it does not wait."""
    # Pods of evaluators are the only pods that ready collectors do not need.
    why = "" if cluster.is_needed else cluster.condition.message
    seconds = seen.present.spec.collectors.first_request_timeout_seconds
    return describe_last_evaluation(seen.report, why_not_ready=why, most_seconds=seconds)


def _suspended(seen: Situation) -> Condition:
    stop = stop_wanted(seen)
    return suspending(seen, stop) if stop is not None and stop.frees_pods else not_suspended()


def _stalled(seen: Situation, run: Underway, ready: Condition, *children: Finding) -> Condition:
    if seen.problems and not seen.spec_is_held:
        return condition(ConditionType.STALLED, True, Reason.INVALID_SPEC, "; ".join(seen.problems))
    stuck = next((one.condition for one in children if one.needs_the_user), None)
    if stuck is not None:
        return condition(ConditionType.STALLED, True, stuck.reason, stuck.message)
    # If the children work, no other condition reports that the API server refused to change them.
    refused = next((one for one in seen.refused if not one.is_retried), None)
    if refused is not None:
        return condition(ConditionType.STALLED, True, refused.reason, refused.message)
    late = _late(seen, ready)
    return condition(ConditionType.STALLED, True, Reason.PROGRESS_DEADLINE_EXCEEDED, late) if late else stalled(run)


def _late(seen: Situation, ready: Condition) -> str:
    """Return in words what exceeds ``spec.progressDeadlineSeconds``, or an empty text if nothing does."""
    if is_stalled(seen):
        seconds = seen.fleet.spec.progress_deadline_seconds
        return (
            f"the driver delivered no batch within {seconds} s of its start (spec.progressDeadlineSeconds): "
            f"{ready.message}"
        )
    left = until_overdue(seen, orders(seen))
    if left is not None and left <= timedelta(0):
        seconds = seen.fleet.spec.progress_deadline_seconds
        return (
            f"pods of the old template remain, and no pod was replaced for {seconds} s (spec.progressDeadlineSeconds)"
        )
    if stop_wanted(seen) is not None and is_overdue(seen):
        return f"the operator asked the driver to end after its batch, but the driver {did_not_end(seen)}"
    return ""


def _reconciling(
    seen: Situation, ready: Condition, stalled: Condition, up_to_date: Condition, collectors: Condition
) -> Condition:
    if is_true(stalled):
        return condition(ConditionType.RECONCILING, False, ready.reason, "no change is in progress")
    if not is_true(ready):
        return condition(ConditionType.RECONCILING, True, ready.reason, ready.message)
    retried = next((one for one in seen.refused if one.is_retried), None)
    if retried is not None:
        return condition(ConditionType.RECONCILING, True, retried.reason, retried.message)
    if up_to_date.reason == Reason.UPDATING:
        return condition(ConditionType.RECONCILING, True, Reason.UPDATING, up_to_date.message)
    if collectors.reason != Reason.ALL_AVAILABLE:
        return condition(ConditionType.RECONCILING, True, collectors.reason, collectors.message)
    return condition(ConditionType.RECONCILING, False, Reason.ALL_AVAILABLE, "the fleet matches its spec")
