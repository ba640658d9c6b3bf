"""The lists behind the watches, again and again, and what is said of those that fail.

A refused list stays refused until a user changes a right, and delays no other list. While the API server does not
answer, requests become less frequent, for the sake of a server that throttles. A watch that begins shows at once that
the server is back. At its first answer, everything is listed.
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

# Leases and health, and how soon an API server that is back is noticed.
TICK_SECONDS: Final = 5.0
# All of it.
TICKS_PER_FULL_LIST: Final = 6
# After a failure; each further one doubles it.
RETRY_SECONDS: Final = 2.0
LONGEST_RETRY_SECONDS: Final = 30.0
# Watches that begin together.
TOGETHER_SECONDS: Final = 0.5


def retry_seconds(failures: int) -> float:
    """Until it is asked again what failed so many times in a row, at least once."""
    # A bound for the power, which would be too large for a float within a day.
    return min(RETRY_SECONDS * 2.0 ** min(failures - 1, 30), LONGEST_RETRY_SECONDS)


@dataclass(frozen=True, eq=False)
class Step:
    """Some of the lists, ``every`` so many ticks. ``take`` raises a KubeError; True: the ticks are to end."""

    take: Callable[[], Awaitable[bool | None]]
    every: int = 1


class Ticks:
    """Takes ``steps`` in their order; calls ``record_answer`` whenever the API server answered every request.

    ``watch_began`` is set when a watch begins, which delivers nothing of what happened before.
    """

    def __init__(self, steps: Sequence[Step], record_answer: Callable[[], None], watch_began: asyncio.Event) -> None:
        self._steps = steps
        self._record_answer = record_answer
        self._watch_began = watch_began
        self._ticks = 0
        self._unanswered = 0  # ticks in a row
        self._refused: set[Step] = set()

    @property
    def pause_seconds(self) -> float:
        """Until the next tick, if no watch begins."""
        return retry_seconds(self._unanswered) if self._unanswered else TICK_SECONDS

    async def run(self) -> None:
        """Until a step says that they are to end."""
        while not await self.tick(everything=await self._pause()):
            pass

    async def tick(self, *, everything: bool) -> bool:
        """What is due now, or all of it; whether a step says that the ticks are to end."""
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
        """Wait until the next tick; True if it is to say what watches that began did not."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._watch_began.wait(), self.pause_seconds)
            await asyncio.sleep(TOGETHER_SECONDS)
            self._watch_began.clear()
            return True
        return False
