"""An operator takes its Lease, keeps it, and gives it back, whatever the API server answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.wait import eventually

from collectorfleet_operator.edge import leadership
from collectorfleet_operator.edge.errors import ConflictError, UnavailableError
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.health import Health
from collectorfleet_operator.edge.leadership import Leadership
from collectorfleet_operator.objects import Key, Kind, Object

KEY = Key("system", "operator")


class PlayedLease:
    """The Lease of an API server. A write is stored before its answer, which takes ``seconds_per_answer``."""

    def __init__(self) -> None:
        self.spec: Object = {}
        self.version = 1
        self.reads = self.writes = 0
        self.seconds_per_answer = 0.0
        self.always_conflicts = False

    @property
    def holder(self) -> str:
        return str(self.spec.get("holderIdentity", ""))

    async def find(self, _: Kind, namespace: str, name: str) -> Object:
        self.reads += 1
        # A pause, as of any request.
        await asyncio.sleep(0.001)
        return self._stored()

    async def apply(self, _: Kind, manifest: Object) -> Object:
        if self.always_conflicts or manifest["metadata"]["resourceVersion"] != str(self.version):
            raise ConflictError("apply Lease", "the object has been modified")
        self.spec, self.version, self.writes = manifest["spec"], self.version + 1, self.writes + 1
        stored = self._stored()
        await asyncio.sleep(self.seconds_per_answer)
        return stored

    def _stored(self) -> Object:
        return {"metadata": {"uid": "u-1", "resourceVersion": str(self.version)}, "spec": dict(self.spec)}


def leading(kube: Any) -> Leadership:
    return Leadership(kube, KEY, Health(lambda: 0.0, Freshness(lambda: 0.0)))


async def until(condition: Callable[[], bool]) -> None:
    await asyncio.to_thread(eventually, condition, within=9, every=0.01)


async def keep_until(leads: Leadership, condition: Callable[[], bool]) -> None:
    """Keep the Lease until the condition holds, and end the renewal as the process does when it is to stop."""
    keeping = asyncio.create_task(leads.keep())
    await until(condition)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "RENEW_SECONDS", 0.01)


def test_an_operator_gives_its_lease_back() -> None:
    kube = PlayedLease()

    async def scenario() -> None:
        leads = leading(kube)
        assert await leads.take(asyncio.Event())
        await keep_until(leads, lambda: kube.writes > 3)
        assert kube.holder
        await leads.release()

    asyncio.run(scenario())
    assert kube.holder == ""


def test_a_lease_is_given_back_after_a_renewal_whose_answer_never_came() -> None:
    kube = PlayedLease()

    async def scenario() -> None:
        leads = leading(kube)
        assert await leads.take(asyncio.Event())
        kube.seconds_per_answer, written = 60, kube.writes
        await keep_until(leads, lambda: kube.writes > written)
        kube.seconds_per_answer = 0
        await leads.release()

    asyncio.run(scenario())
    assert kube.holder == ""


def test_the_lease_of_another_operator_is_left_to_it(caplog: pytest.LogCaptureFixture) -> None:
    kube = PlayedLease()

    async def scenario() -> None:
        leads = leading(kube)
        assert await leads.take(asyncio.Event())
        kube.spec, kube.version = {"holderIdentity": "other"}, kube.version + 1
        await leads.release()
        assert not leads.holds()

    asyncio.run(scenario())
    assert kube.holder == "other"


def test_a_release_that_fails_is_said(caplog: pytest.LogCaptureFixture) -> None:
    kube = PlayedLease()

    async def fail(*_: object) -> Object:
        raise UnavailableError("apply Lease", "no answer within 10 s")

    async def scenario() -> None:
        leads = leading(kube)
        assert await leads.take(asyncio.Event())
        kube.apply = fail  # type: ignore[method-assign,assignment]
        await leads.release()

    asyncio.run(scenario())
    assert "so the next operator waits until the Lease expires: apply Lease: no answer within 10 s" in caplog.text


def test_conflicts_without_an_end_are_tried_again_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "LOOK_SECONDS", 60.0)
    kube, stop = PlayedLease(), asyncio.Event()
    kube.always_conflicts = True

    async def scenario() -> None:
        taking = asyncio.create_task(leading(kube).take(stop))
        await until(lambda: kube.reads > 1)
        await asyncio.sleep(0.2)
        stop.set()
        assert not await taking

    asyncio.run(scenario())
    assert kube.reads == 2, "at once after the first conflict, and then after a pause"
