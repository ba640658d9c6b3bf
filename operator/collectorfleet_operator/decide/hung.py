"""A driver that hangs, and is replaced where ``spec.driver.livenessDeadlineSeconds`` says so. Pure.

The next driver may go on at once: one that wakes up again finds the Lease and the folders to be another's. A driver on
a silent node is no such driver: Kubernetes says when the node is lost.
"""

from __future__ import annotations

from datetime import timedelta

from collectorfleet_operator.decide.driver_lost import is_driver_lost
from collectorfleet_operator.decide.situation import Situation


def until_replaced(seen: Situation) -> timedelta | None:
    """How long the driver that is lost has left; None where none is, or where it is kept."""
    pod, deadline = seen.driver_pod, seen.fleet.spec.driver.liveness_deadline_seconds
    if pod is None or deadline is None or pod.is_terminating or pod.is_node_silent:
        return None
    # One that never took the Lease waits for another driver, or cannot reach the API server: the next one could not.
    if (
        seen.driver_phase != "Running"
        or seen.lease_unchanged_for is None
        or not is_driver_lost(seen.lease_unchanged_for)
    ):
        return None
    return timedelta(seconds=deadline) - seen.lease_unchanged_for


def how_it_is_replaced(seen: Situation) -> str:
    """A clause about a driver that is lost."""
    deadline = seen.fleet.spec.driver.liveness_deadline_seconds
    if deadline is None or not is_driver_lost(seen.lease_unchanged_for):
        return "delete the pod to have it replaced"
    return f"it is replaced after {deadline} s (spec.driver.livenessDeadlineSeconds)"
