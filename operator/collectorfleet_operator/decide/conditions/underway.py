"""The conditions of a fleet whose run is under way: what each child says, and what that adds up to. Pure."""

from __future__ import annotations

from datetime import datetime

from collectorfleet_api.conditions.collectors import collectors_available
from collectorfleet_api.conditions.condition import condition, is_true
from collectorfleet_api.conditions.outcome import Underway
from collectorfleet_api.conditions.summary import completed, ready, stalled
from collectorfleet_api.conditions.weights import weights_fresh
from collectorfleet_api.v1alpha1 import Condition, ConditionType, Reason
from collectorfleet_operator.decide.conditions.driver import driver_running
from collectorfleet_operator.decide.conditions.finding import Finding
from collectorfleet_operator.decide.conditions.raycluster import raycluster_ready
from collectorfleet_operator.decide.conditions.up_to_date import up_to_date
from collectorfleet_operator.decide.observed import Observed


def conditions_of(seen: Observed, run: Underway, now: datetime) -> list[Condition]:
    ray, driver = raycluster_ready(seen), driver_running(seen, run)
    collectors, weights = _collectors(seen, driver.condition), _weights(seen, driver.condition, now)
    is_ready = _ready(seen, run, ray, driver, collectors)
    is_stalled = _stalled(seen, run, ray, driver)
    return [
        is_ready,
        _reconciling(is_ready, is_stalled, collectors),
        is_stalled,
        ray.condition,
        driver.condition,
        collectors,
        weights,
        completed(run),
        up_to_date(seen),
    ]


def _collectors(seen: Observed, driver: Condition) -> Condition:
    if seen.report is not None and not is_true(driver):
        return condition(ConditionType.COLLECTORS_AVAILABLE, False, Reason.DRIVER_NOT_RUNNING, driver.message)
    return collectors_available(seen.present.spec, seen.report)


def _weights(seen: Observed, driver: Condition, now: datetime) -> Condition:
    if seen.report is not None and not is_true(driver):
        return condition(ConditionType.WEIGHTS_FRESH, None, Reason.DRIVER_NOT_RUNNING, driver.message)
    return weights_fresh(seen.present.spec, seen.report, now)


def _ready(seen: Observed, run: Underway, ray: Finding, driver: Finding, collectors: Condition) -> Condition:
    if seen.problems and not seen.spec_is_held:
        return condition(ConditionType.READY, False, Reason.INVALID_SPEC, "; ".join(seen.problems))
    required = [driver, Finding(collectors)]
    if not is_true(collectors):
        # A lost worker pod alone does not make a fleet unready, but it explains one that is.
        required.insert(0, ray)
    # A problem explains more than waiting: a driver that cannot pull its image before a head that starts.
    required.sort(key=lambda one: not one.problem)
    found = ready(run, [one.condition for one in required])
    return found.model_copy(update={"message": collectors.message}) if is_true(found) else found


def _stalled(seen: Observed, run: Underway, *children: Finding) -> Condition:
    if seen.problems and not seen.spec_is_held:
        return condition(ConditionType.STALLED, True, Reason.INVALID_SPEC, "; ".join(seen.problems))
    stuck = next((one.condition for one in children if one.needs_the_user), None)
    return condition(ConditionType.STALLED, True, stuck.reason, stuck.message) if stuck else stalled(run)


def _reconciling(ready: Condition, stalled: Condition, collectors: Condition) -> Condition:
    if is_true(stalled):
        return condition(ConditionType.RECONCILING, False, ready.reason, "nothing is on its way")
    if not is_true(ready):
        return condition(ConditionType.RECONCILING, True, ready.reason, ready.message)
    if collectors.reason != Reason.ALL_AVAILABLE:
        return condition(ConditionType.RECONCILING, True, collectors.reason, collectors.message)
    return condition(ConditionType.RECONCILING, False, Reason.ALL_AVAILABLE, "the fleet is as its spec asks")
