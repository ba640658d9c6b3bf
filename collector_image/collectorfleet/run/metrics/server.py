"""Serve the driver's metrics at ``/metrics``. In a driver pod, a failure to listen is logged, and the run continues."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from collectorfleet.errors import InvalidOption
from collectorfleet_api.v1alpha1 import DriverReport

log = logging.getLogger(__name__)

# Listen on IPv6 and IPv4. In some clusters pods have only IPv6 addresses, in other clusters only IPv4 addresses.
EVERYWHERE: Final = ("::", "0.0.0.0")  # noqa: S104  (Prometheus reads the port from outside the pod)
THIS_MACHINE: Final = ("127.0.0.1",)


@contextmanager
def serve_metrics(
    fleet: str, report: Callable[[], DriverReport], port: int, addresses: tuple[str, ...]
) -> Iterator[None]:
    """Serve metrics at ``port`` inside the ``with`` block. Each scrape calls ``report``.

    Raises InvalidOption if the server can listen on none of the addresses.
    """
    # Import this here, so that a driver pod imports it in parallel with slower imports.
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
        raise InvalidOption(f"metrics port {port}: {refused}; choose another port") from refused
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class BackgroundMetrics:
    """Serve a driver pod's metrics from a thread. The run does not wait for the server or for a free port."""

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
            log.warning("metrics are not served: %s", error)
