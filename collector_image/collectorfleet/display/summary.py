"""Format one fleet for ``collectorfleet status``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from collectorfleet.display import text
from collectorfleet.display.columns import ago, columns
from collectorfleet_api.conditions.remedies import plain_remedy
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import (
    CollectorFleet,
    CollectorFleetStatus,
    CollectorStatus,
    Condition,
    ConditionStatus,
    ConditionType,
    Phase,
    Progress,
    Reason,
    WeightsStatus,
)

MOST_ROWS: Final = 20
# The conditions of a healthy fleet. The summary shows a condition only if its status differs from the status here.
_USUAL: Final[Mapping[str, ConditionStatus]] = {
    ConditionType.RECONCILING: ConditionStatus.FALSE,
    ConditionType.STALLED: ConditionStatus.FALSE,
    ConditionType.RAY_CLUSTER_READY: ConditionStatus.TRUE,
    ConditionType.COLLECTORS_JOB_READY: ConditionStatus.TRUE,
    ConditionType.DRIVER_RUNNING: ConditionStatus.TRUE,
    ConditionType.COLLECTORS_AVAILABLE: ConditionStatus.TRUE,
    ConditionType.WEIGHTS_FRESH: ConditionStatus.TRUE,
    ConditionType.COMPLETED: ConditionStatus.FALSE,
    ConditionType.UP_TO_DATE: ConditionStatus.TRUE,
    ConditionType.SUSPENDED: ConditionStatus.FALSE,
    ConditionType.ADMITTED: ConditionStatus.TRUE,
}


@dataclass(frozen=True)
class EventRow:
    """The parts of a Kubernetes Event that the summary shows."""

    time: datetime | None
    warning: bool
    reason: str
    message: str


def lines(
    fleet: CollectorFleet, events: Iterable[EventRow], now: datetime, *, most_rows: int | None = MOST_ROWS
) -> list[str]:
    """Return facts, unusual conditions, a row for each collector, and a row for each Event.

    ``most_rows`` limits the rows of collectors. None means no limit.
    """
    status = fleet.status or CollectorFleetStatus()
    about = [("fleet", _title(fleet, status, now)), *_facts(status, now), *_unusual(status)]
    shown = columns(about)
    if rows := status.collectors[:most_rows]:
        shown += ["", *_collectors(rows)]
    if len(status.collectors) > len(rows):
        shown.append(f"and {counted(len(status.collectors) - len(rows), 'more collector')}")
    if said := [(ago(one.time, now), "Warning" if one.warning else "", one.reason, one.message) for one in events]:
        shown += ["", *columns([("event", "", "", ""), *said])]
    return shown


def in_a_sentence(fleet: CollectorFleet) -> str:
    """Return phase, reason and message of a fleet, or "" if the operator has not written the fleet's status yet.

    For example: ``Completed, Completed: the training function returned after 12 batches``
    """
    status = fleet.status or CollectorFleetStatus()
    ready = status.condition(ConditionType.READY)
    why = f"{ready.reason}: {ready.message}" if ready else ""
    return ", ".join(filter(None, [status.phase.value if status.phase else "", why]))


def data(fleet: CollectorFleet, events: Iterable[EventRow] | None = None) -> dict[str, Any]:
    """Return the summary for programs: the stored status, numbers derived from it, and the Events.

    If ``events`` is None, the summary has no key ``events``.
    """
    status = fleet.status or CollectorFleetStatus()
    progress = status.progress or Progress()
    return {
        "name": fleet.metadata.name,
        "namespace": fleet.metadata.namespace,
        "generation": fleet.metadata.generation,
        "percent": text.percent(progress),
        "secondsLeft": text.seconds_left(progress),
        "status": status.to_wire(),
        **({} if events is None else {"events": [_event(one) for one in events]}),
    }


def has_ended(fleet: CollectorFleet) -> bool:
    """Return whether the phase of the fleet is Completed or Failed."""
    return fleet.status is not None and fleet.status.phase in (Phase.COMPLETED, Phase.FAILED)


def is_over(fleet: CollectorFleet) -> bool:
    """Return whether the run of the fleet's newest spec has ended."""
    return (
        has_ended(fleet) and fleet.status is not None and fleet.status.observed_generation == fleet.metadata.generation
    )


def _event(one: EventRow) -> dict[str, Any]:
    return {
        "time": one.time.isoformat() if one.time else None,
        "warning": one.warning,
        "reason": one.reason,
        "message": one.message,
    }


def _title(fleet: CollectorFleet, status: CollectorFleetStatus, now: datetime) -> str:
    age = ago(fleet.metadata.creation_timestamp, now)
    phase = status.phase.value if status.phase else "the operator has not seen the fleet yet"
    return f"{fleet.metadata.namespace}/{fleet.metadata.name}  {phase}  {age} old"


def _facts(status: CollectorFleetStatus, now: datetime) -> list[tuple[str, str]]:
    ready = status.condition(ConditionType.READY)
    facts = [("ready", _describe_condition(ready)), *_what_to_do(ready)] if ready else []
    if status.progress:
        facts.append(("frames", text.how_far(status.progress)))
    counts = status.progress.collectors if status.progress else None
    if counts and counts.groups_summary:
        facts.append(("groups", counts.groups_summary))
    if status.weights:
        facts.append(("weights", _weights(status.weights)))
    if status.progress and status.progress.episodes:
        facts.append(("episodes", text.ended(status.progress.episodes)))
    if status.evaluation:
        facts.append(("evaluation", text.evaluations(status.evaluation)))
    if status.progress and status.progress.metrics:
        facts.append(("metrics", text.metrics(status.progress.metrics)))
    if status.checkpoint:
        age = ago(status.checkpoint.time, now)
        failure = f"; then {status.checkpoint.failure}" if status.checkpoint.failure else ""
        facts.append(
            ("checkpoint", f"{counted(status.checkpoint.frames, 'frame', by_thousands=True)}, {age} ago{failure}")
        )
    if status.driver and status.driver.restarts:
        facts.append(("driver", f"restarted {counted(status.driver.restarts, 'time')}"))
    return facts


def _weights(weights: WeightsStatus) -> str:
    versions = f"version {text.number(weights.published)}, acknowledged {text.number(weights.acknowledged)}"
    return f"{versions}  staleness {text.staleness(weights.staleness)}"


def _unusual(status: CollectorFleetStatus) -> list[tuple[str, str]]:
    """Return the conditions with an unusual status, each with its reason, its message and what to do.

    If several conditions have the same cause, only the first of them is returned. What to do for several conditions
    follows the last of them. The summary shows Ready separately, so a condition with the same reason as Ready is left
    out.
    """
    ready = status.condition(ConditionType.READY)
    said: set[tuple[str, str]] = set()
    found: list[tuple[str, str]] = []
    for condition in status.conditions:
        cause = (condition.reason, condition.message)
        if ready and condition.reason == ready.reason:
            continue
        if _is_unusual(condition) and cause not in said:
            said.add(cause)
            remedies = _what_to_do(condition)
            found = [row for row in found if row not in remedies]
            found += [(condition.type, _describe_condition(condition)), *remedies]
    return found


def _is_unusual(condition: Condition) -> bool:
    """Return whether the status of the condition is not the usual one, or its reason asks for a change anyway."""
    usual = _USUAL.get(condition.type, condition.status)
    return condition.status is not usual or condition.reason == Reason.ADMITTED_FOR_FEWER


def _what_to_do(condition: Condition) -> list[tuple[str, str]]:
    """Return a row with the remedy for the reason of the condition, or no row if the reason has none."""
    if condition.reason == Reason.DRIVER_NOT_RUNNING:
        return []  # the summary shows the driver's condition, possibly as Ready
    remedy = plain_remedy(condition.reason, condition.message)
    return [("what to do", remedy)] if remedy else []


def _describe_condition(condition: Condition) -> str:
    return f"{condition.status.value}  {condition.reason}: {condition.message}"


_COLLECTOR: Final = ("collector", "state", "weights", "batches", "frames", "restarts", "pod", "last error")


def _collectors(rows: Sequence[CollectorStatus]) -> list[str]:
    """Return a header and a line for each collector. The lines name the groups if the fleet has groups."""
    if not any(row.group for row in rows):
        return columns([_COLLECTOR, *map(_collector, rows)])
    name, *rest = _COLLECTOR
    lines = [(own, row.group or text.UNKNOWN, *others) for row in rows for own, *others in [_collector(row)]]
    return columns([(name, "group", *rest), *lines])


def _collector(row: CollectorStatus) -> tuple[str, ...]:
    return (
        row.name,
        row.state.value,
        text.number(row.applied_version),
        str(row.batches),
        f"{row.frames:,}",
        str(row.restarts),
        row.pod or text.UNKNOWN,
        row.last_error or "",
    )
