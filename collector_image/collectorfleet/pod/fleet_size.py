"""Define the size of a fleet. A running driver applies changes of the size. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet_api.v1alpha1 import CollectorFleet


@dataclass(frozen=True)
class FleetSize:
    """The values of ``collectors.replicas`` and ``collectors.minAvailable`` in a spec, as numbers of collectors."""

    replicas: int
    min_available: int

    @classmethod
    def of(cls, fleet: CollectorFleet) -> FleetSize:
        return cls(fleet.spec.collectors.replicas, fleet.spec.collectors.fewest_available)
