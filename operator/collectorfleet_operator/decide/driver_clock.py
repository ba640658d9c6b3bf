"""Convert the times in a driver's report to the API server's clock. Pure."""

from __future__ import annotations

from datetime import timedelta

from collectorfleet_api.v1alpha1 import DriverReport


def by_server_clock(report: DriverReport, ahead: timedelta) -> DriverReport:
    """Return the report with times of the API server's clock.

    ``ahead``: how far the driver's clock is ahead of the API server's clock.

    Only times on which decisions depend are converted.
    """
    progress, weights = report.progress, report.weights
    if progress is not None and progress.last_batch_time is not None:
        progress = progress.model_copy(update={"last_batch_time": progress.last_batch_time - ahead})
    if weights is not None and weights.last_publish_time is not None:
        weights = weights.model_copy(update={"last_publish_time": weights.last_publish_time - ahead})
    return report.model_copy(update={"progress": progress, "weights": weights})
