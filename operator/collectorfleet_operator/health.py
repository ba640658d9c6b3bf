"""``/healthz``: whether the operator still hears from the API server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from aiohttp import web

# Longer than an API server takes to restart: restarting the operator would not help it.
LIMIT_SECONDS: Final = 180.0


class Health:
    """The age of the last successful list, in seconds of ``clock``."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = clock()

    def heard(self) -> None:
        self._last = self._clock()

    @property
    def age_seconds(self) -> float:
        return self._clock() - self._last

    async def answer(self, _: web.Request) -> web.Response:
        text = f"last list {self.age_seconds:.0f} s ago; the limit is {LIMIT_SECONDS:.0f} s\n"
        return web.Response(text=text, status=200 if self.age_seconds < LIMIT_SECONDS else 503)


@contextlib.asynccontextmanager
async def served(health: Health, port: int) -> AsyncIterator[None]:
    """Answer ``/healthz`` on that port of all addresses; port 0 answers nowhere."""
    if not port:
        yield
        return
    app = web.Application()
    app.router.add_get("/healthz", health.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, port=port).start()
        yield
    finally:
        await runner.cleanup()
