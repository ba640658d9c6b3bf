"""A driver's report with something in every field that is shown."""

from __future__ import annotations

from typing import Any

from collectorfleet_api.v1alpha1 import (
    BestEvaluation,
    CollectorCounts,
    CollectorState,
    CollectorStatus,
    DriverReport,
    EvaluationStatus,
    Progress,
    Staleness,
    WeightsStatus,
)


def report(collectors: int = 2) -> DriverReport:
    return DriverReport(
        weights=WeightsStatus(published=10, acknowledged=9, staleness=Staleness(bound=1, min=0, mean=0.75, max=1)),
        progress=Progress(
            frames_delivered=20480,
            total_frames=1_000_000,
            batches=10,
            frames_per_second=1705.4,
            metrics={"reward": 87.123456, "loss": float("nan")},
            collectors=CollectorCounts(desired=2, available=1, summary="1/2"),
        ),
        collectors=[
            CollectorStatus(name=f"c{i}", state=CollectorState.READY, applied_version=9) for i in range(collectors)
        ],
    )


def evaluation(**changed: Any) -> EvaluationStatus:
    """Two of three evaluations have finished; the first one was better."""
    found = EvaluationStatus(
        version=120,
        return_mean=471.2,
        return_standard_error=4.1,
        best=BestEvaluation(version=100, frames=1000, return_mean=480.0),
        finished=2,
        failed=1,
        replicas=2,
        available=2,
        summary="471.2 ±4.1",
    )
    return found.model_copy(update=changed)
