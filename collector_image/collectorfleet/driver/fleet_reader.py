"""What the driver makes of the fleet as the API server stores it. Decisions only."""

from __future__ import annotations

import logging

from collectorfleet.driver.ending import NotOurFleet
from collectorfleet.driver.kubernetes_api import Object
from collectorfleet.driver.settings import DriverSettings
from collectorfleet.errors import InvalidOption
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_api.validation import read_stored

log = logging.getLogger(__name__)


def checked(obj: Object, settings: DriverSettings) -> CollectorFleet:
    """The stored fleet. Raises NotOurFleet if it is another one, InvalidOption with every problem of its spec."""
    if obj["metadata"]["uid"] != settings.uid:
        raise NotOurFleet(replaced(obj, settings))
    fleet = read_stored(obj)
    if isinstance(fleet, list):
        raise InvalidOption("; ".join(str(problem) for problem in fleet))
    return fleet


def replaced(obj: Object, settings: DriverSettings) -> str:
    uid = obj["metadata"]["uid"]
    return f"{settings.fleet} was replaced: this driver belongs to uid {settings.uid}, and it has {uid} now"


def next_incarnation(fleet: CollectorFleet) -> int:
    """Which start of this fleet's driver this is, counted from 1; says in the log what a restart loses."""
    previous = fleet.status
    if previous is None or previous.fleet_uid != fleet.metadata.uid or previous.driver_incarnation is None:
        return 1
    log.warning(
        "start %d of the driver, from the beginning: there is no checkpoint, "
        "and the one before had published version %s and handed out %s frames",
        previous.driver_incarnation + 1,
        previous.weights.published if previous.weights else "unknown",
        previous.progress.frames_delivered if previous.progress else "unknown",
    )
    return previous.driver_incarnation + 1
