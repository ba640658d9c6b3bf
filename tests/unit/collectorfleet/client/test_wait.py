"""Waiting for a fleet while its API server comes and goes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.played_api import NAME, ApiServer, Request

from collectorfleet.client import AccessDenied, ClusterUnavailable, FleetNotFound, Fleets, connect


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with played_api.served() as made:
        yield made


@pytest.fixture
def fleets(server: ApiServer, tmp_path: Path) -> Iterator[Fleets]:
    connection = connect(kubeconfig=played_api.written(tmp_path, played_api.kubeconfig(server.url)))
    with connection.api:
        yield Fleets(connection)


class Clock:
    """The clock of a wait. Only sleeping and the test move it, so requests may take any time."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def monotonic(self) -> float:
        return self._seconds

    def sleep(self, seconds: float) -> None:
        self._seconds += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("collectorfleet.client.fleets.time", made)
    return made


OUTAGES = {
    "closed connections": played_api.close,
    "server errors": played_api.refuse(500, "InternalError", "etcd is full"),
    "a busy server": played_api.refuse(429, "TooManyRequests", "later"),
}


@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_does_not_end_a_wait(outage: str, server: ApiServer, fleets: Fleets) -> None:
    def answer(request: Request) -> None:
        (OUTAGES[outage] if len(server.requests) < 3 else Request.serve)(request)

    server.answer = answer
    assert fleets.wait(NAME, "Ready", timeout=60).metadata.name == NAME
    assert len(server.requests) == 3


def test_an_outage_in_the_middle_does_not_end_a_wait(server: ApiServer, fleets: Fleets) -> None:
    """The fleet was seen once, then nobody answers the watch, nor the next request. The wait has no limit."""

    def answer(request: Request) -> None:
        (Request.serve if len(server.requests) in (1, 4) else played_api.close)(request)

    server.answer = answer
    seen = iter([False, True])
    assert fleets.wait(NAME, lambda _: next(seen), timeout=math.inf).metadata.name == NAME
    assert len(server.requests) == 4


@pytest.mark.usefixtures("clock")
def test_after_its_time_a_wait_says_why_nobody_answered(server: ApiServer, fleets: Fleets) -> None:
    server.answer = OUTAGES["server errors"]
    with pytest.raises(TimeoutError, match=f"fleet {NAME}: not Ready within 0.2 s; .*etcd is full") as raised:
        fleets.wait(NAME, "Ready", timeout=0.2)
    assert isinstance(raised.value.__cause__, ClusterUnavailable)
    assert len(server.requests) == 2


def test_a_server_that_hangs_does_not_prolong_a_wait(server: ApiServer, fleets: Fleets) -> None:
    server.answer = played_api.hang
    with pytest.raises(TimeoutError, match="the request timed out"):
        fleets.wait(NAME, "Ready", timeout=0.2)


def test_a_watch_that_hangs_prolongs_a_wait_by_a_few_seconds(server: ApiServer, fleets: Fleets, clock: Clock) -> None:
    """The server accepts the watch, then neither sends an event nor ends it."""

    def answer(request: Request) -> None:
        if "watch=true" not in request.path:
            return request.serve()
        clock.sleep(1.0)
        request.send(200, b"", "application/json", Content_Length="4000")
        return played_api.hang(request)

    server.answer = answer
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=f"fleet {NAME}: not "):
        fleets.wait(NAME, lambda _: False, timeout=0.2)
    assert time.monotonic() - began < 30  # the server hangs for 60 s
    assert len(server.requests) == 3  # the fleet, the watch, and the fleet at the end


@pytest.mark.parametrize("busy", ["for each request", "for watches"])
def test_a_busy_server_that_names_a_later_time_does_not_prolong_a_wait(
    busy: str, server: ApiServer, fleets: Fleets
) -> None:
    body = json.dumps(played_api.status(429, "TooManyRequests", "later")).encode()
    refuse = played_api.send(429, body, "application/json", Retry_After="100")
    is_busy = busy == "for each request"
    server.answer = lambda request: (refuse if is_busy or "watch=true" in request.path else Request.serve)(request)
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=f"fleet {NAME}: not "):
        fleets.wait(NAME, lambda _: False, timeout=0.2)
    assert time.monotonic() - began < 50


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(played_api.refuse(401, "Unauthorized", "no"), AccessDenied, id="expired token"),
        pytest.param(
            played_api.refuse(404, "NotFound", "", name=NAME, kind="collectorfleets"), FleetNotFound, id="no such fleet"
        ),
    ],
)
def test_what_does_not_pass_ends_a_wait_at_once(
    answer: played_api.Answer, error: type[Exception], server: ApiServer, fleets: Fleets
) -> None:
    server.answer = answer
    with pytest.raises(error):
        fleets.wait(NAME, "Ready", timeout=600)
    assert len(server.requests) == 1
