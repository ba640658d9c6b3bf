"""A minimal client of the API server for the benchmark's own requests. Besides the network it costs only JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import aiohttp
import yaml

from collectorfleet_operator.objects import Kind, Object

T = TypeVar("T")

APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"


class Api:
    """A client of one API server. Every method raises aiohttp.ClientError if the answer is not 2xx."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(cls, kubeconfig: Path) -> AsyncIterator[Api]:
        """Yield a client with the token of the first user of ``kubeconfig``."""
        config = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_text))
        # The API server is a process of this benchmark on loopback, so its certificate needs no check.
        tls = ssl._create_unverified_context()
        headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}", "Accept-Encoding": "identity"}
        async with aiohttp.ClientSession(
            config["clusters"][0]["cluster"]["server"],
            headers=headers,
            connector=aiohttp.TCPConnector(limit=64, ssl=tls),
            timeout=aiohttp.ClientTimeout(total=120),
        ) as session:
            yield cls(session)

    async def create(self, kind: Kind, obj: Object) -> Object:
        return await self._send("POST", path(kind, obj["metadata"]["namespace"]), obj, "application/json")

    async def apply(self, kind: Kind, obj: Object, manager: str, subresource: str = "") -> Object:
        where = path(kind, obj["metadata"]["namespace"], obj["metadata"]["name"], subresource)
        return await self._send("PATCH", where, obj, APPLY, fieldManager=manager, force="true")

    async def merge(self, kind: Kind, namespace: str, name: str, change: Object, subresource: str = "") -> Object:
        return await self._send("PATCH", path(kind, namespace, name, subresource), change, MERGE)

    async def delete_all(self, kind: Kind, namespace: str) -> None:
        # Background deletion adds no finalizer. No controller runs that would remove a finalizer.
        await self._send("DELETE", path(kind, namespace), {"propagationPolicy": "Background"}, "application/json")

    async def list(self, kind: Kind) -> list[Object]:
        found = await self._send("GET", path(kind), None, "application/json")
        # The API server omits apiVersion and kind from the items of a list.
        return [{**one, "apiVersion": kind.api_version, "kind": kind.kind} for one in found["items"]]

    async def follow(self, kind: Kind) -> AsyncGenerator[Object]:
        """Yield all current objects, and then each changed object, for ever.

        If the server ends the watch or does not answer, the function lists all objects again and watches from there.
        """
        while True:
            try:
                async for one in self._list_and_watch(kind):
                    yield one
            except aiohttp.ClientError:
                await asyncio.sleep(0.2)

    async def _list_and_watch(self, kind: Kind) -> AsyncIterator[Object]:
        now = await self._send("GET", path(kind), None, "application/json")
        for one in now["items"]:
            yield one
        query = {"watch": "true", "resourceVersion": now["metadata"]["resourceVersion"]}
        no_limit = aiohttp.ClientTimeout(total=None)
        async with self._session.get(path(kind), params=query, timeout=no_limit, read_bufsize=2**20) as answer:
            async for line in answer.content:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                yield event["object"]

    async def _send(self, method: str, where: str, body: Object | None, content_type: str, **query: str) -> Object:
        async with self._session.request(
            method,
            where,
            params=query,
            data=json.dumps(body) if body is not None else None,
            headers={"Content-Type": content_type},
        ) as answer:
            if answer.status >= 300:
                text = await answer.text()
                raise aiohttp.ClientError(f"{method} {where}: {answer.status} {text[:500]}")
            found: Object = await answer.json()
            return found


def path(kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
    parts = [root, *(["namespaces", namespace] if namespace else []), kind.plural, name, subresource]
    return "/".join(part for part in parts if part)


async def each(items: Iterable[T], work: Callable[[T], Awaitable[Any]], at_once: int = 16) -> None:
    """Await ``work`` for every item, at most ``at_once`` items at a time."""
    left = iter(list(items))

    async def go_on() -> None:
        for item in left:
            await work(item)

    await asyncio.gather(*(go_on() for _ in range(at_once)))
