"""Replacement of a hung driver after ``spec.driver.livenessDeadlineSeconds``. Pure.

The next driver may start at once. If the hung driver continues later, another driver already owns the Lease and the
folders. A driver on a silent node is not replaced here: Kubernetes decides when the node is lost.
"""

from __future__ import annotations

from datetime import timedelta

from collectorfleet_api.times import duration
from collectorfleet_operator.decide.driver_lost import is_driver_lost
from collectorfleet_operator.decide.situation import Situation


def until_replaced(seen: Situation) -> timedelta | None:
    """Return the time until the lost driver is replaced, or None if no driver is lost, or the spec sets no limit."""
    pod, deadline = seen.driver_pod, seen.fleet.spec.driver.liveness_deadline_seconds
    if pod is None or deadline is None or pod.is_terminating or pod.is_node_silent:
        return None
    # A driver that never acquired the Lease waits for another driver, or cannot reach the API server. The next driver
    # could not acquire the Lease either.
    if (
        seen.driver_phase != "Running"
        or seen.lease_unchanged_for is None
        or not is_driver_lost(seen.lease_unchanged_for)
    ):
        return None
    return duration(deadline) - seen.lease_unchanged_for


def how_it_is_replaced(seen: Situation) -> str:
    """Return a clause for the user about how a lost driver is replaced."""
    deadline = seen.fleet.spec.driver.liveness_deadline_seconds
    if deadline is None or not is_driver_lost(seen.lease_unchanged_for):
        return "delete the pod to have it replaced"
    return f"the operator replaces the pod after {deadline} s (spec.driver.livenessDeadlineSeconds)"
