"""Make network, mount and PID namespaces that one process holds. With this process, everything inside ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from tests.cluster.machine import Process
from tests.cluster.process import last_lines
from tests.wait import eventually

UNSHARE = ("unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--propagation=private", "--kill-child")


class Namespaces:
    """Namespaces in which ``script`` (bash) has run. RuntimeError with the end of ``log`` if the script fails.

    With ``bound``, they end with the thread that made them, even if the thread is killed.
    """

    def __init__(self, script: str, log: Path, *, bound: bool) -> None:
        bind = ("setpriv", "--pdeathsig=KILL") if bound else ()
        # The first process of a PID namespace must reap orphans, such as containers' shims. sleep alone does not.
        hold = ("bash", "-ec", f"{script}\necho ready; sleep infinity & wait")
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [*bind, *UNSHARE, *hold],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        with self._process.stdout as answer:
            if answer.readline() != "ready\n":
                self._process.wait(timeout=10)
                raise RuntimeError(f"no namespaces; last lines of {log}:\n{last_lines(log)}")
        self.holder = Process.of(self._process.pid)
        (self.pid,) = children(self._process.pid)

    def enter(self, *, network_only: bool = False) -> tuple[str, ...]:
        """Return the words that run the command after them inside the namespaces."""
        which = ("--net",) if network_only else ("--net", "--mount", "--pid")
        return ("nsenter", f"--target={self.pid}", *which)

    def reap(self) -> None:
        """Block until the holder has ended, for at most 10 s. Call :func:`end` first."""
        self._process.wait(timeout=10)


def end(holder: Process) -> None:
    """End the namespaces of ``holder``, also if another process made them. Blocks until the holder has ended."""
    # With the first process inside, the kernel ends all others. The holder, its parent, then ends too.
    for first in children(holder.pid) if holder.alive else []:
        with contextlib.suppress(ProcessLookupError):
            os.kill(first, signal.SIGKILL)
    eventually(lambda: not holder.alive, within=30, what=f"process {holder.pid} gone")


def children(pid: int) -> list[int]:
    """Return the pids of a process's children; empty if the process has ended."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
