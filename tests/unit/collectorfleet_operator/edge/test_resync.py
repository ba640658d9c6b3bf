"""The fleets that a resync reports: those with a change that a watch missed, and no others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.decide.queued import admitted
from tests.unit.collectorfleet_operator.edge.played_lists import PlayedResync, listed
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, World, running

from collectorfleet_operator.children.driver_service import SERVICE
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.children.table import LISTED
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.edge.errors import RefusedError, UnavailableError
from collectorfleet_operator.objects import Key, Kind, metadata


def test_the_first_lists_concern_every_fleet_and_the_next_ones_none() -> None:
    played = PlayedResync(running())
    assert played.list_all() == {KEY}
    assert set(played.cache.fleets()) == {KEY}
    assert played.list_all() == set()


def fleet_with(kind: Kind) -> World:
    """Return a fleet that has an object of this kind."""
    if kind == WORKLOAD:
        return admitted()
    return running(WITHOUT_RAY if kind == SERVICE else {"spec.networkPolicy": {}})


# A changed Lease concerns no fleet.
@pytest.mark.parametrize("kind", [kind for kind in LISTED if kind != LEASE], ids=str)
def test_what_a_watch_missed_concerns_the_fleet_it_is_about(kind: Kind) -> None:
    played = listed(fleet_with(kind))
    key = next(key for of, key in played.lists.objects if of == kind)
    if kind == FLEET:
        metadata(played.lists.objects[kind, key])["generation"] = 7
        played.lists.change(kind, key)
    else:
        labels = metadata(played.lists.objects[kind, key])["labels"]
        played.lists.relabel(kind, key, {**labels, "other": "one"})
    assert played.list_all() == {KEY}
    del played.lists.objects[kind, key]
    played.lists.version += 1
    assert played.list_all() == {KEY}
    assert played.cache.get(kind, key) is None


def test_what_is_refused_keeps_nothing_else_from_being_listed() -> None:
    played = listed()
    played.lists.refused = {POD}
    played.lists.relabel(ROLE, DRIVER, {})
    with pytest.raises(RefusedError):
        played.list_all()
    assert set(played.told) == {KEY}
    assert played.cache.pods_of(KEY)


def test_a_namespace_whose_lists_are_refused_keeps_no_other_from_being_listed() -> None:
    played = PlayedResync(running(), scopes=["before", KEY.namespace])
    played.lists.refused_in = {(kind, "before") for kind in LISTED}
    assert played.after(played.resync.list_everything) == {KEY}
    assert played.cache.pods_of(KEY)
    assert played.resync.is_listed(KEY.namespace)
    assert not played.resync.is_listed("before")
    assert played.resync.refusal_of([POD]) is not None


def test_where_every_namespace_is_refused_nothing_is_listed() -> None:
    played = PlayedResync(running(), scopes=["before", KEY.namespace])
    played.lists.refused = {POD}
    with pytest.raises(RefusedError):
        played.after(played.resync.list_everything)
    assert not played.resync.is_listed("before")
    assert not played.resync.is_listed(KEY.namespace)


def test_fleets_of_a_namespace_are_looked_at_once_all_of_it_was_listed() -> None:
    played = PlayedResync(running(), scopes=[KEY.namespace, "other"])
    played.lists.refused_in = {(POD, KEY.namespace)}
    played.after(played.resync.list_everything)
    assert not played.resync.is_listed(KEY.namespace)
    played.lists.refused_in = set()
    assert played.after(played.resync.list_all) == {KEY}
    assert played.resync.is_listed(KEY.namespace)
    # If the right is removed later, the operator keeps the pods that it knows.
    played.lists.refused_in = {(POD, KEY.namespace)}
    with pytest.raises(RefusedError):
        played.after(played.resync.list_all)
    assert played.resync.is_listed(KEY.namespace)
    assert played.cache.pods_of(KEY)


def test_a_list_that_breaks_off_takes_nothing_away() -> None:
    played = listed()
    played.lists.breaks_off = {POD}
    with pytest.raises(UnavailableError):
        played.list_all()
    assert len(played.cache.pods_of(KEY)) > 1


def test_a_lease_concerns_its_fleet_when_its_driver_is_lost_and_when_it_is_back_and_nobody_else() -> None:
    seconds = 0.0
    played = listed(clock=lambda: seconds)

    def renewed_at(moment: int) -> None:
        played.lists.change(LEASE, DRIVER, spec={"holderIdentity": "driver", "renewTime": f"{moment}"})

    def told() -> dict[int, set[Key]]:
        """Return the fleets that a list reports, by second: one list every 5 s for 90 s, renewals for 40 s."""
        nonlocal seconds
        found = {}
        for moment in range(0, 90, 5):
            seconds = began + moment
            if moment < 40:
                renewed_at(moment)
            found[moment] = played.after(played.resync.list_often)
        return {moment: fleets for moment, fleets in found.items() if fleets}

    began = seconds
    renewed_at(-5)
    played.after(played.resync.list_often)
    # The last renewal is at 35 s.
    assert told() == {75: {KEY}}
    began = seconds + 5
    # The driver is back, and lost again.
    assert told() == {0: {KEY}, 75: {KEY}}


def test_a_complete_list_takes_no_news_of_a_lease_from_the_list_that_tells_of_lost_drivers() -> None:
    seconds = 0.0
    played = listed(clock=lambda: seconds)
    for moment in range(5, 60, 5):
        seconds = float(moment)
        played.after(played.resync.list_often)
    played.lists.change(LEASE, DRIVER, spec={"holderIdentity": "driver", "renewTime": "60"})
    assert played.after(played.resync.list_all) == set()
    assert played.after(played.resync.list_often) == {KEY}


def failed(world: World) -> World:
    """Let the fleet of ``world`` fail. Its code is in a ConfigMap."""
    fleet = world.get(FLEET)
    fleet["spec"]["code"] = {"configMap": "code"}
    ended = {"type": "Completed", "status": "False", "reason": "Failed", "message": ""}
    world.store({**fleet, "status": {"conditions": [ended]}})
    return world


def test_mended_code_concerns_the_fleet_that_failed_once() -> None:
    played = listed(failed(running()))
    assert played.after(played.resync.read_code_changes) == {KEY}
    assert played.after(played.resync.read_code_changes) == set()
    played.lists.code_changed_at = "2026-07-01T13:00:00Z"
    assert played.after(played.resync.read_code_changes) == {KEY}
    assert played.resync.code_changes == {KEY: datetime(2026, 7, 1, 13, tzinfo=UTC)}


def test_code_that_cannot_be_read_delays_no_other_fleet() -> None:
    """A tenant may name what is not a ConfigMap, such as ``.``, which the API server answers with a list."""
    played = listed(failed(running()))
    odd, fleet = Key(KEY.namespace, "odd"), played.lists.objects[FLEET, KEY]
    kept = {**metadata(fleet), "name": odd.name, "uid": "odd", "resourceVersion": "2000"}
    played.cache.put(FLEET, {**fleet, "metadata": kept, "spec": {**fleet["spec"], "code": {"configMap": "."}}})
    played.after(played.resync.read_code_changes)
    before = dict(played.resync.code_changes)
    assert before.keys() == {KEY, odd}

    played.lists.unreadable, played.lists.code_changed_at = {"."}, "2026-07-01T13:00:00Z"

    async def read() -> None:
        with pytest.raises(UnavailableError, match="not an object"):
            await played.resync.read_code_changes()

    assert played.after(read) == {KEY}
    assert played.resync.code_changes == {KEY: datetime(2026, 7, 1, 13, tzinfo=UTC), odd: before[odd]}


def test_code_that_many_fleets_share_is_asked_for_once() -> None:
    played = listed(failed(running()))
    played.add_copy(FLEET, KEY, name="other", uid="other")
    assert played.after(played.resync.read_code_changes) == {KEY, Key(KEY.namespace, "other")}
    assert played.lists.found_names == ["code"]
