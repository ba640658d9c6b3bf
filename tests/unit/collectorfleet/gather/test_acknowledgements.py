"""What a collector says that it loaded is believed by its digest."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.errors import InfrastructureError
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import Applied, Fault
from collectorfleet_api.v1alpha1 import CollectorState

HOUR = timedelta(hours=1)
PLAN = Plan(shares=1, frames_per_share=FRAMES, in_order=False, bound=None, total_frames=None)
TORN = "the loaded version 2 has another digest than the published version"


class Fleet(Played):
    """Async; all have loaded the first version."""

    def __init__(self, collectors: int = 1) -> None:
        super().__init__(PLAN, collectors, limits=Limits(HOUR, HOUR, HOUR, min_available=1))
        self.publish()
        for remote in self.world.alive.values():
            self.world.build(remote)
        self.turn()
        self.turn()
        for remote in self.world.alive.values():
            self.world.load(remote)
        self.turn()

    def publish(self) -> None:
        self.consumer.stage("weights")
        self.turn()

    def says(self, version: int, digest: str) -> None:
        self.world.messages.append(Applied(self.remote("c0").id, version, digest))
        self.turn()


def test_what_it_loaded_long_ago_is_no_fault_of_it_and_what_it_loads_next_counts() -> None:
    fleet = Fleet()
    for _ in range(400):
        fleet.publish()
    # It has worked on one rollout meanwhile, and comes to what it was offered at its start.
    fleet.says(2, fleet.world.digests[2])
    one = fleet.shared.gather.collectors.named("c0")
    assert one is not None
    assert (one.state, one.applied_version) == (CollectorState.READY, 1)
    fleet.turn(seconds=1)
    fleet.world.load(fleet.remote("c0"))
    fleet.turn()
    assert one.applied_version == 401


def test_what_has_another_digest_than_was_published_retires_it_and_the_status_says_so() -> None:
    fleet = Fleet()
    fleet.publish()
    torn = fleet.remote("c0").id
    fleet.says(2, "digest of torn weights")
    assert torn in fleet.world.stopped
    failure = fleet.shared.versions.last_failure
    assert failure is not None
    assert (failure.collector, failure.version, failure.reason) == ("c0", 2, Fault.WEIGHTS)
    assert failure.message == TORN
    assert fleet.shared.slots.by_name["c0"].last_error == TORN
    assert fleet.shared.slots.last_fault is Fault.WEIGHTS
    assert (fleet.shared.versions.failures, fleet.shared.versions.partial) == (1, 0)


@pytest.mark.parametrize("torn", [True, False], ids=["loaded torn weights", "died"])
def test_what_all_others_have_is_acknowledged_once_the_last_without_it_is_gone(torn: bool) -> None:
    fleet = Fleet(collectors=2)
    fleet.publish()
    fleet.world.load(fleet.remote("c1"))
    fleet.turn()
    versions = fleet.shared.versions
    assert (versions.attempted, versions.succeeded, versions.partial) == (2, 1, 0)
    if torn:
        fleet.says(2, "digest of torn weights")
    else:
        fleet.world.die(fleet.remote("c0"))
        fleet.turn()
    assert (versions.attempted, versions.succeeded, versions.partial) == (2, 2 - torn, torn)


def test_its_replacement_acknowledges_the_same_version() -> None:
    fleet = Fleet()
    fleet.publish()
    fleet.says(2, "digest of torn weights")
    fleet.turn(seconds=60)
    replacement = fleet.remote("c0")
    assert fleet.shared.gather.collectors.available == 0
    fleet.world.build(replacement)
    fleet.turn()
    fleet.world.load(replacement)
    fleet.turn()
    assert fleet.shared.gather.collectors.acknowledged == 2


def fail_in_turn(fleet: Fleet, names: list[str]) -> None:
    """Each starts where it is gone, and loads something else than version 2."""
    for name in names:
        fleet.turn(seconds=60)
        remote = fleet.remote(name)
        if not remote.built:
            fleet.world.build(remote)
            fleet.turn()
        fleet.world.messages.append(Applied(remote.id, 2, "digest of torn weights"))
        fleet.turn()


@pytest.mark.parametrize("collectors", [1, 3])
def test_a_version_that_no_collector_proves_ends_the_run_with_its_cause(collectors: int) -> None:
    fleet = Fleet(collectors)
    fleet.publish()
    names = [f"c{index}" for index in range(collectors)]
    fail_in_turn(fleet, [*names, "c0"])
    assert fleet.shared.error is None
    fail_in_turn(fleet, ["c0"])
    assert isinstance(fleet.shared.error, InfrastructureError)
    assert str(fleet.shared.error).startswith(
        "weights: no collector loaded version 2 with the published digest in 3 tries. "
        f"The last failure, of c0: {TORN}; "
    )


def test_what_one_collector_cannot_prove_and_others_can_is_that_collectors_and_ends_no_run() -> None:
    fleet = Fleet(collectors=2)
    fleet.publish()
    fleet.world.load(fleet.remote("c1"))
    fail_in_turn(fleet, ["c0"] * 5)
    assert fleet.shared.error is None
    assert fleet.shared.slots.by_name["c0"].restarts == 4


def test_a_version_that_is_proven_begins_the_count_anew() -> None:
    fleet = Fleet()
    fleet.publish()
    for _ in range(3):
        fail_in_turn(fleet, ["c0"] * 2)
        fleet.turn(seconds=60)
        fleet.world.build(fleet.remote("c0"))
        fleet.turn()
        fleet.world.load(fleet.remote("c0"))
        fleet.turn()
    assert fleet.shared.error is None


def test_first_weights_of_another_digest_make_nobody_available() -> None:
    fleet = Played(PLAN, collectors=1, limits=Limits(HOUR, HOUR, HOUR, min_available=1))
    fleet.consumer.stage("weights")
    fleet.turn()
    fleet.world.build(fleet.remote("c0"))
    fleet.turn()
    fleet.world.messages.append(Applied(fleet.remote("c0").id, 1, "digest of torn weights"))
    fleet.turn()
    assert fleet.shared.gather.collectors.available == 0
    assert fleet.shared.slots.by_name["c0"].last_error == TORN.replace("version 2", "version 1")


def test_a_fleet_that_starts_is_not_ended_before_each_collector_has_tried() -> None:
    fleet = Played(PLAN, collectors=5, limits=Limits(HOUR, HOUR, HOUR, min_available=1))
    fleet.consumer.stage("weights")
    fleet.turn()
    for remote in fleet.world.alive.values():
        fleet.world.build(remote)
    fleet.turn()
    for name in ("c0", "c1", "c2", "c3"):
        fleet.world.messages.append(Applied(fleet.remote(name).id, 1, "digest of torn weights"))
        fleet.turn()
    assert fleet.shared.error is None
    fleet.world.load(fleet.remote("c4"))
    fleet.turn()
    assert fleet.shared.gather.collectors.available == 1
