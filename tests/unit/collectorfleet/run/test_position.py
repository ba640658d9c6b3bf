"""How far a run is, as each of its records tells it."""

from __future__ import annotations

import json
from dataclasses import asdict

from collectorfleet.run.position import Position
from collectorfleet_api.v1alpha1 import DriverReport, Progress, WeightsStatus


def test_a_status_tells_what_was_delivered_published_and_lost() -> None:
    status = DriverReport(
        weights=WeightsStatus(published=52), progress=Progress(frames_delivered=10_400, batches=52, frames_lost=300)
    )
    assert Position.of_report(status) == Position(frames=10_400, batches=52, version=52, frames_lost=300)


def test_who_has_reported_nothing_is_at_the_start() -> None:
    assert Position.of_report(None) == Position.of_report(DriverReport()) == Position()


def test_a_collector_counts_its_own_frames_and_not_those_lost_before_it() -> None:
    found = Position.of_counters({"frames": 800, "batches": 4, "version": 5, "incarnations": 2}, frames_lost=100)
    assert found == Position(frames=800, batches=4, version=5, frames_lost=100)
    assert found.frames_ever == 900


def test_it_is_read_back_from_a_checkpoint_as_it_was() -> None:
    position = Position(frames=800, batches=4, version=5, frames_lost=100)
    assert Position.from_json(json.loads(json.dumps(asdict(position)))) == position
