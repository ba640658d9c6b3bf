"""Acquire and renew a fleet's Lease, as :mod:`collectorfleet.pod.lease` decides.

The loop is a task of the reporter's thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from kubernetes.aio.client import ApiException

from collectorfleet.pod.kubernetes_api import FleetApi, error_text
from collectorfleet.pod.lease import RENEW_SECONDS, Acquire, Candidate, Renew, TakenOver, Wait
from collectorfleet.pod.objects import Object
from collectorfleet.pod.outage import Outage, is_status

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0


class LeaseLoop:
    """The loop that acquires and renews the Lease for the driver in the pod ``me``.

    The loop calls ``taken_over(holder)`` if another driver takes the Lease. :attr:`is_held` stays True while the API
    server does not answer, or gives answers that cannot be used.
    """

    def __init__(self, api: FleetApi, me: str, taken_over: Callable[[str], None]) -> None:
        self.acquired = asyncio.Event()  # set when this driver gets the Lease
        self.is_held = False
        self._api = api
        self._candidate = Candidate(me)
        self._taken_over = taken_over
        self._lease: Object | None = None  # the API server's last answer; None: read the Lease again
        self._may_hold = False  # a request to acquire the Lease has no answer yet
        self._waiting_for = ""
        self._outage = Outage("renew the Lease")

    async def run(self) -> None:
        """Acquire the Lease and renew it every 5 s, until the task is cancelled or another driver takes over."""
        while True:
            try:
                wait_seconds = await self._step()
            except Exception as error:  # noqa: BLE001  (an odd answer is like a failed request)
                self._lease = None
                # A conflict means that the Lease changed after it was read. Read it again without a warning.
                if not is_status(error, 409):
                    self._outage.note(error)
                wait_seconds = LOOK_SECONDS
            if wait_seconds is None:
                return
            await asyncio.sleep(wait_seconds)

    async def release(self) -> None:
        """Release the Lease, so that the next driver does not have to wait. Call it after the end of :meth:`run`.

        Does nothing if this driver cannot hold the Lease. Raises nothing.
        """
        if not self.is_held and not self._may_hold:
            return
        self.is_held = self._may_hold = False
        try:
            await self._release()
        except Exception as error:  # noqa: BLE001  (the run has ended, and must not fail now)
            log.info("the Lease was not released; it expires on its own: %s", error_text(error))

    async def _release(self) -> None:
        if self._lease is not None:
            try:
                await self._api.patch_lease(self._candidate.release_patch(self._lease))
            except ApiException as error:
                if not is_status(error, 409):
                    raise
            else:
                return
        # The API server may have stored the last renewal, although this driver did not get the answer.
        lease = await self._api.lease()
        if self._candidate.is_holder(lease):
            await self._api.patch_lease(self._candidate.release_patch(lease))

    async def _step(self) -> float | None:
        """Do the next step. Return the seconds until the next step, or None if another driver has the Lease."""
        lease = self._lease or await self._api.lease()
        now = datetime.now(UTC)
        match self._candidate.decide(lease, time.monotonic()):
            case Acquire():
                # If this task is cancelled before the answer, the release patches the same version. Then the API server
                # refuses one of the two requests.
                self._lease, self._may_hold = lease, True
                await self._hold(self._candidate.acquire_patch(lease, now))
            case Renew():
                await self._hold(self._candidate.renew_patch(lease, now))
            case Wait(holder):
                self._say_waiting(holder)
                return LOOK_SECONDS
            case TakenOver(holder):
                self.is_held = self._may_hold = False
                self._taken_over(holder)
                return None
        return RENEW_SECONDS

    async def _hold(self, patch: Object) -> None:
        self._lease = await self._api.patch_lease(patch)
        self._outage.over()
        self.is_held, self._may_hold = True, False
        self.acquired.set()

    def _say_waiting(self, holder: str) -> None:
        if holder != self._waiting_for:
            log.info("waiting until driver %s, which holds the Lease, stops renewing it", holder)
        self._waiting_for = holder
