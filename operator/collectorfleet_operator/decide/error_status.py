"""The status of a fleet that the operator cannot parse, or cannot reconcile because of its own error. Pure."""

from __future__ import annotations

from datetime import datetime

from collectorfleet_api.conditions.condition import condition, is_true, stamped
from collectorfleet_api.v1alpha1 import (
    CollectorFleetStatus,
    ConditionType,
    OperatorStatus,
    Phase,
    Reason,
)


def invalid(problems: list[str], before: CollectorFleetStatus | None, generation: int, now: datetime) -> OperatorStatus:
    """Return the status of a fleet that the operator cannot parse. The CRD of this release rejects most such fleets."""
    message = "; ".join(problems)
    done = before.condition(ConditionType.COMPLETED) if before else None
    if before is not None and done is not None and is_true(done):
        # A completed run stays completed; otherwise a corrected spec would train again.
        not_run = condition(ConditionType.UP_TO_DATE, False, Reason.INVALID_SPEC, message)
        kept = [one for one in before.conditions if one.type != ConditionType.UP_TO_DATE]
        conditions = stamped([*kept, not_run], before.conditions, now, generation)
        return OperatorStatus(
            observed_generation=generation, phase=Phase.COMPLETED, conditions=conditions, driver=before.driver
        )
    found = [
        condition(ConditionType.READY, False, Reason.INVALID_SPEC, message),
        condition(ConditionType.RECONCILING, False, Reason.INVALID_SPEC, message),
        condition(ConditionType.STALLED, True, Reason.INVALID_SPEC, message),
        condition(ConditionType.UP_TO_DATE, False, Reason.INVALID_SPEC, message),
    ]
    conditions = stamped(found, before.conditions if before else (), now, generation)
    return OperatorStatus(observed_generation=generation, phase=Phase.FAILED, conditions=conditions)


def internal_error(cause: str, before: OperatorStatus, generation: int, now: datetime) -> OperatorStatus | None:
    """Return the status ``before`` with Ready=False and the cause.

    ``generation`` is the present generation of the spec. Return None if the run is over and the spec was not edited
    since. Then the stored status, with the result of the run, does not change.

    Stalled stays unchanged: the operator tries again, and tools such as Flux give up on a stalled object.
    """
    if _is_over(before) and before.observed_generation == generation:
        return None
    message = f"the operator failed to reconcile this fleet and tries again: {cause}"
    turned = [
        condition(ConditionType.READY, False, Reason.INTERNAL_ERROR, message),
        condition(ConditionType.RECONCILING, True, Reason.INTERNAL_ERROR, message),
    ]
    kept = [one for one in before.conditions if one.type not in (ConditionType.READY, ConditionType.RECONCILING)]
    phase = Phase.DEGRADED if before.phase is Phase.COLLECTING else before.phase or Phase.PENDING
    # observedGeneration stays unchanged: it is the generation of the spec on which the operator last acted.
    conditions = stamped([*turned, *kept], before.conditions, now, before.observed_generation)
    return before.model_copy(update={"phase": phase, "conditions": conditions})


def _is_over(before: OperatorStatus) -> bool:
    done = before.condition(ConditionType.COMPLETED)
    return done is not None and (is_true(done) or done.reason not in (Reason.RUNNING, Reason.SUSPENDED))
