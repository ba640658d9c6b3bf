"""A set of network, mount and PID namespaces, held by one process: ending it ends everything inside."""

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
    """Made with ``script`` (bash) run inside; ``bound``: they end with the thread that makes them, however it ends."""

    def __init__(self, script: str, log: Path, *, bound: bool) -> None:
        bind = ("setpriv", "--pdeathsig=KILL") if bound else ()
        # bash and not sleep: the first process of a PID namespace has to reap orphans, such as containers' shims.
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
        """Words that run the command after them inside."""
        which = ("--net",) if network_only else ("--net", "--mount", "--pid")
        return ("nsenter", f"--target={self.pid}", *which)

    def reap(self) -> None:
        """Block until the holder, which somebody else ended, is gone."""
        self._process.wait(timeout=10)


def end(holder: Process) -> None:
    """End namespaces, whoever made them, by the process that holds them; blocks until it is gone."""
    # The first process inside takes all others with it. Its parent, the holder, waits for it and then ends too.
    for first in children(holder.pid) if holder.alive else []:
        with contextlib.suppress(ProcessLookupError):
            os.kill(first, signal.SIGKILL)
    eventually(lambda: not holder.alive, within=30, what=f"process {holder.pid} gone")


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
