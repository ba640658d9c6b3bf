"""What Ctrl-C and SIGTERM do to the program, from its first line to its last one.

While the program imports or exits, they end it at once: an exception there could be raised in any line of any library.
While a command runs, they raise, so that the command can restore the terminal and remove its temporary files.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

_MESSAGES: Final = {signal.SIGINT: b"interrupted\n", signal.SIGTERM: b"terminated\n"}


def end_at_once() -> None:
    """End the process at a signal from now on. Main thread only.

    A signal that has a handler, or is ignored, keeps it: `nohup` ignores some, and a driver handles SIGTERM already.
    """
    for number in _MESSAGES:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


@contextmanager
def raising() -> Iterator[None]:
    """Within it, Ctrl-C raises KeyboardInterrupt and SIGTERM raises SystemExit, if they ended the process before."""
    own = [number for number in _MESSAGES if signal.getsignal(number) is _end]
    for number in own:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in own:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    os.write(2, _MESSAGES[signal.Signals(number)])
    os._exit(128 + number)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    os.write(2, _MESSAGES[signal.SIGTERM])
    raise SystemExit(128 + number)
