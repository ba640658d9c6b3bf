"""Whatever one tenant's objects hold, every other fleet is decided on as before.

The API server checks objects by their schemas, and this operator relies on none of them: a schema may be of another
release, and a custom resource may hold any JSON. ``--hypothesis-profile=thorough`` tries 1,250 objects of each kind.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.core import Metric
from tests.example_count import examples
from tests.unit.collectorfleet_operator.decide.queued import admitted
from tests.unit.collectorfleet_operator.edge.played_lists import PlayedLists
from tests.unit.collectorfleet_operator.world import KEY, NAME, NOON, World, kind_of, running

from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.table import LISTED
from collectorfleet_operator.decide.driver_lost import is_driver_lost
from collectorfleet_operator.decide.events import EVENT
from collectorfleet_operator.edge.event_writer import EventWriter
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.metrics.state import State, families
from collectorfleet_operator.edge.readable import object_of
from collectorfleet_operator.edge.reconcile import Reconciler
from collectorfleet_operator.edge.resync import Resync
from collectorfleet_operator.objects import Key, Kind, Object, metadata, name_of, namespace_of

NEIGHBOUR = Key("lab", "neighbour")
# What the API server itself writes into every object.
IDENTITY = ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp")
TRIES = 4
# An example takes some 40 ms.
EXAMPLES = examples(12)
DEEP = "\0deep"

TEXTS = st.sampled_from(
    ["", "True", "False", "0", "-1", "ü", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "+99:99", NAME, "lab"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.just(DEEP)
ANY_JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@functools.cache
def ours() -> World:
    """The fleet that must not notice anything."""
    return running()


@functools.cache
def decided() -> tuple[str, str]:
    return decisions(ours())


def decisions(world: World) -> tuple[str, str]:
    seen = world.restarted()
    return repr(seen.plan()), repr(seen.look())


@functools.cache
def theirs() -> dict[Kind, list[Object]]:
    """The objects of a fleet beside it, by kind: of one with a queue, so that it has a Workload."""
    found: dict[Kind, list[Object]] = {kind: [] for kind in LISTED}
    world = admitted({"spec.networkPolicy": {}})
    for kind, keys in world.cache._objects.items():
        found[kind] = [_moved(world.get(kind, key)) for key in keys]
    return {kind: objects for kind, objects in found.items() if objects}


def _moved(obj: Object) -> Object:
    """The object as one of the neighbour's: in another namespace, with names and uids of its own."""
    text = json.dumps(obj).replace(NAME, NEIGHBOUR.name)
    moved: Object = json.loads(text, object_hook=_with_own_uids)
    moved["metadata"]["namespace"] = NEIGHBOUR.namespace
    return moved


def _with_own_uids(value: Object) -> Object:
    return {key: f"their-{uid}" if key == "uid" else uid for key, uid in value.items()}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all that is in a value, but for what only the API server writes."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        if path == ("metadata",) and key in IDENTITY:
            continue
        yield (*path, key)
        yield from places(each, (*path, key))


def with_odd(obj: Object, path: tuple[Any, ...], odd: Any) -> Object:
    found: Any = copy.deepcopy(obj)
    at = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = odd
    # Metadata as a whole is the API server's, too.
    if path == ("metadata",):
        kept = {key: metadata(obj)[key] for key in IDENTITY if key in metadata(obj)}
        found["metadata"] = {**odd, **kept} if isinstance(odd, dict) else kept
    return found  # type: ignore[no-any-return]


def arrived(obj: Object) -> Object:
    """The object as it is read from the API server."""
    text = json.dumps(obj).replace(json.dumps(DEEP), "[" * 2_000 + "]" * 2_000)
    return object_of(text)  # type: ignore[no-any-return]


class OpenKube:
    """Takes whatever is written, and keeps whose it is."""

    def __init__(self) -> None:
        self.written: list[Key] = []

    async def list(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def find(self, _kind: Kind, _namespace: str, _name: str) -> Object | None:
        return None

    async def apply(self, kind: Kind, manifest: Object) -> Object:
        self.written.append(Key(namespace_of(manifest), name_of(manifest)))
        kept = {**metadata(manifest), "resourceVersion": "9000"}
        return {**manifest, "metadata": {"uid": f"new-{kind}", **kept}}

    apply_new = create = apply

    async def apply_status(self, seen: Object, status: Object) -> Object:
        return await self.apply(FLEET, {**seen, "status": {**(seen.get("status") or {}), **status}})

    async def set_status(self, kind: Kind, seen: Object, status: Object) -> Object:
        return await self.apply(kind, {**seen, "status": {**(seen.get("status") or {}), **status}})

    async def delete(self, _kind: Kind, key: Key, _uid: str, **_: Any) -> None:
        self.written.append(key)


def reconciled(world: World) -> tuple[list[Exception], OpenKube]:
    """Bring the neighbour on a few times, as the queue does after each failure."""
    kube = OpenKube()
    events = EventWriter(kube, lambda: NOON)  # type: ignore[arg-type]
    reconciler = Reconciler(kube, world.cache, lambda: NOON, events)  # type: ignore[arg-type]
    failures: list[Exception] = []

    async def run() -> None:
        for _ in range(TRIES):
            try:
                await reconciler.reconcile(NEIGHBOUR)
            except Exception as error:  # noqa: BLE001  (as the queue takes it)
                failures.append(error)

    asyncio.run(run())
    return failures, kube


def of_all_fleets(world: World) -> list[Metric]:
    """What goes over every fleet, and so must not fail on one."""
    world.cache.leases_unchanged(is_driver_lost)
    fleets = world.cache.summaries()
    lists = PlayedLists(ours())
    resync = Resync(lists, world.cache, Freshness(lambda: 0.0), (None,), lambda: NOON, lambda _: None)  # type: ignore[arg-type]

    async def run() -> None:
        await resync.list_warnings()
        await resync.read_code_changes()

    asyncio.run(run())
    return list(families(State(0, 0.0, {}, {}, fleets)))


@pytest.mark.parametrize("kind", [kind for kind in LISTED if kind in theirs()], ids=str)
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_whatever_an_object_holds_other_fleets_are_decided_on_as_before(kind: Kind, data: st.DataObject) -> None:
    obj = data.draw(st.sampled_from(theirs()[kind]))
    path = data.draw(st.sampled_from(list(places(obj))), label="path")
    odd = arrived(with_odd(obj, path, data.draw(ANY_JSON, label="odd")))
    world = ours().restarted()
    for each in theirs().values():
        for one in each:
            if one is not obj:
                world.cache.put(kind_of(one), copy.deepcopy(one))
    world.cache.put(kind, odd)
    of_all_fleets(world)
    failures, kube = reconciled(world)
    assert all(key.namespace == NEIGHBOUR.namespace for key in kube.written)
    # Either it was brought on, or its status says why not.
    assert len(failures) < TRIES or NEIGHBOUR in kube.written, failures[-1]
    of_all_fleets(world)
    assert decisions(world) == decided()
    # And an object that is as it should be again is read again.
    mended = copy.deepcopy(obj)
    metadata(mended)["resourceVersion"] = "10000"
    world.cache.put(kind, mended)
    assert world.cache.uid(kind, Key(namespace_of(mended), name_of(mended))) == metadata(mended)["uid"]


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("involvedObject", "series", "message", "reason"), ANY_JSON)))
def test_whatever_an_event_holds_the_warnings_of_other_fleets_are_heard(odd: Object) -> None:
    world = running()
    world.end_driver(1)
    world.look()
    lists = PlayedLists(world)
    resync = Resync(lists, world.cache, Freshness(lambda: 0.0), (None,), lambda: NOON, lambda _: None)  # type: ignore[arg-type]
    about = {"kind": "Pod", "uid": metadata(world.pods("driver")[0])["uid"]}
    times = {"firstTimestamp": "2026-07-01T11:59:00Z", "lastTimestamp": "2026-07-01T12:00:00Z"}
    lists.events = [{**times, **odd}, {"involvedObject": about, "reason": "Failed", "message": "", **times}]
    asyncio.run(resync.list_warnings())
    assert [one.reason for one in resync.warnings[KEY]] == ["Failed"]


def test_the_objects_of_the_neighbour_are_of_every_kind_that_is_read() -> None:
    missing = {str(kind) for kind in LISTED if kind not in theirs()}
    assert missing == {"Service"}  # of a fleet without Ray alone
    assert EVENT not in LISTED
