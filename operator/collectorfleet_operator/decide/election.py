"""Which of several operators serves fleets: the one that holds a Lease.

Each operator counts seconds with its own steady clock, because the clocks of machines differ. A holder counts from
before its request to renew, and the others from after they saw the renewal. So the holder has given up before another
takes over.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.objects import Key, Object, metadata

# A Lease that was not renewed for so long is anybody's.
LEASE_SECONDS: Final = 15
# So much earlier than that its holder stops by itself: what it asked for last may still be under way.
GIVE_UP_SECONDS: Final = 10


class Election:
    """What the operator ``identity`` may do about the Lease ``key``."""

    def __init__(self, key: Key, identity: str) -> None:
        self.key = key
        self.identity = identity
        self._seen: tuple[str, float] | None = None  # its version, and since when it was not another

    def free_after(self, lease: Object | None, now: float) -> float:
        """Seconds until it was not renewed for as long as it says; 0 where it may be taken: by then, free, or ours."""
        holder = holder_of(lease)
        if lease is None or not holder or holder == self.identity:
            return 0.0
        version = metadata(lease)["resourceVersion"]
        if self._seen is None or self._seen[0] != version:
            self._seen = (version, now)
        lasts: int = lease["spec"].get("leaseDurationSeconds", LEASE_SECONDS)
        return max(0.0, self._seen[1] + lasts - now)

    def held(self, lease: Object | None, at: datetime) -> Object:
        """The Lease as it is when we hold it; it can be written only where ``lease`` is still the newest."""
        before = {} if lease is None else lease.get("spec") or {}
        ours = holder_of(lease) == self.identity
        time = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return self._manifest(
            lease,
            {
                "holderIdentity": self.identity,
                "leaseDurationSeconds": LEASE_SECONDS,
                "acquireTime": before.get("acquireTime", time) if ours else time,
                "renewTime": time,
                "leaseTransitions": before.get("leaseTransitions", 0) + (lease is not None and not ours),
            },
        )

    def given_back(self, lease: Object) -> Object:
        """The Lease without a holder, so that nobody waits for it."""
        return self._manifest(lease, {**lease["spec"], "holderIdentity": ""})

    def _manifest(self, lease: Object | None, spec: Object) -> Object:
        identity = {"name": self.key.name, "namespace": self.key.namespace}
        if lease is not None:
            identity |= {name: metadata(lease)[name] for name in ("uid", "resourceVersion")}
        return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": identity, "spec": spec}


def holder_of(lease: Object | None) -> str:
    """Empty if there is none."""
    return str((lease or {}).get("spec", {}).get("holderIdentity") or "")
