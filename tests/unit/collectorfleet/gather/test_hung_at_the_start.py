"""Collectors that never get ready: one that waits for room has all the time, one that hangs has not."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import CollectorId, Placed

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


class Fleet(Played):
    """Two collectors, Sync; ``c0`` is ready and its batches are asked for."""

    def __init__(self) -> None:
        plan = Plan(shares=2, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None)
        super().__init__(plan, collectors=2, limits=Limits(HOUR, MINUTE, HOUR, min_available=1))
        self.consumer.stage("weights")
        self.consumer.request_batch()
        self.turn()
        self.world.build(self.remote("c0"))
        self.turn()
        self.world.load(self.remote("c0"))
        self.turn()

    def turn(self, seconds: float = 0.0) -> None:
        super().turn(seconds)
        super().turn()  # what the first has noted is acted upon

    def place(self, name: str) -> CollectorId:
        id_ = self.remote(name).id
        self.world.messages.append(Placed(id_, f"pod-{name}"))
        self.turn()
        return id_

    def last_error(self, name: str) -> str | None:
        return self.shared.slots.by_name[name].last_error


def test_one_that_waits_for_room_is_waited_for() -> None:
    fleet = Fleet()
    waits = fleet.remote("c1").id
    fleet.turn(seconds=3000)
    assert waits not in fleet.world.stopped


def test_one_whose_environment_is_never_built_is_retired_and_said() -> None:
    fleet = Fleet()
    hung = fleet.place("c1")
    one = fleet.shared.gather.collectors.named("c1")
    assert one is not None
    assert one.pod == "pod-c1"
    fleet.turn(seconds=59)
    assert hung not in fleet.world.stopped
    fleet.turn(seconds=2)
    assert hung in fleet.world.stopped
    assert fleet.last_error("c1") == "not built within 60 s (first_request_timeout)"


def test_one_that_never_loads_its_first_weights_freezes_nobody_and_is_retired() -> None:
    fleet = Fleet()
    hung = fleet.place("c1")
    fleet.world.build(fleet.remote("c1"))
    fleet.turn()
    assert len(fleet.remote("c0").requests) == 1
    fleet.turn(seconds=11)
    # Both shares are its own by now.
    assert len(fleet.remote("c0").requests) == 2
    fleet.turn(seconds=50)
    assert hung in fleet.world.stopped
    assert fleet.last_error("c1") == "built, but did not load its first weights within 60 s (first_request_timeout)"


def test_one_that_gets_ready_in_time_is_left_alone() -> None:
    fleet = Fleet()
    ready = fleet.place("c1")
    fleet.world.build(fleet.remote("c1"))
    fleet.turn(seconds=50)
    fleet.world.load(fleet.remote("c1"))
    fleet.turn()
    fleet.turn(seconds=20)
    assert ready not in fleet.world.stopped
