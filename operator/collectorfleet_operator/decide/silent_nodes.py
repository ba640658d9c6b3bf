"""Correction of a driver's report for collectors on silent nodes, which the driver may not have noticed. Pure."""

from __future__ import annotations

from datetime import datetime

from collectorfleet_api.v1alpha1 import CollectorState, CollectorStatus, DriverReport
from collectorfleet_operator.decide.situation import Situation, cached_per_situation


@cached_per_situation
def report_without_silent_nodes(seen: Situation) -> DriverReport | None:
    """Return the driver's report with the ready collectors on silent nodes as retired and not available.

    If a batch was delivered since the silence of a node began, the node's collectors stay as reported.

    Ray takes longer than Kubernetes to detect a lost node. If only the node's kubelet fails, the collectors on the node
    still collect.
    """
    report = seen.report
    progress = report.progress if report else None
    counts = progress.collectors if progress else None
    if report is None or progress is None or counts is None:
        return report
    silent = _silent_nodes(seen, progress.last_batch_time)
    gone = [one for one in report.collectors if one.state is CollectorState.READY and one.pod in silent]
    if not gone:
        return report

    def as_retired(one: CollectorStatus) -> CollectorStatus:
        if one not in gone:
            return one
        why = f"node {silent[one.pod or '']} does not answer"
        return one.model_copy(update={"state": CollectorState.RETIRED, "last_error": why})

    available = max(0, counts.available - len(gone))
    progress = progress.model_copy(update={"collectors": counts.model_copy(update={"available": available})})
    return report.model_copy(update={"progress": progress, "collectors": [*map(as_retired, report.collectors)]})


def _silent_nodes(seen: Situation, last_batch: datetime | None) -> dict[str, str]:
    """Return the silent node of each worker pod, by pod name, if no batch was delivered since the silence began."""
    found = {}
    for pod in seen.workers:
        since = pod.ready_turned if pod.is_node_silent else None
        if since is not None and (last_batch is None or last_batch < since):
            found[pod.name] = pod.node
    return found
