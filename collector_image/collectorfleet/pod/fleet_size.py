"""How many collectors a fleet wants, which a running driver follows. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet_api.v1alpha1 import CollectorFleet


@dataclass(frozen=True)
class FleetSize:
    """``collectors.replicas`` and ``collectors.minAvailable``."""

    replicas: int
    min_available: int

    @classmethod
    def of(cls, fleet: CollectorFleet) -> FleetSize:
        return cls(fleet.spec.collectors.replicas, fleet.spec.collectors.fewest_available)
