"""What the operator says of its own health: it lives while it hears, and while it comes to an end with each fleet."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp.test_utils import make_mocked_request

from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.health import LIMIT_SECONDS, UNLISTED_SECONDS, Health


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def health_by(clock: Clock) -> Health:
    return Health(clock, Freshness(clock))


def asked(health: Health) -> tuple[int, str]:
    answer = asyncio.run(health.alive(make_mocked_request("GET", "/healthz")))
    return answer.status, answer.text or ""


def test_an_operator_that_hears_nothing_is_started_again() -> None:
    clock = Clock()
    health = health_by(clock)
    clock.seconds = LIMIT_SECONDS - 1
    assert asked(health)[0] == 200
    clock.seconds = LIMIT_SECONDS
    assert asked(health)[0] == 503
    health.record_answer()
    assert asked(health)[0] == 200


@pytest.mark.parametrize(("seconds", "status"), [(0.0, 200), (179.0, 200), (180.0, 503)])
def test_an_operator_that_hangs_on_one_fleet_is_started_again_although_it_hears(seconds: float, status: int) -> None:
    health = health_by(Clock())
    health.begin_work(lambda: seconds)
    health.record_answer()
    found, text = asked(health)
    assert found == status
    reconcile = f"the longest reconcile has run for {seconds:.0f} s"
    assert text == f"the last list ended 0 s ago, and {reconcile}; the limit of both is 180 s\n"


def readiness(health: Health) -> tuple[int, str]:
    answer = asyncio.run(health.ready(make_mocked_request("GET", "/readyz")))
    return answer.status, answer.text or ""


def test_a_leader_that_cannot_list_fleets_is_not_ready_until_it_can() -> None:
    clock = Clock()
    freshness = Freshness(clock)
    health = Health(clock, freshness)
    assert readiness(health) == (503, "waits to serve fleets\n")
    freshness.record_list(FLEET, "a")
    health.begin_serving()
    assert readiness(health)[0] == 200
    clock.seconds = UNLISTED_SECONDS
    health.record_answer()  # it answers, and refuses
    assert readiness(health) == (503, "cannot serve fleets: last list of fleets 90 s ago; the limit is 90 s\n")
    freshness.record_list(FLEET, "b")
    assert readiness(health) == (200, "serves fleets: last list of fleets 0 s ago; the limit is 90 s\n")


def test_a_replica_that_stands_by_is_ready_however_old_its_lists_are() -> None:
    clock = Clock()
    health = health_by(clock)
    health.stand_by("other")
    clock.seconds = 10 * UNLISTED_SECONDS
    assert readiness(health) == (200, "stands by while other serves fleets\n")
