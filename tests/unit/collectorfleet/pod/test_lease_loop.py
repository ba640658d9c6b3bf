"""A driver keeps its Lease whatever the API server answers, and gives it back when it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kubernetes.aio.client import ApiException
from tests.unit.collectorfleet.pod.played_api import PlayedLeases
from tests.wait import eventually

from collectorfleet.pod import lease_loop
from collectorfleet.pod.lease_loop import LeaseLoop

ME = "pod-1"


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RENEW_SECONDS", "LOOK_SECONDS"):
        monkeypatch.setattr(lease_loop, name, 0.001)


def renewing(api: PlayedLeases, act: Callable[[LeaseLoop, asyncio.Task[None]], Awaitable[None]]) -> list[str]:
    """Do ``act`` while the loop runs; returns the drivers that took the Lease over."""
    taken_over: list[str] = []

    async def main() -> None:
        loop = LeaseLoop(api, ME, taken_over.append)  # type: ignore[arg-type]
        task = asyncio.create_task(loop.run())
        await asyncio.wait_for(act(loop, task), 10)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())
    return taken_over


async def until(condition: Callable[[], bool]) -> None:
    await asyncio.to_thread(eventually, condition, within=9, every=0.001)


async def end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


ODD = [
    pytest.param(ValueError("Expecting value: line 1 column 1"), id="no JSON"),
    pytest.param(KeyError("kind"), id="no object"),
    pytest.param({}, id="no metadata"),
    pytest.param({"metadata": {}, "spec": {}}, id="no version"),
    pytest.param({"metadata": {"resourceVersion": "1"}, "spec": ["x"]}, id="an odd spec"),
]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_answer_before_the_lease_is_acquired_is_like_none(odd: Any, caplog: pytest.LogCaptureFixture) -> None:
    api = PlayedLeases(odd)

    async def act(loop: LeaseLoop, _: asyncio.Task[None]) -> None:
        await loop.acquired.wait()

    with caplog.at_level(logging.WARNING):
        renewing(api, act)
    assert api.holder == ME
    (said,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert said.message.startswith("cannot renew the Lease; trying again: ")
    assert said.exc_info, "an error that nobody expects has its traceback"


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_answer_does_not_end_the_renewal(odd: Any) -> None:
    api = PlayedLeases()

    async def act(loop: LeaseLoop, task: asyncio.Task[None]) -> None:
        await loop.acquired.wait()
        api.odd_answers = [odd]
        renewed = api.patches
        await until(lambda: task.done() or api.patches > renewed + 3)
        assert not task.done()
        assert loop.is_held

    renewing(api, act)


def test_an_answer_of_an_overloaded_server_is_said_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    api = PlayedLeases(ApiException(status=503, reason="etcd has no leader"))

    async def act(loop: LeaseLoop, _: asyncio.Task[None]) -> None:
        await loop.acquired.wait()

    with caplog.at_level(logging.WARNING):
        renewing(api, act)
    assert [(record.message, record.exc_info) for record in caplog.records] == [
        ("cannot renew the Lease; trying again: HTTP 503: etcd has no leader", None)
    ]


def test_a_lease_is_released_after_a_renewal_whose_answer_never_came() -> None:
    api = PlayedLeases()

    async def act(loop: LeaseLoop, task: asyncio.Task[None]) -> None:
        await loop.acquired.wait()
        api.seconds_per_answer, renewed = 60, api.patches
        await until(lambda: api.patches > renewed)
        await end(task)
        api.seconds_per_answer = 0
        await loop.release()

    renewing(api, act)
    assert api.holder is None


def test_a_lease_is_released_if_the_answer_to_its_first_request_never_came() -> None:
    api = PlayedLeases()

    async def act(loop: LeaseLoop, task: asyncio.Task[None]) -> None:
        api.seconds_per_answer = 0.05
        await until(lambda: api.holder == ME)
        await end(task)
        assert not loop.acquired.is_set()
        await loop.release()
        assert api.holder is None

    renewing(api, act)


def test_a_request_that_is_overtaken_by_the_release_does_not_take_the_lease() -> None:
    api = PlayedLeases()
    late: list[Any] = []

    async def on_its_way(patch: Any) -> None:
        late.append(patch)
        await asyncio.sleep(60)

    async def act(loop: LeaseLoop, task: asyncio.Task[None]) -> None:
        stored, api.patch_lease = api.patch_lease, on_its_way  # type: ignore[method-assign]
        await until(lambda: bool(late))
        await end(task)
        api.patch_lease = stored  # type: ignore[method-assign]
        await loop.release()
        with pytest.raises(ApiException, match="Conflict"):
            await api.patch_lease(late[0])
        assert api.holder is None

    renewing(api, act)


def test_a_lease_is_released_while_its_renewal_reads_it_again() -> None:
    api = PlayedLeases()

    async def act(loop: LeaseLoop, task: asyncio.Task[None]) -> None:
        await loop.acquired.wait()
        api.odd_answers = [ApiException(status=503)] * 1000
        await until(lambda: len(api.odd_answers) < 900)
        await end(task)
        api.odd_answers = []
        await loop.release()

    renewing(api, act)
    assert api.holder is None


def test_the_lease_of_another_driver_is_left_to_it() -> None:
    api = PlayedLeases()

    async def act(loop: LeaseLoop, task: asyncio.Task[None]) -> None:
        await loop.acquired.wait()
        await end(task)
        api.spec["holderIdentity"], api.version = "pod-2", api.version + 1
        await loop.release()
        assert not loop.is_held

    renewing(api, act)
    assert api.holder == "pod-2"


@pytest.mark.parametrize("odd", [ValueError("no JSON"), ApiException(status=500)], ids=["odd", "failed"])
def test_a_release_that_fails_is_said_and_nothing_else(odd: Exception, caplog: pytest.LogCaptureFixture) -> None:
    api = PlayedLeases()

    async def act(loop: LeaseLoop, task: asyncio.Task[None]) -> None:
        await loop.acquired.wait()
        await end(task)
        api.odd_answers = [odd]
        await loop.release()

    with caplog.at_level(logging.INFO):
        renewing(api, act)
    assert "the Lease was not released; it expires on its own" in caplog.text
