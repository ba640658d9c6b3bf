"""Evaluation of a fleet's conditions, for a client that waits. Pure."""

from __future__ import annotations

from collections.abc import Callable

from collectorfleet_api.v1alpha1 import CollectorFleet, ConditionStatus, ConditionType, Reason


def condition_is_true(wanted: str) -> Callable[[CollectorFleet], bool]:
    """Return a function that checks whether the condition is True for the fleet's newest spec."""
    type_ = ConditionType(wanted)

    def holds(fleet: CollectorFleet) -> bool:
        found = fleet.status.condition(type_) if fleet.status else None
        # A condition of an older generation does not describe the current spec.
        return (
            found is not None
            and found.status is ConditionStatus.TRUE
            and found.observed_generation == fleet.metadata.generation
        )

    return holds


def stalled(fleet: CollectorFleet) -> str | None:
    """Return why the fleet cannot continue until its user changes something, or None if the fleet is not stalled."""
    if not condition_is_true(ConditionType.STALLED)(fleet):
        return None
    found = fleet.status and fleet.status.condition(ConditionType.STALLED)
    return f"{found.reason}: {found.message}" if found else None


def is_suspended_idle(fleet: CollectorFleet) -> bool:
    """Return whether the operator suspends the fleet for its idle timeout until the spec changes."""
    found = fleet.status.condition(ConditionType.SUSPENDED) if fleet.status else None
    return (
        found is not None
        and found.reason == Reason.IDLE_TIMEOUT
        and found.observed_generation == fleet.metadata.generation
    )


def describe_readiness(fleet: CollectorFleet) -> str:
    """Return the fleet's Ready condition as a sentence."""
    found = fleet.status.condition(ConditionType.READY) if fleet.status else None
    if found is None:
        return "the operator has not seen the fleet yet"
    return f"Ready is {found.status}, {found.reason}: {found.message}"
