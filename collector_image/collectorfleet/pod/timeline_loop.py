"""Write the timeline of a run to the fleet's ConfigMap, and read the timeline of earlier drivers.

The loop is a task of the reporter's thread.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import threading
import time
from typing import Final

from collectorfleet.pod.kubernetes_api import FleetApi
from collectorfleet.pod.lease_loop import LeaseLoop
from collectorfleet.pod.objects import Object
from collectorfleet.pod.outage import TRANSIENT, Outage, is_status
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.timeline.packed import pack, unpack
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api import names

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 5.0
LAST_SECONDS: Final = 5.0
# The operator has not created the ConfigMap, or an older operator does not grant access to it. A retry does not help.
_NO_TIMELINE_STATUSES: Final = (403, 404)


async def read_timeline(api: FleetApi, settings: DriverSettings, closing: threading.Event) -> Timeline | None:
    """Return the timeline of the previous driver, or None if this fleet has no readable timeline.

    Retries every 5 s while the API server does not answer. Return None also if ``closing`` is set first. Raise nothing.
    """
    outage = Outage("read the timeline")
    while not closing.is_set():
        try:
            stored = await api.timeline()
            outage.over()
            return _timeline_in(stored, settings)
        except TRANSIENT as error:
            if any(is_status(error, status) for status in _NO_TIMELINE_STATUSES):
                return None
            outage.note(error)
            await asyncio.sleep(RETRY_SECONDS)
        except ValueError as error:
            log.warning("a new timeline begins, because the previous one cannot be read: %s", error)
            return None
        except Exception:  # a run does not fail because of its timeline
            log.warning("a new timeline begins, because the previous one cannot be read", exc_info=True)
            return None
    return None


def _timeline_in(stored: Object, settings: DriverSettings) -> Timeline | None:
    """Return the fleet's timeline from a ConfigMap. Raises ValueError if the content is invalid.

    Return None if the ConfigMap has no timeline, or if another fleet owns the ConfigMap.
    """
    owners = stored["metadata"].get("ownerReferences") or []
    packed = (stored.get("binaryData") or {}).get(names.TIMELINE_KEY)
    if packed is None or settings.uid not in {owner["uid"] for owner in owners}:
        return None
    return unpack(base64.b64decode(packed))


class TimelineLoop:
    """The loop that writes timelines. If a write fails, the loop logs a warning and retries, and the run continues.

    After an unexpected error, the loop skips the timeline and continues with the next timeline.
    """

    def __init__(self) -> None:
        self._offered: Timeline | None = None
        self._outage = Outage("write the timeline")

    def offer(self, timeline: Timeline) -> None:
        """Write ``timeline`` next. It replaces an earlier timeline that still waits. Any thread may call it."""
        self._offered = timeline

    async def run(self, api: FleetApi, lease: LeaseLoop, closing: threading.Event) -> None:
        """Write offered timelines until ``closing`` is set. Then write the last timeline, with retries for 5 s.

        Writes only while this driver holds the Lease.
        """
        retry_at = 0.0
        while not closing.is_set():
            if lease.is_held and time.monotonic() >= retry_at and not await self._write_offered(api):
                retry_at = time.monotonic() + RETRY_SECONDS
            await asyncio.sleep(LOOK_SECONDS)
        give_up = time.monotonic() + LAST_SECONDS
        while lease.is_held and not await self._write_offered(api):
            if time.monotonic() >= give_up:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _write_offered(self, api: FleetApi) -> bool:
        """Write the offered timeline, if there is one. Return False if a retry may help."""
        timeline = self._offered
        if timeline is None:
            return True
        try:
            await api.patch_timeline(base64.b64encode(pack(timeline)).decode())
        except TRANSIENT as error:
            self._outage.note(error)
            return False
        except Exception as error:  # noqa: BLE001  (without the loop, the driver would release its Lease)
            self._outage.note(error)
        else:
            self._outage.over()
        if self._offered is timeline:
            self._offered = None
        return True
