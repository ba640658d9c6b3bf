"""SIGTERM in the first seconds of a driver, while it still imports what it is made of.

The driver is PID 1 of its container, and the kernel drops a signal for which PID 1 has no handler. Without one, the
kubelet waits for the whole grace period of a pod that is deleted as it starts. This module imports next to nothing.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

from collectorfleet.pod.settings import TERMINATION_LOG
from collectorfleet_api.names import EXIT_SIGTERM

_MESSAGE = "stopped: SIGTERM, before the driver had begun"
_has_begun = False


def end_at_once_on_sigterm() -> None:
    """End the process at SIGTERM, until :func:`driver_has_begun`: there is nothing to save yet."""
    signal.signal(signal.SIGTERM, _end)


def driver_has_begun() -> None:
    """From here on the driver's own handler is in place. One that is restored when the run is over does nothing."""
    global _has_begun
    _has_begun = True


def _end(_number: int, _frame: FrameType | None) -> None:
    if _has_begun:
        return
    if TERMINATION_LOG.exists():  # not outside of a pod
        TERMINATION_LOG.write_text(_MESSAGE)
    os.write(2, f"{_MESSAGE}\n".encode())
    os._exit(EXIT_SIGTERM)
