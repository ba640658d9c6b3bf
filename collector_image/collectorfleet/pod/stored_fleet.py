"""Read the driver's fleet and the operator's orders from the object in the API server. Pure."""

from __future__ import annotations

from collectorfleet.errors import InvalidOption
from collectorfleet.pod.objects import Object
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.run.exit import FleetGone
from collectorfleet_api.rules.followed import as_run
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport


def checked_fleet(stored: Object, settings: DriverSettings) -> CollectorFleet:
    """Return the fleet that this driver runs.

    Its spec is the spec at the driver's start. Fields that may change during a run have their stored values. Raises
    FleetGone if another fleet has the name now. Raises InvalidOption with all problems of an invalid spec.
    """
    check_uid(stored, settings)
    fleet = as_run(stored, settings.spec)
    if isinstance(fleet, list):
        raise InvalidOption("; ".join(str(problem) for problem in fleet))
    return fleet


def check_uid(stored: Object, settings: DriverSettings) -> None:
    """Raise FleetGone if another fleet has the name now."""
    uid = stored["metadata"]["uid"]
    if uid != settings.uid:
        raise FleetGone(
            f"{settings.fleet} was replaced: this driver belongs to uid {settings.uid}, and the fleet now has {uid}"
        )


def is_stop_ordered(stored: Object, pod: str) -> bool:
    """Return whether the operator requests the driver in ``pod`` to end after its current batch."""
    orders = (stored.get("status") or {}).get("orders") or {}
    return orders.get("driver") == pod and bool(orders.get("stopAtBatch"))


def pods_to_drain(stored: Object, pod: str) -> frozenset[str]:
    """Return the worker pods that the driver in ``pod`` drains at the operator's request."""
    orders = (stored.get("status") or {}).get("orders") or {}
    return frozenset(orders.get("drainPods") or ()) if orders.get("driver") == pod else frozenset()


def last_report(fleet: CollectorFleet) -> DriverReport | None:
    """Return the last report of the previous driver, or None for the first driver of this fleet."""
    previous = fleet.status
    if previous is None or previous.fleet_uid != fleet.metadata.uid or previous.driver_incarnation is None:
        return None
    return previous
