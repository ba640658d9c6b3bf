"""The driver's line to the API server: a thread of its own that reads the fleet, holds the Lease and writes reports.

It never ends a run because the API server is away: it says so once, keeps trying, and the status is true again
afterwards. It asks the run to stop when this driver is no longer the fleet's.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import Future
from typing import Final, Protocol, TypeVar

from kubernetes.aio.client import ApiException

from collectorfleet.errors import CollectorFleetError
from collectorfleet.pod.kubernetes_api import FleetApi, Object, connect, error_text
from collectorfleet.pod.lease_loop import LeaseLoop
from collectorfleet.pod.outage import TRANSIENT, Trouble, is_status
from collectorfleet.pod.report_schedule import EVERY_SECONDS, Written, due
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.pod.stored_fleet import checked, last_report, replaced, starting
from collectorfleet.pod.undeclared import Path, undeclared_fields, without
from collectorfleet.run.exit import FleetGone
from collectorfleet.run.stop import StopNow, StopReason, StopRequest
from collectorfleet_api.names import EXIT_INFRASTRUCTURE
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0
# Between two looks at the session: of a thousand collectors that join, each is a change, and a report is milliseconds.
LOOK_SECONDS: Final = 0.1
LAST_REPORT_SECONDS: Final = 10.0

T = TypeVar("T")


class Reported(Protocol):
    """What is reported: a running :class:`~collectorfleet.run.session.Session`."""

    def report(self) -> DriverReport: ...

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int: ...

    def resize(self, replicas: int, min_available: int) -> None: ...


class Reporter:
    """Use as a context manager; leaving it writes the last report, within 10 s, and gives up the Lease."""

    def __init__(self, settings: DriverSettings, stop: StopRequest) -> None:
        self._settings = settings
        self._stop = stop
        self._fleet: Future[CollectorFleet] = Future()
        self._lease = LeaseLoop(settings.pod, self._lost)
        self._session: Reported | None = None
        self._wanted = (0, 1)  # collectors.replicas, minAvailable
        self._before: DriverReport | None = None
        self._written: Written | None = None
        self._undeclared: set[Path] = set()
        self._trouble = Trouble("cannot write the status")
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reporter", daemon=True)

    def __enter__(self) -> Reporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join(LAST_REPORT_SECONDS + 2 * RETRY_SECONDS)

    def fleet(self) -> CollectorFleet:
        """The fleet to drive. Blocks until the API server answers and the Lease is this driver's.

        Raises FleetGone, InvalidOption, or StopNow if the run is to end before it began.
        """
        return self._wait(self._fleet)

    def follow(self, session: Reported) -> None:
        """Report what ``session`` says from now on, and tell it how many collectors the fleet wants."""
        self._session = session

    def report(self) -> DriverReport:
        """What is true now, as the status has it. Any thread may ask."""
        session = self._session
        report = session.report() if session else starting(self._wanted[0], self._before)
        incarnation = ((self._before and self._before.driver_incarnation) or 0) + 1
        return report.model_copy(update={"fleet_uid": self._settings.uid, "driver_incarnation": incarnation})

    def _wait(self, future: Future[T]) -> T:
        while True:
            try:
                return future.result(timeout=0.2)
            except TimeoutError:
                if self._stop.requested():
                    raise StopNow from None

    # Everything below runs in the reporter's thread.

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except Exception as error:  # the thread's last words; without them the driver would wait for ever
            log.exception("the reporter ended")
            if not self._fleet.done():
                self._fleet.set_exception(error)

    async def _main(self) -> None:
        async with connect(self._settings) as api:
            if await self._read_fleet(api) is None:
                return
            lease = asyncio.create_task(self._lease.run(api))
            try:
                await self._hold_lease()
                # Anew: until the Lease was ours, the driver before this one may have reported.
                fleet = await self._read_fleet(api)
                if fleet is None:
                    return
                self._wanted = (fleet.spec.collectors.replicas, fleet.spec.collectors.min_available)
                self._before = last_report(fleet)
                self._fleet.set_result(fleet)
                await self._report(api)
            finally:
                lease.cancel()
                await self._lease.release(api)

    async def _hold_lease(self) -> None:
        held = asyncio.wrap_future(self._lease.held)
        while not (held.done() or self._closing.is_set()):
            await asyncio.wait([held], timeout=RETRY_SECONDS / 2)

    async def _read_fleet(self, api: FleetApi) -> CollectorFleet | None:
        """None if there is nothing to drive, which those who wait for the fleet are told, or if the run is over."""
        trouble = Trouble("cannot read the fleet")
        while not self._closing.is_set():
            try:
                fleet = checked(await api.fleet(), self._settings)
            except CollectorFleetError as error:
                self._fleet.set_exception(error)
                return None
            except TRANSIENT as error:
                if is_status(error, 404):
                    self._fleet.set_exception(FleetGone(f"{self._settings.fleet} does not exist"))
                    return None
                trouble.note(error)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            trouble.over()
            return fleet
        return None

    async def _report(self, api: FleetApi) -> None:
        changes, wait_until = 0, 0.0
        while not self._closing.is_set():
            looked = time.monotonic()
            try:
                if looked >= wait_until and not await self._write_if_due(api):
                    wait_until = time.monotonic() + RETRY_SECONDS
                changes = await asyncio.to_thread(self._wait_for_change, changes)
                await asyncio.sleep(looked + LOOK_SECONDS - time.monotonic())
            except Exception:
                # A bug here must not cost a run that may have taken days.
                log.exception("reporting goes on after an error")
                await asyncio.sleep(RETRY_SECONDS)
        await self._write_last(api)

    async def _write_if_due(self, api: FleetApi) -> bool:
        """False if the API server did not take a report that was due."""
        report = self.report()
        if not self._lease.is_held or not due(report, self._written, time.monotonic()):
            return True
        return await self._write(api, report)

    def _wait_for_change(self, seen: int) -> int:
        """Block until something turned, or it is time to look again: the end of the run has to be noticed as well."""
        session = self._session
        if session is None:
            self._closing.wait(0.1)
            return 0
        return session.wait_for_change(seen, EVERY_SECONDS / 4)

    async def _write_last(self, api: FleetApi) -> None:
        give_up = time.monotonic() + LAST_REPORT_SECONDS
        report = self.report()
        while self._lease.is_held and time.monotonic() < give_up:
            if (self._written and self._written.report == report) or await self._write(api, report):
                return
            await asyncio.sleep(RETRY_SECONDS / 2)

    async def _write(self, api: FleetApi, report: DriverReport) -> bool:
        try:
            answer = await api.apply_status(without(report.to_wire(), self._undeclared))
        except TRANSIENT as error:
            if self._learned_from(error):
                return await self._write(api, report)
            if is_status(error, 404):
                self._stop.request(StopReason(f"{self._settings.fleet} was deleted", EXIT_INFRASTRUCTURE))
            self._trouble.note(error)
            return False
        self._trouble.over()
        self._written = Written(report, time.monotonic())
        self._take_note(answer)
        return True

    def _learned_from(self, error: BaseException) -> bool:
        """Whether a refused report can go out again, without fields that the installed CRD does not know."""
        if not isinstance(error, ApiException) or error.status != 500:
            return False
        new = set(undeclared_fields(error_text(error))) - self._undeclared
        if new:
            fields = ", ".join("status." + ".".join(path) for path in sorted(new))
            log.warning("the installed CRD does not know %s: reports go without; update the CRD", fields)
        self._undeclared |= new
        return bool(new)

    def _take_note(self, answer: Object) -> None:
        """The answer to a write is the fleet as it is now, spec included."""
        if answer["metadata"]["uid"] != self._settings.uid:
            self._stop.request(StopReason(replaced(answer, self._settings), EXIT_INFRASTRUCTURE))
            return
        collectors = answer["spec"].get("collectors", {})
        wanted = collectors.get("replicas", 1), collectors.get("minAvailable", 1)
        if self._session and wanted != self._wanted:
            log.info("collectors.replicas, minAvailable are %d, %d, were %d, %d", *wanted, *self._wanted)
            self._wanted = wanted
            self._session.resize(*wanted)

    def _lost(self, holder: str) -> None:
        self._stop.request(StopReason(f"driver {holder} has taken over {self._settings.fleet}", EXIT_INFRASTRUCTURE))
