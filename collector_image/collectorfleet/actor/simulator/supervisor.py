"""Run one simulator for a collector. When the collector ends, end the simulator and all of its descendants.

This module is a separate program that uses only the standard library. The collector may end by SIGKILL during a step of
its environment, so another process has to end the simulator. The supervisor is no child of the collector, because Ray
kills a worker together with the worker's children.

Arguments: the file descriptor of the control socket, a pidfd of the collector, the seconds between SIGTERM and SIGKILL,
and the command. The pidfd is -1 if the kernel has no pidfds. Collector and supervisor exchange lines over the control
socket. Each line is one JSON object.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
# The name of the process, at most 15 bytes. orphans.py identifies an ended supervisor by this name.
PROCESS_NAME = b"simulator-super"
_LINES = 100
_LONGEST_LINE = 500
_READ_BYTES = 65536
_READS = 32


class Tail:
    """The last lines of an output. Long lines are cut, so the memory is bounded."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._rest = b""

    def feed(self, data: bytes) -> None:
        *whole, rest = (self._rest + data).split(b"\n")
        self._lines.extend(_text(line) for line in whole[-_LINES:])
        self._rest = _last_part(rest)[:_LONGEST_LINE] + (b"\r" if rest.endswith(b"\r") else b"")

    def lines(self) -> list[str]:
        rest = _text(self._rest)
        return [line for line in (*self._lines, rest) if line]


def _text(line: bytes) -> str:
    return _last_part(line)[:_LONGEST_LINE].decode(errors="replace").rstrip()


def _last_part(line: bytes) -> bytes:
    """Return the part of a line after its last carriage return. Programs with a progress bar print such lines."""
    return line.rstrip(b"\r").rpartition(b"\r")[2]


class Output:
    """The output of a simulator in a pipe."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.tail = Tail()

    def read_some(self) -> bool:
        """Read the available output, at most 2 MiB per call. Return False at the end of the output."""
        for _ in range(_READS):
            try:
                data = os.read(self.pipe, _READ_BYTES)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.tail.feed(data)
        return True


class Supervisor:
    def __init__(self, control: socket.socket, pidfd: int, grace_seconds: float) -> None:
        self._control = control
        self._pidfd = pidfd
        self._grace_seconds = grace_seconds
        self._partial_message = b""
        self._over = False
        self._main: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.prctl(_PR_SET_NAME, PROCESS_NAME, 0, 0, 0)
        # With this setting, orphaned descendants become children of this process. So this process can end them.
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def run(self, command: list[str]) -> None:
        signals, wakes = os.pipe()
        for end in (signals, wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakes)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        reads, writes = os.pipe()
        os.set_blocking(reads, False)
        self._output = Output(reads)
        try:
            self._start(command, writes)
        except (OSError, subprocess.SubprocessError) as error:
            self._say({"failed": str(error)})
            return
        finally:
            os.close(writes)
        try:
            self._supervise(signals)
        finally:  # also after an error, because no other process ends the simulator's children
            self._end_all()

    def _supervise(self, signals: int) -> None:
        output, reads = self._output, self._output.pipe
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ, self._read_control)
            selector.register(reads, selectors.EVENT_READ, lambda: output.read_some() or selector.unregister(reads))
            selector.register(signals, selectors.EVENT_READ, lambda: os.read(signals, _READ_BYTES))
            if self._pidfd >= 0:
                selector.register(self._pidfd, selectors.EVENT_READ, self._stop)
            while not self._over:
                for key, _ in selector.select():
                    key.data()
                self._reap()

    def _start(self, command: list[str], output: int) -> None:
        own = os.getpid()

        def end_with_the_supervisor() -> None:
            # The kernel sends this signal when the thread that forked ends. This process has only one thread.
            self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != own:
                os._exit(1)

        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=end_with_the_supervisor,  # noqa: PLW1509  (this process has one thread)
        )
        self._main = self._process.pid
        self._say({"supervisor": own})

    def _read_control(self) -> None:
        try:
            data = self._control.recv(_READ_BYTES)
        except OSError:  # the collector ended before it had read all messages
            data = b""
        if not data:
            self._stop()
            return
        *whole, self._partial_message = (self._partial_message + data).split(b"\n")
        for line in whole:
            said = json.loads(line)
            if "tail" in said:
                self._say({"tail": self._output.tail.lines()})

    def _stop(self, *_: Any) -> None:
        self._over = True

    def _reap(self) -> bool:
        """Reap ended children. If the simulator has ended, report its end. Return whether children are left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if pid == self._main:
                self._output.read_some()
                self._main = None
                self._over = True
                self._say({"exited": os.waitstatus_to_exitcode(status), "tail": self._output.tail.lines()})

    def _end_all(self) -> None:
        """Send SIGTERM to all descendants. After the grace period, send SIGKILL to all descendants that still run."""
        self._signal(signal.SIGTERM)
        until = time.monotonic() + self._grace_seconds
        while self._reap():
            if time.monotonic() > until:
                self._signal(signal.SIGKILL)
            self._output.read_some()
            time.sleep(0.02)

    def _signal(self, number: int) -> None:
        if self._main is not None:
            with contextlib.suppress(OSError):
                os.killpg(self._main, number)
        for pid in _children():
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def _say(self, said: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # the collector has ended; the main loop detects this
            self._control.sendall(json.dumps(said).encode() + b"\n")


def _children() -> list[int]:
    own, found = os.getpid(), []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
            # The program name in parentheses may contain spaces.
            if int(file.read().rpartition(b")")[2].split()[1]) == own:
                found.append(int(entry))
    return found


def main() -> None:
    control, pidfd, grace = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    if os.fork():
        os._exit(0)
    os.setsid()
    with socket.socket(fileno=control) as connection:
        Supervisor(connection, pidfd, grace).run(sys.argv[4:])
    os._exit(0)


if __name__ == "__main__":
    main()
