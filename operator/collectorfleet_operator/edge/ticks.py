"""Runs lists periodically beside the watches, and logs lists that fail.

A refused list stays refused until a user grants the right, and delays no other list. While the API server does not
answer, requests become less frequent, because the server may be throttling them. A new watch shows at once that the
server answers again. All lists then run at the next tick.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from collectorfleet_operator.edge.errors import RefusedError, UnavailableError

log = logging.getLogger(__name__)

# The interval of lists of Leases, which also feed the health check.
TICK_SECONDS: Final = 5.0
# The interval of the complete lists, in ticks.
TICKS_PER_FULL_LIST: Final = 6
# The delay after the first failure. Each further failure doubles it.
RETRY_SECONDS: Final = 2.0
LONGEST_RETRY_SECONDS: Final = 30.0
# Watches that begin within this time share one run of the lists.
TOGETHER_SECONDS: Final = 0.5


def retry_seconds(failures: int) -> float:
    """Return the seconds before the next try. ``failures`` is the number of successive failures, and at least 1."""
    # The exponent has a bound, because the power would exceed the range of a float within a day.
    return min(RETRY_SECONDS * 2.0 ** min(failures - 1, 30), LONGEST_RETRY_SECONDS)


@dataclass(frozen=True, eq=False)
class Step:
    """A group of lists that runs at every ``every``-th tick.

    ``take`` runs the lists. ``take`` returns True if the ticks must end, and may raise a KubeError.
    """

    take: Callable[[], Awaitable[bool | None]]
    every: int = 1


class Ticks:
    """Runs ``steps`` in order at each tick. Calls ``record_answer`` after a tick in which all requests had an answer.

    ``watch_began`` is set when a watch begins. All steps then run, because the watch does not deliver earlier changes.
    """

    def __init__(self, steps: Sequence[Step], record_answer: Callable[[], None], watch_began: asyncio.Event) -> None:
        self._steps = steps
        self._record_answer = record_answer
        self._watch_began = watch_began
        self._ticks = 0
        self._unanswered = 0  # successive ticks with a request that had no answer
        self._refused: set[Step] = set()

    @property
    def pause_seconds(self) -> float:
        """Return the seconds until the next tick if no watch begins."""
        return retry_seconds(self._unanswered) if self._unanswered else TICK_SECONDS

    async def run(self) -> None:
        """Run ticks until a step ends them."""
        while not await self.tick(everything=await self._pause()):
            pass

    async def tick(self, *, everything: bool) -> bool:
        """Run the steps that are due. Return True if a step ends the ticks.

        With ``everything``, or after a tick with an unanswered request, run all steps.
        """
        self._ticks += 1
        everything = everything or bool(self._unanswered)
        for step in self._steps:
            if not everything and self._ticks % step.every:
                continue
            try:
                is_to_end = await step.take()
            except RefusedError as error:
                if step not in self._refused:
                    log.warning("the API server refuses a list: %s", error)
                self._refused.add(step)
            except UnavailableError as error:
                if not self._unanswered:
                    log.warning("the API server does not answer: %s", error)
                self._unanswered += 1
                return False
            else:
                self._is_listed(step)
                if is_to_end:
                    return True
        if self._unanswered:
            self._unanswered = 0
            log.info("the API server answers again")
        self._record_answer()
        return False

    def _is_listed(self, step: Step) -> None:
        if step in self._refused:
            self._refused.remove(step)
            if not self._refused:
                log.info("the API server answers again and accepts lists")

    async def _pause(self) -> bool:
        """Wait until the next tick. Return True if a watch began, so that all steps must run."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._watch_began.wait(), self.pause_seconds)
            await asyncio.sleep(TOGETHER_SECONDS)
            self._watch_began.clear()
            return True
        return False
