"""Names of signals for messages."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """Return the name of a signal, such as ``SIGKILL``, or ``signal 35`` for a signal without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"
