"""How long a driver has been quiet, by the operator's own clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from collectorfleet_operator.edge.renewals import Renewals
from collectorfleet_operator.objects import Key, Object

KEY = Key("lab", "cheetah-driver")


def lease(**spec: Any) -> Object:
    return {"metadata": {"name": KEY.name}, "spec": spec}


def test_a_lease_is_quiet_since_it_was_seen_to_change() -> None:
    now = 0.0
    renewals = Renewals(lambda: now)
    renewals.note(KEY, {"metadata": {"name": KEY.name}})
    assert renewals.quiet_for(KEY) is None
    renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:00"))
    now = 7.0
    # A change by somebody else is no renewal.
    renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:00", leaseDurationSeconds=40))
    assert renewals.quiet_for(KEY) == timedelta(seconds=7)
    renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:07"))
    assert renewals.quiet_for(KEY) == timedelta(0)


def test_another_holder_is_a_change() -> None:
    now = 0.0
    renewals = Renewals(lambda: now)
    renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:00"))
    now = 3.0
    renewals.note(KEY, lease(holderIdentity="driver-2", renewTime="12:00"))
    assert renewals.quiet_for(KEY) == timedelta(0)
