"""The driver's handle of a collector's process."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Protocol

from collectorfleet.messages import Fault
from collectorfleet.signal_names import signal_name


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a collector's process: the cause, and the kind of fault."""

    cause: str
    fault: Fault = Fault.DIED


class Launched(Protocol):
    """The process of one collector."""

    def kill(self) -> None:
        """Kill the process. Does nothing if the process has ended."""

    def wait_for_end(self) -> Ended:
        """Block until the process has ended, and return how it ended."""


class LocalProcess:
    """A process of this machine. ``pid`` is the id of the process."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        self.pid = process.pid

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Kill the process, and block until it has ended."""
        self._process.kill()
        self._process.join()

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, or None while the process runs.

        If a signal ended the process, the exit code is minus the signal's number.
        """
        return self._process.exitcode

    def wait_for_end(self) -> Ended:
        self._process.join()
        code = self._process.exitcode or 0
        if code < 0:
            return Ended(f"its process was ended by {signal_name(-code)}")
        return Ended(f"its process ended with exit code {code}")
