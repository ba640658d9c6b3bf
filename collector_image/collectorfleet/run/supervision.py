"""Catch all exceptions of a run's work on the main thread, in a pod and on a laptop."""

from __future__ import annotations

import logging
from collections.abc import Callable

from collectorfleet.run.endings import ENDINGS
from collectorfleet.run.exit import Completed, Exit, Stopped, exit_of
from collectorfleet.run.stop import StopRequest

log = logging.getLogger(__name__)


def supervise(work: Callable[[], Completed], stop: StopRequest) -> Exit:
    """Do ``work`` and return how it ended. Raises nothing.

    After a request to stop, the result is ``Stopped`` even if ``work`` raised. A training function that is stopped
    early may raise an error.
    """
    ended: Exit
    try:
        ended = work()
    except BaseException as error:  # noqa: BLE001 (a signal and SystemExit are exits too)
        ended = exit_of(error)
    stop.run_ended()
    if stop.reason is None:
        return ended
    log.info("after the request to stop, the run ended with: %s", ended.message)
    return Stopped(f"stopped: {stop.reason.text}", ENDINGS[stop.reason.way].exit_code)
