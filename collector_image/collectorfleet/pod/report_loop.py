"""Write the reports of a run to the fleet's status when they are due. The loop is a task of the reporter's thread."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Final

from collectorfleet.errors import describe
from collectorfleet.pod.lease_loop import LeaseLoop
from collectorfleet.pod.outage import Outage
from collectorfleet.pod.report_schedule import EVERY_SECONDS
from collectorfleet.pod.reported_run import ReportedRun
from collectorfleet.pod.status_writer import StatusWriter
from collectorfleet.run.endings import EndReason
from collectorfleet.run.exit import FleetGone
from collectorfleet.run.reports import final_report
from collectorfleet.run.stop import StopReason, StopRequest
from collectorfleet_api.v1alpha1 import DriverReport

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0
# The shortest time between two reports that are built. If a thousand collectors join, there are a thousand changes.
# Building a report takes milliseconds.
LOOK_SECONDS: Final = 0.1
LAST_REPORT_SECONDS: Final = 10.0
_ORDERED: Final = StopReason(EndReason.ORDERED, "the operator asked the driver to end after its batch")


class ReportLoop:
    """The loop that writes reports while this driver holds the Lease.

    The loop stops the run through ``stop`` if the fleet was deleted or replaced, or if the operator requests it.
    """

    def __init__(self, run: ReportedRun, writer: StatusWriter, lease: LeaseLoop, stop: StopRequest) -> None:
        self._run = run
        self._writer = writer
        self._lease = lease
        self._stop = stop
        self._is_gone = False  # the fleet was deleted or replaced

    async def run(self, closing: threading.Event) -> None:
        """Report until ``closing`` is set. Then write the last report, with retries for 10 s."""
        changes, wait_until, logged = 0, 0.0, ""
        while not closing.is_set():
            looked = time.monotonic()
            try:
                if looked >= wait_until and not await self._write_if_due():
                    wait_until = time.monotonic() + RETRY_SECONDS
                # The wait is short, so that the loop notices ``closing`` soon.
                changes = await asyncio.to_thread(self._run.wait_for_change, changes, EVERY_SECONDS / 4)
                await asyncio.sleep(looked + LOOK_SECONDS - time.monotonic())
            except Exception as error:
                # A bug in reporting must not end a run that may have taken days. The bug must not fill the run's log.
                if describe(error) != logged:
                    log.exception("reporting continues after an error")
                logged = describe(error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                logged = ""
        await self._write_last()

    async def _write_if_due(self) -> bool:
        """Write the current report if it is due. Return False if the API server did not accept it."""
        report = self._run.report()
        if self._is_gone or not self._lease.is_held or not self._writer.due(report):
            return True
        return await self._write(report)

    async def _write_last(self) -> None:
        give_up = time.monotonic() + LAST_REPORT_SECONDS
        outage = Outage("write the last report")
        while self._lease.is_held and not self._is_gone and time.monotonic() < give_up:
            try:
                report = final_report(self._run.report())
                if self._writer.has_written(report) or await self._write(report):
                    return
            except Exception as error:  # noqa: BLE001  (the reporter still has to write the timeline, and to end)
                outage.note(error)
            await asyncio.sleep(RETRY_SECONDS / 2)

    async def _write(self, report: DriverReport) -> bool:
        try:
            stored = await self._writer.write(report)
            if stored is None:
                return False
            # The answer to a write contains the current spec, so the driver needs no watch to follow the fleet's size.
            self._run.follow(stored)
        except FleetGone as gone:
            self._is_gone = True
            self._stop.request(StopReason(EndReason.FLEET_GONE, str(gone)))
            return False
        if self._run.is_stop_ordered(stored):
            self._stop.request(_ORDERED)
        return True
