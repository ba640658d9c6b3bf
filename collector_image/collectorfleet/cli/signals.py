"""The handlers of Ctrl-C and SIGTERM, from the program's first line to its last line.

While the program imports or exits, a signal ends it at once. An exception at that time could interrupt any line of any
library. While a command runs, a signal raises an exception. The exception lets the command restore the terminal and
delete temporary files.

This module imports as little as possible, because Ctrl-C shows a traceback until :func:`end_at_once` is called.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
    from typing import Final, NoReturn
else:
    # The module `signal` wraps `_signal`. `signal` also imports enum and collections, which takes longer than all
    # earlier imports.
    import _signal as signal

_MESSAGES: Final[dict[int, bytes]] = {signal.SIGINT: b"interrupted\n", signal.SIGTERM: b"terminated\n"}


def end_at_once() -> None:
    """End the process at Ctrl-C or SIGTERM from now on. Call this in the main thread only.

    The function does not change a signal that is ignored or that already has a handler. For example, a driver already
    handles SIGTERM.
    """
    for number in _MESSAGES:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


class Raising:
    """Let Ctrl-C raise KeyboardInterrupt and SIGTERM raise SystemExit inside the ``with`` block.

    Signals that :func:`end_at_once` left unchanged stay unchanged.
    """

    def __init__(self) -> None:
        self._own: list[int] = []

    def __enter__(self) -> None:
        self._own = [number for number in _MESSAGES if signal.getsignal(number) is _end]
        for number in self._own:
            signal.signal(number, _raise)

    def __exit__(self, *_: object) -> None:
        for number in self._own:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    os.write(2, _MESSAGES[number])
    os._exit(128 + number)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    os.write(2, _MESSAGES[signal.SIGTERM])
    raise SystemExit(128 + number)
