"""The state of a gather as the part of the fleet's status that the driver writes. Pure."""

from __future__ import annotations

from statistics import fmean

from collectorfleet.gather.loop import GatherLoop
from collectorfleet.gather.state import Life, Member
from collectorfleet.weights.store import PublishFailure
from collectorfleet_api.v1alpha1.status import (
    CollectorCounts,
    CollectorState,
    CollectorStatus,
    DriverReport,
    Progress,
    Publishes,
    PublishLag,
    Staleness,
    WeightsFailure,
    WeightsStatus,
)

# A status has to stay small: of a large fleet the rows that need attention are listed first.
_MOST_ROWS = 100
_BADNESS = {
    CollectorState.FAILED: 0,
    CollectorState.RETIRED: 1,
    CollectorState.STARTING: 2,
    CollectorState.JOINING: 3,
    CollectorState.READY: 4,
}


def report(loop: GatherLoop, now: float, transport: str) -> DriverReport:
    """What is true now; the caller holds the loop's lock."""
    return DriverReport(
        weights=_weights(loop, transport), progress=_progress(loop, now), collectors=_rows(loop)[:_MOST_ROWS]
    )


def _weights(loop: GatherLoop, transport: str) -> WeightsStatus | None:
    store, gather = loop.store, loop.gather
    if store.newest is None:
        return None
    ready = [m.applied_version for m in gather.members.values() if m.life is Life.READY]
    lags = [store.newest.version - version for version in ready if version is not None]
    return WeightsStatus(
        published=store.newest.version,
        acknowledged=gather.acknowledged,
        digest=store.newest.digest,
        bytes=store.newest.size_bytes,
        last_publish_time=store.published_at,
        last_publish_seconds=round(store.publish_seconds, 4) if store.publish_seconds is not None else None,
        transport=transport,
        publishes=Publishes(attempted=store.attempted, succeeded=store.succeeded, partial=store.partial, failed=0),
        publish_lag=PublishLag(max=max(lags), mean=round(fmean(lags), 2)) if lags else None,
        staleness=_staleness(loop),
        last_failure=_failure(store.last_failure),
    )


def _failure(failure: PublishFailure | None) -> WeightsFailure | None:
    if failure is None:
        return None
    return WeightsFailure(
        collector=failure.collector,
        version=failure.version,
        time=failure.time,
        reason=failure.reason,
        message=failure.message,
    )


def _staleness(loop: GatherLoop) -> Staleness:
    seen = loop.statistics.stalenesses
    return Staleness(
        bound=loop.gather.plan.bound,
        min=min(seen, default=None),
        mean=round(fmean(seen), 2) if seen else None,
        max=max(seen, default=None),
        throttled_seconds=round(loop.statistics.throttled_seconds, 1),
    )


def _progress(loop: GatherLoop, now: float) -> Progress:
    statistics, gather = loop.statistics, loop.gather
    fps, idle = statistics.frames_per_second(now), statistics.driver_idle_ratio(now)
    return Progress(
        frames_collected=statistics.frames_collected,
        frames_delivered=statistics.frames_handed_out,
        frames_discarded=statistics.frames_discarded,
        total_frames=gather.plan.total_frames,
        batches=statistics.batches,
        frames_per_second=round(fps, 1) if fps is not None else None,
        driver_idle_ratio=round(idle, 3) if idle is not None else None,
        collector_idle_ratio=statistics.collector_idle_ratio(),
        last_batch_time=statistics.last_batch_time,
        collectors=CollectorCounts(
            desired=loop.desired,
            available=gather.available,
            restarts=sum(loop.restarts.values()),
            summary=f"{gather.available}/{loop.desired}",
        ),
    )


def _rows(loop: GatherLoop) -> list[CollectorStatus]:
    names = {f"c{index}" for index in range(loop.desired)} | loop.gather.members.keys()
    rows = [_row(loop, name) for name in names]
    return sorted(rows, key=lambda row: (_BADNESS[row.state], int(row.name[1:])))


def _row(loop: GatherLoop, name: str) -> CollectorStatus:
    member = loop.gather.members.get(name)
    return CollectorStatus(
        name=name,
        state=_state(loop, name, member),
        pod=member.pod if member else None,
        applied_version=member.applied_version if member else None,
        batches=loop.statistics.batches_of.get(name, 0),
        frames=loop.statistics.frames_of.get(name, 0),
        restarts=loop.restarts.get(name, 0),
        last_error=loop.last_error.get(name),
    )


def _state(loop: GatherLoop, name: str, member: Member | None) -> CollectorState:
    if member is not None:
        by_life = {
            Life.STARTING: CollectorState.STARTING,
            Life.JOINING: CollectorState.JOINING,
            Life.READY: CollectorState.READY,
        }
        return by_life[member.life]
    gone = loop.retired.get(name)
    if gone is None:
        return CollectorState.STARTING
    return CollectorState.FAILED if gone.restart_at is None else CollectorState.RETIRED
