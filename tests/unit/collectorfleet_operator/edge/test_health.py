"""What the operator says of its own health: it lives while it hears, and while it comes to an end with each fleet."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp.test_utils import make_mocked_request

from collectorfleet_operator.edge.health import LIMIT_SECONDS, Health


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def asked(health: Health) -> tuple[int, str]:
    answer = asyncio.run(health.alive(make_mocked_request("GET", "/healthz")))
    return answer.status, answer.text or ""


def test_an_operator_that_hears_nothing_is_started_again() -> None:
    clock = Clock()
    health = Health(clock)
    clock.seconds = LIMIT_SECONDS - 1
    assert asked(health)[0] == 200
    clock.seconds = LIMIT_SECONDS
    assert asked(health)[0] == 503
    health.heard()
    assert asked(health)[0] == 200


@pytest.mark.parametrize(("seconds", "status"), [(0.0, 200), (179.0, 200), (180.0, 503)])
def test_an_operator_that_hangs_on_one_fleet_is_started_again_although_it_hears(seconds: float, status: int) -> None:
    health = Health(Clock())
    health.longest_work_seconds = lambda: seconds
    health.heard()
    found, text = asked(health)
    assert found == status
    assert text == f"last list 0 s ago, one fleet worked on for {seconds:.0f} s; the limit is 180 s\n"
