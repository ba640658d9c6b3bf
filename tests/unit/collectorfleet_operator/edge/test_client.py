"""How the client asks, and what it makes of answers that are none, on a server of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio import client

from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.edge.client import Kube, _proxy
from collectorfleet_operator.edge.errors import NotServedError, RefusedError, UnavailableError
from collectorfleet_operator.edge.listing import Listing, Unchanged
from collectorfleet_operator.objects import Key

LIST = b'{"kind":"PodList","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"p","namespace":"lab"}}]}\n'
FORBIDDEN = b'{"kind":"Status","message":"pods is forbidden"}'

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def listed(answer: Answer, *, times: int = 1) -> list[Any]:
    """What a list of pods gives, the last of so many."""

    async def run() -> list[Any]:
        app = web.Application()
        app.router.add_get("/{path:.*}", answer)
        async with TestServer(app) as server:
            configuration = client.Configuration(host=str(server.make_url("")))
            async with client.ApiClient(configuration) as api:
                kube, into = Kube(api), Listing()
                for _ in range(times):
                    found = [one async for one in kube.list(POD, None, into, label="ours")]
                return found

    return asyncio.run(run())


def says(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, status=status, headers=headers)

    return answer


def test_a_list_is_asked_for_as_it_is_at_hand_and_not_compressed() -> None:
    asked: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request)
        return web.Response(body=LIST)

    (pod,) = listed(answer)
    assert pod == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "lab"}}
    assert dict(asked[0].query) == {"labelSelector": "ours", "resourceVersion": "0"}
    assert asked[0].headers["Accept-Encoding"] == "identity"


def test_what_is_listed_again_is_not_said_again() -> None:
    assert listed(says(LIST), times=2) == [Unchanged(Key("lab", "p"))]


async def breaks_off(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Length": str(len(LIST))})
    await answer.prepare(request)
    await answer.write(LIST[:40])
    assert request.transport is not None
    request.transport.close()
    return answer


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(says(LIST[:-30]), UnavailableError, id="half a list"),
        pytest.param(breaks_off, UnavailableError, id="a connection that breaks"),
        pytest.param(says(b"later", 503), UnavailableError, id="later"),
        pytest.param(says(FORBIDDEN, 403), RefusedError, id="forbidden"),
        pytest.param(says(b"404 page not found", 404), NotServedError, id="not served"),
    ],
)
def test_a_list_that_is_none_is_an_error_of_its_own_kind(answer: Answer, error: type[Exception]) -> None:
    with pytest.raises(error, match="list pods"):
        listed(answer)


def test_a_proxy_is_the_environments_but_for_hosts_that_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.lab:3128")
    monkeypatch.setenv("no_proxy", "10.0.0.1,.svc")
    assert _proxy("https://cluster.example:6443") == "http://proxy.lab:3128"
    assert _proxy("https://10.0.0.1:443") is None
    assert _proxy("https://kubernetes.default.svc") is None
