"""Ends tasks within a bounded time. A task that ignores its cancellation would otherwise block the operator forever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Any, Final

log = logging.getLogger(__name__)

# This time is longer than the 5 s that kopf waits for its own tasks. Kubernetes kills the operator 10 s after SIGTERM,
# and before that the operator has to release its Lease.
END_SECONDS: Final = 7.0
AGAIN_SECONDS: Final = 1.0


class TasksHang(BaseException):
    """Raised if tasks ignore their cancellation. Only a new process ends them, so no session handles this error."""


async def end_all(tasks: Collection[asyncio.Task[Any]], within_seconds: float = END_SECONDS) -> None:
    """Cancel the tasks, and block until all have ended. After ``within_seconds``, cancel them once more.

    Raises TasksHang with the names of tasks that do not end 1 s later. Ignores all other errors of the tasks.
    """
    # This function starts no task for the wait: kopf cancels each task that begins beside kopf's own tasks.
    interrupted: asyncio.CancelledError | None = None
    for task in tasks:
        task.cancel()
    try:
        left = await _left(tasks, within_seconds)
    except asyncio.CancelledError as error:
        interrupted = error  # the caller must not continue before its tasks have ended
        left = await _left(tasks, within_seconds)
    if left:
        log.warning(
            "cancelling these tasks again, because they did not end within %g s: %s", within_seconds, _names(left)
        )
        for task in left:
            task.cancel()
        left = await _left(left, AGAIN_SECONDS)
    if left:
        raise TasksHang(f"these tasks ignore their cancellation: {_names(left)}")
    for task in tasks:
        hang = None if task.cancelled() else task.exception()
        if isinstance(hang, TasksHang):
            raise hang
    if interrupted is not None:
        raise interrupted


async def _left(tasks: Collection[asyncio.Task[Any]], timeout_seconds: float) -> set[asyncio.Task[Any]]:
    """Return the tasks that have not ended after the timeout."""
    if not tasks:
        return set()
    _, left = await asyncio.wait(tasks, timeout=timeout_seconds)
    return left


def _names(tasks: Collection[asyncio.Task[Any]]) -> str:
    return ", ".join(sorted(task.get_name() for task in tasks))
