"""Read the driver's fleet from the API server, with retries. Runs in the reporter's thread."""

from __future__ import annotations

import asyncio
import threading
from typing import Final

from collectorfleet.pod.kubernetes_api import FleetApi
from collectorfleet.pod.outage import TRANSIENT, Outage, is_status
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.pod.stored_fleet import checked_fleet
from collectorfleet.run.exit import FleetGone
from collectorfleet_api.v1alpha1 import CollectorFleet

RETRY_SECONDS: Final = 1.0


async def read_fleet(api: FleetApi, settings: DriverSettings, closing: threading.Event) -> CollectorFleet | None:
    """Return the fleet once the API server answers, or None if ``closing`` is set first. Retries every second.

    Raises FleetGone if the fleet was deleted or replaced. Raises InvalidOption with all problems of an invalid spec.
    """
    outage = Outage("read the fleet")
    while not closing.is_set():
        try:
            fleet = checked_fleet(await api.fleet(), settings)
        except TRANSIENT as error:
            if is_status(error, 404):
                raise FleetGone(f"{settings.fleet} does not exist") from None
            outage.note(error)
            await asyncio.sleep(RETRY_SECONDS)
        else:
            outage.over()
            return fleet
    return None
