"""Run the operator's process: one session after another, until a signal to stop arrives."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine
from typing import Any

from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import KubeError
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.health import Health, served
from collectorfleet_operator.edge.leadership import Leadership
from collectorfleet_operator.edge.metrics.instruments import Instruments
from collectorfleet_operator.edge.metrics.requests import tracing
from collectorfleet_operator.edge.process import Process, stop_on_signals
from collectorfleet_operator.edge.server_clock import ServerClock
from collectorfleet_operator.edge.session import Session
from collectorfleet_operator.edge.settings import Settings
from collectorfleet_operator.edge.task_end import AGAIN_SECONDS, END_SECONDS, end_all
from collectorfleet_operator.edge.ticks import RETRY_SECONDS

log = logging.getLogger(__name__)


async def run(settings: Settings) -> None:
    """Serve fleets until SIGTERM or SIGINT.

    If ``settings`` names a Lease, serve only while this process holds the Lease. Raises TasksHang if the process
    must exit, because a task ignores its cancellation.
    """
    stop = asyncio.Event()
    freshness, instruments = Freshness(time.monotonic), Instruments()
    health = Health(time.monotonic, freshness)
    trace = tracing(instruments.requested)
    where = ", ".join(settings.namespaces) or "all namespaces"
    log.info("serving %s of %s", FLEET.full_name, where)
    stop_on_signals(stop)
    clock = ServerClock()
    async with Kube.connect(trace, clock.trace()) as kube, served(health, instruments.registry, settings.health_port):
        if settings.lease is None:
            await serve(Process(settings, kube, trace, health, freshness, instruments, stop, clock.now))
        else:
            leadership = Leadership(kube, settings.lease, health)
            fenced = kube.only_while(leadership.holds)
            process = Process(settings, fenced, trace, health, freshness, instruments, stop, clock.now)
            try:
                while await leadership.take(stop):
                    await _until_first(serve(process), leadership.keep())
                    stop_on_signals(stop)
            finally:
                await leadership.release()
    log.info("stopped")


async def serve(process: Process) -> None:
    """Run one session after another until ``process.stop`` is set. Log errors, and retry after them.

    Raises TasksHang.
    """
    stop = process.stop
    while not stop.is_set():
        stop_on_signals(stop)
        try:
            await Session(process).run()
        except KubeError as error:
            log.warning("%s; trying again in %g s", error, RETRY_SECONDS)
        except Exception:
            log.exception("starting over in %g s", RETRY_SECONDS)
        else:
            continue
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), RETRY_SECONDS)


async def _until_first(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run the coroutines concurrently until one returns or raises, and cancel the others. Raises TasksHang."""
    tasks = [asyncio.create_task(one, name=getattr(one, "__qualname__", None)) for one in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # This time is longer than a session needs to end its own tasks.
        await end_all(tasks, END_SECONDS + 2 * AGAIN_SECONDS)
    for task in done:
        task.result()
