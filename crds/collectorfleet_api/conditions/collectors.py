"""``CollectorsAvailable``: whether enough collectors have acknowledged weights, and why other collectors have not."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.conditions.causes import most_frequent_errors
from collectorfleet_api.conditions.condition import condition
from collectorfleet_api.v1alpha1.collectors_status import CollectorCounts, CollectorState
from collectorfleet_api.v1alpha1.condition import Condition
from collectorfleet_api.v1alpha1.progress_status import Progress
from collectorfleet_api.v1alpha1.reasons import ConditionType, Reason
from collectorfleet_api.v1alpha1.report import DriverReport
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

_TYPE: Final = ConditionType.COLLECTORS_AVAILABLE
_ON_THEIR_WAY: Final = (CollectorState.STARTING, CollectorState.JOINING)


def collectors_available(spec: CollectorFleetSpec, report: DriverReport | None) -> Condition:
    """Return the condition, which is True if at least ``minAvailable`` collectors have acknowledged weights."""
    progress = report.progress if report else None
    counts = progress.collectors if progress else None
    if report is None or progress is None or counts is None:
        return condition(_TYPE, None, Reason.NO_REPORT, "the driver has not reported its collectors yet")
    replicas = spec.collectors.replicas
    needed = spec.collectors.fewest_available
    have = f"{counts.available} of {replicas} collectors run acknowledged weights{_lacking(counts)}"
    if counts.available >= replicas:
        return condition(_TYPE, True, Reason.ALL_AVAILABLE, have)
    causes = most_frequent_errors(report.collectors)
    because = f"; {causes}" if causes else ""
    if counts.available >= needed:
        return condition(_TYPE, True, Reason.SOME_UNAVAILABLE, f"{have}{because}")
    starting = not causes and _are_starting(report, progress)
    reason = Reason.COLLECTORS_STARTING if starting else Reason.BELOW_MIN_AVAILABLE
    return condition(_TYPE, False, reason, f"{have}; minAvailable is {needed}{because}")


def _lacking(counts: CollectorCounts) -> str:
    """Return text such as `` (big 3 of 4)`` with the groups that lack collectors, or an empty text if no group does."""
    told = [f"{one.name} {one.available} of {one.desired}" for one in counts.groups if one.available < one.desired]
    return f" ({', '.join(told)})" if told else ""


def _are_starting(report: DriverReport, progress: Progress) -> bool:
    # The report has no row before the first collector starts.
    before_the_first = not (report.collectors or progress.batches)
    return before_the_first or any(one.state in _ON_THEIR_WAY for one in report.collectors)
