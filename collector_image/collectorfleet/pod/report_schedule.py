"""When a report goes to the API server: on change, at most every 2 s, and at once on a transition. Pure.

Numbers change with every batch; a reader who waits for a condition cares about collectors that join and leave. In a
large fleet that happens all the time, and its reports are large. So "at once" then means a delay in proportion to the
number of rows, up to the same 2 s. Even an unchanged report is applied again now and then: the answer carries the spec,
and an overwritten status heals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from collectorfleet_api.v1alpha1 import DriverReport

EVERY_SECONDS: Final = 2.0
AT_ONCE_SECONDS: Final = 0.2  # several collectors that become ready together are one write
AT_ONCE_SECONDS_PER_ROW: Final = 0.02
QUIET_SECONDS: Final = 5.0


@dataclass(frozen=True)
class LastWrite:
    """The last report that the API server took."""

    report: DriverReport
    at: float  # seconds of a monotonic clock


def due(report: DriverReport, last: LastWrite | None, now: float) -> bool:
    """Whether ``report`` goes out now."""
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
    """What of a report decides conditions, and so may not wait; equal while only numbers grow."""
    weights, progress = report.weights, report.progress
    return (
        report.fleet_uid,
        report.driver_incarnation,
        tuple((c.name, c.state, c.restarts, c.last_error) for c in report.collectors),
        progress and progress.collectors,
        progress and progress.batches > 0,
        weights and (weights.published is not None, weights.acknowledged is not None, weights.last_failure),
    )
