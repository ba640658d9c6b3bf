"""What kopf asks the API server for through a session of ours."""

from __future__ import annotations

import asyncio

import aiohttp
import kopf
from aiohttp import web
from aiohttp.test_utils import TestServer

from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.edge.watch import _settings, _without_lists

PODS = "/api/v1/pods"


def test_lists_are_of_nothing_and_a_watch_that_follows_one_begins() -> None:
    asked: list[tuple[str, dict[str, str]]] = []
    began: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.path, dict(request.query)))
        # The version that a watch goes on from is too old.
        return web.Response(status=410 if request.query.get("resourceVersion") == "old" else 200)

    async def run() -> None:
        app = web.Application()
        app.router.add_get("/{path:.*}", answer)
        async with (
            TestServer(app) as server,
            aiohttp.ClientSession(str(server.make_url("/")), middlewares=[_without_lists(began.append)]) as session,
        ):
            for path, query in (
                ("/apis", {}),
                (PODS, {"labelSelector": "ours"}),
                (PODS, {"watch": "true", "resourceVersion": "old"}),
                (PODS, {"watch": "true", "resourceVersion": "7"}),
                (PODS, {"watch": "true", "resourceVersion": "9"}),
            ):
                async with session.get(path, params=query):
                    pass

    asyncio.run(run())
    assert asked == [
        ("/apis", {}),
        (PODS, {"labelSelector": "ours", "fieldSelector": "metadata.name=-"}),
        (PODS, {"watch": "true", "resourceVersion": "old"}),
        (PODS, {"watch": "true", "resourceVersion": "7"}),
        (PODS, {"watch": "true", "resourceVersion": "9"}),
    ]
    # One that was refused did not begin, and one that goes on from where it was misses nothing.
    assert began == ["pods"]


def test_kopf_copies_nothing_of_an_object_to_find_out_what_changed_in_it() -> None:
    persistence = _settings([FLEET, POD]).persistence
    body = kopf.Body({"metadata": {"labels": {"a": "b"}}, "spec": {"image": "x"}})
    essence = persistence.diffbase_storage.build(body=body)
    assert essence == {}
    assert persistence.progress_storage.clear(essence=essence) is essence
    assert persistence.diffbase_storage.fetch(body=body) is None
