"""Conditions that follow from the spec and the driver's report alone, the same in Kubernetes and in a local run.

A message changes only when something worth telling changes: versions and rates that move with every batch stand in
``status.weights`` and ``status.progress``, because each new message is one more write to the API server.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec
from collectorfleet_api.v1alpha1.status import (
    CollectorState,
    CollectorStatus,
    Condition,
    ConditionStatus,
    DriverReport,
    WeightsStatus,
)

READY: Final = "Ready"
RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"
RAY_CLUSTER_READY: Final = "RayClusterReady"
DRIVER_RUNNING: Final = "DriverRunning"
COLLECTORS_AVAILABLE: Final = "CollectorsAvailable"
WEIGHTS_FRESH: Final = "WeightsFresh"
COMPLETED: Final = "Completed"

# How long collectors may take to acknowledge a version. A rollout ends before a collector applies weights.
ACKNOWLEDGE_WITHIN: Final = timedelta(seconds=60)

_LONGEST_CAUSE: Final = 1000
_LONGEST_MESSAGE: Final = 8000


@dataclass(frozen=True)
class Running:
    """The driver has not ended."""


@dataclass(frozen=True)
class Succeeded:
    """Training returned, or the frames asked for were written out."""

    message: str


@dataclass(frozen=True)
class Failed:
    """The user's code raised; trying again would not help."""

    message: str  # one sentence, the first cause in its own words


Outcome = Running | Succeeded | Failed


def condition(type_: str, status: bool | None, reason: str, message: str) -> Condition:
    """A condition without its time: None is Unknown. :func:`stamped` adds what depends on the previous one."""
    word = {True: ConditionStatus.TRUE, False: ConditionStatus.FALSE, None: ConditionStatus.UNKNOWN}[status]
    text = message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 4]} ..."
    return Condition(type=type_, status=word, reason=reason, message=text)


def is_true(found: Condition | None) -> bool:
    return found is not None and found.status is ConditionStatus.TRUE


def stamped(
    conditions: Iterable[Condition], previous: Sequence[Condition], now: datetime, generation: int | None
) -> list[Condition]:
    """``conditions`` with their transition times: kept from ``previous`` where the status is the same, else ``now``."""
    before = {old.type: old for old in previous}
    return [
        new.model_copy(
            update={"last_transition_time": _since(new, before.get(new.type), now), "observed_generation": generation}
        )
        for new in conditions
    ]


def collectors_available(spec: CollectorFleetSpec, report: DriverReport | None) -> Condition:
    """Whether at least ``minAvailable`` collectors run acknowledged weights."""
    progress = report.progress if report else None
    counts = progress.collectors if progress else None
    if report is None or progress is None or counts is None:
        return condition(COLLECTORS_AVAILABLE, None, "NoReport", "the driver has not reported its collectors yet")
    replicas = spec.collectors.replicas
    needed = min(spec.collectors.min_available, replicas)
    have = f"{counts.available} of {replicas} collectors run acknowledged weights"
    if counts.available >= replicas:
        return condition(COLLECTORS_AVAILABLE, True, "AllAvailable", have)
    causes = first_causes(report.collectors)
    because = f"; {causes}" if causes else ""
    if counts.available >= needed:
        return condition(COLLECTORS_AVAILABLE, True, "SomeUnavailable", f"{have}{because}")
    # Before the first collector there is no row yet.
    starting = not causes and (
        not (report.collectors or progress.batches)
        or any(c.state in (CollectorState.STARTING, CollectorState.JOINING) for c in report.collectors)
    )
    reason = "CollectorsStarting" if starting else "BelowMinAvailable"
    return condition(COLLECTORS_AVAILABLE, False, reason, f"{have}; minAvailable is {needed}{because}")


def weights_fresh(spec: CollectorFleetSpec, report: DriverReport | None, now: datetime) -> Condition:
    """Whether the collectors follow the published weights, and the data its staleness bound."""
    weights = report.weights if report else None
    if weights is None or weights.published is None:
        return condition(WEIGHTS_FRESH, None, "NotPublished", "the driver has not reported published weights yet")
    bound, stalest = spec.collection.staleness_bound, weights.staleness.max
    if bound is not None and stalest is not None and stalest > bound:
        text = f"a batch was {stalest} versions stale; collection.maxStaleness is {bound}"
        return condition(WEIGHTS_FRESH, False, "StalenessBoundExceeded", text)
    failure = weights.last_failure
    if failure and failure.version > (weights.acknowledged or 0):
        text = f"{failure.collector} could not apply version {failure.version}: {failure.message[:_LONGEST_CAUSE]}"
        return condition(WEIGHTS_FRESH, False, "WeightUpdateFailed", text)
    if _late(weights, now):
        known = "none" if weights.acknowledged is None else f"version {weights.acknowledged}"
        text = (
            f"version {weights.published} is not acknowledged {ACKNOWLEDGE_WITHIN.seconds} s after it was published; "
            f"acknowledged by all available collectors: {known}"
        )
        return condition(WEIGHTS_FRESH, False, "AcknowledgementLate", text)
    if weights.acknowledged is None:
        text = "no version is acknowledged by every available collector yet"
        return condition(WEIGHTS_FRESH, None, "NotAcknowledged", text)
    text = f"published weights are acknowledged within {ACKNOWLEDGE_WITHIN.seconds} s; status.weights has the versions"
    return condition(WEIGHTS_FRESH, True, "Acknowledged", text)


def completed(outcome: Outcome) -> Condition:
    match outcome:
        case Succeeded(message):
            return condition(COMPLETED, True, "Completed", message)
        case Failed(message):
            return condition(COMPLETED, False, "Failed", message)
        case Running():
            return condition(COMPLETED, False, "Running", "the driver has not finished")


def stalled(outcome: Outcome) -> Condition:
    """Whether the user has to change something before the fleet can go on."""
    if isinstance(outcome, Failed):
        return condition(STALLED, True, "Failed", outcome.message)
    return condition(STALLED, False, "Progressing", "nothing waits for the user")


def ready(outcome: Outcome, required: Sequence[Condition]) -> Condition:
    """True once finished, or while all of ``required`` are true; else it says what the first missing one says.

    Deployment tools read Ready=True after the end as "done", so a finished fleet stays ready without collectors.
    """
    match outcome:
        case Succeeded(message):
            return condition(READY, True, "Completed", message)
        case Failed(message):
            return condition(READY, False, "Failed", message)
        case Running():
            missing = next((c for c in required if not is_true(c)), None)
    if missing is not None:
        return condition(READY, False, missing.reason, missing.message)
    return condition(READY, True, "Collecting", required[-1].message if required else "the fleet collects")


def first_causes(collectors: Sequence[CollectorStatus]) -> str:
    """Errors of collectors that are not ready, equal ones joined, the commonest first; empty where there are none.

    ``ModuleNotFoundError: No module named 'my_envs' (16 of 16 collectors: c0-c15)``
    """
    names_by_error: dict[str, list[str]] = defaultdict(list)
    for collector in collectors:
        if collector.last_error and collector.state is not CollectorState.READY:
            names_by_error[collector.last_error].append(collector.name)
    commonest = sorted(names_by_error.items(), key=lambda item: -len(item[1]))[:3]
    return "; ".join(
        f"{error[:_LONGEST_CAUSE]} ({len(names)} of {len(collectors)} collectors: {name_ranges(names)})"
        for error, names in commonest
    )


def name_ranges(names: Iterable[str]) -> str:
    """``c0, c1, c2, c7`` as ``c0-c2, c7``; names of another form stand as they are, first."""
    numbers: list[int] = []
    other: list[str] = []
    for name in names:
        match = re.fullmatch(r"c(\d+)", name)
        if match:
            numbers.append(int(match[1]))
        else:
            other.append(name)
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ", ".join(sorted(other) + [f"c{first}" if first == last else f"c{first}-c{last}" for first, last in runs])


def _late(weights: WeightsStatus, now: datetime) -> bool:
    if weights.last_publish_time is None or weights.acknowledged == weights.published:
        return False
    return now - weights.last_publish_time > ACKNOWLEDGE_WITHIN


def _since(new: Condition, old: Condition | None, now: datetime) -> datetime:
    if old is not None and old.status is new.status and old.last_transition_time is not None:
        return old.last_transition_time
    return now
