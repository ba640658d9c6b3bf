"""Connect the driver to the API server, in the reporter's thread.

The thread reads the fleet, acquires and renews the Lease, and writes reports and the timeline. If the API server does
not answer, the thread logs a warning and retries, and the run continues. The thread requests the end of the run in
five cases:

* The operator requests the end.
* Another driver takes over.
* The fleet is deleted or replaced.
* The API server no longer accepts the driver's token.
* An unexpected error ends the renewal of the Lease, or the thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Final

from collectorfleet.errors import describe
from collectorfleet.pod.access import Access
from collectorfleet.pod.fleet_reader import read_fleet
from collectorfleet.pod.kubernetes_api import FleetApi, connect
from collectorfleet.pod.lease_loop import LeaseLoop
from collectorfleet.pod.report_loop import LAST_REPORT_SECONDS, ReportLoop
from collectorfleet.pod.reported_run import ReportedRun, RunningSession
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.pod.status_writer import StatusWriter
from collectorfleet.pod.timeline_loop import TimelineLoop, read_timeline
from collectorfleet.run.endings import EndReason
from collectorfleet.run.stop import StopReason, StopRequest
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport

log = logging.getLogger(__name__)

JOIN_SECONDS: Final = LAST_REPORT_SECONDS + 2
# Seconds until a waiting thread notices the end of the run.
NOTICE_SECONDS: Final = 0.2
# A cancelled renewal ends at once, unless a library loses the cancellation.
_CANCEL_SECONDS: Final = 1.0


class Reporter:
    """The driver's connection to the API server. Use it as a context manager.

    The exit blocks for at most 12 s. Meanwhile, the thread writes the last report and releases the Lease.
    """

    def __init__(self, settings: DriverSettings, stop: StopRequest) -> None:
        self._settings = settings
        self._stop = stop
        self._run = ReportedRun(settings)
        self._fleet: Future[CollectorFleet] = Future()
        self._timeline = TimelineLoop()
        self._timeline_before: Timeline | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run_thread, name="reporter", daemon=True)

    def __enter__(self) -> Reporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join(JOIN_SECONDS)

    def fleet(self) -> CollectorFleet:
        """Return the fleet of this driver. Blocks until the API server answers and this driver has the Lease.

        Raises FleetGone if the fleet was deleted or replaced, and InvalidOption if its spec is invalid. Raises StopNow
        after a request to stop. An unexpected error in the thread is also raised here.
        """
        # result(timeout) cannot be used here. It raises TimeoutError if the time has passed, and also if the thread
        # itself ended with TimeoutError.
        while not wait([self._fleet], NOTICE_SECONDS).done:
            self._stop.raise_if_requested()
        return self._fleet.result()

    def attach(self, session: RunningSession) -> None:
        """Report the state of ``session`` from now on, and pass changes of the fleet's size to it."""
        self._run.attach(session)

    def report(self) -> DriverReport:
        """Return the current report, in the form of the fleet's status. Any thread may call it."""
        return self._run.report()

    @property
    def timeline_before(self) -> Timeline | None:
        """The timeline of earlier drivers, or None. It is set when :meth:`fleet` returns."""
        return self._timeline_before

    def keep_timeline(self, timeline: Timeline) -> None:
        """Write ``timeline`` to the API server soon. Returns at once. Any thread may call it."""
        self._timeline.offer(timeline)

    # Everything below runs in the reporter's thread.

    def _run_thread(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:  # noqa: BLE001  (without the error, fleet() would block forever)
            self._pass_on(error)

    async def _main(self) -> None:
        async with connect(self._settings, Access(self._refused)) as api:
            # Read the fleet before the Lease, so that a replaced or invalid fleet is an error at once, without a wait.
            if await read_fleet(api, self._settings, self._closing) is None:
                return
            lease = LeaseLoop(api, self._settings.pod, self._taken_over)
            renewing = asyncio.create_task(self._renew(lease))
            try:
                await self._drive(api, lease)
            finally:
                renewing.cancel()
                # Wait until the loop has ended. Otherwise a renewal could overtake the release.
                _, pending = await asyncio.wait([renewing], timeout=_CANCEL_SECONDS)
                if pending:
                    log.warning(
                        "the renewal of the Lease did not end within %g s; the Lease expires on its own",
                        _CANCEL_SECONDS,
                    )
                # After an error here, the run may still work on its last batch. The Lease then expires on its own.
                elif self._closing.is_set() or not self._fleet.done():
                    await lease.release()

    async def _renew(self, lease: LeaseLoop) -> None:
        """Run the loop of the Lease. If it ends by an error, end the run as if another driver had taken over."""
        try:
            await lease.run()
        except BaseException as error:
            # If nobody cancelled this task, a CancelledError is an unexpected error.
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            lease.is_held = False
            log.exception("the renewal of the Lease ended")
            text = f"the renewal of the Lease ended: {describe(error)}"
            self._stop.request(StopReason(EndReason.TAKEN_OVER, text))

    async def _drive(self, api: FleetApi, lease: LeaseLoop) -> None:
        await self._acquire(lease)
        # Read the fleet again. The previous driver may have reported until this driver acquired the Lease.
        fleet = await read_fleet(api, self._settings, self._closing)
        if fleet is None:
            return
        self._timeline_before = await read_timeline(api, self._settings, self._closing)
        self._run.begin(fleet)
        self._fleet.set_result(fleet)
        writer = StatusWriter(api, self._settings)
        reports = ReportLoop(self._run, writer, lease, self._stop)
        await asyncio.gather(reports.run(self._closing), self._timeline.run(api, lease, self._closing))

    async def _acquire(self, lease: LeaseLoop) -> None:
        while not (lease.acquired.is_set() or self._closing.is_set()):
            with suppress(TimeoutError):
                await asyncio.wait_for(lease.acquired.wait(), NOTICE_SECONDS)

    def _taken_over(self, holder: str) -> None:
        self._stop.request(StopReason(EndReason.TAKEN_OVER, f"driver {holder} has taken over {self._settings.fleet}"))

    def _refused(self) -> None:
        text = "the API server no longer accepts this driver's token: its pod or its ServiceAccount was deleted"
        self._stop.request(StopReason(EndReason.ACCESS_REFUSED, text))

    def _pass_on(self, error: BaseException) -> None:
        """Report the error that ended the thread: :meth:`fleet` raises the error, or a request stops the run."""
        if not self._fleet.done():
            self._fleet.set_exception(error)
            return
        log.error("the reporter ended", exc_info=error)
        if not self._closing.is_set():
            text = f"the driver's connection to the API server ended: {describe(error)}"
            self._stop.request(StopReason(EndReason.TAKEN_OVER, text))


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
