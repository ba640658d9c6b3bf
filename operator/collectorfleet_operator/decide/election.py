"""Leader election: the operator that holds the Lease serves the fleets.

Each operator counts seconds with its own monotonic clock, because the clocks of machines differ. The holder counts from
the moment before it sends a renewal. The other operators count from the moment after they have seen the renewal. So the
holder gives up before another operator takes over.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.objects import Key, Object, metadata

# After this time without a renewal, any operator may take the Lease.
LEASE_SECONDS: Final = 15
# The holder stops serving earlier, after this time without a renewal: its last write request may still be in flight.
GIVE_UP_SECONDS: Final = 10


class Election:
    """The view that the operator ``identity`` has of the Lease ``key``."""

    def __init__(self, key: Key, identity: str) -> None:
        self.key = key
        self.identity = identity
        self._seen: tuple[str, float] | None = None  # resource version, and when it was first seen

    def free_after(self, lease: Object | None, now: float) -> float:
        """Return the seconds until the Lease expires.

        Return 0 if this operator may take the Lease, because the Lease is expired, free or already its own.
        """
        holder = holder_of(lease)
        if lease is None or not holder or holder == self.identity:
            return 0.0
        version = metadata(lease)["resourceVersion"]
        if self._seen is None or self._seen[0] != version:
            self._seen = (version, now)
        lasts: int = lease["spec"].get("leaseDurationSeconds", LEASE_SECONDS)
        return max(0.0, self._seen[1] + lasts - now)

    def held(self, lease: Object | None, at: datetime) -> Object:
        """Return the Lease with this operator as its holder.

        The API server accepts the result only if ``lease`` is still the newest version.
        """
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
        """Return the Lease without a holder, so that no other operator waits for its expiry."""
        return self._manifest(lease, {**lease["spec"], "holderIdentity": ""})

    def _manifest(self, lease: Object | None, spec: Object) -> Object:
        identity = {"name": self.key.name, "namespace": self.key.namespace}
        if lease is not None:
            identity |= {name: metadata(lease)[name] for name in ("uid", "resourceVersion")}
        return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": identity, "spec": spec}


def holder_of(lease: Object | None) -> str:
    """Return the holder of a Lease, or an empty text if there is no Lease or no holder."""
    return str((lease or {}).get("spec", {}).get("holderIdentity") or "")
