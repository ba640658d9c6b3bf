"""Decide whether a lost collector is restarted after a pause, is given up, or ends the run.

A failure policy decides about each loss, and the gather loop applies the decision. Users can pass their own policy:
an object with the method ``decide``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from collectorfleet import option_types
from collectorfleet.messages import Fault
from collectorfleet.option_ranges import Count, Pause


@dataclass(frozen=True)
class Loss:
    """The loss of a collector: it died, hung, could not load weights, or its environment raised an error."""

    collector: str
    cause: str
    restarts: int  # The collector's restarts since it last worked for ten minutes. Losses of its node do not count.
    fault: Fault = Fault.DIED


@dataclass(frozen=True)
class Replace:
    """The decision to restart the collector after a pause."""

    after: timedelta
    reason: str


@dataclass(frozen=True)
class GiveUp:
    """The decision not to restart the collector."""

    reason: str


@dataclass(frozen=True)
class Fail:
    """The decision to end the run. If the environment raised an error, the run ends with this error."""

    reason: str


Decision = Replace | GiveUp | Fail


class FailurePolicy(Protocol):
    """Decides about each lost collector. If ``decide`` raises, the run ends with a UserCodeError."""

    def decide(self, loss: Loss) -> Decision: ...


class OnEnvironmentError(StrEnum):
    """The decision of :class:`ReplaceWithBackoff` after an error of the environment."""

    FAIL = "fail"
    RESTART = "restart"


@dataclass(frozen=True)
class ReplaceWithBackoff:
    """A policy that restarts a lost collector with exponential backoff, at most ``budget`` times.

    The first restart follows at once, because most losses come from a lost pod or node and not from the collector. Each
    later pause is twice as long, up to ``longest_pause``. A lost node does not count towards the budget. Ten minutes of
    work restore the whole budget.

    By default, an error of the environment ends the run at once. Some environments, such as simulators or game servers,
    fail occasionally. With ``on_environment_error=RESTART``, their errors count as losses.
    """

    budget: Count = 10
    first_pause: Pause = timedelta(seconds=1)
    longest_pause: Pause = timedelta(minutes=1)
    on_environment_error: OnEnvironmentError = OnEnvironmentError.FAIL

    def __post_init__(self) -> None:
        if self.on_environment_error in list(OnEnvironmentError):
            object.__setattr__(self, "on_environment_error", OnEnvironmentError(self.on_environment_error))
        option_types.check_fields(self, "failure_policy.")

    def decide(self, loss: Loss) -> Decision:
        if loss.fault is Fault.ENVIRONMENT and self.on_environment_error is OnEnvironmentError.FAIL:
            return Fail(loss.cause)
        if loss.fault is Fault.NODE_LOST:
            return Replace(timedelta(0), loss.cause)
        count = f"restart {loss.restarts + 1} of {self.budget}"
        if loss.restarts >= self.budget:
            all_restarts = "its only restart is" if self.budget == 1 else f"all {self.budget} restarts are"
            return GiveUp(f"{loss.cause}; {all_restarts} used up")
        return Replace(self._pause(loss.restarts), f"{loss.cause}; {count}")

    def _pause(self, restarts: int) -> timedelta:
        if restarts == 0:
            return timedelta(0)
        factor = 2 ** (restarts - 1)
        # Compare before the multiplication, because a timedelta cannot have more than 999,999,999 days.
        return self.longest_pause if self.longest_pause // factor < self.first_pause else self.first_pause * factor
