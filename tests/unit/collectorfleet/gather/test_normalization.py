"""What environments saw is merged once, and goes with versions to whom they go."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from tests.unit.collectorfleet.gather.world import FRAMES, Played, Remote

from collectorfleet.codec import normalization as codec
from collectorfleet.errors import InvalidOption, UserCodeError
from collectorfleet.gather.counters import restore
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import Applied
from collectorfleet.normalization import RunningStatistics

HOUR = timedelta(hours=1)
NAME = "0.VecNormV2.observation"


def seen(updates: int, *, width: int = 1, decay: float = 1.0) -> dict[str, RunningStatistics]:
    """What so many updates make that each add one."""
    return {NAME: RunningStatistics(decay, updates, {"loc": np.full(width, float(updates))})}


NOTHING_YET = seen(0)


class Fleet(Played):
    """Collectors, Async, of which ``built`` are."""

    def __init__(self, collectors: int = 2, *, exact: bool = False, has_weights: bool = True) -> None:
        plan = Plan(1, FRAMES, in_order=exact, bound=1 if exact else None, total_frames=None, exact=exact)
        super().__init__(plan, collectors, limits=Limits(HOUR, HOUR, HOUR, min_available=1), has_weights=has_weights)
        if has_weights:
            self.publish()
        self.turn()

    def publish(self) -> None:
        self.consumer.stage("weights")
        self.turn()

    def join(self, name: str, begins_with: Mapping[str, RunningStatistics] | None = NOTHING_YET) -> Remote:
        remote = self.remote(name)
        self.world.build(remote, begins_with)
        self.turn()
        self.turn()
        if remote.offered:
            self.world.load(remote)
            self.turn()
        return remote

    def ask(self) -> None:
        with self.shared.changed:
            if self.shared.due:
                self.consumer.take_batch()
            self.consumer.request_batch()
        self.turn()

    def answer(self, remote: Remote, contribution: Mapping[str, RunningStatistics] | None) -> None:
        self.world.answer(remote, normalization=contribution)
        self.turn()

    @property
    def updates(self) -> int:
        return self.consumer.normalization[NAME].updates


def with_it(remote: Remote) -> int:
    """Updates in the normalization that came with the newest offer."""
    assert remote.weights is not None
    assert remote.weights.normalization is not None
    return codec.decode(remote.weights.normalization.handle)[NAME].updates


def test_all_begin_with_what_the_first_one_begins_with() -> None:
    fleet = Fleet()
    first, second = fleet.join("c0", seen(100)), fleet.join("c1", seen(7))
    assert (with_it(first), with_it(second), fleet.updates) == (100, 100, 100)
    assert fleet.shared.gather.collectors.available == 2  # what they say that they loaded is what was published


def test_the_next_version_has_what_came_with_answers_until_then() -> None:
    fleet = Fleet()
    first, second = fleet.join("c0"), fleet.join("c1")
    fleet.ask()
    fleet.answer(first, seen(10))
    fleet.answer(second, seen(30))
    fleet.publish()
    for remote in (first, second):
        fleet.world.load(remote)
    fleet.turn()
    assert (with_it(first), with_it(second), fleet.updates) == (40, 40, 40)
    assert fleet.shared.gather.collectors.acknowledged == 2


def test_one_that_replaces_another_begins_with_all_that_is_known_although_no_version_has_it() -> None:
    fleet = Fleet()
    first = fleet.join("c0")
    fleet.ask()
    fleet.answer(first, seen(10))
    fleet.world.die(first)
    fleet.turn(seconds=5)
    fleet.turn()
    second = fleet.join("c0")
    assert (second.id.incarnation > first.id.incarnation, second.offered, with_it(second)) == (True, 1, 10)
    assert fleet.shared.gather.collectors.available == 1


def test_what_is_added_begins_with_all_that_is_known() -> None:
    fleet = Fleet(collectors=1)
    first = fleet.join("c0")
    fleet.ask()
    fleet.answer(first, seen(10))
    fleet.consumer.resize(2)
    fleet.turn()
    assert with_it(fleet.join("c1")) == 10


def test_an_answer_that_is_lost_counts_nowhere_and_its_share_counts_once() -> None:
    fleet = Fleet(collectors=1)
    first = fleet.join("c0")
    fleet.ask()
    fleet.world.lose_answer(first)
    fleet.turn()
    assert fleet.updates == 0
    fleet.answer(first, seen(10))
    assert fleet.updates == 10


def test_what_one_that_was_retired_says_late_counts_nowhere() -> None:
    fleet = Fleet()
    first = fleet.join("c0")
    fleet.ask()
    fleet.world.die(first)
    fleet.world.answer(first, normalization=seen(10))
    fleet.turn()
    assert fleet.updates == 0


def test_a_collector_that_loaded_weights_without_their_normalization_is_retired() -> None:
    fleet = Fleet(collectors=1)
    remote = fleet.remote("c0")
    fleet.world.build(remote, NOTHING_YET)
    fleet.turn()
    fleet.turn()
    fleet.world.messages.append(Applied(remote.id, 1, fleet.world.digests[1]))
    fleet.turn()
    failure = fleet.shared.versions.last_failure
    assert failure is not None
    assert (failure.collector, failure.version) == ("c0", 1)


def test_an_exact_request_brings_the_normalization_of_its_version() -> None:
    fleet = Fleet(collectors=1, exact=True)
    first = fleet.join("c0")
    fleet.ask()
    old = fleet.shared.versions.weights(1)
    fleet.answer(first, seen(10))
    fleet.turn()
    assert fleet.take() is not None
    fleet.publish()
    new = fleet.shared.versions.newest
    assert new is not None
    found = [codec.decode(one.normalization.handle)[NAME].updates for one in (old, new) if one.normalization]
    assert found == [0, 10]


def test_environments_that_keep_nothing_add_nothing_to_what_is_said() -> None:
    fleet = Fleet()
    first = fleet.join("c0", None)
    fleet.ask()
    fleet.answer(first, None)
    fleet.publish()
    assert first.weights is not None
    assert (first.weights.normalization, fleet.world.stored) == (None, 2)
    assert fleet.consumer.normalization == {}


def test_a_fleet_without_weights_gets_versions_for_it() -> None:
    fleet = Fleet(has_weights=False)
    first = fleet.join("c0")
    assert (first.offered, fleet.shared.gather.version) == (1, 1)
    fleet.ask()
    fleet.answer(first, seen(10))
    assert with_it(fleet.join("c1")) == 10
    assert fleet.shared.gather.collectors.available == 2


def test_a_fleet_without_weights_and_normalization_has_no_versions() -> None:
    fleet = Fleet(has_weights=False)
    fleet.join("c0", None)
    assert (fleet.shared.gather.version, fleet.shared.gather.collectors.available) == (0, 1)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (
            seen(0, width=4),
            r"0\.VecNormV2\.observation: this environment has decay 1, loc \[4\], but c0 has decay 1, loc \[1\];",
        ),
        (seen(0, decay=0.9), r"this environment has decay 0.9, loc \[1\],"),
        (None, "the environment of c0 has these statistics, but this environment does not"),
    ],
    ids=["shape", "decay", "nothing"],
)
def test_environments_that_differ_are_refused_by_name(other: Mapping[str, RunningStatistics] | None, says: str) -> None:
    fleet = Fleet()
    fleet.join("c0")
    fleet.world.build(fleet.remote("c1"), other)
    fleet.turn()
    with pytest.raises(UserCodeError, match=rf"environment \(collector c1\): .*{says}.*the same transforms"):
        fleet.consumer.next()


def test_a_fleet_goes_on_from_what_an_earlier_one_had() -> None:
    fleet = Fleet(collectors=1)
    restore(fleet.consumer.shared, {"frames": 0, "version": 5, "normalization": codec.to_state(seen(50))})
    assert with_it(fleet.join("c0", seen(3))) == 50


@pytest.mark.parametrize("built", [False, True])
def test_of_a_state_what_no_environment_has_is_left_and_what_it_lacks_is_as_environments_begin(built: bool) -> None:
    fleet = Fleet(collectors=1)
    state = {"frames": 0, "version": 5, "normalization": codec.to_state({"1.VecNorm.reward": seen(50)[NAME]})}
    if built:
        fleet.join("c0", seen(3))
    restore(fleet.consumer.shared, state)
    if not built:
        fleet.join("c0", seen(3))
    assert {name: one.updates for name, one in fleet.consumer.normalization.items()} == {NAME: 3}


def test_a_state_of_other_environments_is_refused() -> None:
    fleet = Fleet(collectors=1)
    fleet.join("c0")
    says = r"0\.VecNormV2\.observation: this environment has decay 1, loc \[1\], but the saved .*\[4\]; give the env.*"
    with pytest.raises(InvalidOption, match=says):
        restore(fleet.consumer.shared, {"frames": 0, "version": 5, "normalization": codec.to_state(seen(50, width=4))})


THINGS = ("answers", "loses its answer", "dies", "joins", "publish", "ask")


@settings(max_examples=60)
@given(happens=st.lists(st.tuples(st.sampled_from(THINGS), st.sampled_from(["c0", "c1"]))))
def test_what_answers_bring_counts_once_whatever_else_happens(happens: list[tuple[str, str]]) -> None:
    fleet = Fleet()
    fleet.join("c0", seen(5))
    expected, number = 5, 0
    for thing, name in happens:
        there = [one for one in fleet.world.alive.values() if one.id.name == name]
        match thing:
            case "publish":
                fleet.publish()
            case "ask":
                fleet.ask()
            case "joins" if there and not there[0].built:
                joined = fleet.join(name)
                assert with_it(joined) == expected
            case "answers" if there and there[0].requests:
                number += 1
                fleet.answer(there[0], seen(number))
                expected += number
            case "loses its answer" if there and there[0].requests:
                fleet.world.lose_answer(there[0])
                fleet.turn()
            case "dies" if there:
                fleet.world.die(there[0])
                if there[0].requests:
                    fleet.world.answer(there[0], normalization=seen(1000))
                fleet.turn(seconds=5)
                fleet.turn()
        assert fleet.updates == expected
