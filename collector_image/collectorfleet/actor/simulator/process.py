"""One process of a simulator, as the collector has it: its supervisor is another process, which ends it."""

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
# Between SIGTERM and SIGKILL.
GRACE_SECONDS: Final = 5.0
_TAIL_SECONDS: Final = 2.0


class SimulatorProcess:
    """A simulator that runs. It ends with :meth:`stop`, and with this process, however that ends.

    ``held`` are sockets that stay open until it has ended. Raises OSError if there can be no process.
    """

    def __init__(self, arguments: Sequence[str], variables: Mapping[str, str], held: Sequence[socket.socket]) -> None:
        self.ended = threading.Event()
        self.exit: Exit | None = None
        # The process whose descendants are the simulator; None: the program has not started.
        self.supervisor: int | None = None
        self._tail: Sequence[str] = ()
        self._has_tail = threading.Event()
        self._control, theirs = socket.socketpair()
        _controls.add(self._control)
        pidfd = _pidfd()
        passed = [theirs.fileno(), *([pidfd] if pidfd >= 0 else []), *(one.fileno() for one in held)]
        words = [theirs.fileno(), pidfd, GRACE_SECONDS]
        try:
            # Isolated: a module of the user's in the working folder may have the name of one of Python's.
            launcher = subprocess.Popen(
                [sys.executable, "-I", "-S", _SUPERVISOR, *map(str, words), *arguments],
                env={**os.environ, **variables},
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            launcher.wait()  # the supervisor is its child
        except BaseException:
            self._control.close()
            raise
        finally:
            theirs.close()
            if pidfd >= 0:
                os.close(pidfd)
        threading.Thread(target=self._hear, name="simulator", daemon=True).start()

    def tail(self) -> Sequence[str]:
        """Return the last lines that it printed; blocks for a moment."""
        if self.exit is None:
            self._has_tail.clear()
            with contextlib.suppress(OSError):
                self._control.sendall(b'{"tail": true}\n')
                self._has_tail.wait(_TAIL_SECONDS)
        return self._tail if self.exit is None else self.exit.tail

    def stop(self) -> None:
        """Have it ended; returns at once."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def _hear(self) -> None:
        try:
            with contextlib.suppress(OSError), self._control, self._control.makefile("rb") as lines:
                for line in lines:
                    self._note(json.loads(line))
        finally:
            if self.exit is None:
                self.exit = Exit(None, how="ended with its supervisor")
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
    """Return what tells a supervisor that this process has ended, though processes that it forked live; -1: nothing."""
    try:
        pidfd = os.pidfd_open(os.getpid())
    except OSError:  # an old kernel
        return -1
    return pidfd


_controls: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _let_go() -> None:
    # A fork that lives longer than this process would keep the simulator alive.
    for control in list(_controls):
        # Not by its close(), which waits for the reader: threads do not come along.
        with contextlib.suppress(OSError):
            os.close(control.detach())


os.register_at_fork(after_in_child=_let_go)
