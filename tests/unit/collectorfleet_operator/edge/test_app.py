"""Which lists a session lives by."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from tests.unit.collectorfleet_operator.edge.test_resync import PlayedLists
from tests.unit.collectorfleet_operator.world import NOON, running

from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.decide.events import EVENT
from collectorfleet_operator.edge.app import Process, Session
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.health import Health
from collectorfleet_operator.edge.metrics.instruments import Instruments
from collectorfleet_operator.edge.settings import from_arguments
from collectorfleet_operator.objects import Kind


class Played:
    """A session that listed everything a minute ago, and a fleet that is not ready."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.lists = PlayedLists(running())
        freshness = Freshness(lambda: self.seconds)
        self.health = Health(lambda: self.seconds, freshness)
        process = Process(
            from_arguments([]),
            self.lists,  # type: ignore[arg-type]
            aiohttp.TraceConfig(),
            self.health,
            freshness,
            Instruments(),
            asyncio.Event(),
            lambda: NOON,
        )
        self.session = Session(process)
        self.lists_of_state = self.session._ticks(set())
        self.tick()
        self.seconds = 60.0

    def tick(self) -> None:
        asyncio.run(self.lists_of_state.tick(everything=True))


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
