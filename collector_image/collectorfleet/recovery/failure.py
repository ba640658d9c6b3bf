"""What becomes of a collector that was lost: replaced after a while, or given up; or of the run, which it ends.

The policy sees numbers and answers; the gather loop acts. Users pass their own with the same method.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from collectorfleet.messages import Fault


@dataclass(frozen=True)
class Loss:
    """The loss of a collector: it died, hung, could not load weights, or its environment raised."""

    collector: str
    cause: str
    restarts: int  # of this collector since it last worked for ten minutes, without those whose node was lost
    fault: Fault = Fault.DIED


@dataclass(frozen=True)
class Replace:
    """Restart the collector after a pause."""

    after: timedelta
    reason: str


@dataclass(frozen=True)
class GiveUp:
    """Do not restart the collector."""

    reason: str


@dataclass(frozen=True)
class Fail:
    """End the run, with the environment's error if the environment raised."""

    reason: str


Decision = Replace | GiveUp | Fail


class FailurePolicy(Protocol):
    def decide(self, loss: Loss) -> Decision: ...


class OnEnvironmentError(StrEnum):
    """What :class:`ReplaceWithBackoff` decides if an environment raised."""

    FAIL = "fail"
    RESTART = "restart"


@dataclass(frozen=True)
class ReplaceWithBackoff:
    """Starts a lost collector again, each time after twice the pause, ``budget`` times at most.

    The first replacement follows at once: most losses are a pod or node that went away, not a collector that cannot
    live. A lost node does not count towards the budget. Ten minutes of work restore the whole budget.

    An environment that raises is a mistake to report at once. If it is known to fail now and then, such as a simulator
    or a game server, its error is a loss like others.
    """

    budget: int = 10
    first_pause: timedelta = timedelta(seconds=1)
    longest_pause: timedelta = timedelta(minutes=1)
    on_environment_error: OnEnvironmentError = OnEnvironmentError.FAIL

    def decide(self, loss: Loss) -> Decision:
        if loss.fault is Fault.ENVIRONMENT and self.on_environment_error is OnEnvironmentError.FAIL:
            return Fail(loss.cause)
        if loss.fault is Fault.NODE_LOST:
            return Replace(timedelta(0), loss.cause)
        count = f"restart {loss.restarts + 1} of {self.budget}"
        if loss.restarts >= self.budget:
            return GiveUp(f"{loss.cause}; all {self.budget} restarts are used up")
        pause = self.first_pause * 2 ** (loss.restarts - 1) if loss.restarts else timedelta(0)
        return Replace(min(pause, self.longest_pause), f"{loss.cause}; {count}")
