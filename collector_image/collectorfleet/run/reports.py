"""Build the reports of a driver before it has collectors, and after its end. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from collectorfleet_api.v1alpha1 import (
    CollectorCounts,
    CollectorState,
    CollectorStatus,
    DriverReport,
    GroupCounts,
    Progress,
    WeightsStatus,
    run_progress,
)
from collectorfleet_api.v1alpha1.collectors_status import groups_summary

MOST_ROWS: Final = 100  # rows of collectors in a status
# Only a running driver has these values.
_GONE: Final = {"frames_per_second": None, "driver_idle_ratio": None, "collector_idle_ratio": None}


def starting_report(replicas: int, before: DriverReport | None) -> DriverReport:
    """Return the report of a driver without collectors. Copy progress, checkpoint and version from ``before``."""
    counts = CollectorCounts(desired=replicas, available=0, summary=f"0/{replicas}")
    rows = [CollectorStatus(name=f"c{i}", state=CollectorState.STARTING) for i in range(min(replicas, MOST_ROWS))]
    if before is None:
        return DriverReport(progress=Progress(collectors=counts), collectors=rows)
    progress = _at_rest(before.progress or Progress(), counts)
    # The next driver needs the version if this driver is lost before its first publish.
    weights = before.weights and WeightsStatus(published=before.weights.published)
    return DriverReport(progress=progress, weights=weights, checkpoint=before.checkpoint, collectors=rows)


def final_report(report: DriverReport) -> DriverReport:
    """Return ``report`` for a driver that has ended: with the same progress, and without available collectors."""
    progress = report.progress
    if progress is None:
        return report.model_copy(update={"driver_ended": True})
    counts = progress.collectors and progress.collectors.model_copy(
        update={"available": 0, "summary": f"0/{progress.collectors.desired}", **_none_of(progress.collectors.groups)}
    )
    rows = [
        row if row.state is CollectorState.FAILED else row.model_copy(update={"state": CollectorState.RETIRED})
        for row in report.collectors
    ]
    now = {"progress": _at_rest(progress, counts), "collectors": rows, "driver_ended": True}
    return report.model_copy(update=now)


def _none_of(groups: Sequence[GroupCounts]) -> dict[str, Any]:
    none = [one.model_copy(update={"available": 0}) for one in groups]
    return {"groups": none, "groups_summary": groups_summary(none)}


def _at_rest(progress: Progress, collectors: CollectorCounts | None) -> Progress:
    """Return ``progress`` with the counts ``collectors``, and without values that only a running driver has."""
    summary = run_progress.summary(progress.frames_delivered, progress.total_frames, None)
    return progress.model_copy(update={**_GONE, "summary": summary, "collectors": collectors})
