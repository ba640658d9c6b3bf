"""A condition with flags that the summary conditions of the status need. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet_api.conditions.condition import condition
from collectorfleet_api.v1alpha1 import Condition, ConditionType
from collectorfleet_operator.decide.situation import Refused


@dataclass(frozen=True)
class Finding:
    """A condition with flags. ``problem``: the object does not become ready until the problem is solved.

    ``needs_the_user``: only the user can solve the problem. ``is_needed``: False if the fleet can collect without the
    missing object.
    """

    condition: Condition
    problem: bool = False
    needs_the_user: bool = False
    is_needed: bool = True


def waiting(type_: ConditionType, reason: str, message: str) -> Finding:
    return Finding(condition(type_, False, reason, message))


def problem_finding(type_: ConditionType, reason: str, message: str) -> Finding:
    return Finding(condition(type_, False, reason, message), problem=True)


def user_problem_finding(type_: ConditionType, reason: str, message: str) -> Finding:
    return Finding(condition(type_, False, reason, message), problem=True, needs_the_user=True)


def not_written(type_: ConditionType, refused: Refused) -> Finding:
    """Return a condition with status False about an object that was not written: the write was refused or failed."""
    found = problem_finding if refused.is_retried else user_problem_finding
    return found(type_, refused.reason, refused.message)
