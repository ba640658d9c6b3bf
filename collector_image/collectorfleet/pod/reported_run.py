"""Build the reports of a run: from the fleet until the session begins, and then from the session."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection
from contextlib import suppress
from typing import Final, Protocol

from collectorfleet.errors import UserCodeError
from collectorfleet.pod.fleet_size import FleetSize
from collectorfleet.pod.objects import Object
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.pod.stored_fleet import (
    checked_fleet,
    is_stop_ordered,
    last_report,
    pods_to_drain,
)
from collectorfleet.run.reports import starting_report
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport

log = logging.getLogger(__name__)

WAIT_FOR_SESSION_SECONDS: Final = 0.1


class RunningSession(Protocol):
    """The methods of a :class:`~collectorfleet.run.session.Session` that this module calls."""

    def report(self) -> DriverReport: ...

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int: ...

    def resize(self, replicas: int, min_available: int) -> None: ...

    def drain_pods(self, pods: Collection[str]) -> None: ...


class ReportedRun:
    """The run of the driver with these ``settings``. Any thread may call the methods.

    :meth:`begin` sets the fleet, and :meth:`attach` sets the session.
    """

    def __init__(self, settings: DriverSettings) -> None:
        self._settings = settings
        self._size = FleetSize(replicas=0, min_available=1)
        self._before: DriverReport | None = None
        self._session: RunningSession | None = None
        self._attached = threading.Event()
        self._draining: frozenset[str] = frozenset()

    def begin(self, fleet: CollectorFleet) -> None:
        """Begin the reports for ``fleet``, after this driver has acquired the Lease."""
        self._size = FleetSize.of(fleet)
        self._before = last_report(fleet)

    def attach(self, session: RunningSession) -> None:
        """From now on, use the reports of ``session``."""
        self._session = session
        self._attached.set()

    def report(self) -> DriverReport:
        """Return the current report, in the form of the fleet's status."""
        session = self._session
        report = starting_report(self._size.replicas, self._before)
        if session is not None:
            report = _with_last_batch(session.report(), report)
        incarnation = ((self._before and self._before.driver_incarnation) or 0) + 1
        return report.model_copy(update={"fleet_uid": self._settings.uid, "driver_incarnation": incarnation})

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int:
        """Block until the session has more than ``seen`` changes, or until the timeout. Return the number of changes.

        Pass the returned number as ``seen`` in the next call. Without a session, block for at most 0.1 s and return 0.
        """
        session = self._session
        if session is None:
            self._attached.wait(WAIT_FOR_SESSION_SECONDS)
            return 0
        return session.wait_for_change(seen, timeout_seconds)

    def is_stop_ordered(self, stored: Object) -> bool:
        """Return whether the stored fleet has the operator's request to end this driver after its current batch."""
        return is_stop_ordered(stored, self._settings.pod)

    def follow(self, stored: Object) -> None:
        """If the stored fleet has a new size or new pods to drain, pass the new values to the session.

        Does nothing without a session. Raises FleetGone and InvalidOption like :func:`checked_fleet`.
        """
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
            "collectors.replicas is now %d (was %d), and minAvailable is now %d (was %d)",
            *(size.replicas, was.replicas),
            *(size.min_available, was.min_available),
        )
        with suppress(UserCodeError):  # the run ends with this error of the scaling policy
            session.resize(size.replicas, size.min_available)


def _with_last_batch(report: DriverReport, before: DriverReport) -> DriverReport:
    """Return ``report``. If this driver has delivered no batch, add the time of the last batch in ``before``."""
    progress, last = report.progress, before.progress.last_batch_time if before.progress else None
    if progress is None or progress.last_batch_time is not None or last is None:
        return report
    return report.model_copy(update={"progress": progress.model_copy(update={"last_batch_time": last})})
