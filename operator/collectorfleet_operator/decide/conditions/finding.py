"""A condition with what the rest of the status needs to know about it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet_api.conditions.condition import condition
from collectorfleet_api.v1alpha1 import Condition, ConditionType
from collectorfleet_operator.decide.situation import Refused


@dataclass(frozen=True)
class Finding:
    """``problem``: more than time is missing. ``needs_the_user``: it will not go away by itself.

    ``is_needed``: False if the fleet collects without what is missing.
    """

    condition: Condition
    problem: bool = False
    needs_the_user: bool = False
    is_needed: bool = True


def waiting(type_: ConditionType, reason: str, message: str) -> Finding:
    return Finding(condition(type_, False, reason, message))


def hindered(type_: ConditionType, reason: str, message: str) -> Finding:
    return Finding(condition(type_, False, reason, message), problem=True)


def stuck(type_: ConditionType, reason: str, message: str) -> Finding:
    return Finding(condition(type_, False, reason, message), problem=True, needs_the_user=True)


def not_written(type_: ConditionType, refused: Refused) -> Finding:
    """Return what a write that was not carried out says about the condition."""
    found = hindered if refused.is_retried else stuck
    return found(type_, refused.reason, refused.message)
