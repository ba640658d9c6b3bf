"""Traces the requests that the operator's client, and kopf's client for watches, send to the API server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Final

import aiohttp
from yarl import URL

NO_ANSWER: Final = "NoAnswer"
# Requests for the served API groups and versions. These requests are about no kind of object.
DISCOVERY: Final = "discovery"

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class Request:
    """A request with ``verb`` and ``resource`` as in RBAC: ``patch``, ``collectorfleets.collectorfleet.dev/status``."""

    verb: str
    resource: str


OnRequest = Callable[[Request, str, float], None]


def request_of(method: str, url: URL) -> Request:
    """Return verb and resource of a request.

    The resource leaves out the names of objects and namespaces, because they would be too many label values.
    """
    group, rest = _group_and_rest(url.path.strip("/").split("/"))
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    if not rest:
        return Request("get", DISCOVERY)
    plural, name, *subresource = [*rest, *[""] * (2 - len(rest))]
    resource = "/".join([f"{plural}.{group}" if group else plural, *subresource])
    return Request(_verb(method, url, is_named=bool(name)), resource)


def _group_and_rest(path: list[str]) -> tuple[str, list[str]]:
    match path:
        case ["api", _, *rest]:
            return "", rest
        case ["apis", group, _, *rest]:
            return group, rest
        case _:
            return "", []


def _verb(method: str, url: URL, *, is_named: bool) -> str:
    if method != "GET":
        return _VERBS.get(method, method.lower())
    if url.query.get("watch") == "true":
        return "watch"
    return "get" if is_named else "list"


def tracing(on_request: OnRequest, clock: Callable[[], float] = time.monotonic) -> aiohttp.TraceConfig:
    """Return a trace that calls ``on_request`` with each request, its HTTP status, and the seconds to its answer."""

    async def start(_: aiohttp.ClientSession, request: SimpleNamespace, __: aiohttp.TraceRequestStartParams) -> None:
        request.began = clock()

    async def end(_: aiohttp.ClientSession, request: SimpleNamespace, answered: aiohttp.TraceRequestEndParams) -> None:
        on_request(request_of(answered.method, answered.url), str(answered.response.status), clock() - request.began)

    async def fail(
        _: aiohttp.ClientSession, request: SimpleNamespace, answered: aiohttp.TraceRequestExceptionParams
    ) -> None:
        # The operator cancels requests when it ends.
        if not isinstance(answered.exception, asyncio.CancelledError):
            on_request(request_of(answered.method, answered.url), NO_ANSWER, clock() - request.began)

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(start)
    trace.on_request_end.append(end)
    trace.on_request_exception.append(fail)
    return trace
