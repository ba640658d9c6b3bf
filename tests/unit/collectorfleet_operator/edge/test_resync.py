"""What lists tell the operator: what a watch missed, and nothing that was known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.decide.queued import queued
from tests.unit.collectorfleet_operator.world import KEY, NOON, World, later, running

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.driver_service import SERVICE
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.children.table import LISTED
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide.events import EVENT
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.errors import RefusedError, UnavailableError
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.listing import Listing, Unchanged
from collectorfleet_operator.edge.resync import Resync
from collectorfleet_operator.objects import Key, Kind, Object, metadata

DRIVER = Key(KEY.namespace, f"{KEY.name}-driver")


class PlayedLists:
    """Lists what a world has, in items that are told apart by their text."""

    def __init__(self, world: World) -> None:
        self.objects = {
            (kind, key): world.get(kind, key) for kind, keys in world.cache._objects.items() for key in keys
        }
        self.events: list[Object] = []
        self.refused: set[Kind] = set()
        self.refused_in: set[tuple[Kind, str | None]] = set()
        self.unanswered: set[Kind] = set()
        self.breaks_off: set[Kind] = set()
        self.code_changed_at = "2026-07-01T12:00:00Z"
        self.asked_for: list[str] = []
        self.kueue: frozenset[str] | None = frozenset()  # None: refused
        self.version = 1000

    def in_versions(self, _: Mapping[str, str]) -> PlayedLists:
        return self

    async def versions(self, group: str) -> frozenset[str]:
        if self.kueue is None:
            raise RefusedError(f"get the versions of {group}", "forbidden")
        return self.kueue

    async def list(
        self, kind: Kind, namespace: str | None, into: Listing, **options: Any
    ) -> AsyncIterator[Object | Unchanged]:
        if kind in self.refused or (kind, namespace) in self.refused_in:
            raise RefusedError(f"list {kind}", "forbidden")
        if kind in self.unanswered:
            raise UnavailableError(f"list {kind}", "no answer")
        if kind == EVENT:
            for event in self.events if namespace == KEY.namespace else []:
                yield event
            return
        before = dict(into._before)  # type: ignore[arg-type]
        now = {
            key: repr(obj)
            for (of, key), obj in self.objects.items()
            if of == kind and (namespace is None or key.namespace == namespace)
        }
        for key, text in now.items():
            if before.get(key) == text:
                yield Unchanged(key)
            else:
                yield dict(self.objects[kind, key])
            if kind in self.breaks_off:
                raise UnavailableError(f"list {kind}", "it broke off")
        into._before = list(now.items())  # type: ignore[assignment]
        into.resource_version = str(self.version)

    async def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        self.asked_for.append(name)
        return {"metadata": {"managedFields": [{"time": self.code_changed_at}]}}

    def change(self, kind: Kind, key: Key, **fields: Any) -> None:
        self.version += 1
        obj = self.objects[kind, key]
        self.objects[kind, key] = {**obj, **fields, "metadata": {**metadata(obj), "resourceVersion": str(self.version)}}


class Watcher:
    """A resync of a new operator, and the fleets that it was told of."""

    def __init__(
        self, world: World, clock: Callable[[], float] = lambda: 0.0, scopes: Sequence[str | None] = (None,)
    ) -> None:
        self.lists = PlayedLists(world)
        self.cache = Cache(clock)
        self.told: list[Key] = []
        freshness = Freshness(lambda: 0.0)
        self.resync = Resync(
            self.lists,  # type: ignore[arg-type]
            self.cache,
            freshness,
            scopes,
            lambda: NOON,
            self.told.extend,
        )

    def after(self, step: Callable[[], Awaitable[Any]]) -> set[Key]:
        self.told.clear()
        asyncio.run(step())  # type: ignore[arg-type]
        return set(self.told)

    def list_all(self) -> set[Key]:
        async def both() -> None:
            await self.resync.list_all()
            await self.resync.list_often()
            await self.resync.missing_kinds()

        return self.after(both)


def test_the_first_lists_concern_every_fleet_and_the_next_ones_none() -> None:
    watcher = Watcher(running())
    assert watcher.list_all() == {KEY}
    assert set(watcher.cache.fleets()) == {KEY}
    assert watcher.list_all() == set()


# Only a fleet with a queue has a Workload, and only one without Ray a Service.
@pytest.mark.parametrize("kind", [kind for kind in LISTED if kind not in (LEASE, WORKLOAD, SERVICE)], ids=str)
def test_what_a_watch_missed_concerns_the_fleet_it_is_about(kind: Kind) -> None:
    watcher = Watcher(running({"spec.networkPolicy": {}}))
    watcher.list_all()
    key = next(key for of, key in watcher.lists.objects if of == kind)
    changed = {**metadata(watcher.lists.objects[kind, key])["labels"], "other": "one"} if kind != FLEET else {}
    watcher.lists.objects[kind, key]["metadata"] |= {"labels": changed} if changed else {"generation": 7}
    watcher.lists.change(kind, key)
    assert watcher.list_all() == {KEY}
    del watcher.lists.objects[kind, key]
    watcher.lists.version += 1
    assert watcher.list_all() == {KEY}
    assert watcher.cache.get(kind, key) is None


def test_what_is_refused_keeps_nothing_else_from_being_listed() -> None:
    watcher = Watcher(running())
    watcher.list_all()
    watcher.lists.refused = {POD}
    watcher.lists.objects[ROLE, DRIVER]["metadata"]["labels"] = {}
    watcher.lists.change(ROLE, DRIVER)
    with pytest.raises(RefusedError):
        watcher.list_all()
    assert set(watcher.told) == {KEY}
    assert watcher.cache.pods_of(KEY)


ALL_OF_IT = [*LISTED, EVENT]


def test_a_namespace_whose_lists_are_refused_keeps_no_other_from_being_listed() -> None:
    watcher = Watcher(running(), scopes=["before", KEY.namespace])
    watcher.lists.refused_in = {(kind, "before") for kind in ALL_OF_IT}
    assert watcher.after(watcher.resync.list_everything) == {KEY}
    assert watcher.cache.pods_of(KEY)
    assert watcher.resync.is_listed(KEY.namespace)
    assert not watcher.resync.is_listed("before")
    assert watcher.resync.refusal_of([POD]) is not None


def test_where_every_namespace_is_refused_nothing_is_listed() -> None:
    watcher = Watcher(running(), scopes=["before", KEY.namespace])
    watcher.lists.refused = {POD}
    with pytest.raises(RefusedError):
        watcher.after(watcher.resync.list_everything)


def test_fleets_of_a_namespace_are_looked_at_once_all_of_it_was_listed() -> None:
    watcher = Watcher(running(), scopes=[KEY.namespace, "other"])
    watcher.lists.refused_in = {(POD, KEY.namespace)}
    watcher.after(watcher.resync.list_everything)
    assert not watcher.resync.is_listed(KEY.namespace)
    watcher.lists.refused_in = set()
    assert watcher.after(watcher.resync.list_all) == {KEY}
    assert watcher.resync.is_listed(KEY.namespace)
    # A right that is taken away later leaves what is known, and what watches tell.
    watcher.lists.refused_in = {(POD, KEY.namespace)}
    with pytest.raises(RefusedError):
        watcher.after(watcher.resync.list_all)
    assert watcher.resync.is_listed(KEY.namespace)
    assert watcher.cache.pods_of(KEY)


def test_warnings_of_one_namespace_are_told_where_those_of_another_are_refused() -> None:
    watcher = Watcher(running())
    watcher.list_all()
    fleet = watcher.lists.objects[FLEET, KEY]
    elsewhere = {**metadata(fleet), "namespace": "a", "uid": "other", "resourceVersion": "2000"}
    watcher.cache.put(FLEET, {**fleet, "metadata": elsewhere})
    job = watcher.lists.objects[JOB, DRIVER]
    watcher.cache.put(JOB, {**job, "metadata": {**metadata(job), "namespace": "a", "uid": "other-job"}})
    uid, time = metadata(watcher.lists.objects[JOB, DRIVER])["uid"], NOON.strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"kind": "Job", "uid": uid}
    watcher.lists.events = [{"involvedObject": about, "lastTimestamp": time, "reason": "Quota"}]
    watcher.lists.refused_in = {(EVENT, "a")}
    with pytest.raises(RefusedError):
        watcher.after(watcher.resync.list_warnings)
    assert set(watcher.told) == {KEY}


def test_events_are_not_listed_for_a_fleet_that_waits_in_a_queue() -> None:
    watcher = Watcher(queued())
    watcher.list_all()
    assert not watcher.cache.summaries()[KEY].is_settled
    watcher.lists.refused = {EVENT}
    assert watcher.after(watcher.resync.list_warnings) == set()


@pytest.mark.parametrize("odd", [{}, {"involvedObject": None}, {"involvedObject": [], "message": 3, "series": "x"}])
def test_an_odd_event_hides_no_other(odd: Object) -> None:
    watcher = Watcher(running())
    watcher.list_all()
    uid, time = metadata(watcher.lists.objects[JOB, DRIVER])["uid"], NOON.strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"kind": "Job", "uid": uid}
    watcher.lists.events = [odd, {"involvedObject": about, "lastTimestamp": time, "reason": "Quota"}]
    assert watcher.after(watcher.resync.list_warnings) == {KEY}


def test_a_list_that_breaks_off_takes_nothing_away() -> None:
    watcher = Watcher(running())
    watcher.list_all()
    watcher.lists.breaks_off = {POD}
    with pytest.raises(UnavailableError):
        watcher.list_all()
    assert len(watcher.cache.pods_of(KEY)) > 1


def test_a_lease_concerns_its_fleet_when_its_driver_is_lost_and_when_it_is_back_and_nobody_else() -> None:
    seconds = 0.0
    watcher = Watcher(running(), lambda: seconds)
    watcher.list_all()

    def renewed_at(moment: int) -> None:
        watcher.lists.change(LEASE, DRIVER, spec={"holderIdentity": "driver", "renewTime": f"{moment}"})

    def told() -> dict[int, set[Key]]:
        """What each list says, every 5 s up to a minute and a half."""
        nonlocal seconds
        found = {}
        for moment in range(0, 90, 5):
            seconds = began + moment
            if moment < 40:
                renewed_at(moment)
            found[moment] = watcher.after(watcher.resync.list_often)
        return {moment: fleets for moment, fleets in found.items() if fleets}

    began = seconds
    renewed_at(-5)
    watcher.after(watcher.resync.list_often)
    # Its last renewal was at 35.
    assert told() == {75: {KEY}}
    began = seconds + 5
    # It is back, and lost again.
    assert told() == {0: {KEY}, 75: {KEY}}


def test_a_complete_list_takes_no_news_of_a_lease_from_the_list_that_tells_of_lost_drivers() -> None:
    seconds = 0.0
    watcher = Watcher(running(), lambda: seconds)
    watcher.list_all()
    for moment in range(5, 60, 5):
        seconds = float(moment)
        watcher.after(watcher.resync.list_often)
    watcher.lists.change(LEASE, DRIVER, spec={"holderIdentity": "driver", "renewTime": "60"})
    assert watcher.after(watcher.resync.list_all) == set()
    assert watcher.after(watcher.resync.list_often) == {KEY}


def failed(world: World) -> World:
    fleet = world.get(FLEET)
    fleet["spec"]["code"] = {"configMap": "code"}
    ended = {"type": "Completed", "status": "False", "reason": "Failed", "message": ""}
    world.store({**fleet, "status": {"conditions": [ended]}})
    return world


def test_mended_code_concerns_the_fleet_that_failed_once() -> None:
    watcher = Watcher(failed(running()))
    watcher.list_all()
    assert watcher.after(watcher.resync.read_code_changes) == {KEY}
    assert watcher.after(watcher.resync.read_code_changes) == set()
    watcher.lists.code_changed_at = "2026-07-01T13:00:00Z"
    assert watcher.after(watcher.resync.read_code_changes) == {KEY}
    assert watcher.resync.code_changes == {KEY: datetime(2026, 7, 1, 13, tzinfo=UTC)}


def test_code_that_many_fleets_share_is_asked_for_once() -> None:
    watcher = Watcher(failed(running()))
    watcher.list_all()
    fleet = watcher.lists.objects[FLEET, KEY]
    kept = {**metadata(fleet), "name": "other", "uid": "other", "resourceVersion": "2000"}
    watcher.cache.put(FLEET, {**fleet, "metadata": kept})
    assert watcher.after(watcher.resync.read_code_changes) == {KEY, Key(KEY.namespace, "other")}
    assert watcher.lists.asked_for == ["code"]


def test_a_warning_about_a_child_concerns_its_fleet_when_it_comes_and_when_it_goes() -> None:
    watcher = Watcher(running())
    watcher.list_all()
    uid = metadata(watcher.lists.objects[JOB, DRIVER])["uid"]
    time = NOON.strftime("%Y-%m-%dT%H:%M:%SZ")
    about: dict[str, Any] = {"involvedObject": {"kind": "Job", "uid": uid}, "lastTimestamp": time, "reason": "Quota"}
    other = {**about, "involvedObject": {"kind": "Job", "uid": "another's"}}
    watcher.lists.events = [other]
    assert watcher.after(watcher.resync.list_warnings) == set()
    watcher.lists.events = [other, about]
    assert watcher.after(watcher.resync.list_warnings) == {KEY}
    assert watcher.after(watcher.resync.list_warnings) == set()
    watcher.lists.events = [other]
    assert watcher.after(watcher.resync.list_warnings) == {KEY}


def test_a_warning_that_is_repeated_concerns_its_fleet_once_it_may_be_why_a_condition_is_not_true() -> None:
    world = running()
    world.look(later(-60))
    world.end_driver(1)
    world.look(later(-20))
    watcher = Watcher(world)
    watcher.list_all()
    uid = metadata(watcher.lists.objects[JOB, DRIVER])["uid"]

    def repeated(seconds: float) -> set[Key]:
        last = later(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")
        about = {"kind": "Job", "uid": uid}
        watcher.lists.events = [{"involvedObject": about, "lastTimestamp": last, "reason": "FailedCreate"}]
        return watcher.after(watcher.resync.list_warnings)

    # It is new, and of before all was well.
    assert repeated(-50) == {KEY}
    assert repeated(-40) == set()
    # Meanwhile the driver ended.
    assert repeated(-10) == {KEY}
    assert repeated(-5) == set()
    assert repeated(0) == set()


def test_a_warning_concerns_its_fleet_once_more_when_what_it_explains_is_not_true_any_more() -> None:
    world = running()
    world.end_driver(1)
    world.look(later(-60))
    watcher = Watcher(world)
    watcher.list_all()
    uid, last = metadata(watcher.lists.objects[RAYCLUSTER, KEY])["uid"], NOON.strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"kind": "RayCluster", "uid": uid}
    watcher.lists.events = [{"involvedObject": about, "lastTimestamp": last, "reason": "FailedCreate"}]
    assert watcher.after(watcher.resync.list_warnings) == {KEY}
    world.collect(*world.pods("worker"))
    world.look()
    watcher.cache.put(
        FLEET, {**world.get(FLEET), "metadata": {**world.get(FLEET)["metadata"], "resourceVersion": "2000"}}
    )
    assert watcher.after(watcher.resync.list_warnings) == {KEY}
    assert watcher.after(watcher.resync.list_warnings) == set()


def test_warnings_about_many_fleets_keep_nobody_waiting() -> None:
    """In a namespace of hundreds of fleets, what else is to be done comes in between."""
    watcher = Watcher(running())
    watcher.list_all()
    fleet = watcher.lists.objects[FLEET, KEY]
    watcher.lists.version += 1
    for number in range(300):
        kept = {**metadata(fleet), "name": f"fleet-{number}", "uid": f"u{number}", "resourceVersion": "2000"}
        watcher.cache.put(FLEET, {**fleet, "metadata": kept, "status": {}})
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def both() -> None:
        beside = asyncio.create_task(others())
        await watcher.resync.list_warnings()
        beside.cancel()

    asyncio.run(both())
    assert turns >= 300 // 50
