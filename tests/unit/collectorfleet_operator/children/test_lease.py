"""The driver's Lease."""

from __future__ import annotations

from tests.unit.collectorfleet_operator.children.fleets import fleet

from collectorfleet_operator.children.lease import lease


def test_the_driver_owns_what_its_lease_says() -> None:
    assert "spec" not in lease(fleet())
