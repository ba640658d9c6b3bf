"""A run as its reports tell it: first what is known of it at its start, then what its session says."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection
from typing import Final, Protocol

from collectorfleet.pod.fleet_size import FleetSize
from collectorfleet.pod.objects import Object
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.pod.stored_fleet import (
    checked_fleet,
    is_told_to_stop,
    last_report,
    pods_to_drain,
)
from collectorfleet.run.reports import starting_report
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport

log = logging.getLogger(__name__)

WAIT_FOR_SESSION_SECONDS: Final = 0.1


class RunningSession(Protocol):
    """What a report needs of a :class:`~collectorfleet.run.session.Session`."""

    def report(self) -> DriverReport: ...

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int: ...

    def resize(self, replicas: int, min_available: int) -> None: ...

    def drain_pods(self, pods: Collection[str]) -> None: ...


class ReportedRun:
    """Of the driver with those ``settings``. Any thread may ask; the fleet and the session come once they exist."""

    def __init__(self, settings: DriverSettings) -> None:
        self._settings = settings
        self._size = FleetSize(replicas=0, min_available=1)
        self._before: DriverReport | None = None
        self._session: RunningSession | None = None
        self._attached = threading.Event()
        self._draining: frozenset[str] = frozenset()

    def begin(self, fleet: CollectorFleet) -> None:
        """The fleet is read, and this driver's."""
        self._size = FleetSize.of(fleet)
        self._before = last_report(fleet)

    def attach(self, session: RunningSession) -> None:
        """What ``session`` says is true from now on."""
        self._session = session
        self._attached.set()

    def report(self) -> DriverReport:
        """What is true now, as the status has it."""
        session = self._session
        report = starting_report(self._size.replicas, self._before)
        if session is not None:
            report = _with_last_batch(session.report(), report)
        incarnation = ((self._before and self._before.driver_incarnation) or 0) + 1
        return report.model_copy(update={"fleet_uid": self._settings.uid, "driver_incarnation": incarnation})

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int:
        """Block until something turned, or for so long; returns the number of changes so far, to be ``seen`` next."""
        session = self._session
        if session is None:
            self._attached.wait(WAIT_FOR_SESSION_SECONDS)
            return 0
        return session.wait_for_change(seen, timeout_seconds)

    def is_told_to_stop(self, stored: Object) -> bool:
        """Whether the operator asks this driver, in the stored fleet, to end where its batch ends."""
        return is_told_to_stop(stored, self._settings.pod)

    def follow(self, stored: Object) -> None:
        """Tell the session how many collectors the stored fleet wants, and on which pods not, if that is news."""
        if self._session is None:
            return
        self._follow_size(stored, self._session)
        draining = pods_to_drain(stored, self._settings.pod)
        if draining != self._draining:
            self._draining = draining
            log.info("pods to drain: %s", ", ".join(sorted(draining)) or "none")
            self._session.drain_pods(draining)

    def _follow_size(self, stored: Object, session: RunningSession) -> None:
        size = FleetSize.of(checked_fleet(stored, self._settings))
        if size == self._size:
            return
        was, self._size = self._size, size
        log.info(
            "collectors.replicas and minAvailable are now %d and %d; they were %d and %d",
            *(size.replicas, size.min_available),
            *(was.replicas, was.min_available),
        )
        session.resize(size.replicas, size.min_available)


def _with_last_batch(report: DriverReport, before: DriverReport) -> DriverReport:
    """``report``, with the time of the last batch ``before`` where it has none: its counters go on from there, too."""
    progress, last = report.progress, before.progress.last_batch_time if before.progress else None
    if progress is None or progress.last_batch_time is not None or last is None:
        return report
    return report.model_copy(update={"progress": progress.model_copy(update={"last_batch_time": last})})
