"""What the status says of a driver before and after it has a session, and how that follows the spec."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.manifests import manifest
from tests.unit.collectorfleet.pod.played_api import SETTINGS

from collectorfleet.errors import UserCodeError
from collectorfleet.pod.reported_run import ReportedRun
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport, Progress


class Scripted:
    """A session that says what the test wants."""

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int]] = []
        self.drained: list[set[str]] = []
        self.last_batch_time: datetime | None = None

    def report(self) -> DriverReport:
        return DriverReport(progress=Progress(batches=3, last_batch_time=self.last_batch_time))

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int:
        return seen + 1

    def resize(self, replicas: int, min_available: int) -> None:
        self.sizes.append((replicas, min_available))

    def drain_pods(self, pods: Collection[str]) -> None:
        self.drained.append(set(pods))


def stored(replicas: int, **status: Any) -> CollectorFleet:
    fleet = manifest({"spec.collectors.replicas": replicas})
    fleet["metadata"]["uid"] = "u-1"
    fleet["status"] = {"fleetUID": "u-1", **status}
    return CollectorFleet.parse_stored(fleet)


def asking(replicas: int, min_available: int, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the API server answers to a report."""
    collectors = {"spec.collectors.replicas": replicas, "spec.collectors.minAvailable": min_available}
    fleet = manifest(collectors | (changes or {}))
    fleet["metadata"]["uid"] = "u-1"
    return fleet


class Unscalable(Scripted):
    """A session whose scaling policy fails."""

    def resize(self, replicas: int, min_available: int) -> None:
        super().resize(replicas, min_available)
        raise UserCodeError("scaling_policy", "IndexError: list index out of range")


def test_before_the_fleet_is_read_nothing_is_claimed() -> None:
    report = ReportedRun(SETTINGS).report()
    assert (report.fleet_uid, report.driver_incarnation, report.collectors) == ("u-1", 1, [])


def test_collectors_are_starting_until_there_is_a_session() -> None:
    run = ReportedRun(SETTINGS)
    run.begin(stored(replicas=2, driverIncarnation=4))
    report = run.report()
    assert report.driver_incarnation == 5
    assert [row.state for row in report.collectors] == ["Starting", "Starting"]
    run.attach(Scripted())
    report = run.report()
    assert (report.fleet_uid, report.driver_incarnation) == ("u-1", 5)
    assert report.progress is not None
    assert report.progress.batches == 3


def test_when_the_last_batch_was_stays_known_until_there_is_another() -> None:
    """Deadlines of the run's start go by it."""
    run, session = ReportedRun(SETTINGS), Scripted()
    run.begin(stored(replicas=2, driverIncarnation=1, progress={"batches": 3, "lastBatchTime": "2026-01-01T12:00:00Z"}))
    for attach in (False, True):
        if attach:
            run.attach(session)
        progress = run.report().progress
        assert progress is not None
        assert progress.last_batch_time == datetime(2026, 1, 1, 12, tzinfo=UTC)
    session.last_batch_time = datetime(2026, 1, 1, 13, tzinfo=UTC)
    progress = run.report().progress
    assert progress is not None
    assert progress.last_batch_time == session.last_batch_time


def test_the_session_is_resized_when_the_fleet_wants_another_size_and_only_then() -> None:
    run, session = ReportedRun(SETTINGS), Scripted()
    run.begin(stored(replicas=2))
    run.attach(session)
    for size in [(2, 1), (5, 1), (5, 1), (5, 4)]:
        run.follow(asking(*size))
    assert session.sizes == [(5, 1), (5, 4)]


def test_a_fleet_that_is_scaled_while_its_driver_starts_is_resized_once_it_has_started() -> None:
    run, session = ReportedRun(SETTINGS), Scripted()
    run.begin(stored(replicas=2))
    run.follow(asking(5, 1))
    run.attach(session)
    run.follow(asking(5, 1))
    assert session.sizes == [(5, 1)]


def test_a_change_is_waited_for_in_the_session_once_there_is_one() -> None:
    run = ReportedRun(SETTINGS)
    assert run.wait_for_change(7, 60) == 0
    run.attach(Scripted())
    assert run.wait_for_change(7, 60) == 8


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"spec.image": "ghcr.io/you/cheetah:2.0"}, id="another image"),
        pytest.param({"spec.collectors.resources.gpu": 1.5}, id="what cannot run"),
        pytest.param({"spec.mood": 1, "spec.collection": 7}, id="what cannot be read"),
    ],
)
def test_the_size_is_followed_whatever_else_the_stored_spec_says(changes: dict[str, Any]) -> None:
    run, session = ReportedRun(SETTINGS), Scripted()
    run.attach(session)
    run.follow(asking(5, 4, changes))
    assert session.sizes == [(5, 4)]


def test_a_size_that_no_fleet_can_have_is_not_followed() -> None:
    run, session = ReportedRun(SETTINGS), Scripted()
    run.begin(stored(replicas=4))
    run.attach(session)
    run.follow(asking(0, 1))
    assert session.sizes == []


def test_pods_are_drained_when_the_operator_asks_this_driver_and_only_then() -> None:
    run, session = ReportedRun(SETTINGS), Scripted()
    run.begin(stored(replicas=2))
    run.attach(session)
    ours, other = {"driver": SETTINGS.pod}, {"driver": "an earlier one"}
    for orders in ({**other, "drainPods": ["w1"]}, {**ours, "drainPods": ["w1"]}, {**ours, "drainPods": ["w1"]}, None):
        run.follow({**asking(2, 1), "status": {"orders": orders}})
    assert session.drained == [{"w1"}, set()]


def test_a_scaling_policy_that_fails_does_not_keep_the_driver_from_reading_the_rest() -> None:
    run, session = ReportedRun(SETTINGS), Unscalable()
    run.begin(stored(replicas=4))
    run.attach(session)
    run.follow({**asking(2, 1), "status": {"orders": {"driver": SETTINGS.pod, "drainPods": ["w1"]}}})
    assert (session.sizes, session.drained) == ([(2, 1)], [{"w1"}])
