"""Pause a process, as a debugger or an overloaded machine does."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.wait import eventually


def pause(pid: int) -> None:
    """Stop every thread of the process. Blocks until all threads have stopped, for at most 30 s.

    ``os.kill`` alone returns earlier: one thread receives SIGSTOP, and the others run until that thread is scheduled.
    On a busy machine, they may still receive a message in that time.
    """
    os.kill(pid, signal.SIGSTOP)
    ended = (FileNotFoundError, ProcessLookupError)  # a thread ended meanwhile
    what = f"all threads of process {pid} stopped"
    eventually(lambda: _states(pid) == {"T"}, within=30, every=0.01, what=what, tolerate=ended)


def go_on(pid: int) -> None:
    """Let the threads of the process run again."""
    os.kill(pid, signal.SIGCONT)


@contextmanager
def paused(pid: int) -> Iterator[None]:
    """Pause a process until the end of the block."""
    pause(pid)
    try:
        yield
    finally:
        go_on(pid)


def _states(pid: int) -> set[str]:
    # The name of the thread is in parentheses and may contain spaces; the state follows it.
    stats = [stat.read_text() for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    return {stat.rpartition(")")[2].split()[0] for stat in stats}
