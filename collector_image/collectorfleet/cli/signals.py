"""What Ctrl-C and SIGTERM do to the program, from its first line to its last one.

While the program imports or exits, they end it at once: an exception there could be raised in any line of any library.
While a command runs, they raise, so that the command can restore the terminal and remove its temporary files.

This module imports as little as it can: Ctrl-C shows a traceback until :func:`end_at_once` is called.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
    from typing import Final, NoReturn
else:
    # What `signal` itself is made of. `signal` also imports enum and collections: longer than all imports before.
    import _signal as signal

_MESSAGES: Final[dict[int, bytes]] = {signal.SIGINT: b"interrupted\n", signal.SIGTERM: b"terminated\n"}


def end_at_once() -> None:
    """End the process at a signal from now on. Main thread only.

    A signal that has a handler, or is ignored, keeps it: `nohup` ignores some, and a driver handles SIGTERM already.
    """
    for number in _MESSAGES:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


class Raising:
    """Let Ctrl-C raise KeyboardInterrupt and SIGTERM raise SystemExit inside the ``with`` block.

    This holds for signals that ended the process before.
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
