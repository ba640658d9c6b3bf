"""A run is reported for as long as it lasts, whatever the API server and our own code do meanwhile."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Collection, Iterator

import pytest
from kubernetes.aio.client import ApiException
from tests.unit.collectorfleet.pod.played_api import SETTINGS, Object, PlayedApi

from collectorfleet.pod import report_loop
from collectorfleet.pod.report_loop import ReportLoop
from collectorfleet.pod.reported_run import ReportedRun
from collectorfleet.pod.status_writer import StatusWriter
from collectorfleet.run.endings import EndReason
from collectorfleet.run.reports import final_report
from collectorfleet.run.stop import StopReason, StopRequest
from collectorfleet_api.v1alpha1 import DriverReport, Progress


class Lease:
    is_held = True


class Session:
    """Its batches at each look of the loop; the run is over at the last one."""

    def __init__(self, batches: list[int], closing: threading.Event) -> None:
        self._now, *self._later = batches
        self._closing = closing

    def report(self) -> DriverReport:
        return DriverReport(progress=Progress(batches=self._now))

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int:
        if self._later:
            self._now = self._later.pop(0)
        if not self._later:
            self._closing.set()
        return seen

    def resize(self, replicas: int, min_available: int) -> None: ...

    def drain_pods(self, pods: Collection[str]) -> None: ...


def reported(api: PlayedApi, stop: StopRequest, batches: list[int], *, lease_is_held: bool = True) -> list[int]:
    """Report a run to its end; returns the number of batches in each report that was sent."""
    closing, run, lease = threading.Event(), ReportedRun(SETTINGS), Lease()
    run.attach(Session(batches, closing))
    lease.is_held = lease_is_held
    loop = ReportLoop(run, StatusWriter(api, SETTINGS), lease, stop)  # type: ignore[arg-type]
    asyncio.run(loop.run(closing))
    return [status["progress"]["batches"] for status in api.written]


@pytest.fixture
def stop() -> Iterator[StopRequest]:
    request = StopRequest()
    yield request
    request.run_ended()


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RETRY_SECONDS", "LOOK_SECONDS"):
        monkeypatch.setattr(report_loop, name, 0.001)


def test_the_end_is_reported_at_once(stop: StopRequest) -> None:
    # Two seconds are not over, but there will be no later report.
    assert reported(PlayedApi(), stop, batches=[1, 4]) == [1, 4]


def test_a_quiet_run_adds_that_it_has_ended(stop: StopRequest) -> None:
    api = PlayedApi()
    assert reported(api, stop, batches=[1, 1, 1]) == [1, 1]
    assert [status.get("driverEnded") for status in api.written] == [None, True]


def test_the_last_report_is_tried_again(stop: StopRequest) -> None:
    api = PlayedApi(OSError("reset"), OSError("reset"))
    assert reported(api, stop, batches=[1, 4]) == [1, 4, 4]


def test_a_driver_that_does_not_hold_the_lease_writes_nothing(stop: StopRequest) -> None:
    assert reported(PlayedApi(), stop, batches=[1, 4], lease_is_held=False) == []


def test_a_bug_of_ours_costs_a_report_and_no_run(
    stop: StopRequest, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = StatusWriter.due, [ZeroDivisionError()]

    def due(self: StatusWriter, report: DriverReport) -> bool:
        if broken:
            raise broken.pop()
        return whole(self, report)

    monkeypatch.setattr(StatusWriter, "due", due)
    with caplog.at_level(logging.ERROR):
        assert reported(PlayedApi(), stop, batches=[1, 1]) == [1, 1]
    assert [record.message for record in caplog.records] == ["reporting continues after an error"]


def test_a_bug_that_lasts_is_said_once_and_again_when_it_is_back(
    stop: StopRequest, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = StatusWriter.due
    looks: list[Exception | None] = [*[ZeroDivisionError()] * 3, KeyError("c1"), None, ZeroDivisionError()]

    def due(self: StatusWriter, report: DriverReport) -> bool:
        error = looks.pop(0) if looks else None
        if error is not None:
            raise error
        return whole(self, report)

    monkeypatch.setattr(StatusWriter, "due", due)
    with caplog.at_level(logging.ERROR):
        reported(PlayedApi(), stop, batches=[1, 1, 1, 1])
    said = [record.exc_info[0] for record in caplog.records if record.exc_info]
    assert said == [ZeroDivisionError, KeyError, ZeroDivisionError]


def test_a_bug_in_the_last_report_is_said_and_the_report_is_tried_again(
    stop: StopRequest, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [ZeroDivisionError("a bug"), ZeroDivisionError("a bug")]

    def ended(report: DriverReport) -> DriverReport:
        if broken:
            raise broken.pop()
        return final_report(report)

    monkeypatch.setattr(report_loop, "final_report", ended)
    with caplog.at_level(logging.WARNING):
        assert reported(PlayedApi(), stop, batches=[1, 4]) == [1, 4]
    (said,) = caplog.records
    assert said.message == "cannot write the last report; trying again: ZeroDivisionError: a bug"
    assert said.exc_info


def test_a_last_report_that_always_fails_is_given_up(stop: StopRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: DriverReport) -> DriverReport:
        raise ZeroDivisionError

    monkeypatch.setattr(report_loop, "final_report", fail)
    monkeypatch.setattr(report_loop, "LAST_REPORT_SECONDS", 0.1)
    assert reported(PlayedApi(), stop, batches=[1, 4]) == [1]


@pytest.mark.parametrize("driver", ["pod-1", "pod-0"], ids=["this one", "another"])
def test_a_driver_ends_when_the_operator_asks_it_and_no_other(stop: StopRequest, driver: str) -> None:
    api = PlayedApi()
    api.stored["status"] = {"orders": {"driver": driver, "stopAtBatch": True}}
    reported(api, stop, batches=[1, 1])
    if driver == SETTINGS.pod:
        assert stop.reason is not None
        assert stop.reason.way is EndReason.ORDERED
    else:
        assert stop.reason is None


def test_a_run_whose_fleet_is_deleted_is_asked_to_stop(stop: StopRequest) -> None:
    reported(PlayedApi(ApiException(status=404)), stop, batches=[1, 1])
    assert stop.reason is not None
    assert stop.reason == StopReason(EndReason.FLEET_GONE, "fleet default/cheetah was deleted")


def test_a_run_whose_fleet_was_replaced_is_asked_to_stop(stop: StopRequest) -> None:
    api = PlayedApi()
    api.stored["metadata"]["uid"] = "u-2"
    tried = reported(api, stop, batches=[1, 1])
    assert stop.reason is not None
    assert "was replaced" in stop.reason.text
    # Nor is there anything to write a last report into.
    assert tried == [1]


def test_a_run_whose_fleet_is_found_replaced_in_an_answer_is_asked_to_stop(
    stop: StopRequest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    api = PlayedApi()

    async def accept(status: Object) -> Object:
        api.written.append(status)
        return api.stored

    monkeypatch.setattr(api, "apply_status", accept)
    api.stored["metadata"]["uid"] = "u-2"
    assert reported(api, stop, batches=[1, 1]) == [1]
    assert stop.reason is not None
    assert stop.reason.way is EndReason.FLEET_GONE
    assert "reporting continues after an error" not in caplog.text
