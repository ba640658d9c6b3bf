"""The operator's HTTP endpoints.

``/healthz`` fails if a restart may help: the API server has answered no list for ``LIMIT_SECONDS``, or one reconcile
takes longer than this. A refused list is an answer. An error on one fleet is no reason to restart.

``/readyz`` succeeds if the operator does its work. A standby replica is ready. The leading replica is ready if it has
listed the fleets of at least one namespace within ``UNLISTED_SECONDS``.

``/metrics`` has the metrics for Prometheus.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.edge.errors import PortError
from collectorfleet_operator.edge.freshness import Freshness

# The limit is longer than a restart of the API server: restarting the operator would not make the API server start
# faster. The limit is also longer than all requests of one reconcile together, because each request has a deadline. So
# a longer reconcile hangs.
LIMIT_SECONDS: Final = 180.0
# Three intervals of the complete list (30 s), so that one list may be late.
UNLISTED_SECONDS: Final = 90.0


class Health:
    """The health of this replica. ``clock`` counts seconds."""

    def __init__(self, clock: Callable[[], float], freshness: Freshness) -> None:
        self._clock = clock
        self._freshness = freshness
        self._last_answer_at = clock()
        self._serves = False
        self._leader = ""
        # Lists continue while a reconcile hangs, so the age of the lists does not show the hang.
        self._longest_work_seconds: Callable[[], float] = _no_work

    def record_answer(self) -> None:
        """Note that the API server answered now."""
        self._last_answer_at = self._clock()

    def begin_serving(self) -> None:
        """Note that all fleets were listed, and that this replica serves them."""
        self._serves, self._leader = True, ""
        self.record_answer()

    def stand_by(self, leader: str) -> None:
        """Note that the replica ``leader`` serves fleets."""
        self._serves, self._leader = False, leader

    def begin_work(self, longest_work_seconds: Callable[[], float]) -> None:
        """Ask ``longest_work_seconds`` for the age of the longest reconcile, in seconds, until :meth:`end_work`."""
        self._longest_work_seconds = longest_work_seconds

    def end_work(self) -> None:
        self._longest_work_seconds = _no_work

    @property
    def age_seconds(self) -> float:
        return self._clock() - self._last_answer_at

    async def ready(self, _: web.Request) -> web.Response:
        is_ready, text = self._readiness()
        return web.Response(text=f"{text}\n", status=200 if is_ready else 503)

    async def alive(self, _: web.Request) -> web.Response:
        age, work = self.age_seconds, self._longest_work_seconds()
        text = (
            f"the last list ended {age:.0f} s ago, and the longest reconcile has run for {work:.0f} s; the limit of "
            f"both is {LIMIT_SECONDS:.0f} s\n"
        )
        return web.Response(text=text, status=200 if max(age, work) < LIMIT_SECONDS else 503)

    def _readiness(self) -> tuple[bool, str]:
        if self._leader:
            return True, f"stands by while {self._leader} serves fleets"
        if not self._serves:
            return False, "waits to serve fleets"
        age = self._freshness.newest_list_age(FLEET)
        text = f"last list of fleets {age:.0f} s ago; the limit is {UNLISTED_SECONDS:.0f} s"
        return (True, f"serves fleets: {text}") if age < UNLISTED_SECONDS else (False, f"cannot serve fleets: {text}")


def _no_work() -> float:
    return 0.0


@contextlib.asynccontextmanager
async def served(health: Health, registry: CollectorRegistry, port: int) -> AsyncIterator[None]:
    """Serve the endpoints on this port of all addresses. Port 0 serves nothing. Raises PortError."""
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
        try:
            await web.TCPSite(runner, port=port).start()
        except OSError as error:
            raise PortError(
                f"cannot listen on port {port}: {error.strerror}; set --health-port to a free port"
            ) from error
        yield
    finally:
        await runner.cleanup()
