"""One driver at a time holds a fleet's Lease, told by changes that each sees itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.pod.lease import LEASE_SECONDS, Acquire, Candidate, Renew, TakenOver, Wait

NOON = datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)


def lease(holder: str | None = None, renewed: str = "t0", version: str = "1") -> dict[str, Any]:
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": LEASE_SECONDS} if holder else {}
    return {"metadata": {"resourceVersion": version}, "spec": spec}


def test_a_lease_that_nobody_holds_is_taken() -> None:
    assert Candidate("me").decide({"metadata": {"resourceVersion": "1"}}, now=0) == Acquire()


def test_a_lease_of_ours_is_renewed() -> None:
    assert Candidate("me").decide(lease("me"), now=0) == Renew()


def test_another_driver_is_waited_for_while_it_renews() -> None:
    candidate = Candidate("me")
    for second in range(60):
        assert candidate.decide(lease("other", renewed=f"t{second // 5}"), now=second) == Wait("other")


def test_a_driver_that_renews_no_more_is_replaced_when_its_promise_is_over() -> None:
    candidate = Candidate("me")
    assert candidate.decide(lease("other", "t0"), now=100) == Wait("other")
    assert candidate.decide(lease("other", "t1"), now=105) == Wait("other")
    assert candidate.decide(lease("other", "t1"), now=105 + LEASE_SECONDS - 0.1) == Wait("other")
    assert candidate.decide(lease("other", "t1"), now=105 + LEASE_SECONDS) == Acquire()


def test_a_driver_that_was_replaced_knows_by_whom() -> None:
    candidate = Candidate("me")
    candidate.decide(lease("me"), now=0)
    assert candidate.decide(lease("other"), now=30) == TakenOver("other")


def test_a_lease_that_was_emptied_is_taken_back() -> None:
    candidate = Candidate("me")
    candidate.decide(lease("me"), now=0)
    assert candidate.decide(lease(None), now=30) == Acquire()


def test_changes_name_the_version_they_were_decided_on_and_times_have_microseconds() -> None:
    candidate = Candidate("me")
    assert candidate.acquire_patch(lease("other", version="7"), NOON) == {
        "metadata": {"resourceVersion": "7"},
        "spec": {
            "holderIdentity": "me",
            "leaseDurationSeconds": LEASE_SECONDS,
            "acquireTime": "2026-01-01T12:00:00.250000Z",
            "renewTime": "2026-01-01T12:00:00.250000Z",
            "leaseTransitions": 1,
        },
    }
    assert candidate.renew_patch(lease("me", version="8"), NOON)["spec"]["renewTime"] == "2026-01-01T12:00:00.250000Z"
    assert candidate.release_patch(lease("me", version="9"))["spec"] == {
        "holderIdentity": None,
        "renewTime": None,
        "leaseTransitions": 1,
    }


@pytest.mark.parametrize("drivers", [2, 3])
@given(data=st.data())
def test_of_drivers_that_look_at_any_moments_never_two_hold_the_lease(drivers: int, data: st.DataObject) -> None:
    stored = lease(None)
    candidates = {name: Candidate(name) for name in (f"d{i}" for i in range(drivers))}
    believes_until = dict.fromkeys(candidates, -1.0)  # a driver acts as the holder until its promise ends
    now = 0.0
    for _ in range(60):
        now += data.draw(st.floats(0.5, 6))
        name = data.draw(st.sampled_from(sorted(candidates)))
        version = stored["metadata"]["resourceVersion"]
        match candidates[name].decide(stored, now):
            case Acquire() | Renew():
                others = [other for other in candidates if other != name and believes_until[other] > now]
                assert not others, f"{name} took the lease while {others} held it"
                stored = lease(name, renewed=str(now), version=str(int(version) + 1))
                believes_until[name] = now + LEASE_SECONDS
            case TakenOver():
                believes_until[name] = -1.0
