"""``Ready``, ``Stalled`` and ``Completed``: what the outcome and the other conditions add up to."""

from __future__ import annotations

from collections.abc import Sequence

from collectorfleet_api.conditions.condition import condition, is_true
from collectorfleet_api.conditions.outcome import Failed, Outcome, Running, Succeeded
from collectorfleet_api.v1alpha1.reasons import ConditionType, Reason
from collectorfleet_api.v1alpha1.status import Condition


def ready(outcome: Outcome, required: Sequence[Condition]) -> Condition:
    """True once finished, or while all of ``required`` are true; else it says what the first missing one says.

    Deployment tools read Ready=True after the end as "done", so a finished fleet stays ready without collectors.
    """
    match outcome:
        case Succeeded(message):
            return condition(ConditionType.READY, True, Reason.COMPLETED, message)
        case Failed(message):
            return condition(ConditionType.READY, False, Reason.FAILED, message)
        case Running():
            missing = next((c for c in required if not is_true(c)), None)
    if missing is not None:
        return condition(ConditionType.READY, False, missing.reason, missing.message)
    text = required[-1].message if required else "the fleet collects"
    return condition(ConditionType.READY, True, Reason.COLLECTING, text)


def stalled(outcome: Outcome) -> Condition:
    """Whether the user has to change something before the fleet can go on."""
    if isinstance(outcome, Failed):
        return condition(ConditionType.STALLED, True, Reason.FAILED, outcome.message)
    return condition(ConditionType.STALLED, False, Reason.PROGRESSING, "nothing waits for the user")


def completed(outcome: Outcome) -> Condition:
    match outcome:
        case Succeeded(message):
            return condition(ConditionType.COMPLETED, True, Reason.COMPLETED, message)
        case Failed(message):
            return condition(ConditionType.COMPLETED, False, Reason.FAILED, message)
        case Running():
            return condition(ConditionType.COMPLETED, False, Reason.RUNNING, "the driver has not finished")
