"""The counters and histograms of the operator's process.

No label names a fleet, so the cost of the metrics does not grow with the number of fleets. Each label has a fixed set
of values, or one value for each kind of object. The module ``state`` has the gauges, which are computed at each scrape.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from enum import StrEnum
from importlib.metadata import version
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from collectorfleet_operator.edge.errors import (
    ConflictError,
    NotFoundError,
    NotServedError,
    RefusedError,
    UnavailableError,
)
from collectorfleet_operator.edge.metrics.requests import Request
from collectorfleet_operator.edge.metrics.state import PREFIX, State, families
from collectorfleet_operator.objects import Key

# A reconciliation mostly waits for a few answers of the API server. The limit for one answer is ten seconds.
_RECONCILE_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_REQUEST_SECONDS: Final = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10)

Reconcile = Callable[[Key], Awaitable[timedelta | None]]


class Outcome(StrEnum):
    """The result of a reconciliation: done, or the reason for a retry."""

    DONE = "Done"
    UNAVAILABLE = "Unavailable"
    CONFLICT = "Conflict"
    REFUSED = "Refused"
    NOT_FOUND = "NotFound"
    NOT_SERVED = "NotServed"
    CRASHED = "Crashed"  # an error of the operator itself


_OUTCOMES: Final = {
    UnavailableError: Outcome.UNAVAILABLE,
    ConflictError: Outcome.CONFLICT,
    RefusedError: Outcome.REFUSED,
    NotFoundError: Outcome.NOT_FOUND,
    NotServedError: Outcome.NOT_SERVED,
}


def outcome_of(error: Exception) -> Outcome:
    found = (outcome for type_, outcome in _OUTCOMES.items() if isinstance(error, type_))
    return next(found, Outcome.CRASHED)


class Instruments(Collector):
    """The registry with the metrics of one process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        # Otherwise a creation time for each series would double the number of series.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._state: Callable[[], State] | None = None
        self._clock = clock
        self._reconciles = Counter(
            f"{PREFIX}reconciles", "Reconciliations of a fleet, by outcome.", ["outcome"], registry=self.registry
        )
        self._reconcile_seconds = Histogram(
            f"{PREFIX}reconcile_duration_seconds",
            "Duration of a reconciliation, with any outcome.",
            buckets=_RECONCILE_SECONDS,
            registry=self.registry,
        )
        self._requests = Counter(
            f"{PREFIX}api_requests",
            "Requests to the API server, by HTTP status or NoAnswer. A watch counts each time the operator opens it.",
            ["verb", "resource", "code"],
            registry=self.registry,
        )
        self._request_seconds = Histogram(
            f"{PREFIX}api_request_duration_seconds",
            "Time until the API server began its answer, without watches.",
            ["verb", "resource"],
            buckets=_REQUEST_SECONDS,
            registry=self.registry,
        )
        Info(f"{PREFIX}build", "The release of the operator.", registry=self.registry).info(
            {"version": version("collectorfleet")}
        )
        ProcessCollector(registry=self.registry)
        self.registry.register(self)
        for outcome in Outcome:
            # Start each series at 0. Without a value before the first error, a rate does not show this error.
            self._reconciles.labels(outcome.value)

    def describe(self) -> list[Metric]:
        return []  # if this list is empty, the registration does not call collect()

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            f"{PREFIX}leading",
            "1 while this operator serves fleets, 0 while it starts or waits as a standby.",
            value=self._state is not None,
        )
        if self._state is not None:
            yield from families(self._state())

    def begin_serving(self, state: Callable[[], State]) -> None:
        """Export the state of the fleets at each scrape, until :meth:`end_serving`."""
        self._state = state

    def end_serving(self) -> None:
        self._state = None

    def requested(self, request: Request, code: str, seconds: float) -> None:
        """Count a request. ``code`` is its HTTP status or NoAnswer."""
        self._requests.labels(request.verb, request.resource, code).inc()
        if request.verb != "watch":
            self._request_seconds.labels(request.verb, request.resource).observe(seconds)

    def timed(self, reconcile: Reconcile) -> Reconcile:
        """Return ``reconcile`` with a count and a timer around it."""

        async def run(key: Key) -> timedelta | None:
            began = self._clock()
            outcome = Outcome.DONE
            try:
                return await reconcile(key)
            except Exception as error:
                outcome = outcome_of(error)
                raise
            finally:
                self._reconciles.labels(outcome.value).inc()
                self._reconcile_seconds.observe(self._clock() - began)

        return run
