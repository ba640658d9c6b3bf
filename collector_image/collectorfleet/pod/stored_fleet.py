"""What the driver makes of the fleet as the API server stores it. Pure."""

from __future__ import annotations

from collectorfleet.errors import InvalidOption
from collectorfleet.pod.objects import Object
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.run.exit import FleetGone
from collectorfleet_api.rules.followed import as_run
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport


def checked_fleet(stored: Object, settings: DriverSettings) -> CollectorFleet:
    """The fleet that this driver runs: the spec that it was started with, and what it follows of the stored one.

    Raises FleetGone if the stored fleet is another one, InvalidOption with every problem of the spec.
    """
    check_uid(stored, settings)
    fleet = as_run(stored, settings.spec)
    if isinstance(fleet, list):
        raise InvalidOption("; ".join(str(problem) for problem in fleet))
    return fleet


def check_uid(stored: Object, settings: DriverSettings) -> None:
    """Raises FleetGone if another fleet has the name now."""
    uid = stored["metadata"]["uid"]
    if uid != settings.uid:
        raise FleetGone(
            f"{settings.fleet} was replaced: this driver belongs to uid {settings.uid}, and it has {uid} now"
        )


def is_told_to_stop(stored: Object, pod: str) -> bool:
    """Whether the operator asks this very driver to end where its batch ends."""
    orders = (stored.get("status") or {}).get("orders") or {}
    return orders.get("driver") == pod and bool(orders.get("stopAtBatch"))


def pods_to_drain(stored: Object, pod: str) -> frozenset[str]:
    """The worker pods that the operator asks this very driver to leave."""
    orders = (stored.get("status") or {}).get("orders") or {}
    return frozenset(orders.get("drainPods") or ()) if orders.get("driver") == pod else frozenset()


def last_report(fleet: CollectorFleet) -> DriverReport | None:
    """What the driver before this one said last; None for the first driver of this fleet."""
    previous = fleet.status
    if previous is None or previous.fleet_uid != fleet.metadata.uid or previous.driver_incarnation is None:
        return None
    return previous
