"""Holds a fleet's Lease: carries out what :mod:`collectorfleet.pod.lease` decides, every few seconds.

A task of the reporter's thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from collectorfleet.pod.kubernetes_api import FleetApi
from collectorfleet.pod.lease import RENEW_SECONDS, Acquire, Candidate, Renew, TakenOver, Wait
from collectorfleet.pod.objects import Object
from collectorfleet.pod.outage import TRANSIENT, Outage, is_status

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0


class LeaseLoop:
    """The Lease of one driver, whose pod is ``me``. ``taken_over(holder)`` is called when another driver has it."""

    def __init__(self, api: FleetApi, me: str, taken_over: Callable[[str], None]) -> None:
        self.acquired = asyncio.Event()  # set once it is ours
        self.is_held = False
        self._api = api
        self._candidate = Candidate(me)
        self._taken_over = taken_over
        self._lease: Object | None = None  # as the API server last answered; None: read it anew
        self._waiting_for = ""
        self._outage = Outage("cannot renew the Lease")

    async def run(self) -> None:
        """Acquire and renew until cancelled or taken over."""
        while True:
            try:
                wait_seconds = await self._step()
            except TRANSIENT as error:
                self._lease = None
                # A conflict is another's write between our read and ours: look again.
                if not is_status(error, 409):
                    self._outage.note(error)
                wait_seconds = LOOK_SECONDS
            if wait_seconds is None:
                return
            await asyncio.sleep(wait_seconds)

    async def release(self) -> None:
        """Give it up after the end, so that a next driver need not wait. One try."""
        if self.is_held and self._lease is not None:
            self.is_held = False
            try:
                await self._api.patch_lease(self._candidate.release_patch(self._lease))
            except TRANSIENT as error:
                log.info("the Lease was not released; it expires on its own: %s", error)

    async def _step(self) -> float | None:
        """One look; returns how long to wait for the next, None if the Lease is another's now."""
        lease = self._lease or await self._api.lease()
        now = datetime.now(UTC)
        match self._candidate.decide(lease, time.monotonic()):
            case Acquire():
                await self._hold(self._candidate.acquire_patch(lease, now))
            case Renew():
                await self._hold(self._candidate.renew_patch(lease, now))
            case Wait(holder):
                self._say_waiting(holder)
                return LOOK_SECONDS
            case TakenOver(holder):
                self.is_held = False
                self._taken_over(holder)
                return None
        return RENEW_SECONDS

    async def _hold(self, patch: Object) -> None:
        self._lease = await self._api.patch_lease(patch)
        self._outage.over()
        self.is_held = True
        self.acquired.set()

    def _say_waiting(self, holder: str) -> None:
        if holder != self._waiting_for:
            log.info("waiting until driver %s, which holds the Lease, stops renewing it", holder)
        self._waiting_for = holder
