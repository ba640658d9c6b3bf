"""``Ready``, ``Stalled`` and ``Completed``: conditions that summarize the outcome and the other conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from collectorfleet_api.conditions.condition import condition, is_true
from collectorfleet_api.conditions.outcome import (
    Completed,
    Failed,
    Outcome,
    Over,
    Pending,
    Running,
    Suspended,
    Underway,
)
from collectorfleet_api.v1alpha1.condition import Condition
from collectorfleet_api.v1alpha1.reasons import ConditionType, Reason


def ready(outcome: Underway | Over, required: Sequence[Condition]) -> Condition:
    """Return Ready: True if the run has completed or all of ``required`` are true.

    Otherwise Ready has the reason and message of the first condition in ``required`` that is not true.

    Deployment tools read Ready=True after the end as "done", so a completed fleet stays ready without collectors.
    """
    match outcome:
        case Completed():
            return condition(ConditionType.READY, True, outcome.reason, outcome.message)
        case Failed():
            return condition(ConditionType.READY, False, outcome.reason, outcome.message)
        case Pending() | Running():
            return _ready_underway(required)
        case _:
            assert_never(outcome)


def _ready_underway(required: Sequence[Condition]) -> Condition:
    missing = next((one for one in required if not is_true(one)), None)
    if missing is not None:
        return condition(ConditionType.READY, False, missing.reason, missing.message)
    text = required[-1].message if required else "the fleet collects frames"
    return condition(ConditionType.READY, True, Reason.COLLECTING, text)


def stalled(outcome: Outcome) -> Condition:
    """Return Stalled: True if the fleet cannot continue until the user changes something."""
    match outcome:
        case Failed():
            return condition(ConditionType.STALLED, True, outcome.reason, outcome.message)
        case Pending() | Running():
            text = "the fleet has not failed, and no deadline has passed; Ready says what the fleet waits for"
            return condition(ConditionType.STALLED, False, Reason.PROGRESSING, text)
        case Suspended() | Completed():
            return condition(ConditionType.STALLED, False, Reason.PROGRESSING, "the fleet has not failed")
        case _:
            assert_never(outcome)


def completed(outcome: Outcome) -> Condition:
    match outcome:
        case Completed():
            return condition(ConditionType.COMPLETED, True, outcome.reason, outcome.message)
        case Failed():
            return condition(ConditionType.COMPLETED, False, outcome.reason, outcome.message)
        case Pending() | Running():
            return condition(ConditionType.COMPLETED, False, Reason.RUNNING, "the driver has not finished")
        case Suspended():
            return condition(ConditionType.COMPLETED, False, Reason.SUSPENDED, "the driver has not finished")
        case _:
            assert_never(outcome)
