"""What the driver makes of the fleet as the API server stores it. Pure."""

from __future__ import annotations

from typing import Final

from collectorfleet.errors import InvalidOption
from collectorfleet.pod.objects import Object
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.run.exit import FleetGone
from collectorfleet_api.rules.followed import as_run
from collectorfleet_api.v1alpha1 import (
    CollectorCounts,
    CollectorFleet,
    CollectorState,
    CollectorStatus,
    DriverReport,
    Progress,
    WeightsStatus,
    course,
)

MOST_ROWS: Final = 100  # of a status
# Of a driver that runs, and of no other.
_GONE: Final = {"frames_per_second": None, "driver_idle_ratio": None, "collector_idle_ratio": None}


def checked_fleet(stored: Object, settings: DriverSettings) -> CollectorFleet:
    """The fleet that this driver runs: the spec that it was started with, and what it follows of the stored one.

    Raises FleetGone if the stored fleet is another one, InvalidOption with every problem of the spec.
    """
    check_uid(stored, settings)
    fleet = as_run(stored, settings.spec)
    if isinstance(fleet, list):
        raise InvalidOption("; ".join(str(problem) for problem in fleet))
    return fleet


def check_uid(stored: Object, settings: DriverSettings) -> None:
    """Raises FleetGone if another fleet has the name now."""
    uid = stored["metadata"]["uid"]
    if uid != settings.uid:
        raise FleetGone(
            f"{settings.fleet} was replaced: this driver belongs to uid {settings.uid}, and it has {uid} now"
        )


def is_told_to_stop(stored: Object, pod: str) -> bool:
    """Whether the operator asks this very driver to end where its batch ends."""
    orders = (stored.get("status") or {}).get("orders") or {}
    return orders.get("driver") == pod and bool(orders.get("stopAtBatch"))


def pods_to_drain(stored: Object, pod: str) -> frozenset[str]:
    """The worker pods that the operator asks this very driver to leave."""
    orders = (stored.get("status") or {}).get("orders") or {}
    return frozenset(orders.get("drainPods") or ()) if orders.get("driver") == pod else frozenset()


def last_report(fleet: CollectorFleet) -> DriverReport | None:
    """What the driver before this one said last; None for the first driver of this fleet."""
    previous = fleet.status
    if previous is None or previous.fleet_uid != fleet.metadata.uid or previous.driver_incarnation is None:
        return None
    return previous


def starting_report(replicas: int, before: DriverReport | None) -> DriverReport:
    """The report of a driver whose collectors do not exist yet: what was true of ``before`` still is."""
    counts = CollectorCounts(desired=replicas, available=0, summary=f"0/{replicas}")
    rows = [CollectorStatus(name=f"c{i}", state=CollectorState.STARTING) for i in range(min(replicas, MOST_ROWS))]
    if before is None:
        return DriverReport(progress=Progress(collectors=counts), collectors=rows)
    progress = _at_rest(before.progress or Progress(), counts)
    # The next driver has to know, should this one be lost before its first version.
    weights = before.weights and WeightsStatus(published=before.weights.published)
    return DriverReport(progress=progress, weights=weights, checkpoint=before.checkpoint, collectors=rows)


def final_report(report: DriverReport) -> DriverReport:
    """``report`` once its driver has ended: how far it came stays true, and there are no collectors any more."""
    progress = report.progress
    if progress is None:
        return report.model_copy(update={"driver_ended": True})
    counts = progress.collectors and progress.collectors.model_copy(
        update={"available": 0, "summary": f"0/{progress.collectors.desired}"}
    )
    rows = [
        row if row.state is CollectorState.FAILED else row.model_copy(update={"state": CollectorState.RETIRED})
        for row in report.collectors
    ]
    now = {"progress": _at_rest(progress, counts), "collectors": rows, "driver_ended": True}
    return report.model_copy(update=now)


def _at_rest(progress: Progress, collectors: CollectorCounts | None) -> Progress:
    """How far a driver came that runs no more."""
    summary = course.summary(progress.frames_delivered, progress.total_frames, None)
    return progress.model_copy(update={**_GONE, "summary": summary, "collectors": collectors})
