"""Waits that end: each says what it waited for, and shows the stacks of everybody who might be the cause.

A benchmark that stands still measures nothing and explains nothing. ``expecting`` gives a part of it a limit; past the
limit this process writes what it waited for and all its stacks, asks Ray's workers for theirs, and exits.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import psutil

# Of a process that gave up waiting; what it waited for is the last line with this beginning on its stderr.
EXIT_WAITED = 70
WAITED = "waited"


def answer_with_stacks() -> None:
    """On SIGUSR1 this process writes the stacks of all threads to its stderr; in a worker that is a log of Ray's."""
    faulthandler.register(signal.SIGUSR1, all_threads=True, chain=False)


@contextlib.contextmanager
def expecting(what: str, seconds: float) -> Iterator[None]:
    """Ends this process with :data:`EXIT_WAITED` unless the block is left within ``seconds``."""
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(what, seconds, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


def _watch(what: str, seconds: float, over: threading.Event) -> None:
    if over.wait(seconds):
        return
    print(f"{WAITED} {seconds:g} s for {what}", file=sys.stderr, flush=True)
    faulthandler.dump_traceback(all_threads=True)
    for worker in workers():
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.send_signal(signal.SIGUSR1)
    time.sleep(1)  # for them to write
    os._exit(EXIT_WAITED)


def workers() -> list[psutil.Process]:
    """Ray's workers below this process, by the title that Ray gives them once they have an actor."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::"):
                found.append(process)
    return found
