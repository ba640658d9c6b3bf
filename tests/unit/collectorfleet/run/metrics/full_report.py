"""A driver's report in which every number is known."""

from __future__ import annotations

from datetime import UTC, datetime
from math import nan

from collectorfleet_api.v1alpha1 import (
    BestEvaluation,
    CheckpointStatus,
    CollectorCounts,
    DriverReport,
    EnvironmentParametersStatus,
    EpisodesStatus,
    EvaluationStatus,
    GroupCounts,
    LearnersStatus,
    Progress,
    Publishes,
    PublishLag,
    Staleness,
    WeightsStatus,
)

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def report() -> DriverReport:
    return DriverReport(
        driver_incarnation=2,
        weights=WeightsStatus(
            published=10,
            acknowledged=9,
            bytes=800,
            last_publish_time=NOON,
            last_publish_seconds=0.25,
            publishes=Publishes(attempted=10, succeeded=7, partial=2, failed=1),
            publish_lag=PublishLag(max=1, mean=0.5),
            staleness=Staleness(bound=3, min=0, mean=1.2345678, max=2, throttled_seconds=4.5),
        ),
        progress=Progress(
            frames_collected=5000,
            frames_delivered=4000,
            frames_discarded=100,
            frames_lost=50,
            total_frames=9000,
            batches=20,
            frames_per_second=321.5,
            driver_idle_ratio=0.25,
            collector_idle_ratio=0.125,
            last_batch_time=NOON,
            spilled_bytes=1024,
            episodes=EpisodesStatus(
                ended=300, averaged=100, return_mean=87.5, return_min=9.0, return_max=200.0, length_mean=88.0
            ),
            metrics={"reward": 87.5, "loss": nan},
            collectors=CollectorCounts(
                desired=4,
                available=3,
                restarts=6,
                summary="3/4",
                groups=[
                    GroupCounts(name="fast", desired=3, available=3),
                    GroupCounts(name="big", desired=1, available=0),
                ],
            ),
        ),
        checkpoint=CheckpointStatus(frames=3800, time=NOON),
        environment_parameters=EnvironmentParametersStatus(version=3, values={"level": 4}, applied=2),
        evaluation=EvaluationStatus(
            version=8,
            frames=3200,
            time=NOON,
            seconds=4.25,
            episodes=20,
            return_mean=120.5,
            return_standard_error=3.5,
            return_min=20.0,
            return_lower_quartile=90.0,
            return_median=125.0,
            return_upper_quartile=150.0,
            return_max=200.0,
            length_mean=121.0,
            length_min=21,
            length_max=201,
            best=BestEvaluation(version=6, frames=2400, return_mean=130.0),
            running_version=10,
            awaited_version=10,
            finished=4,
            failed=1,
            skipped=2,
            replicas=2,
            available=1,
            restarts=3,
            summary="120.5 ±3.5",
        ),
        learners=LearnersStatus(shards=4, places=10, used=2, gpu_per_policy=0.3333),
    )
