"""Numbers come to every logger, and no logger costs the run anything."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest
from tests.wait import eventually

from collectorfleet.run.log import run_log
from collectorfleet.run.log.run_log import RunLog, fleet_metrics
from collectorfleet_api.v1alpha1 import DriverReport, Progress, WeightsStatus

REPORT = DriverReport(
    progress=Progress(frames_delivered=400, frames_per_second=100.0, metrics={"reward": 2.0}),
    weights=WeightsStatus(published=7),
)
FLEETS = {
    "collectorfleet/frames_delivered": 400.0,
    "collectorfleet/frames_per_second": 100.0,
    "collectorfleet/weights_published_version": 7.0,
}


class Recorded:
    """A logger that keeps what it gets; it raises, or waits, when it is told to."""

    def __init__(self) -> None:
        self.records: list[tuple[dict[str, float], int]] = []
        self.closed = False
        self.error: Exception | None = None
        self.go_on = threading.Event()
        self.go_on.set()

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        self.go_on.wait()
        if self.error:
            raise self.error
        self.records.append((dict(metrics), step))

    def close(self) -> None:
        self.closed = True


def test_the_users_numbers_come_at_once_and_the_fleets_at_the_end() -> None:
    one, other = Recorded(), Recorded()
    with RunLog({"one": one, "other": other}, lambda: REPORT, every_seconds=3600) as log:
        log.add({"reward": 1.0}, 200)
        log.add({"reward": 2.0}, 400)
        eventually(lambda: len(other.records), until=lambda seen: seen == 2, within=10, what="two records")
    wanted = [({"reward": 1.0}, 200), ({"reward": 2.0}, 400), (fleet_metrics(REPORT), 400)]
    assert (one.records, other.records) == (wanted, wanted)
    assert (one.closed, other.closed) == (True, True)


def test_the_fleets_numbers_come_again_and_again() -> None:
    logger = Recorded()
    with RunLog({"one": logger}, lambda: REPORT, every_seconds=0.02):
        eventually(lambda: len(logger.records), until=lambda seen: seen >= 3, within=10, what="three records")
    assert {step for _, step in logger.records} == {400}


def test_before_the_first_frame_there_are_none_of_the_fleet() -> None:
    logger = Recorded()
    with RunLog({"one": logger}, DriverReport, every_seconds=3600):
        pass
    assert logger.records == []


def test_a_logger_that_fails_is_told_of_once_and_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    broken, other = Recorded(), Recorded()
    broken.error = OSError("No space left on device")
    with caplog.at_level("INFO"), RunLog({"broken": broken, "other": other}, DriverReport, every_seconds=3600) as log:
        for frames in (1, 2, 3):
            log.add({"reward": 1.0}, frames)
        eventually(lambda: len(other.records), until=lambda seen: seen == 3, within=10, what="three records")
        broken.error = None
        log.add({"reward": 1.0}, 4)
    assert [one.message for one in caplog.records] == [
        "broken: OSError: No space left on device; the run goes on without these numbers",
        "broken: takes numbers again",
    ]
    assert broken.records == [({"reward": 1.0}, 4)]


def test_a_logger_that_waits_for_a_network_holds_up_nothing_and_the_end_only_for_a_while(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_log, "MOST_WAITING", 5)
    monkeypatch.setattr(run_log, "CLOSE_SECONDS", 0.1)
    slow = Recorded()
    slow.go_on.clear()
    try:
        with RunLog({"slow": slow}, DriverReport, every_seconds=3600) as log:
            for frames in range(100):
                log.add({"reward": 1.0}, frames)
    finally:
        slow.go_on.set()
    full, late = (one.message for one in caplog.records)
    assert full == "slow: 5 records wait; leaving out more"
    assert late.startswith("slow: not done 0.1 s after the run; about ")
    eventually(lambda: slow.closed, within=10, what="what was waited for")


def test_without_loggers_there_is_no_thread() -> None:
    with RunLog({}, DriverReport, every_seconds=1) as log:
        log.add({"reward": 1.0}, 1)
        assert "run log" not in {thread.name for thread in threading.enumerate()}


def test_what_the_user_reported_is_not_the_fleets() -> None:
    found = fleet_metrics(REPORT)
    assert found.items() >= FLEETS.items()
    assert [name for name in found if "reward" in name or "reported" in name] == []
