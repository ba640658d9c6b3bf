"""What a request to the API server counts as: its verb and the kind of object, and never a name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from collectorfleet_operator.edge.metrics.requests import NO_ANSWER, Request, request_of, tracing

FLEETS = "/apis/collectorfleet.dev/v1alpha1"


@pytest.mark.parametrize(
    ("method", "path", "asked"),
    [
        pytest.param("GET", "/api/v1/pods?labelSelector=x", Request("list", "pods"), id="list"),
        pytest.param("GET", "/api/v1/namespaces/lab/pods", Request("list", "pods"), id="list-namespace"),
        pytest.param("GET", "/api/v1/pods?watch=true", Request("watch", "pods"), id="watch"),
        pytest.param("GET", "/apis/batch/v1/namespaces/lab/jobs/j", Request("get", "jobs.batch"), id="get"),
        pytest.param("POST", "/api/v1/namespaces/lab/events", Request("create", "events"), id="create"),
        pytest.param("DELETE", "/api/v1/namespaces/lab/pods/p", Request("delete", "pods"), id="delete"),
        pytest.param(
            "PATCH",
            f"{FLEETS}/namespaces/lab/collectorfleets/c/status?fieldManager=me",
            Request("patch", "collectorfleets.collectorfleet.dev/status"),
            id="patch-status",
        ),
        pytest.param("GET", "/api/v1/namespaces/lab", Request("get", "namespaces"), id="a-namespace"),
        pytest.param("GET", FLEETS, Request("get", "discovery"), id="what-a-group-serves"),
        pytest.param("GET", "/version", Request("get", "discovery"), id="version"),
    ],
)
def test_a_request_is_named_by_verb_and_kind(method: str, path: str, asked: Request) -> None:
    assert request_of(method, URL(f"https://10.0.0.1:6443{path}")) == asked


def told_of(ask: Callable[[aiohttp.ClientSession, URL], Awaitable[object]]) -> list[tuple[Request, str]]:
    """What an HTTP client with our trace told of a server that serves pods, and hangs on events."""
    told: list[tuple[Request, str]] = []

    async def pods(_: web.Request) -> web.Response:
        return web.json_response({})

    async def events(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def scenario() -> None:
        app = web.Application()
        app.add_routes([web.get("/api/v1/pods", pods), web.get("/api/v1/events", events)])
        trace = tracing(lambda request, code, seconds: told.append((request, code)) if seconds >= 0 else None)
        async with TestServer(app) as server, aiohttp.ClientSession(trace_configs=[trace]) as session:
            await ask(session, server.make_url("/"))

    asyncio.run(scenario())
    return told


def test_an_answer_is_told_with_its_status_and_a_silence_as_one() -> None:
    async def ask(session: aiohttp.ClientSession, url: URL) -> None:
        await session.get(url / "api/v1/pods")
        await session.get(url / "api/v1/secrets")
        with pytest.raises(TimeoutError):
            await session.get(url / "api/v1/events", timeout=aiohttp.ClientTimeout(total=0.1))

    assert told_of(ask) == [
        (Request("list", "pods"), "200"),
        (Request("list", "secrets"), "404"),
        (Request("list", "events"), NO_ANSWER),
    ]


def test_a_request_that_the_operator_gives_up_is_nobodys_failure() -> None:
    async def ask(session: aiohttp.ClientSession, url: URL) -> None:
        request = asyncio.create_task(session.get(url / "api/v1/events"))
        await session.get(url / "api/v1/pods")
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)

    assert told_of(ask) == [(Request("list", "pods"), "200")]
