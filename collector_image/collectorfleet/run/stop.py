"""Stop a run from outside, after a signal, a lost Lease or the deletion of the fleet.

The first request sets ``run.stop_requested``, and the collector's iteration ends after the current batch. The training
function can then save its state. After the time that :mod:`.endings` allows, or at a second signal, :class:`StopNow` is
raised in the training function. The exception is delayed until a checkpoint in progress is written. While there is no
state to save, each request takes effect at once.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from collectorfleet.run.endings import EndReason, seconds_for_batch
from collectorfleet.signal_names import signal_name

log = logging.getLogger(__name__)


class StopNow(KeyboardInterrupt):
    """Raised in the user's code if this code does not stop in time."""


@dataclass(frozen=True)
class StopReason:
    """The reason why a run ends early."""

    way: EndReason
    text: str  # "SIGTERM", "the fleet was deleted"


class StopRequest:
    """A request to stop the run. Any thread may request the stop."""

    def __init__(self, killed_after: float | None = None) -> None:
        """``killed_after`` is the time in seconds from SIGTERM until the process is killed.

        If ``killed_after`` is None, the process is not killed.
        """
        self._killed_after = killed_after
        self._checkpoint_seconds: Callable[[], float] = lambda: 0.0
        self._reason: StopReason | None = None
        self._has_timer = False
        self._signalled = False
        self._time_is_over = False
        self._nothing_to_save = False
        self._writing = 0
        self._interrupt_after_writing = False
        # Signal handlers read this flag instead of the event, because a handler may interrupt the code that sets the
        # event.
        self._is_over = False
        self._ended = threading.Event()
        # Reentrant, because a signal handler may acquire the lock in a thread that already holds the lock.
        self._lock = threading.RLock()

    @property
    def reason(self) -> StopReason | None:
        """The reason in the request to stop, or None without a request."""
        return self._reason

    def requested(self) -> bool:
        return self._reason is not None

    def leave_time_for(self, checkpoint_seconds: Callable[[], float]) -> None:
        """Interrupt the training function early enough for a checkpoint of duration ``checkpoint_seconds()``."""
        self._checkpoint_seconds = checkpoint_seconds

    def raise_if_requested(self) -> None:
        """Raise StopNow if there is a request to stop.

        Call this between the steps of the start, when there is nothing to save.
        """
        if self.requested():
            raise StopNow

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Inside the ``with`` block, let a request raise StopNow in the main thread at once.

        Use this method for the long steps of the start. Blocks may be nested.
        """
        with self._lock:
            self.raise_if_requested()
            before, self._nothing_to_save = self._nothing_to_save, True
        try:
            yield
        finally:
            self._nothing_to_save = before

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Delay StopNow until the end of the ``with`` block. The block writes a checkpoint.

        Other threads need no delay, because StopNow interrupts only the main thread.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._writing += 1
        try:
            yield
        finally:
            self._writing -= 1
            if self._interrupt_after_writing and not self._writing:
                self._interrupt()

    def request(self, reason: StopReason) -> None:
        """Request the end of the run, and return at once.

        Only the first reason counts. A request after the end has no effect.
        """
        with self._lock:
            if self._is_over:
                return
            first, self._reason = self._reason is None, self._reason or reason
            seconds = seconds_for_batch(reason.way, self._killed_after, self._checkpoint_seconds())
            if self._nothing_to_save:
                seconds = 0.0
            starts_timer = seconds is not None and not self._has_timer
            self._has_timer = self._has_timer or starts_timer
        if first or starts_timer:
            log.warning("stopping: %s", reason.text)
        if starts_timer:
            threading.Thread(target=self._interrupt_after, args=[seconds], name="stop", daemon=True).start()

    def run_ended(self) -> None:
        """Note that the user's code has returned, so StopNow is not raised any more."""
        self._is_over = True
        self._ended.set()

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Handle SIGINT, SIGTERM and SIGHUP.

        Raises StopNow at the second signal, and when the time for the batch is over. A second SIGHUP has no effect.
        """
        # The kernel and the shell may each send a SIGHUP when a terminal is closed.
        if self._is_over or (number == signal.SIGHUP and self._signalled):
            return
        if self._time_is_over or self._signalled:
            self._interrupt()
            return
        self._signalled = True
        is_terminal = number == signal.SIGINT
        way = EndReason.INTERRUPTED if is_terminal else EndReason.SIGTERM
        self.request(StopReason(way, "Ctrl-C" if is_terminal else signal_name(number)))

    def _interrupt(self) -> None:
        if self._is_over:
            return
        if self._writing:
            if not self._interrupt_after_writing:
                log.warning("a checkpoint is being written; the run is interrupted once the checkpoint is on disk")
            self._interrupt_after_writing = True
            return
        self._interrupt_after_writing = False
        raise StopNow

    def _interrupt_after(self, seconds: float) -> None:
        if not self._ended.wait(min(seconds, threading.TIMEOUT_MAX)):
            if seconds:
                log.warning("the run has not ended %.0f s after the request to stop, and is interrupted", seconds)
            self._time_is_over = True
            # Send a real signal, whose handler raises StopNow. A signal wakes the main thread even if it waits for a
            # lock. _thread.interrupt_main() would not wake it.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@contextmanager
def stop_on_signals(stop: StopRequest) -> Iterator[None]:
    """Inside the ``with`` block, turn SIGINT, SIGTERM and SIGHUP into requests to stop.

    Use this function only on the main thread. If the process ignores SIGHUP, as under ``nohup``, SIGHUP stays ignored.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop.on_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
