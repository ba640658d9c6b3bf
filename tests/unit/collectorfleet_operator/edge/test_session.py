"""Which lists a session lives by."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import aiohttp
import pytest
from tests.unit.collectorfleet_operator.edge.played_lists import PlayedLists
from tests.unit.collectorfleet_operator.world import NOON, World, running

from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.decide.events import EVENT
from collectorfleet_operator.edge import session
from collectorfleet_operator.edge.errors import UnavailableError
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.health import Health
from collectorfleet_operator.edge.metrics.instruments import Instruments
from collectorfleet_operator.edge.metrics.state import PREFIX
from collectorfleet_operator.edge.process import Process
from collectorfleet_operator.edge.session import Session
from collectorfleet_operator.edge.settings import from_arguments
from collectorfleet_operator.objects import Kind, Object


class Played:
    """A session that listed everything a minute ago, and a fleet that is not ready."""

    def __init__(self, *arguments: str, kueue: frozenset[str] | None = frozenset()) -> None:
        self.seconds = 0.0
        self.lists = PlayedLists(running())
        self.lists.kueue = kueue
        freshness = Freshness(lambda: self.seconds)
        self.health = Health(lambda: self.seconds, freshness)
        self.process = Process(
            from_arguments(arguments),
            self.lists,  # type: ignore[arg-type]
            aiohttp.TraceConfig(),
            self.health,
            freshness,
            Instruments(),
            asyncio.Event(),
            lambda: NOON,
        )
        self.session = Session(self.process)
        self.lists_of_state = self.session._ticks(set())
        self.tick()
        self.seconds = 60.0

    def tick(self) -> bool:
        """Whether the session is to end."""
        return asyncio.run(self.lists_of_state.tick(everything=True))

    def begin(self) -> set[Kind] | None:
        """What the first lists of a session find; None if another session is to begin instead."""
        return asyncio.run(self.session._first_lists())


@pytest.mark.parametrize(
    ("kind", "age_seconds"),
    [pytest.param(EVENT, 0.0, id="warnings"), pytest.param(POD, 60.0, id="state")],
)
def test_an_operator_lives_by_its_lists_of_state_and_not_by_warnings(kind: Kind, age_seconds: float) -> None:
    played = Played()
    played.lists.unanswered = {kind}
    played.tick()
    assert played.health.age_seconds == age_seconds


def test_warnings_that_are_not_listed_are_said_once_and_asked_for_less_often(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    played = Played()
    warnings = played.session._warnings()
    played.lists.unanswered = {EVENT}
    pauses = []
    for _ in range(6):
        asyncio.run(warnings.tick(everything=True))
        pauses.append(warnings.pause_seconds)
    assert pauses == [2, 4, 8, 16, 30, 30]
    assert played.health.age_seconds == 60.0
    assert caplog.messages == ["the API server does not answer: list Event: no answer"]


def test_code_that_cannot_be_read_is_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "TICK_SECONDS", 0.0)
    played, passes, enough = Played(), [0], asyncio.Event()

    async def fail() -> None:
        passes[0] += 1
        if passes[0] == 3:
            enough.set()
        raise UnavailableError("get ConfigMap lab/.", "the answer is not an object of Kubernetes")

    monkeypatch.setattr(played.session._resync, "read_code_changes", fail)

    async def scenario() -> None:
        reading = asyncio.create_task(played.session._look_at_code())
        async with asyncio.timeout(10):
            await enough.wait()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    asyncio.run(scenario())
    assert caplog.messages == [
        "cannot read the code of a failed fleet: get ConfigMap lab/.: the answer is not an object of Kubernetes"
    ]


BOTH = frozenset({"v1beta1", "v1beta2"})
OLD = frozenset({"v1beta1"})


def test_a_session_on_an_old_kueue_gives_way_to_one_that_writes_its_version() -> None:
    played = Played("--queues")
    played.lists.kueue = OLD
    assert played.begin() is None
    assert played.process.kueue.version == "v1beta1"
    played.session = Session(played.process)
    assert played.begin() == set()


def test_an_upgrade_of_kueue_ends_the_session_and_a_repeated_answer_does_not() -> None:
    played = Played("--queues", kueue=BOTH)
    assert not played.tick()
    played.lists.kueue = OLD
    assert played.tick()
    assert not played.tick()
    played.lists.kueue = frozenset({"v1beta2"})
    assert played.tick()
    assert played.process.kueue.version == "v1beta2"


@pytest.mark.parametrize(
    "kueue", [frozenset(), frozenset({"v1"}), None], ids=["none", "of an unknown version", "refused"]
)
def test_fleets_without_a_queue_are_served_whatever_kueue_there_is(kueue: frozenset[str] | None) -> None:
    played = Played("--queues", kueue=kueue)
    assert played.begin() == set()
    assert not played.tick()
    assert played.health.age_seconds == 0.0


def test_an_operator_that_serves_no_queues_does_not_ask_for_kueue() -> None:
    played = Played(kueue=OLD)
    assert played.begin() == set()
    assert played.process.kueue.version == "v1beta2"


class PlayedServer(PlayedLists):
    """Answers lists, and takes the Events and the status of a fleet."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.has_status = asyncio.Event()

    def as_served(self, kind: Kind) -> Kind:
        return kind

    async def create(self, _: Kind, manifest: Object) -> Object:
        return manifest

    async def apply_status(self, stored: Object, status: Object) -> Object:
        self.has_status.set()
        return {**stored, "status": {**stored["status"], **status}}


async def _until_cancelled(*_: object) -> None:
    await asyncio.Event().wait()


def test_a_session_reconciles_the_fleets_that_it_listed_until_the_process_is_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # kopf would connect to an API server.
    monkeypatch.setattr(session, "watch", _until_cancelled)
    played = Played()
    server = PlayedServer(running())
    process = replace(played.process, kube=server)  # type: ignore[arg-type]
    leading = partial(process.instruments.registry.get_sample_value, f"{PREFIX}leading")

    async def scenario() -> tuple[float | None, float | None]:
        session_ends = asyncio.create_task(Session(process).run())
        async with asyncio.timeout(10):
            await server.has_status.wait()
            while_serving = leading()
            process.stop.set()
            await session_ends
        return while_serving, leading()

    assert asyncio.run(scenario()) == (1.0, 0.0)
