"""How the client asks, and what it makes of answers that are none, on a server of this process."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio import client
from tests.unit import played_answers
from tests.unit.played_answers import Answer, says

from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.edge.client import Kube, _proxy
from collectorfleet_operator.edge.errors import NotServedError, RefusedError, UnavailableError
from collectorfleet_operator.edge.listing import Listing, Unchanged
from collectorfleet_operator.objects import Key

LIST = b'{"kind":"PodList","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"p","namespace":"lab"}}]}\n'
FORBIDDEN = b'{"kind":"Status","message":"pods is forbidden"}'


def listed(answer: Answer, *, times: int = 1) -> list[Any]:
    """What a list of pods gives, the last of so many."""

    async def lists(api: client.ApiClient) -> list[Any]:
        kube, into = Kube(api), Listing()
        for _ in range(times):
            found = [one async for one in kube.list(POD, None, into, label="ours")]
        return found

    return played_answers.asked(lists, answer)


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
        pytest.param(says(b"{}"), UnavailableError, id="nothing in it"),
        pytest.param(says(b'{"kind":"Status","metadata":{}}'), UnavailableError, id="no version"),
        pytest.param(says(b"\xff\xfe"), UnavailableError, id="no text"),
        pytest.param(says(b"later", 503), UnavailableError, id="later"),
        pytest.param(says(FORBIDDEN, 403), RefusedError, id="forbidden"),
        pytest.param(says(b"404 page not found", 404), NotServedError, id="not served"),
    ],
)
def test_a_list_that_is_none_is_an_error_of_its_own_kind(answer: Answer, error: type[Exception]) -> None:
    with pytest.raises(error, match="list pods"):
        listed(answer)


LEASE_OF_OURS = b'{"kind":"Lease","metadata":{"name":"it","namespace":"lab","uid":"u-1","resourceVersion":"7"}}'
MANIFEST = {"metadata": {"name": "it", "namespace": "lab"}}
REQUESTS: list[Callable[[Kube], Awaitable[Any]]] = [
    lambda kube: kube.find(LEASE, "lab", "it"),
    lambda kube: kube.apply(LEASE, MANIFEST),
    lambda kube: kube.create(LEASE, MANIFEST),
]


def asked(ask: Callable[[Kube], Awaitable[Any]], answer: Answer) -> Any:
    return played_answers.asked(lambda api: ask(Kube(api)), answer)


@pytest.mark.parametrize("ask", REQUESTS, ids=["find", "apply", "create"])
def test_an_object_is_the_answer(ask: Callable[[Kube], Awaitable[Any]]) -> None:
    assert asked(ask, says(LEASE_OF_OURS)) == json.loads(LEASE_OF_OURS)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"\xff", b"null", b"[]", b"{}", b'{"metadata":{"name":"it"}}'],
    ids=["empty", "a page", "no text", "null", "a list", "nothing in it", "no version"],
)
def test_an_answer_that_is_no_object_is_like_none(body: bytes) -> None:
    """As of a proxy that answers in the place of an API server: one answer must not end the operator's process."""
    with pytest.raises(UnavailableError, match=r"get Lease lab/it: the answer is not (JSON|an object)"):
        asked(REQUESTS[0], says(body))


@pytest.mark.parametrize("ask", REQUESTS, ids=["find", "apply", "create"])
def test_every_request_for_an_object_checks_its_answer(ask: Callable[[Kube], Awaitable[Any]]) -> None:
    with pytest.raises(UnavailableError, match="the answer is not an object"):
        asked(ask, says(b"{}"))


def test_a_deletion_is_answered_with_its_status() -> None:
    status = b'{"kind":"Status","metadata":{},"status":"Success"}'
    asked(lambda kube: kube.delete(LEASE, Key("lab", "it"), "u-1"), says(status))


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"versions":[7]}'])
def test_versions_that_are_none_are_like_no_answer(body: bytes) -> None:
    with pytest.raises(UnavailableError, match="get the versions of kueue"):
        asked(lambda kube: kube.versions("kueue.x-k8s.io"), says(body))


def test_a_proxy_is_the_environments_but_for_hosts_that_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.lab:3128")
    monkeypatch.setenv("no_proxy", "10.0.0.1,.svc")
    assert _proxy("https://cluster.example:6443") == "http://proxy.lab:3128"
    assert _proxy("https://10.0.0.1:443") is None
    assert _proxy("https://kubernetes.default.svc") is None
