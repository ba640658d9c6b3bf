"""Watches by kopf. kopf only delivers events: the operator's handlers change no object, so kopf writes nothing.

At the start of a watch, kopf lists all objects, keeps all of them in memory, and starts a task for each. The operator's
own lists replace these lists. So kopf's lists return no objects, only the version at which the watch begins. After a
watch began, the caller lists the objects itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import aiohttp
import kopf

from collectorfleet_api import names
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.edge.client import TIMEOUT_SECONDS
from collectorfleet_operator.edge.configuration import in_cluster
from collectorfleet_operator.edge.kopf_memory import NoBase, NoProgress
from collectorfleet_operator.edge.metrics.requests import request_of
from collectorfleet_operator.edge.readable_lines import ReadableLines
from collectorfleet_operator.edge.settings import Settings
from collectorfleet_operator.objects import Kind, Object

# kopf repeats this sequence of delays. kopf's default delays reach 21 s. After the API server has recovered,
# a fleet's status would be wrong for that time.
_ERROR_BACKOFFS_SECONDS: Final = (0.5, 1, 1, 2, 2, 2, 2, 2)

OnNews = Callable[[Kind, str | None, Object], None]
OnBegin = Callable[[str], None]

# A field selector that matches no object.
_NOTHING: Final = "metadata.name=-"


async def watch(
    kinds: Mapping[Kind, Kind],
    settings: Settings,
    news: OnNews,
    began: OnBegin,
    stop: asyncio.Event,
    trace: aiohttp.TraceConfig,
    take_signals: Callable[[], None],
) -> None:
    """Call ``news`` with the kind, the type of event and the object, until ``stop`` is set.

    ``kinds`` has the kinds to watch, in the versions that the API server serves.

    ``began`` is called with the full name of a kind whose watch begins: at the start, and whenever the watch cannot
    continue from its last version. ``news`` is not called for earlier changes.

    If kopf cannot continue, this function raises kopf's error. At its end, kopf cancels every task that was started
    meanwhile. ``trace`` is called with every request.

    ``take_signals`` is called after kopf has installed its signal handlers, and replaces them. kopf's handlers wait
    five seconds for other tasks. If a signal comes earlier, this function returns.
    """
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(_login(trace, began))
    for kind, served in kinds.items():
        _subscribe(registry, kind, served, news)
    ready = asyncio.Event()
    begin = asyncio.create_task(ready.wait())
    begin.add_done_callback(lambda waited: None if waited.cancelled() else take_signals())
    try:
        await kopf.operator(
            registry=registry,
            settings=_settings(kinds.values()),
            clusterwide=not settings.namespaces,
            namespaces=settings.namespaces,
            ready_flag=ready,
            stop_flag=stop,
        )
    finally:
        begin.cancel()


def _login(trace: aiohttp.TraceConfig, began: OnBegin) -> Callable[..., Awaitable[kopf.AiohttpSession | None]]:
    """Return a login handler with kopf's credentials and the operator's own HTTP client.

    kopf's own client has no trace. kopf closes the returned client.
    """
    find = kopf.login_with_service_account if in_cluster() else kopf.login_via_client

    async def login(**kwargs: Any) -> kopf.AiohttpSession | None:
        found = find(**kwargs)
        if found is None:
            return None
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=found.as_ssl_context()),
            headers=found.as_http_headers(),
            proxy=found.proxy_url,
            trust_env=found.trust_env,
            trace_configs=[trace],
            middlewares=[_without_lists(began)],
        )
        return kopf.AiohttpSession(
            server=found.server,
            priority=found.priority,
            default_namespace=found.default_namespace,
            expiration=found.expiration,
            aiohttp_session=session,
        )

    return login


def _without_lists(began: OnBegin) -> aiohttp.ClientMiddlewareType:
    listed = set[str]()

    async def ask(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        described = request_of(request.method, request.url)
        if described.verb == "list":
            listed.add(request.url.path)
            request.url = request.url.update_query(fieldSelector=_NOTHING)
        answer = await send(request)
        if described.verb == "watch":
            # kopf decodes each line itself, and a line that it cannot decode would end all watches.
            answer.content = ReadableLines(answer.content)  # type: ignore[assignment]
        if described.verb == "watch" and answer.ok and request.url.path in listed:
            listed.remove(request.url.path)
            began(described.resource)
        return answer

    return ask


def _subscribe(registry: kopf.OperatorRegistry, kind: Kind, served: Kind, news: OnNews) -> None:
    @kopf.on.event(served.group, served.version, served.plural, registry=registry, id=kind.plural)
    async def on_event(event: Any, **_: Any) -> None:
        news(kind, event["type"], event["object"])


def _settings(kinds: Iterable[Kind]) -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    # Otherwise kopf lists CRDs and namespaces, which the operator does not need.
    settings.scanning.disabled = True
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.persistence.diffbase_storage = NoBase()
    settings.persistence.progress_storage = NoProgress()
    settings.networking.request_timeout = 3 * TIMEOUT_SECONDS
    settings.networking.connect_timeout = 5
    settings.networking.error_backoffs = _ERROR_BACKOFFS_SECONDS
    settings.queueing.exit_timeout = 0.5
    for kind in kinds:
        if kind != FLEET:
            settings.watching.label_selectors[kind.group, kind.version, kind.plural] = names.FLEET_LABEL
    return settings
