"""Decide which driver runs a fleet: the holder of its Lease. Pure. ``lease_loop`` applies the decisions.

The operator creates the Lease, and the driver renews it. If another driver holds the Lease, a driver waits. The waiting
driver takes over when the holder has not renewed the Lease for ``leaseDurationSeconds``. The waiting driver measures
this time with its own monotonic clock, because the clocks of nodes may differ. The time begins at the last change that
the waiting driver has seen.

Each patch contains the resource version of the Lease that it changes. If two drivers take over at the same time, the
API server refuses the patch of one driver.
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
    """Take the Lease, because it has no holder, or its holder stopped renewing it."""


@dataclass(frozen=True)
class Renew:
    """Renew the Lease, which this driver holds."""


@dataclass(frozen=True)
class Wait:
    """Wait, because another driver holds the Lease and may still run."""

    holder: str


@dataclass(frozen=True)
class TakenOver:
    """Another driver took the Lease, which this driver held."""

    holder: str


Decision = Acquire | Renew | Wait | TakenOver


class Candidate:
    """A driver that wants the Lease. It notes each change of the Lease that it sees. ``me`` is the driver's name."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._held = False
        self._seen: tuple[str, str] | None = None  # holder and renewTime
        self._seen_since = 0.0

    def decide(self, lease: Object, now: float) -> Decision:
        """Return what to do about ``lease``. ``now`` is the time in seconds of a monotonic clock."""
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

    def is_holder(self, lease: Object) -> bool:
        """Return whether ``lease`` names this driver as its holder."""
        return bool((lease.get("spec") or {}).get("holderIdentity") == self._me)

    def acquire_patch(self, lease: Object, now: datetime) -> Object:
        """Return the merge patch that makes this driver the holder."""
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
        """Return the merge patch that renews the Lease of this driver."""
        return _patch(lease, renewTime=_micro_time(now), leaseDurationSeconds=LEASE_SECONDS)

    def release_patch(self, lease: Object) -> Object:
        """Return the merge patch that removes the holder, so that the next driver does not have to wait.

        The patch changes even a Lease without a holder, so that the Lease gets a new resource version. Otherwise an
        earlier patch that is still under way could take the Lease later.
        """
        transitions = (lease.get("spec") or {}).get("leaseTransitions") or 0
        return _patch(lease, holderIdentity=None, renewTime=None, leaseTransitions=transitions + 1)


def _patch(lease: Object, **spec: object) -> Object:
    return {"metadata": {"resourceVersion": lease["metadata"]["resourceVersion"]}, "spec": spec}


def _micro_time(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
