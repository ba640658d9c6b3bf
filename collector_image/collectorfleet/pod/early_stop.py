"""Handle SIGTERM in the first seconds of a driver, during its imports.

The driver is PID 1 of its container. The kernel ignores a signal for which PID 1 has no handler. If the pod is deleted
before a handler is set, the kubelet waits for the whole grace period. This module imports few other modules, so that
the handler is set early.
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
    """Until :func:`driver_has_begun` is called, end the process at SIGTERM. There is nothing to save yet."""
    signal.signal(signal.SIGTERM, _end)


def driver_has_begun() -> None:
    """Turn the early handler off. Call this after the driver has set its own handler.

    The driver restores the early handler after the run. The early handler then does nothing.
    """
    global _has_begun
    _has_begun = True


def _end(_number: int, _frame: FrameType | None) -> None:
    if _has_begun:
        return
    if TERMINATION_LOG.exists():  # only in a pod
        TERMINATION_LOG.write_text(_MESSAGE)
    os.write(2, f"{_MESSAGE}\n".encode())
    os._exit(EXIT_SIGTERM)
