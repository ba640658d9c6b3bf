"""Play an API server that gives the same answer to every request, for one client of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio import client

T = TypeVar("T")
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def asked(ask: Callable[[client.ApiClient], Awaitable[T]], answer: Answer) -> T:
    """Return what ``ask`` returns for a client of a server that gives ``answer``."""

    async def run() -> T:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        async with TestServer(app) as server:
            configuration = client.Configuration(host=str(server.make_url("")))
            async with client.ApiClient(configuration) as api:
                return await ask(api)

    return asyncio.run(run())


def says(body: str | bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer with this body. Without ``headers``, the body is JSON."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, status=status, headers=headers or {"Content-Type": "application/json"})

    return answer
