"""Decide when a report is written to the API server. Pure.

* A report with a transition is written after 0.2 s. Examples are a collector that joins or leaves, and the first batch.
  Conditions depend on transitions, and users wait for conditions. In a large fleet, transitions are frequent and
  reports are large. So the delay grows with the number of rows, up to 2 s.
* A report in which only numbers changed is written after 2 s. Numbers change with every batch.
* An unchanged report is written again after 5 s. The answer contains the current spec, and the write restores a status
  that another client overwrote.

All times count from the last write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from collectorfleet_api.v1alpha1 import DriverReport

EVERY_SECONDS: Final = 2.0
AT_ONCE_SECONDS: Final = 0.2  # collectors that become ready together need one write
AT_ONCE_SECONDS_PER_ROW: Final = 0.02
QUIET_SECONDS: Final = 5.0


@dataclass(frozen=True)
class LastWrite:
    """The last report that the API server accepted."""

    report: DriverReport
    at: float  # seconds of a monotonic clock


def due(report: DriverReport, last: LastWrite | None, now: float) -> bool:
    """Return whether to write ``report`` at ``now``. ``now`` and ``last.at`` are seconds of one clock."""
    if last is None:
        return True
    if report == last.report:
        wait = QUIET_SECONDS
    elif transitions(report) != transitions(last.report):
        wait = min(EVERY_SECONDS, max(AT_ONCE_SECONDS, AT_ONCE_SECONDS_PER_ROW * len(report.collectors)))
    else:
        wait = EVERY_SECONDS
    return now - last.at >= wait


def transitions(report: DriverReport) -> object:
    """Return those values of a report on which conditions depend. The result stays equal while only numbers change."""
    weights, progress = report.weights, report.progress
    return (
        report.fleet_uid,
        report.driver_incarnation,
        tuple((c.name, c.state, c.restarts, c.last_error) for c in report.collectors),
        progress and progress.collectors,
        progress and progress.batches > 0,
        weights and (weights.published is not None, weights.acknowledged is not None, weights.last_failure),
    )
