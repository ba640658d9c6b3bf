"""Call actors that may be dead, restarting or busy. Each call has a deadline. The errors name the actor."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

import ray

from collectorfleet.errors import CollectorFleetError, InfrastructureError, UserCodeError
from collectorfleet.transport.ray.faults import cause_of

_AGAIN_SECONDS: Final = 0.2


class Deadline:
    """A time limit for several calls together."""

    def __init__(self, after: timedelta) -> None:
        self.seconds = after.total_seconds()
        self._end = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """The seconds that are left, at least 0."""
        return max(self._end - time.monotonic(), 0.0)


def answer(who: str, ask: Callable[[], Any], deadline: Deadline) -> Any:
    """Return the result of the call that ``ask`` makes. Raises the errors of :func:`answers`."""
    return answers({who: ask}, deadline)[who]


def answers(asks: Mapping[str, Callable[[], Any]], deadline: Deadline) -> dict[str, Any]:
    """Make all calls at the same time, and return their results. A call is repeated while its actor restarts.

    If an ``ask`` makes no call and returns None, its result is None.

    Raises the first failure, after all other calls have ended:

        UserCodeError: the user's class raised.
        InfrastructureError: the actor is dead and does not restart, or did not answer in time.
    """
    asked = {who: ask() for who, ask in asks.items()}
    found, failures = {}, []
    for who, ask in asks.items():
        try:
            found[who] = _answer(who, asked[who], ask, deadline)
        except CollectorFleetError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return found


def _answer(who: str, call: Any, ask: Callable[[], Any], deadline: Deadline) -> Any:
    lost: BaseException | None = None  # the first error that caused a repeated call
    while call is not None:
        try:
            return ray.get(call, timeout=deadline.left)
        except ray.exceptions.GetTimeoutError:
            why = f"it was lost meanwhile: {cause_of(lost)}" if lost else "it is busy or stuck"
            raise InfrastructureError(f"{who}: no answer within {deadline.seconds:g} s; {why}") from lost
        except ray.exceptions.ActorUnavailableError as error:
            lost = lost or error
            if not deadline.left:
                raise InfrastructureError(f"{who}: {cause_of(lost)}") from lost
            time.sleep(_AGAIN_SECONDS)
            call = ask()
        except ray.exceptions.RayActorError as error:
            if error.actor_init_failed:
                text = str(error).strip()
                raise UserCodeError(who, text.splitlines()[-1], text) from error
            raise InfrastructureError(f"{who}: {cause_of(error)}") from error
        except ray.exceptions.RayTaskError as error:
            raise UserCodeError(who, cause_of(error), str(error)) from error
    return None
