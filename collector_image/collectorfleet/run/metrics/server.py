"""Serves the driver's metrics on ``/metrics``. They never cost a run: who cannot listen says so and goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from collectorfleet.errors import InvalidOption
from collectorfleet_api.v1alpha1 import DriverReport

log = logging.getLogger(__name__)

# Of either family: pods of some clusters have IPv6 addresses only, others none.
EVERYWHERE: Final = ("::", "0.0.0.0")  # noqa: S104  (a pod's port is there to be read from outside)
THIS_MACHINE: Final = ("127.0.0.1",)


@contextmanager
def serve_metrics(
    fleet: str, report: Callable[[], DriverReport], port: int, addresses: tuple[str, ...]
) -> Iterator[None]:
    """Serve metrics at ``port`` inside the ``with`` block. Each scrape calls ``report``.

    Raises InvalidOption if the server can listen on none of the addresses.
    """
    # Here and not above: a driver pod imports it beside what takes longer.
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import start_wsgi_server

    from collectorfleet.run.metrics.families import ReportCollector

    registry = CollectorRegistry()
    registry.register(ReportCollector(fleet, report))
    for address in addresses:
        try:
            server, thread = start_wsgi_server(port, address, registry)
            break
        except OSError as error:
            refused = error
    else:
        raise InvalidOption(f"metrics port {port}: {refused}; choose another") from refused
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class BackgroundMetrics:
    """Serve metrics of a driver pod from a thread. Neither the start nor a port in use delays the run."""

    def __init__(self, fleet: str, report: Callable[[], DriverReport], port: int) -> None:
        self._served = fleet, report, port, EVERYWHERE
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def __enter__(self) -> BackgroundMetrics:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def _run(self) -> None:
        try:
            with serve_metrics(*self._served):
                self._ended.wait()
        except InvalidOption as error:
            log.warning("no metrics: %s", error)
