"""The state of a gather as the part of the fleet's status that the driver writes. Pure."""

from __future__ import annotations

from statistics import fmean

from collectorfleet.errors import InvalidOption
from collectorfleet.gather.loop import GatherLoop
from collectorfleet.gather.state.pieces import Life
from collectorfleet.gather.state.roster import Seat
from collectorfleet.gather.state.versions import PublishFailure
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
_LONGEST_ERROR = 300
_MOST_PODS = 1000
_BADNESS = {
    CollectorState.FAILED: 0,
    CollectorState.RETIRED: 1,
    CollectorState.STARTING: 2,
    CollectorState.JOINING: 3,
    CollectorState.READY: 4,
}


def report(loop: GatherLoop, now: float, transport: str, spilled_bytes: int | None = None) -> DriverReport:
    """What is true now; the caller holds the loop's lock."""
    return DriverReport(
        weights=_weights(loop, transport),
        progress=_progress(loop, now, spilled_bytes),
        collectors=_rows(loop),
        drained_pods=sorted(loop.drained_pods)[:_MOST_PODS],
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
        digest=store.newest.stored.digest,
        bytes=store.newest.stored.size_bytes,
        last_publish_time=store.published_at,
        last_publish_seconds=round(store.publish_seconds, 4) if store.publish_seconds is not None else None,
        transport=transport,
        publishes=Publishes(
            attempted=store.attempted, succeeded=store.succeeded, partial=store.partial, failed=store.failures
        ),
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


def _progress(loop: GatherLoop, now: float, spilled_bytes: int | None) -> Progress:
    statistics, gather = loop.statistics, loop.gather
    fps, idle = statistics.frames_per_second(now), statistics.driver_idle_ratio(now)
    return Progress(
        frames_collected=statistics.frames_collected,
        frames_delivered=statistics.frames_handed_out,
        frames_discarded=statistics.frames_discarded,
        total_frames=gather.plan.total_frames,
        batches=statistics.batches,
        entries_pickled=statistics.pickled,
        spilled_bytes=spilled_bytes,
        frames_per_second=round(fps, 1) if fps is not None else None,
        driver_idle_ratio=round(idle, 3) if idle is not None else None,
        collector_idle_ratio=statistics.collector_idle_ratio(),
        last_batch_time=statistics.last_batch_time,
        collectors=CollectorCounts(
            desired=loop.roster.desired,
            available=gather.available,
            restarts=loop.roster.restarts,
            summary=f"{gather.available}/{loop.roster.desired}",
        ),
    )


def _rows(loop: GatherLoop) -> list[CollectorStatus]:
    worst_first = sorted(loop.roster.seats.values(), key=lambda seat: (_BADNESS[_state(loop, seat)], seat.index))
    return [_row(loop, seat) for seat in worst_first[:_MOST_ROWS]]


def _row(loop: GatherLoop, seat: Seat) -> CollectorStatus:
    member = loop.gather.members.get(seat.name)
    return CollectorStatus(
        name=seat.name,
        state=_state(loop, seat),
        pod=member.pod if member else None,
        applied_version=member.applied_version if member else None,
        batches=seat.batches,
        frames=seat.frames,
        restarts=seat.restarts,
        last_error=_cut(seat.last_error),
    )


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _LONGEST_ERROR else text[: _LONGEST_ERROR - 3] + "..."


def _state(loop: GatherLoop, seat: Seat) -> CollectorState:
    member = loop.gather.members.get(seat.name)
    if member is not None:
        by_life = {
            Life.STARTING: CollectorState.STARTING,
            Life.JOINING: CollectorState.JOINING,
            Life.READY: CollectorState.READY,
        }
        return by_life[member.life]
    if seat.gone is None:
        return CollectorState.STARTING
    return CollectorState.FAILED if seat.gone.restart_at is None else CollectorState.RETIRED


def stats(loop: GatherLoop, workers: str, frames_per_batch: int) -> dict[str, int | float | bool]:
    """Progress under TorchRL's names; the caller holds the loop's lock.

    Raises:
        InvalidOption: ``workers`` is none of TorchRL's three.
    """
    if workers not in ("aggregate", "per_worker", "both"):
        raise InvalidOption(f"workers: {workers!r}; use 'aggregate', 'per_worker' or 'both'")
    seats = sorted(loop.roster.seats.values(), key=lambda seat: seat.index)
    found: dict[str, int | float | bool] = {"workers": loop.roster.desired, "workers_alive": loop.gather.available}
    if workers != "per_worker":
        found |= {"frames": loop.gather.frames_handed_out, "requested_frames_per_batch": frames_per_batch}
        total = loop.gather.plan.total_frames
        if total is not None:
            found |= {"total_frames": total, "completed": loop.gather.finished}
        found["worker_frames"] = loop.statistics.frames_collected
    if workers != "aggregate":
        for seat in seats:
            found |= {f"worker_{seat.index}/frames": seat.frames, f"worker_{seat.index}/iterations": seat.batches}
    return found
