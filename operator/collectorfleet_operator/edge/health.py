"""What the operator answers over HTTP.

``/healthz``: whether it still hears from the API server, and comes to an end with each fleet.
``/readyz``: whether it serves fleets, or stands by.
``/metrics``: what it counts and knows, for Prometheus.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

# Longer than an API server takes to restart: restarting the operator would not help it. Longer, too, than all requests
# of one look at a fleet, each of which has a deadline: what takes so long hangs.
LIMIT_SECONDS: Final = 180.0


class Health:
    """The age of the last successful list, in seconds of ``clock``, and for how long one fleet is worked on."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = clock()
        self._ready: str | None = None
        # Lists go on where the work on fleets hangs.
        self.longest_work_seconds: Callable[[], float] = no_work

    def heard(self) -> None:
        """The API server answered."""
        self._last = self._clock()

    def serves(self) -> None:
        """Every fleet there is was listed."""
        self._ready = "serves fleets"
        self.heard()

    def stands_by(self, leader: str) -> None:
        """Another serves fleets, and this process goes on where that ends."""
        self._ready = f"stands by while {leader} serves fleets"

    @property
    def age_seconds(self) -> float:
        return self._clock() - self._last

    async def ready(self, _: web.Request) -> web.Response:
        return web.Response(text=f"{self._ready or 'waits to serve fleets'}\n", status=200 if self._ready else 503)

    async def alive(self, _: web.Request) -> web.Response:
        age, work = self.age_seconds, self.longest_work_seconds()
        text = f"last list {age:.0f} s ago, one fleet worked on for {work:.0f} s; the limit is {LIMIT_SECONDS:.0f} s\n"
        return web.Response(text=text, status=200 if max(age, work) < LIMIT_SECONDS else 503)


def no_work() -> float:
    return 0.0


@contextlib.asynccontextmanager
async def served(health: Health, registry: CollectorRegistry, port: int) -> AsyncIterator[None]:
    """Answer on that port of all addresses; port 0 answers nowhere."""
    if not port:
        yield
        return
    app = web.Application()

    async def metrics(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(registry), headers={"Content-Type": content_type})

    app.add_routes([web.get("/healthz", health.alive), web.get("/readyz", health.ready), web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, port=port).start()
        yield
    finally:
        await runner.cleanup()
