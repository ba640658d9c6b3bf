"""How long a driver has been quiet, by what the operator saw."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from collectorfleet_operator.edge.renewals import LONGEST_STEP_SECONDS, Renewals
from collectorfleet_operator.objects import Key, Object

KEY = Key("lab", "cheetah-driver")


def lease(**spec: Any) -> Object:
    return {"metadata": {"name": KEY.name}, "spec": spec}


class Clock:
    """Of a process that lists Leases whenever time passes."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.renewals = Renewals(lambda: self.seconds)
        self._list()

    def wait(self, seconds: float) -> None:
        self.seconds += seconds
        self._list()

    def _list(self) -> None:
        self.renewals.listing()
        self.renewals.listed()


def test_a_lease_is_quiet_since_it_was_seen_to_change() -> None:
    clock = Clock()
    renewals = clock.renewals
    renewals.note(KEY, {"metadata": {"name": KEY.name}})
    assert renewals.unchanged_for(KEY) is None
    renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:00"))
    clock.wait(7)
    # A change by somebody else is no renewal.
    renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:00", leaseDurationSeconds=40))
    assert renewals.unchanged_for(KEY) == timedelta(seconds=7)
    renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:07"))
    assert renewals.unchanged_for(KEY) == timedelta(0)


def test_another_holder_is_a_change() -> None:
    clock = Clock()
    clock.renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:00"))
    clock.wait(3)
    clock.renewals.note(KEY, lease(holderIdentity="driver-2", renewTime="12:00"))
    assert clock.renewals.unchanged_for(KEY) == timedelta(0)


def test_a_time_in_which_nobody_answered_is_not_the_drivers() -> None:
    clock = Clock()
    clock.renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:00"))
    clock.seconds += 300
    assert clock.renewals.unchanged_for(KEY) == timedelta(0)
    clock.wait(0)
    # It could not renew either, and has not had the time to since.
    assert clock.renewals.unchanged_for(KEY) == timedelta(seconds=LONGEST_STEP_SECONDS)


def test_a_lease_that_is_gone_is_forgotten() -> None:
    clock = Clock()
    clock.renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:00"))
    clock.renewals.forget(KEY)
    assert clock.renewals.unchanged_for(KEY) is None


def test_a_list_that_breaks_off_watches_nobody() -> None:
    clock = Clock()
    clock.renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:00"))
    clock.wait(5)
    for _ in range(10):
        clock.seconds += 5
        clock.renewals.listing()
    assert clock.renewals.unchanged_for(KEY) == timedelta(seconds=5)
    # What it did say of a Lease counts.
    clock.renewals.note(KEY, lease(holderIdentity="driver-1", renewTime="12:55"))
    assert clock.renewals.unchanged_for(KEY) == timedelta(0)


@pytest.mark.parametrize(
    ("renewed", "seconds"), [("12:05:00", 300), ("11:55:00", -300), ("12:00:08", 0), ("11:59:55", 0)]
)
def test_how_far_a_drivers_clock_is_ahead_is_read_from_its_renewals(renewed: str, seconds: int) -> None:
    renewals = Clock().renewals
    said = lease(holderIdentity="driver-1", renewTime=f"2026-07-01T{renewed}.000000Z")
    said["metadata"]["managedFields"] = [{"time": "2026-07-01T11:00:00Z"}, {"time": "2026-07-01T12:00:00Z"}]
    renewals.note(KEY, said)
    assert renewals.clock_ahead(KEY) == timedelta(seconds=seconds)
    renewals.forget(KEY)
    assert renewals.clock_ahead(KEY) == timedelta(0)


@pytest.mark.parametrize(
    "renewed", ["0000-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z", "soon"]
)
def test_a_driver_that_writes_an_impossible_time_is_in_step_and_renews(renewed: str) -> None:
    clock = Clock()
    said = lease(holderIdentity="driver-1", renewTime=renewed)
    said["metadata"]["managedFields"] = [{"time": "2026-07-01T12:00:00Z"}, {"time": renewed}, {}]
    clock.renewals.note(KEY, said)
    assert clock.renewals.clock_ahead(KEY) == timedelta(0)
    clock.wait(5)
    assert clock.renewals.unchanged_for(KEY) == timedelta(seconds=5)
