"""One look at a fleet, with an API server that is away in the middle of it."""

from __future__ import annotations

import asyncio
import base64
import copy
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic.alias_generators import to_camel
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.world import COLLECTORS, DRIVER, KEY, World, running

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import OperatorStatus
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.children.token_secret import SECRET
from collectorfleet_operator.decide.deadlines import RETRY_REFUSED_AFTER
from collectorfleet_operator.decide.events import EVENT
from collectorfleet_operator.decide.plan import plan
from collectorfleet_operator.edge import reconcile
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.edge.errors import ConflictError, RefusedError, UnavailableError
from collectorfleet_operator.edge.event_writer import PAUSE_SECONDS, EventWriter
from collectorfleet_operator.edge.observe import UnreadableError
from collectorfleet_operator.edge.reconcile import Reconciler
from collectorfleet_operator.objects import UNREADABLE, Key, Kind, Object, name_of, uid_of

OPERATORS = {to_camel(field) for field in OperatorStatus.model_fields}
AT_ONCE = timedelta(0)


class PlayedKube:
    """Takes what is written into a world; does not answer where it is told so, once each."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.silent: list[str] = []  # kinds
        self.takes_no_events = False
        self.refused: set[Kind] = set()
        self.events: list[str] = []
        self.hidden: dict[Kind, Object] = {}  # there, and not in the cache
        self.secrets: dict[str, Object] = {}  # by name
        self.meanwhile: Object = {}  # status that somebody writes between a look and an update

    async def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        return self.hidden.get(kind) or self.world.cache.get(kind, Key(namespace, name))

    async def apply_new(self, kind: Kind, manifest: Object) -> Object:
        self._answer(kind.kind)
        if kind in self.hidden:
            raise ConflictError(f"apply {kind}", "it is of another version")
        return self.world.store(copy.deepcopy(manifest))

    async def apply(self, kind: Kind, manifest: Object) -> Object:
        self._answer(kind.kind)
        if kind in self.refused:
            raise RefusedError(f"apply {kind}", "exceeded quota")
        there = self.world.get(kind, Key("default", name_of(manifest)))
        kept = {**there["metadata"], **manifest["metadata"]}
        status = {**there.get("status", {}), **self.meanwhile}
        return self.world.written({**there, **copy.deepcopy(manifest), "metadata": kept, "status": status})

    async def apply_status(self, _stored: Object, status: Object) -> Object:
        self._answer("status")
        fleet = self.world.get(FLEET)
        others = {field: said for field, said in fleet.get("status", {}).items() if field not in OPERATORS}
        return self.world.store({**fleet, "status": {**others, **status}})

    async def delete(
        self, kind: Kind, key: Key, uid: str, *, at_once: bool = False, grace_seconds: int | None = None
    ) -> None:
        there = self.world.get(kind, key)
        assert uid_of(there) == uid
        self.world.collect(there)

    async def create(self, kind: Kind, manifest: Object) -> Object:
        if self.takes_no_events and kind == EVENT:
            raise UnavailableError(f"create {kind}", "etcdserver: request timed out")
        self._answer(kind.kind)
        if kind == SECRET:
            if name_of(manifest) in self.secrets:
                raise ConflictError(f"create {kind}", "it exists already")
            self.secrets[name_of(manifest)] = manifest
            return manifest
        self.events.append(f"{manifest['reason']} {manifest['message'].split()[0]}")
        return manifest

    def _answer(self, kind: str) -> None:
        if kind in self.silent:
            self.silent.remove(kind)
            raise UnavailableError(f"write {kind}", "no answer")


def reconciler_of(kube: PlayedKube, clock: Callable[[], float] = lambda: 0.0) -> Reconciler:
    world = kube.world
    events = EventWriter(kube, lambda: world.now, clock)  # type: ignore[arg-type]
    return Reconciler(kube, world.cache, lambda: world.now, events)  # type: ignore[arg-type]


@pytest.mark.parametrize("away", ["Role", JOB.kind, "status"])
def test_what_was_done_before_the_api_server_went_away_is_told_when_it_is_back(away: str) -> None:
    world = World()
    kube = PlayedKube(world)
    reconciler = reconciler_of(kube)
    kube.silent = [away]
    with pytest.raises(UnavailableError):
        asyncio.run(reconciler.reconcile(KEY))
    asyncio.run(reconciler.reconcile(KEY))
    assert sorted(kube.events) == ["Created Job", "Created RayCluster"]
    told: list[Any] = kube.events[:]
    asyncio.run(reconciler.reconcile(KEY))
    assert kube.events == told


def test_a_fleet_has_its_status_while_events_are_not_taken_and_they_are_told_when_they_are() -> None:
    world = World()
    kube = PlayedKube(world)
    reconciler = reconciler_of(kube, lambda: world.seconds)
    kube.takes_no_events = True
    again = asyncio.run(reconciler.reconcile(KEY))
    assert world.get(FLEET)["status"]["conditions"]
    # Nothing happens to the fleet until then.
    assert again is not None
    assert again <= timedelta(minutes=1)
    kube.takes_no_events = False
    world.seconds = PAUSE_SECONDS
    asyncio.run(reconciler.reconcile(KEY))
    assert sorted(kube.events) == ["Created Job", "Created RayCluster"]


def test_what_ends_a_driver_is_carried_out_while_events_are_not_taken() -> None:
    world = running({"spec.activeDeadlineSeconds": 60, "spec.whenFinished": "Keep"})
    kube = PlayedKube(world)
    reconciler = reconciler_of(kube, lambda: world.seconds)
    kube.takes_no_events = True
    wait(world, 61)
    asyncio.run(reconciler.reconcile(KEY))
    asyncio.run(reconciler.reconcile(KEY))
    assert world.cache.get(JOB, DRIVER) is None
    kube.takes_no_events = False
    wait(world, PAUSE_SECONDS)
    asyncio.run(reconciler.reconcile(KEY))
    assert [one for one in kube.events if one.startswith("DeadlineExceeded")]


def test_an_event_is_told_before_the_status_says_the_same() -> None:
    world = running()
    kube = PlayedKube(world)
    kube.silent = ["status"]
    with pytest.raises(UnavailableError):
        asyncio.run(reconciler_of(kube).reconcile(KEY))
    assert "CollectorsAvailable 4" in kube.events


def test_a_fleet_at_rest_is_read_once_and_looked_at_again_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    world = running()
    kube = PlayedKube(world)
    reconciler = reconciler_of(kube)
    asyncio.run(reconciler.reconcile(KEY))
    plans, read = [], Counter[tuple[Kind, Key]]()

    def counted(kind: Kind, key: Key) -> Object | None:
        read[kind, key] += 1
        return Cache.get(world.cache, kind, key)

    monkeypatch.setattr(world.cache, "get", counted)
    monkeypatch.setattr(reconcile, "plan", lambda seen: plans.append(plan(seen)) or plans[-1])
    told = kube.events[:]
    again = asyncio.run(reconciler.reconcile(KEY))
    assert again is not None
    assert again <= timedelta(minutes=20)
    assert kube.events == told
    assert len(plans) == 1
    # Reading is decoding.
    assert (read[FLEET, KEY], read[JOB, DRIVER]) == (1, 1)


def test_somebody_elses_object_of_a_childs_name_stays_as_it_is() -> None:
    world = World()
    kube = PlayedKube(world)
    theirs = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "cheetah-driver", "namespace": "default"}}
    kube.hidden[JOB] = theirs
    asyncio.run(reconciler_of(kube).reconcile(KEY))
    refused = world.get(FLEET)["status"]["conditions"]
    assert {one["reason"] for one in refused if one["type"] == "Stalled"} == {"NameTaken"}
    assert world.cache.get(JOB, DRIVER) is None


def test_a_fleet_that_runs_keeps_its_size_for_autoscalers_while_an_update_is_refused() -> None:
    world = running()
    kube = PlayedKube(world)
    kube.refused = {ROLE}
    world.store({**world.get(ROLE, DRIVER), "rules": []})
    again = asyncio.run(reconciler_of(kube).reconcile(KEY))
    status = world.get(FLEET)["status"]
    said = {one["type"]: one["reason"] for one in status["conditions"]}
    assert status["replicas"] == 4
    assert (said["Ready"], said["Stalled"]) == ("Collecting", "Refused")
    assert again == RETRY_REFUSED_AFTER


def test_a_token_is_made_once_and_stays_when_its_job_is_made_again() -> None:
    world = World(WITHOUT_RAY)
    kube = PlayedKube(world)
    reconciler = reconciler_of(kube)
    asyncio.run(reconciler.reconcile(KEY))
    [(name, secret)] = kube.secrets.items()
    assert name == "cheetah-collectors-fleet-1"
    assert len(base64.b64decode(secret["data"][names.HOSTS_TOKEN_KEY])) == 64
    world.collect(world.get(JOB, COLLECTORS))
    asyncio.run(reconciler.reconcile(KEY))
    assert world.get(JOB, COLLECTORS)
    assert kube.secrets == {name: secret}


@pytest.mark.parametrize("away", ["Secret", "Service"])
def test_without_an_answer_no_pods_are_made_that_would_wait_for_what_is_missing(away: str) -> None:
    world = World(WITHOUT_RAY)
    kube = PlayedKube(world)
    kube.silent = [away]
    reconciler = reconciler_of(kube)
    with pytest.raises(UnavailableError):
        asyncio.run(reconciler.reconcile(KEY))
    assert world.cache.get(JOB, COLLECTORS) is None
    asyncio.run(reconciler.reconcile(KEY))
    assert world.get(JOB, COLLECTORS)


def said(world: World) -> dict[str, str]:
    """The reasons of the fleet's conditions, by their types."""
    return {one["type"]: one["reason"] for one in world.get(FLEET)["status"]["conditions"]}


def message(world: World, type_: str) -> str:
    return next(str(one["message"]) for one in world.get(FLEET)["status"]["conditions"] if one["type"] == type_)


@pytest.mark.parametrize(("away", "told"), [("RayCluster", "RayClusterReady"), ("Job", "DriverRunning")])
def test_the_status_says_which_write_fails_while_it_is_tried_again(away: str, told: str) -> None:
    world = World()
    kube = PlayedKube(world)
    kube.silent = [away]
    reconciler = reconciler_of(kube)
    with pytest.raises(UnavailableError):
        asyncio.run(reconciler.reconcile(KEY))
    assert said(world)[told] == "WriteFailed"
    assert message(world, told) == f"write {away}: no answer"
    # Tools give up on a fleet that is stalled.
    assert (said(world)["Ready"], said(world)["Stalled"]) == ("WriteFailed", "Progressing")
    assert said(world)["Reconciling"] == "WriteFailed"
    asyncio.run(reconciler.reconcile(KEY))
    assert "WriteFailed" not in said(world).values()


def test_a_fleet_that_runs_stays_ready_while_a_write_fails() -> None:
    world = running()
    kube = PlayedKube(world)
    reconciler = reconciler_of(kube)
    asyncio.run(reconciler.reconcile(KEY))
    world.store({**world.get(ROLE, DRIVER), "rules": []})
    kube.silent = ["Role"]
    with pytest.raises(UnavailableError):
        asyncio.run(reconciler.reconcile(KEY))
    assert (said(world)["Ready"], said(world)["Reconciling"]) == ("Collecting", "WriteFailed")
    assert said(world)["Stalled"] == "Progressing"


def test_a_write_without_an_answer_asks_about_webhooks() -> None:
    world = World()
    kube = PlayedKube(world)

    async def hang(_kind: Kind, _manifest: Object) -> Object:
        raise UnavailableError("apply RayCluster", "no answer within 10 s") from TimeoutError()

    kube.apply_new = hang  # type: ignore[method-assign]
    with pytest.raises(UnavailableError):
        asyncio.run(reconciler_of(kube).reconcile(KEY))
    assert "check the webhooks for " in message(world, "Ready")


def test_an_error_of_the_operator_is_in_the_status_after_three_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    world = running()
    kube = PlayedKube(world)
    reconciler = reconciler_of(kube)
    asyncio.run(reconciler.reconcile(KEY))
    before = world.get(FLEET)["status"]

    def fails(_seen: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(reconcile, "plan", fails)
    for _ in range(2):
        with pytest.raises(ValueError, match="no such thing"):
            asyncio.run(reconciler.reconcile(KEY))
    assert world.get(FLEET)["status"] == before
    with pytest.raises(ValueError, match="no such thing"):
        asyncio.run(reconciler.reconcile(KEY))
    after = world.get(FLEET)["status"]
    assert message(world, "Ready") == "the operator failed on this fleet and tries again: ValueError: no such thing"
    assert (said(world)["Ready"], said(world)["Stalled"]) == ("InternalError", "Progressing")
    assert after["phase"] == "Degraded"
    # All else stays as it was last seen.
    changed = {"phase", "conditions"}
    assert {field: after[field] for field in after if field not in changed} == {
        field: before[field] for field in before if field not in changed
    }
    assert {one["type"] for one in after["conditions"]} == {one["type"] for one in before["conditions"]}
    monkeypatch.undo()
    asyncio.run(reconciler.reconcile(KEY))
    assert said(world)["Ready"] == "Collecting"


def test_a_run_that_is_over_stays_as_it_ended_where_the_operator_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    world = running()
    world.end_driver(0)
    world.end_job("Complete")
    reconciler = reconciler_of(PlayedKube(world))
    asyncio.run(reconciler.reconcile(KEY))
    before = world.get(FLEET)["status"]
    assert before["phase"] == "Completed"
    monkeypatch.setattr(reconcile, "plan", None)
    for _ in range(4):
        with pytest.raises(TypeError):
            asyncio.run(reconciler.reconcile(KEY))
    assert world.get(FLEET)["status"] == before


def test_a_pod_that_cannot_be_read_is_named_in_the_status_of_its_fleet_alone() -> None:
    world = running()
    [pod] = world.pods("head")
    world.store({**pod, "status": {"conditions": 3}, UNREADABLE: "status.x: too deep"})
    reconciler = reconciler_of(PlayedKube(world))
    for _ in range(3):
        with pytest.raises(UnreadableError):
            asyncio.run(reconciler.reconcile(KEY))
    assert "status.x: too deep" in message(world, "Ready")


def test_a_pod_that_is_ignored_is_told_once() -> None:
    world = World()
    labels = {names.FLEET_LABEL: KEY.name, names.ROLE_LABEL: "worker"}
    metadata = {"name": "stranger", "namespace": KEY.namespace, "labels": labels}
    world.store({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
    kube = PlayedKube(world)
    reconciler = reconciler_of(kube)
    for _ in range(3):
        asyncio.run(reconciler.reconcile(KEY))
    assert [one for one in kube.events if one.startswith("PodIgnored")] == ["PodIgnored pod"]


def test_a_fleet_that_cannot_be_read_and_has_no_driver_keeps_no_cluster() -> None:
    world = running()
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    world.store({**world.get(FLEET), UNREADABLE: "spec.environment.kwargs.a: nested too deeply"})
    asyncio.run(reconciler_of(PlayedKube(world)).reconcile(KEY))
    assert world.cache.get(RAYCLUSTER, KEY) is None
    assert said(world)["Stalled"] == "InvalidSpec"


def test_a_status_that_is_refused_is_told_as_an_event() -> None:
    world = World()
    kube = PlayedKube(world)

    async def refuse(_stored: Object, _status: Object) -> Object:
        raise RefusedError("apply status", "too large")

    kube.apply_status = refuse  # type: ignore[method-assign]
    world.store({**world.get(FLEET), UNREADABLE: "spec.environment.kwargs.a: nested too deeply"})
    with pytest.raises(RefusedError):
        asyncio.run(reconciler_of(kube).reconcile(KEY))
    assert kube.events == ["Refused the"]


@pytest.mark.parametrize("meanwhile", [{}, {"failed": 1}])
def test_what_somebody_else_wrote_before_an_update_is_looked_at_at_once(meanwhile: Object) -> None:
    world = World(WITHOUT_RAY)
    kube = PlayedKube(world)
    reconciler = reconciler_of(kube)
    asyncio.run(reconciler.reconcile(KEY))
    asyncio.run(reconciler.reconcile(KEY))
    world.edit({**WITHOUT_RAY, "spec.collectors.replicas": 9})
    kube.meanwhile = meanwhile
    again = asyncio.run(reconciler.reconcile(KEY))
    assert world.get(JOB, COLLECTORS)["status"] == meanwhile
    assert (again == timedelta(0)) == bool(meanwhile)


def at_rest(changes: dict[str, Any]) -> tuple[World, Callable[[], timedelta]]:
    """A fleet that runs and was looked at, and how to look at it again: after which time it is to be next."""
    world = running(changes)
    reconciler = reconciler_of(PlayedKube(world))

    def look() -> timedelta:
        again = asyncio.run(reconciler.reconcile(KEY))
        assert again is not None
        return again

    while look() == AT_ONCE:
        pass
    return world, look


def wait(world: World, seconds: float) -> None:
    world.seconds += seconds
    world.renew_lease()


def test_a_driver_whose_deadline_is_over_is_deleted_as_soon_as_the_status_says_so() -> None:
    # Nothing else of it changes: its cluster is kept.
    world, look = at_rest({"spec.activeDeadlineSeconds": 60, "spec.whenFinished": "Keep"})
    wait(world, 61)
    assert look() == AT_ONCE
    assert world.cache.get(JOB, DRIVER) is not None
    assert look() > AT_ONCE
    assert world.cache.get(JOB, DRIVER) is None


def test_a_deadline_that_an_edit_leaves_over_is_carried_out_for_the_edit() -> None:
    edited = {"spec.activeDeadlineSeconds": 60, "spec.whenFinished": "Keep"}
    world, look = at_rest(edited)
    wait(world, 61)
    look()
    world.edit({**edited, "spec.activeDeadlineSeconds": 50})
    assert look() == AT_ONCE
    look()
    assert world.cache.get(JOB, DRIVER) is None


def test_an_idle_driver_is_asked_to_end_and_ended_where_it_does_not() -> None:
    world, look = at_rest({"spec.idleTimeoutSeconds": 60, "spec.progressDeadlineSeconds": 90})
    wait(world, 61)
    assert look() == AT_ONCE
    # Nothing happens until then.
    assert look() == timedelta(seconds=90)
    wait(world, 90)
    look()
    assert world.cache.get(JOB, DRIVER) is None


def test_what_is_left_of_a_run_without_a_time_to_live_goes_as_soon_as_it_is_over() -> None:
    world, look = at_rest({"spec.ttlSecondsAfterFinished": 0})
    world.end_driver(0)
    world.end_job("Complete")
    assert look() == AT_ONCE
    assert look() > AT_ONCE
    assert world.cache.get(JOB, DRIVER) is None


def test_a_driver_that_was_asked_to_end_is_looked_at_when_it_is_late() -> None:
    changes = {"spec.progressDeadlineSeconds": 90}
    world, look = at_rest(changes)
    world.edit({**changes, "spec.suspend": True})
    assert look() == AT_ONCE
    assert look() == timedelta(seconds=90)


def test_a_status_that_says_nothing_to_do_is_no_reason_to_look_again() -> None:
    world, look = at_rest({})
    world.report(3)
    assert look() > AT_ONCE
