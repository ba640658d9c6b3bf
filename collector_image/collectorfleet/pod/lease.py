"""Who drives a fleet: one holder of its Lease at a time. Pure. ``lease_loop`` carries it out.

The operator makes the Lease, the driver renews it. A driver that finds another's name in it waits until that one has
not renewed for as long as it promised, and then takes over. It goes by changes that it sees itself, on its own
monotonic clock: clocks of two nodes may differ.

Each change names the resource version it was decided on, so that of two drivers that take over at once the API server
refuses one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from collectorfleet.pod.objects import Object

LEASE_SECONDS: Final = 15
RENEW_SECONDS: Final = 5.0


@dataclass(frozen=True)
class Acquire:
    """Nobody holds it, or the holder is gone."""


@dataclass(frozen=True)
class Renew:
    """It is ours."""


@dataclass(frozen=True)
class Wait:
    """Another driver holds it and may be alive."""

    holder: str


@dataclass(frozen=True)
class TakenOver:
    """It was ours, and another driver has it now."""

    holder: str


Decision = Acquire | Renew | Wait | TakenOver


class Candidate:
    """A driver, named ``me``, by what it has seen of the Lease."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._held = False
        self._seen: tuple[str, str] | None = None  # holder and renewal, as last seen
        self._seen_since = 0.0

    def decide(self, lease: Object, now: float) -> Decision:
        """What to do about the Lease as it was read; ``now`` in seconds of a monotonic clock."""
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder == self._me:
            self._held = True
            return Renew()
        if self._held and holder:
            return TakenOver(holder)
        if not holder:
            return Acquire()
        seen = (holder, str(spec.get("renewTime")))
        if seen != self._seen:
            self._seen, self._seen_since = seen, now
        promised = spec.get("leaseDurationSeconds") or LEASE_SECONDS
        return Acquire() if now - self._seen_since >= promised else Wait(holder)

    def acquire_patch(self, lease: Object, now: datetime) -> Object:
        """Merge patch that makes it ours."""
        transitions = (lease.get("spec") or {}).get("leaseTransitions") or 0
        return _patch(
            lease,
            holderIdentity=self._me,
            leaseDurationSeconds=LEASE_SECONDS,
            acquireTime=_micro_time(now),
            renewTime=_micro_time(now),
            leaseTransitions=transitions + 1,
        )

    def renew_patch(self, lease: Object, now: datetime) -> Object:
        """Merge patch that keeps it ours."""
        return _patch(lease, renewTime=_micro_time(now), leaseDurationSeconds=LEASE_SECONDS)

    def release_patch(self, lease: Object) -> Object:
        """Merge patch after a clean end: the next driver need not wait."""
        return _patch(lease, holderIdentity=None, renewTime=None)


def _patch(lease: Object, **spec: object) -> Object:
    return {"metadata": {"resourceVersion": lease["metadata"]["resourceVersion"]}, "spec": spec}


def _micro_time(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
