"""From a run to its ending, whatever happens in it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from collectorfleet.run.exit import Ending, Finished, Stopped, ending_of
from collectorfleet.run.stop import StopRequest

log = logging.getLogger(__name__)


def conclude(work: Callable[[], Finished], stop: StopRequest) -> Ending:
    """Do ``work`` and say how it ended; raises nothing.

    A run that was asked to stop was stopped, whatever the user's code made of it: a training function that ends early
    may well complain.
    """
    ending: Ending
    try:
        ending = work()
    except BaseException as error:  # noqa: BLE001 (a signal and SystemExit are endings too)
        ending = ending_of(error)
    stop.over()
    if stop.reason is None:
        return ending
    log.info("when asked to stop, the run ended so: %s", ending.message)
    return Stopped(f"stopped by {stop.reason.text}", stop.reason.exit_code)
