"""What a driver takes from the fleet that it finds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.manifests import manifest

from collectorfleet.pod.stored_fleet import last_report
from collectorfleet.run.position import Position
from collectorfleet.run.reports import final_report, starting_report
from collectorfleet_api.conditions.collectors import collectors_available
from collectorfleet_api.conditions.weights import weights_fresh
from collectorfleet_api.v1alpha1 import CollectorFleet, CollectorState, CollectorStatus

LATER = datetime(2026, 7, 1, 18, tzinfo=UTC)
REPORT = {
    "fleetUID": "u-1",
    "driverIncarnation": 2,
    "weights": {"published": 41, "acknowledged": 40, "lastPublishTime": "2026-07-01T12:00:00Z"},
    "progress": {
        "framesCollected": 9000,
        "framesDelivered": 8000,
        "framesLost": 400,
        "batches": 40,
        "framesPerSecond": 1000.5,
        "metrics": {"reward": 87.5},
        "collectors": {"desired": 4, "available": 4, "restarts": 3, "summary": "4/4"},
    },
    "checkpoint": {"frames": 7800},
}


def stored(status: dict[str, Any] | None) -> CollectorFleet:
    fleet = manifest()
    fleet["metadata"]["uid"] = "u-1"
    if status is not None:
        fleet["status"] = status
    return CollectorFleet.parse_stored(fleet)


def test_the_first_driver_of_a_fleet_has_nobody_before_it() -> None:
    assert last_report(stored(None)) is None
    assert last_report(stored({"observedGeneration": -1})) is None
    assert last_report(stored({**REPORT, "fleetUID": "of a fleet that had the name before"})) is None


def test_a_driver_that_starts_keeps_what_the_next_one_would_have_to_know() -> None:
    before = last_report(stored(REPORT))
    begins = starting_report(3, before)
    assert Position.of_report(begins) == Position.of_report(before) == Position(8000, 40, 41, 400)
    assert begins.checkpoint is not None
    assert begins.checkpoint.frames == 7800
    assert begins.progress is not None
    assert begins.progress.metrics == {"reward": 87.5}
    assert begins.progress.frames_per_second is None
    assert begins.progress.collectors is not None
    assert begins.progress.collectors.summary == "0/3"


def test_its_collectors_are_starting_and_its_weights_are_with_nobody_yet() -> None:
    spec = stored(None).spec
    for before in (None, last_report(stored(REPORT))):
        begins = starting_report(4, before)
        assert collectors_available(spec, begins).reason == "CollectorsStarting"
        assert weights_fresh(begins, LATER).status == "Unknown"
    assert len(starting_report(1000, None).collectors) == 100


def test_a_driver_that_has_ended_leaves_how_far_it_came_and_no_collectors() -> None:
    before = last_report(stored(REPORT))
    assert before is not None
    states = [CollectorState.READY, CollectorState.FAILED, CollectorState.STARTING]
    rows = [CollectorStatus(name=f"c{i}", state=state, restarts=i) for i, state in enumerate(states)]
    ended = final_report(before.model_copy(update={"collectors": rows}))
    assert Position.of_report(ended) == Position.of_report(before)
    assert ended.progress is not None
    assert ended.progress.collectors is not None
    assert (ended.progress.collectors.summary, ended.progress.collectors.available) == ("0/4", 0)
    assert ended.progress.collectors.restarts == 3
    assert ended.progress.frames_per_second is None
    assert ended.driver_ended
    assert [(row.state, row.restarts) for row in ended.collectors] == [("Retired", 0), ("Failed", 1), ("Retired", 2)]
