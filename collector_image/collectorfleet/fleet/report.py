"""Convert the state of a gather to the driver's part of the fleet's status. The functions have no side effects."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import Any

from collectorfleet.errors import InvalidOption
from collectorfleet.gather.shared import Shared
from collectorfleet.gather.state.slots import Slot
from collectorfleet.gather.state.statistics import Statistics
from collectorfleet_api.v1alpha1 import run_progress
from collectorfleet_api.v1alpha1.collectors_status import (
    CollectorCounts,
    CollectorState,
    CollectorStatus,
    GroupCounts,
    groups_summary,
)
from collectorfleet_api.v1alpha1.progress_status import EpisodesStatus, Progress
from collectorfleet_api.v1alpha1.report import DriverReport, EnvironmentParametersStatus, ParametersOf
from collectorfleet_api.v1alpha1.weights_status import Publishes, PublishLag, Staleness, WeightsStatus

# The status must stay small, so only this number of collectors is listed. Collectors that need attention are first in
# the list.
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


def report(shared: Shared, now: float, transport: str, spilled_bytes: int | None = None) -> DriverReport:
    """Return the present status. The caller must hold the lock of ``shared``.

    ``now`` is the time of a monotonic clock, in seconds. ``transport`` is the name of the transport.
    """
    return DriverReport(
        weights=_weights(shared, transport),
        progress=_progress(shared, now, spilled_bytes),
        environment_parameters=_parameters(shared),
        collectors=_rows(shared),
        drained_pods=_drained_pods(shared),
    )


def _weights(shared: Shared, transport: str) -> WeightsStatus | None:
    versions, collectors = shared.versions, shared.gather.collectors
    newest = versions.newest
    if newest is None:
        return None
    ready = [one.applied_version for one in collectors if one.state is CollectorState.READY]
    lags = [newest.version - version for version in ready if version is not None]
    return WeightsStatus(
        published=newest.version,
        acknowledged=collectors.acknowledged,
        digest=newest.stored.digest,
        bytes=newest.stored.size_bytes,
        last_publish_time=versions.published_at,
        last_publish_seconds=round(versions.publish_seconds, 4) if versions.publish_seconds is not None else None,
        transport=transport,
        publishes=Publishes(
            attempted=versions.attempted,
            succeeded=versions.succeeded,
            partial=versions.partial,
            failed=versions.failures,
        ),
        publish_lag=PublishLag(max=max(lags), mean=round(fmean(lags), 2)) if lags else None,
        staleness=_staleness(shared),
        last_failure=versions.last_failure,
    )


def _staleness(shared: Shared) -> Staleness:
    seen = shared.statistics.stalenesses
    return Staleness(
        bound=shared.gather.plan.bound,
        min=min(seen, default=None),
        mean=round(fmean(seen), 2) if seen else None,
        max=max(seen, default=None),
        throttled_seconds=round(shared.statistics.throttled_seconds, 1),
    )


def _progress(shared: Shared, now: float, spilled_bytes: int | None) -> Progress:
    statistics, slots = shared.statistics, shared.slots
    available = shared.gather.collectors.available
    groups = _groups(shared)
    fps, idle = statistics.frames_per_second(now), statistics.driver_idle_ratio(now)
    return Progress(
        frames_collected=statistics.frames_collected,
        frames_delivered=statistics.frames_handed_out,
        frames_discarded=shared.frames_discarded,
        total_frames=shared.gather.plan.total_frames,
        summary=run_progress.summary(statistics.frames_handed_out, shared.gather.plan.total_frames, fps),
        batches=statistics.batches,
        entries_pickled=statistics.pickled,
        spilled_bytes=spilled_bytes,
        frames_per_second=round(fps, 1) if fps is not None else None,
        driver_idle_ratio=round(idle, 3) if idle is not None else None,
        collector_idle_ratio=statistics.collector_idle_ratio(),
        last_batch_time=statistics.last_batch_time,
        episodes=_episodes(statistics),
        collectors=CollectorCounts(
            desired=slots.desired,
            available=available,
            restarts=slots.restarts,
            summary=f"{available}/{slots.desired}",
            groups=groups,
            groups_summary=groups_summary(groups),
        ),
    )


def _drained_pods(shared: Shared) -> list[str]:
    """Return at most 1000 drained pods, sorted by name. Pods that should be drained now have priority."""
    by_priority = sorted(shared.drained_pods, key=lambda pod: pod not in shared.draining_pods)
    return sorted(by_priority[:_MOST_PODS])


def _parameters(shared: Shared) -> EnvironmentParametersStatus | None:
    set_ = shared.parameters
    if set_ is None:
        return None
    ready = [one for one in shared.gather.collectors if one.state is CollectorState.READY]
    return EnvironmentParametersStatus(
        version=set_.version,
        values=set_.for_all,
        groups=_of_each(set_.for_groups),
        collectors=_of_each(set_.for_collectors),
        applied=sum(one.parameters == set_.version_of(one.id.name, one.group) for one in ready),
    )


def _of_each(values: dict[str, dict[str, Any]]) -> list[ParametersOf]:
    return [ParametersOf(name=name, values=own) for name, own in list(values.items())[:_MOST_ROWS]]


def _groups(shared: Shared) -> list[GroupCounts]:
    ready = Counter(one.group for one in shared.gather.collectors if one.state is CollectorState.READY)
    sizes = shared.slots.sizes(shared.slots.desired)
    return [
        GroupCounts(name=group, desired=size, available=ready[group])
        for group, size in sizes.items()
        if group is not None
    ]


def _episodes(statistics: Statistics) -> EpisodesStatus | None:
    returns, lengths = statistics.returns, statistics.lengths
    if not returns:
        return None
    return EpisodesStatus(
        ended=statistics.episodes,
        averaged=len(returns),
        return_mean=_six_digits(fmean(returns)),
        return_min=_six_digits(min(returns)),
        return_max=_six_digits(max(returns)),
        length_mean=_six_digits(fmean(lengths)),
    )


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")


def _rows(shared: Shared) -> list[CollectorStatus]:
    slots = shared.slots.by_name.values()
    worst_first = sorted(slots, key=lambda slot: (_BADNESS[_state(shared, slot)], slot.index))
    return [_row(shared, slot) for slot in worst_first[:_MOST_ROWS]]


def _row(shared: Shared, slot: Slot) -> CollectorStatus:
    one = shared.gather.collectors.named(slot.name)
    return CollectorStatus(
        name=slot.name,
        group=slot.group,
        state=_state(shared, slot),
        pod=one.pod if one else None,
        rollout=_cut(one.loop) if one else None,
        applied_version=one.applied_version if one else None,
        batches=slot.batches,
        frames=slot.frames,
        restarts=slot.restarts,
        last_error=_cut(slot.last_error),
    )


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _LONGEST_ERROR else text[: _LONGEST_ERROR - 3] + "..."


def _state(shared: Shared, slot: Slot) -> CollectorState:
    one = shared.gather.collectors.named(slot.name)
    if one is not None:
        return one.state
    if slot.given_up:
        return CollectorState.FAILED
    return CollectorState.RETIRED if slot.lost else CollectorState.STARTING


def stats(shared: Shared, workers: str, frames_per_batch: int) -> dict[str, int | float | bool]:
    """Return the progress under TorchRL's names. The caller must hold the lock of ``shared``.

    Raises:
        InvalidOption: ``workers`` is none of 'aggregate', 'per_worker' and 'both'.
    """
    if workers not in ("aggregate", "per_worker", "both"):
        raise InvalidOption(f"workers: {workers!r} is unknown; use 'aggregate', 'per_worker' or 'both'")
    gather, slots = shared.gather, shared.slots
    # A starting collector counts as alive, because readers interpret "workers" minus "workers_alive" as the number of
    # losses.
    lost = sum(slot.lost and not slot.leaving for slot in slots.by_name.values())
    found: dict[str, int | float | bool] = {
        "workers": slots.desired,
        "workers_alive": 0 if shared.over else slots.desired - lost,
    }
    if workers != "per_worker":
        found |= {"frames": gather.frames_handed_out, "requested_frames_per_batch": frames_per_batch}
        total = gather.plan.total_frames
        if total is not None:
            found |= {"total_frames": total, "completed": gather.finished}
        found["worker_frames"] = shared.statistics.frames_collected
    if workers != "aggregate":
        for slot in shared.slots.in_order():
            found |= {f"worker_{slot.index}/frames": slot.frames, f"worker_{slot.index}/iterations": slot.batches}
    return found
