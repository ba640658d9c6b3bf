"""``WeightsFresh``: whether collectors apply the published weights, and batches stay within the staleness bound."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from collectorfleet_api.conditions.causes import LONGEST_CAUSE
from collectorfleet_api.conditions.condition import condition
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1.condition import Condition
from collectorfleet_api.v1alpha1.reasons import ConditionType, Reason
from collectorfleet_api.v1alpha1.report import DriverReport
from collectorfleet_api.v1alpha1.weights_status import WeightsStatus

# How long collectors may take to acknowledge a version. A collector ends its rollout before it applies weights.
ACKNOWLEDGE_WITHIN: Final = timedelta(seconds=60)

_TYPE: Final = ConditionType.WEIGHTS_FRESH


def weights_fresh(report: DriverReport | None, now: datetime) -> Condition:
    """Return WeightsFresh, which is Unknown until a version is published and acknowledged.

    If the condition is False, the message names the version, the bound or the collector.
    """
    weights = report.weights if report else None
    if weights is None or weights.published is None:
        return condition(_TYPE, None, Reason.NOT_PUBLISHED, "the driver has not reported published weights yet")
    wrong = _too_stale(weights) or _not_applied(weights) or _late(weights, now)
    if wrong is not None:
        return wrong
    if weights.acknowledged is None:
        text = "no version is acknowledged by every available collector yet"
        return condition(_TYPE, None, Reason.NOT_ACKNOWLEDGED, text)
    text = f"published weights are acknowledged within {ACKNOWLEDGE_WITHIN.seconds} s; status.weights has the versions"
    return condition(_TYPE, True, Reason.ACKNOWLEDGED, text)


def acknowledgement_late_from(weights: WeightsStatus) -> datetime | None:
    """Return when the acknowledgement of the published version becomes late.

    Return None if no acknowledgement is missing.
    """
    if weights.last_publish_time is None or weights.acknowledged == weights.published:
        return None
    return weights.last_publish_time + ACKNOWLEDGE_WITHIN


def _too_stale(weights: WeightsStatus) -> Condition | None:
    # Read the bound from the report: a script may set it, and a changed spec applies only to the next driver.
    bound, stalest = weights.staleness.bound, weights.staleness.max
    if bound is None or stalest is None or stalest <= bound:
        return None
    text = f"a batch was {counted(stalest, 'version')} stale; the bound is {bound}"
    return condition(_TYPE, False, Reason.STALENESS_BOUND_EXCEEDED, text)


def _not_applied(weights: WeightsStatus) -> Condition | None:
    failure = weights.last_failure
    if failure is None or failure.version <= (weights.acknowledged or 0):
        return None
    text = f"{failure.collector} could not apply version {failure.version}: {failure.message[:LONGEST_CAUSE]}"
    return condition(_TYPE, False, Reason.WEIGHT_UPDATE_FAILED, text)


def _late(weights: WeightsStatus, now: datetime) -> Condition | None:
    late_from = acknowledgement_late_from(weights)
    if late_from is None or now < late_from:
        return None
    last = (
        "no version is acknowledged by all of them"
        if weights.acknowledged is None
        else f"the last version that all of them acknowledged is {weights.acknowledged}"
    )
    text = (
        f"not all available collectors acknowledged version {weights.published} within {ACKNOWLEDGE_WITHIN.seconds} s; "
        f"{last}"
    )
    return condition(_TYPE, False, Reason.ACKNOWLEDGEMENT_LATE, text)
