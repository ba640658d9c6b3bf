"""Control one simulator from the collector. A separate supervisor process starts and ends the simulator."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from collectorfleet.actor.simulator.failure import Exit

_SUPERVISOR: Final = str(Path(__file__).with_name("supervisor.py"))
# The time between SIGTERM and SIGKILL.
GRACE_SECONDS: Final = 5.0
_TAIL_SECONDS: Final = 2.0


class SimulatorProcess:
    """A running simulator.

    :meth:`stop` ends the simulator. The simulator also ends when this process ends, even by SIGKILL. The supervisor
    keeps the sockets ``held`` open until the simulator has ended. The constructor raises OSError if the supervisor
    cannot be started.
    """

    def __init__(self, arguments: Sequence[str], variables: Mapping[str, str], held: Sequence[socket.socket]) -> None:
        self.ended = threading.Event()
        self.exit: Exit | None = None
        # The process id of the supervisor, which is an ancestor of the simulator. None: the simulator has not started.
        self.supervisor: int | None = None
        self._tail: Sequence[str] = ()
        self._has_tail = threading.Event()
        self._control, theirs = socket.socketpair()
        _controls.add(self._control)
        pidfd = _pidfd()
        passed = [theirs.fileno(), *([pidfd] if pidfd >= 0 else []), *(one.fileno() for one in held)]
        words = [theirs.fileno(), pidfd, GRACE_SECONDS]
        try:
            # Python runs in isolated mode, because a file in the working directory may have the name of a standard
            # module.
            launcher = subprocess.Popen(
                [sys.executable, "-I", "-S", _SUPERVISOR, *map(str, words), *arguments],
                env={**os.environ, **variables},
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            launcher.wait()  # the launcher forks the supervisor and exits
        except BaseException:
            self._control.close()
            raise
        finally:
            theirs.close()
            if pidfd >= 0:
                os.close(pidfd)
        threading.Thread(target=self._read_messages, name="simulator", daemon=True).start()

    def tail(self) -> Sequence[str]:
        """Return the last lines of the simulator's output. Blocks for at most 2 seconds."""
        if self.exit is None:
            self._has_tail.clear()
            with contextlib.suppress(OSError):
                self._control.sendall(b'{"tail": true}\n')
                self._has_tail.wait(_TAIL_SECONDS)
        return self._tail if self.exit is None else self.exit.tail

    def stop(self) -> None:
        """Tell the supervisor to end the simulator. Returns at once."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def _read_messages(self) -> None:
        try:
            with contextlib.suppress(OSError), self._control, self._control.makefile("rb") as lines:
                for line in lines:
                    self._note(json.loads(line))
        finally:
            if self.exit is None:
                self.exit = Exit(None, how="ended together with its supervisor process")
            self.ended.set()
            self._has_tail.set()

    def _note(self, said: dict[str, Any]) -> None:
        match said:
            case {"supervisor": pid}:
                self.supervisor = pid
            case {"exited": code, "tail": tail}:
                self.exit = Exit(code, tail)
                self.ended.set()
            case {"failed": why}:
                self.exit = Exit(None, how=f"could not be run: {why}")
                self.ended.set()
            case {"tail": tail}:
                self._tail = tail
                self._has_tail.set()


def _pidfd() -> int:
    """Return a pidfd of this process. Return -1 if the kernel has no pidfds.

    With the pidfd, the supervisor detects the end of this process even if forks of this process still run.
    """
    try:
        pidfd = os.pidfd_open(os.getpid())
    except OSError:  # an old kernel
        return -1
    return pidfd


_controls: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _close_controls() -> None:
    # Close the control socket in a fork. Otherwise, the simulator would run as long as the fork.
    for control in list(_controls):
        # ``close()`` of the socket would wait for the reader thread, and a fork does not have this thread.
        with contextlib.suppress(OSError):
            os.close(control.detach())


os.register_at_fork(after_in_child=_close_controls)
