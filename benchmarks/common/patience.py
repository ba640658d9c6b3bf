"""Timeouts for the parts of a benchmark, with stacks that show why a part hangs.

:func:`expecting` gives a part a timeout. After the timeout the process prints the name of the part and the stacks of
all its threads. Then it requests the stacks of Ray's workers, and exits.
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

# The exit code of a process after a timeout. The last line on stderr that begins with WAITED names the hanging part.
EXIT_WAITED = 70
WAITED = "waited"


def answer_with_stacks() -> None:
    """Let SIGUSR1 print the stacks of all threads on stderr. In a worker of Ray, stderr is one of Ray's logs."""
    faulthandler.register(signal.SIGUSR1, all_threads=True, chain=False)


@contextlib.contextmanager
def expecting(what: str, seconds: float) -> Iterator[None]:
    """End this process with :data:`EXIT_WAITED` unless the block ends within ``seconds``. ``what`` names the block."""
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
    time.sleep(1)  # until the workers have written their stacks
    os._exit(EXIT_WAITED)


def workers() -> list[psutil.Process]:
    """Return Ray's workers below this process. Their process titles begin with ``ray::`` once they have an actor."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::"):
                found.append(process)
    return found
