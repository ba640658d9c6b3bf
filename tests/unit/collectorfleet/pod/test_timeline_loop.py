"""The timeline on its way to the API server and back."""

from __future__ import annotations

import asyncio
import gzip
import logging
import threading
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

import pytest
from kubernetes.aio.client import ApiException
from tests.unit.collectorfleet.pod.played_api import SETTINGS
from tests.wait import eventually

from collectorfleet.pod import timeline_loop
from collectorfleet.pod.timeline_loop import TimelineLoop, read_timeline
from collectorfleet.timeline.packed import pack, unpack
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api import names

RUN = Timeline(fleet="cheetah", began=1.0, times=[2.0], series={"frames": [100.0]})
LATER = Timeline(fleet="cheetah", began=1.0, times=[2.0, 3.0], series={"frames": [100.0, 200.0]})
UNKNOWN = ApiException(status=404, reason="Not Found")
AWAY = ApiException(status=503, reason="Service Unavailable")


class ConfigMapApi:
    """``failures`` are raised first, one for each request."""

    def __init__(self, *failures: Exception, uid: str = SETTINGS.uid, packed: bytes | None = None) -> None:
        self.failures = list(failures)
        self.stored: dict[str, Any] = {"metadata": {"ownerReferences": [{"uid": uid}]}}
        if packed is not None:
            self.stored["binaryData"] = {names.TIMELINE_KEY: b64encode(packed).decode()}
        self.written: list[Timeline] = []

    async def timeline(self) -> dict[str, Any]:
        self._fail()
        return self.stored

    async def patch_timeline(self, content: str) -> None:
        self._fail()
        self.written.append(unpack(b64decode(content)))

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)


@dataclass
class Held:
    is_held: bool = True


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_loop, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(timeline_loop, "LOOK_SECONDS", 0.01)


def read(api: ConfigMapApi) -> Timeline | None:
    return asyncio.run(read_timeline(api, SETTINGS, threading.Event()))  # type: ignore[arg-type]


def test_what_the_driver_before_wrote_is_read_also_after_an_outage() -> None:
    assert read(ConfigMapApi(AWAY, AWAY, packed=pack(RUN))) == RUN


@pytest.mark.parametrize(
    "api",
    [
        ConfigMapApi(),
        ConfigMapApi(UNKNOWN),
        ConfigMapApi(ApiException(status=403, reason="Forbidden")),
        ConfigMapApi(packed=pack(RUN), uid="of-an-earlier-fleet"),
        ConfigMapApi(packed=b"garbled"),
        ConfigMapApi(packed=gzip.compress(b'{"fleet": "cheetah", "began": 1' + b"0" * 5000 + b"}")),
        ConfigMapApi(packed=gzip.compress(b"[" * 100_000)),
        ConfigMapApi(packed=gzip.compress(b"7")),
        ConfigMapApi(ZeroDivisionError("a bug")),
    ],
    ids=[
        *("empty", "not made yet", "no right to it", "another fleet's", "unreadable"),
        *("a long number", "nested", "a number", "a bug"),
    ],
)
def test_without_one_that_can_be_gone_on_in_another_begins(api: ConfigMapApi) -> None:
    assert read(api) is None


def end_after(loop: TimelineLoop, api: ConfigMapApi, lease: Held, offered: list[Timeline]) -> None:
    """Offer each once the one before is written, and the last when the run is over."""

    async def main() -> None:
        closing = threading.Event()
        running = asyncio.create_task(loop.run(api, lease, closing))  # type: ignore[arg-type]
        for timeline in offered[:-1]:
            loop.offer(timeline)
            await asyncio.to_thread(eventually, lambda at=timeline: at in api.written, within=10, what="written")
        loop.offer(offered[-1])
        closing.set()
        await running

    asyncio.run(asyncio.wait_for(main(), 20))


def test_each_is_written_once_and_the_last_at_the_end() -> None:
    api = ConfigMapApi()
    end_after(TimelineLoop(), api, Held(), [RUN, LATER])
    assert api.written == [RUN, LATER]


def test_an_outage_is_said_once_and_costs_no_timeline(caplog: pytest.LogCaptureFixture) -> None:
    api = ConfigMapApi(AWAY, AWAY, AWAY)
    with caplog.at_level(logging.WARNING, "collectorfleet"):
        end_after(TimelineLoop(), api, Held(), [RUN, LATER])
    assert api.written == [RUN, LATER]
    assert [r.message for r in caplog.records] == [
        "cannot write the timeline; trying again: HTTP 503: Service Unavailable"
    ]


def test_a_bug_costs_one_timeline_and_nothing_else(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, packed = ConfigMapApi(), [ZeroDivisionError("a bug"), ZeroDivisionError("a bug")]

    def pack_or_fail(timeline: Timeline) -> bytes:
        if timeline is RUN and packed:
            raise packed.pop()
        return pack(timeline)

    monkeypatch.setattr(timeline_loop, "pack", pack_or_fail)

    async def main() -> None:
        closing, loop = threading.Event(), TimelineLoop()
        running = asyncio.create_task(loop.run(api, Held(), closing))  # type: ignore[arg-type]
        for _ in range(2):
            left = len(packed)
            loop.offer(RUN)
            await asyncio.to_thread(eventually, lambda left=left: len(packed) < left, within=10, what="tried")
        loop.offer(LATER)
        await asyncio.to_thread(eventually, lambda: LATER in api.written, within=10, what="written")
        closing.set()
        await running

    with caplog.at_level(logging.INFO, "collectorfleet"):
        asyncio.run(asyncio.wait_for(main(), 20))
    assert api.written == [LATER]
    assert [r.message for r in caplog.records] == [
        "cannot write the timeline; trying again: ZeroDivisionError: a bug",
        "can write the timeline again",
    ]
    assert caplog.records[0].exc_info


def test_a_bug_in_the_last_timeline_does_not_delay_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Timeline) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(timeline_loop, "pack", fail)
    monkeypatch.setattr(timeline_loop, "LAST_SECONDS", 60)
    end_after(TimelineLoop(), ConfigMapApi(), Held(), [LATER])


def test_a_driver_that_is_no_longer_the_fleets_writes_nothing() -> None:
    api = ConfigMapApi()
    end_after(TimelineLoop(), api, Held(is_held=False), [LATER])
    assert api.written == []
