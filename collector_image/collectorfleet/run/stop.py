"""Ending a run from outside: a signal, a lost Lease, a fleet that was deleted.

The first request is polite: ``run.stop_requested`` turns true and the collector's iteration ends with the batch in
hand, so that a training function gets to save what it has. If it has not returned when its grace is over, or at a
second signal, :class:`StopNow` is raised in it. A patient request has no such grace: the operator's, who asks long
before it would kill. While nothing is there to be saved, any of them is answered at once.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import FrameType
from typing import Final

log = logging.getLogger(__name__)

# Kubernetes kills 30 s after SIGTERM; the last report and Ray's end need some of that.
GRACE: Final = timedelta(seconds=15)


class StopNow(KeyboardInterrupt):
    """Raised in the user's code when it does not stop by itself."""


@dataclass(frozen=True)
class StopReason:
    """Why a run is to end before its work is done."""

    text: str  # "SIGTERM", "the fleet was deleted"
    exit_code: int
    patient: bool = False  # the batch in hand may take as long as it takes


class StopRequest:
    """Asked for by any thread, seen by the run."""

    def __init__(self, grace: timedelta = GRACE) -> None:
        self._grace = grace
        self._reason: StopReason | None = None
        self._insisting = False
        self._nothing_to_save = False
        self._ended = threading.Event()
        # One that a signal handler may take while its thread has it.
        self._lock = threading.RLock()

    @property
    def reason(self) -> StopReason | None:
        """Why the run is to end; None while it is not."""
        return self._reason

    def requested(self) -> bool:
        return self._reason is not None

    def raise_if_requested(self) -> None:
        """Raise StopNow if the run is to end: between steps of the start, which have nothing to save."""
        if self.requested():
            raise StopNow

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within it, a request raises StopNow in the main thread, whatever it waits for: a long step of the start."""
        with self._lock:
            self.raise_if_requested()
            self._nothing_to_save = True
        try:
            yield
        finally:
            self._nothing_to_save = False

    def request(self, reason: StopReason) -> None:
        """Ask for the end; returns at once. The first reason is kept; after the end there is nothing to ask for."""
        with self._lock:
            if self._ended.is_set():
                return
            first, self._reason = self._reason is None, self._reason or reason
            insist = not self._insisting and (self._nothing_to_save or not reason.patient)
            self._insisting = self._insisting or insist
            grace = timedelta(0) if self._nothing_to_save else self._grace
        if first or insist:
            log.warning("stopping: %s", reason.text)
        if insist:
            threading.Thread(target=self._insist, args=[grace], name="stop", daemon=True).start()

    def run_ended(self) -> None:
        """The user's code has returned: nothing is left to interrupt."""
        self._ended.set()

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Handle SIGINT and SIGTERM. Raises StopNow at the second one."""
        if self._ended.is_set():
            return
        if self._insisting:
            raise StopNow
        self.request(StopReason("Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name, 128 + number))

    def _insist(self, grace: timedelta) -> None:
        if not self._ended.wait(grace.total_seconds()):
            if grace:
                log.warning("the run has not ended %.0f s later and is interrupted", grace.total_seconds())
            # A real signal, whose handler raises StopNow: it wakes the main thread from a lock that it waits for,
            # which _thread.interrupt_main() does not.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@contextmanager
def stop_on_signals(stop: StopRequest) -> Iterator[None]:
    """Within it, SIGINT and SIGTERM of this process are requests to stop. Main thread only."""
    before = {number: signal.signal(number, stop.on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
