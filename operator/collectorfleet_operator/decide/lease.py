"""What is decided on of a driver's Lease: read once from each version of the stored object. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.objects import Object


@dataclass(frozen=True)
class Lease:
    """``holder`` is empty if nobody holds the Lease."""

    holder: str

    def is_held_by(self, pod: Pod) -> bool:
        """Whether a driver in this pod holds the Lease. An earlier driver may have left it."""
        return self.holder.startswith(pod.name)


def read_lease(stored: Object) -> Lease:
    """Return the facts of a stored Lease. Raises what an odd object makes Python raise."""
    return Lease(str((stored.get("spec") or {}).get("holderIdentity") or ""))
