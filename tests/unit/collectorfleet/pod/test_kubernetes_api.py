"""What a driver makes of answers that are no objects, on a server of this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio import client
from kubernetes.aio.dynamic import DynamicClient
from tests.unit.collectorfleet.pod.played_api import SETTINGS

from collectorfleet.pod.access import Access
from collectorfleet.pod.kubernetes_api import FleetApi
from collectorfleet.pod.outage import TRANSIENT

Ask = Callable[[FleetApi], Awaitable[Any]]
STORED = {"kind": "Lease", "apiVersion": "v1", "metadata": {"name": "it", "uid": "u-1", "resourceVersion": "7"}}
REQUESTS: list[Ask] = [
    FleetApi.fleet,
    lambda api: api.apply_status({}),
    FleetApi.lease,
    lambda api: api.patch_lease({"spec": {}}),
    FleetApi.timeline,
    lambda api: api.patch_timeline("AAAA"),
]
NAMES = ["fleet", "status", "Lease", "renewal", "timeline", "written timeline"]


def asked(ask: Ask, body: str, content_type: str = "application/json") -> Any:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=body, content_type=content_type)

    async def run() -> Any:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        async with TestServer(app) as server:
            configuration = client.Configuration(host=str(server.make_url("")))
            async with client.ApiClient(configuration) as api:
                return await ask(FleetApi(DynamicClient(api), SETTINGS, Access(lambda: None)))

    return asyncio.run(run())


@pytest.mark.parametrize("ask", REQUESTS, ids=NAMES)
def test_an_object_is_the_answer(ask: Ask) -> None:
    assert asked(ask, json.dumps(STORED)) == STORED


@pytest.mark.parametrize(
    "body",
    ["", "<html>", "null", "[]", "{}", '{"kind":"Status","metadata":{}}', '{"kind":"Lease","metadata":7}'],
    ids=["empty", "a page", "null", "a list", "nothing in it", "no identity", "odd metadata"],
)
def test_an_answer_that_is_no_object_is_like_a_failed_request(body: str) -> None:
    with pytest.raises(TRANSIENT, match="the API server's answer is not an object"):
        asked(FleetApi.lease, body)


@pytest.mark.parametrize("ask", REQUESTS, ids=NAMES)
def test_every_request_checks_its_answer(ask: Ask) -> None:
    with pytest.raises(TRANSIENT):
        asked(ask, "{}")


def test_the_page_of_a_proxy_is_like_a_failed_request() -> None:
    with pytest.raises(TRANSIENT):
        asked(FleetApi.lease, "<html>Log in</html>", "text/html")
