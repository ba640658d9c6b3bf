"""Reap the simulators' supervisors that end after their collector. Linux only."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Final

from collectorfleet.actor.simulator.supervisor import PROCESS_NAME

_LOOK_SECONDS: Final = 5.0


def reap_supervisors_as_init() -> None:
    """Start a thread that reaps orphaned supervisors. Do nothing if this process is not process 1 of a container.

    Process 1 adopts orphans, and must reap them. This function returns at once, and the thread runs until this process
    ends. The thread reaps no other children, because ``subprocess`` and ``multiprocessing`` reap their own children.
    """
    if os.getpid() == 1:
        start_to_reap()


def start_to_reap() -> None:
    """Start the thread of :func:`reap_supervisors_as_init`, also in a process that is not process 1."""
    threading.Thread(target=_reap_for_ever, name="supervisor-reaper", daemon=True).start()


def _reap_for_ever() -> None:
    pause = threading.Event()
    while not pause.wait(_LOOK_SECONDS):
        for pid in _ended_supervisors():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _ended_supervisors() -> list[int]:
    own, found = os.getpid(), []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            # The fields are pid, name in parentheses, state, and pid of the parent.
            before, _, after = Path("/proc", entry, "stat").read_bytes().rpartition(b")")
            state, parent = after.split()[:2]
            if state == b"Z" and int(parent) == own and before.partition(b"(")[2] == PROCESS_NAME:
                found.append(int(entry))
    return found
