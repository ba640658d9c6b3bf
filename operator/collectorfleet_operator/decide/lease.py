"""The facts of a driver's Lease on which decisions depend, parsed once from each version of the stored object. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.objects import Object


@dataclass(frozen=True)
class Lease:
    """The facts of a Lease. ``holder`` is empty if the Lease is free."""

    holder: str

    def is_held_by(self, pod: Pod) -> bool:
        """Return whether the driver in this pod holds the Lease. The holder may also be an earlier driver."""
        return self.holder.startswith(pod.name)


def read_lease(stored: Object) -> Lease:
    """Return the facts of a stored Lease. Raises Python's own errors, such as KeyError, for a malformed object."""
    return Lease(str((stored.get("spec") or {}).get("holderIdentity") or ""))
