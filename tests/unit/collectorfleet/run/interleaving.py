"""Lets a test choose the order in which threads make their system calls on files."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import Mock, patch

from hypothesis import strategies as st

from collectorfleet.run import fenced_folder

CALLS = frozenset({"open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.listdir", "os.scandir"})
STEP_SECONDS = 30
# In which order three threads make their calls: the number of a thread, and how many calls it makes in a row. In an
# order of single calls, all three begin before any of them has written a file.
TURNS = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40)), max_size=12)

_current = threading.local()


def order_of(turns: list[tuple[int, int]]) -> list[int]:
    """Return the number of the thread that makes each call. At the end, the threads take turns until they end."""
    return [*(number for number, calls in turns for _ in range(calls)), *(number % 3 for number in range(3000))]


class Killed(BaseException):
    """Raised in a thread that is killed."""


class Paused(threading.Thread):
    """A thread that waits before each of its calls on a path below ``folder``, until :meth:`step` is called."""

    def __init__(self, folder: Path, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.folder = str(folder)
        self.error: BaseException | None = None
        self.has_ended = False
        self._work = work
        self._is_killed = False
        self._written: Path | None = None  # the file that it opened last, until its next call
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self.start()
        self._wait()

    def step(self) -> None:
        """Let the thread make the call that it waits for, and go on to the next one or to its end."""
        self._go.release()
        self._wait()

    def kill(self, *, torn: bool = False) -> None:
        """End the thread where it waits: none of its calls on files is made any more, not even to tidy up.

        If ``torn`` is True, it ends while it writes: the file that it opened last has half of its content.
        """
        self._is_killed = True
        if torn and self._written is not None and self._written.is_file():
            os.truncate(self._written, self._written.stat().st_size // 2)
        self.step()
        self.join(STEP_SECONDS)

    def run(self) -> None:
        _current.thread = self
        try:
            self.pause()
            self._work()
        except BaseException as error:  # noqa: BLE001 (the test looks at it)
            self.error = error
        finally:
            del _current.thread
            self.has_ended = True
            self._stopped.release()

    def pause(self, written: Path | None = None) -> None:
        """Wait for :meth:`step`. After it, the thread opens ``written`` to write it, unless it is None."""
        if not self._is_killed:
            self._stopped.release()
            self._go.acquire()
        if self._is_killed:
            raise Killed
        self._written = written

    def _wait(self) -> None:
        assert self._stopped.acquire(timeout=STEP_SECONDS), "the thread makes no call and does not end"


def _before_call(event: str, arguments: tuple[Any, ...]) -> None:
    thread = getattr(_current, "thread", None)
    if thread is None or event not in CALLS:
        return
    # Within a folder that is being removed, paths are relative to a descriptor.
    path = str(arguments[0])
    if path.startswith(thread.folder) or not path.startswith("/"):
        thread.pause(Path(path) if event == "open" and arguments[2] & os.O_ACCMODE else None)


def content(path: Path) -> dict[str, bytes]:
    """What readers see."""
    files = (one for top in path.glob("[!.]*") for one in (top, *top.rglob("*")) if one.is_file())
    return {str(one.relative_to(path)): one.read_bytes() for one in files}


@contextmanager
def no_chance_and_no_disk(seed: int) -> Iterator[None]:
    """Tokens are a function of ``seed``, and nobody waits for the disk."""
    tokens = [f"{number:08x}" for number in range(1000)]
    Random(seed).shuffle(tokens)
    chosen = Mock(token_hex=lambda _: tokens.pop())
    with patch.multiple(fenced_folder, secrets=chosen, sync=Mock(), sync_tree=Mock()):
        yield


sys.addaudithook(_before_call)
