"""The reporter's thread ends no run silently, whatever fails in it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.collectorfleet.pod.played_api import SETTINGS, PlayedServer
from tests.wait import eventually

from collectorfleet.errors import CollectorFleetError
from collectorfleet.pod import lease_loop, report_loop, reporter
from collectorfleet.pod.lease_loop import LeaseLoop
from collectorfleet.pod.report_loop import ReportLoop
from collectorfleet.pod.reporter import Reporter
from collectorfleet.run.endings import EndReason
from collectorfleet.run.exit import FleetGone
from collectorfleet.run.stop import StopNow, StopReason, StopRequest


@pytest.fixture
def stop() -> Iterator[StopRequest]:
    request = StopRequest()
    yield request
    request.run_ended()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> PlayedServer:
    played = PlayedServer()
    monkeypatch.setattr(reporter, "connect", played.connect)
    monkeypatch.setattr(lease_loop, "RENEW_SECONDS", 0.01)
    monkeypatch.setattr(lease_loop, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(report_loop, "RETRY_SECONDS", 0.01)
    return played


def fails_with(error: BaseException) -> Any:
    async def fail(*_: object) -> None:
        raise error

    return fail


def test_a_driver_that_ends_releases_its_lease(server: PlayedServer, stop: StopRequest) -> None:
    with Reporter(SETTINGS, stop) as reporting:
        assert reporting.fleet().metadata.uid == SETTINGS.uid
        assert server.holder == SETTINGS.pod
    assert server.holder is None
    assert server.written[-1]["driverEnded"]
    assert stop.reason is None


def test_a_driver_that_ends_during_a_renewal_releases_its_lease(server: PlayedServer, stop: StopRequest) -> None:
    with Reporter(SETTINGS, stop) as reporting:
        reporting.fleet()
        server.seconds_per_answer, renewed = 60, server.patches
        eventually(lambda: server.patches > renewed, within=10, every=0.01, what="a renewal without an answer")
        server.seconds_per_answer = 0
    assert server.holder is None


def test_a_renewal_that_ignores_its_cancellation_is_not_waited_for_and_keeps_the_lease(
    server: PlayedServer, stop: StopRequest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    step, renews_again = LeaseLoop._step, threading.Event()

    async def swallows_one_cancellation(loop: LeaseLoop) -> float | None:
        try:
            return await step(loop)
        except asyncio.CancelledError:
            renews_again.set()
            return 60.0

    monkeypatch.setattr(LeaseLoop, "_step", swallows_one_cancellation)
    with caplog.at_level(logging.WARNING), Reporter(SETTINGS, stop) as reporting:
        reporting.fleet()
        server.seconds_per_answer, renewed = 60, server.patches
        eventually(lambda: server.patches > renewed, within=10, every=0.01, what="a renewal without an answer")
        server.seconds_per_answer = 0
    assert renews_again.is_set()
    assert not reporting._thread.is_alive()
    assert server.holder == SETTINGS.pod, "a renewal could overtake the release"
    assert caplog.messages == ["the renewal of the Lease did not end within 1 s; the Lease expires on its own"]


def test_odd_answers_delay_the_start_and_nothing_else(server: PlayedServer, stop: StopRequest) -> None:
    server.odd_answers = [ValueError("no JSON"), {}, KeyError("metadata")]
    with Reporter(SETTINGS, stop) as reporting:
        assert reporting.fleet().metadata.uid == SETTINGS.uid
    assert stop.reason is None


RENEWAL_ENDED = StopReason(EndReason.TAKEN_OVER, "the renewal of the Lease ended: ZeroDivisionError: a bug")


def test_a_start_whose_renewal_ends_by_a_bug_is_not_waited_for(
    server: PlayedServer, stop: StopRequest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(LeaseLoop, "run", fails_with(ZeroDivisionError("a bug")))
    with Reporter(SETTINGS, stop) as reporting, pytest.raises(StopNow):
        reporting.fleet()
    assert stop.reason == RENEWAL_ENDED
    (said,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert said.message == "the renewal of the Lease ended"
    assert said.exc_info


def test_a_run_whose_renewal_ends_stops_as_one_that_lost_its_lease(
    server: PlayedServer, stop: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Reporter(SETTINGS, stop) as reporting:
        reporting.fleet()
        monkeypatch.setattr(LeaseLoop, "_step", fails_with(asyncio.CancelledError()))
        eventually(lambda: stop.reason, within=10, what="a request to stop")
        written = len(server.written)
    assert stop.reason is not None
    assert stop.reason.way is EndReason.TAKEN_OVER
    assert len(server.written) == written, "no last report, because another driver may have the Lease"


def test_the_end_of_the_thread_before_the_fleet_is_known_is_raised(
    server: PlayedServer, stop: StopRequest, caplog: pytest.LogCaptureFixture
) -> None:
    server.stored["metadata"]["uid"] = "u-2"
    with Reporter(SETTINGS, stop) as reporting, pytest.raises(FleetGone, match="was replaced"):
        reporting.fleet()
    assert not caplog.records, "the driver says it where it ends"


def test_a_cancelled_start_is_raised_and_not_waited_for(
    server: PlayedServer, stop: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporter, "read_fleet", fails_with(asyncio.CancelledError()))
    with Reporter(SETTINGS, stop) as reporting:
        eventually(reporting._fleet.done, within=10, what="an answer to who waits for the fleet")
        with pytest.raises(asyncio.CancelledError):
            reporting.fleet()


def test_a_start_that_times_out_is_raised_and_not_waited_for(
    server: PlayedServer, stop: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporter, "read_fleet", fails_with(TimeoutError("no token within 60 s")))
    timer = threading.Timer(60, stop.request, [StopReason(EndReason.ORDERED, "the test waited for too long")])
    timer.start()
    with Reporter(SETTINGS, stop) as reporting, pytest.raises((TimeoutError, StopNow)) as caught:
        reporting.fleet()
    timer.cancel()
    assert str(caught.value) == "no token within 60 s"


@pytest.mark.parametrize("error", [CollectorFleetError("lost"), ZeroDivisionError("lost")], ids=["ours", "a bug"])
def test_a_run_whose_reporter_ends_is_told_and_stops(
    server: PlayedServer,
    stop: StopRequest,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    monkeypatch.setattr(ReportLoop, "run", fails_with(error))
    with caplog.at_level(logging.ERROR), Reporter(SETTINGS, stop) as reporting:
        reporting.fleet()
        eventually(lambda: stop.reason, within=10, what="a request to stop")
        assert server.holder == SETTINGS.pod, "the run goes on to the end of its batch"
    assert stop.reason == StopReason(
        EndReason.TAKEN_OVER, f"the driver's connection to the API server ended: {type(error).__name__}: lost"
    )
    assert "the reporter ended" in caplog.messages


def test_an_error_after_the_run_is_said_and_changes_nothing_of_how_it_ended(
    server: PlayedServer, stop: StopRequest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ReportLoop, "_write_last", fails_with(CollectorFleetError("lost")))
    with Reporter(SETTINGS, stop) as reporting:
        reporting.fleet()
    assert "the reporter ended" in caplog.messages
    assert stop.reason is None
    assert server.holder is None
