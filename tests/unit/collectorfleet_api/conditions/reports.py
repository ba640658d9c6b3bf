"""What drivers report, as small as a test needs it, and the specs that it is held against."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.manifests import fleet

from collectorfleet_api.v1alpha1 import (
    CollectorCounts,
    CollectorFleetSpec,
    CollectorState,
    CollectorStatus,
    DriverReport,
    Progress,
    WeightsStatus,
)

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
JUST_NOW = NOON - timedelta(seconds=1)
LONG_AGO = NOON - timedelta(seconds=61)


def spec(replicas: int = 16, min_available: int | str = 12, **collection: Any) -> CollectorFleetSpec:
    return fleet(
        {
            "spec.collectors.replicas": replicas,
            "spec.collectors.minAvailable": min_available,
            "spec.collection": {"framesPerBatch": 16, **collection},
        }
    ).spec


def report(available: int, *collectors: CollectorStatus, desired: int = 16) -> DriverReport:
    counts = CollectorCounts(desired=desired, available=available, summary=f"{available}/{desired}")
    return DriverReport(progress=Progress(collectors=counts), collectors=list(collectors))


def collector(name: str, state: CollectorState, error: str | None = None) -> CollectorStatus:
    return CollectorStatus(name=name, state=state, last_error=error)


def weights(**fields: Any) -> DriverReport:
    return DriverReport(weights=WeightsStatus(**fields))
